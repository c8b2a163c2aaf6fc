"""An end for Python code of the user's that does not come to one by itself."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager

LONGEST = 60.0
"""Seconds that a user's file may take to be imported, and a user's function to put a rig together."""


class TookTooLongError(BaseException):
    """Raised in the middle of code that takes too long; no ``except Exception`` of that code stops it."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """End what this thread does in Python with ``TookTooLongError`` if it takes longer."""
    thread, lock, over = ctypes.c_ulong(threading.get_ident()), threading.Lock(), threading.Event()

    def end() -> None:
        with lock:
            if not over.is_set():
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(TookTooLongError))

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with lock:
            over.set()
        timer.cancel()
