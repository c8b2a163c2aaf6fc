"""Helpers for tests of the recorder: a header, rows, a producer in the place of the loop, and waiting."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from halfreal.kernels.control import ROWS, ROWS_READ
from halfreal.records import live_file
from halfreal.records.kept_file import KeptFile
from halfreal.records.ring import Ring
from halfreal.runs.run import Run, Signal

PATIENCE = 60.0
"""Seconds after which a condition that should come true is given up; no test takes that long."""


def names(channels: int) -> list[str]:
    return [f"channel {i}" for i in range(channels)]


def header(recorded: list[str], step: float = 1e-4) -> Run:
    return Run(
        title="recorded",
        kind="run",
        definition={"mass": 2.2},
        definition_text="mass = 2.2\n",
        step=step,
        time=np.zeros(0),
        signals={name: Signal("m", np.zeros(0)) for name in recorded},
        events=(),
        outcome="completed",
        reason="",
        seed=1,
        started="2026-11-15T12:00:00+00:00",
        verdict="GO",
        reasons=("stable",),
    )


def rows(count: int, channels: int, step: float = 1e-4, first: int = 0) -> np.ndarray:
    """Rows as a loop would write them: the time, then noise."""
    found = np.random.default_rng(1).normal(size=(count, 1 + channels))
    found[:, 0] = step * np.arange(first, first + count)
    return found


def create(path: Path, channels: int, **options: Any) -> KeptFile:
    return live_file.create(header(names(channels)), path, columns=names(channels), **options)


def put(ring: Ring, data: np.ndarray, upto: int, ahead: int | None = None) -> None:
    """Write rows of ``data`` up to number ``upto`` as the loop does, at most ``ahead`` before the recorder."""
    ahead = ring.capacity if ahead is None else ahead
    while (done := int(ring.words[ROWS])) < upto:
        wait_for(lambda: done - ring.words[ROWS_READ] < ahead)
        last = min(upto, int(ring.words[ROWS_READ]) + ahead)
        ring.rows[np.arange(done, last) % ring.capacity] = data[done:last]
        ring.words[ROWS] = last


def wait_for(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.002)


def holds(run: Run, data: np.ndarray) -> bool:
    """Whether the run's times and channels are the rows, to the bit."""
    return run.time.tobytes() == data[:, 0].tobytes() and all(
        signal.values.tobytes() == np.ascontiguousarray(data[:, 1 + i]).tobytes()
        for i, signal in enumerate(run.signals.values())
    )


def plain_lengths(path: Path, swmr: bool = False) -> set[int]:
    """Lengths of times and channels that a program with HDF5 alone sees."""
    with h5py.File(path, "r", swmr=swmr) as file:
        return {dataset.shape[0] for dataset in (file["time"], *file["channels"].values())}
