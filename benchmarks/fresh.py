"""Calls in processes of their own: what one leaves behind does not delay the next, and one that dies harms no other."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, TypeVar

T = TypeVar("T")
LONGEST = 1200.0
"""Seconds that a call may take, the long run aside."""
ENDING = 30.0
"""Seconds that a process may take to end after it has answered."""


class CallError(Exception):
    """A call that failed in its process, died with it, or did not end."""


def in_new_process(call: Callable[..., T], *arguments: Any, longest: float = LONGEST) -> T:
    """What a call gives in a new process; ``CallError`` if it gives nothing within ``longest`` seconds."""
    new = get_context("spawn")
    here, there = new.Pipe(duplex=False)
    process = new.Process(target=_answer, args=(there, call, arguments))
    process.start()
    there.close()
    try:
        if not here.poll(longest):
            raise CallError(f"not done after {longest:g} s")
        well, answer = here.recv()
        process.join(ENDING)
    except EOFError:
        process.join()
        raise CallError(f"its process ended with code {process.exitcode}") from None
    finally:
        process.kill()
        process.join()
    if not well:
        raise CallError(answer)
    return answer  # type: ignore[no-any-return]


def _answer(there: Connection, call: Callable[..., object], arguments: tuple[Any, ...]) -> None:
    try:
        there.send((True, call(*arguments)))
    except BaseException:
        there.send((False, traceback.format_exc()))
