"""What is run in addition to halfreal's own code: which files, and whether compiled libraries and FMUs are fast enough.

Their functions are timed at rest, each tick by itself, by compiled code.  They begin again three times, and of each
tick the shortest time counts: other work of this machine is hardly in it, and a stall of the function's own is.  Memory
that they take and do not give back is seen too, where the C library gives it.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Iterable

import numpy as np

from .... import units
from ....contracts.finding import Finding, note, warning
from ....definition.user_code import files_run
from ....kernels.block import Block, flatten
from ....kernels.clock import NANO, now
from ....kernels.entry import entry
from ....kernels.native import compiled_block
from ....kernels.tick import call_block
from ....runs.build import build
from ..examined import Examined

TICKS, PASSES = 1000, 3
FULL = 0.5
"""Share of the step that one block may take."""
LEAST = 16
"""Bytes in a tick that are reported: less than any piece of memory has, and more than what the call itself takes."""


def foreign_code(examined: Examined) -> Iterable[Finding]:
    files = files_run(examined.definition)
    if not files:
        return
    for name, digest in files.items():
        yield note(f"this test runs {name}, SHA-256 {digest}")
    slow = examined.definition.slow is not None  # its time is at rest meanwhile
    step = math.inf if slow else examined.definition.timing.step
    for block in build(examined.definition).blocks:
        if block.keeps is not None:
            yield from judged(block, step)
        said = "" if block.said is None else block.said()
        if said:
            yield note(f"block '{block.name}' logged: {said}")


def judged(block: Block, step: float) -> Iterable[Finding]:
    """How long the function of a library takes for one tick, and whether it keeps taking memory."""
    took, grown = timed(block)
    median, slow, longest = (float(one) for one in (np.median(took), np.quantile(took, 0.99), took.max()))
    told = [units.text(float(f"{one:.2g}"), "s") for one in (median, slow, longest)]
    text = f"block '{block.name}' takes {told[0]} per tick (median), {told[1]} (99 %), {told[2]} (maximum of {TICKS})"
    late = int(np.count_nonzero(took > step))
    if slow > FULL * step:
        yield Finding(
            "no-go",
            f"{text}: more than {100 * FULL:.0f} % of the step of {1e3 * step:g} ms",
            value=slow,
            limit=FULL * step,
            unit="s",
            remedies=("use a longer step, or reduce the work per tick in this function",),
        )
    elif late:
        yield Finding(
            "marginal",
            f"{text}: {late} of {TICKS} ticks take longer than the step of {1e3 * step:g} ms",
            value=longest,
            limit=step,
            unit="s",
            remedies=("avoid memory allocation, file access and locks in this function, or use a longer step",),
        )
    else:
        yield note(text)
    if grown > LEAST * TICKS:
        hour = grown / TICKS * 3600.0 / step
        yield warning(
            f"block '{block.name}' leaks {grown / TICKS:.0f} bytes of memory per tick, "
            f"{hour / 1e6:,.0f} MB per hour; memory allocation may delay a tick"
        )


def timed(block: Block) -> tuple[np.ndarray, int]:
    """Times [s] of single ticks at rest, and bytes by which the memory in use has grown in one pass."""
    compiled, p = compiled_block(block), flatten(block.parameters)
    u, y = np.zeros(max(len(block.inputs), 1)), np.zeros(max(len(block.outputs), 1))
    shortest, grown = np.full(TICKS, np.iinfo(np.int64).max), sys.maxsize
    for again in range(PASSES):
        if again and compiled(p, flatten(block.state), 0.0, u, y) != (0, 0):
            break  # it cannot be set back to its beginning
        s, took = flatten(block.state), np.zeros(TICKS, dtype=np.int64)
        before = memory_in_use()
        measure(compiled.address, p, s, u, y, compiled.sizes, took)
        grown = min(grown, memory_in_use() - before)
        shortest = np.minimum(shortest, took)
    return np.asarray(shortest / NANO), grown


class _Mallinfo(ctypes.Structure):
    """Of glibc: ten numbers, the eighth of which are bytes in use."""

    _fields_ = (("numbers", ctypes.c_size_t * 10),)


def memory_in_use() -> int:
    """Bytes that were requested and not given back; 0 where the C library does not report them."""
    try:
        ask = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        return 0
    ask.restype = _Mallinfo
    return int(ask().numbers[7])


@entry("i8", "f8[]", "f8[]", "f8[]", "f8[]", "i8[]", "i8[]")
def measure(address, p, s, u, y, sizes, took):  # type: ignore[no-untyped-def]
    """Call a block again and again, from compiled code, and take its times [ns]."""
    places = p.ctypes.data, s.ctypes.data, u.ctypes.data, y.ctypes.data, sizes.ctypes.data
    for tick in range(took.size):
        began = now()
        call_block(address, places[0], places[1], 0.0, places[2], places[3], places[4])
        took[tick] = now() - began
    return 0
