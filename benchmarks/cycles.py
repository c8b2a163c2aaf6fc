"""Limit cycles: the search for all of a loop, one by Newton's method, and against settling in a long rehearsal."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from report import Row, duration

import halfreal
from halfreal.stability.limit_cycle import cycle_near
from halfreal.studies.cycles.free_loop import free_loop

EXAMPLE = Path(__file__).parents[1] / "examples" / "limit_cycles" / "saturating_late.toml"
TARGET = 1.0
"""Seconds for all cycles of a loop of 20 states."""


def timed(function: Callable[[], object], turns: int) -> float:
    best = float("inf")
    for _ in range(turns):
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return best


def rows() -> list[Row]:
    """After a first search, which compiles or loads the code."""
    test = halfreal.load(EXAMPLE)
    (cycle,) = halfreal.limit_cycles(test)
    states = cycle.cycle.start.size
    loop = free_loop(test)

    def by_newton() -> object:
        loop.vector[:] = cycle.cycle.vector
        loop.run(1)
        found = cycle_near(loop, 1.01 * cycle.cycle.ticks, cycle.channels)
        return found.multipliers

    whole, one = timed(lambda: [c.stable for c in halfreal.limit_cycles(test)], 5), timed(by_newton, 10)
    met = "met" if whole < TARGET else "missed"
    return [
        Row(
            f"limit cycles of a loop of {states} states, searched over six decades of amplitude",
            duration(whole),
            f"with multipliers; target below {TARGET:g} s: {met}",
        ),
        Row("one of them from nearby, with its multipliers", duration(one)),
    ]
