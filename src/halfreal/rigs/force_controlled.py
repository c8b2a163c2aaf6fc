"""A rig in force control: each actuator's own controller brings the load cell to the commanded force.

After the test bench of F. Nordtorp, G. Abbiati, "A DAE solver for coordination of force-controlled hybrid testing",
engrXiv preprint.  Between actuator and specimen stands a transfer system that gives way too; inertia is neglected:

    f = K_s d = K_t (x − d),        x˙ = g (f_command − f)

The controller is proportional on the load cell, and sampled: once every step of the rig x moves on by g (f_command − f)
times the step.  The force closes in on its command with the time constant 1/(g k), k the stiffness of specimen and
transfer system in series.

The specimen's own displacement d is what the test needs; a camera sees it.  The actuator's displacement x, which is at
hand in any rig, is larger by what the transfer system gives way, f/k_t (``measures``).

====== ===================================================================
f      force on the specimen
d, x   displacement of the specimen, of the actuators
K_s    stiffness of the specimen; K_t that of the transfer system, diagonal
g      gain of the force controllers
====== ===================================================================
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field, field_validator

from .. import units
from ..contracts.axes import Axes
from ..contracts.context import Context
from ..contracts.finding import Finding, warning
from ..contracts.quantities import Commands
from ..contracts.rig import RigBlocks, StaticAnswer
from ..kernels.block import Block, channels, names
from ..kernels.linear import multiply_add, set_to, stored
from ..settings import Vector, fault
from .camera import Camera
from .sensors import Sensors
from .specimen import Specimen
from .with_sensors import SensedRig

if TYPE_CHECKING:
    from ..definition.definition import Definition
    from ..studies.check.examined import Examined


def force_controlled_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n = s.x.size
    set_to(0.0, s.force)
    multiply_add(p.series, s.x, s.force)
    for i in range(n):
        s.x[i] += p.dt * p.gain[i] * (u[i] - s.force[i])
    set_to(0.0, s.force)
    multiply_add(p.series, s.x, s.force)
    for i in range(n):
        y[i], y[n + i] = s.x[i], s.force[i]
        if p.specimen_only == 1.0:
            y[i] -= s.force[i] / p.transfer[i]
    return 0


class ForceControlled(SensedRig):
    """Specimen and transfer system in series, under force control."""

    kind: Literal["force controlled"] = "force controlled"
    specimen: Specimen
    transfer_stiffness: Annotated[np.ndarray, Vector("N/m", above=0)] | None = None
    """Stiffness K_t of the transfer system; default: rigid."""
    gain: Annotated[np.ndarray, Vector("m/(N s)", above=0)]
    """g, gain per axis, or one for all."""
    measures: Literal["specimen", "actuator"] = "specimen"
    """Displacement that is measured: of the specimen or of the actuator."""
    sensors: Sensors = Sensors()
    camera: Camera | None = None
    """Camera that measures displacement in frames; default: continuous measurement."""
    substeps: Annotated[int, Field(ge=1, le=1000)] = 1

    @field_validator("specimen")
    @classmethod
    def _static(cls, specimen: Specimen) -> Specimen:
        other = [element.law.kind for element in specimen.elements if not element.law.linear]
        if other:
            raise fault(f"an element is {other[0]}, but a force-controlled rig has a linear specimen; make it linear")
        if specimen.mass is not None or specimen.damping is not None:
            raise fault("a force-controlled rig has a specimen without mass and damping; omit them")
        return specimen

    def stiffness(self, n: int) -> np.ndarray:
        """K_s with the elements, (n, n)."""
        return self.specimen.stiffness_at_rest(n)

    def check_axes(self, axes: int) -> None:
        """Raise a fault if gains and stiffness are not those of an interface with so many axes."""
        n = axes
        for name, values in (("transfer_stiffness", self.transfer_stiffness), ("gain", self.gain)):
            if values is not None and values.size not in (1, n):
                raise fault(f"{values.size} values for {n} axis(es); give one, or one for each", name)
        stiffness = self.stiffness(n)
        if np.linalg.eigvalsh(0.5 * (stiffness + stiffness.T)).min() <= 0.0:
            raise fault(
                "the specimen has no stiffness in some direction, so a force would move it without bound; give it some "
                f"on each of the {n} axis(es)",
                "specimen",
            )

    def series(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Stiffness of specimen and transfer system in series, (n, n), and K_t of each axis."""
        given = np.full(n, np.inf) if self.transfer_stiffness is None else self.transfer_stiffness
        transfer = np.broadcast_to(given, n).astype(float)
        return np.linalg.inv(np.linalg.inv(self.stiffness(n)) + np.diag(1.0 / transfer)), transfer

    def check_step(self, period: float, n: int) -> None:
        """Raise a fault of the definition if the sampled force controller is not stable at the rig's step."""
        step = period / self.substeps
        fastest = float(np.abs(np.linalg.eigvals(np.broadcast_to(self.gain, n)[:, None] * self.series(n)[0])).max())
        if step * fastest >= 2.0:
            raise fault(
                f"the force controller is unstable: gain times stiffness is {fastest:.4g} 1/s, but must "
                f"be below {2.0 / step:.4g} 1/s at the rig's step of {units.text(step, 's')}; lower rig.gain, or "
                "shorten the step",
                "rig",
                "gain",
            )

    def fits_test(self, test: Definition) -> None:
        """Raise a fault unless the controller is stable: its gain is at fault, whichever section is read last."""
        self.check_step(test.period, test.virtual.axes)

    @property
    def commanded_in(self) -> Commands:
        return "force"

    @property
    def steps_per_tick(self) -> int:
        return self.substeps

    def rest_command(self, displacement: np.ndarray) -> np.ndarray:
        return np.asarray(self.stiffness(displacement.size) @ displacement)

    def static_answer(self, axes: int) -> StaticAnswer:
        stiffness = self.series(axes)[0] if self.measures == "actuator" else self.stiffness(axes)
        return StaticAnswer(stiffness, self._gives_way, self.sensors.displacement.noise)

    @property
    def _gives_way(self) -> bool:
        """Whether what the transfer system gives way is measured with the specimen's displacement."""
        return self.measures == "actuator" and self.transfer_stiffness is not None

    def findings(self, examined: Examined) -> Iterable[Finding]:
        """A warning if the specimen seems softer than it is."""
        if self._gives_way:
            axes = examined.definition.virtual.axes
            seen = np.linalg.solve(self.stiffness(axes), self.series(axes)[0])
            softer = 1.0 - float(np.linalg.eigvals(seen).real.min())
            yield warning(
                "the actuators' displacement is fed back, including the compliance of the transfer "
                "system: the specimen "
                f'appears {100 * softer:.0f} % softer; use measures = "specimen"'
            )

    def varying_sensors(self, axes: Axes) -> np.ndarray:
        found = super().varying_sensors(axes)
        if self.camera is not None:  # a frame stands until the next one
            found[: len(axes)] = 0.0
        return found

    def blocks(self, context: Context, command: tuple[str, ...]) -> RigBlocks:
        """Specimen and transfer system; load cells, and displacement sensors or camera."""
        n = len(context.axes)
        moving = self.block(command, context.period, context.start)
        inner, (sensors,) = self.sensed(context, [moving], np.array(moving.initial))
        if self.camera is None:
            return RigBlocks(inner, [sensors])
        seen, start = channels("camera.displacement", "m", n, of="axis"), np.array(moving.initial[:n])
        holds, quiet = context.test.slow is None, context.quiet
        frames = self.camera.block(names(seen), context.period, start, context.seed, holds=holds, whole=quiet)
        return RigBlocks(inner, [replace(sensors, outputs=(*seen, *sensors.outputs[n:])), frames])

    def block(self, commands: tuple[str, ...], period: float, x0: np.ndarray) -> Block:
        """The block "specimen"; the rig begins with the specimen at ``x0``."""
        n = len(commands)
        series, transfer = self.series(n)
        force = self.stiffness(n) @ x0
        position = x0 + force / transfer
        shown = x0 if self.measures == "specimen" else position
        return Block(
            name="specimen",
            step=force_controlled_step,
            inputs=commands,
            outputs=(*channels("rig.displacement", "m", n, of="axis"), *channels("rig.force", "N", n, of="axis")),
            parameters={
                "dt": period / self.substeps,
                "gain": np.broadcast_to(self.gain, n).astype(float),
                "series": stored(series),
                "transfer": transfer,
                "specimen_only": float(self.measures == "specimen"),
            },
            state={"x": position, "force": np.zeros(n)},
            frozen=("force",),
            initial=(*shown, *force),
            references=("nordtorp",),
        )
