"""How much smaller an excitation must be where it is too large, tried out by rehearsal."""

from __future__ import annotations

from collections.abc import Callable

from ...definition.definition import Definition
from ...runs.loop_stability import LoopStability
from ...runs.rehearse import rehearse
from .nonlinear import scaled

SMALLEST = 1.0 / 1024.0
DIGITS = 3
ROUNDS = 4
"""Bisections where the loop is not linear."""


def within_limits(definition: Definition, stability: LoopStability) -> tuple[float, str] | None:
    """The largest factor on the excitation with which the rehearsal is completed, and the limit that then binds.

    None if none is found, or the excitation cannot be scaled.  Of a linear loop that keeps the share s of its limits at
    the factor f, the limits allow f/s; what is found is rehearsed, and where that trips all the same it is bisected.
    """
    named: dict[float, str] = {}

    def share(factor: float) -> float:
        smaller = scaled(definition, factor)
        assert smaller is not None
        run = rehearse(smaller, stability=stability)
        if run.outcome != "completed" or not run.limits_used:
            return float("inf")
        named[factor], used = max(run.limits_used.items(), key=lambda one: one[1])
        return used

    if scaled(definition, 1.0) is None or (definition.excitation.virtual or definition.excitation.specimen) is None:
        return None
    found = largest_factor(share)
    return None if found is None else (found, named[found])


def largest_factor(share: Callable[[float], float]) -> float | None:
    """The largest factor up to 1, to a few digits, at which a share of what is allowed is not above 1; None if none."""
    low = 0.5
    while not (used := share(low)) <= 1.0:
        low *= 0.5
        if low < SMALLEST:
            return None
    high = 2.0 * low
    guess = rounded_down(0.999 * low / used) if used > 0.0 else high
    if low < guess < high:
        if share(guess) <= 1.0:
            return guess
        high = guess
    for _ in range(ROUNDS):
        middle = rounded_down(0.5 * (low + high))
        low, high = (middle, high) if share(middle) <= 1.0 else (low, middle)
    return low


def rounded_down(factor: float) -> float:
    """With a few digits, and never larger."""
    text = float(f"{factor:.{DIGITS}g}")
    return text if text <= factor else float(f"{factor * (1.0 - 10.0**-DIGITS):.{DIGITS}g}")
