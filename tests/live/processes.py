"""Whole tests as a laboratory runs them: rig, controller and recorder as processes of their own, on loopback.

A definition is a flat table, ``{"limits.gap.trip": "5 mm", …}``: BASE with changes.  The rig listens on any free port
and tells which; its own definition may differ from the controller's, as a real rig does.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np

import halfreal
from halfreal.runs.run import Run
from links.by_hand import COMMAND, OFFER, Controller
from live.preloaded import Forked, Server

PATIENCE = 90.0
"""Seconds after which something that must happen is said not to: on a busy machine that has to compile first."""
ENVIRONMENT = {"PYTHONUNBUFFERED": "1", "COLUMNS": "200"}
STEP = 1e-3
ANYWHERE = "127.0.0.1:0"
IDLE, ARMED, SAFE = 1.0, 2.0, 3.0
LEASE_OVER, OWN_STOP = 1.0, 3.0
BRAKING = 0.1
"""The longest that a trip takes to brake [s]."""

BASE: dict[str, object] = {
    "title": "a spring behind a link",
    "timing.step": "1 ms",
    "timing.duration": "0.4 s",
    "virtual.mass": "2.2 kg",
    "virtual.damping": "15 N s/m",
    "virtual.stiffness": "2250 N/m",
    "virtual.support.stiffness": "2250 N/m",
    "virtual.support.damping": "15 N s/m",
    "virtual.scheme": "exact",
    "excitation.virtual.kind": "sine",
    "excitation.virtual.displacement": "10 mm",
    "excitation.virtual.frequency": "3 Hz",
    "excitation.virtual.ramp": "0.1 s",
    "rig.specimen.stiffness": "2250 N/m",
    "limits.command.trip": "1 m",  # a test on a rig has both
    "limits.command_rate.trip": "100 m/s",
    "limits.after_trip": "0.02 s",
    "limits.stale.trip": "1 s",
    "limits.lateness.trip": "1 s",
    "acceptance.limit_reserve": "none",  # tests come close to limits on purpose
    "acceptance.overruns": "none",  # a busy machine
    "acceptance.stale": "none",
    "acceptance.longest_stall": "none",
    "acceptance.time_lost": "none",
    "link.kind": "udp",
    "link.rig": ANYWHERE,
    "link.lease": "0.5 s",
}
TURNING_LIMITS: dict[str, object] = {
    "limits.rotation.command.trip": "1 rad",
    "limits.rotation.command_rate.trip": "100 rad/s",
}
"""For an axis that turns."""
IN_STEP: dict[str, object] = {
    "real_time.pacing": "rig",
    "limits.stale.trip": "20 s",
    "limits.lateness.trip": "20 s",
    "link.lease": "10 s",
}
"""Changes for a controller whose rig works in step: time does not matter."""


def written(path: Path, *changes: Mapping[str, object]) -> Path:
    """BASE with changes as a definition's file; a value None leaves the key out."""
    table = dict(BASE)
    for change in changes:
        table |= change
    path.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items() if value is not None))
    return path


def definition(folder: Path, port: int, *changes: Mapping[str, object]) -> halfreal.Definition:
    """The controller's definition, for a rig (or what stands before it) on a port."""
    return halfreal.load(written(folder / "test.toml", {"link.rig": f"127.0.0.1:{port}"}, *changes))


def wait_for(condition: Callable[[], Any], what: str) -> Any:
    """What a condition gives once it is true."""
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.005)
    return found


