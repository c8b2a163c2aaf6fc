"""A checksum at the end of a file, behind what HDF5 reads of it: one changed bit anywhere is noticed before it is read.

::

    <the HDF5 file>  "halfreal sha256 "  64 hexadecimal digits of SHA-256 of all before the seal  newline

HDF5 takes no notice of what is behind its own end.  A program that changes the file through HDF5 cuts the seal off:
such a file, one that is being recorded, and one of an earlier version have none.
"""

from __future__ import annotations

import hashlib
from enum import Enum
from pathlib import Path
from typing import BinaryIO

MARK = b"halfreal sha256 "
SIZE = len(MARK) + 64 + 1
LIKE = 12
"""Characters of the mark that must be there: a seal that is itself damaged is still known as one."""
PIECE = 1 << 20


class Seal(Enum):
    """What the seal of a file says of it."""

    INTACT = "as it was written"
    BROKEN = "damaged"
    MISSING = "not known"


def put(path: Path) -> None:
    """Seal a file that has been written."""
    with path.open("rb+") as file:
        digest = hashlib.file_digest(file, "sha256")
        file.seek(0, 2)
        file.write(_text(digest.hexdigest()))


def sealed(content: bytes) -> bytes:
    return content + _text(hashlib.sha256(content).hexdigest())


def look(path: Path) -> Seal:
    """Whether a file is as it was when it was sealed."""
    with path.open("rb") as file:
        length = file.seek(0, 2) - SIZE
        if length < 0:
            return Seal.MISSING
        file.seek(length)
        found = file.read(SIZE)
        if sum(a == b for a, b in zip(found, MARK, strict=False)) < LIKE:
            return Seal.BROKEN if MARK[:LIKE] in found else Seal.MISSING  # cut short, or the file has none
        file.seek(0)
        return Seal.INTACT if found == _text(_digest(file, length)) else Seal.BROKEN


def _digest(file: BinaryIO, length: int) -> str:
    digest, left = hashlib.sha256(), length
    while left > 0 and (piece := file.read(min(PIECE, left))):
        digest.update(piece)
        left -= len(piece)
    return digest.hexdigest()


def _text(digest: str) -> bytes:
    return MARK + digest.encode() + b"\n"
