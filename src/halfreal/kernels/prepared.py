"""A stretch of ticks that is run many times, each time from where its loop then is.

Gathering the arguments of the compiled loop takes as long as hundreds of its ticks.  Here it is done once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import HalfrealError
from . import tick as compiled
from .control import ROWS


class RanAwayError(HalfrealError):
    """A block whose loops do not come to an end."""


class Prepared:
    """Calls of the compiled loop with the same arguments, whose log is written over each time."""

    def __init__(self, given: compiled.Given, why_lost: Callable[[], str]) -> None:
        self._given = given  # the addresses of its arrays are packed
        self._run, self._why_lost = compiled.compiled_run.prepared(*given), why_lost

    def __call__(self) -> np.ndarray:
        """Run it; rows of the log, a view that the next call writes over."""
        control = self._given.control
        control[:] = 0
        if self._run() == compiled.LOST:
            raise RanAwayError(self._why_lost())
        return self._given.log[: control[ROWS]]
