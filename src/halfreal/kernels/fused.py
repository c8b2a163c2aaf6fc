"""The rows of a loop as three functions, with its wiring built in: those of the controller, inner and outer ones.

The general loop (``tick.py``) copies inputs by a table and calls each block through an address; a block reads the
sizes of its fields from a table.  Here the LLVM code of a loop's blocks, which comes with them (``library.py``), is
linked with rows whose places in memory and tables of sizes are constants, and optimised as a whole, for the processor
at hand: blocks are inlined, their loops have known ends, and what one writes and the next reads need not go through
memory.  No floating-point operation is left out or put in another order, so that results are the same to the bit.  The
object is kept on disk, for each arrangement of blocks.

    int64 group(int64 first, double *vector, double *parameters, double t)

runs the rows of a group from ``first`` on, which is its first row, ``mover`` or its last, and returns what happened as
bits: ``LAST`` if the last row has a fault, ``SOME`` if any has.  Blocks of users are not fused: their code is never
kept, and their loops may not end.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from . import disk_cache
from .block import LARGEST_FAULT
from .compile import intrinsic, types
from .objects import Native, load, machine
from .sources import digest_of

FAULT_AT, RAISED = 1, 999
LAST, SOME = 1, 2
OWN_FILE = "kernels/fused.py"
GROUPS = ("controller", "inner", "outer")
INLINED = 10_000
"""Threshold of LLVM's inliner: blocks, and helpers that were too large before."""
SHORT_VECTORS = '"prefer-vector-width"="256"'
"""Of what is vectorised only here, loops over a few axes: values written one by one are not yet in the cache when a
vector of 512 bits reads them together, and the processor waits."""

word, real, byte, code = ir.IntType(64), ir.DoubleType(), ir.IntType(8), ir.IntType(32)
place = word.as_pointer()
memory = real.as_pointer()
GROUP = ir.FunctionType(word, [word, memory, memory, real])


@dataclass(frozen=True)
class Row:
    """A block in its place: its compiled code, and where it finds what it reads and writes."""

    native: Native
    sizes: tuple[int, ...]
    inputs: tuple[int, ...]
    """Entries of the vector."""
    parameters: int
    state: int
    outputs: int
    """Entries at which each begins."""

    @property
    def symbol(self) -> str:
        return self.native.symbol


@intrinsic
def call_group(typingctx, function, first, vector, parameters, t):  # type: ignore[no-untyped-def]
    """Call the function of a group that is at an address."""
    signature = types.int64(types.intp, types.int64, types.intp, types.intp, types.float64)

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        vector, parameters = (builder.inttoptr(one, memory) for one in args[2:4])
        return builder.call(builder.inttoptr(args[0], GROUP.as_pointer()), [args[1], vector, parameters, args[4]])

    return signature, codegen


@dataclass(frozen=True)
class Arrangement:
    """The rows of a loop in their groups; ``mover`` is a row of the controller from which on a tick may run."""

    rows: tuple[Row, ...]
    groups: tuple[int, ...]
    mover: int

    @cached_property
    def key(self) -> str:
        digest = hashlib.sha256(f"{digest_of(OWN_FILE)}:{machine()[1]}:{self.groups}:{self.mover}".encode())
        for row in self.rows:
            places = f"{row.inputs}:{row.parameters}:{row.state}:{row.outputs}"
            digest.update(f"{row.native.digest}:{row.sizes}:{places}\n".encode())
        return digest.hexdigest()[:40]


_loaded: dict[str, tuple[int, ...] | None] = {}


def fused(arrangement: Arrangement, *, make: bool) -> tuple[int, ...] | None:
    """Addresses of the three functions; made, if they are not kept, or None."""
    key = arrangement.key
    if key not in _loaded:
        content = disk_cache.kept(f"fused-{key}")
        if content is None and make:
            content = _emitted(arrangement)
            disk_cache.put(f"fused-{key}", content)
        if content is None:
            return None
        _loaded[key] = load(content, GROUPS)
    return _loaded[key]


# --- making them ------------------------------------------------------------------------------------------------------


