"""A square wave, or the first terms of its Fourier series."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field

from ...contracts.excitation import Harmonics
from ...kernels.block import Block
from ...settings import Number
from .amplitude import WithAmplitude, own_time, rise

NEGLIGIBLE = 0.05
"""Part of the first harmonic's amplitude; the k-th has 1/k."""


def square_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    t = own_time(t, p.shift, u)
    g, dg = rise(t, p.ramp)
    a = p.omega * t
    value = rate = 0.0
    if p.terms == 0.0:
        periods = a * 0.5 / math.pi + 1e-9  # a jump falls onto the sample at its time
        value = 1.0 if periods - math.floor(periods) < 0.5 else -1.0
    for i in range(int(p.terms)):
        order = 2.0 * i + 1.0
        value += 4.0 / math.pi * math.sin(order * a) / order
        rate += 4.0 / math.pi * p.omega * math.cos(order * a)
    y[0] = p.amplitude * g * value
    y[1] = p.amplitude * (dg * value + g * rate)
    return 0


class Square(WithAmplitude):
    """A square wave, ±A g(t); or the first ``terms`` of its Fourier series, at odd multiples of ``frequency``."""

    kind: Literal["square"] = "square"
    frequency: Annotated[float, Number("Hz", above=0)]
    terms: Annotated[int, Field(ge=1, le=1000)] | None = None

    def block(self, name: str, shift: float = 0.0, since: str | None = None) -> Block:
        return self.made(
            name, square_step, shift, since, {"omega": 2 * math.pi * self.frequency, "terms": float(self.terms or 0)}
        )

    @property
    def highest_frequency(self) -> float:
        """Of its terms; of its first alone, if it has all of them."""
        return self.frequency * (2 * (self.terms or 1) - 1)

    def harmonics(self, step: float) -> Harmonics:
        count = self.terms or int((1 / NEGLIGIBLE + 1) / 2)
        orders = tuple(order for order in range(1, 2 * count, 2) if order * self.frequency < 0.5 / step)
        return Harmonics(self.frequency, orders or (1,))
