"""A slow test for whole runs: 40 ticks, a spring or a yielding element as specimen, a rig in step with the loop.

The rehearsal of the same definition is what an uninterrupted run records, to the bit.
"""

from __future__ import annotations

import os
import pty
from collections.abc import Mapping
from pathlib import Path

import numpy as np

import halfreal
from halfreal.runs.run import Run
from live.processes import ANYWHERE, Process, Rig, column, wait_for, written

TICKS, STEP, PERIOD = 40, 0.01, 1e-3
SLOW: dict[str, object] = {
    "title": "a slow test",
    "timing.step": "10 ms",
    "timing.duration": "0.4 s",
    "virtual.scheme": "explicit newmark",
    "virtual.initial_velocity": ["0.3 m/s"],
    "rig.specimen.stiffness": None,
    "slow.period": "1 ms",
    "slow.ramp": "10 ms",
    "slow.settle.displacement": "1 um",
    "slow.settle.time": "2 ms",
    "slow.settle.timeout": "0.2 s",
    "slow.average": "2 ms",
    "real_time.pacing": "rig",
    "limits.stale.trip": "20 s",
    "link.lease": "0.5 s",
}
SPRING = '{kind = "linear", stiffness = "2250 N/m"}'
YIELDING = '{kind = "elastoplastic", stiffness = "2250 N/m", yield_force = "4 N", hardening = 0.1}'
OF_SESSION = ("link.", "pace.", "rig.state", "motion.clock", "sensed.", "loop.request")
"""How names of channels begin that say how a session went, and not the test."""


def slow_file(path: Path, port: int | None, law: str, *changes: Mapping[str, object]) -> Path:
    where = ANYWHERE if port is None else f"127.0.0.1:{port}"
    written(path, SLOW, {"link.rig": where}, *changes)
    with path.open("a") as file:
        file.write(f"rig.specimen.elements = [{{between = [1], law = {law}}}]\n")
    return path


def slow_definition(folder: Path, port: int | None, law: str, *changes: Mapping[str, object]) -> halfreal.Definition:
    return halfreal.load(slow_file(folder / "test.toml", port, law, *changes))


class SlowRig(Rig):
    """``halfreal rig --in-step`` of the slow test; it serves any number of sessions with one and the same specimen."""

    lease = 0.5

    def __init__(
        self, folder: Path, law: str, *changes: Mapping[str, object], port: int | None = None, at: str = ""
    ) -> None:
        self.path = folder / "rig.h5"
        file = slow_file(folder / "rig.toml", port, law, *changes)
        options = ["--in-step", "--output", str(self.path), "--force", *(["--at", at] if at else [])]
        Process.__init__(self, folder, "rig", "rig", str(file), *options)
        self.port = int(self.until(r"listening on \S+?:(\d+)")[1])

    def records(self, count: int) -> Run:
        """Its own record of the session with this number."""
        wait_for(lambda: self.said.count("record: ") == count, f"record {count} of the rig")
        return halfreal.load_run(self.path)


class Terminal(Process):
    """A ``halfreal`` command at a terminal of its own; what it shows is read as it comes."""

    def __init__(self, folder: Path, name: str, *arguments: str) -> None:
        self.master, slave = pty.openpty()
        os.set_blocking(self.master, False)
        self._shown = b""
        streams = {"stdin": slave, "stdout": slave, "stderr": slave, "start_new_session": True}
        super().__init__(folder, name, *arguments, **streams)
        os.close(slave)

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        os.close(self.master)

    @property
    def said(self) -> str:
        try:
            while data := os.read(self.master, 65536):
                self._shown += data
        except OSError:  # nothing new, or the other end has closed it
            pass
        return self._shown.decode(errors="replace")[self._said_before :]

    def press(self, key: str) -> None:
        """What it has said until now is forgotten."""
        self._said_before += len(self.said)
        os.write(self.master, key.encode())

    def ends(self) -> int:
        wait_for(lambda: self.said is not None and self.process.poll() is not None, "it to end")
        return self.process.returncode


def completed(run: Run) -> int:
    """Ticks that a record holds, from the first on and without a gap."""
    kept = np.rint(run.time[column(run, "guard.mode") == 0.0] / STEP).astype(int)
    np.testing.assert_array_equal(kept, np.arange(kept.size))
    return int(kept.size)


def recorded(path: Path) -> Run:
    """A run file of a lost controller when its recorder has done with it."""

    def ended() -> Run | None:
        run = halfreal.load_run(path)
        return run if run.reason.startswith("the controller was lost") else None

    return wait_for(ended, f"{path} to end")


def assert_same_test(run: Run, rehearsal: Run) -> None:
    """The test is the rehearsal to the bit, however many sessions it took."""
    assert rehearsal.outcome == "completed" and completed(rehearsal) == TICKS
    assert completed(run) == TICKS
    shared = [name for name in rehearsal.signals if name in run.signals and not name.startswith(OF_SESSION)]
    assert {"target", "command", "measured.displacement", "measured.force", "energy.error", "reference"} <= {*shared}
    for name in shared:
        np.testing.assert_array_equal(column(run, name)[:TICKS], column(rehearsal, name)[:TICKS], err_msg=name)
