"""Writing to a terminal without ever waiting for it.

A terminal may stop taking output at any moment: Ctrl-S, a window that hangs, a connection that is slow.  What stops a
test must not wait for it then.  So a thread of its own writes, straight to the descriptor: Python's own streams have a
lock that a blocked writer would keep.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
from collections import deque
from typing import Any, Self

MOST_LINES = 1000
"""Lines that wait for a terminal; of more, the oldest are dropped."""
PATIENCE = 1.0
"""Seconds that a terminal has at the end to take what waits."""


class Terminal:
    """Lines, and below them a view that each new one replaces; both return at once.

    Parameters
    ----------
    lines, view
        Descriptors: where lines go, and where the view does.
    """

    def __init__(self, lines: int = 1, view: int = 2) -> None:
        self._to_lines, self._to_view = lines, view
        self._lines: deque[str] = deque(maxlen=MOST_LINES)
        self._view: Any = None
        self._new_view = self._closing = self._given_up = False
        self._changed = threading.Condition()
        self._height = 0
        self._thread = threading.Thread(target=self._work, name="halfreal terminal", daemon=True)
        self._thread.start()

    def say(self, line: str) -> None:
        with self._changed:
            self._lines.append(line)
            self._changed.notify()

    def show(self, view: Any) -> None:
        """Draw something of rich in the place of the last view; None takes it away."""
        with self._changed:
            self._view, self._new_view = view, True
            self._changed.notify()

    def close(self) -> None:
        """Take the view away and have the last lines written, unless the terminal takes nothing."""
        with self._changed:
            self._view, self._new_view, self._closing = None, True, True
            self._changed.notify()
        self._thread.join(PATIENCE)
        self._given_up = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- in the thread ----------------------------------------------------------------------------------------------

    def _work(self) -> None:
        shown: Any = None
        closing = False
        while not closing:
            with self._changed:
                self._changed.wait_for(lambda: self._lines or self._new_view or self._closing)
                lines = list(self._lines)
                self._lines.clear()
                if self._new_view:
                    shown = self._view
                self._new_view, closing = False, self._closing
            with contextlib.suppress(OSError):  # the terminal is gone: no one looks any more
                self._draw(lines, shown)

    def _draw(self, lines: list[str], view: Any) -> None:
        if self._height:
            self._write(self._to_view, f"\r\x1b[{self._height}A\x1b[J")
            self._height = 0
        if lines:
            self._write(self._to_lines, "".join(f"{line}\n" for line in lines))
        if view is not None:
            rows = rendered(view)
            self._write(self._to_view, "".join(f"{row}\n" for row in rows))
            self._height = len(rows)

    def _write(self, to: int, text: str) -> None:
        data = text.encode(errors="replace")
        while data and not self._given_up:
            try:
                data = data[os.write(to, data) :]
            except BlockingIOError:  # someone else has set the terminal so
                select.select([], [to], [])


def rendered(view: Any) -> list[str]:
    """What rich draws, line by line, no more of them than the terminal has."""
    from rich.console import Console

    screen = Console(stderr=True, markup=False, emoji=False)
    with screen.capture() as drawn:
        screen.print(view)
    return drawn.get().splitlines()[: max(screen.height - 1, 1)]
