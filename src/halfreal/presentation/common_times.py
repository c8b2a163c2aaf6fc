"""Samples of two records that were taken at the same times."""

from __future__ import annotations

import numpy as np

from ..runs.columns import Column, part, pieces
from ..runs.run import Run

SAME = 1e-3
"""Part of a step by which times may differ that are the same."""
Rows = slice | np.ndarray


def common(first: Run, second: Run, ours: slice, theirs: slice) -> tuple[Rows, Rows]:
    """Those of the given rows of both that were taken at the same times.

    Rows at even distances, as records have them, are slices; otherwise all times are compared in memory.
    """
    step = min(first.step, second.step)
    times = part(first.time, ours), part(second.time, theirs)
    if not len(times[0]) or not len(times[1]):
        return slice(0, 0), slice(0, 0)
    here, there = (_ticks(time, step) for time in times)
    if here is None or there is None:
        whole = [np.asarray(time[:]) for time in times]
        first_ticks, second_ticks = (np.round(time / step).astype(np.int64) for time in whole)
        _, i, j = np.intersect1d(first_ticks, second_ticks, return_indices=True)
        agree = np.abs(whole[0][i] - whole[1][j]) < SAME * step
        return ours.start + i[agree], theirs.start + j[agree]
    both = _in_both(here, there)
    return tuple(
        slice(start + ticks.index(both[0]), start + ticks.index(both[-1]) + 1, both.step // ticks.step)
        if len(both)
        else slice(0, 0)
        for start, ticks in ((ours.start, here), (theirs.start, there))
    )  # type: ignore[return-value]


def taken(column: Column | None, rows: Rows) -> Column:
    """These rows of a column."""
    assert column is not None
    return part(column, rows) if isinstance(rows, slice) else np.asarray(column[:])[rows]


def _ticks(time: Column, step: float) -> range | None:
    """Times in steps, if they are whole numbers at even distances."""
    first, last = (round(float(time[i]) / step) for i in (0, len(time) - 1))
    every = (last - first) // (len(time) - 1) if len(time) > 1 else 1
    if every < 1:
        return None
    found, count = range(first, last + 1, every), 0
    for (values,) in pieces(time):
        if len(found) != len(time):
            return None
        expected = step * np.array(found[count : count + len(values)])
        if not (np.abs(values - expected) < 0.5 * SAME * step).all():
            return None
        count += len(values)
    return found


def _in_both(here: range, there: range) -> range:
    """The whole numbers that are in two ranges."""
    every = int(np.lcm(here.step, there.step))
    begin = max(here.start, there.start)
    begin += (here.start - begin) % here.step
    candidates = range(begin, begin + every, here.step)
    start = next((number for number in candidates if (number - there.start) % there.step == 0), None)
    return range(0) if start is None else range(start, min(here[-1], there[-1]) + 1, every)
