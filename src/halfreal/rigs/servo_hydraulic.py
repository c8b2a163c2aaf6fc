"""A rig with servo-hydraulic actuators under displacement control, and what moves it back: the specimen.

The actuator in the linear form of S. J. Dyke, B. F. Spencer, P. Quast, M. K. Sain, "Role of control–structure
interaction in protective system design", J. Eng. Mech. 121 (1995) 322–338, with the symbols of C. E. Silva, D. Gomez,
A. Maghareh, S. J. Dyke, B. F. Spencer, "Benchmark control problem for real-time hybrid simulation", Mech. Syst. Signal
Process. 135 (2020) 106381::

    w¨ + β₁ w˙ + β₂ w = a₁β₀ (g u − x)                      servo valve, driven by the inner displacement loop
    f˙ + a₃ f = w − a₂ x˙                                   chamber; a₂ x˙ is the control–structure interaction
    M x¨ + C x˙ + K x + Σ b_e r_e = f + b e                 specimen, e(t) an excitation of its own

The command u is what a digital-to-analogue converter holds over the step: clipped to its range and rounded to its
resolution.  The step is exact for a command that is held (C. F. Van Loan, IEEE Trans. Autom. Control 23 (1978)
395–404), but for nonlinear elements of the specimen, which are followed in parts of it
(``servo_hydraulic_elements.py``). Valve and chamber are linear: flow, force and stroke do not saturate, so that
limits of the machine belong into the definition's limits, which stop a test that would meet them.

======== ====================================================================================
u, x, f  command, displacement, force of the actuator (that of the load cell), for each axis
w        what the valve lets in, as a force per time
g        ``command_gain``; a₁β₀ ``valve_gain``; β₁ ``valve_damping``; β₂ ``valve_stiffness``
a₂, a₃   ``interaction``, ``leakage``
======== ====================================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, field_validator

from ..contracts.axes import Axes
from ..contracts.context import Context
from ..contracts.reach import Bound, peaks
from ..contracts.rig import RigBlocks
from ..contracts.state_space import StateSpace
from ..kernels.block import Block, channels
from ..kernels.linear import copy_to, multiply_add, set_to, stored
from ..models.materials.element_fields import moving
from ..models.schemes.exact import discretise
from ..models.shaker import Shaker
from ..models.structures.elements import assemble
from ..settings import Number, Settings, fault
from ..stability.ideal_compensator import Follower
from .actuator import Delay
from .largest_stable import largest
from .sensors import Sensors
from .servo_hydraulic_elements import NOT_CONVERGED, parts, servo_hydraulic_elements_step, standing
from .simulated import SimulatedRig
from .specimen import EXCITATION, Specimen, excitation_block
from .with_sensors import SensedRig

if TYPE_CHECKING:
    from ..definition.definition import Definition


NOT_CONVERGED_FAULT = (
    "the forces of the specimen's nonlinear elements do not converge within a substep; give more "
    "rig.substeps, or check the elements"
)


def servo_hydraulic_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n = u.size - 1
    for i in range(n):
        command = min(max(u[i], -p.range), p.range)
        if p.resolution > 0.0:
            command = p.resolution * np.rint(command / p.resolution)
        s.u[i] = command
    s.u[n] = u[n]
    copy_to(s.x, s.before)
    set_to(0.0, s.x)
    multiply_add(p.transition, s.before, s.x)
    multiply_add(p.held, s.u, s.x)
    set_to(0.0, y)
    multiply_add(p.outputs, s.x, y)
    return 0


class HydraulicActuator(Settings):
    """A servo valve, a chamber and the inner displacement loop; the same on every axis."""

    command_gain: Annotated[float, Number("1", above=0)] = 1.0
    valve_gain: Annotated[float, Number("N/(m s^3)", above=0)]
    valve_damping: Annotated[float, Number("1/s", above=0)]
    valve_stiffness: Annotated[float, Number("1/s^2", above=0)]
    interaction: Annotated[float, Number("N/m", least=0)]
    leakage: Annotated[float, Number("1/s", least=0)]


class Converter(Settings):
    """A digital-to-analogue converter, in units of what it commands; ideal if left out."""

    resolution: Annotated[float, Number("m", least=0)] = 0.0
    range: Annotated[float, Number("m", above=0)] | None = None


class ServoHydraulic(SensedRig):
    """Servo-hydraulic actuators, the specimen they move, and the sensors on it."""

    identified: ClassVar[tuple[str, ...]] = ("actuator", "specimen")
    kind: Literal["servo-hydraulic"] = "servo-hydraulic"
    actuator: HydraulicActuator
    specimen: Specimen
    converter: Converter = Converter()
    sensors: Sensors = Sensors()
    substeps: Annotated[int, Field(ge=1, le=1000)] = 4
    """Substeps for nonlinear elements of the specimen; a linear specimen needs none."""

    @field_validator("specimen")
    @classmethod
    def _with_mass(cls, specimen: Specimen) -> Specimen:
        if specimen.mass is None or np.linalg.eigvalsh(specimen.mass).min() <= 0.0:
            raise fault(
                "the specimen has no mass in some direction, but an actuator's force needs one; give that of "
                "the piston at least",
                "mass",
            )
        return specimen

    def matrices(self, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A, B, C of x˙ = A x + B (u, e), y = C x: states w, w˙, f, x, x˙ and outputs x, f, each for n axes."""
        mass, damping, stiffness = self.specimen.matrices_at_rest(n)
        inverse = np.linalg.inv(mass)
        a, one = self.actuator, np.eye(n)
        pushed = one[:, [self.specimen.excited_axis - 1]]
        valve, flow, force, place, speed = (slice(i * n, (i + 1) * n) for i in range(5))
        system = np.zeros((5 * n, 5 * n))  # filled part by part in a tenth of np.block's time
        system[valve, flow] = one
        system[flow, valve] = -a.valve_stiffness * one
        system[flow, flow] = -a.valve_damping * one
        system[flow, place] = -a.valve_gain * one
        system[force, valve] = one
        system[force, force] = -a.leakage * one
        system[force, speed] = -a.interaction * one
        system[place, speed] = one
        system[speed, force] = inverse
        system[speed, place] = -inverse @ stiffness
        system[speed, speed] = -inverse @ damping
        inputs = np.zeros((5 * n, n + 1))
        inputs[flow, :n] = a.valve_gain * a.command_gain * one
        inputs[speed, n:] = inverse @ pushed
        outputs = np.zeros((2 * n, 5 * n))
        outputs[:n, place] = outputs[n:, force] = one
        return system, inputs, outputs

    def inverse(self, order: int = 3) -> np.ndarray:
        """a₀ … a_order [s^i] of X/U = 1/(a₀ + a₁ s + … + a₅ s⁵), for one axis: what an inverse model starts from."""
        a, b, c = self.matrices(1)
        numerator = float((c[0] @ np.linalg.matrix_power(a, 4) @ b)[0])
        return np.asarray(np.poly(a)[::-1][: order + 1] / numerator)

    def blocks(self, context: Context, command: tuple[str, ...]) -> RigBlocks:
        """Actuators with the specimen; sensors."""
        moving = self.block(command, context.period, context.start, ideal=context.faultless)
        resting = np.array(moving.initial)[: 2 * len(context.axes)]
        return self.sensed(context, [excitation_block(context), moving], resting)

    # --- how it follows a command -------------------------------------------------------------------------------------

    def ideal_but_late(self, delay: float) -> SimulatedRig:
        return SimulatedRig(actuator=Delay(delay=delay), specimen=self.specimen)

    def follower(self, step: float, shaker: Shaker | None = None) -> Follower:
        """β(s) w = a₁β₀ (g u − x), (s + a₃) f = w − a₂ s x with the load f = −F_m, solved for x."""
        self.check_shaker(shaker)
        a = self.actuator
        valve = np.array([1.0, a.valve_damping, a.valve_stiffness])
        return Follower(
            denominator=np.polyadd(a.interaction * np.polymul([1.0, 0.0], valve), [a.valve_gain]),
            by_command=np.array([a.valve_gain * a.command_gain]),
            by_force=np.polymul([1.0, a.leakage], valve),
            delay=self.delay_in_loop(step),
        )

    def delay_in_loop(self, step: float) -> float:
        """Half the step over which its command is held."""
        return 0.5 * step

    def loop_with(self, virtual: StateSpace) -> StateSpace:
        a, b, c = self.matrices(virtual.channels)
        n = virtual.channels
        loop = virtual.after(StateSpace(a, b[:, :n], c[n:], np.zeros((n, n))))
        return StateSpace(loop.a, loop.b, -loop.c, -loop.d)

    def stability_remedy(self, test: Definition) -> str:
        """How far to lower the gain of the actuators' inner loop."""

        def stable(gain: float) -> bool:
            actuator = self.actuator.unchecked_copy({"valve_gain": gain})
            a, _, _ = self.unchecked_copy({"actuator": actuator}).matrices(test.virtual.axes)
            return bool(np.linalg.eigvals(a).real.max() < 0.0)

        gain = self.actuator.valve_gain
        bound = largest(stable, gain)
        if bound is None:
            return "another rig.specimen: with this one the actuators are unstable for any rig.actuator.valve_gain"
        return (
            f"a lower rig.actuator.valve_gain: it is {gain:.4g} N/(m s^3), but the actuators' inner "
            f"displacement loop is stable below {bound:.4g} N/(m s^3); half of that leaves 6 dB"
        )

    # --- what a check asks of it --------------------------------------------------------------------------------------

    def without_resolution(self) -> Self:
        return super().without_resolution().unchecked_copy({"converter": Converter(range=self.converter.range)})

    def bounds_on_motion(self, motion: np.ndarray, step: float, axes: Axes) -> list[Bound]:
        if self.converter.range is None:
            return []
        return [Bound.on_axes(axes, "the converter's range", peaks(motion, step)[0], self.converter.range, "m")]

    def inverse_coefficients(self, axes: int) -> np.ndarray | None:
        return self.inverse() if axes == 1 else None

    # --- as a block ---------------------------------------------------------------------------------------------------

    def block(self, commands: tuple[str, ...], dt: float, x0: np.ndarray, *, ideal: bool) -> Block:
        """The block "specimen"; ``ideal`` leaves out what the converter does to the command."""
        n = len(commands)
        a, b, c = self.matrices(n)
        mass, _, stiffness = self.specimen.matrices(n)
        elements = assemble(self.specimen.elements, n)
        resisting, states = standing(elements, x0)
        force = stiffness @ x0 + resisting
        nonlinear = bool(self.specimen.nonlinearities)
        if nonlinear:
            parameters, work, held = parts(elements, (a, b), mass, dt, self.substeps)
        else:
            transition, held_command, _ = discretise(a, b, dt, "zero")
            parameters, work, held = {"transition": stored(transition), "held": stored(held_command)}, {}, ()
        limit = np.inf if ideal or self.converter.range is None else self.converter.range
        begin = np.concatenate([self.actuator.leakage * force, np.zeros(n), force, x0, np.zeros(n)])
        references = [key for element in self.specimen.elements for key in element.law.references]
        return Block(
            name="specimen",
            step=servo_hydraulic_elements_step if nonlinear else servo_hydraulic_step,
            inputs=(*commands, EXCITATION),
            outputs=(*channels("rig.displacement", "m", n, of="axis"), *channels("rig.force", "N", n, of="axis")),
            parameters={
                **parameters,
                "outputs": stored(c),
                "resolution": 0.0 if ideal else self.converter.resolution,
                "range": limit,
            },
            state={
                "x": begin,
                "before": np.zeros(5 * n),
                "u": np.zeros(n + 1),
                **work,
                **(states if nonlinear else {}),
            },
            frozen=("before", "u", *held),
            memory=("memory",) if nonlinear else (),
            moving=moving(elements) if nonlinear else {},
            faults={NOT_CONVERGED: NOT_CONVERGED_FAULT} if nonlinear else {},
            initial=(*x0, *force),
            references=("dyke1995", "silva2020", "vanloan1978", *dict.fromkeys(references)),
        )
