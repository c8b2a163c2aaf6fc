"""A run file that is being recorded: what it holds next to the layout of ``run_file.py``.

::

    /time, /channels/<name>   grow; not compressed, so that a chunk once begun takes no further room
    /ending         uint8 (65536,): JSON padded with spaces: how the recording ended, see below
    /live/written   int64 (4,): rows of the ring dealt with, rows and events in this file, bytes of this file
    /live/checksums int64 (m, 6): of the header and of each stretch of rows and events, see ``live_checksums.py``; files
                    of earlier versions have none
    /live/events    float64 (m, 3): time [s], which of the watched channels, its new value
    /live/header    JSON: columns (of the ring, for each of /channels), every, step [s], watched (names),
                    watched_columns, texts ({channel: {value: text}})

``/live/written`` is the authority.  It is written after everything it counts, and what lies beyond it was cut off in
the middle.  ``/ending`` and ``/live/written`` are contiguous, of fixed size and allocated from the start, and are
written in place past the HDF5 library: that takes no room, and cannot damage the structure of the file.

The ending is a table with the entry ``ended``, one of ENDINGS; ``time``, that of the last row; ``dropped``, rows that
found the ring full; ``message``, of an error; and, once the controller has said so, ``outcome``, ``reason``,
``verdict``, ``reasons``, ``remedies`` and ``limits_used``, which take the place of those of the file.  ``sha256`` is
the checksum of the others; files of earlier versions lack it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..runs.run import Event

ENDING_BYTES = 65536
RECORDING, LOOP_ENDED, CONTROLLER_LOST = "recording", "loop ended", "controller lost"
DISK_FULL, WRITE_ERROR, RECORDER_FAILED = "disk full", "write error", "recorder failed"
ENDINGS = (RECORDING, LOOP_ENDED, CONTROLLER_LOST, DISK_FULL, WRITE_ERROR, RECORDER_FAILED)

LOCKED = 1 << 62
"""Byte, far beyond the data, that a recorder keeps locked while it runs; the system unlocks it in any case."""


def lock(fd: int) -> None:
    """Mark the file as being recorded, until ``fd`` or any other descriptor of this process for it is closed."""
    fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, LOCKED)


def is_locked(fd: int) -> bool:
    """Whether a recorder, in another process, lives and has this file."""
    try:
        fcntl.lockf(fd, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, LOCKED)
    except (BlockingIOError, PermissionError):
        return True
    except OSError:  # not known on a file system without locks
        return False
    fcntl.lockf(fd, fcntl.LOCK_UN, 1, LOCKED)
    return False


def encoded(ending: Mapping[str, Any]) -> bytes:
    """An ending as it is in the file."""
    text = json.dumps({**ending, "sha256": _checksum(ending)}).encode()
    if len(text) > ENDING_BYTES:
        raise ValueError(f"the ending takes {len(text)} bytes, more than {ENDING_BYTES}; shorten its reasons")
    return text.ljust(ENDING_BYTES)


def decoded(data: np.ndarray) -> dict[str, Any]:
    try:
        ending = json.loads(data.tobytes().decode())
    except ValueError:  # cut off while it was written
        return {"ended": RECORDING}
    if not isinstance(ending, dict) or ending.get("ended") not in ENDINGS:
        return {"ended": RECORDING}
    given = ending.pop("sha256", None)
    if given is not None and given != _checksum(ending):
        return {"ended": WRITE_ERROR, "message": "how it ended was damaged later, and is not known"}
    return ending


def _checksum(ending: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(ending, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class LiveState:
    """How far a recording has come: its rows and events that count, and how it ended."""

    rows: int
    changes_seen: np.ndarray
    """Rows (time, which of the watched channels, value) that are events."""
    header: Mapping[str, Any]
    ending: Mapping[str, Any]
    recording: bool
    """A recorder is at work."""
    begun: bool = True
    """A recorder has opened the file: it notes the size of the file before anything else."""

    @property
    def open_ended(self) -> bool:
        """Whether the recording may still continue: no one has written how it ended, and no recorder was lost."""
        return self.recording or (not self.begun and self.ending == {"ended": RECORDING})

    def events(self, count: int | None = None) -> tuple[Event, ...]:
        """The events that the first ``count`` changes are, and rows that were lost."""
        happened, dropped = as_text(self.header, self.changes_seen[:count]), int(self.ending.get("dropped", 0))
        if dropped:
            text = f"{dropped} rows were lost because the ring was full"
            happened += (Event(float(self.ending.get("time") or 0.0), "recorder", text),)
        return happened

    def changes(self, last: float | None) -> dict[str, Any]:
        """What the ending puts in the place of the file's own outcome and judgement; ``last`` is the last time [s]."""
        said = {key: self.ending[key] for key in ("verdict", "limits_used") if key in self.ending}
        said |= {key: tuple(self.ending[key]) for key in ("reasons", "remedies") if key in self.ending}
        reason = "; ".join(text for text in (self.ending.get("reason", ""), self.record_text(last)) if text)
        ended = "recording" if self.open_ended else "failed"
        return {**said, "outcome": self.ending.get("outcome", ended), "reason": reason}

    def record_text(self, last: float | None) -> str:
        """How the recording ended; empty if as it should."""
        at = "before its first row" if last is None else f"at {last:.10g} s"
        told, message = "outcome" in self.ending, self.ending.get("message", "")
        if self.recording:
            return f"still recording; state {at}"
        if self.open_ended:
            return "recording has not begun: no recorder has opened this file; if no test is starting, its start failed"
        match self.ending["ended"]:
            case "loop ended":
                return "" if told else f"the controller was lost after its loop had ended {at}; the record is complete"
            case "controller lost":
                return f"the controller was lost {at}: it crashed or was killed; the record contains every row it wrote"
            case "recording":
                lost = "the recorder was" if told else "controller and recorder were both"
                return f"the recording was interrupted {at}: {lost} killed, or the power failed"
            case "disk full":
                return (
                    f"the disk was full and the recording ended {at} ({message}); free disk space before the next test"
                )
            case other:
                return f"the recording ended {at} with a {other} ({message})"


def read_state(file: Any, recording: bool, size: int) -> LiveState:
    """How far the recording in an open file has come.  ``size``: bytes that the file has."""
    _, rows, events, needed = (int(count) for count in file["live/written"][()])
    if size < needed:
        raise OSError(f"{size} bytes where {needed} had been written")
    ending = decoded(file["ending"][()])
    # Lengths are read after the count, so that a recorder at work can only have made them longer.
    datasets = [file["time"], *file["channels"].values()]
    header = json.loads(file["live/header"].asstr()[()])
    complete = min(rows, *(dataset.shape[0] for dataset in datasets))
    return LiveState(complete, file["live/events"][:events], header, ending, recording, needed > 0)


def as_text(header: Mapping[str, Any], events: np.ndarray) -> tuple[Event, ...]:
    """Changes of watched channels as events; an empty text is none."""
    found = []
    for time, which, value in events:
        channel = header["watched"][int(which)]
        text = header["texts"].get(channel, {}).get(str(float(value)), f"{channel} is now {value:g}")
        if text:
            found.append(Event(float(time), channel, text))
    return tuple(found)


def write_ending(fd: int, offset: int, ending: Mapping[str, Any]) -> None:
    """Put the ending in its place, which takes no room on the disk."""
    data, done = encoded(ending), 0
    while done < len(data):
        done += os.pwrite(fd, data[done:], offset + done)
