"""Sensors of a simulated rig: noise, range, resolution and delay, once a tick.

measured(t) = round_to(resolution, clip(±range, true + noise · normal deviate))(t − delay)

A converter of b bits over ±r volts behind a sensor of s units a volt has the range r s and the resolution 2 r s/2ᵇ.  A
delay of conditioning and transport that is no whole number of steps is linear between the samples.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ..kernels.block import Block, Value, channels, names
from ..kernels.compile import kernel
from ..kernels.history import push
from ..kernels.random import normal
from ..settings import Number, Settings


class DisplacementSensor(Settings):
    noise: Annotated[float, Number("m", least=0)] = 0.0
    resolution: Annotated[float, Number("m", least=0)] = 0.0
    range: Annotated[float, Number("m", above=0)] | None = None
    delay: Annotated[float, Number("s", least=0)] = 0.0


class ForceSensor(Settings):
    noise: Annotated[float, Number("N", least=0)] = 0.0
    resolution: Annotated[float, Number("N", least=0)] = 0.0
    range: Annotated[float, Number("N", above=0)] | None = None
    delay: Annotated[float, Number("s", least=0)] = 0.0


class Sensors(Settings):
    """Root-mean-square noise, smallest step, largest value and delay of each kind of sensor; ideal if left out."""

    displacement: DisplacementSensor = DisplacementSensor()
    force: ForceSensor = ForceSensor()

    def block(self, n: int, seed: int, initial: np.ndarray, *, ideal: bool, dt: float) -> Block:
        """The block "sensors"; ideal ones are late all the same, as their delay is part of the loop's dynamics."""
        parts = [self.displacement] * n + [self.force] * n
        none = np.zeros(2 * n)
        parameters: dict[str, Value] = {
            "seed": float(seed),
            "noise": none if ideal else np.array([part.noise for part in parts]),
            "resolution": none if ideal else np.array([part.resolution for part in parts]),
            "range": np.array([np.inf if ideal or part.range is None else part.range for part in parts]),
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
            outputs=(*channels("measured.displacement", "m", n), *channels("measured.force", "N", n)),
            parameters=parameters,
            state=state,
            frozen=frozen,
            initial=tuple(initial),
        )


@kernel
def sense(true, noise, largest, resolution, seed, count, measured):  # type: ignore[no-untyped-def]
    for i in range(true.size):
        value = true[i]
        if noise[i] > 0.0:
            value += noise[i] * normal(seed, float(i), count)
        value = min(max(value, -largest[i]), largest[i])
        if resolution[i] > 0.0:
            value = resolution[i] * np.rint(value / resolution[i])
        measured[i] = value


def sensors_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    sense(u, p.noise, p.range, p.resolution, p.seed, s.count, y)
    s.count += 1.0
    return 0


def late_sensors_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    sense(u, p.noise, p.range, p.resolution, p.seed, s.count, s.now)
    s.count += 1.0
    push(s.history, s.now)
    for i in range(y.size):
        whole = int(p.late[i])
        part = p.late[i] - whole
        y[i] = (1.0 - part) * s.history[whole, i] + part * s.history[whole + 1, i]
    return 0
