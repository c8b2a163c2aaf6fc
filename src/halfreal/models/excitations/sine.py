"""A sine."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from ...contracts.excitation import Dwells, Harmonics
from ...kernels.block import Block
from ...settings import Number
from .amplitude import WithAmplitude, own_time, rise


def sine_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    t = own_time(t, p.shift, u)
    g, dg = rise(t, p.ramp)
    a = p.omega * t + p.phase
    y[0] = p.amplitude * g * math.sin(a)
    y[1] = p.amplitude * (dg * math.sin(a) + g * p.omega * math.cos(a))
    return 0


class Sine(WithAmplitude):
    """A g(t) sin(2π f t + phase)."""

    kind: Literal["sine"] = "sine"
    frequency: Annotated[float, Number("Hz", above=0)]
    phase: Annotated[float, Number("rad")] = 0.0

    def block(self, name: str, shift: float = 0.0, since: str | None = None) -> Block:
        return self.made(name, sine_step, shift, since, {"omega": 2 * math.pi * self.frequency, "phase": self.phase})

    @property
    def highest_frequency(self) -> float:
        return self.frequency

    @property
    def dwells(self) -> Dwells:
        return Dwells((self.frequency,))

    def harmonics(self, step: float) -> Harmonics:
        return Harmonics(self.frequency)
