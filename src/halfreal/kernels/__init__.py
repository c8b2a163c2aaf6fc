"""Compiled blocks and the loop that drives them: floats and arrays only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .atomic import load_word as load_word
    from .atomic import store_word as store_word
    from .block import UNUSED as UNUSED
    from .block import Block as Block
    from .block import Channel as Channel
    from .block import channels as channels
    from .block import names as names
    from .clock import now as now
    from .compile import kernel as kernel
    from .linear import copy_to as copy_to
    from .linear import dot as dot
    from .linear import multiply_add as multiply_add
    from .linear import multiply_subtract as multiply_subtract
    from .linear import set_to as set_to
    from .linear import stored as stored
    from .loop import Loop as Loop
    from .memory import WiringError as WiringError
    from .modes import TRIPPED as TRIPPED
    from .native import CompilationError as CompilationError
    from .prepared import RanAwayError as RanAwayError
    from .random import normal as normal
    from .tick import STOPPED as STOPPED
    from .user import UserFunctionError as UserFunctionError
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "atomic": "load_word store_word",
            "block": "UNUSED Block Channel channels names",
            "clock": "now",
            "compile": "kernel",
            "linear": "copy_to dot multiply_add multiply_subtract set_to stored",
            "loop": "Loop",
            "memory": "WiringError",
            "modes": "TRIPPED",
            "native": "CompilationError",
            "prepared": "RanAwayError",
            "random": "normal",
            "tick": "STOPPED",
            "user": "UserFunctionError",
        },
    )
