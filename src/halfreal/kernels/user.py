"""Functions that users write: found in their file, loaded, and tried in plain Python before they are compiled.

A user's block is a function ``step(p, s, t, u, y)`` that keeps the contract of ``halfreal.kernels.block``.  Compiled
code checks no bounds and shows no exception, so that a function is first run as ordinary Python, where both show.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import HalfrealError
from .block import Block, flatten, layout
from .tick import RAISED

ARGUMENTS = ("p", "s", "t", "u", "y")


class UserFunctionError(HalfrealError):
    """A user's function that cannot be found, loaded or run."""


def split(reference: str) -> tuple[str, str]:
    """File and function of a reference such as ``"model.py:step"``."""
    file, colon, name = reference.rpartition(":")
    if not colon or not file or not name.isidentifier():
        raise UserFunctionError(
            f"'{reference}' does not name a function; write file and function, as in 'model.py:step'"
        )
    return file, name


def check_function(path: Path, name: str, arguments: tuple[str, ...] = ARGUMENTS) -> None:
    """Make sure that a file defines a function of so many arguments, without running any of it."""
    try:
        tree = ast.parse(path.read_bytes(), filename=str(path))
    except FileNotFoundError as error:
        raise UserFunctionError(f"there is no file {path}; name it relative to the definition's folder") from error
    except OSError as error:
        raise UserFunctionError(f"{path} cannot be read: {error.strerror}") from error
    except (SyntaxError, ValueError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise UserFunctionError(f"{path} is not Python{line}: {error}") from error
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if name not in functions:
        known = f"it defines {', '.join(functions)}" if functions else "it defines no function"
        raise UserFunctionError(f"{path} has no function '{name}'; {known}")
    takes = functions[name].args
    given = [argument.arg for argument in (*takes.posonlyargs, *takes.args)]
    if len(given) != len(arguments) or takes.vararg or takes.kwonlyargs or takes.kwarg:
        raise UserFunctionError(
            f"'{name}' in {path}, line {functions[name].lineno}, is {name}({ast.unparse(takes)}); it must have "
            f"{len(arguments)} arguments, {name}({', '.join(arguments)})"
        )


def load_function(path: Path, name: str, arguments: tuple[str, ...] = ARGUMENTS) -> Callable[..., Any]:
    """The function ``name`` of a user's file: the same object as long as the file does not change."""
    path = path.resolve()
    check_function(path, name, arguments)
    module = _load(path, hashlib.sha256(path.read_bytes()).hexdigest())
    function = getattr(module, name)
    return getattr(function, "py_func", function)  # a function already decorated by Numba is compiled here all the same


@cache
def _load(path: Path, digest: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"halfreal_user_{path.stem}_{digest[:12]}", path)
    assert spec is not None and spec.loader is not None  # check_function has parsed it as Python
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[spec.name]
        raise UserFunctionError(f"{path} cannot be loaded: {told(error, path)}") from error
    return module


def try_in_python(block: Block, calls: int = 2) -> None:
    """Run a block's function as plain Python on copies of its data, at rest (all inputs zero).

    Twice by default, as many functions do something else at their first call.  Raises ``UserFunctionError`` for what
    compiled code would hide: an index out of range, an unknown field, any exception, and outputs that are not finite.
    """
    p, s = _record(block.parameters), _record(block.state)
    u, y = np.zeros(len(block.inputs)), np.zeros(len(block.outputs))
    source = Path(block.step.__code__.co_filename)
    for call in range(calls):
        try:
            with np.errstate(all="ignore"):
                status = block.step(p, s, float(call), u, y)
        except Exception as error:
            raise UserFunctionError(
                f"block '{block.name}': {block.step.__name__} raised {told(error, source)}; it has {u.size} input(s), "
                f"{y.size} output(s), the parameters {_listed(block.parameters)} and the state {_listed(block.state)}"
            ) from error
        if isinstance(status, bool) or not isinstance(status, int | np.integer) or not 0 <= status < RAISED:
            raise UserFunctionError(
                f"block '{block.name}': {block.step.__name__} returned {status!r}; return 0 if all is well, or a whole "
                f"number from 1 to {RAISED - 1} as a fault"
            )
        for channel, value in zip(block.outputs, y, strict=True):
            if not np.isfinite(value):
                raise UserFunctionError(f"block '{block.name}': its output '{channel.name}' is {value} at rest")


def _record(values: Any) -> Any:
    """Named fields as a record whose attributes can be read and written, as in compiled code."""
    return flatten(values).view(np.dtype((np.record, layout(values))))[0]


def _listed(values: Any) -> str:
    return ", ".join(values) or "(none)"


def told(error: BaseException, path: Path) -> str:
    """An exception in one line, with the line of the user's file that caused it."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == path]
    place = f" at {path.name}, line {lines[-1]}" if lines else ""
    return f"{type(error).__name__}: {error}{place}"
