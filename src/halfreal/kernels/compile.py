"""How blocks and their helpers are compiled, and when compiled code that is kept on disk still holds.

A block's function reads its parameters ``p`` and state ``s`` by field name, its inputs ``u`` and outputs ``y`` by
index, and returns 0 when all is well or a positive code of its own.  Numba compiles it, once for each layout of fields,
behind one fixed signature (``kernels/native.py``)::

    int64 step(*parameters, *state, double t, *inputs, *outputs)

so that the loop, compiled once, can call any block through a table of addresses: swapping blocks compiles no loop.

halfreal's own blocks are kept on disk (``objects.py``), those of users are not.  Numba is loaded only where something
must be compiled: decorators note down what they are given, and hand it to Numba when it asks.  Two traps are closed
here:

- A changed callee in another file must be noticed.  Every cached function is therefore keyed by its code and all that
  it takes from around it (``closed_over.py``), and by the sources of what compiles it (``MACHINERY``).  A comment or
  a docstring changes no key.
- Functions cached by different processes may have the same name, and then stand in for each other.  Every block has a
  name of its own, and helpers are inlined, but for large ones that many blocks call (``shared``): their names contain
  a hash of their sources, so that those with one name are one code.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache, cached_property, update_wrapper
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .closed_over import closed_over

# No fastmath: it deletes the NaN checks on which the guard relies.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "boundscheck": False}

INSIDE: dict[str, Any] = {**OPTIONS, "forceinline": True, "_nrt": False, "no_cfunc_wrapper": True}
"""Of blocks and their helpers: one piece of code for each block, and none that allocates, as it does not compile."""

WRAPPER: dict[str, Any] = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
STEP: dict[str, Any] = {**INSIDE, "no_cpython_wrapper": True}
"""Of a block's own function, which nothing but its wrapper calls."""


SHARED: set[str] = set()
"""Names of large helpers that are compiled by themselves."""
MACHINERY = ("any_size", "compile", "compiler", "entry", "fused", "objects", "pointers", "shapes")
"""Modules that decide what a function is compiled to."""


class Later:
    """A module of Numba's, loaded when something of it is used."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._module), name)

    def __reduce__(self) -> tuple[Any, ...]:  # else pickle looks for methods of the module's
        return Later, (self._module,)


if TYPE_CHECKING:
    from numba import types as types
    from numba.core import cgutils as cgutils
else:
    types, cgutils = Later("numba.core.types"), Later("numba.core.cgutils")


class Helper:
    """A function that compiled code calls; called from Python, it is compiled for what it is given."""

    def __init__(
        self, function: Callable[..., Any], make: Callable[[Callable[..., Any]], Any], options: Any = None
    ) -> None:
        update_wrapper(self, function)
        self.py_func, self._make = function, make
        self.options = repr(options)

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
        self.py_func = function

    @cached_property
    def _numba_type_(self) -> Any:
        from numba.core.registry import cpu_target
        from numba.extending import intrinsic as made

        known = made(self.py_func)
        cpu_target.typing_context.refresh()
        return cpu_target.typing_context.resolve_value_type(known)

    def __call__(self, *given: Any) -> Any:
        raise NotImplementedError(f"{self.py_func.__name__} is for compiled code only")


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

    return lambda function: Helper(function, made, _in_order(options))


def _in_order(options: dict[str, Any]) -> list[tuple[str, Any]]:
    """The same text in every process, also of sets."""
    return [(name, sorted(one) if isinstance(one, set) else one) for name, one in sorted(options.items())]


def shared(function: Callable[..., Any]) -> Any:
    """A large helper that many blocks call: compiled once, kept on disk, and not inlined."""

    def made(function: Callable[..., Any]) -> Any:
        key = identity(function)
        function.__qualname__ = f"{function.__name__}_{key[:16]}"
        SHARED.add(function.__qualname__)
        compiled = _without_shapes(_njit(**OPTIONS, _nrt=False)(function))
        return import_module(f"{__package__}.numba_cache").keep(compiled, key)

    return Helper(function, made)


def _njit(**options: Any) -> Any:
    from numba import njit

    return njit(**options)


def _without_shapes(compiled: Any) -> Any:
    return import_module(f"{__package__}.shapes").without_shapes(compiled)


@cache
def machinery() -> str:
    """Hash of the sources of what compiles, whichever function it is."""
    digest = hashlib.sha256()
    for name in MACHINERY:
        digest.update(Path(__file__).with_name(f"{name}.py").read_bytes())
    return digest.hexdigest()


@cache
def identity(function: Callable[..., Any]) -> str:
    """Hash of a function's name and of all that its compiled code depends on."""
    key = f"{machinery()}:{function.__module__}:{function.__name__}:{closed_over(function)}"
    return hashlib.sha256(key.encode()).hexdigest()
