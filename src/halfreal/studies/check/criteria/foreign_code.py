"""What is run besides halfreal's own code: which files, and whether compiled libraries and FMUs are fast enough.

Their functions are timed at rest, each tick by itself, by compiled code.  They begin anew three times, and of each tick
the shortest time counts: what this machine does besides is hardly in it, and a stall of the function's own is.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
from numba import float64, int64, intp, njit

from ....contracts.finding import Finding, note
from ....definition.user_code import files_run
from ....kernels.block import Block, flatten, layout
from ....kernels.clock import NANO, now
from ....kernels.compile import OPTIONS, identity
from ....kernels.disk_cache import keep
from ....kernels.native import compile_block
from ....kernels.tick import call_block
from ....runs.build import build
from ..examined import Examined

TICKS, PASSES = 1000, 3
FULL = 0.5
"""Share of the step that one block may take."""


def foreign_code(examined: Examined) -> Iterable[Finding]:
    files = files_run(examined.definition)
    if not files:
        return
    for name, digest in files.items():
        yield note(f"{name} is run in this test, SHA-256 {digest}")
    step = examined.definition.timing.step
    for block in build(examined.definition).blocks:
        if block.keeps is not None:
            yield judged(block, step)
        said = "" if block.said is None else block.said()
        if said:
            yield note(f"block '{block.name}' has logged: {said}")


def judged(block: Block, step: float) -> Finding:
    """How long the function of a library takes for one tick."""
    took = timed(block)
    median, slow, longest = (float(one) for one in (np.median(took), np.quantile(took, 0.99), took.max()))
    text = (
        f"block '{block.name}' takes {1e6 * median:.2g} µs a tick (median), {1e6 * slow:.2g} µs (99 %), "
        f"{1e6 * longest:.2g} µs (longest of {TICKS})"
    )
    if slow <= FULL * step and longest <= step:
        return note(text)
    if slow <= FULL * step:
        return Finding(
            "marginal",
            f"{text}: a tick in {TICKS} takes longer than the step of {1e3 * step:g} ms, and the loop would be late",
            value=longest,
            limit=step,
            unit="s",
            remedies=("have the function do without memory, files and locks while it runs, or take a longer step",),
        )
    return Finding(
        "no-go",
        f"{text}: more than {100 * FULL:.0f} % of the step of {1e3 * step:g} ms",
        value=slow,
        limit=FULL * step,
        unit="s",
        remedies=("take a longer step, or have the function do less in one tick",),
    )


def timed(block: Block) -> np.ndarray:
    """Times [s] of single ticks at rest."""
    sizes = len(block.inputs), len(block.outputs)
    address = compile_block(block.step, layout(block.parameters), layout(block.state), *sizes)
    p, u, y = flatten(block.parameters), np.zeros(max(sizes[0], 1)), np.zeros(max(sizes[1], 1))
    shortest = np.full(TICKS, np.iinfo(np.int64).max)
    for _ in range(PASSES):
        s, took = flatten(block.state), np.zeros(TICKS, dtype=np.int64)
        stopwatch()(address, p, s, u, y, took)
        shortest = np.minimum(shortest, took)
    return np.asarray(shortest / NANO)


def _measure(address, p, s, u, y, took):  # type: ignore[no-untyped-def]
    places = p.ctypes.data, s.ctypes.data, u.ctypes.data, y.ctypes.data
    for tick in range(took.size):
        began = now()
        call_block(address, places[0], places[1], 0.0, places[2], places[3])
        took[tick] = now() - began


@cache
def stopwatch() -> Any:
    """Calls a block again and again, from compiled code, and takes its times [ns]."""
    numbers = float64[::1]
    compiled = keep(njit(**OPTIONS)(_measure), identity(_measure))
    compiled.compile((intp, numbers, numbers, numbers, numbers, int64[::1]))
    return compiled
