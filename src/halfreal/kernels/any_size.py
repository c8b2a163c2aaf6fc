"""Blocks that are compiled once for fields of any size, such as frames, of which no two have as many elements.

A block's function is else compiled for the sizes of its fields, which are then constants to the compiler; that is what
small blocks want, and what a large one pays for with seconds for every new size.  A block whose parameters begin
with ``sizes`` (made by ``with_sizes``) is compiled for the names of its fields alone: its ``p`` and ``s`` are named
tuples of arrays that are views of the block's memory at each call.  Scalars of the state are arrays of one entry,
since tuples cannot be assigned to: ``s.started[0] = 1.0``.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .block import Value
from .pointers import as_pointer

SIZES = "sizes"
HEAD = 2
"""Entries of ``sizes`` before those of the fields: how many inputs and outputs there are."""
EACH = 3
"""Of each field: where it begins, its rows and its columns."""


def with_sizes(
    parameters: Mapping[str, Value], state: Mapping[str, Value], inputs: int, outputs: int
) -> dict[str, Value]:
    """The parameters, with what gives the block the sizes of its fields."""
    count = HEAD + EACH * (len(parameters) + len(state))
    sizes, k = np.zeros(count), HEAD
    sizes[:HEAD] = inputs, outputs
    for fields, position in ((parameters, count), (state, 0)):
        for value in fields.values():
            shape = (*np.shape(value), 1, 1)[:2]
            sizes[k : k + EACH] = position, *shape
            position += int(np.size(value))
            k += EACH
    return {SIZES: sizes, **parameters}


def is_any_size(parameters: np.dtype) -> bool:
    """Whether a block with these parameters is one of any size."""
    return bool(parameters.names and parameters.names[0] == SIZES)


def ranks(fields: np.dtype) -> tuple[tuple[str, int], ...]:
    """Names and numbers of dimensions of fields: what the code of such a block depends on."""
    assert fields.fields is not None and fields.names is not None
    return tuple((name, len(fields.fields[name][0].shape)) for name in fields.names if name != SIZES)


READ = (
    "carray(as_pointer({base} + 8 * int(sizes[{k}])), 1, np.float64)[0]",
    "carray(as_pointer({base} + 8 * int(sizes[{k}])), int(sizes[{k} + 1]), np.float64)",
    "carray(as_pointer({base} + 8 * int(sizes[{k}])), (int(sizes[{k} + 1]), int(sizes[{k} + 2])), np.float64)",
)
"""A field with no, one or two dimensions: written out, as functions without allocation may not return arrays."""


def caller(function: Any, parameters: np.dtype, state: np.dtype) -> Callable[..., int]:
    """What the loop calls: it lays the fields over the block's memory, and calls the block's function."""
    from numba import carray

    given = (("P", "p", ranks(parameters)), ("S", "s", ranks(state)))
    k, tuples, names = HEAD, list[str](), dict[str, Any](np=np, carray=carray, as_pointer=as_pointer)
    for name, base, fields in given:
        names[name] = namedtuple(name, [field for field, _ in fields])
        read = [
            READ[max(rank, int(base == "s"))].format(base=base, k=k + EACH * n) for n, (_, rank) in enumerate(fields)
        ]
        k += EACH * len(fields)
        tuples.append(f"{name}({', '.join(read)})")
    text = f"""def make(function):
    def call(p, s, t, u, y):
        sizes = carray(as_pointer(p), {k}, np.float64)
        inputs = carray(as_pointer(u), int(sizes[0]), np.float64)
        outputs = carray(as_pointer(y), int(sizes[1]), np.float64)
        return 1 + function({", ".join(tuples)}, t, inputs, outputs)
    return call
"""
    exec(compile(text, __file__, "exec"), place := {"__name__": __name__, **names})
    made: Callable[..., int] = place["make"](function)
    return made
