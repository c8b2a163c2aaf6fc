"""How long a rig stays without a driver: from a fault of the driver or of its process to safe().

    python benchmarks/made_safe.py [--turns 50] [--lease 0.1] [--busy 2] [--write]

Each turn is a separate process that holds the example's bench through the simulated driver at 1 kHz, armed.  It gets
SIGKILL or SIGSTOP, or the driver fails: its read raises, gives NaN, does not return, or ends the process.  The times of
the failure and of safe() are those in the log of the driver.  ``--busy`` adds processes that only compute.
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
from hardware_page import show

import halfreal
from halfreal.definition.load import to_toml
from halfreal.definition.paths import with_values

EXAMPLE = Path(__file__).parents[1] / "examples" / "first_rig" / "bench.toml"
AT_ONCE = 4
"""Processes that are armed together: starting one takes far longer than ending it."""
SETTLES = 0.3
"""Seconds armed before a signal is sent."""
FAILS_AFTER = 300
"""Reads after which a driver fails: 20 come before it is armed."""
PATIENCE = 10.0
SIGNALS = {"process killed (SIGKILL)": signal.SIGKILL, "process held up (SIGSTOP)": signal.SIGSTOP}
FAILURES = {
    "read ends the process": "die",
    "read does not return": "block",
    "read raises": "raise",
    "read gives NaN": "nan",
}


def armed(folder: Path, lease: float, fails_by: str) -> tuple[Path, subprocess.Popen[str]]:
    """A process that is about to be armed, and the log of its driver."""
    folder.mkdir()
    log, test = folder / "log", folder / "test.toml"
    settings: dict[str, object] = {"log": str(log)}
    if fails_by:
        settings |= {"fails_after": FAILS_AFTER, "fails_by": fails_by}
    changes = {"link.lease": lease, "driver": {"use": "simulated", "settings": settings}}
    test.write_text(to_toml(with_values(halfreal.load(EXAMPLE), changes)))
    command = [sys.executable, "-m", "halfreal.live.driver_trial", str(test), "", repr(lease)]
    return log, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def logged(log: Path, what: str) -> list[int]:
    """Times at which the driver noted something [ns]."""
    return [int(line.split()[2]) for line in log.read_text().splitlines() if line.startswith(what)]


def signalled(log: Path, process: subprocess.Popen[str], number: signal.Signals) -> float | None:
    """Seconds from the signal to safe(); None if the loop had been held up for so long that it was safe before."""
    assert process.stderr is not None
    before = bool(logged(log, "safe"))
    at = time.monotonic_ns()
    process.send_signal(signal.SIGKILL if before else number)
    printed = process.stderr.read()  # until the second process has ended, too
    process.wait()
    if before:
        return None
    assert logged(log, "safe"), printed
    return 1e-9 * (logged(log, "safe")[0] - at)


def failed(log: Path, process: subprocess.Popen[str]) -> float | None:
    """Seconds from the failure of the driver to safe(); None if it was safe before, as its loop had been held up."""
    deadline = time.monotonic() + PATIENCE
    while not (logged(log, "fails") and logged(log, "safe")) and time.monotonic() < deadline:
        if logged(log, "safe") and not logged(log, "fails") and time.monotonic() > deadline - 0.5 * PATIENCE:
            break
        time.sleep(0.02)
    process.kill()
    process.communicate()
    fails, safe = logged(log, "fails"), logged(log, "safe")
    if not fails or safe[0] < fails[0]:
        return None
    return 1e-9 * (safe[0] - fails[0])


def measured(folder: Path, fault: signal.Signals | str, turns: int, lease: float) -> tuple[np.ndarray, int]:
    """Times until safe(), and turns that do not count as the rig was safe before."""
    found: list[float] = []
    held_up = started = 0
    by_driver = fault if isinstance(fault, str) else ""
    while len(found) < turns:
        processes = []
        for _ in range(min(AT_ONCE, turns - len(found))):
            processes.append(armed(folder / f"{by_driver or 'signal'}{fault}{started}", lease, by_driver))
            started += 1
        for _, process in processes:
            assert process.stdout is not None and process.stderr is not None
            if process.stdout.readline().strip() != "armed":
                raise SystemExit(f"not armed: {process.stderr.read()}")
        time.sleep(SETTLES)
        for log, process in processes:
            after = failed(log, process) if isinstance(fault, str) else signalled(log, process, fault)
            held_up += after is None
            found += [] if after is None else [after]
    return np.array(found), held_up


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=50)
    parser.add_argument("--lease", type=float, default=0.1)
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="replace the section of hardware.md")
    given = parser.parse_args()
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(given.busy)]
    load = f"{given.busy} computing processes more" if given.busy else "nothing else running"
    lines = [
        "From the fault to `safe()`, by the log of the simulated driver in Python at 1 kHz; lease",
        f"{1e3 * given.lease:.0f} ms, {given.turns} processes each, {AT_ONCE} at a time, {load}. A turn does not count",
        "where the loop had been held up so long that the driver was safe before the fault.",
        "",
        "| fault | median | 90 % | longest | beyond the lease | safe before |",
        "|---|---|---|---|---|---|",
    ]
    try:
        with tempfile.TemporaryDirectory() as name:
            for what, fault in {**SIGNALS, **FAILURES}.items():
                times, held_up = measured(Path(name), fault, given.turns, given.lease)
                shown = [f"{1e3 * x:.1f} ms" for x in (np.median(times), np.quantile(times, 0.9), times.max())]
                late = int(np.sum(times > given.lease))
                lines.append(f"| {what} | {' | '.join(shown)} | {late} of {times.size} | {held_up} |")
                print(lines[-1], file=sys.stderr, flush=True)
        loaded = f", {given.busy} computing processes" if given.busy else ""
        show(f"Until a driver is safe{loaded}", lines, given.write)
    finally:
        for process in busy:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
