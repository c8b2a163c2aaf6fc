"""A shaking table: a rigid platform on hydraulic actuators, its controllers, the specimen on it and the force plate.

After the six-axis table MAVIS of the DLR Institute of Aeroelasticity (section 4 of its paper on hardware-in-the-loop):
1.5 m × 1.5 m × 0.2 m, 500 kg, four vertical actuators of 40 kN, two in x of 80 kN, one in y of 120 kN, strokes ±50 mm.
For actuator i with stroke s_i, force f_i and valve v_i, and the pose u = (x, y, z, rx, ry, rz) of the interface point:

    s* = s(u*)                                        modal control (``table_kinematics``)
    c_i = k_p (s*_i − s_i) + k_i ∫ (s*_i − s_i) dt + k_d (s˙*_i − s˙_i)        PID, sampled on the rig's step
    v¨_i/ω_v² + 2ζ_v v˙_i/ω_v + v_i = c_i             valve: the speed it gives a piston without load, |c_i| ≤ speed
    f˙_i + a f_i = κ_i (v_i − s˙_i),  |f_i| ≤ force   oil column of stiffness κ_i, leakage a, relief valve
    M u¨ + D u˙ + K u = Cᵀ f + b e                     table, force plate and specimen with its own degrees of freedom
    F = f_b + (1 − compensated) M_p u¨                force plate: constraint force, and its own inertia if left in

Everything between controller and table is linear and integrated exactly for commands that are held over the rig's step;
the limits act between steps.  Strokes follow the finite kinematics, forces act along the actuators as they stand at
rest: poses are within some degrees.  A stroke beyond ``stroke`` meets an end stop as stiff as the oil column.  The
measured displacement is the pose of the strokes.  Left out are gravity, as static weight is tared, and what of
the integrals would only strain the table.

Axes rx, ry, rz of the interface are rotations, in rad and N m.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from ..contracts.axes import Axes
from ..contracts.context import Context
from ..contracts.finding import Finding
from ..contracts.known import Known
from ..contracts.reach import Bound
from ..contracts.rig import RigBlocks
from ..kernels.block import Block, Channel, channels, names
from ..kernels.linear import stored
from ..models.schemes.exact import discretise
from ..settings import Number, fault
from . import table_check
from .actuator import Delay
from .any_specimen import MatrixSpecimen
from .interface_geometry import AXES, Axis, GeometryError
from .sensors import Sensors
from .simulated import SimulatedRig
from .specimen import EXCITATION, excitation_block
from .table_kinematics import TableKinematics
from .table_parts import MAVIS, ForcePlate, Pid, Platform, TableActuator, Valves, kinematics
from .table_step import shaking_table_step
from .transport import Reconstruction, transport
from .with_sensors import SensedRig

if TYPE_CHECKING:
    from ..contracts.virtual import Virtual
    from ..definition.definition import Definition
    from ..studies.check.examined import Examined

POSE = len(AXES)


class ShakingTable(SensedRig):
    """A table commanded in the displacements and rotations ``axes`` of its interface point; other axes are held."""

    kind: Literal["shaking table"] = "shaking table"
    tuning_hint: ClassVar[str] = "a compensated table ('halfreal tune') may tolerate a larger one"
    axes: tuple[Axis, ...] = AXES
    actuators: tuple[TableActuator, ...] = Field(default=MAVIS, validate_default=True)
    platform: Platform = Platform()
    valves: Valves = Valves()
    controller: Pid = Pid()
    modal_control: Literal["finite", "small"] = "finite"
    """Use the exact (finite) kinematics, or the linearised one for small motions."""
    delay: Annotated[float, Number("s", least=0)] = 0.0
    """Delay of the command before it reaches the controllers."""
    reconstruction: Reconstruction = "linear"
    specimen: MatrixSpecimen
    force_plate: ForcePlate = ForcePlate(mass=0.0)
    sensors: Sensors = Sensors()
    substeps: Annotated[int, Field(ge=1, le=1000)] = 4

    @field_validator("axes")
    @classmethod
    def _each_once(cls, axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
        if not axes or len(set(axes)) < len(axes):
            raise fault(f"{list(axes)}: name each axis once, such as ['x', 'z', 'ry']")
        return axes

    @field_validator("actuators")
    @classmethod
    def _move_every_axis(cls, actuators: tuple[TableActuator, ...]) -> tuple[TableActuator, ...]:
        try:
            kinematics(actuators)
        except GeometryError as error:
            raise fault(str(error)) from error
        return actuators

    @field_validator("specimen")
    @classmethod
    def _carried(cls, specimen: MatrixSpecimen, info: ValidationInfo) -> MatrixSpecimen:
        axes = info.data.get("axes")
        found = specimen.axes()
        if axes is not None and found is not None and found != len(axes):
            raise fault(
                f"an interface of {found} degree(s) of freedom on a table of {len(axes)} axis(es); give as many"
            )
        specimen.check_carried()
        return specimen

    def fits(self, known: Known) -> None:
        """Raise a fault unless the table's axes are those of the definition, and specimen and sensors suit them."""
        if known.virtual is not None:
            self.specimen.check_axes(known.virtual.axes)
            self.check_axes(known.virtual.axes)
        if known.named is not None and known.named != self.axes:
            raise fault(
                f"the table is commanded in {', '.join(self.axes)}, but axes lists {', '.join(known.named)}; omit axes",
                "axes",
            )
        if known.virtual is not None:
            self.sensors.check_axes(Axes(self.axes))
            self.specimen.check_rotations(Axes(self.axes))

    def check_axes(self, axes: int) -> None:
        """Raise a fault unless the table has this number of axes."""
        if len(self.axes) != axes:
            raise fault(
                f"the table is commanded in {len(self.axes)} axis(es), {', '.join(self.axes)}, where the virtual part "
                f"has {axes}; name as many",
                "axes",
            )

    def interface(self, virtual: Virtual, named: tuple[str, ...] | None) -> Axes:
        """The table's own axes."""
        return Axes(self.axes)

    @property
    def steps_per_tick(self) -> int:
        return self.substeps

    @property
    def nonlinearities(self) -> tuple[str, ...]:
        return ("rig: strokes, forces and speeds of a shaking table are limited, and its kinematics are nonlinear",)

    # --- how it follows a command -----------------------------------------------------------------------------------

    @property
    def pure_delay(self) -> float:
        return self.delay

    def ideal_but_late(self, delay: float) -> SimulatedRig:
        return SimulatedRig(actuator=Delay(delay=delay), specimen=self.specimen)

    @property
    def as_table(self) -> ShakingTable:
        return self

    def stability_remedy(self, test: Definition) -> str:
        from .table_tuning import remedy

        return remedy(self, test.period / self.substeps)

    # --- what a check asks of it ------------------------------------------------------------------------------------

    def findings(self, examined: Examined) -> Iterable[Finding]:
        return table_check.limits_beyond_strokes(self, examined.definition)

    def bounds_on_motion(self, motion: np.ndarray, step: float, axes: Axes) -> list[Bound]:
        return table_check.bounds_on_motion(self, motion, step)

    @property
    def end_channels(self) -> tuple[str, ...]:
        return table_check.end_channels(self)

    def end_reached(self, log: np.ndarray) -> str:
        return table_check.end_reached(self, log)

    # --- the moving parts -------------------------------------------------------------------------------------------

    @cached_property
    def kinematics(self) -> TableKinematics:
        return kinematics(self.actuators)

    def index(self) -> list[int]:
        """Places of the commanded axes among all six."""
        return [AXES.index(axis) for axis in self.axes]

    def specimen_parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """M, D, K of the specimen alone and b of its excitation, for the pose and its free degrees of freedom."""
        mass, damping, stiffness, pushed = self.specimen.carried(len(self.axes))
        places = self._places(len(mass))
        select = np.zeros((POSE + len(mass) - len(self.axes), len(mass)))
        select[places, np.arange(len(mass))] = 1.0
        whole = [select @ matrix @ select.T for matrix in (mass, damping, stiffness)]
        return whole[0], whole[1], whole[2], select @ pushed

    def _places(self, dofs: int) -> list[int]:
        """Where the specimen's degrees of freedom stand: those of the interface in the pose, free ones behind it."""
        return [*self.index(), *range(POSE, POSE + dofs - len(self.axes))]

    def moving(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """M, D, K of table, force plate and specimen, for the pose and the specimen's free degrees of freedom."""
        mass, damping, stiffness, _ = self.specimen_parts()
        own = np.zeros_like(mass)
        own[:POSE, :POSE] = self.platform.matrix() + self.force_plate.matrix()
        return mass + own, damping, stiffness

    def plant(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """A, B, C, D with x = (v…, v˙…, f…, u…, u˙…), inputs (drives…, stops…, e), outputs (forces…, responses…)."""
        mass, damping, stiffness = self.moving()
        m, size = len(self.actuators), len(mass)
        inverse = np.linalg.inv(mass)
        modal = np.zeros((m, size))
        modal[:, :POSE] = self.kinematics.modal
        own_mass, own_damping, own_stiffness, pushed = self.specimen_parts()
        omega, oil = 2 * np.pi * self.valves.frequency, np.diag([one.stiffness for one in self.actuators])
        one, no, none = np.eye(m), np.zeros((m, m)), np.zeros((m, size))
        accelerated = np.hstack([none.T, none.T, inverse @ modal.T, -inverse @ stiffness, -inverse @ damping])
        a = np.vstack(
            [
                np.hstack([no, one, no, none, none]),
                np.hstack([-(omega**2) * one, -2 * self.valves.damping * omega * one, no, none, none]),
                np.hstack([oil, no, -self.valves.leakage * one, none, -oil @ modal]),
                np.hstack([none.T, none.T, none.T, np.zeros((size, size)), np.eye(size)]),
                accelerated,
            ]
        )
        b = np.zeros((len(a), 2 * m + 1))
        b[m : 2 * m, :m] = omega**2 * one
        b[3 * m + size :, m:] = inverse @ np.hstack([modal.T, pushed])
        # constraint force of the specimen, and what the force plate itself weighs in
        plate = np.zeros((size, size))
        if not self.force_plate.compensated:
            plate[:POSE, :POSE] = self.force_plate.matrix()
        felt = own_mass + plate
        c = felt @ accelerated
        c[:, 3 * m : 3 * m + size] += own_stiffness
        c[:, 3 * m + size :] += own_damping
        d = felt @ b[3 * m + size :]
        d[:, 2 * m :] -= pushed
        at = self.index()
        seen, direct = self._responses(a, b)
        return a, b, np.vstack([c[at], seen]), np.vstack([d[at], direct])

    def _responses(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows of C and D for the specimen's own responses."""
        wanted, m = self.specimen.carried_responses(), len(self.actuators)
        if not wanted:
            return np.zeros((0, len(a))), np.zeros((0, b.shape[1]))
        size = (len(a) - 3 * m) // 2
        places, rows = self._places(len(self.axes) + size - POSE), []
        for number, quantity in wanted:
            displaced, moving = 3 * m + places[number], 3 * m + size + places[number]
            if quantity == "acceleration":
                rows.append((a[moving], b[moving]))
            else:
                at = displaced if quantity == "displacement" else moving
                rows.append((np.eye(len(a))[at], np.zeros(b.shape[1])))
        return np.array([row[0] for row in rows]), np.array([row[1] for row in rows])

    # --- as blocks --------------------------------------------------------------------------------------------------

    def blocks(self, context: Context, command: tuple[str, ...]) -> RigBlocks:
        """The way of the command, and the table; sensors."""
        dt, x0 = context.period, context.start
        way = transport(command, "m", dt, self.substeps, self.delay, self.reconstruction, x0, dynamic=True)
        table = self.block(names(way.outputs), dt / self.substeps, x0)
        resting = np.array(table.initial[: 2 * len(context.axes)])
        return self.sensed(context, [way, excitation_block(context), table], resting)

    def block(self, commands: tuple[str, ...], h: float, x0: np.ndarray) -> Block:
        """The block "table": commands reconstructed on the rig's step, in displacements and rotations."""
        n, m = len(commands), len(self.actuators)
        a, b, c, d = self.plant()
        moved = np.hstack(discretise(a, b, h, "zero")[:2])
        placed = self.kinematics
        start = self.resting(np.asarray(x0, dtype=float))
        out = c @ start
        wanted = np.zeros(POSE)
        wanted[self.index()] = x0
        finite = self.modal_control == "finite"
        reached = placed.extensions(wanted)
        redundant = placed.redundant
        return Block(
            name="table",
            step=shaking_table_step,
            inputs=(*commands, EXCITATION),
            outputs=(
                *channels("rig.displacement", "m", n, of="axis"),
                *channels("rig.force", "N", n, of="axis"),
                *channels("rig.actuator_force", "N", m),
                *channels("rig.stroke", "m", m),
                Channel("rig.internal_force", "N"),
                Channel("rig.saturated", "1"),
                *self.specimen.response_channels(),
            ),
            parameters={
                "h": h,
                "axes": np.array(self.index(), dtype=float),
                "finite": float(finite),
                "positions": placed.positions,
                "directions": placed.directions,
                "lengths": placed.lengths,
                "modal": stored(placed.modal),
                "inverse": stored(np.linalg.pinv(placed.modal)),
                "redundant": redundant if len(redundant) else np.zeros((1, m)),
                "force": np.array([one.force for one in self.actuators]),
                "stroke": np.array([one.stroke for one in self.actuators]),
                "speed": np.array([one.speed for one in self.actuators]),
                "stop": np.array([one.stiffness for one in self.actuators]),
                "proportional": self.controller.proportional,
                "integral": self.controller.integral,
                "derivative": self.controller.derivative,
                "transition": stored(np.vstack([moved, c @ moved + np.hstack([np.zeros_like(c), d])])),
                "by_force": stored(c[:, 2 * m : 3 * m]),
            },
            state={
                "x": start,
                "sum": np.zeros(m),
                "before": reached if finite else placed.modal @ wanted,
                "started": 0.0,
                "z": np.zeros(len(a) + 2 * m + 1),
                "pose": np.zeros(POSE),
                "rate": np.zeros(POSE),
                "wanted": np.zeros(m),
                "reached": np.zeros(m),
                "speed": np.zeros(m),
                "next": np.zeros(len(a) + len(c)),
            },
            frozen=(
                *("started", "z", "pose", "rate", "wanted", "reached", "speed", "next"),
                *(() if self.controller.integral else ("sum",)),
            ),
            watched=("rig.saturated",),
            initial=(*x0, *out[:n], *np.zeros(m), *reached, 0.0, 0.0, *out[n:]),
            references=("dlr", "vanloan1978"),
        )

    def resting(self, x0: np.ndarray) -> np.ndarray:
        """State at rest with the interface at ``x0`` and no force."""
        m, size = len(self.actuators), len(self.moving()[0])
        state = np.zeros(3 * m + 2 * size)
        pose = state[3 * m : 3 * m + size]
        pose[self.index()] = x0
        pose[POSE:] = self.specimen.carried_along(len(self.axes)) @ x0
        return state
