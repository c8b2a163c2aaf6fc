"""From a plain Python ``step(p, s, t, u, y)`` to an address the loop can call.

A block's function reads its parameters ``p`` and state ``s`` by field name, its inputs ``u`` and outputs ``y`` by
index, and returns 0 when all is well or a positive code of its own.  Numba compiles it, once for each layout of fields,
behind one fixed C signature::

    int64 step(*parameters, *state, double t, *inputs, *outputs)

so that the loop, compiled once, can call any block through a table of addresses: swapping blocks compiles no loop.

Three traps of compiled Python are closed here:

- A compiled function called from C swallows an exception and returns 0.  The wrapper therefore returns the block's
  status **plus one**: 0 at this level always means "the block raised", never "all is well".
- Numba's disk cache does not notice a changed callee in another file.  Every cached function is therefore keyed by a
  hash of the file it stands in and of all sources in ``halfreal.kernels``.  A block may call helpers from its own file
  and from ``halfreal.kernels``, from nowhere else, and they are decorated with ``kernel``.
- Functions cached by different processes may bear the same name, and then stand in for each other.  Every block has a
  name of its own, and helpers are inlined.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import carray, njit, types
from numba.core import cgutils
from numba.core.errors import NumbaError
from numba.extending import intrinsic, lower_cast

from ..errors import HalfrealError

# No fastmath: it deletes the NaN checks on which the guard relies.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "boundscheck": False}
BLOCK_ABI = types.int64(types.intp, types.intp, types.float64, types.intp, types.intp)

INSIDE: dict[str, Any] = {**OPTIONS, "forceinline": True, "_nrt": False}
"""Of blocks and their helpers: one piece of code for each block, and none that allocates, as it does not compile."""

WRAPPER: dict[str, Any] = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
STEP: dict[str, Any] = {**INSIDE, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Of a block's own function, which nothing but its wrapper calls."""


def kernel(function: Callable[..., Any]) -> Any:
    """Decorator for helpers that blocks call.

    To Numba a field that is an array has a type of its own for every shape, and a helper would be compiled for each.
    Here it is compiled for arrays of any shape; inlined into the block, it has the field's shape as a constant again.
    """
    helper = njit(**INSIDE)(function)
    compiler = getattr(helper, "_compiler", None)  # private to Numba; without it only time is lost
    if compiler is not None:
        fold = compiler.fold_argument_types

        def fold_without_shapes(args, kws):  # type: ignore[no-untyped-def]
            signature, arguments = fold(args, kws)
            return signature, tuple(_without_shape(argument) for argument in arguments)

        compiler.fold_argument_types = fold_without_shapes
    return helper


def _without_shape(argument: types.Type) -> types.Type:
    if isinstance(argument, types.NestedArray):
        return types.Array(argument.dtype, argument.ndim, "C")
    return argument


@lower_cast(types.NestedArray, types.Array)
def _shape_forgotten(context, builder, from_type, to_type, value):  # type: ignore[no-untyped-def]
    return value  # both are laid out alike


@intrinsic
def as_pointer(typingctx, address):  # type: ignore[no-untyped-def]
    """Turn an integer address into a pointer that ``carray`` accepts."""
    return types.voidptr(types.intp), lambda context, builder, signature, args: builder.inttoptr(
        args[0], cgutils.voidptr_t
    )


@intrinsic
def record_at(typingctx, address, layout):  # type: ignore[no-untyped-def]
    """The record that stands at an integer address (``carray`` would be compiled anew for every layout)."""
    record = layout.dtype
    return record(types.intp, layout), lambda context, builder, signature, args: builder.inttoptr(
        args[0], context.get_value_type(record)
    )


@cache
def kernel_hash() -> str:
    """Hash of every source file in this package: part of each cached function's key."""
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def _source_key(path: str) -> str:
    return hashlib.sha256(kernel_hash().encode() + Path(path).read_bytes()).hexdigest()


def identity(function: Callable[..., Any]) -> str:
    """Hash of a function's name and of all sources it may depend on."""
    source = inspect.getsourcefile(function)
    key = _source_key(source) if source and Path(source).is_file() else kernel_hash()
    return hashlib.sha256(f"{key}:{function.__module__}:{function.__qualname__}".encode()).hexdigest()


def cacheable(function: Callable[..., Any], options: dict[str, Any] = OPTIONS) -> Any:
    """Compile ``function`` so that its disk cache follows its sources, not its file's time stamp alone."""
    dispatcher = njit(**options)(function)
    if hasattr(dispatcher, "_set_uuid"):  # private to Numba; without it only the disk cache is lost
        dispatcher._set_uuid(identity(function))
    return dispatcher


class CompilationError(HalfrealError):
    """A block's function that Numba cannot compile."""


_compiled: dict[tuple[Any, ...], Any] = {}


def compile_block(step: Callable[..., int], parameters: np.dtype, state: np.dtype, inputs: int, outputs: int) -> int:
    """Compile a block function for one layout of its fields and return its C address.

    The compiled function is kept alive for the life of the process: addresses handed to a loop stay valid.
    """
    layout = (step, str(parameters.descr), str(state.descr), inputs, outputs)
    if layout not in _compiled:
        function = cacheable(step, STEP)

        def call(p, s, t, u, y):  # type: ignore[no-untyped-def]
            return 1 + function(
                record_at(p, parameters),
                record_at(s, state),
                t,
                carray(as_pointer(u), inputs, np.float64),
                carray(as_pointer(y), outputs, np.float64),
            )

        # Numba numbers compiled functions in each process anew, and of two with one name the first that is loaded from
        # the disk cache serves for both (numba issue 10486): every block has a name of its own, and its helpers are
        # inlined into it.
        name = hashlib.sha256(f"{identity(step)}:{layout[1:]}".encode()).hexdigest()[:16]
        call.__qualname__ = f"{step.__name__}_{name}"
        try:
            _compiled[layout] = njit(BLOCK_ABI, cache=hasattr(function, "_set_uuid"), **WRAPPER)(call)
        except (NumbaError, AttributeError, KeyError) as error:  # KeyError: a field that the layout does not have
            code = step.__code__
            raise CompilationError(
                f"'{step.__name__}' ({Path(code.co_filename).name}, line {code.co_firstlineno}) cannot be compiled: "
                f"{_reason(error)}; use plain arithmetic, loops and the math module on floats and float arrays, and "
                "allocate nothing"
            ) from error
    (compiled,) = _compiled[layout].overloads.values()
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))


def _reason(error: Exception) -> str:
    """What Numba could not do, and in which line, out of its long message."""
    if isinstance(error, KeyError):
        return f"neither parameters nor state have a field {error}"
    lines = [line.strip() for line in str(error).splitlines()]
    what = next((line for line in lines if line and not line.startswith("Failed in")), "no reason given")
    call = next((line.removeprefix(">>>") for line in lines if line.startswith(">>>")), "")
    place = re.findall(r'File ".*", line (\d+)', str(error))
    return f"{what.rstrip('.:')}{call}" + (f" (line {place[-1]})" if place else "")
