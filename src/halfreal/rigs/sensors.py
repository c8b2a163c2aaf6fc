"""Sensors of a simulated rig: noise, range and resolution, once a tick.

measured = round_to(resolution, clip(±range, true + noise · normal deviate))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import numpy as np

from ..kernels.block import Block, channels, names
from ..kernels.random import normal
from ..settings import Number, Settings


class DisplacementSensor(Settings):
    noise: Annotated[float, Number("m", least=0)] = 0.0
    resolution: Annotated[float, Number("m", least=0)] = 0.0
    range: Annotated[float, Number("m", above=0)] | None = None


class ForceSensor(Settings):
    noise: Annotated[float, Number("N", least=0)] = 0.0
    resolution: Annotated[float, Number("N", least=0)] = 0.0
    range: Annotated[float, Number("N", above=0)] | None = None


class Sensors(Settings):
    """Root-mean-square noise, smallest step and largest value of each kind of sensor; ideal if left out."""

    displacement: DisplacementSensor = DisplacementSensor()
    force: ForceSensor = ForceSensor()

    def block(self, n: int, seed: int, initial: np.ndarray, *, ideal: bool) -> Block:
        parts = [self.displacement] * n + [self.force] * n
        none = np.zeros(2 * n)
        parameters: Mapping[str, float | np.ndarray] = {
            "seed": float(seed),
            "noise": none if ideal else np.array([part.noise for part in parts]),
            "resolution": none if ideal else np.array([part.resolution for part in parts]),
            "range": np.array([np.inf if ideal or part.range is None else part.range for part in parts]),
        }
        return Block(
            name="sensors",
            step=sensors_step,
            inputs=(*names(channels("rig.displacement", "m", n)), *names(channels("rig.force", "N", n))),
            outputs=(*channels("measured.displacement", "m", n), *channels("measured.force", "N", n)),
            parameters=parameters,
            state={"count": 0.0},
            frozen=("count",),
            initial=tuple(initial),
        )


def sensors_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    for i in range(u.size):
        value = u[i]
        if p.noise[i] > 0.0:
            value += p.noise[i] * normal(p.seed, float(i), s.count)
        value = min(max(value, -p.range[i]), p.range[i])
        if p.resolution[i] > 0.0:
            value = p.resolution[i] * np.rint(value / p.resolution[i])
        y[i] = value
    s.count += 1.0
    return 0
