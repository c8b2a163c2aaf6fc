"""What goes into the compiled code of a function: its own code and all values that it takes from around it.

Numba makes constants of global numbers and arrays and compiles the functions that are called.  Of two functions for
which all of this is equal, one compiled code serves; if a constant, a helper, or a table read at import has changed,
in whichever file, it is another.  Comments, docstrings and places in a file do not matter.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterator
from inspect import getattr_static
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from .origin import halfreals, users

PLAIN = (int, float, complex, str, bytes, type(None), type(...))


def closed_over(function: Callable[..., Any]) -> str:
    """Hash of a function and of all that it takes from around it, the same in every process."""
    digest = hashlib.sha256()
    for part in _of_function(function, set(), whole=True):
        digest.update(part)
    return digest.hexdigest()


def _of_function(function: Any, seen: set[Any], whole: bool) -> Iterator[bytes]:
    """A function's name, and the ``whole`` of it unless it is known by its name, as those of libraries are."""
    yield f"function {function.__name__ if whole else f'{function.__module__}.{function.__qualname__}'}\n".encode()
    if id(function) in seen or not whole:
        return
    seen.add(id(function))
    names: set[str] = set()
    yield from _of_code(function.__code__, names, function.__doc__)
    yield from _of_value(function.__defaults__, names, seen)
    for name in sorted(names & set(function.__globals__)):
        yield name.encode()
        yield from _of_value(function.__globals__[name], names, seen)
    for cell in function.__closure__ or ():
        yield from _of_value(cell.cell_contents, names, seen)


def _of_code(code: CodeType, names: set[str], docstring: str | None = None) -> Iterator[bytes]:
    names |= set(code.co_names)
    yield code.co_code
    yield repr((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)).encode()
    constants = code.co_consts
    for constant in constants[1:] if constants[:1] == (docstring,) else constants:
        if isinstance(constant, CodeType):
            yield from _of_code(constant, names)
        else:
            yield repr(constant).encode()


def _of_value(value: Any, names: set[str], seen: set[Any]) -> Iterator[bytes]:
    """A value; of a module or class of halfreal's or a user's the members whose names the function has."""
    if isinstance(value, PLAIN):
        yield f"{type(value).__name__} {value!r}\n".encode()
        return
    # of a function that Numba has compiled, or will; without a call of __getattr__, which may load Numba
    python = getattr_static(value, "py_func", value)
    if isinstance(python, FunctionType):
        file = python.__code__.co_filename
        yield repr(getattr_static(value, "options", None)).encode()
        yield from _of_function(python, seen, whole=python is not value or halfreals(file) or users(file))
    elif isinstance(value, np.ndarray | np.generic):
        yield f"array {value.dtype.descr} {value.shape}\n".encode() + value.tobytes()
    elif isinstance(value, tuple | list):
        yield f"{type(value).__name__} {len(value)}\n".encode()
        for one in value:
            yield from _of_value(one, names, seen)
    elif isinstance(value, ModuleType | type):
        yield f"{type(value).__name__} {value.__name__}\n".encode()
        file = str(getattr(value, "__file__", ""))
        if not isinstance(value, ModuleType) or halfreals(file) or users(file):
            for name in sorted(names & set(dir(value))):
                if (id(value), name) not in seen:
                    seen.add((id(value), name))
                    yield name.encode()
                    yield from _of_value(getattr(value, name), names, seen)
    elif type(value).__module__.startswith("llvmlite.ir"):
        yield str(value).encode()  # a type; what is pickled of it depends on what it was used for
    else:
        yield _pickled(value)


def _pickled(value: Any) -> bytes:
    try:
        return pickle.dumps(value)
    except Exception:  # such as a lock: nothing that compiled code could use
        return f"{type(value).__module__}.{type(value).__qualname__}".encode()
