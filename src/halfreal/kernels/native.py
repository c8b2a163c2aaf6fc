"""From a block's function to an address the loop can call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import HalfrealError
from . import library
from .block import LARGEST_FAULT, UNUSED, Block
from .closed_over import closed_over
from .objects import Native
from .origin import halfreals
from .sizes import Ranks, as_text, ranks, size_table

if TYPE_CHECKING:
    from .entry import Entry

NATIVE = ctypes.CFUNCTYPE(
    ctypes.c_int32, *[ctypes.c_void_p] * 4, ctypes.c_double, *[ctypes.c_void_p] * 3
)  # Numba's calling convention: places for the value and for what was raised, then p, s, t, u, y and the sizes
RULES = "use plain arithmetic, loops and the math module on floats and float arrays, and allocate nothing"
STATUS = f"return 0 for success, or an integer from 1 to {LARGEST_FAULT} as a fault"


class CompilationError(HalfrealError):
    """A block's function that cannot be compiled."""


def is_own(step: Callable[..., int]) -> bool:
    """Whether a block's function is halfreal's own; any other is the user's."""
    return halfreals(step.__code__.co_filename) and step.__closure__ is None


@dataclass(frozen=True)
class Compiled:
    """A block's compiled function, with the sizes of its fields."""

    native: Native
    sizes: np.ndarray

    @property
    def address(self) -> int:
        return self.native.address

    def __call__(self, p: np.ndarray, s: np.ndarray, t: float, u: np.ndarray, y: np.ndarray) -> tuple[int, int]:
        """Call it once, from Python: how the call ended (0 if well) and the block's status."""
        status, raised = ctypes.c_int64(), ctypes.c_void_p()
        places = (one.ctypes.data for one in (p, s))
        others = (one.ctypes.data for one in (u, y, self.sizes))
        ended = NATIVE(self.address)(ctypes.byref(status), ctypes.byref(raised), *places, t, *others)
        return int(ended), int(status.value) - 1


def compiled_block(block: Block) -> Compiled:
    """A block's function, read from the disk or compiled now, with the sizes of its fields.

    It is kept for the life of the process: addresses handed to a loop stay valid.
    """
    return Compiled(_native(block), size_table(block))


def _native(block: Block) -> Native:
    if is_own(block.step):
        return library.native(_text(block))
    return _of_user(block.step, ranks(block.parameters), ranks(block.state))


def _text(block: Block) -> str:
    """By which a block of halfreal's own is known (``library.py``)."""
    step = block.step
    return " | ".join(
        (f"{step.__module__}:{step.__qualname__}", as_text(ranks(block.parameters)), as_text(ranks(block.state)))
    )


def compile_together(blocks: Iterable[Block], also: Iterable[Entry]) -> None:
    """Compile what is not on disk yet in several processes."""
    library.ready([*(one.text for one in also), *(_text(one) for one in blocks if is_own(one.step))])


_users: dict[Any, Native] = {}


def _of_user(step: Callable[..., int], parameters: Ranks, state: Ranks) -> Native:
    key = closed_over(step), parameters, state
    if key not in _users:
        compiler: Any = import_module(f"{__package__}.compiler")
        try:
            _users[key] = compiler.checked_block(step, parameters, state)
        except CompilationError:
            raise
        except KeyError as error:  # so Numba says that there is no such field
            there = f"the parameters are {_names(parameters)}, the state is {_names(state)}"
            raise refused(
                step, f"cannot be compiled: it uses a field {error} that it does not have; {there}"
            ) from error
        except Exception as error:  # Numba has its own for what it foresees, and asserts the rest
            raise refused(step, f"cannot be compiled: {compiler.reason(error)}") from error
    return _users[key]


def _names(fields: Ranks) -> str:
    return ", ".join(name for name, _ in fields if name != UNUSED) or "empty"


def refused(step: Callable[..., int], why: str) -> CompilationError:
    return CompilationError(f"{place_of(step)} {why}")


def place_of(step: Callable[..., int]) -> str:
    """A block's function for people: its name, its file and the line where it begins."""
    code = step.__code__
    return f"'{step.__name__}' ({Path(code.co_filename).name}, line {code.co_firstlineno})"
