"""Arrays and texts as a run file holds them.

Long columns are packed here, several chunks at a time, and handed to HDF5 as they stand in the file: its own filters
pack one after the other in one thread, which takes longer than a rehearsal does.  A chunk is what HDF5 makes of it:
bytes shuffled (first bytes of all values, then second ones, …), compressed by zlib, then Fletcher's checksum.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

LEVEL = 1
PACKED: dict[str, Any] = {"compression": "gzip", "compression_opts": LEVEL, "shuffle": True, "fletcher32": True}
CHUNK = 16384
"""Values of a chunk of a long column."""
AT_ONCE = 4


def array(group: Any, name: str, values: np.ndarray) -> Any:
    """Write an array, packed and with a checksum."""
    values = np.asarray(values)
    if values.ndim == 1 and values.size >= 2 * CHUNK and values.dtype == np.dtype("<f8"):
        return _in_chunks(group, name, values)
    # A chunk needs at least one value, and compressing a handful of them costs more than it saves.
    return group.create_dataset(name, data=values, **(PACKED if values.size >= 64 else {}))


def _in_chunks(group: Any, name: str, values: np.ndarray) -> Any:
    dataset = group.create_dataset(name, shape=values.shape, dtype=values.dtype, chunks=(CHUNK,), **PACKED)
    places = range(0, values.size, CHUNK)
    with ThreadPoolExecutor(min(AT_ONCE, os.cpu_count() or 1)) as pool:
        for place, content in zip(places, pool.map(_packed, _chunks(values)), strict=True):
            dataset.id.write_direct_chunk((place,), content)
    return dataset


def _chunks(values: np.ndarray) -> Iterator[np.ndarray]:
    for place in range(0, values.size, CHUNK):
        chunk = values[place : place + CHUNK]
        yield chunk if chunk.size == CHUNK else np.append(chunk, np.zeros(CHUNK - chunk.size))


def _packed(chunk: np.ndarray) -> bytes:
    """A chunk as it is in the file."""
    shuffled = np.ascontiguousarray(chunk).view(np.uint8).reshape(-1, chunk.itemsize).T.tobytes()
    content = zlib.compress(shuffled, LEVEL)
    return content + struct.pack("<I", fletcher32(content))


def fletcher32(content: bytes) -> int:
    """Fletcher's checksum as HDF5 computes it: over big-endian words of two bytes, modulo 65535, which represents 0.

    J. G. Fletcher (1982): An arithmetic checksum for serial transmissions, IEEE Transactions on Communications 30(1).
    """
    words = np.frombuffer(content + b"\0" * (len(content) % 2), dtype=">u2").astype(np.uint64)
    sums = int(words.sum()), int(words @ np.arange(words.size, 0, -1, dtype=np.uint64))
    first, second = ((one - 1) % 65535 + 1 if one else 0 for one in sums)
    return second << 16 | first


def text_of(value: str, what: str) -> str:
    """A text that HDF5 can hold; ``what`` it is, for people."""
    if "\0" in value:
        raise ValueError(f"its {what} {value!r} contains a zero character, which HDF5 text cannot contain; remove it")
    return value
