"""A run file as HDF5 is given to read it: as long as it should be, with no writer, and not for ever.

HDF5 opens a file whose writer lives or was killed only for reading next to that writer (SWMR).  It then tries again
what it cannot read, a hundred times, and waits twice as long each time: for ever, if the file was cut off.  Here it
gets such a file with the flags of its superblock cleared, and zeros behind its end, as ``superblock.release`` would
leave it.  What is cut off or torn is then an error at once.  The file itself is not changed.
"""

from __future__ import annotations

import io
import os
import struct
import time

from . import superblock

LEAST_SECONDS, BYTES_A_SECOND = 60.0, 1e6
"""A file may take so long to read, and a second more for each so many bytes."""


def time_limit(size: int) -> float:
    """Seconds after which a file of so many bytes is not read any further."""
    return LEAST_SECONDS + size / BYTES_A_SECOND


class BoundedFile(io.RawIOBase):
    """An open file for HDF5, whose descriptor stays the caller's."""

    def __init__(self, fd: int) -> None:
        self._fd, self._at = fd, 0
        self._head, self._end = superblock.released(fd)
        self._deadline = time.monotonic() + time_limit(os.fstat(fd).st_size)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._end}[whence]
        return self._at

    def readinto(self, buffer) -> int:  # type: ignore[no-untyped-def]
        if time.monotonic() > self._deadline:
            raise TimeoutError("reading the file takes too long")
        view, done = memoryview(buffer).cast("B"), 0
        wanted = min(len(view), max(self._end - self._at, 0))
        while done < wanted and (got := os.preadv(self._fd, [view[done:wanted]], self._at + done)):
            done += got
        view[done:wanted] = bytes(wanted - done)  # behind its end
        if self._at < len(self._head):
            part = self._head[self._at : self._at + wanted]
            view[: len(part)] = part
        self._at += wanted
        return wanted


def length_error(fd: int) -> str:
    """Why a file that no one is writing is shorter than its superblock states; empty if it is not."""
    head, size = os.pread(fd, superblock.SIZE, 0), os.fstat(fd).st_size
    if (
        len(head) < superblock.SIZE
        or head[: len(superblock.SIGNATURE)] != superblock.SIGNATURE
        or head[8] not in (2, 3)
    ):
        return ""
    (needed,) = struct.unpack_from("<Q", head, superblock.END_OF_FILE)
    return f"; it has {size} bytes, and {needed} were written" if size < needed else ""
