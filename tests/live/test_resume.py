"""A slow test that was interrupted goes on where its record ends, to the same bits as one that was not."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import halfreal
from halfreal.live.resumption import ResumptionError, resume
from halfreal.records import run_file
from halfreal.runs.build import watch
from halfreal.runs.run import Run, Signal
from live.processes import Process, armed, column, kill, ticks, wait_for
from live.proxy import At, Proxy
from live.slow import (
    PERIOD,
    SLOW,
    SPRING,
    TICKS,
    YIELDING,
    SlowRig,
    Terminal,
    assert_same_test,
    completed,
    recorded,
    slow_definition,
    slow_file,
)

REFERENCE = {"reference.substeps": 8}
LIMITS = {"limits.command.trip": "50 mm", "limits.command_rate.trip": "1 m/s", "limits.force.trip": "90 N"}
WHEN = 215
"""Sequence of the command at which a controller is killed; the first is 2."""


def test_killed_while_paused_a_yielding_specimen_goes_on_from_its_set(tmp_path: Path) -> None:
    """And all that an operator does at a terminal: p, n, +, −, r, and Enter before anything moves."""
    ticks_before = 4
    with SlowRig(tmp_path, YIELDING) as rig:
        file = slow_file(tmp_path / "test.toml", rig.port, YIELDING, REFERENCE)
        with Terminal(tmp_path, "run", "run", str(file), "--output", str(tmp_path / "run.h5")) as terminal:
            terminal.until("press Enter to start the test")
            terminal.press("p")
            terminal.press("\n")
            for tick in range(1, ticks_before + 1):
                terminal.press("n")
                terminal.until(rf"{tick} of {TICKS}: moving")
            for key, speed in (("+", "1.25"), ("-", "1")):
                terminal.press(key)
                terminal.until(f"at {speed} times the speed of the definition")
            terminal.until("paused")
            kill(terminal.pid)
            assert terminal.ends() == -signal.SIGKILL
        before = recorded(tmp_path / "run.h5")
        assert before.outcome == "failed" and before.reason.startswith("the controller was lost at")
        assert completed(before) == ticks_before, "every tick that was completed is on record"
        rig.records(1)
        assert "safe (no valid command within the lease)" in rig.said
        with Terminal(tmp_path, "resume", "resume", str(tmp_path / "run.h5")) as terminal:
            terminal.until(f"{ticks_before} completed ticks in the record; resuming at 0.04 s")
            terminal.until("press Enter to start the test")
            terminal.press("p")
            terminal.press("\n")
            terminal.until(rf"{ticks_before} of {TICKS}: moving")
            terminal.press("r")
            assert terminal.ends() == 0
        record = rig.records(2)
    run = halfreal.load_run(tmp_path / "run.resumed.h5")
    assert (run.outcome, run.reason) == ("completed", "")
    rehearsal = halfreal.rehearse(halfreal.load(file))
    assert_same_test(run, rehearsal)
    yielded = np.abs(column(run, "measured.force") - 2250.0 * column(run, "measured.displacement"))
    assert yielded[ticks_before - 1] > 0.1, "it had not yielded before"
    assert column(record, "command")[0] == column(before, "command")[ticks_before - 1], "it was not where it was left"
    told = [event.text for event in run.events if event.channel == "resumed"]
    assert told == [f"resumed after {ticks_before} completed ticks"]
    assert np.all(np.diff(column(run, "motion.clock")[:TICKS]) > 0.0), "the clock of the motion goes on"


def test_killed_on_its_way_with_a_spring_the_test_is_resumed_and_no_tick_is_lost(tmp_path: Path) -> None:
    running: list[int] = []
    killed = At(WHEN, lambda: kill(*running))
    with SlowRig(tmp_path, SPRING) as rig, Proxy(rig.port, commands=killed) as proxy:
        file = slow_file(tmp_path / "test.toml", proxy.port, SPRING, REFERENCE)
        with Process(tmp_path, "run", "run", str(file), "--output", str(tmp_path / "run.h5"), "--start") as process:
            running.append(process.pid)
            assert process.ends() == -signal.SIGKILL
        before, rehearsal = recorded(tmp_path / "run.h5"), halfreal.rehearse(halfreal.load(file))
        # a tick is recorded in the period whose command has this number: WHEN − 1 periods were begun
        clock = column(rehearsal, "motion.clock")
        assert completed(before) == np.count_nonzero(clock < (WHEN - 0.5) * PERIOD) > 5
        left = column(rig.records(1), "command")
        goals = column(rehearsal, "command")[completed(before) - 1 : completed(before) + 1]
        assert goals.min() < left[-1] < goals.max(), "it was not on its way"
        with Process(tmp_path, "resume", "resume", str(tmp_path / "run.h5"), "--start") as process:
            assert process.ends() == 0, process.complained
        first = column(rig.records(2), "command")[0]
    run = halfreal.load_run(tmp_path / "run.resumed.h5")
    assert run.outcome == "completed"
    assert_same_test(run, rehearsal)
    way = goals[1] - left[-1]
    assert first - left[-1] == pytest.approx(0.5 * (1.0 - np.cos(np.pi / 10)) * way), "not from where it was left"
    with pytest.raises(ResumptionError, match=f"the test is complete: all its {TICKS} ticks are in the record"):
        resume(halfreal.load(file), run)


def test_stopped_by_the_operator_it_waits_for_the_operator_before_it_moves_again(tmp_path: Path) -> None:
    with SlowRig(tmp_path, SPRING) as rig:
        given = slow_definition(tmp_path, rig.port, SPRING, REFERENCE, LIMITS)
        with armed(halfreal.Session(given, tmp_path / "run.h5"), wait=True) as session:
            session.pause()
            session.start()
            for tick in (1, 2, 3):
                session.step()
                wait_for(lambda t=tick: (session.state, ticks(session)) == ("paused", t), f"tick {tick}")
            session.stop()
            session.wait()
            before = session.finish()
        assert before.outcome == "stopped" and completed(before) == 3
        left = column(rig.records(1), "command")[-1]
        assert left == column(before, "command")[2]
        with armed(halfreal.Session(given, tmp_path / "on.h5", after=before), wait=True) as session:
            sends = session.loop.index["link.sent"]
            wait_for(lambda: session.loop.vector[sends] > 200, "the loop to hold the rig")
            assert (session.state, ticks(session)) == ("armed", 3)
            waited = session.loop.vector[sends]
            session.start()
            session.wait()
            run = session.finish()
        record = rig.records(2)
    assert run.outcome == "completed"
    rehearsal = halfreal.rehearse(given)
    assert_same_test(run, rehearsal)
    assert run.limits_used == rehearsal.limits_used, "those of the whole test"
    newest, commands = column(record, "link.newest"), column(record, "command")
    assert np.all(commands[newest <= waited] == left), "it moved before the operator agreed"
    told = [(event.channel, event.text) for event in run.events]
    assert ("before", "before the resumption: paused: the command is held") in told
    assert ("before", "before the resumption: stopped") in told


# --- records from which no test is resumed ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[halfreal.Definition, Run]:
    """A record that ends after ten ticks."""
    given = slow_definition(tmp_path_factory.mktemp("interrupted"), 1, SPRING)
    whole = halfreal.rehearse(given)
    return given, cut(whole, slice(0, 10))


def cut(run: Run, rows: slice | np.ndarray) -> Run:
    signals = {name: Signal(signal.unit, signal.values[rows].copy()) for name, signal in run.signals.items()}
    return replace(run, kind="run", outcome="failed", time=run.time[rows], signals=signals)


def test_the_state_of_the_loop_is_computed_anew_from_the_record(interrupted) -> None:
    given, run = interrupted
    found = resume(given, run)
    assert found.ticks == 10
    command, force = (np.abs(column(run, name)).max() for name in ("command", "measured.force"))
    watched = watch(given)
    peaks = dict(zip((entry.name for entry in watched.entries), found.peaks(watched), strict=True))
    seen = [peaks[name] for name in ("command.asked", "command rate", "measured.force")]
    assert seen == [command, 0.0, force] and command > 0.0
    assert resume(given, cut(run, slice(0, 0))).ticks == 0


def test_a_record_of_another_test_is_refused(interrupted, tmp_path: Path) -> None:
    _, run = interrupted
    other = slow_definition(tmp_path, 1, SPRING, {"virtual.mass": "2.3 kg"})
    with pytest.raises(ResumptionError, match=r"at 0\.01 s the test commands .* definition or halfreal version differ"):
        resume(other, run)
    real_time = slow_definition(tmp_path, 1, SPRING, {name: None for name in SLOW if name.startswith("slow.")})
    with pytest.raises(ResumptionError, match="is of a real-time test"):
        resume(real_time, run)


def test_a_measurement_that_was_changed_is_noticed(interrupted) -> None:
    given, run = interrupted
    changed = cut(run, slice(None))
    force = changed.signals["measured.force"].values
    force[4] *= 1.0 + 1e-9
    with pytest.raises(ResumptionError, match=r"at 0\.05 s the test commands .* but the record has"):
        resume(given, changed)


def test_a_record_with_a_gap_or_without_a_channel_or_of_a_rehearsal_is_refused(interrupted) -> None:
    given, run = interrupted
    gap = cut(run, np.r_[0:4, 5:10])
    with pytest.raises(ResumptionError, match=r"tick 4 is missing from the record \(tick 5 follows\)"):
        resume(given, gap)
    some = {name: signal for name, signal in run.signals.items() if name != "measured.force"}
    with pytest.raises(ResumptionError, match=r"the record has no measured\.force"):
        resume(given, replace(run, signals=some))
    with pytest.raises(ResumptionError, match="of a rehearsal; only a run on a rig can be resumed"):
        resume(given, replace(run, kind="rehearsal"))
    with pytest.raises(ResumptionError, match="still being written: the test is running; stop it first"):
        resume(given, replace(run, outcome="recording"))


def test_the_command_line_refuses_without_a_traceback(interrupted, tmp_path: Path) -> None:
    _, run = interrupted
    run_file.save(replace(run, kind="rehearsal"), tmp_path / "run.h5")
    with Process(tmp_path, "resume", "resume", str(tmp_path / "run.h5"), "--start") as process:
        assert process.ends() == 2
    assert process.complained.startswith("the record is of a rehearsal")
    assert "Traceback" not in process.complained and not (tmp_path / "run.resumed.h5").exists()
