"""A rig that listens on a UDP port: its settings, and both ends of the link."""

from __future__ import annotations

import contextlib
import ipaddress
import select
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import ValidationInfo, field_validator, model_validator

from ..contracts.link import Link
from ..kernels.datagram import LONGEST
from ..kernels.wire import UDP
from ..settings import fault
from .secret import key_path, read_secret
from .wires import LinkError, reason

QUEUE = 8 << 20
"""Bytes of a socket's queue."""
SO_RCVBUFFORCE = 33


class Udp(Link):
    """A rig that listens on a UDP port, on this machine or another.

    ``key`` is a file with the secret that both ends share (``halfreal key``), relative to the definition's folder.  A
    rig that is not on this machine needs one; ``unauthenticated`` is the reason for doing without, which is recorded.
    """

    kind: Literal["udp"] = "udp"
    rig: str = "127.0.0.1:7411"
    key: str = ""
    unauthenticated: str = ""

    @field_validator("rig")
    @classmethod
    def _host_and_port(cls, rig: str) -> str:
        host, colon, port = rig.rpartition(":")
        if not (host and colon and port.isdecimal() and 0 <= int(port) < 65536):
            raise fault(f"'{rig}' is not the address of a rig; write host:port, e.g. '127.0.0.1:7411'")
        return rig

    @field_validator("key")
    @classmethod
    def _from_the_definition(cls, key: str, info: ValidationInfo) -> str:
        return key_path(key, info)

    @model_validator(mode="after")
    def _one_of_both(self) -> Udp:
        if self.key and self.unauthenticated:
            raise fault("with a key file the link is authenticated; omit one of key and unauthenticated")
        return self

    def secret(self) -> bytes:
        return read_secret(Path(self.key)) if self.key else super().secret()

    @property
    def guarded(self) -> str:
        if self.key:
            return "authenticated by a shared secret"
        why = self.unauthenticated.strip() or "on this machine only"
        return f"not authenticated: {why}"

    def _permit(self, host: str) -> None:
        """Only on this machine can no one else reach the rig."""
        if self.key or self.unauthenticated.strip() or ipaddress.ip_address(host.partition("%")[0]).is_loopback:
            return
        raise LinkError(
            f"the rig's address '{self.rig}' ({host}) can be reached from other machines, and anyone who reaches a rig "
            "could move it; create a key file with 'halfreal key', copy it to the other end, and set link.key; or "
            "give the reason for omitting it in link.unauthenticated, which is recorded"
        )

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.rig.rpartition(":")
        return host.strip("[]"), int(port)

    @property
    def host(self) -> str:
        return self.address[0]

    def to_rig(self) -> UdpWire:
        """The controller's end."""
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(*self.address, type=socket.SOCK_DGRAM)[0]
        except (OSError, ValueError) as error:  # ValueError: what can be no name of a host
            raise LinkError(
                f"the rig's address '{self.rig}' cannot be resolved: {reason(error)}; check link.rig"
            ) from None
        self._permit(str(address[0]))
        end = socket.socket(family, kind, protocol)
        try:
            end.connect(address)
        except OSError as error:
            end.close()
            raise LinkError(
                f"there is no route to the rig's address '{self.rig}': {reason(error)}; check link.rig"
            ) from None
        end.setblocking(False)
        return UdpWire(end, self.rig)

    def listen(self) -> UdpListener:
        """The rig's end."""
        return UdpListener(self.address, self._permit)


def roomy(end: socket.socket) -> None:
    """Room for all that may queue up while this process is held up: a STOP must not find the queue full."""
    try:
        end.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, QUEUE)
    except OSError:  # only for those who may exceed the system's limit
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, QUEUE)


class UdpWire:
    """A UDP socket connected to the other end, so that it receives no one else."""

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

    def remark(self) -> str:
        return ""

    def close(self) -> None:
        self.socket.close()


class UdpListener:
    """The rig's port: receives anyone, answers whoever spoke last; a session gets a socket of its own on the same
    port."""

    hears_others = True

    def __init__(self, address: tuple[str, int], permit: Callable[[str], None] = lambda host: None) -> None:
        try:
            family, kind, protocol, _, where = socket.getaddrinfo(*address, type=socket.SOCK_DGRAM)[0]
            self._kind = (family, kind, protocol)
            permit(str(where[0]))
            # Asked for without sharing first, so that two rigs cannot listen on one port without knowing.
            with socket.socket(*self._kind) as alone:
                alone.bind(where)
                where = alone.getsockname()
            self._socket = self._bound(where)
        except LinkError:  # not permitted there
            raise
        except (OSError, ValueError) as error:  # ValueError: what can be no name of a host
            raise LinkError(
                f"the rig cannot listen on {address[0]}:{address[1]}: {reason(error)}; close the "
                "other program, or choose "
                "another address in link.rig"
            ) from None
        self._where: Any = where
        self.speaker: Any = None
        self.address = f"{where[0]}:{where[1]}"

    def _bound(self, where: tuple[str, int]) -> socket.socket:
        end = socket.socket(*self._kind)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        roomy(end)
        end.bind(where)
        end.setblocking(False)
        return end

    def private(self) -> UdpWire:
        """A socket for the one who spoke last: the system gives it what that one sends."""
        end = self._bound(self._where)
        end.connect(self.speaker)
        return UdpWire(end, str(self.speaker))

    def way(self) -> np.ndarray:
        raise NotImplementedError("a listener is for the handshake only; sessions have separate wires")

    def taken(self) -> float:
        return 0.0

    def send(self, data: bytes) -> None:
        if self.speaker is not None:
            with contextlib.suppress(OSError):
                self._socket.sendto(data, self.speaker)

    def receive(self, seconds: float) -> bytes | None:
        for wait in (False, True):  # first without: in a flood every call of the system counts
            if wait and not select.select([self._socket], [], [], seconds)[0]:
                return None
            with contextlib.suppress(OSError):
                data, self.speaker = self._socket.recvfrom(LONGEST + 1)
                return data
        return None

    def remark(self) -> str:
        return ""

    def close(self) -> None:
        self._socket.close()
