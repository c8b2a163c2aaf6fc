"""Compiled blocks as object code that runs without Python: for libraries that other programs load (``records/fmu.py``).

halfreal's own blocks and its loop are there as objects for any processor of this kind (``library.py``); a user's block
is translated to one.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from .block import Block
from .native import CompilationError, compiled_block, is_own
from .objects import Native, holds_addresses, simplified, translated
from .tick import compiled_run


class ObjectCode(NamedTuple):
    """A function by its symbol in C, and the object that holds it."""

    symbol: str
    content: bytes


def of_block(block: Block) -> ObjectCode:
    """The object code of a block's function; blocks of one function have the same.

    ``int32_t symbol(int64_t *status, void **raised, intptr_t p, intptr_t s, double t, intptr_t u, intptr_t y,
    intptr_t sizes)``: 0 and the block's status plus one, or a number other than 0 if it raised.
    """
    native = compiled_block(block).native
    return ObjectCode(native.symbol, native.content) if is_own(block.step) else _of_user(native)


def of_loop() -> ObjectCode:
    """The object code of the loop, called with the row of words that ``entry.py`` describes."""
    return ObjectCode(compiled_run.native.symbol, compiled_run.native.content)


def _of_user(native: Native) -> ObjectCode:
    written = native.keeps.library.get_llvm_str()
    symbol = f"users_block_{hashlib.sha256(written.encode()).hexdigest()[:16]}"
    module = simplified(written, native.symbol, symbol)
    if holds_addresses(module):
        raise CompilationError(f"'{symbol}' contains addresses of this process and cannot run in another one")
    return ObjectCode(symbol, translated(bytes(module.as_bitcode())))
