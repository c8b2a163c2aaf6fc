"""Processes that do not outlive the one that started them, and programs that tidy up when they are ended."""

from __future__ import annotations

import ctypes
import os
import signal
from typing import Any

PR_SET_PDEATHSIG = 1
ENDING = (signal.SIGTERM, signal.SIGHUP)


class Ended(BaseException):
    """The process was asked to end by a signal; like KeyboardInterrupt no error, and not to be caught as one."""

    def __init__(self, number: int) -> None:
        super().__init__(f"ended by {signal.Signals(number).name}")
        self.number = number


def end_with_parent(parent: int, number: int) -> None:
    """Have the system send this process a signal when the process ``parent`` ends, for any reason (Linux)."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the system does not watch over this process's parent")
    if os.getppid() != parent:  # it ended before the system was asked
        os.kill(os.getpid(), number)


def raise_when_ended() -> None:
    """Let the signals that end a program raise ``Ended``, so that what it began is cleared away on the way out.

    A second signal ends it at once.  A signal that is ignored, as under ``nohup``, stays ignored.
    """

    def end(number: int, frame: Any) -> None:
        for other in ENDING:
            signal.signal(other, signal.SIG_DFL)
        raise Ended(number)

    for number in ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, end)
