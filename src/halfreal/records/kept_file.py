"""A file held by its descriptor: what was written to it remains accessible if its name changes."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

REMOVED, MOVED, REPLACED, CHANGED, UNREADABLE = -1, -2, -3, -4, -5
"""What may happen to a record; negative, as RECORDER_ERROR has an errno otherwise.  The first three happen to its name
only; of a file that was CHANGED, by another program that truncated or overwrote it, nothing is believed any more."""
BEYOND_REACH = (CHANGED, UNREADABLE)
HAPPENED = {
    REMOVED: "was removed",
    MOVED: "was moved or renamed",
    REPLACED: "was replaced by another file",
    CHANGED: "was truncated or overwritten by another program",
    UNREADABLE: "can no longer be read or written",
}


class KeptFile:
    """A file that was just made, and the name it has to keep.

    Parameters
    ----------
    fd
        Its descriptor, which this object closes.
    """

    def __init__(self, path: str | Path, fd: int) -> None:
        self.path, self.fd = Path(path).absolute(), fd
        self.identity = identity(os.fstat(fd))

    @classmethod
    def open(cls, path: str | Path) -> KeptFile:
        return cls(path, os.open(path, os.O_RDWR | os.O_CLOEXEC))

    @property
    def by_descriptor(self) -> Path:
        """A name that leads to this file for as long as it is held, also when it has no other any more (Linux)."""
        return Path(f"/proc/self/fd/{self.fd}")

    def lost(self) -> int:
        """0, or what happened to its name."""
        linked = os.fstat(self.fd).st_nlink > 0
        try:
            there = identity(self.path.stat())
        except (FileNotFoundError, NotADirectoryError):
            return MOVED if linked else REMOVED
        return 0 if there == self.identity else REPLACED

    def close(self) -> None:
        if self.fd >= 0:
            fd, self.fd = self.fd, -1
            with contextlib.suppress(OSError):
                os.close(fd)

    def __del__(self) -> None:
        self.close()


def identity(status: os.stat_result) -> tuple[int, int]:
    """What distinguishes one file from another, regardless of their names."""
    return status.st_dev, status.st_ino
