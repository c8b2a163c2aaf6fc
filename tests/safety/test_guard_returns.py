"""Ways home: an emergency stop moves nothing, and a return is watched by every limit until it has arrived."""

import math

import numpy as np
import pytest

from halfreal.kernels.block import Block, Channel
from halfreal.kernels.control import EMERGENCY_STOP, NONE, RECORD_FAILS, REQUEST, ROWS, STOP, WAIT, WORDS
from halfreal.kernels.loop import Loop
from halfreal.kernels.modes import FINISHED, RAMP_DOWN, RUNNING, STOPPED_AT_REST
from halfreal.safety.guard import BLOCK_FAULT, BY_OPERATOR, BY_RECORDER, GuardPlan, Seen, guard
from halfreal.safety.limits import Limits

DT, END = 1e-3, 20
NAMES = ("command.asked", "target", "measured.displacement", "measured.force", "energy.error")
RECORD = ["command", "guard.mode", "guard.cause", "guard.halted"]
FORCE = 5.0
"""Cause: the measured force."""


def asking_step(p, s, t, u, y):
    """Asks for 10 mm."""
    y[0] = y[1] = p.asked
    y[2] = 0.0
    return 0


def rig_step(p, s, t, u, y):
    """Follows at once, unless it is stuck; its force and its status are what the test says."""
    y[0] = 0.010 if p.stuck != 0.0 else u[0]
    y[1] = p.force
    return int(p.status)


class Guarded:
    """A guard between a test that asks for 10 mm and a rig whose force the test chooses."""

    def __init__(self, limits: Limits, soft_stop: float = 0.0, commands: str = "displacement", before: int = 0) -> None:
        outputs = tuple(Channel(name, "m") for name in (NAMES[0], NAMES[1], NAMES[4]))
        source = Block("source", asking_step, (), outputs, {"asked": 0.010})
        inputs = ((name,) for name in NAMES)
        ends = {"soft_start": before * DT, "soft_stop": soft_stop, "duration": END * DT}
        watch = guard(limits, GuardPlan(DT, Seen(*inputs), np.zeros(1), **ends, commands=commands))
        measured = tuple(Channel(name, "m") for name in NAMES[2:4])
        rig = Block("rig", rig_step, ("command",), measured, {"force": 0.0, "status": 0.0, "stuck": 0.0})
        self.loop = Loop([source, watch], outer=[rig], dt=DT, start=-before, end=END)
        self.words = np.zeros(WORDS, dtype=np.int64)

    def drive(self, ticks: int, request: int = NONE, **rig: float) -> np.ndarray:
        """Rows of these ticks: command, mode, cause, halted."""
        for field, value in rig.items():
            self.loop.parameter("rig")[field] = value
        log = np.zeros((ticks, 1 + len(RECORD)))
        self.words[ROWS], self.words[REQUEST] = 0, request
        self.loop.drive(ticks, log, RECORD, self.words)
        return log[: self.words[ROWS], 1:]


RETURNS = {"on_trip": "return", "return_time": 0.05, "after_trip": 0.01}


@pytest.mark.parametrize("during", ["running", "ramp-down"])
def test_an_emergency_stop_holds_also_where_a_trip_would_return(during):
    test = Guarded(Limits(**RETURNS), soft_stop=0.05)
    test.drive(10 if during == "running" else 40)
    before = test.drive(1)[-1]
    assert before[1] == (RUNNING if during == "running" else RAMP_DOWN)
    log = test.drive(200, EMERGENCY_STOP)
    assert np.all(log[:, 0] == before[0]) and before[0] != 0.0
    assert np.all(log[:, 2] == BY_OPERATOR) and log[-1, 1] == FINISHED


def test_an_emergency_stop_on_the_way_home_holds_where_it_is():
    test = Guarded(Limits(**RETURNS))
    test.drive(5)
    away = test.drive(20, RECORD_FAILS)[-1]
    assert 0.0 < away[0] < 0.010 and away[2] == BY_RECORDER
    log = test.drive(200, EMERGENCY_STOP)
    assert np.all(log[:, 0] == away[0])
    assert np.all(log[:, 2] == BY_RECORDER) and np.all(log[:, 3] == BY_OPERATOR) and log[-1, 1] == FINISHED


def test_stopping_before_anything_has_moved_moves_nothing():
    test = Guarded(Limits(safe_position=[0.0]), soft_stop=0.05, before=10)
    test.loop.state("guard")["applied"][:] = test.loop.state("guard")["held"][:] = 0.015
    test.words[WAIT] = 1
    test.drive(0)
    log = test.drive(100, STOP)
    assert np.all(log[:, 0] == 0.015) and log[-1, 1] == STOPPED_AT_REST


