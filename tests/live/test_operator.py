"""What an operator does, and what the terminal says: start, stop, emergency stop, refusals, exit codes."""

from __future__ import annotations

import os
import pty
import re
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import halfreal
from halfreal.cli.running import run_session
from halfreal.links.wires import LinkError
from halfreal.live import session as live_session
from halfreal.live.console import Operator
from halfreal.live.session import RefusedError
from halfreal.live.signals import LOST_TERMINAL, SENDERS
from halfreal.live.view import status
from halfreal.runs.run import Run
from live.processes import (
    IDLE,
    IN_STEP,
    STEP,
    Rig,
    armed,
    assert_every_tick,
    assert_held_after_trip,
    assert_obeyed,
    begun,
    column,
    controller,
    definition,
    sent,
    ticks,
    wait_for,
)
from live.proxy import ARM, Proxy
from live.terminal import Terminal

RAMP_DOWN = 5.0
"""Mode of the guard."""
PLACE = -1e-3
LONG = {"timing.duration": "60 s", "excitation.virtual.displacement": "3 mm"}
"""Its way is shorter than the longest step that a rig allows: commands that a busy machine held back trip nothing."""
SOFT = {"timing.soft_start": "0.1 s", "timing.soft_stop": "0.2 s"}


def assert_stopped_by(run: Run, rig: Run, by: str = "the operator") -> None:
    assert (run.outcome, run.reason) == ("tripped", f"emergency stop by {by}")
    assert [event.text for event in run.events if event.channel == "guard.cause"] == [f"trip: emergency stop by {by}"]
    assert_every_tick(run)
    assert_held_after_trip(run)
    assert_obeyed(run, rig)
    assert rig.outcome == "completed" and column(rig, "rig.state")[-1] == IDLE
    assert column(rig, "command")[-1] == column(run, "command")[-1]


@pytest.mark.parametrize("number", SENDERS, ids=[number.name for number in SENDERS])
def test_a_signal_is_an_emergency_stop(tmp_path: Path, rig: Rig, number: signal.Signals) -> None:
    with controller(tmp_path, rig.port, LONG) as process:
        wait_for(lambda: begun(tmp_path / "run.h5"), "the test to begin")
        process.signal(number)
        assert process.ends() == 1
        record = rig.record()
    assert f"emergency stop by {SENDERS[number]}" in process.said
    assert_stopped_by(halfreal.load_run(tmp_path / "run.h5"), record, SENDERS[number])


def test_a_session_waits_for_its_start_and_is_stopped_smoothly(tmp_path: Path, rig: Rig) -> None:
    safe = {"limits.safe_position": [f"{PLACE} m"], "limits.command_rate.trip": "0.5 m/s"}
    given = definition(tmp_path, rig.port, LONG, SOFT, safe)
    with armed(halfreal.Session(given, tmp_path / "run.h5"), wait=True) as session:
        sends = session.loop.index["link.sent"]
        wait_for(lambda: session.loop.vector[sends] > 50, "the loop to hold the rig")
        assert (session.state, ticks(session)) == ("armed", -100)
        session.start()
        wait_for(lambda: ticks(session) > 100, "the test to begin")
        assert session.state == "running"
        session.stop()
        session.wait()
        assert session.state == "stopped"
        run = session.finish()
    record = rig.record()
    assert (run.outcome, run.reason.startswith("by the operator at ")) == ("stopped", True)
    assert_every_tick(run)
    states = [event.text for event in run.events if event.channel == "guard.mode"]
    assert states == ["ramping", "running", "ramp-down", "stopped"]
    command, waited = column(run, "command"), column(record, "link.newest") < min(sent(run))
    assert np.count_nonzero(waited) > 20 and np.all(column(record, "command")[waited] == 0.0), (
        "it moved before its start"
    )
    down = np.flatnonzero(column(run, "guard.mode") == RAMP_DOWN)
    assert 0.2 / STEP <= down.size + 1 <= 0.4 / STEP  # it brakes, for a soft stop at most
    distances = np.abs(command[down[0] - 1 :] - PLACE)
    turn = int(np.argmax(distances))  # between two samples, the way home begins a little further out
    distance = distances[turn] + np.abs(np.diff(command[down[0] - 1 :][max(turn - 1, 0) : turn + 2])).max()
    leaves = abs(command[down[0] - 1] - command[down[0] - 2])
    assert np.abs(np.diff(command[down[0] - 1 :])).max() <= max(0.5 * np.pi * distance * STEP / 0.2, leaves) + 1e-12
    assert command[-1] == column(record, "command")[-1] == PLACE


