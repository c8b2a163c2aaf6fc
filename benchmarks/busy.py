"""A thread that keeps the interpreter and its memory busy."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def busy_interpreter() -> Iterator[None]:
    """A thread of Python that never rests, and leaves cycles for the garbage collector."""
    ended = threading.Event()

    def work() -> None:
        kept: list[dict[str, object]] = []
        while not ended.is_set():
            for i in range(1000):
                thing: dict[str, object] = {"numbers": list(range(i % 50)), "text": str(i)}
                thing["itself"] = thing
                kept.append(thing)
            if len(kept) > 20_000:
                kept.clear()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
