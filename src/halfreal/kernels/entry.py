"""Compiled functions that Python calls.

Each argument has a kind, written as NumPy does: ``f8``, ``i8`` or ``c16`` for a number, with a comma for every further
dimension of an array in C order, ``f8[]``, ``c16[,]``; a tuple has a tuple of kinds.  What is given is put into a row
of words, addresses and shapes for arrays; the compiled function lays its arguments over them::

    int32 function(int64 *value, void **raised, int64 *words)

It returns a whole number, writes all else into arrays that it is given, and allocates nothing.  While it runs, other
threads continue.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cached_property, update_wrapper
from struct import Struct
from typing import Any

import numpy as np

from .compile import OPTIONS
from .library import native
from .objects import Native
from .pointers import as_pointer

NATIVE = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ctypes.c_void_p), ctypes.c_char_p
)
NUMBERS = {"f8": ("d", "x[{k}]"), "i8": ("q", "w[{k}]"), "c16": ("dd", "complex(x[{k}], x[{k} + 1])")}
"""Of a number: how it is packed, and how compiled code reads it from the row, w as whole numbers and x as floats."""


ARRAYS = {
    f"{name}[{',' * (rank - 1)}]": (np.dtype(name), rank) for name in ("f8", "i8", "u8", "c16") for rank in (1, 2, 3)
}
Kind = str | tuple[str, ...]


_entries: dict[str, Entry] = {}


def of_text(text: str) -> Entry:
    """A function by the text by which it is known; its module has been imported."""
    return _entries[text]


def _text(kind: Kind) -> str:
    return kind if isinstance(kind, str) else f"({' '.join(map(_text, kind))})"


class Entry:
    """A compiled function that Python calls."""

    def __init__(
        self,
        function: Callable[..., int],
        kinds: tuple[Kind, ...],
        fastmath: tuple[str, ...] = (),
        gather: type | None = None,
    ) -> None:
        update_wrapper(self, function)
        self.py_func, self._kinds, self._fastmath, self._gather = function, kinds, fastmath, gather
        self._packed, self.words = "=", 0
        self._reads = [self._read(kind) for kind in kinds]
        self._row = Struct(self._packed)
        self.text = f"{function.__module__}:{function.__qualname__} | {' '.join(map(_text, kinds))}"
        """By which it is known (``library.py``)."""
        _entries[self.text] = self

    def _read(self, kind: Kind) -> str:
        """How compiled code reads an argument from the row."""
        if isinstance(kind, tuple):
            return f"({', '.join([self._read(one) for one in kind])},)"
        name, _, rest = kind.partition("[")
        k = self.words
        if rest:
            rank = rest.count(",") + 1
            shape = ", ".join(f"w[{k + 1 + i}]" for i in range(rank))
            packed, read = "q" * (1 + rank), f"carray(as_pointer(w[{{k}}]), ({shape},), np.dtype('{name}'))"
        else:
            packed, read = NUMBERS[name]
        self._packed, self.words = self._packed + packed, k + len(packed)
        return read.format(k=k)

    @property
    def native(self) -> Native:
        """Its compiled code."""
        return native(self.text)

    def ready(self) -> None:
        """Have it compiled before it is called."""
        _ = self._call

    @cached_property
    def _call(self) -> Any:
        return NATIVE(self.native.address)

    def compiled(self) -> Any:
        """What Numba makes of it."""
        from numba import carray, njit, types

        from .compiler import outermost

        arguments = ", ".join(self._reads)
        if self._gather is not None:
            arguments = f"gather({arguments})"
        text = f"""def call(words):
    w = carray(as_pointer(words), {self.words}, np.int64)
    x = carray(as_pointer(words), {self.words}, np.float64)
    return function({arguments})
"""
        options = {**OPTIONS, "_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # callees inherit
        function = njit(**options, fastmath=set(self._fastmath))(self.py_func)
        place = {"np": np, "carray": carray, "as_pointer": as_pointer, "function": function, "gather": self._gather}
        exec(compile(text, __file__, "exec"), place := {"__name__": __name__, **place})
        return outermost(place["call"], types.int64(types.intp))

    def packed(self, *given: Any) -> bytes:
        """The row of words for these arguments, which must outlive its use."""
        words: list[Any] = []
        self._pack(words, self._kinds, given)
        return self._row.pack(*words)

    def _pack(self, words: list[Any], kinds: tuple[Kind, ...], given: tuple[Any, ...]) -> None:
        for kind, value in zip(kinds, given, strict=True):
            if isinstance(kind, tuple):
                self._pack(words, kind, value)
            elif kind == "c16":
                words += (value.real, value.imag)
            elif kind in NUMBERS:
                words.append(value)
            else:
                dtype, rank = ARRAYS[kind]
                if value.dtype != dtype or value.ndim != rank or not value.flags.c_contiguous:
                    raise TypeError(f"{self.py_func.__name__}: {value.dtype} {value.shape} in place of {kind}")
                words.append(value.__array_interface__["data"][0])  # a third of the time of ctypes.data
                words += value.shape

    def prepared(self, *given: Any) -> Callable[[], int]:
        """A call with these arguments, which is made often: their row is packed once."""
        return self.with_row(self.packed(*given))

    def with_row(self, row: bytes) -> Callable[[], int]:
        """A call with packed arguments."""
        value, raised, call = ctypes.c_int64(), ctypes.c_void_p(), self._call

        def again() -> int:
            if call(value, raised, row):
                raise RuntimeError(f"{self.py_func.__name__} raised an exception in compiled code")
            return value.value

        return again

    def __call__(self, *given: Any) -> int:
        return self.prepared(*given)()


def entry(*kinds: Kind, fastmath: tuple[str, ...] = ()) -> Callable[[Callable[..., int]], Entry]:
    """Decorator of a function that Python calls in its compiled form, with the kinds of its arguments."""
    return lambda function: Entry(function, kinds, fastmath)
