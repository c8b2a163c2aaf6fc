"""A rig, or a gateway to one, on this machine: two mailboxes in shared memory."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import re
import stat
import struct
import sys
import time
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import field_validator

from ..contracts.link import Link
from ..kernels.datagram import LONGEST
from ..kernels.wire import CONTENT, MAILBOX
from ..settings import fault
from .wires import LinkError, reason

FOLDER = Path("/dev/shm")  # where Linux keeps shared memory
SIZE, TO_RIG, TO_CONTROLLER = 8192, 0, 4096
FLAGS = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
LOOK = 0.001
"""Seconds between two looks into a mailbox during a handshake."""


class SharedMemory(Link):
    """A rig, or a gateway to one, on this machine."""

    kind: Literal["shared memory"] = "shared memory"
    name: str = "rig"

    @field_validator("name")
    @classmethod
    def _plain(cls, name: str) -> str:
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
            raise fault(f"'{name}' is not a valid name for shared memory; use up to 64 letters, digits, '-' and '_'")
        return name

    def to_rig(self) -> MailboxWire:
        """The controller's end."""
        return MailboxWire(self.name, rig=False)

    def listen(self) -> MailboxWire:
        """The rig's end."""
        return MailboxWire(self.name, rig=True)


def _lock(fd: int, byte: int, kind: int = fcntl.F_WRLCK) -> bool:
    """Whether this byte of a file could be locked: the rig has the first, the controller the second.

    Locks of the open file, not of the process: those do not distinguish two wires of one process, and go with the first
    of them that is closed.
    """
    wanted = struct.pack("hhqqi0q", kind, os.SEEK_SET, byte, 1, 0)  # struct flock of fcntl(2)
    try:
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, wanted)
    except (BlockingIOError, PermissionError):
        return False
    return True


class MailboxWire:
    """Two mailboxes in a file in memory; at the rig's end the listener is the session's wire too."""

    hears_others = False

    def __init__(self, name: str, *, rig: bool) -> None:
        self.path, self._rig = FOLDER / f"halfreal-{name}", rig
        self.address, self.speaker = f"shared memory '{name}'", None
        self._fd = self._made() if rig else self._opened()
        if rig:
            os.ftruncate(self._fd, SIZE)
        self._map = mmap.mmap(self._fd, SIZE, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE)
        self._base = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        self._in, self._out = (TO_RIG, TO_CONTROLLER) if rig else (TO_CONTROLLER, TO_RIG)
        self._words = np.frombuffer(self._map, dtype=np.int64)
        if rig:
            self._words[:] = 0
        self._taken = int(self._words[self._in // 8])

    def _made(self) -> int:
        """The rig's file: a new one, or the one that a rig of this user left when it was killed."""
        while True:
            try:
                fd = os.open(self.path, FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
                left = False
            except FileExistsError:
                try:
                    fd = self._opened()
                except FileNotFoundError:  # its rig has just ended
                    continue
                left = True
            except OSError as error:
                raise self._unusable(reason(error)) from None
            if not left and not _lock(fd, 0):
                os.close(fd)
                raise LinkError(f"{self.address} already has a rig; stop that one, or choose another link.name")
            if self._is_named(fd):
                break
            os.close(fd)  # its rig took it away as it ended
        if left:
            print(f"note: {self.path} was left by a rig that was killed; it is removed", file=sys.stderr)
        return fd

    def _opened(self) -> int:
        """The file that is there, if it is one that this user alone can have made; with the lock of this end."""
        try:
            fd = os.open(self.path, FLAGS)
        except FileNotFoundError:
            if self._rig:
                raise
            raise LinkError(f"no rig at {self.address}; start it first, e.g. with 'halfreal rig'") from None
        except OSError as error:
            what = "it is a symbolic link" if error.errno == errno.ELOOP else reason(error)
            raise self._unusable(what) from None
        found = os.fstat(fd)
        what = ""
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            what = "it is not a regular file, or has several names"
        elif found.st_uid != os.geteuid():
            what = "it belongs to another user"
        elif stat.S_IMODE(found.st_mode) & 0o077:
            what = f"other users may read or write it (mode {stat.S_IMODE(found.st_mode):o})"
        if what:
            os.close(fd)
            raise self._unusable(what)
        if not _lock(fd, 0 if self._rig else 1):
            os.close(fd)
            who = "rig" if self._rig else "controller"
            raise LinkError(f"{self.address} already has a {who}; stop that one, or choose another link.name")
        if not self._rig and found.st_size < SIZE:
            os.close(fd)
            raise LinkError(f"no rig at {self.address}; start it first, e.g. with 'halfreal rig'")
        return fd

    def _is_named(self, fd: int) -> bool:
        """Whether an open file is the one under this link's name."""
        try:
            return os.path.samestat(os.fstat(fd), self.path.lstat())
        except FileNotFoundError:
            return False

    def _unusable(self, what: str) -> LinkError:
        return LinkError(
            f"{self.address} ({self.path}) cannot be used: {what}; run rig and controller as the same user, remove the "
            "file if it is not theirs, or choose another link.name"
        )

    def private(self) -> MailboxWire:
        return self

    def way(self) -> np.ndarray:
        return np.array([MAILBOX, -1.0, float(self._base + self._in), float(self._base + self._out)])

    def taken(self) -> float:
        return float(self._taken)

    def send(self, data: bytes) -> None:
        box = self._out // 8
        counter = int(self._words[box]) | 1
        self._words[box] = counter
        self._words[box + 1] = len(data)
        start = self._out + CONTENT
        self._map[start : start + len(data)] = data
        self._words[box] = counter + 1

    def receive(self, seconds: float) -> bytes | None:
        deadline = time.monotonic() + seconds
        box = self._in // 8
        while True:
            counter = int(self._words[box])
            if counter % 2 == 0 and counter != self._taken:
                start = self._in + CONTENT
                data = bytes(self._map[start : start + int(np.clip(self._words[box + 1], 0, LONGEST))])
                if int(self._words[box]) == counter:
                    self._taken = counter
                    return data
            if time.monotonic() >= deadline:
                return None
            time.sleep(LOOK)

    def remark(self) -> str:
        return ""

    def close(self) -> None:
        """The mapping itself goes with the process: a loop's blocks may still know its address."""
        if self._fd >= 0:
            if self._rig:
                self.path.unlink(missing_ok=True)
            _lock(self._fd, 0 if self._rig else 1, fcntl.F_UNLCK)  # the mapping keeps the file open
            os.close(self._fd)
            self._fd = -1
