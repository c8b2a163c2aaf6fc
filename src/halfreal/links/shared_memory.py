"""A rig, or a gateway to one, on this machine: two mailboxes in shared memory."""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import re
import struct
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
LOOK = 0.001
"""Seconds between two looks into a mailbox during a handshake."""


class SharedMemory(Link):
    """A rig, or a gateway to one, on this machine."""

    kind: Literal["shared memory"]
    name: str = "rig"

    @field_validator("name")
    @classmethod
    def _plain(cls, name: str) -> str:
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
            raise fault(f"'{name}' is no name for shared memory; use up to 64 letters, digits, '-' and '_'")
        return name

    def to_rig(self) -> MailboxWire:
        """The controller's end."""
        return MailboxWire(self.name, rig=False)

    def listen(self) -> MailboxWire:
        """The rig's end."""
        return MailboxWire(self.name, rig=True)


def _lock(fd: int, byte: int, kind: int = fcntl.F_WRLCK) -> bool:
    """Whether this byte of a file could be locked: the rig has the first, the controller the second.

    Locks of the open file, not of the process: those do not tell two wires of one process apart, and go with the first
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
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if rig else 0)
        try:
            self._fd = os.open(self.path, flags, 0o600)
        except FileNotFoundError:
            raise LinkError(f"no rig at {self.address}; start it first, such as with halfreal rig") from None
        except OSError as error:
            raise LinkError(
                f"{self.address} ({self.path}) cannot be opened: {reason(error)}; run rig and controller as the same "
                "user, or choose another link.name"
            ) from None
        if not _lock(self._fd, 0 if rig else 1):
            os.close(self._fd)
            who = "rig" if rig else "controller"
            raise LinkError(f"{self.address} has a {who} already; end that one, or choose another link.name")
        if rig:
            os.ftruncate(self._fd, SIZE)
        elif os.fstat(self._fd).st_size < SIZE:
            os.close(self._fd)
            raise LinkError(f"no rig at {self.address}; start it first, such as with halfreal rig")
        self._map = mmap.mmap(self._fd, SIZE, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE)
        self._base = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        self._in, self._out = (TO_RIG, TO_CONTROLLER) if rig else (TO_CONTROLLER, TO_RIG)
        self._words = np.frombuffer(self._map, dtype=np.int64)
        if rig:
            self._words[:] = 0
        self._taken = int(self._words[self._in // 8])

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

    def close(self) -> None:
        """The mapping itself goes with the process: a loop's blocks may still know its address."""
        if self._fd >= 0:
            if self._rig:
                self.path.unlink(missing_ok=True)
            _lock(self._fd, 0 if self._rig else 1, fcntl.F_UNLCK)  # the mapping keeps the file open
            os.close(self._fd)
            self._fd = -1
