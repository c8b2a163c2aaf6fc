"""A sine, or a train of gusts, that dwells at one frequency after another."""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from ...contracts.excitation import Dwells
from ...kernels.block import Block, Value
from ...kernels.compile import kernel
from ...settings import Number, Vector, fault
from .amplitude import WithAmplitude, own_time, rise


@kernel
def stepped(t, frequencies, dwell):  # type: ignore[no-untyped-def]
    """Phase and angular frequency of a signal that stays at each frequency [Hz] for ``dwell``, and at the last."""
    phase, last = 0.0, frequencies.size - 1
    for i in range(last):
        if t < (i + 1) * dwell:
            return 2.0 * math.pi * (phase + frequencies[i] * (t - i * dwell)), 2.0 * math.pi * frequencies[i]
        phase += frequencies[i] * dwell
    return 2.0 * math.pi * (phase + frequencies[last] * (t - last * dwell)), 2.0 * math.pi * frequencies[last]


def stepped_sine_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    t = own_time(t, p.shift, u)
    g, dg = rise(t, p.ramp)
    a, w = stepped(t, p.frequencies, p.dwell)
    y[0] = p.amplitude * g * math.sin(a)
    y[1] = p.amplitude * (dg * math.sin(a) + g * w * math.cos(a))
    return 0


class Stepped(WithAmplitude):
    """One frequency after another."""

    frequencies: Annotated[np.ndarray, Vector("Hz", above=0)]
    """One frequency, or several in sequence; the phase is continuous, and the last one is kept."""
    dwell: Annotated[float, Number("s", above=0)] | None = None
    """Time at each frequency; needed if there are several."""

    @model_validator(mode="after")
    def _knows_how_long(self) -> Self:
        if len(self.frequencies) > 1 and self.dwell is None:
            raise fault(f"{len(self.frequencies)} frequencies without a dwell; give the duration of each")
        return self

    @property
    def highest_frequency(self) -> float:
        return float(np.max(self.frequencies))

    def _parameters(self) -> dict[str, Value]:
        return {"frequencies": np.asarray(self.frequencies), "dwell": 1.0 if self.dwell is None else self.dwell}


class SteppedSine(Stepped):
    """A g(t) sin φ(t), dwelling at one frequency after another."""

    kind: Literal["stepped sine"] = "stepped sine"

    def block(self, name: str, shift: float = 0.0, since: str | None = None) -> Block:
        return self.made(name, stepped_sine_step, shift, since, self._parameters())

    @property
    def dwells(self) -> Dwells:
        return Dwells(tuple(float(hz) for hz in self.frequencies), self.dwell)


def gust_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    t = own_time(t, p.shift, u)
    g, dg = rise(t, p.ramp)
    a, w = stepped(t, p.frequencies, p.dwell)
    if a > 2.0 * math.pi * p.gusts:  # the last has passed: no sines of nothing, for the rest of a test
        y[0] = y[1] = p.amplitude * 0.0
        return 0
    value, rate = 0.5 * (1.0 - math.cos(a)), 0.5 * w * math.sin(a)
    y[0], y[1] = p.amplitude * g * value, p.amplitude * (dg * value + g * rate)
    return 0


class Gust(Stepped):
    """½A g(t) (1 − cos φ(t)): a train of 1-cosine gusts, or so many of them (``gusts``)."""

    kind: Literal["gust"] = "gust"
    gusts: Annotated[int, Field(ge=1)] | None = None

    def block(self, name: str, shift: float = 0.0, since: str | None = None) -> Block:
        gusts = math.inf if self.gusts is None else float(self.gusts)
        return self.made(name, gust_step, shift, since, {**self._parameters(), "gusts": gusts})

    @property
    def dwells(self) -> Dwells:
        return Dwells(tuple(float(hz) for hz in self.frequencies), self.dwell, sinusoidal=False)
