"""Functions that users write: found in their file, loaded, compiled, and tried before they go into a loop.

A user's block is a function ``step(p, s, t, u, y)`` that keeps the contract of ``halfreal.kernels.block``.
"""

from __future__ import annotations

import ast
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from ..errors import HalfrealError
from . import patience
from .block import LARGEST_FAULT, MOST_PASSES, OUT_OF_PASSES, Block, flatten, layout
from .native import STATUS, compiled_block
from .origin import users
from .patience import TookTooLongError, within
from .trust import UntrustedError, of_one_answer
from .user_import import import_file

ARGUMENTS = ("p", "s", "t", "u", "y")
BY_NAME = "*"
"""Arguments behind it are given by name to a function that has them, as in Python's own signatures."""
LONGEST_CALL = 1.0
"""Seconds of a call of a user's function at rest."""
LONGEST_EXPLANATION = 5.0
"""Seconds in which plain Python must have found the line in which compiled code raised."""


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
    """Make sure that a file defines a function of these arguments, without running any of it.

    Those before ``BY_NAME`` count by their number, and it need not have those behind it.
    """
    if path.exists() and not path.is_file():  # a device may have no end
        raise UserFunctionError(f"{path} is not an ordinary file; name a Python file")
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
    split_at = arguments.index(BY_NAME) if BY_NAME in arguments else len(arguments)
    placed, named = arguments[:split_at], arguments[split_at + 1 :]
    given = [argument.arg for argument in (*takes.posonlyargs, *takes.args)]
    further = [*given[len(placed) :], *(argument.arg for argument in takes.kwonlyargs)]
    strange = [one for one in further if one not in named] or takes.vararg or takes.kwarg
    if len(given) < len(placed) or len(takes.posonlyargs) > len(placed) or strange:
        also = f", and may have {', '.join(named)}" if named else ""
        raise UserFunctionError(
            f"'{name}' in {path}, line {functions[name].lineno}, is {name}({ast.unparse(takes)}); it must have "
            f"{len(placed)} arguments, {name}({', '.join(placed)}){also}"
        )


def load_function(path: Path, name: str, arguments: tuple[str, ...] = ARGUMENTS) -> Callable[..., Any]:
    """The function ``name`` of a user's file as it is now, with all that it imports and reads."""
    path = path.resolve()
    check_function(path, name, arguments)
    try:
        with of_one_answer(path):
            module = import_file(path).module
    except UntrustedError:
        raise
    except (Exception, TookTooLongError, SystemExit) as error:
        raise UserFunctionError(f"{path} cannot be loaded: {told(error, path)}") from error
    found = getattr(module, name)
    function: Callable[..., Any] = getattr(found, "py_func", found)  # one already decorated by Numba is compiled again
    return function


