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


def folds_of(cycles: Sequence[PeriodicMotion]) -> list[int]:
    """Cycles of a family at which the number turns."""
    steps = np.diff([float(one.cycle.number or 0.0) for one in cycles])
    settled = [abs(one.largest_multiplier - 1.0) >= NEUTRAL for one in cycles]
    return [i for i in range(1, len(cycles) - 1) if steps[i - 1] * steps[i] < 0.0 and any(settled[i - 1 : i + 2])]


def specials_of(cycles: Sequence[PeriodicMotion]) -> tuple[Special, ...]:
    """What lies at the cycles of a family and between neighbours."""
    number = np.array([float(one.cycle.number or 0.0) for one in cycles])
    amplitude = np.array([one.amplitude for one in cycles])
    size = np.array([one.largest_multiplier for one in cycles])
    settled = np.abs(size - 1.0) >= NEUTRAL
    folds = folds_of(cycles)
    found = [Special("fold", float(number[i]), float(amplitude[i])) for i in folds]
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
