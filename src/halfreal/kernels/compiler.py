"""Functions as Numba compiles them; loaded only where something has to be compiled."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit, types

from .checked import calls, checking
from .compile import STEP, WRAPPER
from .native import RULES, STATUS, refused
from .objects import Native
from .origin import users
from .record import BLOCK, caller
from .sizes import Ranks


def own_block(step: Callable[..., int], parameters: Ranks, state: Ranks) -> Any:
    """What Numba makes of a block of halfreal's own."""
    return outermost(caller(njit(**STEP)(step), parameters, state), BLOCK)


def outermost(call: Callable[..., int], signature: Any) -> Any:
    """What Numba makes of a function that nothing else of its own calls."""
    (result,) = njit(signature, **WRAPPER)(call).overloads.values()
    return result


def checked_block(step: Callable[..., int], parameters: Ranks, state: Ranks) -> Native:
    """A user's block: checked, and never kept on disk."""
    with checking() as checked:
        function = checked(step)
        try:
            result = outermost(caller(function, parameters, state), BLOCK)
        finally:
            _check_status(step, function)
    strange = calls(result.library)
    if strange:
        foreign = [name for name in strange if not name.startswith("_Z")]  # as compiled Python is named
        what = f"needs the interpreter, or a library ({', '.join(foreign)})" if foreign else "calls itself"
        if any("Stdout" in name for name in foreign):
            what = "prints, which a tick cannot; store values in the state, or return a number as a fault"
        raise refused(step, f"{what}; {RULES}")
    symbol = str(result.fndesc.llvm_func_name)
    return Native(symbol, int(result.library.get_pointer_to_function(symbol)), keeps=result)


def _check_status(step: Callable[..., int], function: Any) -> None:
    for compiled in function.overloads.values():
        given = compiled.signature.return_type
        if not isinstance(given, types.Integer) or isinstance(given, types.Boolean):
            raise refused(step, f"returns {given}; {STATUS}")


MEANT = (
    (r"opcode \(IMPORT_NAME\)", "it imports inside the function; move the import to the top of the file"),
    (r"opcode \((STORE|DELETE)_GLOBAL\)", "it changes a global variable; store it in the state s"),
    (r"'with \(context manager\)", "it uses 'with'; a tick reads and writes no files: do that at the top of the file"),
    (r"NRT required|_ol_array_allocate|numpy_take|empty_inferred", "it creates a new array, list or text; write entries"
     " of s and y one by one"),
    (r"exception_match|mark_try_block", "it uses try; test for invalid values instead"),
    (r"runaway recursion|recursion not supported", "it calls itself; write a loop"),
    (r"complex128", "it makes a float complex; use real numbers"),
)  # fmt: skip
"""What a message of Numba means in a user's function, for those that say it in Numba's own terms."""
PLACES = (r'File "(.*?)", line (\d+)', r"(?:at|from) (\S+\.py) \((\d+)\)")


def reason(error: Exception) -> str:
    """What Numba could not do, and in which line, out of its long message."""
    text = str(error)
    lines = [line.strip() for line in text.splitlines()]
    what = next((line for line in lines if line and not line.startswith("Failed in")), "no message")
    call = next((line.removeprefix(">>>") for line in lines if line.startswith(">>>")), "")
    meant = next((words for pattern, words in MEANT if re.search(pattern, text)), "")
    places = [place for pattern in PLACES for place in re.findall(pattern, text) if users(place[0])]
    line = f" ({Path(places[-1][0]).name}, line {places[-1][1]})" if places else ""
    return f"{meant}{line}" if meant else f"{what.rstrip('.:')}{call}{line}; {RULES}"
