"""Counts what compiled loops allocate.

Numba counts its allocations only if ``NUMBA_NRT_STATS=1`` stands in the environment before it is imported, hence the
process of its own.  A loop is run for 10 and for 110 ticks: what a run itself needs is the same for both, so that any
difference is an allocation in a tick.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path


def per_tick(factory: str) -> dict[str, float]:
    """Allocations per tick of each loop that ``factory`` gives.

    ``"models.loops:every_scheme"`` names a function without arguments, in a module under ``tests``, that returns loops
    by name.
    """
    environment = {**os.environ, "NUMBA_NRT_STATS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, str(Path(__file__)), factory], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return {name: float(count) for name, count in json.loads(done.stdout).items()}


def _measure(factory: str) -> dict[str, float]:
    from numba.core.runtime import rtsys

    module, _, function = factory.partition(":")
    found = {}
    for name, loop in getattr(importlib.import_module(module), function)().items():
        loop.run(10)  # what is done once, such as compiling
        counts = []
        for ticks in (10, 110):
            before = rtsys.get_allocation_stats().alloc
            loop.run(ticks)
            counts.append(rtsys.get_allocation_stats().alloc - before)
        found[name] = (counts[1] - counts[0]) / 100
    return found


if __name__ == "__main__":
    print(json.dumps(_measure(sys.argv[1])))
