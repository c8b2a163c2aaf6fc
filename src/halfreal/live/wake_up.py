"""How late a loop of a given step is woken on this computer: the clock of a run, with its rights, and no other work."""

from __future__ import annotations

import resource
import threading
from dataclasses import dataclass

import numpy as np

from ..kernels.loop import Loop
from ..links.pace import pace, percentiles
from .privileges import lock_memory, prioritise, unlock_memory

SHARES = (0.5, 0.99, 0.999)
LATE = 0.1
"""Of a step, below which 99.9 % of the ticks should be woken."""


@dataclass(frozen=True)
class WakeUp:
    """Lateness of a loop's ticks [s], and what the system did to its thread meanwhile."""

    step: float
    ticks: int
    lateness: tuple[float, float, float]
    """Below which half, 99 % and 99.9 % of the ticks lie."""
    latest: float
    overruns: int
    page_faults: int
    switched_away: int
    """Times that the thread was made to give way to another."""
    rights: dict[str, str]

    @property
    def fits(self) -> bool:
        """Whether a test of this step can be run here, as far as waking goes."""
        return self.overruns == 0 and self.lateness[2] <= LATE * self.step


def measure(step: float, spin: float, seconds: float, priority: int, cpu: int | None) -> WakeUp:
    """Run the clock of a test for some seconds, in a thread with a test's rights."""
    found: list[WakeUp] = []
    loop = Loop([pace(step, spin, "hold", waits=True)], dt=step)
    ticks = max(round(seconds / step), 1)

    def work() -> None:
        rights = {"realtime memory": lock_memory(), **prioritise(priority, cpu)}
        loop.run(10)  # touches what it will use
        state = loop.state("pace")
        for name in ("lateness_max", "lateness_histogram"):
            state[name] = 0.0
        overruns = float(loop.vector[loop.index["pace.overruns"]])
        before = resource.getrusage(resource.RUSAGE_THREAD)
        loop.run(ticks)
        after = resource.getrusage(resource.RUSAGE_THREAD)
        shares = percentiles(np.array(state["lateness_histogram"]), SHARES)
        found.append(
            WakeUp(
                step=step,
                ticks=ticks,
                lateness=(float(shares[0]), float(shares[1]), float(shares[2])),
                latest=1e-9 * float(state["lateness_max"]),
                overruns=round(float(loop.vector[loop.index["pace.overruns"]]) - overruns),
                page_faults=after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt,
                switched_away=after.ru_nivcsw - before.ru_nivcsw,
                rights=rights,
            )
        )

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    unlock_memory()
    return found[0]
