"""Between controller and rig: a thread that hands datagrams on, or does to them what networks and sensors do.

What is done to a datagram depends on its sequence number, never on time, so that a test does the same every time.  A
fault is called with each datagram of one direction and gives what is handed on in its place.  It is written from
docs/link.md with struct, and knows nothing of halfreal.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import socket
import struct
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Self

from links.by_hand import OPEN, siphash

HELLO, OFFER, REFUSAL, ARM, COMMAND, MEASUREMENT, STOP = range(1, 8)
HEADER = struct.Struct("<IBBHQQQqQII")


@dataclass(frozen=True)
class Datagram:
    data: bytes

    @property
    def kind(self) -> int:
        return self.data[5]

    @property
    def sequence(self) -> int:
        return int(HEADER.unpack_from(self.data)[5])

    @property
    def tick(self) -> int:
        return int(HEADER.unpack_from(self.data)[7])

    @property
    def timestamp(self) -> int:
        """Of the sender's clock [ns]."""
        return int(HEADER.unpack_from(self.data)[8])

    @property
    def channels(self) -> tuple[float, ...]:
        return struct.unpack_from(f"<{(len(self.data) - 72) // 8}d", self.data, HEADER.size)

    def with_channels(self, channels: Sequence[float]) -> bytes:
        """The same with other values, and a tag that fits on a link without a secret."""
        return sealed(self.data[: HEADER.size] + struct.pack(f"<{len(channels)}d", *channels))

    def with_state(self, state: int, code: int) -> bytes:
        """The same with another state of the rig."""
        return sealed(self.data[:48] + struct.pack("<II", state, code) + self.data[56:-16])

    @property
    def state(self) -> int:
        return int(HEADER.unpack_from(self.data)[9])

    @property
    def answers(self) -> int:
        """The newest sequence that its sender has received."""
        return int(HEADER.unpack_from(self.data)[6])

    def with_session(self, session: int) -> bytes:
        return sealed(self.data[:8] + struct.pack("<Q", session) + self.data[16:-16])


def sealed(body: bytes) -> bytes:
    return body + siphash(body, OPEN)


Fault = Callable[[Datagram], list[bytes]]


def passed(datagram: Datagram) -> list[bytes]:
    return [datagram.data]


def ongoing(datagram: Datagram) -> bool:
    """Of a session that is going: not the handshake, and not the measurement that answers ARM."""
    return datagram.kind in (COMMAND, MEASUREMENT) and datagram.sequence > 1


@dataclass
class Loss:
    """Loses a share of the datagrams, at random as their numbers have it."""

    percent: int
    lost: list[int] = field(default_factory=list)

    def __call__(self, datagram: Datagram) -> list[bytes]:
        if ongoing(datagram) and zlib.crc32(b"%d" % datagram.sequence) % 100 < self.percent:
            self.lost.append(datagram.sequence)
            return []
        return [datagram.data]


@dataclass
class Burst:
    """Keeps what is numbered ``first`` and on back until number ``last`` has come, and then hands it all on at once."""

    first: int
    last: int
    kept: list[bytes] = field(default_factory=list)

    def __call__(self, datagram: Datagram) -> list[bytes]:
        if not ongoing(datagram) or datagram.sequence < self.first or datagram.sequence > self.last:
            return [datagram.data]
        self.kept.append(datagram.data)
        return list(self.kept) if datagram.sequence == self.last else []


@dataclass
class Swap:
    """Hands every so manyth datagram on after the one that follows it."""

    every: int
    swapped: list[int] = field(default_factory=list)
    kept: bytes = b""

    def __call__(self, datagram: Datagram) -> list[bytes]:
        if ongoing(datagram) and datagram.sequence % self.every == 0:
            self.kept = datagram.data
            return []
        if self.kept:
            kept, self.kept = self.kept, b""
            self.swapped.append(datagram.sequence - 1)
            return [datagram.data, kept]
        return [datagram.data]


@dataclass
class Rubbish:
    """Before every tenth datagram, copies of it damaged in each way; ``sent`` counts them by what they should be."""

    sent: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("truncated", "foreign", "corrupted", "replayed", "duplicated"), 0)
    )
    past: list[bytes] = field(default_factory=list)

    def __call__(self, datagram: Datagram) -> list[bytes]:
        if not ongoing(datagram):
            return [datagram.data]
        self.past.append(datagram.data)
        if datagram.sequence % 10:
            return [datagram.data]
        data, wild = datagram.data, [1e3] * len(datagram.channels)
        made = [
            ("truncated", data[:-8]),
            ("truncated", data[:30]),
            ("truncated", b""),
            ("foreign", datagram.with_session(datagram.sequence)),
            ("foreign", sealed(b"ABCD" + data[4:-16])),
            ("foreign", sealed(data[:6] + struct.pack("<H", 200) + data[8:56] + bytes(1600))),  # larger than any
            ("corrupted", data[:60] + bytes([data[60] ^ 0x10]) + data[61:]),
            ("corrupted", datagram.with_channels(wild)[:-16] + data[-16:]),
            ("duplicated", self.past[-2]),
        ]
        if datagram.kind == COMMAND:
            made.append(("corrupted", datagram.with_channels([math.nan] * len(wild))))
        if len(self.past) > 100:
            made.append(("replayed", self.past[-80]))
        for name, _ in made:
            self.sent[name] += 1
        return [*(one for _, one in made), data]