@cache
def preloaded() -> Server:
    """The process that commands begin in, of this process of the tests."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(written(Path(folder) / "base.toml"), {**os.environ, **ENVIRONMENT})
    atexit.register(server.close)
    return server


class Process:
    """A ``halfreal`` command, and what it has said so far."""

    code = "from halfreal.cli import main; main()"

    def __init__(self, folder: Path, name: str, *arguments: str, **options: Any) -> None:
        self._out, self._err, self._said_before = folder / f"{name}.out", folder / f"{name}.err", 0
        with self._out.open("w") as out, self._err.open("w") as err:
            streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err} | options
            self.process = Forked(preloaded(), self.code, arguments, {**os.environ, **ENVIRONMENT}, **streams)

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def said(self) -> str:
        return self._out.read_text()[self._said_before :]

    @property
    def complained(self) -> str:
        return self._err.read_text()

    def until(self, words: str) -> re.Match[str]:
        """Wait until it has said something that matches; it must not end before."""

        def found() -> re.Match[str] | None:
            ended = self.process.poll() is not None
            match = re.search(words, self.said)
            assert match or not ended, f"it ended without saying '{words}': {self.said} {self.complained}"
            return match

        return wait_for(found, f"'{words}' in {self.said}")

    def ends(self) -> int:
        """Its exit code, once it has ended."""
        return self.process.wait(PATIENCE)

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Rig(Process):
    """``halfreal rig``: BASE with the changes, on a port that the system chose."""

    lease = 5.0
    """Asked for when it is brought home by hand [s]: a busy machine may hold up whoever does so."""
    auxiliary = 0
    """Channels that it measures besides displacement and force."""

    def __init__(
        self, folder: Path, *options: str, changes: Mapping[str, object] | None = None, **streams: Any
    ) -> None:
        self.path = folder / "rig.h5"
        file = written(folder / "rig.toml", {"link.lease": "10 s"}, changes or {})  # the longest that it grants
        super().__init__(folder, "rig", "rig", str(file), "--output", str(self.path), *options, **streams)
        self.port = int(self.until(r"listening on \S+?:(\d+)|listening on shared memory")[1] or 0)

    def record(self) -> Run:
        """Its own record of the session of this test."""
        self.until("record: ")
        return halfreal.load_run(self.path)

    def go_home(self, home: float = 0.0) -> None:
        """Bring it back by hand, whatever the last test has done; what it has said until then is forgotten."""
        self.signal(signal.SIGCONT)
        with Controller(self.port, auxiliary=self.auxiliary) as by_hand:
            answer = wait_for(
                lambda: (heard := by_hand.hello(self.lease)).kind == OFFER and heard, "the rig to be free"
            )
            if answer.channels[0] != home:
                said = self.said.count("record: ")
                by_hand.arm(self.lease)
                at = now = answer.channels[0]
                while now != home:  # in small steps: a rig does not follow a first command that is far away
                    at += float(np.clip(home - at, -1e-4, 1e-4))
                    by_hand.send(by_hand.next(COMMAND, (at,)))
                    now = by_hand.measurement().channels[0]
                by_hand.stop()
                wait_for(lambda: self.said.count("record: ") > said, "its record")
        self._said_before += len(self.said)


@contextmanager
def controller(
    folder: Path, port: int, *changes: Mapping[str, object], options: tuple[str, ...] = ("--start",)
) -> Iterator[Process]:
    """``halfreal run`` against a rig (or what stands before it) on a port; its record is ``run.h5``."""
    file = written(folder / "test.toml", {"link.rig": f"127.0.0.1:{port}"}, *changes)
    with Process(folder, "run", "run", str(file), "--output", str(folder / "run.h5"), *options) as process:
        yield process


@contextmanager
def armed(session: halfreal.Session, *, wait: bool = False) -> Iterator[halfreal.Session]:
    """A session of this process that has been armed, and is closed whatever happens."""
    try:
        session.check()
        session.arm(wait=wait)
        yield session
    finally:
        session.close()


def ticks(session: halfreal.Session) -> float:
    """How far the test has come; negative before it begins."""
    assert session.loop is not None
    return float(session.loop.vector[0])


def begun(path: Path) -> bool:
    """Whether a test has got somewhere, as its record says."""
    return path.exists() and len(halfreal.load_run(path).time) > 100


def recorder_of(pid: int) -> int:
    """The recorder that a controller has started."""

    def found() -> int | None:
        for status in Path("/proc").glob("[0-9]*/stat"):
            try:
                parent = int(status.read_text().rpartition(")")[2].split()[1])
                if parent == pid and b"halfreal.records.recorder" in (status.parent / "cmdline").read_bytes():
                    return int(status.parent.name)
            except (FileNotFoundError, ProcessLookupError):  # it has just ended
                continue
        return None

    return int(wait_for(found, f"a recorder of process {pid}"))


def kill(*pids: int) -> None:
    """Kill processes so that none sees the end of another."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            os.kill(pid, number)


