"""Processes killed and disks filled in the middle of a test: what the rig does, and what is left.

The tests stop the test's time where they want by a proxy that keeps a command back: the rig works in step.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import halfreal
from halfreal.live import session as live_session
from halfreal.records import rescue
from halfreal.records.run_file import RunFileError
from halfreal.runs.run import Run
from live.processes import (
    IN_STEP,
    LEASE_OVER,
    OWN_STOP,
    SAFE,
    STEP,
    Rig,
    armed,
    assert_every_tick,
    assert_held_after_trip,
    assert_obeyed,
    column,
    controller,
    definition,
    kill,
    recorder_of,
    sent,
    ticks,
    tripped_at,
    wait_for,
)
from live.proxy import STOP, At, Datagram, Proxy

LONG = {"timing.duration": "60 s"}
LOST_AT_MOST = 0.2
"""Seconds of a record, when controller and recorder are both killed."""
WHEN = 200
"""Sequence of the command at which it happens; that of tick 0 is 2."""


def rows_in(path: Path) -> int:
    return len(halfreal.load_run(path).time)


def recorded(path: Path) -> Run:
    """A run file when nobody writes to it any more."""
    return wait_for(
        lambda: None if "still recording" in (run := halfreal.load_run(path)).reason else run, f"{path} to end"
    )


def test_a_killed_controller_leaves_a_safe_rig_and_a_record_of_every_command(tmp_path: Path) -> None:
    lease = 0.5
    running: list[int] = []
    killed = At(WHEN, lambda: kill(*running))
    in_test = {**IN_STEP, "link.lease": f"{lease} s"}
    on_rig = {"limits.on_trip": "return", "limits.return_time": "0.1 s"}
    with Rig(tmp_path, "--once", "--in-step", changes=on_rig) as rig, Proxy(rig.port, commands=killed) as proxy:
        with controller(tmp_path, proxy.port, in_test) as process:
            running.append(process.pid)
            assert process.ends() == -signal.SIGKILL
        record = rig.record()
        assert "safe (no valid command within the lease)" in rig.said
        assert rig.ends() == 0
    run = recorded(tmp_path / "run.h5")
    assert run.outcome == "failed"
    assert run.reason.startswith("the controller was lost at")
    assert_every_tick(run)
    assert_obeyed(run, record)
    assert max(sent(run)) >= WHEN
    state, age, command = (column(record, name) for name in ("rig.state", "link.age", "command"))
    safe = np.flatnonzero(state == SAFE)[0]
    assert column(record, "rig.code")[safe] == LEASE_OVER
    assert age[safe] >= lease and column(record, "link.newest")[safe - 2] == WHEN, "it waited longer than its lease"
    assert command[-1] == 0.0 and abs(command[safe]) > 1e-4, "it did not return"
    speed = np.abs(np.diff(command[safe:])).max() / STEP
    assert speed <= 1.875 * abs(command[safe]) / 0.1, "faster than the polynomial of its way home"


def test_a_killed_rig_trips_the_test_on_stale_measurements(tmp_path: Path) -> None:
    with Rig(tmp_path, "--in-step") as rig, Proxy(rig.port, commands=At(WHEN, lambda: kill(rig.pid))) as proxy:
        with controller(tmp_path, proxy.port, IN_STEP, {"limits.stale.trip": "0.5 s"}) as process:
            assert process.ends() == 1
        assert rig.ends() == -signal.SIGKILL
    run = halfreal.load_run(tmp_path / "run.h5")
    assert run.outcome == "tripped"
    assert run.reason == "block 'link.receive': no new measurement for 500 ms (limits.stale.trip)"
    assert run.reason in process.said
    assert_every_tick(run)
    trip = tripped_at(run)
    assert trip == WHEN - 1, "the tick after the command that was not answered"
    assert column(run, "link.age")[trip] >= 0.5 > column(run, "link.age")[trip - 1]
    assert_held_after_trip(run)


def test_without_anything_between_a_killed_rig_is_noticed_by_its_silence(tmp_path: Path) -> None:
    output = tmp_path / "run.h5"
    with Rig(tmp_path) as rig, armed(halfreal.Session(definition(tmp_path, rig.port, LONG), output)) as session:
        wait_for(lambda: ticks(session) > 100, "the test to begin")
        kill(rig.pid)
        session.wait()
        run = session.finish()
    assert run.outcome == "tripped"
    assert "no new measurement for" in run.reason, "a message that its port is closed may be anybody's"
    assert_every_tick(run)
    assert_held_after_trip(run)


def test_a_killed_recorder_is_followed_by_another_and_nothing_is_lost(tmp_path: Path, rig_in_step: Rig) -> None:
    output = tmp_path / "run.h5"
    running: list[int] = []

    def replace() -> None:
        wait_for(lambda: rows_in(output) > 50, "some rows in the file")
        first = recorder_of(running[0])
        kill(first)
        wait_for(lambda: recorder_of(running[0]) != first, "another recorder")

    with Proxy(rig_in_step.port, commands=At(WHEN, replace)) as proxy:
        with controller(tmp_path, proxy.port, IN_STEP) as process:
            running.append(process.pid)
            assert process.ends() == 0
        record = rig_in_step.record()
    run = halfreal.load_run(output)
    assert (run.outcome, run.reason) == ("completed", "")
    died = [event for event in run.events if event.channel == "recorder"]
    assert [event.text for event in died] == [
        "the recorder process died (exit code -9) and was restarted; no data was lost"
    ]
    assert died[0].time == pytest.approx((WHEN - 2) * STEP, abs=2 * STEP)
    assert died[0].text in process.said
    assert_every_tick(run)
    assert run.time[0] == 0.0 and 401 <= len(run.time) <= 501  # it brakes at its end
    assert_obeyed(run, record)


def test_when_both_are_killed_the_record_reaches_to_shortly_before_and_says_that_it_broke_off(tmp_path: Path) -> None:
    output = tmp_path / "run.h5"
    shared = {"link.kind": "shared memory", "link.rig": None, "link.name": f"crash-{os.getpid()}"}
    with Rig(tmp_path, "--once", changes={**shared, "limits.on_trip": "hold"}) as rig:
        with controller(tmp_path, 0, LONG, shared) as process:
            wait_for(lambda: output.exists() and rows_in(output) > 200, "the test to go on")
            kill(process.pid, recorder_of(process.pid))
            assert process.ends() == -signal.SIGKILL
        record = rig.record()
    run = halfreal.load_run(output)
    assert run.outcome == "failed"
    assert run.reason.startswith("the recording was interrupted at")
    assert "controller and recorder were both killed" in run.reason
    assert_every_tick(run)
    assert_obeyed(run, record, whole=False)
    assert column(record, "link.newest")[-1] - max(sent(run)) <= LOST_AT_MOST / STEP
    assert record.reason == "no valid command within the lease"
    safe = np.flatnonzero(column(record, "rig.state") == SAFE)
    command = column(record, "command")
    assert np.all(command[safe] == command[safe[0] - 1]), "it did not hold"


def test_a_recorder_that_is_silent_is_replaced_and_nothing_is_lost(
    tmp_path: Path, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_session, "SILENCE", 1.0)
    frozen = At(WHEN, lambda: os.kill(recorder_of(os.getpid()), signal.SIGSTOP))
    with Proxy(rig.port, commands=frozen) as proxy:
        run = halfreal.run(definition(tmp_path, proxy.port, {"timing.duration": "2.5 s"}), tmp_path / "run.h5")
        record = rig.record()
    assert (run.outcome, run.reason) == ("completed", "")
    assert any(event.text.startswith("the recorder process died") for event in run.events)
    assert_every_tick(run)
    assert 2501 <= len(run.time) <= 2601  # it brakes at its end
    assert_obeyed(run, record)


def test_a_recorder_that_dies_with_the_last_rows_before_it_is_replaced_all_the_same(
    tmp_path: Path, rig_in_step: Rig
) -> None:
    frozen = At(WHEN, lambda: os.kill(recorder_of(os.getpid()), signal.SIGSTOP))

    def commands(datagram: Datagram) -> list[bytes]:
        if datagram.kind == STOP:  # the loop has ended
            kill(recorder_of(os.getpid()))
        return frozen(datagram)

    with Proxy(rig_in_step.port, commands=commands) as proxy:
        run = halfreal.run(definition(tmp_path, proxy.port, IN_STEP), tmp_path / "run.h5")
        record = rig_in_step.record()
    assert (run.outcome, run.reason) == ("completed", "")
    assert_every_tick(run)
    assert 401 <= len(run.time) <= 501  # it brakes at its end
    assert_obeyed(run, record)


def test_recorders_that_die_again_and_again_trip_the_test(tmp_path: Path, rig_in_step: Rig) -> None:
    def kill_them() -> None:
        killed: set[int] = set()
        while len(killed) <= live_session.RESTARTS:
            killed.add(pid := wait_for(lambda: next(iter({recorder_of(os.getpid())} - killed), 0), "another recorder"))
            kill(pid)

    with Proxy(rig_in_step.port, commands=At(WHEN, kill_them)) as proxy:
        run = halfreal.run(definition(tmp_path, proxy.port, IN_STEP, LONG), tmp_path / "run.h5")
        record = rig_in_step.record()
    assert (run.outcome, run.reason) == ("tripped", "the record can no longer be written")
    # the ring still held what was not yet written
    assert_every_tick(run)
    assert_held_after_trip(run)
    assert_obeyed(run, record)
    assert record.outcome == "completed" and len(run.time) < 60 / STEP


def test_a_rig_that_is_told_to_end_makes_itself_safe_first_and_the_test_says_so(tmp_path: Path) -> None:
    with Rig(tmp_path, changes={"limits.on_trip": "hold"}) as rig:
        with armed(halfreal.Session(definition(tmp_path, rig.port, LONG), tmp_path / "run.h5")) as session:
            wait_for(lambda: ticks(session) > 100, "the test to begin")
            rig.signal(signal.SIGTERM)
            session.wait()
            run = session.finish()
        record = rig.record()
        assert rig.ends() == 0
        assert "safe (its emergency stop)" in rig.said
    assert run.outcome == "tripped"
    assert run.reason == "block 'link.receive': the rig went to its safe state: its emergency stop"
    assert_held_after_trip(run)
    assert_obeyed(run, record)
    safe = np.flatnonzero(column(record, "rig.state") == SAFE)
    assert np.all(column(record, "rig.code")[safe] == OWN_STOP)
    command = column(record, "command")
    assert np.all(command[safe] == command[safe[0] - 1])


# --- full disks -----------------------------------------------------------------------------------------------------


def file_limited(output: Path, pid: int) -> None:
    """No file of the recorder may grow any more."""
    size = output.stat().st_size
    resource.prlimit(recorder_of(pid), resource.RLIMIT_FSIZE, (size, size))


def filled(disk: Path) -> None:
    """Take all the room that the disk still has."""
    with (disk / "filler").open("wb") as filler, pytest.raises(OSError, match="No space left"):
        while True:
            filler.write(bytes(1 << 20))
            filler.flush()


def assert_readable(run: Run, record: Run) -> None:
    """What a full disk leaves, and what the rig did."""
    assert run.outcome == "tripped"
    assert run.reason.startswith("the record can no longer be written; the disk was full and the recording ended at")
    assert_every_tick(run)
    assert len(run.time) > 50
    assert_obeyed(run, record, whole=False)
    applied = column(record, "command")
    assert record.outcome == "completed" and np.all(applied[-20:] == applied[-1]), "it was not let go at rest"


def assert_complete(run: Run, part: Run, record: Run) -> None:
    """The rows that found no room on the disk, up to the trip and the end, are in another file."""
    assert run.outcome == "tripped" and run.reason == "the record can no longer be written"
    assert_every_tick(run)
    assert_obeyed(run, record)
    assert_held_after_trip(run)
    assert len(run.time) > len(part.time) and column(run, "guard.cause")[-1] != 0.0
    for name, one in part.signals.items():
        np.testing.assert_array_equal(column(run, name)[: len(part.time)], one.values)
    tripped = [event.text for event in run.events if event.channel == "guard.cause"]
    assert tripped == ["trip: the record can no longer be written"]


def test_a_record_that_cannot_grow_trips_the_test_and_stays_readable(tmp_path: Path, rig_in_step: Rig) -> None:
    output = tmp_path / "run.h5"
    running: list[int] = []

    def full() -> None:
        wait_for(lambda: rows_in(output) > 50, "some rows in the file")
        file_limited(output, running[0])

    with Proxy(rig_in_step.port, commands=At(WHEN, full)) as proxy:
        with controller(tmp_path, proxy.port, IN_STEP, LONG) as process:
            running.append(process.pid)
            assert process.ends() == 1
        record = rig_in_step.record()
    assert "the record can no longer be written" in process.said
    part = halfreal.load_run(output)
    assert_readable(part, record)
    assert_complete(halfreal.load_run(tmp_path / "run.recovered.h5"), part, record)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk with room for the record and for what must be left beside it, and little more."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=100m", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("a small disk cannot be mounted here: that takes an administrator")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_trips_the_test_and_the_record_stays_readable(
    tmp_path: Path, rig_in_step: Rig, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    output = small_disk / "run.h5"

    def full() -> None:
        wait_for(lambda: rows_in(output) > 50, "some rows in the file")
        filled(small_disk)

    with Proxy(rig_in_step.port, commands=At(WHEN, full)) as proxy:
        run = halfreal.run(definition(tmp_path, proxy.port, IN_STEP, LONG), output)
        record = rig_in_step.record()
    part = halfreal.load_run(output)
    assert_readable(part, record)
    assert_complete(halfreal.load_run(tmp_path / "run.recovered.h5"), part, record)
    assert "found no room in" in run.events[-1].text and "run.recovered.h5" in run.events[-1].text


def test_without_room_anywhere_the_run_states_how_many_rows_are_lost(
    tmp_path: Path, rig_in_step: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere(*_: object) -> Path:
        raise RunFileError("the record cannot be saved anywhere")

    def full() -> None:
        wait_for(lambda: rows_in(tmp_path / "run.h5") > 50, "some rows in the file")
        file_limited(tmp_path / "run.h5", os.getpid())

    monkeypatch.setattr(rescue, "put_elsewhere", nowhere)
    with Proxy(rig_in_step.port, commands=At(WHEN, full)) as proxy:
        run = halfreal.run(definition(tmp_path, proxy.port, IN_STEP, LONG), tmp_path / "run.h5")
        rig_in_step.record()
    part = halfreal.load_run(tmp_path / "run.h5")
    lost = len(run.time) - len(part.time)
    assert lost > 0 and f"the last {lost} rows of the record, up to the trip, are lost" in run.events[-1].text
