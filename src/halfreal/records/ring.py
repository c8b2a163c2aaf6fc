"""The ring between a loop and its recorder: rows of numbers in memory that both processes map.

It is one anonymous file::

    64 words, int64, of kernels/control.py  |  rows, float64, (capacity, 1 + channels): the time, then every channel

Row r is at r modulo the capacity.  The loop writes a row and then the word ROWS; the recorder reads ROWS, takes the
rows, and writes ROWS_READ once they are in the file.  Each word has one writer, so neither ever waits for the other: a
loop that finds the ring full counts the row as dropped and continues.  The memory lives as long as one process holds
it: when the loop's process is killed, the rows it wrote are still there for the recorder, and the other way round.
"""

from __future__ import annotations

import contextlib
import mmap
import os

import numpy as np

from ..kernels.control import CAPACITY, COLUMNS, ROWS, WORDS

HEAD = 8 * WORDS


class Ring:
    """Control words and rows, mapped.  Use ``create`` in the loop's process and ``attach`` in the recorder's."""

    def __init__(self, fd: int, *, writable: bool = True) -> None:
        self.fd = fd
        access = mmap.PROT_READ | mmap.PROT_WRITE if writable else mmap.PROT_READ
        # Populated: every page is there before the loop starts, and none is fetched while it runs.
        self._map = mmap.mmap(fd, 0, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE, prot=access)
        self.words = np.frombuffer(self._map, dtype=np.int64, count=WORDS)
        self.capacity = int(self.words[CAPACITY])
        self.channels = int(self.words[COLUMNS]) - 1
        shape = (self.capacity, 1 + self.channels)
        self.rows = np.frombuffer(self._map, dtype=np.float64, offset=HEAD, count=shape[0] * shape[1]).reshape(shape)

    @classmethod
    def create(cls, capacity: int, channels: int) -> Ring:
        """A new ring of ``capacity`` rows, all its memory taken at once: too little is an error here, not later."""
        if capacity < 1 or channels < 0:
            raise ValueError(f"a ring of {capacity} rows of {channels} channels; at least one row is needed")
        size, memory = HEAD + 8 * capacity * (1 + channels), os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if 2 * size > memory:  # the system would rather kill processes than refuse it
            raise ValueError(
                f"a ring of {capacity} rows of {channels} channels takes {size / 1e9:.3g} GB, more than half of this "
                f"machine's {memory / 1e9:.3g} GB; give it fewer rows"
            )
        fd = os.memfd_create("halfreal ring")
        try:
            os.posix_fallocate(fd, 0, size)
            shape = np.zeros(WORDS, dtype=np.int64)
            shape[CAPACITY], shape[COLUMNS] = capacity, 1 + channels
            os.pwrite(fd, shape.tobytes(), 0)
            return cls(fd)
        except BaseException:
            os.close(fd)
            raise

    @classmethod
    def attach(cls, fd: int) -> Ring:
        """The ring behind a file descriptor handed down by the process that created it."""
        return cls(fd)

    def for_readers(self) -> int:
        """A further descriptor of the ring, through which no one can write; whoever requested it closes it."""
        return os.open(f"/proc/self/fd/{self.fd}", os.O_RDONLY | os.O_CLOEXEC)

    def written(self) -> int:
        """How many rows the loop has written so far; all of them may be read after this call."""
        rows = int(self.words[ROWS])
        os.sched_yield()  # a full memory barrier, for processors that would read the rows before the count
        return rows

    def copy(self, first: int, last: int) -> np.ndarray:
        """Rows ``first`` up to but not including ``last``, as columns: (1 + channels, last - first)."""
        columns = np.empty((1 + self.channels, last - first))
        start, count = first % self.capacity, last - first
        before_wrap = min(count, self.capacity - start)
        columns[:, :before_wrap] = self.rows[start : start + before_wrap].T
        columns[:, before_wrap:] = self.rows[: count - before_wrap].T
        return columns

    def close(self) -> None:
        """Let go of the memory; arrays taken from ``words`` or ``rows`` before keep it mapped."""
        if self.fd < 0:
            return
        self.words, self.rows = np.zeros(WORDS, dtype=np.int64), np.zeros((0, 1 + self.channels))
        with contextlib.suppress(BufferError):  # someone holds a view: the mapping goes when they do
            self._map.close()
        os.close(self.fd)
        self.fd = -1
