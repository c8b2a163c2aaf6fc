"""While measurements are missing nothing moves and no time of the test passes, in any of its states."""

from __future__ import annotations

import numpy as np
import pytest

from halfreal.kernels.block import Block, Channel
from halfreal.kernels.control import EMERGENCY_STOP, NONE, RECORD_FAILS, REQUEST, ROWS, STOP, WORDS
from halfreal.kernels.loop import Loop
from halfreal.kernels.modes import FINISHED, RAMP_DOWN, RAMPING, RUNNING, STOPPED_AT_REST, TRIPPED
from halfreal.safety.guard import BY_OPERATOR, GuardPlan, Seen, guard
from halfreal.safety.limits import Limits

DT, BEFORE, END, STOPS = 1e-3, 30, 60, 40
NAMES = ("command.asked", "target", "measured.displacement", "measured.force", "energy.error")
RECORD = ["command", "guard.mode", "guard.cause", "source.ticks"]
STALLED = 25


def sine_step(p, s, t, u, y):
    s.ticks += 1.0
    y[0] = y[1] = 1e-3 * np.sin(60.0 * t)
    y[2], y[3] = 0.0, s.ticks
    return 0


def rig_step(p, s, t, u, y):
    """Follows, and its measurements are missing for some of its periods; how often it was called, and with what."""
    k = int(s.calls)
    s.commands[min(k, s.commands.size - 1)] = u[0]
    s.calls += 1.0
    y[0], y[1] = u[0], 0.0
    y[2] = 1.0 if p.first <= s.calls < p.first + p.lasts else 0.0
    return 0


class Stalling:
    def __init__(self, first: int, lasts: int, soft_stop: float = 0.0, **limits: object) -> None:
        outputs = (*(Channel(name, "m") for name in (NAMES[0], NAMES[1], NAMES[4])), Channel("source.ticks", "1"))
        source = Block("source", sine_step, (), outputs, {}, {"ticks": 0.0})
        ends = {"soft_start": BEFORE * DT, "soft_stop": soft_stop, "duration": END * DT}
        plan = GuardPlan(DT, Seen(*((name,) for name in NAMES)), np.zeros(1), **ends, stale="link.stale")
        measured = (*(Channel(name, "m") for name in NAMES[2:4]), Channel("link.stale", "1"))
        state = {"calls": 0.0, "commands": np.zeros(400)}
        rig = Block("rig", rig_step, ("command",), measured, {"first": float(first), "lasts": float(lasts)}, state)
        blocks = [source, guard(Limits(after_trip=0.01, return_time=0.04, **limits), plan)]  # type: ignore[arg-type]
        timed = {"start": -BEFORE, "end": END, "hold": "link.stale", "held_from": "guard"}
        self.loop = Loop(blocks, outer=[rig], dt=DT, **timed)  # type: ignore[arg-type]
        guarded = self.loop.state("guard")
        guarded["applied"][:] = guarded["held"][:] = 0.004
        self.words = np.zeros(WORDS, dtype=np.int64)

    def drive(self, ticks: int, request: int = NONE) -> np.ndarray:
        log = np.zeros((ticks, 1 + len(RECORD)))
        self.words[ROWS], self.words[REQUEST] = 0, request
        self.loop.drive(ticks, log, RECORD, self.words)
        return log[: self.words[ROWS], 1:]

    @property
    def commands(self) -> np.ndarray:
        """What came to the rig, one for each of its periods."""
        state = self.loop.state("rig")
        return np.array(state["commands"][: int(state["calls"])])


def whole(first: int, lasts: int, tripped: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Commands at the rig and rows of a test that stops at its end, or trips at STOPS and returns."""
    test = Stalling(first, lasts, soft_stop=0.04, on_trip="return")
    rows = test.drive(BEFORE + STOPS if tripped else 1000)
    if tripped:
        rows = np.concatenate([rows, test.drive(1000, RECORD_FAILS)])
    return test.commands, rows


@pytest.mark.parametrize(("tripped", "at"), [(False, 12), (False, 55), (False, 110), (True, 85)])
def test_a_stall_holds_the_command_and_the_test_then_continues_from_there(tripped: bool, at: int) -> None:
    """Ramping, running, on the way down, and returning after a trip."""
    smooth, rows = whole(1000, 0, tripped)
    stalled, others = whole(at, STALLED, tripped)
    assert set(stalled[at : at + STALLED]) == {stalled[at - 1]}, "it moved while it was blind"
    np.testing.assert_array_equal(np.delete(stalled, np.s_[at : at + STALLED]), smooth)
    modes = {12: RAMPING, 55: RUNNING, 110: RAMP_DOWN, 85: TRIPPED}
    assert rows[at, 1] == modes[at]
    if modes[at] in (RAMPING, RUNNING):
        np.testing.assert_array_equal(others, rows), "no row of a tick that is held"
    assert others[-1, 1] == (FINISHED if tripped else STOPPED_AT_REST)


@pytest.mark.parametrize(("request_", "mode"), [(EMERGENCY_STOP, TRIPPED), (RECORD_FAILS, TRIPPED), (STOP, RAMP_DOWN)])
def test_the_operator_is_obeyed_during_a_stall_and_nothing_moves(request_: int, mode: float) -> None:
    test = Stalling(50, 1000, on_trip="return")
    test.drive(50)
    held = test.commands[-1]
    rows = test.drive(20, request_)
    assert rows[0, 1] == mode and set(test.commands[50:]) == {held}


def test_an_emergency_stop_does_not_wait_for_measurements() -> None:
    """With a limit of braking it has a way to go, which it goes on while measurements are lost."""
    test = Stalling(BEFORE + 45, 1000, braking=[0.2])
    test.drive(BEFORE + 40)
    before = test.commands
    rows = test.drive(300, EMERGENCY_STOP)
    assert rows[-1, 1] == FINISHED and rows[-1, 2] == BY_OPERATOR
    speed = abs(before[-1] - before[-2]) / DT
    assert abs(rows[-1, 0] - before[-1]) == pytest.approx(0.5 * speed**2 / 0.2, rel=1e-6)


@pytest.mark.parametrize("request_", [STOP, RECORD_FAILS])
@pytest.mark.parametrize("stops", range(5, 20))
def test_what_brakes_without_measurements_comes_to_rest_and_sets_out_only_after_them(stops: int, request_: int) -> None:
    """Braking ends within a step, in the rest of which the way home does not begin."""
    blind = 100
    test = Stalling(BEFORE + stops + 1, blind, soft_stop=0.04, on_trip="return", braking=[5.0])
    test.drive(BEFORE + stops)
    first = len(test.commands)  # has measurements; those after it have none
    test.drive(1000, request_)
    ways = np.diff(test.commands[first - 1 :])
    without = ways[:blind]
    assert np.all(np.diff(np.abs(without)) <= 1e-12) and np.all(without * without[0] >= 0.0), "it did not only brake"
    rest = test.loop.state("guard")["held"][0]
    assert test.commands[first + blind - 1] == pytest.approx(rest, abs=1e-12), "it has begun to return"
    assert without[-1] == 0.0 and test.commands[-1] == pytest.approx(0.0, abs=1e-12)