def test_an_answer_is_heard_as_soon_as_the_question_is_put(tmp_path: Path) -> None:
    operator = Operator(halfreal.Session(definition(tmp_path, 1), tmp_path / "run.h5"))
    put: list[str] = []

    def answer(question: str) -> None:
        put.append(question)
        operator.press("\r")

    operator.ask("check", lambda: pytest.fail("it still waits"), answer)
    assert put == ["press Enter or use the page: checks the test; s ends"]


@pytest.mark.parametrize(("key", "words"), [(" ", "emergency stop by the operator"), ("s", "ended by the operator")])
def test_a_key_that_is_pressed_while_the_test_is_checked_keeps_the_rig_from_being_armed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, words: str
) -> None:
    session = halfreal.Session(definition(tmp_path, 1), tmp_path / "run.h5")  # where no rig is
    master, slave = pty.openpty()
    with os.fdopen(slave) as terminal:
        monkeypatch.setattr("sys.stdin", terminal)

        def rehearsed(*_: object, on_progress: Callable[[int, int], None], **__: object) -> None:
            os.write(master, f"\n{key}\n".encode())  # an Enter that answers no question is no answer to the next one
            wait_for(lambda: on_progress(0, 1), f"'{key}' to be heard")

        monkeypatch.setattr(live_session, "check", rehearsed)
        with pytest.raises(RefusedError, match=f"{words} before the rig was armed; it was not armed"):
            run_session(session, start=True, as_json=True)
    os.close(master)
    assert not (tmp_path / "run.h5").exists()


def test_an_excitation_is_released_by_the_operator_while_the_test_is_running(tmp_path: Path, rig: Rig) -> None:
    waits = {"excitation.release_at": ["0.1 s"], "excitation.virtual.frequency": "2 Hz", "reference": {}}
    given = definition(tmp_path, rig.port, LONG, SOFT, waits)
    with armed(halfreal.Session(given, tmp_path / "run.h5"), wait=True) as session:
        operator = Operator(session)
        operator.press("e")  # not yet
        with pytest.raises(RefusedError, match="the test is armed; the excitation can be released only"):
            session.release()
        session.start()
        wait_for(lambda: ticks(session) > 200, "the test to run without excitation")
        assert status(session).releases == 0
        operator.press("e")
        wait_for(lambda: status(session).releases == 1, "the release")
        begins = ticks(session)
        wait_for(lambda: ticks(session) > begins + 500, "the excitation")
        session.release()
        wait_for(lambda: status(session).releases == 2, "the second release")
        session.stop()
        session.wait()
        with pytest.raises(RefusedError, match="the test is stopped"):
            session.release()
        run = session.finish()
    record = rig.record()
    at = [event.time for event in run.events if event.channel == "excitation.releases"]
    assert len(at) == 2 and 0.2 < at[0] <= begins * STEP
    assert [event.text for event in run.events if event.channel == "guard.mode"][-2:] == ["ramp-down", "stopped"]
    before = column(run, "link.sent")[run.time < at[0] - 0.5 * STEP].max()
    assert not column(record, "command")[column(record, "link.newest") <= before].any(), "it moved before its release"
    assert np.abs(column(run, "target")).max() > 1e-3
    # the emulated system felt what was released in this run, not what was rehearsed
    moves = run.time[np.flatnonzero(np.nan_to_num(column(run, "reference")))]
    assert at[0] < moves[0] < at[0] + 2.5 * STEP


def test_an_emergency_stop_from_python_trips_and_nothing_leads_out_of_it(tmp_path: Path, rig: Rig) -> None:
    with armed(halfreal.Session(definition(tmp_path, rig.port, LONG, SOFT), tmp_path / "run.h5")) as session:
        wait_for(lambda: ticks(session) > 100, "the test to begin")
        session.emergency_stop()
        session.stop()
        session.start()
        session.wait()
        assert session.state == "tripped, at rest"
        run = session.finish()
        with pytest.raises(RefusedError, match="start a new session"):
            session.arm()
    record = rig.record()
    assert_stopped_by(run, record)


def test_after_an_emergency_stop_before_arming_the_rig_is_not_armed(tmp_path: Path, rig: Rig) -> None:
    session = halfreal.Session(definition(tmp_path, rig.port, LONG), tmp_path / "run.h5")
    session.emergency_stop()
    with pytest.raises(RefusedError, match="before the rig was armed; it was not armed"), armed(session):
        pass
    assert "armed" not in rig.said
    assert not (tmp_path / "run.h5").exists()


