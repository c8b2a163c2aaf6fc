"""Random noise in a band."""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from ...kernels.block import Block, Value
from ...settings import Number, fault
from .amplitude import WithAmplitude, own_time, rise

MOST_LINES = 1000
"""Of a random excitation, all of which are summed in every tick."""


def random_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    t = own_time(t, p.shift, u)
    g, dg = rise(t, p.ramp)
    value = rate = 0.0
    for i in range(p.phases.size):
        w = p.first + i * p.spacing
        a = w * t + p.phases[i]
        value += math.sin(a)
        rate += w * math.cos(a)
    y[0], y[1] = p.amplitude * g * value * p.scale, p.amplitude * p.scale * (dg * value + g * rate)
    return 0


class Random(WithAmplitude):
    """Random noise of the rms A g(t) from ``frequency`` to ``to``, its lines 1/``period`` apart; it repeats then."""

    kind: Literal["random"] = "random"
    frequency: Annotated[float, Number("Hz", above=0)]
    to: Annotated[float, Number("Hz", above=0)]
    period: Annotated[float, Number("s", above=0)]
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 1

    @model_validator(mode="after")
    def _has_lines(self) -> Self:
        lines = self.period * (self.to - self.frequency)
        if not 1 <= lines <= MOST_LINES:
            top, longest = self.frequency + MOST_LINES / self.period, MOST_LINES / max(self.to - self.frequency, 1e-9)
            remedy = (
                f"end at {top:.4g} Hz or below, or repeat after {longest:.4g} s or less; a test carries less than half "
                "its sampling rate, 500 Hz with a step of 1 ms"
                if lines > MOST_LINES
                else f"let it end 1/period, {1.0 / self.period:.4g} Hz, or more above where it begins"
            )
            raise fault(
                f"{max(lines, 0.0):.4g} lines from {self.frequency:g} to {self.to:g} Hz in a period of {self.period:g} "
                f"s, where 1 to {MOST_LINES} are possible; {remedy}"
            )
        return self

    def block(self, name: str, shift: float = 0.0, since: str | None = None) -> Block:
        first, last = math.ceil(self.frequency * self.period - 1e-9), math.floor(self.to * self.period + 1e-9)
        phases = np.random.default_rng(self.seed).uniform(0.0, 2 * math.pi, last - first + 1)
        spacing = 2 * math.pi / self.period
        parameters: dict[str, Value] = {"first": first * spacing, "spacing": spacing, "phases": phases}
        return self.made(name, random_step, shift, since, {**parameters, "scale": math.sqrt(2.0 / phases.size)})

    @property
    def highest_frequency(self) -> float:
        return max(self.frequency, self.to)

    @property
    def averaged_period(self) -> float:
        return self.period
