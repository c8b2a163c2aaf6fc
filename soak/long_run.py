"""Long runs: the memory of each process, rows that are missing, and clocks that drift.

    python soak/long_run.py [--ticks 28800000] [--minutes 5]

Two parts, with ``halfreal run``, its recorder and ``halfreal rig`` as processes of their own.  *In step*: as many ticks
as 8 h at 1 kHz have, but a step of 20 µs and a rig without a clock, so as fast as both ends can.  *By the clock*: some
minutes at 1 kHz in wall time, with every channel in both records.  Memory is what a process has to itself (Pss of its
private pages), taken every second; the first third of a part is not counted.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from outcome import keep

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


def part(folder: Path, changes: dict[str, object], rig_options: list[str]) -> tuple[dict[str, float], Run, Path, int]:
    """Run a test; growth of each process, the record, the rig's record, and how many steps that made."""
    with Rig(folder, "--force", *rig_options, changes=changes) as rig:
        file = written(folder / "test.toml", changes, {"link.rig": f"127.0.0.1:{rig.port}"})
        options = ["--output", str(folder / "run.h5"), "--start", "--force", "--without-go", "a long run"]
        with Process(folder, "run", "run", str(file), *options) as run:
            memory = watched(run, rig)
            run.process.wait()
            rig.until("record: ")
            steps = int(rig.until(r"after (\d+) steps")[1])
        run_file = halfreal.load_run(folder / "run.h5")
    return {name: growth(values) for name, values in memory.items()}, run_file, folder / "rig.h5", steps


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
            grown, run, _, _ = part(Path(name), changes, ["--in-step"])
            codes.append(
                judged(
                    "long_run_in_step",
                    f"ticks in step, as many as {asked.ticks / 3.6e6:.3g} h at 1 kHz have",
                    grown,
                    run,
                    100,
                )
            )
        if asked.minutes:
            changes = {"timing.duration": f"{60.0 * asked.minutes!r} s"}
            grown, run, rig_file, steps = part(Path(name), changes, [])
            rig = halfreal.load_run(rig_file)
            moved = drift(np.asarray(rig.signals["rig.clock"].values), 1e-3)
            what = f"ticks by the clock, {asked.minutes:g} min at 1 kHz, every channel recorded at both ends"
            codes.append(judged("long_run_by_the_clock", what, grown, run, 1, (rig.time.size, steps, moved)))
    return max(codes, default=0)


def judged(
    name: str, what: str, grown: dict[str, float], run: Run, every: int, rig: tuple[int, int, float] = (0, 0, 0.0)
) -> int:
    """``rig``: rows in its record, the steps that it made, and by which part of a step its clock moved."""
    ticks = np.rint(run.time / run.step).astype(np.int64)
    gaps = int(np.sum(np.diff(ticks) != every))
    rows, steps, moved = rig
    found = [run.outcome != "completed", gaps, steps - rows, not abs(moved) <= DRIFT]
    found += [not one <= GROWTH for one in grown.values()]
    text = f"{run.outcome}; {gaps} rows missing of {ticks.size:,}"
    if steps:
        text += f", {steps - rows} of the rig's {steps:,}; its clock moved by {moved:.1e} of a step"
    text += "; memory grew by " + ", ".join(f"{one:.1f} MB ({name})" for name, one in sorted(grown.items()))
    return keep(name, what, int(ticks[-1] - ticks[0] + 1), sum(map(int, found)), text)


if __name__ == "__main__":
    sys.exit(main())
