"""From a block's function to an address the loop can call."""

from __future__ import annotations

import ctypes
import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import carray, njit, types
from numba.extending import intrinsic

from ..errors import HalfrealError
from . import any_size
from .block import LARGEST_FAULT, UNUSED
from .checked import calls, checking
from .closed_over import closed_over
from .compile import STEP, WRAPPER, identity
from .disk_cache import keep
from .origin import halfreals, users
from .pointers import as_pointer

BLOCK_ABI = types.int64(types.intp, types.intp, types.float64, types.intp, types.intp)
NATIVE = ctypes.CFUNCTYPE(
    ctypes.c_int32, *[ctypes.c_void_p] * 4, ctypes.c_double, *[ctypes.c_void_p] * 2
)  # Numba's calling convention: places for the value and for what was raised, then p, s, t, u, y
RULES = "use plain arithmetic, loops and the math module on floats and float arrays, and allocate nothing"
STATUS = f"return 0 if all is well, or a whole number from 1 to {LARGEST_FAULT} as a fault"


class CompilationError(HalfrealError):
    """A block's function that cannot be compiled."""


@intrinsic
def record_at(typingctx, address, layout):  # type: ignore[no-untyped-def]
    """The record that stands at an integer address (``carray`` would be compiled anew for every layout)."""
    record = layout.dtype
    return record(types.intp, layout), lambda context, builder, signature, args: builder.inttoptr(
        args[0], context.get_value_type(record)
    )


def is_own(step: Callable[..., int]) -> bool:
    """Whether a block's function is halfreal's own; any other is the user's."""
    return halfreals(step.__code__.co_filename) and step.__closure__ is None


def call_native(address: int, p: np.ndarray, s: np.ndarray, t: float, u: np.ndarray, y: np.ndarray) -> tuple[int, int]:
    """Call a compiled block once, from Python: how the call ended (0 if well) and the block's status."""
    status, raised = ctypes.c_int64(), ctypes.c_void_p()
    places = ctypes.byref(status), ctypes.byref(raised)
    ended = NATIVE(address)(*places, p.ctypes.data, s.ctypes.data, t, u.ctypes.data, y.ctypes.data)
    return int(ended), int(status.value) - 1


_compiled: dict[tuple[Any, ...], Any] = {}


def compile_block(step: Callable[..., int], parameters: np.dtype, state: np.dtype, inputs: int, outputs: int) -> int:
    """Compile a block function for one layout of its fields and return the address of its native code."""
    return address_of(compiled_block(step, parameters, state, inputs, outputs))


def compiled_block(step: Callable[..., int], parameters: np.dtype, state: np.dtype, inputs: int, outputs: int) -> Any:
    """What Numba makes of a block function for one layout of its fields.

    The compiled function is kept alive for the life of the process: addresses handed to a loop stay valid.
    """
    own = is_own(step)
    fields = (parameters, state, inputs, outputs)
    key: tuple[Any, ...] = (
        step if own else closed_over(step),
        str(parameters.descr),
        str(state.descr),
        inputs,
        outputs,
    )
    if own and any_size.is_any_size(parameters):
        key = (step, any_size.ranks(parameters), any_size.ranks(state))
    if key not in _compiled:
        try:
            _compiled[key] = _cached(step, *fields) if own else _checked(step, *fields)
        except CompilationError:
            raise
        except KeyError as error:  # so Numba says that a record has no such field
            there = f"the parameters are {_names(parameters)}, the state is {_names(state)}"
            raise refused(
                step, f"cannot be compiled: it uses a field {error} that it does not have; {there}"
            ) from error
        except Exception as error:  # Numba has its own for what it foresees, and asserts the rest
            raise refused(step, f"cannot be compiled: {_reason(error)}") from error
    (compiled,) = _compiled[key].overloads.values()
    return compiled


def address_of(compiled: Any) -> int:
    """The address of a compiled block's native code."""
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))


def compiled_afresh(step: Callable[..., int], parameters: np.dtype, state: np.dtype, inputs: int, outputs: int) -> Any:
    """A block as Numba has just compiled it: with its LLVM code, which the disk does not keep."""
    if is_own(step):
        compiled = njit(BLOCK_ABI, **WRAPPER)(_own_caller(step, parameters, state, inputs, outputs))
    else:
        compiled = _checked(step, parameters, state, inputs, outputs)
    (result,) = compiled.overloads.values()
    return result


def _own_caller(
    step: Callable[..., int], parameters: np.dtype, state: np.dtype, inputs: int, outputs: int
) -> Callable[..., int]:
    function = njit(**STEP)(step)
    if any_size.is_any_size(parameters):
        return any_size.caller(function, parameters, state)
    return _caller(function, parameters, state, inputs, outputs)


