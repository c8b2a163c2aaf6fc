"""Functions compiled in processes of their own, in which Numba writes LLVM code without optimising it.

Numba optimises every helper by itself, twice, translates it, and does both again in all that calls it.  Here this is
done once (``objects.py``), and for any processor of this kind.  A worker reads lines that name functions
(``library.py``) and answers each with what is stored of it: its length, 8 bytes, and so many bytes.  A length of zero
stands before a message instead: this cannot be compiled.
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from importlib import import_module
from queue import SimpleQueue
from threading import Thread
from typing import Any, BinaryIO

from ..errors import HalfrealError
from .origin import OWN

PLAIN = {
    "NUMBA_OPT": "0",
    "NUMBA_CPU_NAME": "generic",
    "NUMBA_CPU_FEATURES": "",
    "NUMBA_DISABLE_INTEL_SVML": "1",
    "NUMBA_BOUNDSCHECK": "0",
}
"""How Numba is set up: for no particular processor."""
LENGTH = 8
MOST = 8
"""Processes at once."""
ENDED = "the process that compiles has ended"


class WorkerError(HalfrealError):
    """A function of halfreal's own that cannot be compiled."""


def compiled(
    functions: Sequence[str], on_failure: Callable[[str, Exception], None] | None = None
) -> Iterator[tuple[str, bytes]]:
    """Functions with what is stored of them, as they become ready; a failure is raised if no one is called with it."""
    if not functions:
        return
    count = min(len(functions), len(os.sched_getaffinity(0)), MOST)
    left, done = deque(functions), SimpleQueue[tuple[str, bytes | Exception]]()
    with ExitStack() as stack:
        # neighbours in the list have helpers in common: one process begins at one end, the next at the other
        for number in range(count):
            worker = stack.enter_context(_started())
            taking = left.popleft if number % 2 == 0 else left.pop
            stack.callback(left.clear)
            Thread(target=_drive, args=(worker, taking, done), daemon=True).start()
        for _ in range(len(functions)):
            function, found = done.get()
            if not isinstance(found, Exception):
                yield function, found
            elif on_failure is None:
                raise found
            else:
                on_failure(function, found)


def _drive(worker: Any, taking: Callable[[], str], done: SimpleQueue[tuple[str, bytes | Exception]]) -> None:
    """Have a process compile one function after another, until none is left."""
    with suppress(IndexError):
        while True:
            function = taking()
            try:
                done.put((function, _answer(worker, function)))
            except OSError:
                done.put((function, WorkerError(f"'{function}' cannot be compiled: {ENDED}")))
            except WorkerError as error:
                done.put((function, error))


PROGRAM = """
import sys
sys.path[:0] = [one for one in sys.argv[1:] if one not in sys.path]
from halfreal.kernels.worker import serve
serve()
"""
"""Of the process, which must have the package that is here."""


def _started() -> Any:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    return subprocess.Popen(
        [sys.executable, "-P", "-c", PROGRAM, str(OWN.parent)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**inherited, **PLAIN},
    )


def _answer(worker: Any, function: str) -> bytes:
    worker.stdin.write(f"{function}\n".encode())
    worker.stdin.flush()
    found = _read(worker.stdout)
    if not found:
        message = _read(worker.stdout).decode() or ENDED
        raise WorkerError(f"'{function}' cannot be compiled: {message}")
    return found


def _read(stream: BinaryIO) -> bytes:
    return stream.read(int.from_bytes(stream.read(LENGTH), "little"))


# --- in the worker ----------------------------------------------------------------------------------------------------


def stored(function: str) -> bytes:
    """What is stored of a function; compiles it."""
    from . import entry
    from .compiler import own_block
    from .library import packed, symbol_of
    from .objects import holds_addresses, simplified, translated
    from .sizes import from_text
    from .sources import sources_of

    home, *rest = function.split(" | ")
    module, _, name = home.partition(":")
    there = import_module(module)
    if len(rest) == 1:
        result = entry.of_text(function).compiled()
    else:
        step = getattr(there, name)
        result = own_block(getattr(step, "py_func", step), *map(from_text, rest))
    symbol = symbol_of(function)
    simple = simplified(result.library.get_llvm_str(), result.fndesc.llvm_func_name, symbol)
    if holds_addresses(simple):
        raise WorkerError("its code holds addresses of this process")
    code = bytes(simple.as_bitcode())
    return packed(function, symbol, sources_of(module, name), translated(code), code)


def serve() -> None:
    """Compile the functions that lines name, until there are no more lines."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.set_threshold(200_000, 20, 100)  # compiling makes many objects and little garbage
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed must not come between
    for line in sys.stdin:
        try:
            found = stored(line.rstrip("\n"))
            answers.write(len(found).to_bytes(LENGTH, "little") + found)
        except Exception as error:  # of any kind: the process that sent the line reports it
            message = f"{type(error).__name__}: {error}".encode()
            answers.write(bytes(LENGTH) + len(message).to_bytes(LENGTH, "little") + message)
        answers.flush()
