"""How large a virtual substructure may be for its whole tick to fit into a period.

The size grows by a factor until the tick no longer fits; the interval between the last two sizes is then halved, in
logarithms, until it is short.  Sizes that are given were measured, not interpolated.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from latency import Ours, at_rate, locked
from report import Row, duration

from halfreal.models.structures.structure import Structure
from halfreal.records.ring import Ring

PERIODS = (0.2e-3, 1e-3)
FIRST, GROWTH, RESOLUTION, ROUNDED = 400, 1.5, 1.12, 10
"""The first size, the factor between the next ones, that between what fits and what does not at the end."""
SMALLEST, LARGEST = 20, 2000
TURNS, TICKS, LONGEST_TURN = 7, 500, 0.15
"""Turns at each size, and their length: so many ticks, or seconds if that is shorter."""
PAUSE = 0.2
"""Of a turn, after it: the loop does not rest in its own, and real-time threads may not take all of a processor."""


def structure(dofs: int, scheme: str = "newmark") -> Structure:
    """Random masses and stiffnesses with natural frequencies of some hertz; the example's support at the interface."""
    random = np.random.default_rng(1)

    def positive(scale: float) -> np.ndarray:
        part = random.standard_normal((dofs, dofs))
        return scale * (np.eye(dofs) + part @ part.T / dofs)

    support = np.zeros(dofs)
    support[0] = 2250.0
    return Structure.model_validate(
        {
            "mass": positive(10.0),
            "stiffness": positive(1e4),
            "modal_damping": 0.02,
            "support": {"stiffness": support},
            "scheme": scheme,
        }
    )


@dataclass(frozen=True)
class Tick:
    """Times of a whole tick [s], of the median turn."""

    p50: float
    p99: float


def measure(virtual: Structure) -> Tick:
    """The loop unpaced, one tick after another."""
    definition = at_rate(1.0 / PERIODS[-1]).model_copy(update={"virtual": virtual})
    ours = Ours(definition, waits=False)
    found = []
    with locked():
        ticks = int(np.clip(LONGEST_TURN / np.median(one_turn(ours, 50)), 50, TICKS))
        for _ in range(TURNS):
            turn = one_turn(ours, ticks)
            found.append(np.quantile(turn, (0.5, 0.99)))
            time.sleep(PAUSE * float(turn.sum()))
    p50, p99 = np.median(found, axis=0)
    return Tick(float(p50), float(p99))


def one_turn(ours: Ours, ticks: int) -> np.ndarray:
    """Times of the ticks, from the second on; the first two rows have none."""
    ring = Ring.create(ticks + 2, len(ours.names))
    try:
        ours.drive(ticks + 2, ring)
        return ours.channel(ring.rows, "pace.execution")[1:].copy()
    finally:
        ring.close()


class Search:
    """Measures sizes, each once."""

    def __init__(self, what: str, of_size: Callable[[int], Structure]) -> None:
        self.what, self._of_size = what, of_size
        self.measured: dict[int, Tick] = {}

    def tick(self, size: int) -> Tick:
        if size not in self.measured:
            print(f"{size} {self.what}", flush=True)
            self.measured[size] = measure(self._of_size(size))
        return self.measured[size]

    def limits(self, period: float) -> tuple[int, int]:
        """A size whose p99 fits into a period, and a somewhat larger one whose p99 does not."""
        fits = {size: tick.p99 <= period for size, tick in self.measured.items()}
        below = max((size for size, good in fits.items() if good), default=0)
        above = min((size for size, good in fits.items() if not good and size > below), default=0)
        while not (below and above):
            size = FIRST if not (below or above) else rounded(below * GROWTH) if below else rounded(above / GROWTH)
            if size > LARGEST:  # structures in modes fit, however large
                return below, 0
            if not SMALLEST <= size <= LARGEST:
                raise RuntimeError(f"the search for a size that just fits into {period:g} s has come to {size}")
            below, above = (size, above) if self.tick(size).p99 <= period else (below, size)
        while above / below > RESOLUTION:
            size = rounded((above * below) ** 0.5)
            below, above = (size, above) if self.tick(size).p99 <= period else (below, size)
        return below, above


def rounded(size: float) -> int:
    return ROUNDED * round(size / ROUNDED)


def rows() -> list[Row]:
    """The largest linear substructure by the exact scheme, and the largest by Newmark's method."""
    searches = (
        Search("states, exact scheme", lambda states: structure(states // 2, "exact")),
        Search("degrees of freedom, Newmark", structure),
    )
    found = []
    for search in searches:
        for period in PERIODS:
            below, above = search.limits(period)
            tick = search.tick(below)
            figure = f"{below:,} {search.what}; " + (f"{above:,} do not fit" if above else "more were not tried")
            times = f"tick p50 {duration(tick.p50)}, p99 {duration(tick.p99)}"
            found.append(Row(f"largest virtual substructure in {1e3 * period:g} ms", figure, times))
    return found
