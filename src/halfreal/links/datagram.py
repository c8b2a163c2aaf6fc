"""The datagram of docs/link.md for the handshake, in plain Python; in the loop it is ``kernels/datagram.py``."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from ..kernels.datagram import MAGIC, MOST_CHANNELS, VERSION

_HEADER = struct.Struct("<IBBHQQQqQII")


@dataclass(frozen=True)
class Datagram:
    kind: int
    key: int = 0
    sequence: int = 0
    answers: int = 0
    tick: int = 0
    timestamp: int = 0
    state: int = 0
    code: int = 0
    channels: tuple[float, ...] = ()

    def encode(self) -> bytes:
        body = _HEADER.pack(
            MAGIC,
            VERSION,
            self.kind,
            len(self.channels),
            self.key,
            self.sequence,
            self.answers,
            self.tick,
            self.timestamp,
            self.state,
            self.code,
        ) + struct.pack(f"<{len(self.channels)}d", *self.channels)
        return body + struct.pack("<I", zlib.crc32(body))


def decode(data: bytes) -> Datagram | None:
    """What the bytes say, or None if they are no whole datagram of this version."""
    if len(data) < _HEADER.size + 4:
        return None
    magic, version, kind, count, key, sequence, answers, tick, stamp, state, code = _HEADER.unpack_from(data)
    if magic != MAGIC or version != VERSION or count > MOST_CHANNELS or len(data) != _HEADER.size + 8 * count + 4:
        return None
    if zlib.crc32(data[:-4]) != struct.unpack("<I", data[-4:])[0]:
        return None
    channels = struct.unpack_from(f"<{count}d", data, _HEADER.size)
    return Datagram(kind, key, sequence, answers, tick, stamp, state, code, channels)


def version_of(data: bytes) -> int | None:
    """The version of the protocol that a datagram is of, or None if it is no datagram of this protocol."""
    return data[4] if len(data) > 4 and data[:4] == struct.pack("<I", MAGIC) else None
