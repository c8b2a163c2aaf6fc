"""A listener with full knowledge: it hears every datagram of both ends, knows the protocol, and speaks in their names.

All that it lacks is the secret.  It stands in the proxy's place, so what it says comes from the address that the rig
takes for its controller's.
"""

from __future__ import annotations

import random
import struct
from collections import Counter, deque
from dataclasses import dataclass, field

from live.proxy import ARM, COMMAND, HEADER, HELLO, MEASUREMENT, OFFER, REFUSAL, STOP, Datagram, sealed

TAG = 16
AWAY = 0.004
"""By which it wants the rig to be elsewhere [m]: within the rig's own limits on a step."""


@dataclass
class Traffic:
    """What both directions have carried, also in sessions before."""

    commands: deque[bytes] = field(default_factory=lambda: deque(maxlen=5000))
    measurements: deque[bytes] = field(default_factory=lambda: deque(maxlen=5000))
    handshakes: list[bytes] = field(default_factory=list)
    said: Counter[str] = field(default_factory=Counter)
    """How many datagrams of each sort the listener has sent."""


@dataclass
class Listener:
    """One direction: hands everything on, after ``each`` datagrams of its own."""

    traffic: Traffic
    to_rig: bool
    each: int
    chance: random.Random

    def __call__(self, datagram: Datagram) -> list[bytes]:
        own, other = self.traffic.commands, self.traffic.measurements
        if not self.to_rig:
            own, other = other, own
        own.append(datagram.data)
        if datagram.kind in (HELLO, OFFER, REFUSAL, ARM, STOP):
            self.traffic.handshakes.append(datagram.data)
        made = [self._made(datagram, own, other) for _ in range(self.each)]
        return [*made, datagram.data]

    def _made(self, datagram: Datagram, own: deque[bytes], other: deque[bytes]) -> bytes:
        sort = self.chance.choice(("forged", "replayed", "reflected", "flipped"))
        self.traffic.said[f"{sort} to the {'rig' if self.to_rig else 'controller'}"] += 1
        if sort == "forged":
            return self._forged(datagram)
        if sort == "flipped":
            data = bytearray(datagram.data)
            for _ in range(self.chance.choice((1, 1, 1, 2, 8))):
                bit = self.chance.randrange(8 * len(data))
                data[bit // 8] ^= 1 << bit % 8
            return bytes(data)
        if sort == "replayed":
            if self.chance.random() < 0.1:
                return self.chance.choice(self.traffic.handshakes)
            return own[self.chance.randrange(max(len(own) - 1, 1))]
        return self.chance.choice(other or own)

    def _forged(self, datagram: Datagram) -> bytes:
        """The next datagram of the session, or what opens or ends one, with a tag made without the secret."""
        kinds = (COMMAND, COMMAND, COMMAND, STOP, ARM, HELLO) if self.to_rig else (MEASUREMENT, OFFER, REFUSAL)
        kind = self.chance.choice(kinds)
        fields = list(HEADER.unpack_from(datagram.data))
        channels: tuple[float, ...] = tuple(x + AWAY for x in datagram.channels)
        if kind in (HELLO, ARM):
            channels = (1e-3, 1.0, 10.0, 0.0)
        elif kind == STOP:
            channels = ()
        fields[2], fields[3] = kind, len(channels)
        fields[5] += self.chance.choice((1, 1, 1, 2, 50))  # ahead of the next that is true
        fields[9] = 2  # armed
        if kind == HELLO:
            fields[4] = 0
        body = HEADER.pack(*fields) + struct.pack(f"<{len(channels)}d", *channels)
        how = self.chance.choice(("random", "open", "borrowed", "zero"))
        if how == "open":
            return sealed(body)
        tags = {"random": self.chance.randbytes(TAG), "borrowed": datagram.data[-TAG:], "zero": bytes(TAG)}
        return body + tags[how]
