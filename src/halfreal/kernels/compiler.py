"""Blocks as Numba compiles them; loaded only where something has to be compiled."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numba import carray, njit, types
from numba.core.codegen import CPUCodeLibrary, JITCPUCodegen
from numba.core.compiler_lock import global_compiler_lock

from . import any_size
from .checked import calls, checking
from .compile import SHARED, STEP, WRAPPER, intrinsic
from .native import RULES, STATUS, is_own, refused
from .objects import Native
from .origin import users
from .pointers import as_pointer

BLOCK_ABI = types.int64(types.intp, types.intp, types.float64, types.intp, types.intp)


@intrinsic
def record_at(typingctx, address, layout):  # type: ignore[no-untyped-def]
    """The record that is at an integer address (``carray`` would be compiled again for every layout)."""
    record = layout.dtype
    return record(types.intp, layout), lambda context, builder, signature, args: builder.inttoptr(
        args[0], context.get_value_type(record)
    )


PRIVATE = (
    (CPUCodeLibrary, "_optimize_functions"),
    (CPUCodeLibrary, "_optimize_final_module"),
    (CPUCodeLibrary, "_finalize_final_module"),
    (JITCPUCodegen, "set_env"),
)
"""Of Numba; without one of them only time is lost."""


@contextmanager
def only_written() -> Iterator[None]:
    """While it lasts, Numba writes LLVM code, and neither optimises it nor loads it: ``objects.py`` does that once.

    Else each helper is optimised twice by itself, translated to machine code, and both again in everything that calls
    it: most of what compiling takes.  LLVM keeps the order of all floating-point operations either way.
    """
    if not all(hasattr(place, one) for place, one in PRIVATE):
        yield
        return
    # Numba compiles under this lock: no other thread may find its methods replaced, or replace them, too
    with global_compiler_lock:
        yield from _replaced()


def _replaced() -> Iterator[None]:
    usual = [getattr(place, one) for place, one in PRIVATE]

    def optimise_functions(library: Any, module: Any) -> None:
        module.data_layout = library._codegen._data_layout
        if library.name in SHARED:
            usual[0](library, module)

    def optimise(library: Any) -> None:
        if library.name in SHARED:
            usual[1](library)

    def finish(library: Any) -> None:
        if library.name in SHARED:
            usual[2](library)
        else:
            library._finalize_dynamic_globals()
            library._finalized = True

    def set_environment(codegen: Any, variable: str, environment: Any) -> None:
        """Code that is not loaded has none, and needs none: it never calls the interpreter."""
        if codegen._engine.is_symbol_defined(variable):
            usual[3](codegen, variable, environment)

    for (place, one), ours in zip(PRIVATE, (optimise_functions, optimise, finish, set_environment), strict=True):
        setattr(place, one, ours)
    try:
        yield
    finally:
        for (place, one), theirs in zip(PRIVATE, usual, strict=True):
            setattr(place, one, theirs)


def own_block(
    name: str, step: Callable[..., int], parameters: np.dtype, state: np.dtype, inputs: int, outputs: int
) -> Any:
    """The LLVM code of a block of halfreal's own."""
    call = _own_caller(step, parameters, state, inputs, outputs)
    return outermost(name, call, BLOCK_ABI)


def outermost(name: str, call: Callable[..., int], signature: Any) -> Any:
    """What Numba makes of a function that nothing else of its own calls."""
    call.__qualname__ = name
    with only_written():
        return result_of(njit(signature, **WRAPPER)(call))


def loaded(result: Any) -> int:
    """The address of a compiled function that Numba itself has to load."""
    symbol = result.fndesc.llvm_func_name
    if not result.library.get_pointer_to_function(symbol):
        result.library._optimize_final_module()
        result.library._finalize_final_module()
    return int(result.library.get_pointer_to_function(symbol))


def result_of(dispatcher: Any) -> Any:
    """What a function with one signature was compiled to."""
    (result,) = dispatcher.overloads.values()
    return result


def compiled_afresh(step: Callable[..., int], parameters: np.dtype, state: np.dtype, inputs: int, outputs: int) -> Any:
    """A block as Numba has just compiled it: with its LLVM code, which the disk does not keep."""
    if is_own(step):
        return own_block(step.__name__, step, parameters, state, inputs, outputs)
    return result_of(_checked(step, parameters, state, inputs, outputs))


def checked_block(step: Callable[..., int], parameters: np.dtype, state: np.dtype, inputs: int, outputs: int) -> Native:
    """A user's block: checked, and never kept on disk."""
    compiled = _checked(step, parameters, state, inputs, outputs)
    result = result_of(compiled)
    symbol = str(result.fndesc.llvm_func_name)
    code = bytes(result.library._get_module_for_linking().as_bitcode())
    return Native(symbol, int(result.library.get_pointer_to_function(symbol)), code, keeps=compiled)


def _own_caller(
    step: Callable[..., int], parameters: np.dtype, state: np.dtype, inputs: int, outputs: int
) -> Callable[..., int]:
    function = njit(**STEP)(step)
    if any_size.is_any_size(parameters):
        return any_size.caller(function, parameters, state)
    return _caller(function, parameters, state, inputs, outputs)


def _checked(step: Callable[..., int], parameters: np.dtype, state: np.dtype, inputs: int, outputs: int) -> Any:
    with checking() as checked:
        function = checked(step)
        try:
            compiled = njit(BLOCK_ABI, **WRAPPER)(_caller(function, parameters, state, inputs, outputs))
        finally:
            _check_status(step, function)
    result = result_of(compiled)
    strange = calls(result.library)
    if strange:
        foreign = [name for name in strange if not name.startswith("_Z")]  # as compiled Python is named
        what = f"needs the interpreter, or a library ({', '.join(foreign)})" if foreign else "calls itself"
        if any("Stdout" in name for name in foreign):
            what = "prints, which a tick cannot; store values in the state, or return a number as a fault"
        raise refused(step, f"{what}; {RULES}")
    return compiled


def _check_status(step: Callable[..., int], function: Any) -> None:
    for compiled in function.overloads.values():
        given = compiled.signature.return_type
        if not isinstance(given, types.Integer) or isinstance(given, types.Boolean):
            raise refused(step, f"returns {given}; {STATUS}")


def _caller(function: Any, parameters: np.dtype, state: np.dtype, inputs: int, outputs: int) -> Callable[..., int]:
    def call(p, s, t, u, y):  # type: ignore[no-untyped-def]
        return 1 + function(
            record_at(p, parameters),
            record_at(s, state),
            t,
            carray(as_pointer(u), inputs, np.float64),
            carray(as_pointer(y), outputs, np.float64),
        )

    return call


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
