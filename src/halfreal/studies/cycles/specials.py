"""Where a family of limit cycles changes: folds, period doublings, tori, branches of other cycles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...stability.floquet import crossing
from .periodic_motion import PeriodicMotion

NEUTRAL = 1e-3
"""Distance of |μ| from 1 within which a cycle counts as neither stable nor unstable."""
AROUND = 2
"""Cycles from a fold within which a multiplier at 1 belongs to it."""


@dataclass(frozen=True)
class Special:
    """Where a family changes: how, at which number and amplitude."""

    kind: str
    """fold, period doubling, Neimark–Sacker, or branch point: at μ = 1 without a fold other cycles branch off."""
    number: float
    amplitude: float


def stability_of(size: float) -> str:
    """Of a cycle with this largest |μ|."""
    return "neutral" if abs(size - 1.0) < NEUTRAL else "stable" if size < 1.0 else "unstable"


def specials_of(cycles: Sequence[PeriodicMotion]) -> tuple[Special, ...]:
    """What lies between neighbours of a family."""
    number = np.array([float(one.cycle.number or 0.0) for one in cycles])
    amplitude = np.array([one.amplitude for one in cycles])
    size = np.array([one.largest_multiplier for one in cycles])
    settled = np.abs(size - 1.0) >= NEUTRAL
    steps = np.diff(number)
    folds = [i for i in range(1, len(cycles) - 1) if steps[i - 1] * steps[i] < 0.0 and settled[i - 1 : i + 2].any()]
    found = [Special("fold", *vertex(amplitude[i - 1 : i + 2], number[i - 1 : i + 2])) for i in folds]
    for i in range(len(cycles) - 1):
        if not settled[i : i + 2].all() or (size[i] - 1.0) * (size[i + 1] - 1.0) > 0.0:
            continue
        kind = crossing(complex(cycles[i if size[i] > 1.0 else i + 1].multipliers[0]))
        if kind == "fold" and any(abs(i - fold) <= AROUND for fold in folds):
            continue
        share = (1.0 - size[i]) / (size[i + 1] - size[i])
        at = (float(values[i] + share * (values[i + 1] - values[i])) for values in (number, amplitude))
        found.append(Special("branch point" if kind == "fold" else kind, *at))
    return tuple(found)


def vertex(amplitude: np.ndarray, number: np.ndarray) -> tuple[float, float]:
    """Number and amplitude where the parabola through three cycles turns."""
    c2, c1, c0 = np.polyfit(amplitude - amplitude[1], number, 2)
    by = -c1 / (2.0 * c2)
    return float(c0 + by * (c1 + by * c2)), float(amplitude[1] + by)
