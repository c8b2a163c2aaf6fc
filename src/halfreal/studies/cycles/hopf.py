"""Hopf points: where the loop at rest loses or gains stability with an oscillating pole pair, as a number changes.

Of a sampled loop they are Neimark–Sacker points of its tick; people know them by the name of the continuous one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.optimize import brentq

from ... import units
from ...runs.loop_stability import linearised
from ...stability.amplitude_sweep import Mode
from .family import Family
from .free_loop import modes

SCAN = 25
"""Values of the number at which the loop at rest is linearised."""
STRAIGHT = 1e-6
"""Part of the number's range within which cycles of a family are at the same number."""


@dataclass(frozen=True)
class Hopf:
    """A number at which a pole pair of the loop at rest is on the unit circle."""

    number: float
    frequency_hz: float
    mode: Mode
    axis: int
    criticality: Literal["supercritical", "subcritical", "unknown"] = "unknown"
    linear_up_to: float = 0.0
    """Amplitude up to which the loop is linear, and all cycles are at this number."""

    def judged(
        self, numbers: np.ndarray, amplitudes: np.ndarray, sizes: np.ndarray, width: float, neutral: float
    ) -> Hopf:
        """With its criticality, by the first cycles of the family that begins at it that are not neutral."""
        from_here = np.argsort(amplitudes)
        straight = np.abs(numbers - self.number) < STRAIGHT * width
        linear = float(amplitudes[straight].max()) if straight.sum() > 2 else 0.0
        for i in from_here:
            if abs(sizes[i] - 1.0) >= neutral:
                kind: Literal["supercritical", "subcritical"] = "supercritical" if sizes[i] < 1.0 else "subcritical"
                return replace(self, criticality=kind, linear_up_to=linear)
        return replace(self, linear_up_to=linear)

    def text(self, number: str, unit: str) -> str:
        """For people; ``number`` with its unit, and the unit of amplitudes."""
        kind = "" if self.criticality == "unknown" else f"{self.criticality} "
        linear = f"; linear up to at least {units.text(self.linear_up_to, unit, 2)}" if self.linear_up_to > 0.0 else ""
        return f"{kind}Hopf point at {number}, {self.frequency_hz:.4g} Hz{linear}"


def hopf_points(family: Family, low: float, high: float) -> tuple[list[Hopf], np.ndarray]:
    """Hopf points of a family between two values, and the growth rate at rest [1/s] over the number, (k, 2)."""

    def growth(number: float) -> float:
        radius = linearised(family.at(number)).spectral_radius
        return float(np.log(max(radius, 1e-12)) / family.definition.timing.step)

    numbers = np.linspace(low, high, SCAN)
    rates = np.array([growth(float(one)) for one in numbers])
    found: list[Hopf] = []
    if linearised(family.at(low)).equivalent:  # a law without a slope at rest: no cycle branches off there
        return found, np.column_stack([numbers, rates])
    for i in np.flatnonzero(rates[:-1] * rates[1:] < 0.0):
        number = float(brentq(growth, numbers[i], numbers[i + 1], xtol=1e-12 * max(abs(low), abs(high)), rtol=1e-12))
        loop = family.loop_at(number)
        for mode, axis in modes(family.at(number), loop)[:1]:
            found.append(Hopf(number, 1.0 / (mode.ticks * loop.dt), mode, axis))
    return found, np.column_stack([numbers, rates])
