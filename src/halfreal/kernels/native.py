"""From a block's function to an address the loop can call."""

from __future__ import annotations

import ctypes
import hashlib
import sys
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import HalfrealError
from ..two_processes import can_fork, results
from . import any_size
from .block import LARGEST_FAULT, UNUSED
from .closed_over import closed_over
from .compile import identity
from .objects import Native, is_missing, native, needs_numba
from .origin import halfreals

if TYPE_CHECKING:
    from .entry import Entry

Fields = tuple[Callable[..., int], np.dtype, np.dtype, int, int]
"""A block's function, the layouts of its parameters and state, and how many inputs and outputs it has."""

NATIVE = ctypes.CFUNCTYPE(
    ctypes.c_int32, *[ctypes.c_void_p] * 4, ctypes.c_double, *[ctypes.c_void_p] * 2
)  # Numba's calling convention: places for the value and for what was raised, then p, s, t, u, y
RULES = "use plain arithmetic, loops and the math module on floats and float arrays, and allocate nothing"
STATUS = f"return 0 for success, or an integer from 1 to {LARGEST_FAULT} as a fault"


class CompilationError(HalfrealError):
    """A block's function that cannot be compiled."""


def is_own(step: Callable[..., int]) -> bool:
    """Whether a block's function is halfreal's own; any other is the user's."""
    return halfreals(step.__code__.co_filename) and step.__closure__ is None


def call_native(address: int, p: np.ndarray, s: np.ndarray, t: float, u: np.ndarray, y: np.ndarray) -> tuple[int, int]:
    """Call a compiled block once, from Python: how the call ended (0 if well) and the block's status."""
    status, raised = ctypes.c_int64(), ctypes.c_void_p()
    places = ctypes.byref(status), ctypes.byref(raised)
    ended = NATIVE(address)(*places, p.ctypes.data, s.ctypes.data, t, u.ctypes.data, y.ctypes.data)
    return int(ended), int(status.value) - 1


_compiled: dict[tuple[Any, ...], Native] = {}


def compile_block(step: Callable[..., int], parameters: np.dtype, state: np.dtype, inputs: int, outputs: int) -> int:
    """Compile a block function for one layout of its fields and return the address of its native code."""
    return compiled_block(step, parameters, state, inputs, outputs).address


def compiled_block(
    step: Callable[..., int], parameters: np.dtype, state: np.dtype, inputs: int, outputs: int
) -> Native:
    """A block function compiled for one layout of its fields: read from the disk, or made by Numba.

    It is kept for the life of the process: addresses handed to a loop stay valid.
    """
    fields = (step, parameters, state, inputs, outputs)
    own, layout = is_own(step), _layout(*fields)
    key = (step if own else closed_over(step), *layout)
    if key not in _compiled:
        try:
            _compiled[key] = _kept(layout, *fields) if own else _compiler().checked_block(*fields)
        except CompilationError:
            raise
        except KeyError as error:  # so Numba says that a record has no such field
            there = f"the parameters are {_names(parameters)}, the state is {_names(state)}"
            raise refused(
                step, f"cannot be compiled: it uses a field {error} that it does not have; {there}"
            ) from error
        except Exception as error:  # Numba has its own for what it foresees, and asserts the rest
            raise refused(step, f"cannot be compiled: {_compiler().reason(error)}") from error
    return _compiled[key]


def compile_together(blocks: Iterable[Fields], also: Iterable[Entry]) -> None:
    """Compile what is not on disk yet in two processes, if there can be two; the disk passes it on."""
    missing: dict[str, Callable[[], object]] = {}
    needing = False
    for fields in blocks:
        layout = _layout(*fields)
        if is_own(fields[0]) and (fields[0], *layout) not in _compiled:
            name, key = _name_and_key(layout, fields[0])
            if is_missing(name, key):
                missing[key] = partial(compiled_block, *fields)
                needing = needing or needs_numba(name, key)
    entries = [one for one in also if one.is_missing]
    jobs: list[Callable[[], object]] = [*(one.ready for one in entries), *missing.values()]
    if len(jobs) > 1 and can_fork():
        _show(f"first use: compiling {len(jobs)} functions")
        if needing or any(one.needs_numba for one in entries):
            _compiler()  # once, for both
        results([partial(_done, job) for job in jobs])
        _show("")


def _show(line: str) -> None:
    """A line on the terminal in place of the one before: compiling takes seconds in which nothing else is shown."""
    if sys.stderr.isatty():
        print(f"\r{line}\x1b[K", end="", file=sys.stderr, flush=True)


def _done(job: Callable[[], object]) -> None:
    """Do a job whose result means nothing to another process."""
    job()


def _layout(step: Callable[..., int], parameters: np.dtype, state: np.dtype, inputs: int, outputs: int) -> Any:
    """What a block is compiled for."""
    if is_own(step) and any_size.is_any_size(parameters):
        return (any_size.ranks(parameters), any_size.ranks(state))
    return (str(parameters.descr), str(state.descr), inputs, outputs)


def _name_and_key(layout: Any, step: Callable[..., int]) -> tuple[str, str]:
    key = f"{identity(step)}:{layout}"
    # Numba numbers compiled functions in each process anew: a name of its own for every block, by which it is linked
    return f"{step.__name__}_{hashlib.sha256(key.encode()).hexdigest()[:16]}", key


def _kept(layout: Any, step: Callable[..., int], *fields: Any) -> Native:
    """A block of halfreal's own, which depends on its sources alone: kept on disk."""
    name, key = _name_and_key(layout, step)
    return native(name, key, lambda: _compiler().own_block(name, step, *fields))


def _compiler() -> Any:
    return import_module(f"{__package__}.compiler")


def _names(fields: np.dtype) -> str:
    return ", ".join(name for name in fields.names or () if name != UNUSED) or "empty"


def refused(step: Callable[..., int], why: str) -> CompilationError:
    return CompilationError(f"{place_of(step)} {why}")


def place_of(step: Callable[..., int]) -> str:
    """A block's function for people: its name, its file and the line where it begins."""
    code = step.__code__
    return f"'{step.__name__}' ({Path(code.co_filename).name}, line {code.co_firstlineno})"
