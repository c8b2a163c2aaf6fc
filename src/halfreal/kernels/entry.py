"""Compiled functions that Python calls: from the disk without Numba, or compiled by it.

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

from .compile import OPTIONS, identity
from .objects import Native, is_missing, native, needs_numba
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
        self._packed, self._words = "=", 0
        self._reads = [self._read(kind) for kind in kinds]
        self._row = Struct(self._packed)

    def _read(self, kind: Kind) -> str:
        """How compiled code reads an argument from the row."""
        if isinstance(kind, tuple):
            return f"({', '.join([self._read(one) for one in kind])},)"
        name, _, rest = kind.partition("[")
        k = self._words
        if rest:
            rank = rest.count(",") + 1
            shape = ", ".join(f"w[{k + 1 + i}]" for i in range(rank))
            packed, read = "q" * (1 + rank), f"carray(as_pointer(w[{{k}}]), ({shape},), np.dtype('{name}'))"
        else:
            packed, read = NUMBERS[name]
        self._packed, self._words = self._packed + packed, k + len(packed)
        return read.format(k=k)

    @cached_property
    def native(self) -> Native:
        """Its compiled code."""
        return native(self.py_func.__name__, self._key, self._compiled, simplify=True)

    @cached_property
    def _key(self) -> str:
        gathered = getattr(self._gather, "_fields", ())
        return f"entry:{identity(self.py_func)}:{self._kinds}:{self._fastmath}:{gathered}"

    @property
    def is_missing(self) -> bool:
        """Whether it would have to be compiled, and could be kept on disk."""
        return "native" not in self.__dict__ and is_missing(self.py_func.__name__, self._key)

    @property
    def needs_numba(self) -> bool:
        return needs_numba(self.py_func.__name__, self._key)

    def ready(self) -> None:
        """Have it compiled before it is called."""
        _ = self._call

    @cached_property
    def _call(self) -> Any:
        return NATIVE(self.native.address)

    def _compiled(self) -> Any:
        from numba import carray, njit, types

        from .compiler import outermost

        arguments = ", ".join(self._reads)
        if self._gather is not None:
            arguments = f"gather({arguments})"
        text = f"""def call(words):
    w = carray(as_pointer(words), {self._words}, np.int64)
    x = carray(as_pointer(words), {self._words}, np.float64)
    return function({arguments})
"""
        options = {**OPTIONS, "_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # callees inherit
        function = njit(**options, fastmath=set(self._fastmath))(self.py_func)
        place = {"np": np, "carray": carray, "as_pointer": as_pointer, "function": function, "gather": self._gather}
        exec(compile(text, __file__, "exec"), place := {"__name__": __name__, **place})
        return outermost(f"{self.py_func.__name__}_entry", place["call"], types.int64(types.intp))

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
