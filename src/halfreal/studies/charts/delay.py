"""Stability charts with the rig's delay on one axis: every boundary traced exactly.

For each value of the other number the open loop without (or with the least) delay is formed and its crossings are found
(``batch_crossings``): roots cross the imaginary axis at the delays τ = (ψ₀ + 2πn)/ω, n = 0, 1, 2 …, and nowhere
else, so that counting them from τ = 0 up shows the number of unstable roots at every delay.

The open loop is either the continuous limit L₀, with the whole delay as an ideal one, or that of the code that runs
with the rig's delay set to one step, the least it can have; what a delay has beyond it is then taken as an ideal delay.
At whole steps that is the code itself; between them it is what the rig's reconstruction aims at, and below one step
it is the loop with one step of delay, as a command does not act sooner.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...contracts.context import OPEN_LOOP
from ...contracts.state_space import StateSpace
from ...runs.build import SETTLING_TICKS, build
from ...runs.continuous import continuous_loop
from ...runs.rehearse import Progress
from ...stability.late_predictor import with_predictor
from ...stability.open_loop import open_loop, whole
from ..uncertainty.variation import Variation
from .batch_crossings import Crossings, crossings_of

MOST_MATCHED = 12
"""Crossings up to which every way of matching two rows is tried."""
FOLD_STEPS = 30
"""Halvings with which a fold, where two crossings meet and vanish, is closed in on."""


@dataclass(frozen=True)
class Critical:
    """Critical delays of one loop, in rising order."""

    delay: np.ndarray
    """Delays [s] at which roots cross."""
    branch: np.ndarray
    """Which crossing by frequency, and which n: (k, 2)."""
    stable: np.ndarray
    """Whether the loop is stable before the first of them, between them, and after the last: (k + 1,)."""

    @property
    def limits(self) -> np.ndarray:
        """Whether stability changes at each of them."""
        return np.asarray(self.stable[1:] != self.stable[:-1])


def critical_delays(crossings: Crossings, longest: float, offset: float = 0.0) -> Critical:
    """Every delay up to ``longest`` [s] at which a root crosses; ``offset`` is a delay that is in the loop already."""
    room = longest - offset
    if crossings.beyond or room < 0.0:
        return Critical(np.zeros(0), np.zeros((0, 2), dtype=int), np.array([False]))
    counts = np.maximum(np.floor((crossings.omega * room - crossings.lag) / (2.0 * np.pi)) + 1.0, 0.0).astype(int)
    which = np.repeat(np.arange(len(counts)), counts)
    turn = np.concatenate([np.arange(count) for count in counts]) if which.size else np.zeros(0, dtype=int)
    delay = (crossings.lag[which] + 2.0 * np.pi * turn) / crossings.omega[which] if which.size else np.zeros(0)
    order = np.argsort(delay, kind="stable")
    unstable = crossings.unstable + np.concatenate([[0], 2 * np.cumsum(crossings.direction[which[order]])])
    return Critical(offset + delay[order], np.column_stack([which, turn])[order], unstable <= 0)


def signed_distance(critical: Critical, delays: np.ndarray) -> np.ndarray:
    """Distance [s] of each delay to the nearest at which stability changes: positive where stable; ±∞ if none."""
    limits = critical.delay[critical.limits]
    stable = critical.stable[np.searchsorted(critical.delay, delays, side="right")]
    if limits.size == 0:
        return np.where(stable, np.inf, -np.inf)
    after = np.searchsorted(limits, delays)
    padded = np.concatenate([[-np.inf], limits, [np.inf]])
    distance = np.minimum(delays - padded[after], padded[after + 1] - delays)
    return np.asarray(np.where(stable, distance, -distance))


@dataclass(frozen=True)
class Traced:
    """What was traced: margins (other, delay) [s], all curves of crossing, and those that bound the stable region."""

    margin: np.ndarray
    branches: list[np.ndarray]
    """Each (k, 2): delay, other number."""
    boundary: list[np.ndarray]
    loops: int
    margin_at: Callable[[float, float], float]
    """Margin [s] at any delay and other number, traced again."""


class DelayTrace:
    """Open loops of a definition against one other number."""

    def __init__(self, variation: Variation, continuous: bool) -> None:
        self.variation, self.continuous = variation, continuous
        self.loops = 0

    def open_loops(self, others: np.ndarray, on_progress: Progress | None = None) -> list[tuple[StateSpace, float]]:
        """The open loop for each value of the other number, and the delay [s] that is already in it."""
        found = []
        for row, other in enumerate(others):
            found.append(self._continuous(other) if self.continuous else self._running(other))
            if on_progress is not None:
                on_progress(row + 1, len(others))
        self.loops += len(others)
        return found

    def _continuous(self, other: float) -> tuple[StateSpace, float]:
        loop = continuous_loop(self.variation.unchecked([0.0, other]))
        return with_predictor(loop.open_loop, loop.weights, loop.step), 0.0

    def _running(self, other: float) -> tuple[StateSpace, float]:
        variant = self.variation.unchecked([0.0, other])
        step = variant.timing.step
        loop = build(self.variation.unchecked([step, other]), OPEN_LOOP)
        loop.run(SETTLING_TICKS)
        return whole(open_loop(loop)), step

    def rows(self, others: np.ndarray, longest: float, on_progress: Progress | None = None) -> list[ChartRow]:
        pairs = self.open_loops(others, on_progress)
        found = crossings_of([loop for loop, _ in pairs])
        return [
            ChartRow(float(other), crossings, critical_delays(crossings, longest, least), least)
            for other, crossings, (_, least) in zip(others, found, pairs, strict=True)
        ]


@dataclass(frozen=True)
class ChartRow:
    """One value of the other number, and what crosses there."""

    other: float
    crossings: Crossings
    critical: Critical
    least: float
    """The shortest delay that the loop can have [s]: it has this one where less is requested."""

    def margin(self, delays: np.ndarray) -> np.ndarray:
        """Distance [s] of the loop at each delay to where its stability changes; positive where it is stable."""
        return signed_distance(self.critical, np.maximum(delays, self.least))


def trace(
    variation: Variation, delays: np.ndarray, others: np.ndarray, continuous: bool, on_progress: Progress | None = None
) -> Traced:
    """Chart of the delay (first place of the variation) against another number (second)."""
    tracer = DelayTrace(variation, continuous)
    # beyond the last delay shown, so that the margin near it knows of the next boundary
    longest = 2.0 * float(delays[-1])
    rows = tracer.rows(others, longest, on_progress)
    margin = np.array([row.margin(delays) for row in rows])
    curves = _curves(tracer, rows, longest)
    return Traced(
        margin=margin,
        branches=[curve[:, :2] for curve in curves],
        boundary=[piece for curve in curves for piece in _limiting(curve)],
        loops=tracer.loops,
        margin_at=lambda delay, other: float(tracer.rows(np.array([other]), longest)[0].margin(np.array([delay]))[0]),
    )


# --- curves -----------------------------------------------------------------------------------------------------------


def _curves(tracer: DelayTrace, rows: list[ChartRow], longest: float) -> list[np.ndarray]:
    """Curves of crossing, (k, 3): delay, other number, whether stability changes there.

    A crossing is followed from row to row by its frequency and its lag; where two of them meet in a fold, and vanish or
    appear, the fold is closed in on by halving.
    """
    curves: dict[tuple[int, int], list[tuple[float, float, float]]] = {}
    names: list[tuple[int, int]] = []
    """Of each crossing of the last row: its number, and the turns its lag has made since it appeared."""
    last: ChartRow | None = None
    fresh = 0
    for row in rows:
        pairs = _matched(last.crossings, row.crossings) if last is not None else []
        before, now = {i for i, _ in pairs}, {j for _, j in pairs}
        new: list[tuple[int, int]] = [(-1, 0)] * len(row.crossings.omega)
        if last is not None:
            for i, j in pairs:
                jump = round((last.crossings.lag[i] - row.crossings.lag[j]) / (2.0 * np.pi))
                new[j] = (names[i][0], names[i][1] + jump)
            if len(names) - len(before) == 2:
                _add(curves, _fold(tracer, last, row.other, longest), names, set(range(len(names))) - before)
        for j in set(range(len(new))) - now:
            new[j] = (fresh, 0)
            fresh += 1
        if last is not None and len(new) - len(now) == 2:
            _add(curves, _fold(tracer, row, last.other, longest), new, set(range(len(new))) - now)
        _add(curves, row, new, set(range(len(new))))
        names, last = new, row
    return [np.array(curve) for curve in curves.values()]


def _add(
    curves: dict[tuple[int, int], list[tuple[float, float, float]]],
    row: ChartRow,
    names: list[tuple[int, int]],
    wanted: set[int],
) -> None:
    critical = row.critical
    for delay, (which, turn), limit in zip(critical.delay, critical.branch, critical.limits, strict=True):
        if which in wanted and which < len(names):
            number, turns = names[which]
            curves.setdefault((number, int(turn) - turns), []).append((delay, row.other, float(limit)))


def _matched(first: Crossings, second: Crossings) -> list[tuple[int, int]]:
    """Which crossing of the second row continues which of the first: in order, of equal direction, nearest."""
    few, many = sorted((first, second), key=lambda crossings: len(crossings.omega))
    if len(many.omega) > MOST_MATCHED and len(few.omega) < len(many.omega):
        return []
    best: tuple[float, tuple[int, ...]] = (np.inf, ())
    for chosen in itertools.combinations(range(len(many.omega)), len(few.omega)):
        part = list(chosen)
        if np.all(many.direction[part] == few.direction):
            cost = float(np.sum(np.abs(np.log(many.omega[part] / few.omega))))
            best = min(best, (cost, chosen))
    pairs = list(enumerate(best[1]))
    return pairs if few is first else [(j, i) for i, j in pairs]


def _fold(tracer: DelayTrace, inside: ChartRow, outside: float, longest: float) -> ChartRow:
    """The row with as many crossings as ``inside`` that is nearest to the fold on the way to ``outside``."""
    count = len(inside.crossings.omega)
    for _ in range(FOLD_STEPS if tracer.continuous else FOLD_STEPS // 3):
        middle = 0.5 * (inside.other + outside)
        trial = tracer.rows(np.array([middle]), longest)[0]
        if len(trial.crossings.omega) == count:
            inside = trial
        else:
            outside = middle
    return inside


def _limiting(curve: np.ndarray) -> list[np.ndarray]:
    """The pieces of a curve at which stability changes."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0.0], curve[:, 2], [0.0]])))
    return [curve[first:last, :2] for first, last in edges.reshape(-1, 2) if last - first > 1]
