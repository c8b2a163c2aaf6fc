"""Counts what compiled loops allocate.

A loop is run for 10 and for 110 ticks: what a run itself needs is the same for both, so that any difference is an
allocation in a tick.  Numba counts only where it is asked to, as it is here for as long as this takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from numba.core.registry import cpu_target
from numba.core.runtime import _nrt_python, rtsys

from halfreal.kernels.loop import Loop


def per_tick(loops: Mapping[str, Loop]) -> dict[str, float]:
    """Allocations per tick of each loop."""
    found = {}
    with _counting():
        for name, loop in loops.items():
            loop.run(10)  # what is done once, such as compiling
            counts = []
            for ticks in (10, 110):
                before = _allocations()
                loop.run(ticks)
                counts.append(_allocations() - before)
            found[name] = (counts[1] - counts[0]) / 100
    return found


def _allocations() -> int:
    return int(rtsys.get_allocation_stats().alloc)


@contextmanager
def _counting() -> Iterator[None]:
    rtsys.initialize(cpu_target.target_context)
    _nrt_python.memsys_enable_stats()
    try:
        before, _one = _allocations(), rtsys.meminfo_alloc(8)
        assert _allocations() == before + 1, "nothing is counted"
        yield
    finally:
        _nrt_python.memsys_disable_stats()