def test_an_emergency_stop_while_the_test_is_being_prepared_keeps_the_rig_from_being_armed(
    tmp_path: Path, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = halfreal.Session(definition(tmp_path, rig.port, LONG), tmp_path / "run.h5")
    monkeypatch.setattr(live_session, "lock_memory", lambda: (session.emergency_stop(), "")[1])  # the last thing before
    with pytest.raises(RefusedError, match="before the rig was armed; it was not armed"), armed(session):
        pass
    assert "armed" not in rig.said
    run = halfreal.load_run(tmp_path / "run.h5")
    assert (run.outcome, run.time.size) == ("failed", 0) and "before the rig was armed" in run.reason


def test_a_session_that_is_closed_while_it_runs_stops_the_rig_and_keeps_its_record(tmp_path: Path, rig: Rig) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        armed(halfreal.Session(definition(tmp_path, rig.port, LONG), tmp_path / "run.h5")) as session,
    ):
        wait_for(lambda: ticks(session) > 100, "the test to begin")
        raise ZeroDivisionError("a fault of the program around it")
    record = rig.record()
    assert_stopped_by(halfreal.load_run(tmp_path / "run.h5"), record, "the end of the session")


def test_a_rig_that_is_elsewhere_is_approached_smoothly_before_the_test_begins(tmp_path: Path) -> None:
    rate, stands = 0.01, 3e-3
    slow = {"limits.command_rate.trip": f"{rate} m/s", "excitation.virtual.displacement": "0.1 mm"}
    with Rig(tmp_path, "--once", "--in-step", "--at", "3 mm") as rig:
        given = definition(tmp_path, rig.port, IN_STEP, slow)
        run = halfreal.run(given, tmp_path / "run.h5")
        record = rig.record()
    assert run.outcome == "completed"
    assert_every_tick(run)
    assert_obeyed(run, record)
    command = column(run, "command")
    before = run.time < -0.5 * STEP
    assert command[0] == pytest.approx(stands, abs=rate * STEP) and column(run, "measured.displacement")[0] == stands
    assert np.all(np.abs(np.diff(command)) <= rate * STEP)
    assert np.all(np.diff(command[before]) <= 0.0)
    assert np.count_nonzero(before) >= 0.5 * np.pi * stands / rate / STEP
    # from time 0 on it is the test, but for the last bit of the way, which is still in the first measurement
    rehearsal, rest = halfreal.rehearse(given), abs(command[before][-1])
    assert rest < 1e-4 * stands
    target = column(run, "target")[~before][: rehearsal.time.size]
    np.testing.assert_allclose(target, column(rehearsal, "target"), rtol=0.0, atol=rest)


# --- refusals -------------------------------------------------------------------------------------------------------


def test_without_a_go_the_rig_is_not_armed_and_the_exit_code_is_no(tmp_path: Path, rig: Rig) -> None:
    unstable = {"rig.actuator.delay": "25 ms"}
    with controller(tmp_path, rig.port, unstable) as process:
        assert process.ends() == 1
        assert "armed" not in rig.said
    assert process.said.startswith("NO-GO") and "unstable" in process.said
    assert "the rig is not armed" in process.complained
    assert not (tmp_path / "run.h5").exists()


