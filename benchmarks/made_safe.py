"""How long a rig stays without a driver: from the signal that kills or stops the process with the driver to safe().

    python benchmarks/made_safe.py [--turns 50] [--lease 0.1] [--busy 2]

Each turn is a process of its own that holds the example's bench through the simulated driver at 1 kHz, armed.  It gets
SIGKILL or SIGSTOP; the time of safe() is that in the log of the driver.  ``--busy`` adds processes that only compute.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import halfreal
from halfreal.definition.load import to_toml
from halfreal.definition.paths import with_values

EXAMPLE = Path(__file__).parents[1] / "examples" / "first_rig" / "bench.toml"
AT_ONCE = 5
"""Processes that are armed together: starting one takes far longer than ending it."""
SIGNALS = {"killed (SIGKILL)": signal.SIGKILL, "held up (SIGSTOP)": signal.SIGSTOP}


def armed(folder: Path, lease: float) -> tuple[Path, subprocess.Popen[str]]:
    """A process that is about to be armed, and the log of its driver."""
    folder.mkdir()
    log, test = folder / "log", folder / "test.toml"
    settings = {"log": str(log)}
    changes = {"link.lease": lease, "driver": {"use": "simulated", "settings": settings}}
    test.write_text(to_toml(with_values(halfreal.load(EXAMPLE), changes)))
    words = [sys.executable, "-m", "halfreal.live.driver_trial", str(test), "", repr(lease)]
    return log, subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def safe_after(log: Path, process: subprocess.Popen[str], number: signal.Signals) -> float | None:
    """Seconds from the signal to safe(); None if the loop had been held up for so long that it was safe before."""
    assert process.stderr is not None
    before = "safe" in log.read_text()
    at = time.monotonic_ns()
    process.send_signal(signal.SIGKILL if before else number)
    said = process.stderr.read()  # until the process that stands by has ended, too
    process.wait()
    times = [int(line.split()[2]) for line in log.read_text().splitlines() if line.startswith("safe")]
    assert times, said
    if before:
        return None
    return 1e-9 * (times[0] - at)


def measured(folder: Path, number: signal.Signals, turns: int, lease: float) -> tuple[np.ndarray, int]:
    """Times until safe() of so many turns, and turns that do not count as the rig was safe before."""
    found: list[float] = []
    held_up = tried = 0
    while len(found) < turns:
        started = []
        for _ in range(min(AT_ONCE, turns - len(found))):
            started.append(armed(folder / f"{number.name}{tried}", lease))
            tried += 1
        for _, process in started:
            assert process.stdout is not None and process.stderr is not None
            if process.stdout.readline().strip() != "armed":
                raise SystemExit(f"not armed: {process.stderr.read()}")
        time.sleep(0.3)
        for log, process in started:
            after = safe_after(log, process, number)
            held_up += after is None
            found += [] if after is None else [after]
    return np.array(found), held_up


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=50)
    parser.add_argument("--lease", type=float, default=0.1)
    parser.add_argument("--busy", type=int, default=0)
    given = parser.parse_args()
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(given.busy)]
    try:
        with tempfile.TemporaryDirectory() as name:
            for what, number in SIGNALS.items():
                times, held_up = measured(Path(name), number, given.turns, given.lease)
                found = 1e3 * times
                print(
                    f"lease {1e3 * given.lease:.0f} ms, {given.busy} busy processes, {what}, {found.size} turns: safe "
                    f"after {np.median(found):.0f} ms (median), {np.quantile(found, 0.9):.0f} (90 %), "
                    f"{found.max():.0f} (longest); {np.sum(found > 1e3 * given.lease)} beyond the lease ({held_up} "
                    "more were safe before, as their loop had been held up)",
                    flush=True,
                )
    finally:
        for process in busy:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