# --- what is in the records -----------------------------------------------------------------------------------------


def column(run: Run, name: str) -> np.ndarray:
    return np.asarray(run.signals[name].values)


def sent(run: Run) -> dict[int, float]:
    """The commands of a controller's record by the sequence they were sent with: ARM has 1, the first command 2.

    While measurements were missing, the command of the last row was sent again, and there are no rows.
    """
    sequences = np.maximum(column(run, "link.sent"), 1.0).astype(int) + 1
    times = np.diff(sequences, append=sequences[-1] + 1)
    assert np.all(times >= 1), "a command was sent twice under one number"
    commands = np.repeat(column(run, "command"), times)
    return dict(zip(range(sequences[0], sequences[-1] + 1), commands.tolist(), strict=True))


def assert_obeyed(run: Run, rig: Run, *, whole: bool = True) -> None:
    """Every command that the rig followed is one that the controller has recorded as applied, in their order.

    While the operator has not yet started the test nothing is recorded, and the rig must stand.  A record that is not
    ``whole`` may lack the last ones.
    """
    commands = sent(run)
    first, last = min(commands), max(commands)
    newest, applied = column(rig, "link.newest").astype(int), column(rig, "command")
    armed = column(rig, "rig.state") == ARMED
    assert np.all(np.diff(newest) >= 0), "an older command took the place of a newer one"
    assert np.all(applied[armed & (newest < first)] == applied[0]), "it moved before the test"
    known = armed & (newest >= first) & ((newest <= last) | whole)
    assert known.any(), "the rig was never given a command of the test"
    np.testing.assert_array_equal(applied[known], [commands[sequence] for sequence in newest[known]])
    if whole and column(rig, "rig.state")[-1] == IDLE:  # the last commands may have come together with STOP
        latest = [commands[sequence] for sequence in range(max(int(newest[armed][-1]), first), last + 1)]
        assert applied[-1] in latest, "it moved when it was let go"


def counted(run: Run, name: str) -> int:
    """A counter of datagrams at the end of a record."""
    return int(column(run, f"link.{name}")[-1])


def tripped_at(run: Run) -> int:
    """The tick of the trip."""
    return round(run.time[np.flatnonzero(column(run, "guard.cause"))[0]] / run.step)


def assert_held_after_trip(run: Run) -> None:
    """From the tick of the trip on, the command only brakes: its steps fall, and end within the time for it."""
    cause = np.flatnonzero(column(run, "guard.cause"))
    assert cause.size
    ways = np.diff(column(run, "command")[cause[0] - 2 :])
    assert np.all(np.diff(np.abs(ways)) <= 1e-12), "it did not only brake"
    assert np.all(ways * ways[0] >= 0.0), "it did not only brake"
    assert np.all(ways[round(BRAKING / STEP) + 2 :] == 0.0), "it did not come to rest"


def assert_every_tick(run: Run) -> None:
    """The record has every tick from its first to its last."""
    ticks = np.rint(run.time / run.step).astype(int)
    np.testing.assert_array_equal(ticks, np.arange(ticks[0], ticks[0] + ticks.size))


def assert_same(run: Run, rehearsal: Run) -> None:
    """The run is the rehearsal, to the bit; more rows may show how it brakes and say that it has stopped.

    After a trip the loop waits for its rig for a step only, and what is measured then may be of the tick before.
    """
    ticks = rehearsal.time.size
    assert ticks <= run.time.size <= ticks + 1 + round(BRAKING / STEP)
    tripped = np.flatnonzero(column(rehearsal, "guard.cause"))
    ticks = int(tripped[0]) + 1 if tripped.size else ticks
    np.testing.assert_array_equal(run.time[:ticks], rehearsal.time[:ticks])
    shared = set(run.signals) & set(rehearsal.signals)
    assert {"guard.mode", "guard.cause", "start_up.mode"} <= shared and len(shared) > 10
    for name in shared:
        np.testing.assert_array_equal(column(run, name)[:ticks], column(rehearsal, name)[:ticks], err_msg=name)
