"""What a part of ``make soak`` has found, kept for the page (``page.py``): results/soak/NAME.json.

A part that is ended before (Ctrl-C, SIGTERM) keeps what it has tried so far.
"""

from __future__ import annotations

import datetime
import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "results" / "soak"
_begun = [time.monotonic()]
"""When what is kept next began."""


class Tries:
    """Seeds, one after another, until there are no more or the part is ended; ``done`` counts those that were tried."""

    def __init__(self, first: int, count: int) -> None:
        self._seeds, self.ended, self.done = range(first, first + count), False, 0
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._end)

    def _end(self, number: int, frame: object) -> None:
        self.ended = True

    def __iter__(self) -> Iterator[int]:
        for seed in self._seeds:
            if self.ended:
                return
            yield seed
            self.done += 1


def keep(name: str, what: str, tried: int, lost: int, text: str) -> int:
    """Print and keep what was tried, how often, and how often something was lost; the exit code."""
    now = time.monotonic()
    minutes, _begun[0] = (now - _begun[0]) / 60.0, now
    FOLDER.mkdir(parents=True, exist_ok=True)
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    found = {"what": what, "day": day, "tried": tried, "lost": lost, "text": text, "minutes": round(minutes, 1)}
    (FOLDER / f"{name}.json").write_text(json.dumps(found, indent=2) + "\n", "utf-8")
    print(f"{what}: {tried:,} tried, {lost} lost; {text} ({minutes:.1f} min)", flush=True)
    return 1 if lost else 0
