"""A client of a site by hand: the bytes that OpenSees' genericClient sends, without OpenSees."""

from __future__ import annotations

import socket
import struct
from typing import Self

import numpy as np

TRIAL, COMMIT, FORCE, INITIAL, TANGENT, DAMPING, MASS, DIE = 3, 5, 10, 12, 13, 14, 15, 99
DATAGRAM = 9126


def header(n: int, numbers: int = 256) -> bytes:
    return struct.pack("=11i", n, n, n, 0, 1, 0, 0, 0, n, 0, numbers)


class HandClient:
    """Speaks to a site at a port; ``n`` degrees of freedom, ``numbers`` in a message."""

    def __init__(self, port: int, n: int = 1, *, numbers: int = 256, udp: bool = False, first: bytes = b"") -> None:
        self.n, self.numbers, self.udp = n, numbers, udp
        self.socket = socket.socket(type=socket.SOCK_DGRAM if udp else socket.SOCK_STREAM)
        self.socket.settimeout(60.0)
        self.socket.connect(("127.0.0.1", port))
        if udp:
            self.socket.send(b"a")
            assert self.socket.recv(16) == b"b"
        self.send(first or header(n, numbers))

    def send(self, data: bytes) -> None:
        if not self.udp:
            self.socket.sendall(data)
            return
        for start in range(0, len(data), DATAGRAM):
            self.socket.send(data[start : start + DATAGRAM])

    def tell(self, action: float, displacement: tuple[float, ...] = (), time: float = 0.0) -> None:
        values = np.zeros(self.numbers)
        values[0], values[1 : 1 + len(displacement)], values[1 + 3 * self.n] = action, displacement, time
        self.send(values.tobytes())

    def ask(self, action: float) -> np.ndarray:
        self.tell(action)
        data = b""
        while len(data) < 8 * self.numbers:
            more = self.socket.recv(65536)
            assert more, "the site has hung up"
            data += more
        assert len(data) == 8 * self.numbers
        return np.frombuffer(data)

    def force(self, *displacement: float, time: float = 0.0) -> np.ndarray:
        """Ask for a displacement, and for its force."""
        self.tell(TRIAL, displacement, time)
        return self.ask(FORCE)[: self.n]

    def matrix(self, action: float) -> np.ndarray:
        return self.ask(action)[: self.n**2].reshape((self.n, self.n), order="F")

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
