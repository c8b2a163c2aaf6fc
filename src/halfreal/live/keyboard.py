"""Single keys from the terminal, without Enter, received by a thread of their own."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
import threading
import tty
from collections.abc import Callable
from types import TracebackType
from typing import Any

PATIENCE = 1.0
"""Seconds in which the thread ends: it waits for nothing but keys."""


class Keyboard:
    """While entered, ``obey`` is called with every key, regardless of what other threads wait for; never without a
    terminal.

    ``lost`` is called once if the terminal is closed, or ``obey`` has failed: no key is received any more.

    Nothing here waits for the terminal's output, which may be blocked: its settings change at once (TCSANOW).
    """

    def __init__(self, obey: Callable[[str], None], lost: Callable[[], None]) -> None:
        self._obey, self._lost = obey, lost
        self._before: list[Any] | None = None
        self._thread: threading.Thread | None = None
        self._wake: tuple[int, int] = (-1, -1)

    def __enter__(self) -> Keyboard:
        if sys.stdin is not None and sys.stdin.isatty():
            self._before = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin, termios.TCSANOW)  # Ctrl-C stays a signal
            termios.tcflush(sys.stdin, termios.TCIFLUSH)  # keys pressed before were not meant for this
            self._wake = os.pipe()
            self._thread = threading.Thread(target=self._listen, name="halfreal keys", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is None:
            return
        os.write(self._wake[1], b".")
        self._thread.join(PATIENCE)
        for end in self._wake:
            os.close(end)
        if self._before is not None:
            with contextlib.suppress(termios.error):  # the terminal is gone
                termios.tcsetattr(sys.stdin, termios.TCSANOW, self._before)

    def _listen(self) -> None:
        keys, wake = sys.stdin.fileno(), self._wake[0]
        while wake not in (ready := select.select([keys, wake], [], [])[0]):
            assert keys in ready
            try:
                pressed = os.read(keys, 64).decode(errors="replace")
            except OSError:
                pressed = ""
            if not pressed:
                self._lost()
                return
            try:
                for key in pressed:
                    self._obey(key)
            except BaseException:  # a keyboard that fails is a reason to stop
                self._lost()
                raise
