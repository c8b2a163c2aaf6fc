"""A controller written by hand from docs/link.md, to judge rigs by: struct, zlib, socket, and nothing of halfreal."""

from __future__ import annotations

import random
import socket
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

HELLO, OFFER, REFUSAL, ARM, COMMAND, MEASUREMENT, STOP = range(1, 8)
IDLE, ARMED, SAFE = range(1, 4)
NO_COMMAND, OWN_LIMIT, EMERGENCY_STOP = range(1, 4)
BUSY, OTHER_STEP, OTHER_AXES, LEASE_TOO_LONG, OTHER_AUXILIARY = range(1, 6)

HEADER = struct.Struct("<IBBHQQQqQII")
MAGIC, VERSION = 0x4C524648, 3
BOUND = 20.0  # seconds after which a datagram that must come is said to be missing


@dataclass(frozen=True)
class Datagram:
    kind: int
    key: int = 0
    sequence: int = 0
    channels: tuple[float, ...] = ()
    answers: int = 0
    tick: int = 0
    timestamp: int = 0
    state: int = 0
    code: int = 0
    magic: int = MAGIC
    version: int = VERSION

    def packed(self, count: int | None = None, crc: int | None = None) -> bytes:
        """The bytes on the wire; a wrong count or CRC if one is given."""
        head = HEADER.pack(
            self.magic, self.version, self.kind, len(self.channels) if count is None else count, self.key,
            self.sequence, self.answers, self.tick, self.timestamp, self.state, self.code,
        )  # fmt: skip
        body = head + struct.pack(f"<{len(self.channels)}d", *self.channels)
        return body + struct.pack("<I", zlib.crc32(body) if crc is None else crc)


def unpacked(data: bytes) -> Datagram:
    """A datagram of a rig: anything wrong with it is the rig's fault."""
    magic, version, kind, count, key, sequence, answers, tick, timestamp, state, code = HEADER.unpack_from(data)
    assert len(data) == 60 + 8 * count
    assert (magic, version) == (MAGIC, VERSION)
    assert struct.unpack_from("<I", data, len(data) - 4) == (zlib.crc32(data[:-4]),)
    channels = struct.unpack_from(f"<{count}d", data, HEADER.size)
    return Datagram(kind, key, sequence, channels, answers, tick, timestamp, state, code, magic, version)


class Controller:
    """One socket, and one session at a time."""

    def __init__(self, port: int, step: float = 0.001, axes: int = 1, auxiliary: int = 0) -> None:
        self.step, self.axes, self.auxiliary = step, axes, auxiliary
        self.key = self.sequence = self.heard = 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)  # as much of it as the system gives
        self.socket.connect(("127.0.0.1", port))
        self.socket.settimeout(BOUND)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, datagram: Datagram | bytes) -> None:
        self.socket.send(datagram if isinstance(datagram, bytes) else datagram.packed())

    def hear(self) -> Datagram:
        return unpacked(self.socket.recv(65536))

    def hello(
        self,
        lease: float = 1.0,
        step: float | None = None,
        axes: float | None = None,
        auxiliary: float | None = None,
    ) -> Datagram:
        """The rig's answer to HELLO, which repeats its random sequence."""
        sequence, own = random.getrandbits(64), (self.step, float(self.axes), float(self.auxiliary))
        step, axes, auxiliary = (own[i] if other is None else other for i, other in enumerate((step, axes, auxiliary)))
        self.send(Datagram(HELLO, sequence=sequence, channels=(step, axes, lease, auxiliary)))
        answer = self.hear()
        while answer.kind == MEASUREMENT:  # of a session that is running
            answer = self.hear()
        assert answer.kind in (OFFER, REFUSAL)
        assert answer.answers == sequence
        return answer

    def arm(self, lease: float = 1.0) -> Datagram:
        """Open a session, which the rig confirms with a first measurement: the offer it was opened with."""
        offer = self.hello(lease)
        assert offer.kind == OFFER, f"refused with code {offer.code}"
        self.key, self.sequence, self.heard = offer.key, 0, 0
        self.send(self.next(ARM, offer.channels[: self.axes]))
        first = self.measurement()
        assert (first.state, first.code, first.answers, first.channels) == (
            ARMED,
            0,
            1,
            offer.channels[: 2 * self.axes + self.auxiliary],
        )
        return offer

    def next(self, kind: int, channels: Sequence[float] = (), tick: int = 0) -> Datagram:
        """The next datagram of the session, not sent yet."""
        self.sequence += 1
        return Datagram(kind, self.key, self.sequence, tuple(channels), tick=tick)

    def measurement(self) -> Datagram:
        """The next thing heard, which must be the next measurement of this session (loopback loses none)."""
        got = self.hear()
        self.heard += 1
        assert (got.kind, got.key, got.sequence) == (MEASUREMENT, self.key, self.heard)
        assert len(got.channels) == 2 * self.axes + self.auxiliary
        return got

    def command(self, *positions: float, tick: int = 0) -> Datagram:
        """A command, and its measurement by a rig that works in step."""
        self.send(self.next(COMMAND, positions, tick))
        got = self.measurement()
        assert (got.answers, got.tick) == (self.sequence, tick + 1)
        return got

    def stop(self) -> Datagram:
        """STOP, and the measurement that answers it, whatever was on its way."""
        self.send(self.next(STOP))
        got = self.measurement()
        while got.answers != self.sequence:
            got = self.measurement()
        return got
