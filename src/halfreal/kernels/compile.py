"""How blocks and their helpers are compiled.

A block's function reads its parameters ``p`` and state ``s`` by field name, its inputs ``u`` and outputs ``y`` by
index, and returns 0 when all is well or a positive code of its own.  It is compiled once, for fields of any size
(``record.py``), behind one fixed signature::

    int64 step(*parameters, *state, double t, *inputs, *outputs, *sizes)

so that the loop, compiled once, can call any block through a table of addresses: swapping blocks compiles no loop.

Numba is loaded only where something must be compiled: decorators note down what they are given, and hand it to Numba
when it asks.  What is halfreal's own is compiled before it is needed, in processes of its own (``library.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, update_wrapper
from importlib import import_module
from typing import TYPE_CHECKING, Any

# No fastmath: it deletes the NaN checks on which the guard relies.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "boundscheck": False}

INSIDE: dict[str, Any] = {**OPTIONS, "_nrt": False, "no_cfunc_wrapper": True}
"""Of blocks and their helpers: nothing that allocates compiles."""

WRAPPER: dict[str, Any] = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
STEP: dict[str, Any] = {**INSIDE, "no_cpython_wrapper": True}
"""Of a block's own function, which nothing but its wrapper calls."""


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

    def __call__(self, *given: Any) -> Any:
        return self.dispatcher(*given)


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
    """Decorator for helpers that blocks call; LLVM decides which of them become part of a block."""
    return helper(**INSIDE)(function)


def helper(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorator for helpers with options of their own."""

    def made(function: Callable[..., Any]) -> Any:
        from numba import njit

        return njit(**options)(function)

    return lambda function: Helper(function, made, _in_order(options))


def _in_order(options: dict[str, Any]) -> list[tuple[str, Any]]:
    """The same text in every process, also of sets."""
    return [(name, sorted(one) if isinstance(one, set) else one) for name, one in sorted(options.items())]
