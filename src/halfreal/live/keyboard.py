"""Single keys from the terminal, without waiting for them and without Enter."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from types import TracebackType
from typing import Any


class Keyboard:
    """While entered, ``pressed`` gives the keys pressed since the last call; nothing where there is no terminal."""

    def __init__(self) -> None:
        self._before: list[Any] | None = None

    def __enter__(self) -> Keyboard:
        if sys.stdin is not None and sys.stdin.isatty():
            self._before = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin)  # Ctrl-C stays a signal
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._before)

    @property
    def present(self) -> bool:
        return self._before is not None

    def pressed(self) -> str:
        if self._before is None or not select.select([sys.stdin], [], [], 0.0)[0]:
            return ""
        return os.read(sys.stdin.fileno(), 64).decode(errors="replace")