def try_out(block: Block, calls: int = 2) -> None:
    """Compile a user's block and run it on copies of its data, at rest (all inputs zero).

    Twice by default, as many functions do something else at their first call.  Raises ``UserFunctionError`` for what
    would trip the guard in the first tick: an index out of range or any other exception, a loop without end, outputs
    that are not finite; and for a call that takes longer than ``LONGEST_CALL``.
    """
    p, s = flatten(block.parameters), flatten(block.state)
    u, y = np.zeros(max(len(block.inputs), 1)), np.zeros(max(len(block.outputs), 1))
    sizes = len(block.inputs), len(block.outputs)
    compiled = compiled_block(block)
    dt = float(np.asarray(block.parameters.get("dt", 0.0)))
    who = f"block '{block.name}': {block.step.__name__}"
    for call in range(calls):
        began = time.perf_counter()
        ended, status = compiled(p, s, call * dt, u, y)
        took = time.perf_counter() - began
        if ended == OUT_OF_PASSES:
            raise UserFunctionError(
                f"{who} does not finish at rest: it was stopped after {MOST_PASSES:,} passes of its loops and "
                f"{took:.2g} s; limit the number of passes of every loop"
            )
        if ended:
            raise UserFunctionError(
                f"{who} raised {_why(block, calls, dt)}; it has {sizes[0]} input(s), {sizes[1]} output(s), "
                f"the parameters {_listed(block.parameters)} and the state {_listed(block.state)}"
            )
        if took > LONGEST_CALL:
            raise UserFunctionError(
                f"{who} took {took:.2g} s for one call at rest; the limit is {LONGEST_CALL:g} s; it is called in every "
                "tick: reduce its work, e.g. by computing tables at import"
            )
        if not 0 <= status <= LARGEST_FAULT:
            raise UserFunctionError(f"{who} returned {status}; {STATUS}")
        if status != 0:
            words = f" ({block.faults[status]})" if status in block.faults else ""
            raise UserFunctionError(
                f"{who} returned {status}{words} at rest, where all inputs are zero: a fault that would stop the test "
                f"in its first tick; {STATUS}"
            )
        for channel, value in zip(block.outputs, y, strict=False):
            if not np.isfinite(value):
                raise UserFunctionError(f"block '{block.name}': its output '{channel.name}' is {value} at rest")


def _why(block: Block, calls: int, dt: float) -> str:
    """What a function raised at rest, and in which line."""
    u = np.zeros(len(block.inputs))
    found = in_plain_python(block, flatten(block.state), [(call * dt, u) for call in range(calls)])
    return found or "an exception when compiled, but none in plain Python"


def in_plain_python(block: Block, state: np.ndarray, calls: Sequence[tuple[float, np.ndarray]]) -> str:
    """What a user's function does wrong in calls at times t with inputs u, found in plain Python, which reports it.

    Empty if it does nothing wrong there, or takes too long.
    """
    p, y = _record(block.parameters), np.zeros(len(block.outputs))
    s = state.copy().view(np.dtype((np.record, layout(block.state))))[0]
    try:
        with _in_python(block.step), within(LONGEST_EXPLANATION), np.errstate(divide="raise", invalid="raise"):
            for t, u in calls:
                status = block.step(p, s, t, u.copy(), y)
                if not 0 <= status <= LARGEST_FAULT:
                    return f"returned {status}; {STATUS}"
    except Exception as error:
        return told(error, Path(block.step.__code__.co_filename))
    except TookTooLongError:
        pass
    return ""


@contextmanager
def _in_python(step: Callable[..., Any]) -> Iterator[None]:
    """While it lasts, the user's helpers are plain Python, regardless of what their decorators have made of them."""
    changed: list[tuple[dict[str, Any], dict[str, Any]]] = []
    functions, seen = [step], set[int]()
    while functions:
        around = functions.pop().__globals__
        if id(around) not in seen and users(str(around.get("__file__", ""))):
            seen.add(id(around))
            compiled = {name: value for name, value in around.items() if hasattr(value, "py_func")}
            changed.append((around, compiled))
            functions += [value for value in around.values() if isinstance(value, FunctionType)]
            functions += [value.py_func for value in compiled.values()]
    for around, compiled in changed:
        around.update({name: value.py_func for name, value in compiled.items()})
    try:
        yield
    finally:
        for around, compiled in changed:
            around.update(compiled)


def _record(values: Any) -> Any:
    """Named fields as a record whose attributes can be read and written, as in compiled code."""
    return flatten(values).view(np.dtype((np.record, layout(values))))[0]


def _listed(values: Any) -> str:
    return ", ".join(values) or "(none)"


def told(error: BaseException, path: Path) -> str:
    """An exception in one line, with the line of the user's file that caused it."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == path]
    place = f" at {path.name}, line {lines[-1]}" if lines else ""
    if isinstance(error, TookTooLongError):
        return f"it did not finish within {patience.LONGEST:g} s, and was stopped{place}"
    return f"{type(error).__name__}: {error}{place}"
