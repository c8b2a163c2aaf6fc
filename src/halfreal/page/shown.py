"""All that the page shows of a test, in the process that serves it, and how it goes to a browser.

Texts go as JSON, plots as packets of numbers::

    length of the head, uint32 | head, JSON, padded to 8 bytes | float64: times of bins, or none | float32: values

Each browser has a ``Reader`` that knows what it has been sent.  A browser that does not take its packets misses nothing
but old bins; nothing is queued for it.
"""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from ..records.live_layout import as_text
from ..records.recorder import changes
from .history import EDGES, History

MOST_EVENTS = 5000
"""Kept for the page; the record has all."""
SLOWER, SLOWEST = 0.1, 0.5
"""Seconds between two plots of one channel over another, and between two spectra."""
MOST_CHANNELS = 12
"""That a browser may follow at once."""


class Rows(Protocol):
    """Where rows come from."""

    def take(self) -> np.ndarray: ...


class Shown:
    """The test as it is known now."""

    def __init__(self) -> None:
        self.lasting: dict[str, dict[str, Any]] = {}
        """Messages that stay: "test", "check", "structure", "rows" and "over"."""
        self.changes: dict[str, int] = {}
        """How often each of them has changed."""
        self.status: dict[str, Any] = {"kind": "status", "state": "idle"}
        self.events: list[list[Any]] = []
        self.history: History | None = None
        self._rows: Rows | None = None
        self._watched: np.ndarray = np.zeros(0)

    def tell(self, message: dict[str, Any]) -> None:
        """Take in a message of the session."""
        if message["kind"] == "status":
            self.status = message
        else:
            self.lasting[message["kind"]] = message
            self.changes[message["kind"]] = self.changes.get(message["kind"], 0) + 1

    def follow(self, about: dict[str, Any], source: Rows, rows: int = 0) -> None:
        """Take in rows from now on; ``about`` says what they are, ``rows`` how many come, if that is known."""
        self.tell({key: about[key] for key in ("kind", "step", "channels")})
        self.history = History([name for name, _ in about["channels"]], about["step"], rows)
        self._rows, self._about, self._watched = source, about, np.zeros(len(about["watched"]))
        self.events = []

    def pump(self) -> None:
        """Take in the rows that have come."""
        if self._rows is None or self.history is None:
            return
        columns = self._rows.take()
        happened = changes(columns[0], columns[self._about["watched_columns"]], self._watched)
        new = as_text(self._about, happened)
        self.events += [[event.time, event.text] for event in new[: MOST_EVENTS - len(self.events)]]
        self.history.add(columns)


class Reader:
    """What one browser has been sent, and what it wants to see."""

    def __init__(self, shown: Shown) -> None:
        self._shown = shown
        self._sent: dict[str, int] = {}
        self._events = self._bins = 0
        self._status: dict[str, Any] = {}
        self._channels: list[str] = []
        self._pairs: list[list[str]] = []
        self._spectrum = ""
        self._next = {"pairs": 0.0, "spectrum": 0.0}

    def choose(self, wanted: Any) -> None:
        """The channels that a browser wants to see; what is not understood, or not there, is left out."""
        history = self._shown.history
        if not isinstance(wanted, dict) or history is None:
            return
        names = wanted.get("channels")
        found = [name for name in names if known(history, name)] if isinstance(names, list) else []
        if (chosen := list(dict.fromkeys(found))[:MOST_CHANNELS]) != self._channels:
            self._channels, self._bins = chosen, 0
        pairs = wanted.get("pairs")
        self._pairs = [
            pair
            for pair in (pairs if isinstance(pairs, list) else [])[:4]
            if isinstance(pair, list) and len(pair) == 2 and all(known(history, name) for name in pair)
        ]
        name = wanted.get("spectrum")
        self._spectrum = str(name) if known(history, name) else ""
        self._next = {"pairs": 0.0, "spectrum": 0.0}

    def texts(self, guest: dict[str, Any]) -> Iterator[str]:
        """What is new, as JSON; ``guest`` is what only this browser receives."""
        shown = self._shown
        for kind, message in list(shown.lasting.items()):
            if self._sent.get(kind) != shown.changes[kind]:
                self._sent[kind] = shown.changes[kind]
                if kind == "rows":  # others than before: they are chosen again
                    self._events, self._bins, self._channels, self._pairs, self._spectrum = 0, 0, [], [], ""
                yield json.dumps(message)
        if self._events < len(shown.events):
            yield json.dumps({"kind": "events", "first": self._events, "events": shown.events[self._events :]})
            self._events = len(shown.events)
        status = shown.status | guest
        if status != self._status:
            self._status = status
            yield json.dumps(status)

    def packets(self) -> Iterator[bytes]:
        """What is new in the plots."""
        history, now = self._shown.history, time.monotonic()
        if history is None:
            return
        if self._channels and self._bins < history.bins:
            first, times, values = history.since(self._bins, self._channels)
            head = {"kind": "bins", "channels": self._channels, "first": first, "count": times.size}
            yield packed(head, times, values)
            self._bins = history.bins
        if self._pairs and now >= self._next["pairs"]:
            self._next["pairs"] = now + SLOWER
            for x, y in self._pairs:
                points = history.pairs(x, y)
                yield packed({"kind": "pairs", "x": x, "y": y, "count": points.shape[1]}, np.zeros(0), points)
        if now >= self._next["spectrum"]:
            self._next["spectrum"] = now + SLOWEST
            counts = {"kind": "lateness", "count": history.lateness.size, "edges": EDGES.tolist()}
            yield packed(counts, np.zeros(0), history.lateness[None, :])
            if self._spectrum:
                frequency, amplitude = history.spectrum(self._spectrum)
                head = {"kind": "spectrum", "channel": self._spectrum, "count": frequency.size}
                yield packed(head, np.zeros(0), np.stack([frequency, amplitude]))


def known(history: History, name: Any) -> bool:
    return isinstance(name, str) and name in history.index


def packed(head: dict[str, Any], times: np.ndarray, values: np.ndarray) -> bytes:
    text = json.dumps(head).encode()
    text += b" " * (-(4 + len(text)) % 8)
    with np.errstate(over="ignore"):
        numbers = np.ascontiguousarray(values, dtype="<f4")
    return struct.pack("<I", len(text)) + text + times.astype("<f8").tobytes() + numbers.tobytes()