def _cached(step: Callable[..., int], parameters: np.dtype, state: np.dtype, inputs: int, outputs: int) -> Any:
    """A block of halfreal's own, which depends on its sources alone: kept on disk."""
    layout: Any = (str(parameters.descr), str(state.descr), inputs, outputs)
    if any_size.is_any_size(parameters):
        layout = (any_size.ranks(parameters), any_size.ranks(state))
    call = _own_caller(step, parameters, state, inputs, outputs)
    # Numba numbers compiled functions in each process anew, and of two with one name the first that is loaded from
    # the disk cache serves for both (numba issue 10486): every block has a name of its own, and its helpers are
    # inlined into it.
    name = hashlib.sha256(f"{identity(step)}:{layout}".encode()).hexdigest()[:16]
    call.__qualname__ = f"{step.__name__}_{name}"
    compiled = keep(njit(**WRAPPER)(call), identity(call))
    compiled.compile(BLOCK_ABI)
    compiled.disable_compile()
    return compiled


def _checked(step: Callable[..., int], parameters: np.dtype, state: np.dtype, inputs: int, outputs: int) -> Any:
    """A user's block: checked, and never kept on disk."""
    with checking() as checked:
        function = checked(step)
        try:
            compiled = njit(BLOCK_ABI, **WRAPPER)(_caller(function, parameters, state, inputs, outputs))
        finally:
            _check_status(step, function)
    (result,) = compiled.overloads.values()
    strange = calls(result.library)
    if strange:
        foreign = [name for name in strange if not name.startswith("_Z")]  # as compiled Python is named
        what = f"needs the interpreter, or a library ({', '.join(foreign)})" if foreign else "calls itself"
        if any("Stdout" in name for name in foreign):
            what = "prints; a tick cannot: write what is of interest into the state, or return a number as a fault"
        raise refused(step, f"{what}; {RULES}")
    return compiled


def _check_status(step: Callable[..., int], function: Any) -> None:
    for compiled in function.overloads.values():
        given = compiled.signature.return_type
        if not isinstance(given, types.Integer) or isinstance(given, types.Boolean):
            raise refused(step, f"returns {given}; {STATUS}")


def _caller(function: Any, parameters: np.dtype, state: np.dtype, inputs: int, outputs: int) -> Callable[..., int]:
    def call(p, s, t, u, y):  # type: ignore[no-untyped-def]
        return 1 + function(
            record_at(p, parameters),
            record_at(s, state),
            t,
            carray(as_pointer(u), inputs, np.float64),
            carray(as_pointer(y), outputs, np.float64),
        )

    return call


def _names(fields: np.dtype) -> str:
    return ", ".join(name for name in fields.names or () if name != UNUSED) or "empty"


def refused(step: Callable[..., int], why: str) -> CompilationError:
    return CompilationError(f"{place_of(step)} {why}")


def place_of(step: Callable[..., int]) -> str:
    """A block's function for people: its name, its file and the line where it begins."""
    code = step.__code__
    return f"'{step.__name__}' ({Path(code.co_filename).name}, line {code.co_firstlineno})"


MEANT = (
    (r"opcode \(IMPORT_NAME\)", "it imports something inside; put the import at the top of the file"),
    (r"opcode \((STORE|DELETE)_GLOBAL\)", "it changes a global variable; keep what changes in the state s"),
    (r"'with \(context manager\)", "it uses 'with'; a tick reads and writes no files: do that at the top of the file"),
    (r"NRT required|_ol_array_allocate|numpy_take|empty_inferred", "it makes a new array, list or text; write entries"
     " of s and y one by one"),
    (r"exception_match|mark_try_block", "it uses try; test for what may go wrong instead"),
    (r"runaway recursion|recursion not supported", "it calls itself; write a loop"),
    (r"complex128", "it makes a complex number of what belongs to a float; use real numbers"),
)  # fmt: skip
"""What a message of Numba means in a user's function, for those that say it in Numba's own terms."""
PLACES = (r'File "(.*?)", line (\d+)', r"(?:at|from) (\S+\.py) \((\d+)\)")


def _reason(error: Exception) -> str:
    """What Numba could not do, and in which line, out of its long message."""
    text = str(error)
    lines = [line.strip() for line in text.splitlines()]
    what = next((line for line in lines if line and not line.startswith("Failed in")), "no reason given")
    call = next((line.removeprefix(">>>") for line in lines if line.startswith(">>>")), "")
    meant = next((words for pattern, words in MEANT if re.search(pattern, text)), "")
    places = [place for pattern in PLACES for place in re.findall(pattern, text) if users(place[0])]
    line = f" ({Path(places[-1][0]).name}, line {places[-1][1]})" if places else ""
    return f"{meant}{line}" if meant else f"{what.rstrip('.:')}{call}{line}; {RULES}"
