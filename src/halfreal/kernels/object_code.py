"""Compiled blocks as object code that runs without Python: for libraries that other programs load (``records/fmu.py``).

A block is compiled once more, outside of the disk cache, which keeps machine code alone.  Its LLVM code is then
translated for any processor of this family, not only for the one at hand.  Nothing but the block itself is visible
outside of its object, so that libraries loaded side by side cannot stand in for each other's parts.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np
from numba import carray, int64, intp, njit, types

from .block import Block, layout
from .compile import STEP, WRAPPER
from .compiler import compiled_afresh
from .native import CompilationError
from .objects import holds_addresses, optimised
from .pointers import as_pointer
from .tick import ROW_LENGTH, Given, run_ticks

TICKS = "halfreal_ticks"
GENERIC = {"x86_64": "x86-64", "amd64": "x86-64"}


class ObjectCode(NamedTuple):
    """A function by its symbol in C, and the object that holds it."""

    symbol: str
    content: bytes


def of_block(block: Block) -> ObjectCode:
    """The object code of a block's function; blocks of one function and layout have the same.

    ``int32_t symbol(int64_t *status, void **raised, intptr_t p, intptr_t s, double t, intptr_t u, intptr_t y)``: 0 and
    the block's status plus one, or a number other than 0 if it raised.
    """
    return _of_block(block.step, layout(block.parameters), layout(block.state), len(block.inputs), len(block.outputs))


@lru_cache(maxsize=256)
def _of_block(step: Callable[..., int], parameters: np.dtype, state: np.dtype, inputs: int, outputs: int) -> ObjectCode:
    key = f"{step.__module__}:{step.__qualname__}:{parameters.descr}:{state.descr}:{inputs}:{outputs}"
    symbol = f"halfreal_block_{hashlib.sha256(key.encode()).hexdigest()[:16]}"
    return _emitted(compiled_afresh(step, parameters, state, inputs, outputs), symbol)


@cache
def of_loop() -> ObjectCode:
    """The object code of the loop.

    ``int32_t halfreal_ticks(int64_t *ended, void **raised, intptr_t words, double dt)``.  The words are the addresses
    of table, wires, vector, groups and control words, then the numbers of rows, of wires and of the vector's entries,
    then ticks, substeps, mode, end, hold and mover (``tick.Given``).
    """
    function = njit(**STEP)(run_ticks)

    def run(words, dt):  # type: ignore[no-untyped-def]
        w = carray(as_pointer(words), 14, np.int64)
        none = carray(as_pointer(w[2]), 0, np.uint64)
        given = Given(
            carray(as_pointer(w[0]), (w[5], ROW_LENGTH), np.int64),
            carray(as_pointer(w[1]), w[6], np.uint64),
            carray(as_pointer(w[2]), w[7], np.float64),
            dt,
            w[8],
            carray(as_pointer(w[3]), 3, np.int64),
            w[9],
            w[10],
            w[11],
            -1,
            w[12],
            w[13],
            none,
            0,
            carray(as_pointer(w[2]), (0, 1), np.float64),
            carray(as_pointer(w[2]), (0, 2), np.uint64),
            1.0,
            carray(as_pointer(w[2]), (0, 3), np.float64),
            0,
            0,
            0,
            0,
            carray(as_pointer(w[4]), 64, np.int64),
        )
        return function(given)

    compiled = njit(int64(intp, types.float64), **WRAPPER)(run)
    (result,) = compiled.overloads.values()
    return _emitted(result, TICKS)


def _emitted(result: Any, symbol: str) -> ObjectCode:
    """What Numba has compiled, as an object with one visible function."""
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=GENERIC.get(platform.machine().lower(), "generic"), opt=3, reloc="pic", codemodel="default"
    )
    written = bytes(result.library._get_module_for_linking().as_bitcode())
    module = optimised(written, result.fndesc.llvm_func_name, machine)
    if holds_addresses(module):
        raise CompilationError(f"'{symbol}' contains addresses of this process and cannot run in another one")
    function = module.get_function(result.fndesc.llvm_func_name)
    function.name = symbol
    function.visibility = "hidden"
    return ObjectCode(symbol, bytes(machine.emit_object(module)))