def _emitted(arrangement: Arrangement) -> bytes:
    """The three functions as an object."""
    rows = arrangement.rows
    target, _ = machine()
    written = ir.Module("fused")
    written.triple = target.triple
    written.data_layout = str(target.target_data)
    first = 0
    for name, count in zip(GROUPS, arrangement.groups, strict=True):
        _group(written, name, rows, first, first + count, arrangement.mover)
        first += count
    module = llvm.parse_assembly(str(written))
    linked = set()
    for row in rows:
        if row.symbol not in linked:
            linked.add(row.symbol)
            module.link_in(llvm.parse_bitcode(row.native.code), preserve=True)
    for one in (*module.functions, *module.global_variables):
        if not one.is_declaration and one.name not in GROUPS:
            one.linkage = "internal"
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = True
    options.inlining_threshold = INLINED
    builder = llvm.create_pass_builder(target, options)
    builder.getModulePassManager().run(module, builder)
    return bytes(target.emit_object(module))


def _group(module: ir.Module, name: str, rows: Sequence[Row], first: int, end: int, mover: int) -> None:
    """Write a function that runs the rows from ``first`` to ``end``."""
    function = ir.Function(module, GROUP, name)
    set.add(function.attributes, SHORT_VECTORS)  # llvmlite's own takes attributes without a value only
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    start, vector, parameters, t = function.args
    vector.add_attribute("noalias")
    parameters.add_attribute("noalias")
    status, raised, happened = (builder.alloca(word) for _ in range(3))
    builder.store(word(0), happened)
    scratch = [builder.alloca(real, max(len(row.inputs), 1)) for row in rows[first:end]]
    blocks = [function.append_basic_block(f"row{number}") for number in range(first, end)]
    done = function.append_basic_block("done")
    if blocks:
        entries = builder.switch(start, blocks[0])
        for number in sorted({mover, end - 1} & set(range(first + 1, end))):
            entries.add_case(word(number), blocks[number - first])
    else:
        builder.branch(done)
    for number, row in enumerate(rows[first:end], start=first):
        builder.position_at_end(blocks[number - first])
        following = blocks[number - first + 1] if number + 1 < end else done
        _row(module, builder, row, number, number + 1 == end, scratch[number - first], following)(
            vector, parameters, t, status, raised, happened
        )
    builder.position_at_end(done)
    builder.ret(builder.load(happened))


def _table(module: ir.Module, sizes: tuple[int, ...], number: int) -> Any:
    """The sizes of a row's fields, as a constant."""
    table = ir.GlobalVariable(module, ir.ArrayType(word, len(sizes)), f"sizes{number}")
    table.initializer = ir.Constant(table.value_type, list(sizes))
    table.global_constant, table.linkage = True, "internal"
    return table


def _row(
    module: ir.Module, builder: ir.IRBuilder, row: Row, number: int, last: bool, scratch: Any, following: Any
) -> Any:
    """Write a row: copy its inputs, call its block, note its fault; then continue to the following one."""

    def entry_of(base: Any, entry: int) -> Any:
        return builder.gep(base, [word(entry)])

    def at(base: Any, entry: int) -> Any:
        return builder.ptrtoint(entry_of(base, entry), word)

    def write(vector: Any, parameters: Any, t: Any, status: Any, raised: Any, happened: Any) -> None:
        for i, entry in enumerate(row.inputs):
            builder.store(builder.load(entry_of(vector, entry)), builder.gep(scratch, [word(i)]))
        called = module.globals.get(row.symbol) or ir.Function(
            module, ir.FunctionType(code, [place, place, word, word, real, word, word, word]), row.symbol
        )
        arguments = (
            at(parameters, row.parameters),
            at(vector, row.state),
            t,
            builder.ptrtoint(scratch, word),
            at(vector, row.outputs),
            builder.ptrtoint(_table(module, row.sizes, number), word),
        )
        ended = builder.call(called, [status, raised, *arguments])
        well = builder.icmp_signed("==", ended, code(0))
        given = builder.select(well, builder.load(status), word(0))
        bad = builder.append_basic_block(f"bad{number}")
        builder.cbranch(builder.icmp_signed("==", given, word(1)), following, bad)
        builder.position_at_end(bad)
        known = builder.and_(
            builder.icmp_signed(">", given, word(0)), builder.icmp_signed("<=", given, word(1 + LARGEST_FAULT))
        )
        fault = builder.sitofp(builder.select(known, builder.sub(given, word(1)), word(RAISED)), real)
        fault = builder.fadd(fault, real(1000.0 * (number + 1)))
        held = builder.load(entry_of(vector, FAULT_AT))
        free = builder.fcmp_ordered("==", held, real(0.0))  # the first fault stays until the operator clears it
        builder.store(builder.select(free, fault, held), entry_of(vector, FAULT_AT))
        builder.store(builder.or_(builder.load(happened), word(SOME | (LAST if last else 0))), happened)
        builder.branch(following)

    return write
