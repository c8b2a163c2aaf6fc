"""A driver in the loop: ticks at 1, 5 and 10 kHz with a null driver in Python and in C against the bare loop, and 64
auxiliary channels at 5 kHz through ring and recorder.

    python benchmarks/drivers.py [--write]        # --channels: only the second figure
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
from hardware_page import show

import halfreal
from halfreal.definition.paths import with_values
from halfreal.drivers.host import header_folder
from halfreal.kernels.control import WORDS
from halfreal.kernels.loop import Loop
from halfreal.links.driver import opened, wired
from halfreal.links.pace import pace, percentiles
from halfreal.live.driver_trial import holding_loop
from halfreal.live.privileges import prioritise

EXAMPLE = Path(__file__).parents[1] / "examples" / "first_rig"
RATES = (1e3, 5e3, 10e3)
SECONDS, TURNS = 1.0, 3
SHARES = (0.5, 0.99, 0.999)
CHANNELS, RATE, LENGTH = 64, 5e3, "4 s"


def compiled(folder: Path) -> str:
    """The null driver in C."""
    library = folder / "null_driver.so"
    words = ["cc", "-O2", "-shared", "-fPIC", "-I", str(header_folder()), "-o", str(library)]
    subprocess.run([*words, str(EXAMPLE / "null_driver.c")], check=True)
    return str(library)


def timed(loop: Loop, ticks: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Lateness and work of ticks [s], and ticks not done in time."""
    found: list[float] = []

    def work() -> None:
        prioritise(70, None)
        words = np.zeros(WORDS, dtype=np.int64)
        loop.drive(50, np.empty((0, 1)), (), words)
        state = loop.state("pace")
        for name in ("lateness_histogram", "execution_histogram"):
            state[name] = 0.0
        before = float(loop.vector[loop.index["pace.overruns"]])
        loop.drive(ticks, np.empty((0, 1)), (), words)
        found.append(float(loop.vector[loop.index["pace.overruns"]]) - before)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    state = loop.state("pace")
    late, work_ = (percentiles(np.array(state[f"{name}_histogram"]), SHARES) for name in ("lateness", "execution"))
    return late, work_, int(found[0])


def rates(library: str) -> list[str]:
    lines = [
        "A null driver with 4 inputs and 3 outputs in the loop that holds a rig; the bare loop is the clock alone.",
        f"Each {SECONDS:g} s, the turn with the least work (median) of {TURNS}. In µs: 50, 99, 99.9 %.",
        "",
        "| rate | loop | late | work of a tick | not done in time |",
        "|---|---|---|---|---|",
    ]
    healthy = {"channels.inputs.e_stop.healthy": 0}  # a null driver reads 0 there
    for rate in RATES:
        base = with_values(
            halfreal.load(EXAMPLE / "bench.toml"),
            {
                "timing.step": 1.0 / rate,
                "driver": {"use": "null"},
                "channels.inputs.e_stop.emergency": False,
                **healthy,
            },
        )
        ticks = round(SECONDS * rate)
        for name, use in (("bare loop", None), ("driver in C", library), ("driver in Python", "null")):
            turns = []
            for _ in range(TURNS):
                if use is None:
                    turns.append(timed(Loop([pace(1.0 / rate, 60e-6, "hold", waits=True)], dt=1.0 / rate), ticks))
                    continue
                host = opened(base, 5.0, use, warden=False)
                try:
                    turns.append(timed(holding_loop(base, host, wired(base), host.read()), ticks))
                finally:
                    host.close()
            late, work, overruns = min(turns, key=lambda one: one[1][0])
            shown = [", ".join(f"{1e6 * x:.2g}" for x in values) for values in (late, work)]
            lines.append(f"| {1e-3 * rate:g} kHz | {name} | {shown[0]} | {shown[1]} | {overruns} of {ticks:,} |")
    return lines


def many_channels(library: str, folder: Path) -> list[str]:
    """A whole run in the loop's own process with 64 auxiliary channels, recorded."""
    names = [f"strain_{i}" for i in range(CHANNELS)]
    table = {
        f"channels.inputs.{name}": {"measures": name, "terminal": f"ai{i}", "scale": "1 m/V"}
        for i, name in enumerate(names)
    }
    changes = {
        "timing.step": 1.0 / RATE,
        "timing.duration": LENGTH,
        "auxiliary": {name: {"unit": "m"} for name in names},
        "driver": {"use": library},
        "limits.channels": {f"measured.{name}": {"trip": "1 m"} for name in names},
        "channels.inputs": {
            "lvdt": {
                "measures": "displacement",
                "terminal": "position",
                "scale": "10 mm/V",
                "range": ["-10 V", "10 V"],
            },
            "load_cell": {"measures": "force", "terminal": "force", "scale": "10 N/V"},
            **{key.rpartition(".")[2]: value for key, value in table.items()},
        },
        "acceptance": {"overruns": "none", "synchronisation": "none", "fidelity": "none", "stale": "none"},
    }
    test = with_values(halfreal.load(EXAMPLE / "bench.toml"), changes)
    session = halfreal.Session(test, folder / "many.h5", without_go="a benchmark")
    try:
        session.check()
        session.arm()
        session.wait()
        dropped = int(session._recording.words[5]) if session._recording is not None else -1
        run = session.finish()
    finally:
        session.close()
    gaps = int(np.sum(np.round(np.diff(run.time) * RATE) != 1))
    return [
        f"A whole run through a driver in C, {CHANNELS} auxiliary channels with a trip limit each, {LENGTH} at "
        f"{1e-3 * RATE:g} kHz: {run.outcome}; {run.time.size:,} rows of {len(run.signals)} channels, "
        f"{dropped} dropped, {gaps} gaps."
    ]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        library = compiled(Path(name))
        write = "--write" in sys.argv
        if "--channels" not in sys.argv:
            show("Driver in the loop", rates(library), write)
        show("Auxiliary channels", many_channels(library, Path(name)), write)


if __name__ == "__main__":
    main()
