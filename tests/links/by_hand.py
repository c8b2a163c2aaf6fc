"""A controller written by hand from docs/link.md, to judge rigs by: struct, socket, and nothing of halfreal."""

from __future__ import annotations

import random
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

HELLO, OFFER, REFUSAL, ARM, COMMAND, MEASUREMENT, STOP = range(1, 8)
IDLE, ARMED, SAFE = range(1, 4)
NO_COMMAND, OWN_LIMIT, EMERGENCY_STOP = range(1, 4)
BUSY, OTHER_STEP, OTHER_AXES, LEASE_TOO_LONG, OTHER_AUXILIARY = range(1, 6)

HEADER = struct.Struct("<IBBHQQQqQII")
MAGIC, VERSION = 0x4C524648, 4
OPEN = bytes(16)  # the key of a link without a secret
BOUND = 20.0  # seconds after which a datagram that must come is said to be missing


def siphash(data: bytes, key: bytes) -> bytes:
    """SipHash-2-4-128, straight from the paper."""
    full = 2**64 - 1
    k0, k1 = struct.unpack("<QQ", key)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D ^ 0xEE, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def turned(x: int, left: int) -> int:
        return (x << left | x >> (64 - left)) & full

    def rounds(number: int) -> None:
        a, b, c, d = v
        for _ in range(number):
            a, c = (a + b) & full, (c + d) & full
            b, d = turned(b, 13) ^ a, turned(d, 16) ^ c
            a = turned(a, 32)
            c, a = (c + b) & full, (a + d) & full
            b, d = turned(b, 17) ^ c, turned(d, 21) ^ a
            c = turned(c, 32)
        v[:] = a, b, c, d

    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) % 256])
    for (word,) in struct.iter_unpack("<Q", padded):
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xEE
    rounds(4)
    first = v[0] ^ v[1] ^ v[2] ^ v[3]
    v[1] ^= 0xDD
    rounds(4)
    return struct.pack("<QQ", first, v[0] ^ v[1] ^ v[2] ^ v[3])


def session_key(secret: bytes, asked: int, offered: int) -> bytes:
    return OPEN if secret == OPEN else siphash(b"halfreal" + struct.pack("<QQ", asked, offered), secret)


@dataclass(frozen=True)
class Datagram:
    kind: int
    session: int = 0
    sequence: int = 0
    channels: tuple[float, ...] = ()
    answers: int = 0
    tick: int = 0
    timestamp: int = 0
    state: int = 0
    code: int = 0
    magic: int = MAGIC
    version: int = VERSION

    def packed(self, count: int | None = None, tag: bytes | None = None, key: bytes = OPEN) -> bytes:
        """The bytes on the wire; a wrong count or tag if one is given."""
        head = HEADER.pack(
            self.magic, self.version, self.kind, len(self.channels) if count is None else count, self.session,
            self.sequence, self.answers, self.tick, self.timestamp, self.state, self.code,
        )  # fmt: skip
        body = head + struct.pack(f"<{len(self.channels)}d", *self.channels)
        return body + (siphash(body, key) if tag is None else tag)


def unpacked(data: bytes, key: bytes = OPEN) -> Datagram:
    """A datagram of a rig: anything wrong with it is the rig's fault."""
    magic, version, kind, count, session, sequence, answers, tick, timestamp, state, code = HEADER.unpack_from(data)
    assert len(data) == 72 + 8 * count
    assert (magic, version) == (MAGIC, VERSION)
    assert data[-16:] == siphash(data[:-16], key)
    channels = struct.unpack_from(f"<{count}d", data, HEADER.size)
    return Datagram(kind, session, sequence, channels, answers, tick, timestamp, state, code, magic, version)


class Controller:
    """One socket, and one session at a time."""

    def __init__(self, port: int, step: float = 0.001, axes: int = 1, auxiliary: int = 0, secret: bytes = OPEN) -> None:
        self.step, self.axes, self.auxiliary, self.secret = step, axes, auxiliary, secret
        self.session = self.sequence = self.heard = self.asked = 0
        self.key, self.handshake = OPEN, session_key(secret, 0, 0)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)  # as much of it as the system gives
        self.socket.connect(("127.0.0.1", port))
        self.socket.settimeout(BOUND)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, datagram: Datagram | bytes) -> None:
        if isinstance(datagram, Datagram):
            datagram = datagram.packed(key=self.handshake if datagram.kind == HELLO else self.key)
        self.socket.send(datagram)

    def hear(self) -> Datagram:
        data = self.socket.recv(65536)
        return unpacked(data, self.handshake if data[5] in (OFFER, REFUSAL) else self.key)

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
        self.asked = sequence
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
        self.session, self.sequence, self.heard = offer.session, 0, 0
        self.key = session_key(self.secret, self.asked, offer.session)
        self.send(replace(self.next(ARM, self.wanted(lease)), answers=self.asked))
        first = self.measurement()
        assert (first.state, first.code, first.answers, first.channels) == (
            ARMED,
            0,
            1,
            offer.channels[: 2 * self.axes + self.auxiliary],
        )
        return offer

    def wanted(self, lease: float = 1.0) -> tuple[float, ...]:
        """The channels of HELLO and of ARM."""
        return self.step, float(self.axes), lease, float(self.auxiliary)

    def next(self, kind: int, channels: Sequence[float] = (), tick: int = 0) -> Datagram:
        """The next datagram of the session, not sent yet."""
        self.sequence += 1
        return Datagram(kind, self.session, self.sequence, tuple(channels), tick=tick)

    def measurement(self) -> Datagram:
        """The next thing heard, which must be the next measurement of this session (loopback loses none)."""
        got = self.hear()
        self.heard += 1
        assert (got.kind, got.session, got.sequence) == (MEASUREMENT, self.session, self.heard)
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
