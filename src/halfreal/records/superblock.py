"""The superblock of an HDF5 file: whether a writer has it open, and where it ends.

HDF5 File Format Specification, section II.A, versions 2 and 3 with 8-byte addresses, little-endian::

    0  signature    8  version    9, 10  sizes of addresses and lengths    11  consistency flags
    12  base address    20  extension    28  end of file    36  root group    44  checksum of bytes 0 to 43

A writer sets the flags and clears them when it closes the file.  One that was killed leaves them, and HDF5 then refuses
to open the file other than for reading next to a writer (SWMR).  ``release`` does what HDF5's own tool ``h5clear`` does
with ``--status --increment`` and h5py cannot: it clears the flags, and moves the end of the file behind everything that
was written, or given room, so that a next writer takes no room twice.  That the structure behind it is sound is due to
the SWMR order of writing.

The checksum is Bob Jenkins' lookup3 (``hashlittle``, https://burtleburtle.net/bob/c/lookup3.c).
"""

from __future__ import annotations

import os
import struct

SIGNATURE = b"\x89HDF\r\n\x1a\n"
FLAGS, END_OF_FILE, CHECKSUM, SIZE = 11, 28, 44, 48
INCREMENT = 1 << 20
"""Bytes by which room that was given away may reach beyond the last byte written: more than any chunk of a dataset has,
for each of those known to the structure has been begun.  The file has a hole there, which takes no room on the disk."""
WORD = 0xFFFFFFFF


def is_flagged(fd: int) -> bool:
    """Whether a writer has the file open, or was killed before it could close it."""
    head = os.pread(fd, SIZE, 0)
    return len(head) == SIZE and head[:8] == SIGNATURE and head[8] in (2, 3) and head[FLAGS] != 0


def release(fd: int) -> None:
    """Clear the flags that a killed writer left.  Never while a writer lives."""
    if not is_flagged(fd):
        return
    head, end = released(fd)
    os.ftruncate(fd, end)
    os.pwrite(fd, head, 0)


def released(fd: int) -> tuple[bytes, int]:
    """What ``release`` would write at the beginning of a file, and where the file would end."""
    if not is_flagged(fd):
        return b"", os.fstat(fd).st_size
    head = bytearray(os.pread(fd, SIZE, 0))
    if (head[9], head[10]) != (8, 8) or lookup3(bytes(head[:CHECKSUM])) != struct.unpack_from("<I", head, CHECKSUM)[0]:
        raise OSError("the superblock is damaged: its checksum does not match; copy the file again from its source")
    (recorded,) = struct.unpack_from("<Q", head, END_OF_FILE)
    end = max(os.fstat(fd).st_size, recorded) + INCREMENT
    struct.pack_into("<Q", head, END_OF_FILE, end)
    head[FLAGS] = 0
    struct.pack_into("<I", head, CHECKSUM, lookup3(bytes(head[:CHECKSUM])))
    return bytes(head), end


def lookup3(data: bytes) -> int:
    """Jenkins' 32-bit hash of ``data`` with initial value 0."""
    a = b = c = (0xDEADBEEF + len(data)) & WORD
    if not data:
        return c
    words = struct.unpack(f"<{-(-len(data) // 12) * 3}I", data + bytes(-len(data) % 12))
    for i in range(0, len(words), 3):
        a, b, c = (a + words[i]) & WORD, (b + words[i + 1]) & WORD, (c + words[i + 2]) & WORD
        if i + 3 < len(words):
            for turn in (4, 6, 8, 16, 19, 4):  # a, b and c change places after each line of Jenkins' mix()
                a = ((a - c) & WORD) ^ _turned(c, turn)
                c = (c + b) & WORD
                a, b, c = b, c, a
    for turn in (14, 11, 25, 16, 4, 14, 24):  # in the same way for final()
        c = ((c ^ b) - _turned(b, turn)) & WORD
        a, b, c = b, c, a
    return b


def _turned(word: int, bits: int) -> int:
    return ((word << bits) | (word >> (32 - bits))) & WORD
