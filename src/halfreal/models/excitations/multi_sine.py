"""Several tones at once.

    e(t) = A g(t) Σ_i a_i cos(2π f_i t + φ_i)

With all a_i = 1 and φ_i = 0 it is Eq. (6) of the paper on hybrid testing with adaptive feed-forward filters.  All tones
then peak together.  M. R. Schroeder, IEEE Trans. Inform. Theory 16 (1970) 85–89, spreads them, so that the same tones
need about half the peak:

    φ_i = −2π Σ_{l<i} (i − l) p_l,    p_l = a_l² / Σ a²                     tones of rising frequency, evenly spaced
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import model_validator

from ...contracts.excitation import Dwells, Harmonics
from ...kernels.block import Block
from ...settings import Vector, fault
from .amplitude import WithAmplitude, own_time, rise


def multi_sine_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    t = own_time(t, p.shift, u)
    g, dg = rise(t, p.ramp)
    value = rate = 0.0
    for i in range(p.omega.size):
        a = p.omega[i] * t + p.phases[i]
        value += p.amplitudes[i] * math.cos(a)
        rate -= p.amplitudes[i] * p.omega[i] * math.sin(a)
    y[0] = p.amplitude * g * value
    y[1] = p.amplitude * (dg * value + g * rate)
    return 0


def schroeder_phases(amplitudes: np.ndarray) -> np.ndarray:
    """Phases [rad] of tones in the order of their frequencies, for a low peak."""
    power = amplitudes**2 / np.sum(amplitudes**2)
    return -2 * np.pi * np.concatenate([[0.0], np.cumsum(np.cumsum(power))[:-1]])


class MultiSine(WithAmplitude):
    """A g(t) Σ a_i cos(2π f_i t + φ_i): several tones at once."""

    kind: Literal["multi-sine"] = "multi-sine"
    frequencies: Annotated[np.ndarray, Vector("Hz", above=0)]
    """Frequencies of the tones."""
    amplitudes: Annotated[np.ndarray, Vector("1", above=0)] | None = None
    """Relative amplitude of each tone; default: 1."""
    phases: Annotated[np.ndarray, Vector("rad")] | Literal["schroeder"] | None = None
    """Phase of each tone's cosine at time 0, or "schroeder" for a low peak; default: 0."""

    @model_validator(mode="after")
    def _one_for_each(self) -> Self:
        count = len(self.frequencies)
        if len(np.unique(self.frequencies)) < count:
            raise fault("a frequency is listed twice; list each tone once", "frequencies")
        for key in ("amplitudes", "phases"):
            given = getattr(self, key)
            if isinstance(given, np.ndarray) and len(given) != count:
                raise fault(f"{len(given)} {key} for {count} frequencies; give one for each tone", key)
        return self

    def block(self, name: str, shift: float = 0.0, since: str | None = None) -> Block:
        amplitudes = np.ones(len(self.frequencies)) if self.amplitudes is None else self.amplitudes
        phases = np.zeros(len(self.frequencies)) if self.phases is None else self.phases
        spread = isinstance(phases, str)
        if isinstance(phases, str):
            rising = np.argsort(self.frequencies)
            phases = np.empty(len(rising))
            phases[rising] = schroeder_phases(amplitudes[rising])
        tones = {"omega": 2 * np.pi * self.frequencies, "amplitudes": amplitudes, "phases": phases}
        made = self.made(name, multi_sine_step, shift, since, tones)
        return replace(made, references=("schroeder1970",)) if spread else made

    @property
    def highest_frequency(self) -> float:
        return float(np.max(self.frequencies))

    @property
    def dwells(self) -> Dwells | None:
        return Dwells((float(self.frequencies[0]),)) if len(self.frequencies) == 1 else None

    def harmonics(self, step: float) -> Harmonics:
        first, *others = sorted(float(hz) for hz in self.frequencies)
        return Harmonics(first, tones=tuple(others))
