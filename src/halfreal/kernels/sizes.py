"""Sizes of a block's fields, as its compiled code reads them from a table: it is compiled once, for fields of any size.

    inputs | outputs | for each field of p, then of s: where it begins in bytes, its shape …

Code depends on the names and the numbers of dimensions (``Ranks``) of the fields alone.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .block import UNUSED, Block, Value, shape_of

Ranks = tuple[tuple[str, int], ...]
"""Names of fields, with their numbers of dimensions."""
AT_INPUTS, AT_OUTPUTS, HEAD = 0, 1, 2
WORD = 8


def ranks(fields: Mapping[str, Value]) -> Ranks:
    """What the code of a block depends on; there is always a field."""
    return tuple((name, len(shape_of(value))) for name, value in fields.items()) or ((UNUSED, 0),)


def as_text(fields: Ranks) -> str:
    """Fields in a line."""
    return " ".join(f"{name}[{',' * (rank - 1)}]" if rank else name for name, rank in fields)


def from_text(text: str) -> Ranks:
    """The other way round."""
    parts = (one.partition("[") for one in text.split())
    return tuple((name, rest.count(",") + 1 if bracket else 0) for name, bracket, rest in parts)


def size_table(block: Block) -> np.ndarray:
    """The table of a block."""
    words = [len(block.inputs), len(block.outputs)]
    for fields in (block.parameters, block.state):
        position = 0
        for value in fields.values():
            shape = shape_of(value)
            words.append(position)
            words += shape
            size = WORD
            for one in shape:
                size *= one
            position += size
        if not fields:
            words.append(0)
    return np.array(words, dtype=np.int64)