@pytest.mark.parametrize("waits", [True, False], ids=["armed", "first tick"])
def test_a_trip_before_anything_has_moved_moves_nothing(waits):
    test = Guarded(Limits(**RETURNS, force={"trip": 45.0}), before=10)
    test.loop.state("guard")["applied"][:] = test.loop.state("guard")["held"][:] = 0.015
    test.loop.vector[test.loop.index["measured.force"]] = 46.0
    test.words[WAIT] = int(waits)
    log = test.drive(200, force=46.0)
    assert np.all(log[:, 0] == 0.015) and log[-1, 1] == FINISHED and log[-1, 2] == FORCE


def test_before_anything_has_moved_a_force_is_let_go_all_the_same():
    test = Guarded(Limits(), soft_stop=0.05, commands="force")
    test.loop.state("guard")["applied"][:] = test.loop.state("guard")["held"][:] = 3.0
    log = test.drive(100, STOP)
    assert log[-1, 0] == pytest.approx(0.0, abs=1e-15) and log[-1, 1] == STOPPED_AT_REST


@pytest.mark.parametrize("request_", [EMERGENCY_STOP, RECORD_FAILS])
def test_a_rig_commanded_in_force_lets_go_on_every_trip_whatever_happens_on_the_way(request_):
    test = Guarded(Limits(return_time=0.05, after_trip=0.01, force={"trip": 45.0}), commands="force")
    test.drive(5)
    log = test.drive(200, request_, force=math.nan, status=3.0)
    assert log[0, 0] == 0.010 and log[-1, 0] == pytest.approx(0.0, abs=1e-17)
    assert np.all(np.diff(log[:, 0]) <= 0.0) and np.all(log[:, 3] == 0.0)


@pytest.mark.parametrize("force", [46.0, 500.0, math.nan, -math.inf])
def test_a_return_holds_when_a_limit_is_passed_on_the_way(force):
    test = Guarded(Limits(**RETURNS, force={"trip": 45.0}))
    test.drive(5)
    away = test.drive(20, RECORD_FAILS)[-1]
    log = test.drive(200, RECORD_FAILS, force=force)
    assert np.all(log[1:, 0] == log[0, 0]) and 0.0 < log[0, 0] < away[0]
    assert log[-1, 3] == FORCE and log[-1, 1] == FINISHED
    assert np.all(log[:, 2] == BY_RECORDER), "the cause of the trip stays"


def test_a_return_from_a_limit_goes_on_unless_the_value_grows():
    limits = Limits(**RETURNS, force={"trip": 45.0})
    test = Guarded(limits)
    test.drive(5)
    test.drive(1, force=46.0)
    log = test.drive(200, force=49.0)  # by less than a tenth of the limit
    assert log[0, 2] == FORCE and log[-1, 0] == pytest.approx(0.0, abs=1e-17) and log[-1, 3] == 0.0
    test = Guarded(limits)
    test.drive(5)
    test.drive(3, force=46.0)
    log = test.drive(200, force=51.0)
    assert log[-1, 3] == FORCE and log[-1, 0] > 0.009


def test_a_rig_that_has_a_fault_is_not_brought_home():
    test = Guarded(Limits(**RETURNS))
    test.drive(5)
    log = test.drive(200, status=7.0)
    assert log[-1, 2] == BLOCK_FAULT and log[-1, 3] == BLOCK_FAULT
    assert np.all(log[:, 0] == 0.010)


def test_a_fault_that_is_over_does_not_keep_the_rig_from_returning():
    test = Guarded(Limits(**RETURNS))
    test.drive(5)
    test.drive(1, status=7.0)
    log = test.drive(200, status=0.0)
    assert log[0, 2] == BLOCK_FAULT and log[-1, 3] == 0.0
    assert log[-1, 0] == pytest.approx(0.0, abs=1e-17)


@pytest.mark.parametrize("trips", [False, True])
def test_a_rig_that_does_not_follow_on_its_way_home_is_held(trips):
    """It sticks at 10 mm: the gap between command and rig grows beyond its limit, and the lag of the test."""
    test = Guarded(Limits(**RETURNS, gap={"trip": 2e-3}), soft_stop=0.05)
    test.loop.vector[test.loop.index["measured.displacement"]] = 0.010
    test.loop.state("guard")["applied"][:] = 0.010
    test.drive(END if not trips else 5)
    log = test.drive(300, RECORD_FAILS if trips else NONE, stuck=1.0)
    assert log[-1, 1] == FINISHED and log[-1, 3 if trips else 2] == 6.0
    assert 0.010 - log[:, 0].min() < 2.5e-3, "it was driven home all the same"
