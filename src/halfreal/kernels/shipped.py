"""LLVM code that comes with halfreal: what Numba writes of the loop and of common blocks.

Making this code is most of what compiling takes, and it is the same for every processor.  A wheel, or a checkout after
``make``, therefore has it in a folder of the package, a file for each function::

    SHA-256 of all that follows | name of the entry | newline | packed: symbol | newline | LLVM code

named by a hash of all that it depends on: the function and what it calls, and the versions of Numba, LLVM, NumPy and
Python.  Numba compiles what is missing or was changed.  ``python -m halfreal.studies.ship`` writes
the folder.
"""

from __future__ import annotations

import hashlib
import os
import platform
import zlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from . import disk_cache

HERE = Path(__file__).resolve().parent.parent / "compiled"
USED = os.environ.get("HALFREAL_SHIPPED", "") != "no"
"""With the variable set to "no" Numba compiles everything, as for measuring what that takes."""
INTRINSICS = {"x86_64": "x86"}.get(platform.machine(), platform.machine())
"""How LLVM names functions that this kind of processor alone has."""
writing: Path | None = None
"""Where the code is kept, while a folder is made."""


def read(name: str, key: str) -> tuple[str, bytes] | None:
    """A function's symbol and LLVM code; None if they do not come with halfreal, or are damaged."""
    if not has(name, key):
        return None
    try:
        packed = disk_cache.checked(HERE / _entry(name, key))
        if packed is None:
            return None
        symbol, _, code = zlib.decompress(packed).partition(b"\n")
    except (ValueError, zlib.error):
        return None
    return symbol.decode(), code


def has(name: str, key: str) -> bool:
    return USED and (HERE / _entry(name, key)).exists()


def keep(name: str, key: str, symbol: str, code: bytes) -> None:
    """Keep a function's code, if a folder is being made and the code can be translated for any processor."""
    if writing is not None and is_portable(code):
        disk_cache.write(writing / _entry(name, key), zlib.compress(symbol.encode() + b"\n" + code, 9))


def is_portable(code: bytes) -> bool:
    """Whether LLVM code is for no particular processor.

    Large helpers that are compiled by themselves (``compile.shared``) were optimised for the processor at hand: their
    vectors may be wider than those of another one, for which LLVM then splits them, with the same results.
    """
    text = str(llvm.parse_bitcode(code))
    return not any(mark in text for mark in ('"target-cpu"', '"target-features"', f"@llvm.{INTRINSICS}."))


def _entry(name: str, key: str) -> str:
    return f"{name[:40]}-{hashlib.sha256(f'{_versions()}:{disk_cache.settings()}:{key}'.encode()).hexdigest()[:40]}"


@cache
def _versions() -> str:
    """Of patches of Python and NumPy the code does not depend."""
    shortened = (text.rpartition(".")[0] for text in (np.__version__, platform.python_version()))
    return ":".join((version("numba"), llvmlite.__version__, platform.machine(), *shortened))
