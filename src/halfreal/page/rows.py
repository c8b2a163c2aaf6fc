"""Where the page's rows come from: the ring of a running test, mapped for reading only."""

from __future__ import annotations

import numpy as np

from ..records.ring import Ring

MOST_ROWS = 16_384
"""Taken at once."""


class RingRows:
    """Rows of a ring that another process fills; whoever is slow misses rows, and no one waits for them."""

    def __init__(self, fd: int) -> None:
        self.ring = Ring(fd, writable=False)
        self._next = 0
        self.missed = 0

    def take(self) -> np.ndarray:
        """The rows since the last time, as columns: the time, then every channel."""
        written, capacity = self.ring.written(), self.ring.capacity
        first = max(self._next, written - capacity)
        last = min(written, first + MOST_ROWS)
        columns = self.ring.copy(first, last)
        # a row that was being overwritten while it was copied is not one: the loop may be a row further than it says
        spoilt = min(max(self.ring.written() + 1 - capacity - first, 0), last - first)
        self.missed += first + spoilt - self._next
        self._next = last
        return columns[:, spoilt:]

    def close(self) -> None:
        self.ring.close()