def test_where_no_rig_answers_the_message_says_where_and_what_to_do(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        with controller(tmp_path, port) as process:
            assert process.ends() == 2
    assert re.search(
        rf"no response from a rig at 127\.0\.0\.1:{port} within .* is it switched on and connected\?",
        process.complained,
    )
    assert "Traceback" not in process.complained
    assert not (tmp_path / "run.h5").exists()


def test_a_second_controller_is_told_that_the_rig_is_busy_and_the_first_goes_on(tmp_path: Path, rig: Rig) -> None:
    second = tmp_path / "second"
    second.mkdir()
    given = definition(tmp_path, rig.port)
    with armed(halfreal.Session(given, tmp_path / "run.h5"), wait=True) as session:
        with controller(second, rig.port) as process:
            assert process.ends() == 2
        assert f"the rig at 127.0.0.1:{rig.port} refuses: it is busy with another session" in process.complained
        session.start()
        session.wait()
        run = session.finish()
    record = rig.record()
    assert run.outcome == "completed"
    assert_every_tick(run)
    assert (column(record, "rig.state")[-1], record.outcome) == (IDLE, "completed")
    assert not (second / "run.h5").exists()


def test_a_rig_that_cannot_be_armed_leaves_a_file_that_says_so(
    tmp_path: Path, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_session, "PATIENCE", 1.0)
    with Proxy(rig.port, commands=lambda one: [] if one.kind == ARM else [one.data]) as proxy:
        with pytest.raises(LinkError, match="did not confirm within 1 s that it is armed"):
            halfreal.run(definition(tmp_path, proxy.port), tmp_path / "run.h5")
        assert "armed" not in rig.said
    run = halfreal.load_run(tmp_path / "run.h5")
    assert (run.outcome, len(run.time)) == ("failed", 0)
    assert "did not confirm within 1 s that it is armed" in run.reason


# --- at a terminal --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "outcome", "reason"),
    [(" ", "tripped", "emergency stop by the operator"), ("s", "stopped", "by the operator at ")],
    ids=["space", "s"],
)
def test_at_a_terminal_enter_starts_the_test_and_a_key_ends_it(
    tmp_path: Path, rig: Rig, key: str, outcome: str, reason: str
) -> None:
    with Terminal(tmp_path, rig.port, LONG, SOFT) as terminal:
        terminal.until("armed and holding: press Enter to start the test")
        terminal.until(r"limit of|state")
        assert halfreal.load_run(tmp_path / "run.h5").time.size == 0, "it did not wait for its start"
        terminal.press("\n")
        wait_for(lambda: terminal.said and begun(tmp_path / "run.h5"), "the test to begin")
        terminal.until("running")
        for words in ("1000 Hz; a tick takes", "overruns", "s left", "rows not yet written"):
            assert words in terminal.said
        terminal.press(key)
        assert terminal.ends() == 1
        record = rig.record()
    run = halfreal.load_run(tmp_path / "run.h5")
    assert run.outcome == outcome and run.reason.startswith(reason)
    assert run.reason in terminal.said
    assert (column(record, "rig.state")[-1], record.outcome) == (IDLE, "completed")
    assert column(record, "command")[-1] == column(run, "command")[-1]


EMERGENCY_KEYS = {
    "space": " ",
    "Esc": "\x1b",
    "arrow and function keys": "\x1b[A",
    "Ctrl-C": "\x03",
    "Ctrl-\\": "\x1c",
    "Ctrl-Z": "\x1a",
}
OTHER_KEYS = {"Ctrl-D": "\x04", "any other key": "x"}


@pytest.mark.parametrize("name", EMERGENCY_KEYS)
def test_these_keys_are_an_emergency_stop_and_never_the_end_of_the_controller(
    tmp_path: Path, rig: Rig, name: str
) -> None:
    with Terminal(tmp_path, rig.port, LONG) as terminal:
        terminal.until("press Enter to start the test")
        terminal.press("\n")
        wait_for(lambda: terminal.said and begun(tmp_path / "run.h5"), "the test to begin")
        for key in OTHER_KEYS.values():
            terminal.press(key)
        rows = len(halfreal.load_run(tmp_path / "run.h5").time)
        wait_for(lambda: len(halfreal.load_run(tmp_path / "run.h5").time) > rows + 200, "the test to continue")
        terminal.press(EMERGENCY_KEYS[name])
        assert terminal.ends() == 1
        record = rig.record()
    assert_stopped_by(halfreal.load_run(tmp_path / "run.h5"), record)


def test_every_key_and_signal_is_in_the_table_of_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "running.md").read_text()
    rows = [
        row for row in page.partition("## Keys and signals")[2].partition("\n## ")[0].splitlines() if row[:1] == "|"
    ]
    stops = [row for row in rows if "emergency stop" in row.split("|")[2]]
    for name in [*EMERGENCY_KEYS, *(number.name for number in SENDERS)]:
        assert any(name in row.split("|")[1] for row in stops), name
    for name in [*OTHER_KEYS, "Enter", "**s**", "**e**", "**p**", "**n**", "**r**", "**+ −**", "SIGKILL", "SIGSTOP"]:
        assert any(name in row.split("|")[1] for row in rows), name


def test_a_terminal_that_is_closed_is_an_emergency_stop(tmp_path: Path, rig: Rig) -> None:
    with Terminal(tmp_path, rig.port, LONG) as terminal:
        terminal.until("press Enter to start the test")
        terminal.press("\n")
        wait_for(lambda: terminal.said and begun(tmp_path / "run.h5"), "the test to begin")
        terminal.hang_up()
        assert terminal.ends() == 1
        record = rig.record()
    assert_stopped_by(halfreal.load_run(tmp_path / "run.h5"), record, LOST_TERMINAL)
