"""The protocol of OpenSees' element ``genericClient`` and of OpenFresco's generic clients, as bytes.

    header   once, 11 int32: sizes of what the client sends (displacement, velocity, acceleration, force, time), of what
             it wants back (the same five), and N, the numbers in a message; it is not answered
    message  both ways, N float64: (action, displacements, velocities, accelerations, forces, time, padding); answers
             begin with the first number, matrices column by column

All in the byte order of the client's machine, which is taken to be ours.  There is no error code and no framing: what
does not fit is a ``ProtocolError``, and the conversation cannot continue.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from ..errors import HalfrealError

HEADER_BYTES = 44
LARGEST = 1 << 20
"""Numbers in a message: OpenSees sends 256, or as many as its matrices need."""


class Action(IntEnum):
    """What a message requests; those before ``GET_DAQ`` and ``DIE`` are not answered."""

    OPEN = 1
    SETUP = 2
    SET_TRIAL = 3
    EXECUTE = 4
    COMMIT = 5
    GET_DAQ = 6
    GET_DISPLACEMENT = 7
    GET_VELOCITY = 8
    GET_ACCELERATION = 9
    GET_FORCE = 10
    GET_TIME = 11
    GET_INITIAL_STIFFNESS = 12
    GET_TANGENT = 13
    GET_DAMPING = 14
    GET_MASS = 15
    DIE = 99

    @property
    def answered(self) -> bool:
        return Action.GET_DAQ <= self <= Action.GET_MASS


class ProtocolError(HalfrealError):
    """What a client sent does not follow the protocol, or does not fit this site."""


@dataclass(frozen=True)
class Header:
    """Sizes of what is exchanged."""

    sent: tuple[int, int, int, int, int]
    wanted: tuple[int, int, int, int, int]
    numbers: int
    """In a message."""

    @classmethod
    def read(cls, data: bytes) -> Header:
        """The header of a client."""
        if len(data) != HEADER_BYTES:
            raise ProtocolError(f"the client's header has {len(data)} bytes instead of {HEADER_BYTES}")
        values = struct.unpack("=11i", data)
        header = cls(values[:5], values[5:10], values[10])
        if header._plain():
            return header
        if cls(*_split(struct.unpack(f"{_OTHER}11i", data)))._plain():
            raise ProtocolError("the client's machine has a different byte order; run it on one with the same")
        raise ProtocolError(f"the client's header is not one of genericClient: {', '.join(map(str, values))}")

    def _plain(self) -> bool:
        """Whether the sizes can be meant."""
        least = 1 + sum(self.sent)
        return all(0 <= size <= LARGEST for size in (*self.sent, *self.wanted)) and (
            max(least, sum(self.wanted), 1) <= self.numbers <= LARGEST
        )

    @property
    def size(self) -> int:
        """Of a message, in bytes."""
        return 8 * self.numbers

    def check(self, axes: int) -> None:
        """Refuse a client whose degrees of freedom are not those of this site."""
        n, velocities, accelerations, forces, time = self.sent
        if n != axes or velocities not in (0, n) or accelerations not in (0, n) or forces or time > 1:
            raise ProtocolError(
                f"the client's element has {n} degree(s) of freedom, but the site has {axes} axis(es); give the "
                "element as many as the definition has (-dof, virtual.interface)"
            )
        if any(size not in (0, n) for size in self.wanted[:4]) or self.wanted[4] > 1:
            raise ProtocolError(f"the client requests {self.wanted} measured values of {axes} axis(es)")
        if self.numbers < axes * axes:
            raise ProtocolError(
                f"the client's messages have {self.numbers} numbers, and a stiffness of {axes} axes has {axes * axes}; "
                "give the element a larger -dataSize"
            )

    def message(self, data: bytes | bytearray | memoryview) -> Message:
        """A message of this client."""
        if len(data) != self.size:
            raise ProtocolError(f"the client's message has {len(data)} bytes instead of {self.size}")
        values = np.frombuffer(data, dtype=np.float64)
        code = values[0]
        if code not in _ACTIONS:
            raise ProtocolError(f"the client requests action {code:g}, which is not part of the protocol")
        return Message(_ACTIONS[code], values, self)


_OTHER = ">" if struct.pack("=i", 1) == struct.pack("<i", 1) else "<"
_ACTIONS = {float(action): action for action in Action}


def _split(values: tuple[int, ...]) -> tuple[tuple[int, int, int, int, int], tuple[int, int, int, int, int], int]:
    return values[:5], values[5:10], values[10]  # type: ignore[return-value]


@dataclass(frozen=True)
class Message:
    """One message: what is requested, and the motion that comes with it."""

    action: Action
    values: np.ndarray
    header: Header

    @property
    def displacement(self) -> np.ndarray:
        return self.values[1 : 1 + self.header.sent[0]]

    @property
    def time(self) -> float:
        """The client's time [s]; 0 if it does not say."""
        sizes = self.header.sent
        return float(self.values[1 + sum(sizes[:4])]) if sizes[4] else 0.0
