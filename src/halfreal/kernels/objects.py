"""Compiled functions as objects of machine code, kept on disk and loaded by LLVM alone.

To load Numba and to have it ready takes longer than most short commands do, and it is needed only where something has
to be compiled.  What it makes of a function is therefore kept as an object, with its LLVM code for ``fused.py``::

    symbol | newline | length of the object, 8 bytes | object (ELF) | LLVM code

Numba writes LLVM code without optimising it.  Optimising and translating it for the processor at hand is done here, so
that code which comes with halfreal (``shipped.py``) and code that Numba has just written become the same object.  Code
of functions that Python calls is simplified first, which is the same for every processor, and comes so with halfreal.

An object may need functions from outside, such as those of libm.  LLVM ends the process where one is missing, so each
is looked up before the object is loaded; if one is not found, Numba compiles the function again and loads it itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from struct import pack, unpack_from
from typing import Any

import llvmlite.binding as llvm

from . import disk_cache, shipped

ADDRESSES = "numba.dynamic.globals"
"""How Numba names places that hold addresses of this process."""
SYMBOL_TABLE, UNDEFINED = 2, 0
"""Of ELF: the kind of section that holds symbols, and the section of those that come from outside."""


@dataclass(frozen=True)
class Native:
    """A compiled function in Numba's calling convention: places for its value and for what was raised, arguments."""

    symbol: str
    address: int
    code: bytes = b""
    """LLVM code, empty if it is not kept."""
    keeps: Any = field(default=None, compare=False, repr=False)
    """What must live as long as the address is used."""


def native(name: str, key: str, compiled: Callable[[], Any], *, simplify: bool = False) -> Native:
    """A function by its name and a text that identifies all that it depends on; ``compiled`` by Numba if need be.

    ``simplify``: its code is simplified before it is shipped or optimised.  Not that of blocks: loops that were fused
    of simplified blocks took a tenth longer.
    """
    entry = _entry(name, key)
    kept = disk_cache.kept(entry)
    if kept is not None:
        symbol, content, code = _parts(kept)
        found = load(content, (symbol,))
        if found is not None:
            return Native(symbol, found[0], code)
    result, written, given = None, b"", shipped.read(name, key)
    if given is None:
        result = compiled()
        written = bytes(result.library._get_module_for_linking().as_bitcode())
        symbol = str(result.fndesc.llvm_func_name)
        given = symbol, simplified(written, symbol) if simplify else written
    symbol, simple = given
    module = optimised_again(simple) if simplify else optimised(simple, symbol)
    found, content = None, b""
    if not holds_addresses(module):
        content = bytes(machine()[0].emit_object(module))
        found = load(content, (symbol,))
    code = bytes(module.as_bitcode())
    if found is None:  # it holds addresses of this process, or needs what only Numba has
        result = result or compiled()
        return Native(symbol, import_module(f"{__package__}.compiler").loaded(result), code, result)
    disk_cache.put(entry, symbol.encode() + b"\n" + pack("<Q", len(content)) + content + code)
    if result is not None:
        shipped.keep(name, key, symbol, simple)
    return Native(symbol, found[0], code)


def needs_numba(name: str, key: str) -> bool:
    """Whether a function that is missing has to be compiled by Numba: its LLVM code does not come with halfreal."""
    return not shipped.has(name, key)


def is_missing(name: str, key: str) -> bool:
    """Whether a function would have to be compiled, and could be kept."""
    there = disk_cache.folder()
    return there is not None and not (there / _entry(name, key)).exists()


def _entry(name: str, key: str) -> str:
    return f"{name[:40]}-{hashlib.sha256(f'{machine()[1]}:{key}'.encode()).hexdigest()[:40]}"


def _parts(kept: bytes) -> tuple[str, bytes, bytes]:
    symbol, _, rest = kept.partition(b"\n")
    (length,) = unpack_from("<Q", rest)
    return symbol.decode(), rest[8 : 8 + length], rest[8 + length :]


