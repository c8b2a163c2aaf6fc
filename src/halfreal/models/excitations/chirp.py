"""A sine of running frequency."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from ...contracts.excitation import Harmonics
from ...kernels.block import Block
from ...settings import Number
from .amplitude import WithAmplitude, own_time, rise


def chirp_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    t = own_time(t, p.shift, u)
    g, dg = rise(t, p.ramp)
    elapsed = min(t, p.duration)
    a = p.omega * elapsed + 0.5 * p.rate * elapsed * elapsed
    w = p.omega + p.rate * elapsed if t < p.duration else 0.0
    y[0] = p.amplitude * g * math.sin(a)
    y[1] = p.amplitude * (dg * math.sin(a) + g * w * math.cos(a))
    return 0


class Chirp(WithAmplitude):
    """A sine whose frequency runs linearly from ``frequency`` to ``to`` within ``duration``, then remains constant."""

    kind: Literal["chirp"] = "chirp"
    frequency: Annotated[float, Number("Hz", above=0)]
    to: Annotated[float, Number("Hz", above=0)]
    duration: Annotated[float, Number("s", above=0)]

    def block(self, name: str, shift: float = 0.0, since: str | None = None) -> Block:
        omega, last = 2 * math.pi * self.frequency, 2 * math.pi * self.to
        rate = (last - omega) / self.duration
        return self.made(name, chirp_step, shift, since, {"omega": omega, "rate": rate, "duration": self.duration})

    @property
    def highest_frequency(self) -> float:
        return max(self.frequency, self.to)

    def harmonics(self, step: float) -> Harmonics:
        return Harmonics(self.frequency, to=self.to)
