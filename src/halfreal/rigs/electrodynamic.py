"""A rig with an electrodynamic shaker under displacement control, and a flexible specimen that pushes back.

Shaker and drive are those of V. Ruffini, C. Szczyglowski, D. A. W. Barton, M. Lowenberg, S. A. Neild, Exp. Tech.
(2020), doi 10.1007/s40799-020-00394-5 (``halfreal.models.shaker`` holds the equations and symbols).  With the states of
the drive's filters e, g and integrators p, r::

    (M + B m_a Bᵀ) q¨ + (C + B c_a Bᵀ) q˙ + (K + B k_a Bᵀ) q = B k_I i + b e_s
    L i˙ = v − R i − k_I d˙              g˙ = ω₂ (F_c − k_I i − g),  r˙ = g,   v = k_Fp g + k_Fi r
    e˙ = ω₁ (D_c − d − e),  p˙ = e       F_c = k_p e + k_d e˙ + k_i p
    f = k_I i − m_a d¨ − c_a d˙ − k_a d                                            force of the load cell

The command D_c is held over the step.  A continuous drive is integrated exactly for it (C. F. Van Loan, IEEE Trans.
Autom. Control 23 (1978) 395–404); where the mean force required in a step, F_c, exceeds k_I times the current limit,
the step is taken with that force instead, and the position loop's integrator is held.  A sampled drive
(``halfreal.models.sampled_drive``) updates its loops at their rates by backward differences, its voltage being held in
between; its clock is that of the test, and its loops act together at time 0.

f is positive when the specimen resists a positive displacement: f = −f_m of the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from ..contracts.context import Context
from ..contracts.known import Known
from ..contracts.rig import RigBlocks
from ..contracts.state_space import StateSpace
from ..kernels.block import Block, Channel, Value, channels
from ..kernels.linear import copy_to, dot, multiply_add, set_to, stored
from ..models.sampled_drive import Rates, SampledFollower, rates_of
from ..models.schemes.exact import discretise
from ..models.shaker import Drive, Shaker, polynomials
from ..settings import fault
from ..stability.ideal_compensator import Follower, Following
from .held_structure import HeldStructure
from .sensors import Sensors
from .specimen import EXCITATION, excitation_block
from .with_sensors import SensedRig

MOST_TICKS = 1000
"""Of the period that a sampled drive and the ticks of a test have together."""


def continuous_drive_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    copy_to(s.x, s.before)
    set_to(0.0, s.x)
    force = dot(p.asked, s.before) + p.asked_by[0] * u[0] + p.asked_by[1] * u[1]
    if abs(force) <= p.limit:
        multiply_add(p.transition, s.before, s.x)
        multiply_add(p.inputs, u, s.x)
    else:
        force = p.limit if force > 0.0 else -p.limit
        multiply_add(p.limited, s.before, s.x)
        multiply_add(p.limited_inputs, u, s.x)
        for i in range(s.x.size):
            s.x[i] += p.limited_force[i] * force
    for i in range(y.size):
        y[i] = p.direct[i] * u[1]
    multiply_add(p.outputs, s.x, y)
    return 0


def sampled_drive_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    if s.count < 0.0:  # wherever a test begins, its loops act together at time 0
        s.count = float((round(t / p.step) - 1) % int(p.cycle))
    place, current = s.x[int(p.interface)], s.x[s.x.size - 1]
    if int(s.count) % int(p.position_every) == 0:
        w, period = p.position[3], p.position_period
        error = (s.error + w * period * (u[0] - place)) / (1.0 + w * period)
        total = s.sum + period * error
        force = p.position[0] * error + p.position[1] * total + p.position[2] * (error - s.error) / period
        s.error = error
        if abs(force) <= p.limit:
            s.sum = total
        s.force = min(max(force, -p.limit), p.limit)
    if int(s.count) % int(p.force_every) == 0:
        w, period = p.loop[2], p.force_period
        s.filtered = (s.filtered + w * period * (s.force - p.constant * current)) / (1.0 + w * period)
        s.total += period * s.filtered
        s.voltage = p.loop[0] * s.filtered + p.loop[1] * s.total
    s.count = float((int(s.count) + 1) % int(p.cycle))
    copy_to(s.x, s.before)
    set_to(0.0, s.x)
    multiply_add(p.transition, s.before, s.x)
    for i in range(s.x.size):
        s.x[i] += p.inputs[0, i] * s.voltage + p.inputs[1, i] * u[1]
    for i in range(y.size):
        y[i] = p.direct[i] * u[1]
    multiply_add(p.outputs, s.x, y)
    return 0


@lru_cache(maxsize=8)
def _follower(shaker: Shaker, drive: Drive, step: float) -> Follower:
    """A continuous drive; variants of a test that differ in their virtual part have the same one."""
    return Follower(*polynomials(shaker, drive), delay=0.5 * step)


@dataclass(frozen=True)
class Plant:
    """Shaker and specimen without the drive: states q, q˙, i; inputs voltage, excitation; outputs d, f, i."""

    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    d: np.ndarray


class Electrodynamic(SensedRig):
    """A shaker with its servo drive, the specimen it moves, and the sensors; one axis."""

    kind: Literal["electrodynamic"] = "electrodynamic"
    shaker: Shaker
    drive: Drive
    specimen: HeldStructure
    sensors: Sensors = Sensors()
    substeps: Annotated[int, Field(ge=1, le=1000)] = 1

    @field_validator("specimen")
    @classmethod
    def _moves(cls, specimen: HeldStructure, info: ValidationInfo) -> HeldStructure:
        mass = specimen.mass + np.outer(specimen.held_at(), specimen.held_at())
        if np.linalg.eigvalsh(mass).min() <= 0.0:
            raise fault("a degree of freedom other than the interface has no mass; condense it statically", "mass")
        return specimen

    def fits(self, known: Known) -> None:
        """Raise a fault unless sensors and drive suit the interface and the step."""
        super().fits(known)
        if known.step is not None and known.virtual is not None:
            self.check_step(known.step, known.virtual.axes)

    def check_step(self, step: float, axes: int) -> None:
        """Raise a fault if the interface or the rig's own step does not fit."""
        if axes != 1:
            raise fault(f"an electrodynamic rig has one axis where the interface has {axes}; use another rig")
        fine = step / self.substeps
        for name, rate in (("position_rate", self.drive.position_rate), ("force_rate", self.drive.force_rate)):
            if rate is None:
                continue
            steps = 1.0 / (rate * fine)
            if round(steps) < 1 or abs(steps - round(steps)) > 1e-6 * steps:
                raise fault(
                    f"a period of {name}, {1.0 / rate:g} s, is not a whole number of the rig's steps of {fine:g} s; "
                    "change rig.substeps",
                    "drive",
                    name,
                )
        if self.drive.position_rate is not None:
            rates = rates_of(self.drive, step, self.substeps)
            together = rates.period // rates.per_tick
            if together > MOST_TICKS:
                raise fault(
                    f"the drive and the test repeat only every {together} ticks, {together * step:g} s, but a loop "
                    f"is analysed over {MOST_TICKS} at most; choose rates with a shorter common "
                    "period with timing.step",
                    "drive",
                    "position_rate",
                )

    def plant(self) -> Plant:
        """Shaker and specimen."""
        specimen, shaker, n = self.specimen, self.shaker, self.specimen.dofs
        at, pushed = specimen.held_at(), specimen.pushed_at()
        here = np.outer(at, at)
        inverse = np.linalg.inv(specimen.mass + shaker.mass * here)
        a, b = np.zeros((2 * n + 1, 2 * n + 1)), np.zeros((2 * n + 1, 2))
        a[:n, n : 2 * n] = np.eye(n)
        a[n : 2 * n, :n] = -inverse @ (specimen.stiffness + shaker.stiffness * here)
        a[n : 2 * n, n : 2 * n] = -inverse @ (specimen.damping_matrix() + shaker.damping * here)
        a[n : 2 * n, -1] = shaker.motor_constant * inverse @ at
        b[n : 2 * n, 1] = inverse @ pushed
        a[-1, n : 2 * n] = -shaker.motor_constant / shaker.inductance * at
        a[-1, -1] = -shaker.resistance / shaker.inductance
        b[-1, 0] = 1.0 / shaker.inductance
        c, d = np.zeros((3, 2 * n + 1)), np.zeros((3, 2))
        c[0, :n] = at
        c[1] = -shaker.mass * at @ a[n : 2 * n]
        c[1, :n] -= shaker.stiffness * at
        c[1, n : 2 * n] -= shaker.damping * at
        c[1, -1] += shaker.motor_constant
        d[1] = -shaker.mass * at @ b[n : 2 * n]
        c[2, -1] = 1.0
        return Plant(a, b, c, d)

    def open_drive(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """A, B with the inputs (F_c, D_c, excitation), and F_c = K x + k D_c; states q, q˙, i, g, e, r, p.

        An integrator without a gain is no state: it would be a pole that never decays.
        """
        plant, drive = self.plant(), self.drive
        n = len(plant.a)
        current, g, e, r, p = n - 1, n, n + 1, n + 2, n + 3
        a, b = np.zeros((n + 4, n + 4)), np.zeros((n + 4, 3))
        a[:n, :n], b[:n, 2] = plant.a, plant.b[:, 1]
        a[:n, g], a[:n, r] = plant.b[:, 0] * drive.force_proportional, plant.b[:, 0] * drive.force_integral
        a[g, g], b[g, 0] = -drive.force_filter, drive.force_filter
        a[g, current] = -drive.force_filter * self.shaker.motor_constant
        a[r, g] = a[p, e] = 1.0
        a[e, e], b[e, 1] = -drive.position_filter, drive.position_filter
        a[e, :n] = -drive.position_filter * plant.c[0]
        asked = drive.derivative * a[e]
        asked[e] += drive.proportional
        asked[p] += drive.integral
        gains = {r: drive.force_integral, p: drive.integral}
        kept = [i for i in range(n + 4) if gains.get(i, 1.0) > 0.0]
        return a[np.ix_(kept, kept)], b[kept], asked[kept], drive.derivative * b[e]

    def state_space(self) -> StateSpace:
        """The rig as a continuous model without limits: inputs command, excitation; outputs displacement, force."""
        a, b, asked, by = self.open_drive()
        plant = self.plant()
        c = np.hstack([plant.c[:2], np.zeros((2, len(a) - len(plant.a)))])
        d = np.column_stack([np.zeros(2), plant.d[:2, 1]])
        return StateSpace(a + np.outer(b[:, 0], asked), b[:, 1:] + np.outer(b[:, 0], by[1:]), c, d)

    def at_rest(self, place: float) -> np.ndarray:
        """The state in which the drive holds the interface still with the command ``place`` [m]."""
        model = self.state_space()
        return np.asarray(-np.linalg.solve(model.a, model.b[:, 0] * place))

    @property
    def caveat(self) -> str | None:
        """What a judgement of the linearised loop rests on."""
        if self.drive.position_rate is None:
            return None
        return (
            "the drive is assessed on the clock of the test; with its own clock it receives a command "
            "up to one timing.step later"
        )

    @property
    def steps_per_tick(self) -> int:
        return self.substeps

    def blocks(self, context: Context, command: tuple[str, ...]) -> RigBlocks:
        """Drive, shaker and specimen; sensors."""
        moving = self.block(command, context.period, context.start, ideal=context.faultless)
        resting = np.array(moving.initial)[: 2 * len(context.axes)]
        return self.sensed(context, [excitation_block(context), moving], resting)

    def follower(self, step: float, shaker: Shaker | None = None) -> Following:
        moved = self.shaker if shaker is None else shaker
        if self.drive.position_rate is not None:
            return SampledFollower(moved, self.drive, rates_of(self.drive, step, self.substeps))
        return _follower(moved, self.drive, step)

    def block(self, commands: tuple[str, ...], dt: float, x0: np.ndarray, *, ideal: bool) -> Block:
        """The block "specimen"; ``ideal`` leaves out the limit of the drive."""
        h = dt / self.substeps
        plant, resting = self.plant(), self.at_rest(float(x0[0]))
        limit = np.inf
        if self.drive.current_limit is not None and not ideal:
            limit = self.shaker.motor_constant * self.drive.current_limit
        frozen, repeats = ["before"], 1
        if self.drive.position_rate is not None:
            step, rates = sampled_drive_step, rates_of(self.drive, dt, self.substeps)
            parameters, state = self._sampled(plant, rates), self._sampled_state(plant, resting)
            # an integrator without a gain is no state: it would be a pole that never decays
            gains = {"sum": self.drive.integral, "total": self.drive.force_integral}
            frozen += ["count", *(name for name, gain in gains.items() if gain == 0.0)]
            repeats = rates.cycle
        else:
            step, parameters = continuous_drive_step, self._continuous(plant, h)
            state = {"x": resting, "before": np.zeros(len(resting))}
        moved, felt = channels("rig.displacement", "m", 1, of="axis"), channels("rig.force", "N", 1, of="axis")
        return Block(
            name="specimen",
            step=step,
            inputs=(*commands, EXCITATION),
            outputs=(*moved, *felt, Channel("rig.current", "A")),
            parameters={**parameters, "limit": limit},
            state=state,
            frozen=tuple(frozen),
            repeats=repeats,
            initial=tuple(plant.c @ resting[: len(plant.a)]),
            references=("ruffini2020", "vanloan1978"),
        )

    def _continuous(self, plant: Plant, h: float) -> dict[str, Value]:
        a, b, asked, by = self.open_drive()
        n = len(a)
        # the integral of the force requested is one state more, so that its mean comes out exactly too
        closed = np.zeros((n + 1, n + 1))
        closed[:n, :n], closed[n, :n] = a + np.outer(b[:, 0], asked), asked
        inputs = np.vstack([b[:, 1:] + np.outer(b[:, 0], by[1:]), by[1:]])
        transition, held, _ = discretise(closed, inputs, h, "zero")
        stopped = a.copy()
        if self.drive.integral > 0.0:
            stopped[n - 1] = 0.0  # the integrator of the position loop
        limited, limited_held, _ = discretise(stopped, b, h, "zero")
        return {
            "transition": stored(transition[:n, :n]),
            "inputs": stored(held[:n]),
            "asked": transition[n, :n] / h,
            "asked_by": held[n] / h,
            "limited": stored(limited),
            "limited_inputs": stored(limited_held[:, 1:]),
            "limited_force": limited_held[:, 0],
            "outputs": stored(np.hstack([plant.c, np.zeros((3, n - len(plant.a)))])),
            "direct": plant.d[:, 1],
        }

    def _sampled(self, plant: Plant, rates: Rates) -> dict[str, Value]:
        drive, h = self.drive, rates.step
        transition, held, _ = discretise(plant.a, plant.b, h, "zero")
        return {
            "step": h,
            "transition": stored(transition),
            "inputs": stored(held),
            "outputs": stored(plant.c),
            "direct": plant.d[:, 1],
            "interface": float(self.specimen.interface - 1),
            "position": np.array([drive.proportional, drive.integral, drive.derivative, drive.position_filter]),
            "loop": np.array([drive.force_proportional, drive.force_integral, drive.force_filter]),
            "constant": self.shaker.motor_constant,
            "position_every": float(rates.position),
            "force_every": float(rates.force),
            "cycle": float(rates.cycle),
            "position_period": rates.position * h,
            "force_period": rates.force * h,
        }

    def _sampled_state(self, plant: Plant, resting: np.ndarray) -> dict[str, Value]:
        n, drive = len(plant.a), self.drive
        x, filtered = resting[:n], float(resting[n])
        total = float(resting[n + 2]) if drive.force_integral > 0.0 else 0.0
        return {
            "x": x,
            "before": np.zeros(n),
            "error": float(resting[n + 1]),
            "sum": float(resting[-1]) if drive.integral > 0.0 else 0.0,
            "force": filtered + self.shaker.motor_constant * float(x[-1]),
            "filtered": filtered,
            "total": total,
            "voltage": drive.force_proportional * filtered + drive.force_integral * total,
            "count": -1.0,
        }
