"""Terminals that take no further byte: the rig can be stopped all the same, and is its own witness."""

from __future__ import annotations

import os
import pty
import signal
from pathlib import Path

import h5py
import pytest

import halfreal
from live.processes import (
    IDLE,
    OWN_STOP,
    Rig,
    armed,
    assert_every_tick,
    assert_held_after_trip,
    assert_obeyed,
    begun,
    column,
    definition,
    kill,
    recorder_of,
    ticks,
    wait_for,
)
from live.terminal import Terminal, fill

LONG = {"timing.duration": "300 s", "title": "test [/x] of [red", "excitation.virtual.displacement": "3 mm"}
FRAMES = 500
"""Ticks in which the view is drawn some five times."""


def packed(path: Path) -> bool:
    """Whether a record is finished: nothing will be added to it."""
    try:
        with h5py.File(path) as file:
            return "live" not in file
    except OSError:  # its recorder has it
        return False


@pytest.mark.parametrize("how", ["key", "signal"])
def test_the_emergency_stop_works_while_nobody_reads_the_terminal(tmp_path: Path, rig: Rig, how: str) -> None:
    output = tmp_path / "run.h5"
    with Terminal(tmp_path, rig.port, LONG) as terminal:
        terminal.until(r"test \[/x\] of \[red")
        terminal.until("press Enter to start the test")
        terminal.press("\n")
        wait_for(lambda: terminal.said and begun(output), "the test to begin")
        terminal.fill()
        full_at = len(halfreal.load_run(output).time)
        wait_for(lambda: len(halfreal.load_run(output).time) > full_at + FRAMES, "the view to be blocked")
        first = recorder_of(terminal.pid)
        kill(first)
        wait_for(lambda: recorder_of(terminal.pid) != first, "another recorder: the first is looked after")
        if how == "key":
            terminal.press(" ")
        else:
            terminal.signal(signal.SIGTERM)
        record = rig.record()
        wait_for(lambda: packed(output), "the record to be finished")
        assert terminal.process.poll() is None, "it waits for its terminal with the result alone"
        if how == "key":
            assert terminal.ends() == 1, "once the terminal is read"
            assert "emergency stop by the operator" in terminal.said
        else:
            terminal.signal(signal.SIGTERM)
            assert terminal.process.wait(60.0) == 128 + signal.SIGTERM
    run = halfreal.load_run(output)
    by = "the operator" if how == "key" else "signal SIGTERM"
    assert (run.outcome, run.reason, run.title) == ("tripped", f"emergency stop by {by}", LONG["title"])
    assert_every_tick(run)
    assert_held_after_trip(run)
    assert_obeyed(run, record)
    assert record.outcome == "completed" and column(record, "rig.state")[-1] == IDLE
    assert column(record, "command")[-1] == column(run, "command")[-1]


def test_ctrl_s_does_not_keep_the_emergency_stop_from_the_rig(tmp_path: Path, rig: Rig) -> None:
    output = tmp_path / "run.h5"
    with Terminal(tmp_path, rig.port, LONG) as terminal:
        terminal.until("press Enter to start the test")
        terminal.press("\n")
        wait_for(lambda: terminal.said and begun(output), "the test to begin")
        terminal.press("\x13")
        stopped_at = len(halfreal.load_run(output).time)
        wait_for(lambda: len(halfreal.load_run(output).time) > stopped_at + FRAMES, "the view to be blocked")
        terminal.press(" ")
        record = rig.record()
        wait_for(lambda: packed(output), "the record to be finished")
        terminal.press("\x11")  # Ctrl-Q
        assert terminal.ends() == 1
    assert halfreal.load_run(output).reason == "emergency stop by the operator"
    assert column(record, "rig.state")[-1] == IDLE


def test_keys_pressed_before_the_operator_is_asked_start_nothing(tmp_path: Path, rig: Rig) -> None:
    with Terminal(tmp_path, rig.port, LONG) as terminal:
        terminal.press("\n\n")
        terminal.until("press Enter to start the test")
        rows = column(rig_live(rig), "command").size
        wait_for(lambda: column(rig_live(rig), "command").size > rows + FRAMES, "the rig to be held for a while")
        assert halfreal.load_run(tmp_path / "run.h5").time.size == 0, "it did not wait for its start"
        terminal.press(" ")
        assert terminal.ends() == 1


def rig_live(rig: Rig) -> halfreal.Run:
    """The rig's own record as it is now."""
    return halfreal.load_run(rig.path)


def test_a_rig_whose_own_terminal_is_blocked_makes_itself_safe(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    name = os.ttyname(slave)

    class Shown(Rig):
        @property
        def said(self) -> str:
            self._shown = getattr(self, "_shown", "")
            if "listening" not in self._shown:
                self._shown += os.read(master, 4096).decode()
            return self._shown

    try:
        with Shown(tmp_path, changes={"limits.on_trip": "hold"}, stdout=slave) as rig:
            fill(name)
            with armed(halfreal.Session(definition(tmp_path, rig.port, LONG), tmp_path / "run.h5")) as session:
                wait_for(lambda: ticks(session) > 100, "the test to begin")
                rig.signal(signal.SIGTERM)
                session.wait()
                run = session.finish()
            assert rig.ends() == 0
    finally:
        os.close(slave)
        os.close(master)
    assert run.reason == "block 'link.receive': the rig went to its safe state: its emergency stop"
    assert column(halfreal.load_run(rig.path), "rig.code")[-1] == OWN_STOP