@dataclass
class Rewritten:
    """From number ``first`` on a sensor says something else: ``change`` gives the channels, of those first and now."""

    first: int
    change: Callable[[tuple[float, ...], tuple[float, ...]], Sequence[float]]
    begin: tuple[float, ...] = ()

    def __call__(self, datagram: Datagram) -> list[bytes]:
        if not ongoing(datagram) or datagram.sequence < self.first:
            return [datagram.data]
        self.begin = self.begin or datagram.channels
        return [datagram.with_channels(self.change(self.begin, datagram.channels))]


@dataclass
class FirstLost:
    """Loses the first datagram of each of these kinds."""

    kinds: set[int]

    def __call__(self, datagram: Datagram) -> list[bytes]:
        if datagram.kind in self.kinds:
            self.kinds.remove(datagram.kind)
            return []
        return [datagram.data]


@dataclass
class Replay:
    """Hands on a datagram of a list before each of its own."""

    old: list[bytes]

    def __call__(self, datagram: Datagram) -> list[bytes]:
        return [self.old.pop(0), datagram.data] if ongoing(datagram) and self.old else [datagram.data]


@dataclass
class At:
    """Does something once, when a number is about to be handed on."""

    sequence: int
    action: Callable[[], object]
    done: bool = False

    def __call__(self, datagram: Datagram) -> list[bytes]:
        if ongoing(datagram) and datagram.sequence >= self.sequence and not self.done:
            self.done = True
            self.action()
        return [datagram.data]


@dataclass
class Stall:
    """Stops a process at a command, and lets it go on when the rig's clock has gone on for ``nanoseconds``."""

    sequence: int
    nanoseconds: int
    process: list[int] = field(default_factory=list)
    since: int = 0
    over: bool = False

    def commands(self, datagram: Datagram) -> list[bytes]:
        if ongoing(datagram) and datagram.sequence >= self.sequence and not self.since:
            os.kill(self.process[0], signal.SIGSTOP)
            self.since = time.monotonic_ns()
        return [datagram.data]

    def measurements(self, datagram: Datagram) -> list[bytes]:
        if self.since and not self.over and datagram.timestamp >= self.since + self.nanoseconds:
            self.over = True
            os.kill(self.process[0], signal.SIGCONT)
        return [datagram.data]


class Proxy:
    """Listens on ``port`` for a controller, as the rig does, and speaks with the rig in its name."""

    def __init__(self, rig_port: int, commands: Fault = passed, measurements: Fault = passed) -> None:
        self.commands, self.measurements = commands, measurements
        self.heard: list[Datagram] = []
        """Everything from the controller."""
        self._front, self._back = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        self._front.bind(("127.0.0.1", 0))
        self._back.connect(("127.0.0.1", rig_port))
        self.port = int(self._front.getsockname()[1])
        self._ended, self._wake = socket.socketpair()
        self._thread = threading.Thread(target=self._serve, name="proxy")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._wake.close()
        self._thread.join()
        for end in (self._front, self._back, self._ended):
            end.close()

    def say(self, old: list[bytes]) -> None:
        """Tell the rig something of its own."""
        for data in old:
            self._back.send(data)

    def _serve(self) -> None:
        speaker = None
        while True:
            ready = select.select([self._front, self._back, self._ended], [], [])[0]
            if self._ended in ready:
                return
            if self._front in ready:
                data, speaker = self._front.recvfrom(65536)
                self.heard.append(Datagram(data))
                for one in self.commands(Datagram(data)):
                    self._hand_on(self._back, one)
            if self._back in ready and speaker is not None:
                try:
                    data = self._back.recv(65536, socket.MSG_DONTWAIT)
                except (ConnectionRefusedError, BlockingIOError):  # the rig has been killed
                    continue
                for one in self.measurements(Datagram(data)):
                    self._front.sendto(one, speaker)

    @staticmethod
    def _hand_on(end: socket.socket, data: bytes) -> None:
        with contextlib.suppress(ConnectionRefusedError):  # the rig has been killed
            end.send(data)
