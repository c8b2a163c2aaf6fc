"""A step, and a pulse."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from ...kernels.block import Block
from ...settings import Number
from .amplitude import WithAmplitude, own_time, rise


def step_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    t = own_time(t, p.shift, u)
    g, dg = rise(t, p.ramp)
    y[0], y[1] = p.amplitude * g, p.amplitude * dg
    return 0


class Step(WithAmplitude):
    """A g(t): a step, or a smooth rise to a constant with ``ramp``."""

    kind: Literal["step"] = "step"

    def block(self, name: str, shift: float = 0.0, since: str | None = None) -> Block:
        return self.made(name, step_step, shift, since, {})


def pulse_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    t = own_time(t, p.shift, u)
    y[0] = y[1] = 0.0
    if 0.0 < t < p.duration:
        w = math.pi / p.duration
        y[0] = p.amplitude * math.sin(w * t) ** 2
        y[1] = p.amplitude * w * math.sin(2.0 * w * t)
    return 0


class Pulse(WithAmplitude):
    """A sin²(πt/duration) for ``duration`` seconds, then nothing."""

    kind: Literal["pulse"] = "pulse"
    duration: Annotated[float, Number("s", above=0)]

    def block(self, name: str, shift: float = 0.0, since: str | None = None) -> Block:
        return self.made(name, pulse_step, shift, since, {"duration": self.duration})
