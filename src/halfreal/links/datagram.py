"""The datagram of docs/link.md for the handshake, in plain Python; in the loop it is ``kernels/datagram.py``."""

from __future__ import annotations

import ctypes
import hmac
import struct
from dataclasses import dataclass

from ..kernels.datagram import MAGIC, MOST_CHANNELS, OPEN, VERSION
from ..kernels.siphash import TAG, siphash, tag

_HEADER = struct.Struct("<IBBHQQQqQII")
_TAG = struct.Struct("<qq")
_BEGINS = struct.pack("<IB", MAGIC, VERSION)


@dataclass(frozen=True)
class Datagram:
    kind: int
    session: int = 0
    sequence: int = 0
    answers: int = 0
    tick: int = 0
    timestamp: int = 0
    state: int = 0
    code: int = 0
    channels: tuple[float, ...] = ()

    def encode(self, key: bytes = OPEN) -> bytes:
        """The bytes on the wire, tagged with a key."""
        body = _HEADER.pack(
            MAGIC,
            VERSION,
            self.kind,
            len(self.channels),
            self.session,
            self.sequence,
            self.answers,
            self.tick,
            self.timestamp,
            self.state,
            self.code,
        ) + struct.pack(f"<{len(self.channels)}d", *self.channels)
        return body + tag(body, key)


def parse(data: bytes) -> Datagram | None:
    """What the bytes say, whoever wrote them, or None if they are no whole datagram of this version."""
    if len(data) < _HEADER.size + TAG:
        return None
    magic, version, kind, count, session, sequence, answers, tick, stamp, state, code = _HEADER.unpack_from(data)
    if magic != MAGIC or version != VERSION or count > MOST_CHANNELS or len(data) != _HEADER.size + 8 * count + TAG:
        return None
    channels = struct.unpack_from(f"<{count}d", data, _HEADER.size)
    return Datagram(kind, session, sequence, answers, tick, stamp, state, code, channels)


def decode(data: bytes, key: bytes = OPEN) -> Datagram | None:
    """What the bytes say, or None if they are no whole datagram of this version that was tagged with this key."""
    return parse(data) if is_genuine(data, key) else None


def is_genuine(data: bytes, key: bytes) -> bool:
    """Whether the bytes end with their tag under this key.

    It is checked before anything else is read, and fast, because strangers can send many datagrams (decision 0056).
    """
    length = len(data) - TAG
    if length < _HEADER.size:
        return False
    room = ctypes.create_string_buffer(data, len(data))
    found = _TAG.pack(*siphash(ctypes.addressof(room), length, *_TAG.unpack(key)))
    return hmac.compare_digest(found, data[length:])


def kind_of(data: bytes) -> int:
    """The kind that the bytes claim to be, 0 if they are no datagram of this version."""
    return data[5] if len(data) >= _HEADER.size and data.startswith(_BEGINS) else 0


def version_of(data: bytes) -> int | None:
    """The version of the protocol that a datagram is of, or None if it is no datagram of this protocol."""
    return data[4] if len(data) > 4 and data[:4] == struct.pack("<I", MAGIC) else None