def simplified(code: bytes, symbol: str) -> bytes:
    """LLVM code in which one function is seen from outside, inlined and without what that does not need.

    It is the same for every processor of its kind: nothing is vectorised or unrolled yet.
    """
    module = _with_one_function(code, symbol)
    _run_passes(module, any_processor(), 1)
    return bytes(module.as_bitcode())


def optimised_again(code: bytes) -> Any:
    """A module of simplified code, optimised for the processor at hand.

    Loops are vectorised and not unrolled: that would take half as long again, for the same speed.
    """
    module = llvm.parse_bitcode(code)
    _run_passes(module, machine()[0], 3, vectorise=True)
    return module


def optimised(code: bytes, symbol: str, target: Any = None) -> Any:
    """A module of LLVM code in which one function is seen from outside, optimised, without what that does not need.

    The passes are those of Numba: cheap ones that inline, and help the vectoriser, then all.
    """
    module = _with_one_function(code, symbol)
    for level in (0, 3):
        _run_passes(module, target or machine()[0], level, vectorise=level > 0, unroll=True, interleave=True)
    return module


def _with_one_function(code: bytes, symbol: str) -> Any:
    """A module in which nothing else is seen from outside."""
    module = llvm.parse_bitcode(code)
    for one in (*module.functions, *module.global_variables):
        if not one.is_declaration:
            one.linkage = "external" if one.name == symbol else "internal"
    return module


def _run_passes(
    module: Any, target: Any, level: int, *, vectorise: bool = False, unroll: bool = False, interleave: bool = False
) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization, options.slp_vectorization = vectorise, False
    options.loop_unrolling, options.loop_interleaving = unroll, interleave
    builder = llvm.create_pass_builder(target, options)
    passes = builder.getModulePassManager()
    if level == 0:
        passes.add_loop_rotate_pass()
        passes.add_instruction_combine_pass()
        passes.add_jump_threading_pass()
    passes.add_refprune_pass()  # counts of references, to what no one else holds
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, builder)


def holds_addresses(module: Any) -> bool:
    """Whether optimised code holds addresses of this process."""
    return any(one.name.startswith(ADDRESSES) for one in module.global_variables)


_engines: list[Any] = []
"""Kept alive, for the addresses that they gave."""


def load(content: bytes, symbols: Sequence[str]) -> tuple[int, ...] | None:
    """Addresses of an object's functions; None if something that it needs is not there."""
    target, _ = machine()
    if any(llvm.address_of_symbol(name) is None for name in needed(content)):
        return None
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
    engine.add_object_file(llvm.ObjectFileRef.from_data(content))
    engine.finalize_object()
    _engines.append(engine)
    return tuple(int(engine.get_function_address(name)) for name in symbols)


def needed(content: bytes) -> list[str]:
    """Names that an object (ELF of 64 bits, little-endian) needs from outside."""
    (at,), (size, count) = unpack_from("<Q", content, 0x28), unpack_from("<HH", content, 0x3A)
    sections = [unpack_from("<IIQQQQIIQQ", content, at + size * number) for number in range(count)]
    found = []
    for _, kind, _, _, begin, length, names, *_ in sections:
        if kind == SYMBOL_TABLE:
            for place in range(begin, begin + length, 24):
                name, _, _, section = unpack_from("<IBBH", content, place)
                if name and section == UNDEFINED:
                    start = sections[names][4] + name
                    found.append(content[start : content.index(b"\0", start)].decode())
    return found


@cache
def any_processor() -> Any:
    """A processor that has only what every one of its kind has."""
    machine()  # makes LLVM ready
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(opt=3, reloc="pic")


@cache
def machine() -> tuple[Any, str]:
    """This processor as LLVM knows it, and a text that identifies it and how Numba is set up."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    for library in ("libm.so.6", "libsvml.so"):  # where LLVM looks for sin and its like; the second one is Intel's
        with suppress(RuntimeError):  # loaded by ctypes, pow and exp would not be found in every Python
            llvm.load_library_permanently(library)
    name, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=name, features=features, opt=3, reloc="pic", codemodel="default"
    )
    return target, f"{name}:{features}:{disk_cache.versions()}:{disk_cache.settings()}"
