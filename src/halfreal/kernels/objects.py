"""LLVM code of compiled functions: its passes, its translation to objects of machine code, and how these are loaded.

What Numba writes of a function is *simplified* first: inlined and cleaned up, but neither vectorised nor unrolled.
This is the code that is kept, for any processor of its kind, and what loops are fused of (``fused.py``): LLVM takes
minutes for code that is vectorised twice.  It is then vectorised and translated for the least processor of this kind,
so that compiled functions are the same everywhere; no operation is contracted or put in another order.

An object may need functions from outside, such as those of libm.  LLVM ends the process where one is missing, so each
is looked up before the object is loaded.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from struct import unpack_from
from typing import Any

import llvmlite
import llvmlite.binding as llvm

ADDRESSES = "numba.dynamic.globals"
"""How Numba names places that hold addresses of this process."""
SYMBOL_TABLE, UNDEFINED = 2, 0
"""Of ELF: the kind of section that holds symbols, and the section of those that come from outside."""
LEAST = {"x86_64": "x86-64", "amd64": "x86-64"}
"""The least processor of a kind, as LLVM names it."""
INLINED = 300
"""Instructions of a simplified helper up to which it becomes part of what calls it, wherever that is."""
ARCHITECTURE = platform.machine().lower()


@dataclass(frozen=True)
class Native:
    """A compiled function in Numba's calling convention: places for its value and for what was raised, arguments."""

    symbol: str
    address: int
    code: bytes = b""
    """LLVM code, and the object; empty if Numba itself has loaded it."""
    content: bytes = b""
    digest: str = ""
    """Hash of code and object."""
    keeps: Any = field(default=None, compare=False, repr=False)
    """What must live as long as the address is used."""


def simplified(code: bytes | str, symbol: str, name: str) -> Any:
    """A module of what Numba has written of a function, which gets a name; nothing else is seen from outside."""
    module = llvm.parse_assembly(code) if isinstance(code, str) else llvm.parse_bitcode(code)
    for one in (*module.functions, *module.global_variables):
        if not one.is_declaration:
            one.linkage = "external" if one.name == symbol else "internal"
    module.get_function(symbol).name = name
    run_passes(module, any_processor(), 3)
    for one in module.functions:
        if not one.is_declaration and one.name != name and _instructions(one) <= INLINED:
            one.add_function_attribute("alwaysinline")
    run_passes(module, any_processor(), 3)
    return module


def _instructions(function: Any) -> int:
    return sum(1 for block in function.blocks for _ in block.instructions)


def translated(code: bytes) -> bytes:
    """The object of simplified code, for any processor."""
    module, target = llvm.parse_bitcode(code), any_processor()
    run_passes(module, target, 3, vectorise=True)
    return bytes(target.emit_object(module))


def run_passes(module: Any, target: Any, level: int, *, vectorise: bool = False) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization, options.slp_vectorization = vectorise, False
    options.loop_unrolling = options.loop_interleaving = False
    builder = llvm.create_pass_builder(target, options)
    passes = builder.getModulePassManager()
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


def _start() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@cache
def any_processor() -> Any:
    """The least processor of this kind, as LLVM knows it."""
    _start()
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=LEAST.get(ARCHITECTURE, "generic"), features="", opt=3, reloc="pic", codemodel="default"
    )


@cache
def machine() -> tuple[Any, str]:
    """This processor as LLVM knows it, and a text that identifies it."""
    _start()
    with suppress(RuntimeError):  # where LLVM looks for sin and its like
        llvm.load_library_permanently("libm.so.6")  # loaded by ctypes, pow and exp would not be found in every Python
    name, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=name, features=features, opt=3, reloc="pic", codemodel="default"
    )
    return target, f"{name}:{features}:{llvmlite.__version__}"
