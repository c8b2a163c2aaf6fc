"""What the server of a client and the compiled loop exchange: flags and numbers in memory that both map.

    64 words, int64  |  trial: displacements (n), time  |  answer: displacements (n), forces (n)

Each word has one writer.  TRIAL and ANSWER are odd while the numbers behind them are being written, so that neither end
takes half of them; TRIAL // 2 counts the displacements that the client has requested, and ANSWERED is the number of
the one that the rig has been brought to.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Sequence

import numpy as np

WORDS = 64
TRIAL, CLIENT, MESSAGES, COMMITS = 0, 1, 2, 3
"""Written by the server."""
ANSWER, ANSWERED = 8, 9
"""Written by the loop."""
OVER = 16
"""Written by the session: 1 if nothing more will be answered."""
AXES = 24

NOBODY, CONNECTED, GOODBYE, LOST, GARBLED, NOT_FINITE, NO_SERVER = 0, 1, 2, 3, 4, 5, 6
"""What CLIENT says: no one has come yet; a client is there; it has ended the test; it has ended without a message; its
messages are invalid; it has requested what is no number; the server itself has ended."""
FAULTS = {
    LOST: "the client disconnected without ending the test: it was terminated, crashed, or lost its connection",
    GARBLED: "the client's message does not follow the protocol",
    NOT_FINITE: "the client requested a displacement that is not finite: its analysis has diverged",
    NO_SERVER: "the process that communicates with the client has ended",
}
HEAD = 8 * WORDS


class Mailbox:
    """Words and numbers, mapped.  Use ``create`` in the loop's process and ``attach`` in the server's."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._map = mmap.mmap(fd, 0, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE)
        self.words = np.frombuffer(self._map, dtype=np.int64, count=WORDS)
        self.axes = n = int(self.words[AXES])
        numbers = np.frombuffer(self._map, dtype=np.float64, offset=HEAD, count=3 * n + 1)
        self.trial, self.answer = numbers[: n + 1], numbers[n + 1 :]

    @classmethod
    def create(cls, axes: int) -> Mailbox:
        fd = os.memfd_create("halfreal mailbox")
        head = np.zeros(WORDS, dtype=np.int64)
        head[AXES] = axes
        os.posix_fallocate(fd, 0, HEAD + 8 * (3 * axes + 1))
        os.pwrite(fd, head.tobytes(), 0)
        return cls(fd)

    @classmethod
    def attach(cls, fd: int) -> Mailbox:
        """The mailbox behind a file descriptor handed down by the process that created it."""
        return cls(fd)

    @property
    def address(self) -> int:
        return int(self.words.ctypes.data)

    # --- at the server's end --------------------------------------------------------------------------------------

    def ask(self, displacement: Sequence[float] | np.ndarray, time: float) -> None:
        """Ask for a displacement."""
        words = self.words
        words[TRIAL] += 1
        os.sched_yield()  # a full memory barrier, for processors that would put the numbers first
        self.trial[:-1], self.trial[-1] = displacement, time
        os.sched_yield()
        words[TRIAL] += 1

    def answered(self) -> bool:
        """Whether the rig has been brought to what was last requested."""
        return bool(self.words[ANSWERED] == self.words[TRIAL] >> 1)

    def measured(self) -> np.ndarray | None:
        """Displacements and forces of the last answer; None if it is being written."""
        before = int(self.words[ANSWER])
        values = self.answer.copy()
        os.sched_yield()
        return values if before == self.words[ANSWER] and before % 2 == 0 else None

    def close(self) -> None:
        """Let go of the memory; arrays taken from it before keep it mapped."""
        if self.fd < 0:
            return
        self.words, self.trial, self.answer = np.zeros(WORDS, dtype=np.int64), np.zeros(0), np.zeros(0)
        with contextlib.suppress(BufferError):
            self._map.close()
        os.close(self.fd)
        self.fd = -1
