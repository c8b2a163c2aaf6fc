"""How blocks and their helpers are compiled, and when compiled code that is kept on disk still holds.

A block's function reads its parameters ``p`` and state ``s`` by field name, its inputs ``u`` and outputs ``y`` by
index, and returns 0 when all is well or a positive code of its own.  Numba compiles it, once for each layout of fields,
behind one fixed signature (``kernels/native.py``)::

    int64 step(*parameters, *state, double t, *inputs, *outputs)

so that the loop, compiled once, can call any block through a table of addresses: swapping blocks compiles no loop.

halfreal's own blocks are kept on disk (``objects.py``), those of users are not.  Numba is loaded only where something
must be compiled: decorators note down what they are given, and hand it to Numba when it asks.  Two traps are closed
here:

- A changed callee in another file must be noticed.  Every cached function is therefore keyed by a hash of the file
  it is in and of all sources in ``halfreal.kernels`` and ``halfreal.models.materials``.  A block of halfreal may
  call helpers from its own file and from these packages, from nowhere else, and they are decorated with ``kernel``;
  files that call each other's helpers all the same are keyed together (``TOGETHER``).
- Functions cached by different processes may have the same name, and then stand in for each other.  Every block has a
  name of its own, and helpers are inlined, but for large ones that many blocks call (``shared``): their names contain
  a hash of their sources, so that those with one name are one code.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from functools import cache, cached_property, update_wrapper
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .disk_cache import numba_version

# No fastmath: it deletes the NaN checks on which the guard relies.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "boundscheck": False}

INSIDE: dict[str, Any] = {**OPTIONS, "forceinline": True, "_nrt": False, "no_cfunc_wrapper": True}
"""Of blocks and their helpers: one piece of code for each block, and none that allocates, as it does not compile."""

WRAPPER: dict[str, Any] = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
STEP: dict[str, Any] = {**INSIDE, "no_cpython_wrapper": True}
"""Of a block's own function, which nothing but its wrapper calls."""


SHARED: set[str] = set()
"""Names of large helpers that are compiled by themselves."""
TOGETHER = (("models/frame", "*.py"), ("stability", "dde_*.py"))
"""Files that call each other's helpers, and are keyed together."""


class Later:
    """A module of Numba's, loaded when something of it is used."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._module), name)


if TYPE_CHECKING:
    from numba import types as types
    from numba.core import cgutils as cgutils
else:
    types, cgutils = Later("numba.core.types"), Later("numba.core.cgutils")


class Helper:
    """A function that compiled code calls; called from Python, it is compiled for what it is given."""

    def __init__(self, function: Callable[..., Any], make: Callable[[Callable[..., Any]], Any]) -> None:
        update_wrapper(self, function)
        self.py_func, self._make = function, make

    @cached_property
    def dispatcher(self) -> Any:
        """What Numba knows it as."""
        return self._make(self.py_func)

    @property
    def _numba_type_(self) -> Any:
        from numba.core.typing.typeof import Purpose, typeof

        return typeof(self.dispatcher, Purpose.constant)

    @cached_property
    def _for_python(self) -> Any:
        return self._make(self.py_func)  # that of compiled code is never loaded by itself

    def __call__(self, *given: Any) -> Any:
        return self._for_python(*given)


class Intrinsic:
    """A function that writes LLVM code, as ``numba.extending.intrinsic``."""

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self._function = function

    @cached_property
    def _numba_type_(self) -> Any:
        from numba.core.registry import cpu_target
        from numba.extending import intrinsic as made

        known = made(self._function)
        cpu_target.typing_context.refresh()
        return cpu_target.typing_context.resolve_value_type(known)

    def __call__(self, *given: Any) -> Any:
        raise NotImplementedError(f"{self._function.__name__} is for compiled code only")


def intrinsic(function: Callable[..., Any]) -> Any:
    """Decorator for functions that write LLVM code."""
    return Intrinsic(function)


def kernel(function: Callable[..., Any]) -> Any:
    """Decorator for helpers that blocks call.

    To Numba a field that is an array has a type of its own for every shape, and a helper would be compiled for each.
    Here it is compiled for arrays of any shape; inlined into the block, it has the field's shape as a constant again.
    """
    return helper(**INSIDE)(function)


def helper(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorator for helpers with options of their own."""

    def made(function: Callable[..., Any]) -> Any:
        return _without_shapes(_njit(**options)(function))

    return lambda function: Helper(function, made)


def shared(function: Callable[..., Any]) -> Any:
    """A large helper that many blocks call: compiled once, kept on disk, and not inlined."""
    key = identity(function)
    function.__qualname__ = f"{function.__name__}_{key[:16]}"
    SHARED.add(function.__qualname__)

    def made(function: Callable[..., Any]) -> Any:
        compiled = _without_shapes(_njit(**OPTIONS, _nrt=False)(function))
        return import_module(f"{__package__}.numba_cache").keep(compiled, key)

    return Helper(function, made)


def _njit(**options: Any) -> Any:
    from numba import njit

    return njit(**options)


def _without_shapes(compiled: Any) -> Any:
    return import_module(f"{__package__}.shapes").without_shapes(compiled)


@cache
def kernel_hash() -> str:
    """Hash of every source file of which helpers may come: part of each cached function's key."""
    digest = hashlib.sha256(numba_version().encode())
    here = Path(__file__).parent
    for folder in (here, here.parent / "models" / "materials"):
        for path in sorted(folder.glob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def _source_key(path: str) -> str:
    digest = hashlib.sha256(kernel_hash().encode() + Path(path).read_bytes())
    for folder, pattern in TOGETHER:
        files = sorted((Path(__file__).parent.parent / folder).rglob(pattern))
        if Path(path) in files:
            for other in files:
                digest.update(other.read_bytes())
    return digest.hexdigest()


def identity(function: Callable[..., Any]) -> str:
    """Hash of a function's name and of all sources it may depend on."""
    source = inspect.getsourcefile(function)
    key = _source_key(source) if source and Path(source).is_file() else kernel_hash()
    return hashlib.sha256(f"{key}:{function.__module__}:{function.__qualname__}".encode()).hexdigest()
