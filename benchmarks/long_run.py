"""Minutes in real time with every channel recorded, beside a thread that keeps the interpreter and its memory busy.

BENCH_MINUTES is their number, 10 if it is not set; 0 leaves this part out.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from pathlib import Path

import h5py
import numpy as np
from busy import busy_interpreter
from latency import Lateness, Ours, at_rate, locked
from report import Row

from halfreal.definition.definition import Definition
from halfreal.definition.load import to_toml
from halfreal.kernels.control import ENDED, ROWS, ROWS_DROPPED, ROWS_READ
from halfreal.records import live_file, recorder
from halfreal.records.kept_file import KeptFile
from halfreal.records.ring import Ring
from halfreal.records.run_file import escaped
from halfreal.runs.run import Run, Signal

RATE = 5e3
RING_SECONDS = 6.0
"""As ``halfreal run`` has it."""
SHOWN = 10
"""How often progress is told."""


def minutes() -> float:
    return float(os.environ.get("BENCH_MINUTES", "10"))


def create_file(definition: Definition, ours: Ours, path: Path) -> None:
    """The run file that the recorder is to fill, with every channel."""
    header = Run(
        title=definition.title,
        kind="run",
        definition=definition.model_dump(mode="json"),
        definition_text=to_toml(definition),
        step=definition.timing.step,
        time=np.zeros(0),
        signals={channel.name: Signal(channel.unit, np.zeros(0)) for channel in ours.loop.channels},
        events=(),
        outcome="failed",
        reason="",
        seed=definition.timing.seed,
        started="",
    )
    live_file.create(header, path, columns=ours.names, watched=ours.loop.watched)


def show_progress(ring: Ring, ticks: int, ended: threading.Event) -> None:
    told = 0
    while not ended.wait(0.5):
        done = int(ring.words[ROWS]) / ticks
        if int(SHOWN * done) > told:
            told = int(SHOWN * done)
            print(f"  {100 * done:.0f} %", flush=True)


def recorded(definition: Definition, ticks: int, folder: Path) -> tuple[Lateness, str]:
    """Lateness of every tick as it stands in the file, and what became of the rows."""
    ours, path = Ours(definition), folder / "long.h5"
    short = recorder.room_for(path, 8.0 * (1 + len(ours.names)) * ticks)
    if short:
        raise RuntimeError(
            f"{short}; or let TMPDIR be a folder on another disk, or BENCH_MINUTES fewer than {minutes():g}"
        )
    create_file(definition, ours, path)
    ring = Ring.create(round(RING_SECONDS * RATE), len(ours.names))
    ended = threading.Event()
    watcher = threading.Thread(target=show_progress, args=(ring, ticks, ended))
    process = recorder.start(ring, KeptFile.open(path))
    try:
        recorder.wait_until_ready(process, ring)
        watcher.start()
        with locked():
            ours.drive(ticks, ring)
    finally:
        ring.words[ENDED] = 1
        ended.set()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(60.0)
        if watcher.is_alive():
            watcher.join()
    rows, read, dropped = (int(ring.words[word]) for word in (ROWS, ROWS_READ, ROWS_DROPPED))
    ring.close()
    with h5py.File(path, "r") as file:
        at = file["time"][:read]
        late, overruns = (file["channels"][escaped(name)][1:read] for name in ("pace.lateness", "pace.overruns"))
    missing = int(np.sum(np.rint(np.diff(at) / definition.timing.step) - 1.0))
    told = f"{rows:,} rows of {len(ours.names)} channels, {read:,} of them in the file, {missing} missing between them"
    return Lateness(late, int(overruns[-1])), f"{told}, {dropped} dropped"


def rows(folder: Path) -> list[Row]:
    """So many minutes, and their record."""
    length = minutes()
    if length <= 0.0:
        print("BENCH_MINUTES is 0: the long run is left out")
        return []
    what = f"{length:g} min at {1e-3 * RATE:g} kHz with a busy interpreter"
    print(what, flush=True)
    with busy_interpreter():
        late, record = recorded(at_rate(RATE), round(60.0 * length * RATE), folder)
    return [Row(what, str(late), "as above, but at a stretch"), Row("its record", record)]
