"""How blocks and their helpers are compiled, and when compiled code that is kept on disk still holds.

A block's function reads its parameters ``p`` and state ``s`` by field name, its inputs ``u`` and outputs ``y`` by
index, and returns 0 when all is well or a positive code of its own.  Numba compiles it, once for each layout of fields,
behind one fixed signature (``kernels/native.py``)::

    int64 step(*parameters, *state, double t, *inputs, *outputs)

so that the loop, compiled once, can call any block through a table of addresses: swapping blocks compiles no loop.

halfreal's own blocks are kept on disk (``disk_cache.py``), those of users are not.  Two traps are closed here:

- A changed callee in another file must be noticed.  Every cached function is therefore keyed by a hash of the file
  it stands in and of all sources in ``halfreal.kernels`` and ``halfreal.models.materials``.  A block of halfreal may
  call helpers from its own file and from these packages, from nowhere else, and they are decorated with ``kernel``;
  those of ``halfreal.models.frame`` call each other, and are keyed together.
- Functions cached by different processes may have the same name, and then stand in for each other.  Every block has a
  name of its own, and helpers are inlined, but for large ones that many blocks call (``shared``): their names tell
  their sources, so that those with one name are one code.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba import njit, types
from numba.extending import lower_cast

from .disk_cache import keep

# No fastmath: it deletes the NaN checks on which the guard relies.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "boundscheck": False}

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
    return without_shapes(njit(**INSIDE)(function))


def shared(function: Callable[..., Any]) -> Any:
    """A large helper that many blocks call: compiled once, kept on disk, and not inlined."""
    key = identity(function)
    function.__qualname__ = f"{function.__name__}_{key[:16]}"
    return keep(without_shapes(njit(**OPTIONS, _nrt=False)(function)), key)


def without_shapes(helper: Any) -> Any:
    """Have a helper compiled for arrays of any shape."""
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


@cache
def kernel_hash() -> str:
    """Hash of every source file of which helpers may come: part of each cached function's key."""
    digest = hashlib.sha256(numba.__version__.encode())
    here = Path(__file__).parent
    for folder in (here, here.parent / "models" / "materials"):
        for path in sorted(folder.glob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def _source_key(path: str) -> str:
    digest = hashlib.sha256(kernel_hash().encode() + Path(path).read_bytes())
    together = Path(__file__).parent.parent / "models" / "frame"
    if Path(path).is_relative_to(together):
        for other in sorted(together.rglob("*.py")):
            digest.update(other.read_bytes())
    return digest.hexdigest()


def identity(function: Callable[..., Any]) -> str:
    """Hash of a function's name and of all sources it may depend on."""
    source = inspect.getsourcefile(function)
    key = _source_key(source) if source and Path(source).is_file() else kernel_hash()
    return hashlib.sha256(f"{key}:{function.__module__}:{function.__qualname__}".encode()).hexdigest()
