"""Sensors of a simulated rig: noise, range, resolution and delay, once a tick.

measured(t) = round_to(resolution, clip(±range, true + noise · normal deviate))(t − delay)

A converter of b bits over ±r volts behind a sensor of s units a volt has the range r s and the resolution 2 r s/2ᵇ.  A
delay of conditioning and transport that is no whole number of steps is linear between the samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from ..contracts.axes import Axes
from ..kernels.block import Block, Value, channels, names
from ..kernels.bytes import load_double
from ..kernels.compile import kernel
from ..kernels.history import push
from ..kernels.random import normal
from ..settings import Number, Settings, fault

NO_TABLE: dict[str, Value] = {"known": 0.0, "table": 0.0}
"""Parameters of sensors that compute their noise: rows of a table, and its address (``noise_table.py``)."""


class DisplacementSensor(Settings):
    """Noise, resolution, range and delay of the sensors of displacements."""

    noise: Annotated[float, Number("m", least=0)] = 0.0
    resolution: Annotated[float, Number("m", least=0)] = 0.0
    range: Annotated[float, Number("m", above=0)] | None = None
    delay: Annotated[float, Number("s", least=0)] = 0.0


class RotationSensor(Settings):
    """Noise, resolution, range and delay of the sensors of rotations."""

    noise: Annotated[float, Number("rad", least=0)] = 0.0
    resolution: Annotated[float, Number("rad", least=0)] = 0.0
    range: Annotated[float, Number("rad", above=0)] | None = None
    delay: Annotated[float, Number("s", least=0)] | None = None
    """Default: that of displacements."""


class ForceSensor(Settings):
    """Noise, resolution, range and delay of the sensors of forces."""

    noise: Annotated[float, Number("N", least=0)] = 0.0
    resolution: Annotated[float, Number("N", least=0)] = 0.0
    range: Annotated[float, Number("N", above=0)] | None = None
    delay: Annotated[float, Number("s", least=0)] = 0.0


class MomentSensor(Settings):
    """Noise, resolution, range and delay of the sensors of moments."""

    noise: Annotated[float, Number("N m", least=0)] = 0.0
    resolution: Annotated[float, Number("N m", least=0)] = 0.0
    range: Annotated[float, Number("N m", above=0)] | None = None
    delay: Annotated[float, Number("s", least=0)] | None = None
    """Default: that of forces."""


class Sensors(Settings):
    """Root-mean-square noise, smallest step, largest value and delay of each kind of sensor; ideal if left out."""

    displacement: DisplacementSensor = DisplacementSensor()
    rotation: RotationSensor = RotationSensor()
    force: ForceSensor = ForceSensor()
    moment: MomentSensor = MomentSensor()

    def of_motion(self, axes: Axes) -> list[DisplacementSensor | RotationSensor]:
        """Of displacement or rotation, for each axis."""
        if not axes.rotations.any():
            return [self.displacement] * len(axes)
        rotation = self.rotation.unchecked_copy({"delay": _either(self.rotation.delay, self.displacement.delay)})
        return [rotation if turns else self.displacement for turns in axes.rotations]

    def of_force(self, axes: Axes) -> list[ForceSensor | MomentSensor]:
        """Of force or moment, for each axis."""
        if not axes.rotations.any():
            return [self.force] * len(axes)
        moment = self.moment.unchecked_copy({"delay": _either(self.moment.delay, self.force.delay)})
        return [moment if turns else self.force for turns in axes.rotations]

    def all_of(self, axes: Axes) -> list[DisplacementSensor | RotationSensor | ForceSensor | MomentSensor]:
        """All of an interface, those of motion first."""
        return [*self.of_motion(axes), *self.of_force(axes)]

    def varying(self, axes: Axes) -> np.ndarray:
        """Which are known to vary, those of motion first: 1 where noise is not lost in rounding."""
        parts = self.all_of(axes)
        return np.array([part.noise > 0.0 and part.noise >= 0.5 * part.resolution for part in parts], dtype=float)

    def scatter(self, axes: Axes, times: float) -> np.ndarray:
        """``times`` the noise, and one resolution, those of motion first."""
        return np.array([times * part.noise + part.resolution for part in self.all_of(axes)])

    def changed(self, motion: Mapping[str, Any], force: Mapping[str, Any]) -> Sensors:
        """With these values of the sensors of motion, and those of the sensors of force, such as their ``noise``."""
        return self.unchecked_copy(
            {
                "displacement": self.displacement.unchecked_copy(motion),
                "rotation": self.rotation.unchecked_copy(motion),
                "force": self.force.unchecked_copy(force),
                "moment": self.moment.unchecked_copy(force),
            }
        )

    def check_axes(self, axes: Axes) -> None:
        """Refuse sensors of rotations and moments where no axis turns."""
        described = {"rotation": self.rotation != RotationSensor(), "moment": self.moment != MomentSensor()}
        for key, given in described.items():
            if given and not axes.rotations.any():
                raise fault(f"of the axes {', '.join(axes.names)} none is a rotation; omit it", "sensors", key)

    def block(self, axes: Axes, seed: int, initial: np.ndarray, *, ideal: bool, dt: float) -> Block:
        """The block "sensors"; ideal ones are late all the same, as their delay is part of the loop's dynamics."""
        n, parts = len(axes), self.all_of(axes)
        none = np.zeros(2 * n)
        parameters: dict[str, Value] = {
            "seed": float(seed),
            "noise": none if ideal else np.array([part.noise for part in parts]),
            "resolution": none if ideal else np.array([part.resolution for part in parts]),
            "range": np.array([np.inf if ideal or part.range is None else part.range for part in parts]),
            **NO_TABLE,
        }
        state: dict[str, Value] = {"count": 0.0}
        frozen: tuple[str, ...] = ("count",)
        late = np.array([part.delay for part in parts]) / dt
        if late.any():
            parameters["late"] = late
            state["history"] = np.tile(initial, (int(late.max()) + 2, 1))
            state["now"] = np.zeros(2 * n)
            frozen = ("count", "now")
        return Block(
            name="sensors",
            step=late_sensors_step if late.any() else sensors_step,
            inputs=(*names(channels("rig.displacement", "m", n)), *names(channels("rig.force", "N", n))),
            outputs=(
                *channels("measured.displacement", "m", n, of="axis"),
                *channels("measured.force", "N", n, of="axis"),
            ),
            parameters=parameters,
            state=state,
            frozen=frozen,
            initial=tuple(initial),
        )


def _either(delay: float | None, other: float) -> float:
    return other if delay is None else delay


@kernel
def sense(true, noise, largest, resolution, seed, known, table, count, measured):  # type: ignore[no-untyped-def]
    """Deviates come from the table as far as they are known there, else they are computed: the same bits."""
    for i in range(true.size):
        value = true[i]
        if noise[i] > 0.0:
            if count < known:
                value += noise[i] * load_double(int(table) + 8 * (int(count) * noise.size + i))
            else:
                value += noise[i] * normal(seed, float(i), count)
        value = min(max(value, -largest[i]), largest[i])
        if resolution[i] > 0.0:
            value = resolution[i] * np.rint(value / resolution[i])
        measured[i] = value


def sensors_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    sense(u, p.noise, p.range, p.resolution, p.seed, p.known, p.table, s.count, y)
    s.count += 1.0
    return 0


def late_sensors_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    sense(u, p.noise, p.range, p.resolution, p.seed, p.known, p.table, s.count, s.now)
    s.count += 1.0
    push(s.history, s.now)
    for i in range(y.size):
        whole = int(p.late[i])
        part = p.late[i] - whole
        y[i] = (1.0 - part) * s.history[whole, i] + part * s.history[whole + 1, i]
    return 0
