"""A stretch of ticks that is run many times, each time from where its loop then is, or from perturbed states.

Gathering the arguments of the compiled loop takes as long as hundreds of its ticks.  Here it is done once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import HalfrealError
from . import tick as compiled
from .control import ROWS
from .perturb import FAILED, run_perturbed

AT_ONCE = 4096
"""Ticks in one compiled call of many runs, or one run of more: Python handles signals between calls."""


class RanAwayError(HalfrealError):
    """A block whose loops do not come to an end."""


class Prepared:
    """Calls of the compiled loop with the same arguments, whose log is written over each time."""

    def __init__(self, given: compiled.Given, why_lost: Callable[[], str]) -> None:
        self._given = given  # the addresses of its arrays are packed
        self._row = compiled.compiled_run.packed(*given)
        self._run, self._why_lost = compiled.compiled_run.with_row(self._row), why_lost

    def __call__(self) -> np.ndarray:
        """Run it; rows of the log, a view that the next call writes over."""
        control = self._given.control
        control[:] = 0
        if self._run() == compiled.LOST:
            raise RanAwayError(self._why_lost())
        return self._given.log[: control[ROWS]]

    @property
    def words(self) -> np.ndarray:
        """Its arguments as compiled code reads them."""
        return np.frombuffer(self._row, dtype=np.int64)

    def repeat(self, times: int) -> None:
        """Run it so many times, or until a run ends before its last tick, as one run of them all would."""
        for _ in range(times):
            self._given.control[:] = 0
            ended = self._run()
            if ended == compiled.LOST:
                raise RanAwayError(self._why_lost())
            if ended != compiled.COMPLETED:
                return

    def images(self, columns: np.ndarray, by: np.ndarray, rows: np.ndarray, mode: int) -> np.ndarray:
        """Entries ``rows`` of the vector after a run from its present state with one entry changed, for each change.

        NaN after a fault, or where the entry ``mode`` has changed.  The vector is left as it was.
        """
        run, given = compiled.compiled_run.native.address, self._given
        row, base = self.words, given.vector.copy()
        columns, rows, found = columns.astype(np.uint64), rows.astype(np.uint64), np.empty((columns.size, rows.size))
        runs = max(1, AT_ONCE // given.ticks)
        for first in range(0, columns.size, runs):
            some = slice(first, first + runs)
            ended = run_perturbed(
                run, row, given.control, given.vector, base, mode, columns[some], by[some], rows, found[some]
            )
            if ended == compiled.LOST:
                raise RanAwayError(self._why_lost())
            if ended == FAILED:
                raise RuntimeError("the compiled loop raised an exception")
        return found
