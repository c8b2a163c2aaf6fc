"""Records that somebody removes, moves, replaces or damages during the test, and ends that are cut short."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

import halfreal
from halfreal.kernels.control import ROWS
from halfreal.live.rig import VirtualRig
from halfreal.live.rig_record import RigRecord
from halfreal.records import recorder, run_file
from halfreal.records.whole_file import remove_leftovers
from live.processes import (
    ANYWHERE,
    IN_STEP,
    Process,
    Rig,
    assert_every_tick,
    assert_held_after_trip,
    assert_obeyed,
    column,
    definition,
    wait_for,
    written,
)
from live.proxy import At, Proxy

LONG = {"timing.duration": "60 s"}
STEP, BRAKING = 1e-3, 0.1
WHOLE = range(401, 402 + round(BRAKING / STEP))
"""Rows of a test of 400 ticks: after the last one the rig brakes, for a tenth of a second at most."""
WHEN = 200
OTHER = b"another program's data" * 100_000
"""Longer than the record is by then."""


def moved(path: Path) -> None:
    path.rename(path.with_name("elsewhere.h5"))


def replaced(path: Path) -> None:
    path.with_name("other").write_bytes(OTHER)
    path.with_name("other").replace(path)


def truncated(path: Path) -> None:
    os.truncate(path, 0)


def overwritten(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(OTHER)


@pytest.mark.parametrize(
    ("happens", "said", "left"),
    [
        (Path.unlink, "was removed", None),
        (moved, "was moved or renamed", None),
        (replaced, "was replaced by another file", OTHER),
        (truncated, "was truncated or overwritten by another program", b""),
        (overwritten, "was truncated or overwritten by another program", OTHER),
    ],
    ids=["removed", "moved", "replaced", "truncated", "overwritten"],
)
def test_a_record_that_loses_its_file_trips_the_test_and_is_saved_elsewhere(
    tmp_path: Path, rig_in_step: Rig, happens: Callable[[Path], None], said: str, left: bytes | None
) -> None:
    output = tmp_path / "run.h5"

    def change() -> None:
        wait_for(lambda: len(halfreal.load_run(output).time) > 50, "some rows in the file")
        happens(output)

    with Proxy(rig_in_step.port, commands=At(WHEN, change)) as proxy:
        run = halfreal.run(definition(tmp_path, proxy.port, IN_STEP, LONG), output)
        record = rig_in_step.record()
    assert (run.outcome, run.reason) == ("tripped", f"the record can no longer be written: 'run.h5' {said}")
    assert run.events[-1].text == f"'run.h5' {said}; the record is in '{tmp_path / 'run.recovered.h5'}'"
    assert (output.read_bytes() if output.exists() else None) == left, "what took its place was touched"
    saved = halfreal.load_run(tmp_path / "run.recovered.h5")
    assert (saved.outcome, saved.reason) == (run.outcome, run.reason)
    assert saved.time[0] == 0.0 and len(saved.time) > WHEN
    assert_every_tick(saved)
    assert_held_after_trip(saved)
    assert_obeyed(saved, record)
    assert [event.text for event in saved.events if event.channel == "guard.cause"], "its trip is among its events"
    if happens is moved:
        where = halfreal.load_run(tmp_path / "elsewhere.h5")
        assert (where.outcome, where.reason) == (run.outcome, run.reason)
    assert not list(tmp_path.glob(".*"))


def test_the_command_line_says_where_the_record_went_and_its_exit_code_is_no(tmp_path: Path, rig_in_step: Rig) -> None:
    """Removed after the last row: the test is complete, its record not where it was asked for."""
    (tmp_path / "run.recovered.h5").write_bytes(OTHER)
    removes = "import pathlib, halfreal.live.session as s; f = s.Session.conclude; "
    removes += "s.Session.conclude = lambda self: (f(self), self.output.exists() and self.output.unlink()); "

    class Careless(Process):
        code = removes + Process.code

    file = written(tmp_path / "test.toml", {"link.rig": f"127.0.0.1:{rig_in_step.port}"}, IN_STEP)
    with Careless(tmp_path, "run", "run", str(file), "--start", "--output", str(tmp_path / "run.h5")) as process:
        assert process.ends() == 1
    kept = tmp_path / "run.recovered-2.h5"
    assert f"'run.h5' was removed; the record is in '{kept}'" in process.said
    assert f"run file: {kept}" in process.said
    assert halfreal.load_run(kept).outcome == "completed"
    assert (tmp_path / "run.recovered.h5").read_bytes() == OTHER


def test_a_file_that_is_truncated_after_the_last_row_is_replaced_by_the_rows_of_the_ring(
    tmp_path: Path, rig_in_step: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    conclude = halfreal.Session.conclude

    def late(session: halfreal.Session) -> None:
        truncated(tmp_path / "run.h5")
        conclude(session)

    monkeypatch.setattr(halfreal.Session, "conclude", late)
    run = halfreal.run(definition(tmp_path, rig_in_step.port, IN_STEP), tmp_path / "run.h5")
    assert run.outcome == "completed" and "'run.h5' can no longer be read or written" in run.events[-1].text
    saved = halfreal.load_run(tmp_path / "run.recovered.h5")
    assert saved.outcome == "completed" and len(saved.time) in WHOLE
    assert (tmp_path / "run.h5").stat().st_size == 0


# --- the end of a test ----------------------------------------------------------------------------------------------


def test_a_disk_that_is_full_when_the_record_is_packed_takes_nothing_from_it(
    tmp_path: Path, rig_in_step: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(run_file, "_write_data", full)
    run = halfreal.run(definition(tmp_path, rig_in_step.port, IN_STEP), tmp_path / "run.h5")
    assert run.outcome == "completed" and "the record was not compressed" in run.events[-1].text
    saved = halfreal.load_run(tmp_path / "run.h5")
    assert (saved.outcome, saved.reason, saved.limits_used) == ("completed", "", run.limits_used)
    assert 401 <= len(saved.time) <= 501  # it brakes at its end
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=["KILL", "TERM", "INT"])
def test_a_test_that_is_over_stays_completed_when_the_packing_is_cut_short(
    tmp_path: Path, rig_in_step: Rig, number: int
) -> None:
    cut = f"import os, halfreal.records.run_file as f; f._write_data = lambda *a: os.kill(os.getpid(), {int(number)}); "

    class Cut(Process):
        code = cut + Process.code

    file = written(tmp_path / "test.toml", {"link.rig": f"127.0.0.1:{rig_in_step.port}"}, IN_STEP)
    with Cut(tmp_path, "run", "run", str(file), "--start", "--output", str(tmp_path / "run.h5")) as process:
        code = {signal.SIGKILL: -signal.SIGKILL, signal.SIGTERM: 128 + signal.SIGTERM, signal.SIGINT: 130}[number]
        assert process.ends() == code
    run = halfreal.load_run(tmp_path / "run.h5")
    assert (run.outcome, run.reason) == ("completed", "") and len(run.time) in WHOLE
    with h5py.File(tmp_path / "run.h5") as file:
        assert "live" in file, "it was packed before"
    left = list(tmp_path.glob(".*"))
    assert len(left) == (number == signal.SIGKILL)
    remove_leftovers(tmp_path)  # as the next command that writes there does
    assert not list(tmp_path.glob(".*"))


# --- the rig's own record -------------------------------------------------------------------------------------------


def test_the_rigs_own_record_holds_all_of_a_session_far_longer_than_its_definition(
    tmp_path: Path,
) -> None:
    ticks, step = 70_000, {"timing.step": "0.1 ms"}  # the rig's definition has 4000, and its ring has room for 65 536
    duration = {"timing.duration": f"{ticks * 1e-4} s", "record.every": 100}
    with Rig(tmp_path, "--in-step", "--once", changes=step) as rig:
        run = halfreal.run(definition(tmp_path, rig.port, IN_STEP, step, duration), tmp_path / "run.h5")
        record = rig.record()
        assert run.outcome == "completed" and "not in the record" not in rig.said
    newest = column(record, "link.newest").astype(int)
    assert set(range(2, ticks + 2)) <= set(newest.tolist()), "a command is missing"
    assert ticks * 1e-4 - 2e-4 <= record.time[-1] <= ticks * 1e-4 + BRAKING + 2e-4


def test_rows_that_the_rigs_own_record_lacks_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    take = recorder.take

    def full(ring: object, writer: object, count: int) -> None:
        if writer.rows:  # type: ignore[attr-defined]
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        take(ring, writer, count)  # type: ignore[arg-type]

    monkeypatch.setattr(recorder, "take", full)
    rig = VirtualRig(definition(tmp_path, 0, {"link.rig": ANYWHERE}), in_step=True)
    try:
        record = RigRecord(rig.definition, rig._channels, tmp_path / "rig.h5")
        record.begin()
        rows = record.ring.rows
        rows[:150] = 0.0
        rows[:150, 0] = 1e-3 * np.arange(150)
        record.words[ROWS] = 100
        wait_for(lambda: record.waiting_rows == 0, "the first rows in the file")
        record.words[ROWS] = 150
        said = record.finish("completed", "")
    finally:
        rig.close()
    assert "50 rows of the session are missing from the record: No space left on device" in said
    assert said[-1] == f"record: {tmp_path / 'rig.h5'}"
    with Process(tmp_path, "info", "info", str(tmp_path / "rig.h5")) as info:  # HDF5 has it open in this process
        assert info.ends() == 0
    assert "100 samples" in info.said
