"""Open ends of a link: UDP sockets, and mailboxes in shared memory."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import mmap
import os
import select
import socket
import struct
import time
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..errors import HalfrealError
from ..kernels.datagram import LONGEST
from ..kernels.wire import CONTENT, MAILBOX, UDP
from .settings import Link, Udp

FOLDER = Path("/dev/shm")  # where Linux keeps shared memory
SIZE, TO_RIG, TO_CONTROLLER = 8192, 0, 4096
QUEUE = 8 << 20
"""Bytes of a socket's queue."""
SO_RCVBUFFORCE = 33
LOOK = 0.001
"""Seconds between two looks into a mailbox during a handshake."""


class LinkError(HalfrealError):
    """The other end is not there, or does not want what is asked."""


def reason(error: OSError | ValueError) -> str:
    """What the system says, without its number."""
    return getattr(error, "strerror", None) or str(error)


class Wire(Protocol):
    address: str
    """For people."""
    speaker: Any
    """Who was heard last, where there may be several."""

    def way(self) -> np.ndarray:
        """The wire for compiled code (``kernels/wire.py``)."""

    def taken(self) -> float:
        """Counter of the mailbox content last read; 0 for a socket."""

    def send(self, data: bytes) -> None: ...

    def receive(self, seconds: float) -> bytes | None: ...

    def close(self) -> None: ...


def roomy(end: socket.socket) -> None:
    """Room for all that may queue up while this process is held up: a STOP must not find the queue full."""
    try:
        end.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, QUEUE)
    except OSError:  # only for those who may exceed the system's limit
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, QUEUE)


class UdpWire:
    """A UDP socket connected to the other end, so that it hears no one else."""

    def __init__(self, end: socket.socket, address: str) -> None:
        self.socket, self.address, self.speaker = end, address, None

    def way(self) -> np.ndarray:
        return np.array([UDP, float(self.socket.fileno()), 0.0, 0.0])

    def taken(self) -> float:
        return 0.0

    def send(self, data: bytes) -> None:
        with contextlib.suppress(OSError):  # nobody there yet, or no way there: the answer is missing
            self.socket.send(data)

    def receive(self, seconds: float) -> bytes | None:
        deadline = time.monotonic() + seconds
        while True:
            left = deadline - time.monotonic()
            ready = select.select([self.socket], [], [], max(left, 0.0))[0]
            if ready:
                with contextlib.suppress(OSError):
                    return self.socket.recv(LONGEST + 1)
            if left <= 0.0:
                return None

    def close(self) -> None:
        self.socket.close()


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
    """Two mailboxes in a file in memory."""

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


class NoWire:
    """Leads nowhere: for building a loop before there is anyone to talk to."""

    address, speaker = "nowhere", None

    def way(self) -> np.ndarray:
        return np.array([UDP, -1.0, 0.0, 0.0])

    def taken(self) -> float:
        return 0.0

    def send(self, data: bytes) -> None:
        """Nobody hears it."""

    def receive(self, seconds: float) -> bytes | None:
        return None

    def close(self) -> None:
        """Nothing to close."""


def to_rig(link: Link) -> Wire:
    """The controller's end."""
    if not isinstance(link, Udp):
        return MailboxWire(link.name, rig=False)
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(*link.address, type=socket.SOCK_DGRAM)[0]
    except (OSError, ValueError) as error:  # ValueError: what can be no name of a host
        raise LinkError(f"the rig's address '{link.rig}' is not known: {reason(error)}; check link.rig") from None
    end = socket.socket(family, kind, protocol)
    try:
        end.connect(address)
    except OSError as error:
        end.close()
        raise LinkError(f"there is no way to the rig's address '{link.rig}': {reason(error)}; check link.rig") from None
    end.setblocking(False)
    return UdpWire(end, link.rig)
