"""Long runs: the memory of each process, rows that are missing, and clocks that drift.

    python soak/long_run.py [--ticks 28800000] [--minutes 5]

Two parts, with ``halfreal run``, its recorder and ``halfreal rig`` as processes of their own.  *In step*: as many ticks
as 8 h at 1 kHz have, but a step of 20 µs and a rig without a clock, so as fast as both ends can.  *By the clock*: some
minutes at 1 kHz in wall time, with every channel in both records.  Memory is what a process uses itself or shares with
its recorder, without the pages of libraries (RssAnon and RssShmem of Linux), taken every second and kept in
results/soak/PART_memory.csv; the first third of a part is not counted.  A row is missing if the controller's record
has a gap, or if the rig reports that its own record lacks one.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from outcome import FOLDER, keep

import halfreal
from halfreal.runs.run import Run
from live import processes
from live.long_runs import drift, growth, watched
from live.processes import Process, Rig, written

processes.PATIENCE = 600.0  # seconds: a busy machine has to compile first

GROWTH = 8.0
"""MB by which a process may grow in the counted part: less than a minute of rows at 1 kHz."""
DRIFT = 1e-3
"""Of a step, by which the grid of the rig's ticks may move."""


Memory = dict[str, list[float]]


@dataclass
class Part:
    """What a test has left behind."""

    memory: Memory
    run: Run
    rig_file: Path
    steps: int
    """That the rig made."""
    missing: int
    """Rows that the rig's record lacks."""


def part(folder: Path, changes: dict[str, object], rig_options: list[str]) -> Part:
    with Rig(folder, "--force", *rig_options, changes=changes) as rig:
        file = written(folder / "test.toml", changes, {"link.rig": f"127.0.0.1:{rig.port}"})
        options = ["--output", str(folder / "run.h5"), "--start", "--force", "--without-go", "a long run"]
        with Process(folder, "run", "run", str(file), *options) as run:
            memory = watched(run, rig)
            run.process.wait()
            rig.until("record: ")
            steps = int(rig.until(r"after (\d+) steps")[1])
            lines = re.findall(r"(\d+) rows of the session are missing", rig.said)
        run_file = halfreal.load_run(folder / "run.h5")
    return Part(memory, run_file, folder / "rig.h5", steps, sum(map(int, lines)))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ticks", type=int, default=28_800_000)
    parser.add_argument("--minutes", type=float, default=5.0)
    asked = parser.parse_args()
    codes = []
    with tempfile.TemporaryDirectory() as name:
        if asked.ticks:
            changes: dict[str, object] = {
                "timing.step": "20 us",
                "timing.duration": f"{asked.ticks * 20e-6!r} s",
                "real_time.pacing": "rig",
                "limits.stale.trip": "20 s",
                "limits.lateness.trip": "20 s",
                "link.lease": "10 s",
                "record.channels": ["target", "measured.displacement"],
                "record.every": 100,
            }
            what = f"ticks in step, as many as {asked.ticks / 3.6e6:.3g} h at 1 kHz have"
            codes.append(judged("long_run_in_step", what, part(Path(name), changes, ["--in-step"]), 100))
        if asked.minutes:
            done = part(Path(name), {"timing.duration": f"{60.0 * asked.minutes!r} s"}, [])
            rig = halfreal.load_run(done.rig_file)
            done.missing = max(done.missing, done.steps - rig.time.size)
            what = f"ticks by the clock, {asked.minutes:g} min at 1 kHz, every channel recorded at both ends"
            moved = drift(np.asarray(rig.signals["rig.clock"].values), 1e-3)
            codes.append(judged("long_run_by_the_clock", what, done, 1, moved))
    return max(codes, default=0)


def judged(name: str, what: str, done: Part, every: int, moved: float | None = None) -> int:
    """``moved``: by which part of a step the rig's clock moved, if it has one."""
    run, grown = done.run, {who: growth(values) for who, values in done.memory.items()}
    ticks = np.rint(run.time / run.step).astype(np.int64)
    gaps = int(np.sum(np.diff(ticks) != every))
    found = [run.outcome != "completed", gaps, done.missing, moved is not None and not abs(moved) <= DRIFT]
    found += [not one <= GROWTH for one in grown.values()]
    text = f"{run.outcome}; {gaps} rows missing of {ticks.size:,}, {done.missing} of the rig's {done.steps:,}"
    if moved is not None:
        text += f"; its clock moved by {moved:.1e} of a step"
    text += "; memory grew by " + ", ".join(
        f"{one:.1f} MB to {done.memory[who][-3]:.0f} MB ({who})" for who, one in sorted(grown.items())
    )
    keep_memory(name, done.memory)
    return keep(name, what, int(ticks[-1] - ticks[0] + 1), sum(map(int, found)), text)


def keep_memory(name: str, memory: Memory) -> None:
    """Every value [MB] in a file, to see what a process did that has grown."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    rows = zip_longest(*memory.values(), fillvalue="")
    lines = [",".join(memory), *(",".join(map(str, row)) for row in rows)]
    (FOLDER / f"{name}_memory.csv").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
