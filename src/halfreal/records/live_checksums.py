"""Checksums of a run file that is being recorded: of its header, and of each stretch of rows as it is added.

::

    /live/checksums  int64 (m, 6): rows and events of the file at the end of a stretch, and SHA-256 (4 numbers)

The first is of all that was written before the first row.  Each further one is of the one before it and of what its
stretch has added: times, channels in their order, events.  So a stretch that was changed, exchanged with another or
moved is noticed, and all before it is known to be what was recorded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

NAME = "live/checksums"
WIDTH = 6
GROWING = ("ending", "time", "channels", "live/written", "live/events")
"""What changes after the first checksum; of time and channels only the values."""


def of_header(file: Any) -> bytes:
    """The checksum of all that is in an open file but for rows, events and the ending."""
    digest = hashlib.sha256()
    _feed(digest, "", file)
    return digest.digest()


def _feed(digest: Any, path: str, item: Any) -> None:
    digest.update(f"{path}\0".encode())
    for key in sorted(item.attrs):
        digest.update(f"{key}\0{_plain(item.attrs[key])!r}\0".encode("utf-8", "surrogatepass"))
    if hasattr(item, "keys"):
        for key in sorted(item):
            inside = f"{path}/{key}".lstrip("/")
            if inside != NAME:
                _feed(digest, inside, item[key])
    elif not path.startswith(GROWING):
        digest.update(f"{_plain(item[()])!r}\0".encode("utf-8", "surrogatepass"))


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def following(before: bytes, time: np.ndarray, columns: Sequence[np.ndarray], events: np.ndarray) -> bytes:
    """The checksum of a stretch after another one."""
    digest = hashlib.sha256(before)
    for values in (time, *columns, events):
        digest.update(np.ascontiguousarray(values, dtype="<f8").data)
    return digest.digest()


def entry(rows: int, events: int, digest: bytes) -> np.ndarray:
    return np.array([rows, events, *np.frombuffer(digest, "<i8")], dtype="<i8")


def digest_of(entry: np.ndarray) -> bytes:
    return np.ascontiguousarray(entry[2:], dtype="<i8").tobytes()


def last_of(entries: np.ndarray, rows: int, events: int) -> int:
    """The number of entries up to that of so many rows and events; 0 if there is none."""
    there = np.flatnonzero((entries[:, 0] == rows) & (entries[:, 1] == events))
    return int(there[-1]) + 1 if there.size else 0


def verified(
    entries: np.ndarray, time: np.ndarray, columns: Sequence[np.ndarray], events: np.ndarray
) -> tuple[int, int]:
    """The rows and events that match their checksums, from the first on."""
    done, happened, before = 0, 0, digest_of(entries[0])
    for one in entries[1:]:
        rows, count = int(one[0]), int(one[1])
        if not (done <= rows <= time.size and happened <= count <= len(events)):
            break
        stretch = slice(done, rows)
        found = following(before, time[stretch], [column[stretch] for column in columns], events[happened:count])
        if found != digest_of(one):
            break
        done, happened, before = rows, count, found
    return done, happened
