"""Long runs watched from outside: memory of each process, and whether the rig's clock drifts."""

from __future__ import annotations

import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from live.processes import Process


def own_memory(pid: int) -> float:
    """Memory that a process uses, without the files that it maps [MB].

    Pages of libraries are left out: whether they count as private depends on which other programs run at the moment,
    and a controller that has locked its memory maps all of them.
    """
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("RssAnon:", "RssShmem:"))) / 1024.0


def family(pid: int) -> dict[str, int]:
    """The controller and its recorder."""
    found = {"controller": pid}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                found["recorder"] = int(stat.parent.name)
        except OSError:  # it has just ended
            continue
    return found


def watched(run: Process, rig: Process, every: float = 1.0) -> dict[str, list[float]]:
    """Memory of each process, taken ``every`` so many seconds from when the test has begun until its recorder ends."""
    while "armed" not in rig.said and run.process.poll() is None:  # the check before a long test takes its time too
        time.sleep(every)
    memory: dict[str, list[float]] = defaultdict(list)
    while run.process.poll() is None:
        processes = {**family(run.pid), "rig": rig.pid}
        if memory["recorder"] and "recorder" not in processes:
            break
        for name, pid in processes.items():
            try:
                memory[name].append(own_memory(pid))
            except OSError:  # it has just ended
                continue
        time.sleep(every)
    return memory


def growth(memory: list[float]) -> float:
    """By how much memory was larger at the end of the counted part than at its beginning [MB]; medians of a tenth."""
    values = np.array(memory)[len(memory) // 3 : -2]
    tenth = max(values.size // 10, 1)
    return float(np.median(values[-tenth:]) - np.median(values[:tenth])) if values.size else np.nan


def drift(clock: np.ndarray, step: float) -> float:
    """By which part of a step the grid of the rig's ticks moves from the first tenth to the last.

    Most ticks are right after a point of the grid: its place is the earliest phase among them.  Ticks that are late by
    half a step and more, as on a computer that is held up, seem early: only those near where most are count.
    """
    phase = np.mod(clock / step, 1.0)
    tenth = max(phase.size // 10, 1)
    near = np.mod(phase - np.median(phase[:tenth]) + 0.5, 1.0) - 0.5
    return _place(near[-tenth:]) - _place(near[:tenth])


def _place(phase: np.ndarray) -> float:
    ordered, half = np.sort(phase), (phase.size + 1) // 2
    widths = ordered[half - 1 :] - ordered[: phase.size - half + 1]
    first = int(np.argmin(widths))  # of the shortest interval that holds half of them
    most = np.abs(ordered - ordered[first] - 0.5 * widths[first]) <= 2.0 * widths[first]
    return float(np.quantile(ordered[most], 0.01))
