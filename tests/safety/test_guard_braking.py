"""Stops, holds and returns leave with the velocity of the command, and keep within its accelerations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from halfreal.kernels.block import Block, Channel
from halfreal.kernels.control import EMERGENCY_STOP, NONE, RECORD_FAILS, REQUEST, ROWS, STOP, WORDS
from halfreal.kernels.loop import Loop
from halfreal.kernels.modes import FINISHED, RAMP_DOWN, RUNNING, STOPPED_AT_REST, TRIPPED
from halfreal.safety.guard import GuardPlan, Seen, guard
from halfreal.safety.limits import Limits

DT = 1e-3
NAMES = ("command.asked", "target", "measured.displacement", "measured.force", "energy.error")
BRAKING = 0.1
"""The longest that a trip takes to brake, as docs/limits.md promises [s]."""
RECORD = ["command", "guard.mode", "guard.cause", "guard.halted"]
AMPLITUDE, OMEGA = 2e-3, 2.0 * np.pi * 2.0
FASTEST = 1040
"""Tick of a sine of 2 Hz that begins at rest in which it is fast, and away from its middle."""


def table_step(p, s, t, u, y):
    """A motion tick by tick."""
    tick = int(s.tick)
    y[0] = y[1] = p.motion[min(tick, p.motion.size - 1)]
    y[2] = 0.0
    s.tick += 1.0
    return 0


def rig_step(p, s, t, u, y):
    y[0], y[1] = u[0], p.stiffness * u[0]
    return 0


class Moved:
    """A guard in the motion of a test."""

    def __init__(self, motion: Sequence[float] | np.ndarray, limits: Limits, soft_stop: float = 0.0) -> None:
        outputs = tuple(Channel(name, "m") for name in (NAMES[0], NAMES[1], NAMES[4]))
        source = Block("source", table_step, (), outputs, {"motion": np.asarray(motion)}, {"tick": 0.0})
        plan = GuardPlan(DT, Seen(*((name,) for name in NAMES)), np.zeros(1), soft_stop=soft_stop)
        measured = tuple(Channel(name, "m") for name in NAMES[2:4])
        rig = Block("rig", rig_step, ("command",), measured, {"stiffness": 0.0})
        self.loop = Loop([source, guard(limits, plan)], outer=[rig], dt=DT)
        self.words = np.zeros(WORDS, dtype=np.int64)

    def drive(self, ticks: int, request: int = NONE) -> np.ndarray:
        log = np.zeros((ticks, 1 + len(RECORD)))
        self.words[ROWS], self.words[REQUEST] = 0, request
        self.loop.drive(ticks, log, RECORD, self.words)
        return log[: self.words[ROWS], 1:]


def sine(ticks: int = 4000) -> np.ndarray:
    t = DT * np.arange(1, ticks + 1)
    return AMPLITUDE * np.sin(OMEGA * t) * np.clip(t / 1.0, 0.0, 1.0) ** 2


def accelerations(command: np.ndarray) -> np.ndarray:
    return np.abs(np.diff(command, n=2)) / DT**2


def stopped(limits: Limits, request: int, soft_stop: float = 0.0, motion: np.ndarray | None = None, at: int = FASTEST):
    """Commands before and after a request, and modes after it."""
    test = Moved(sine() if motion is None else motion, limits, soft_stop)
    before, after = test.drive(at), test.drive(4000, request)
    return before[:, 0], np.concatenate([before[-2:, 0], after[:, 0]]), after


RETURN = {"on_trip": "return", "return_time": 2.0, "after_trip": 0.01}
HOLD = {"after_trip": 0.01}


@pytest.mark.parametrize(
    ("limits", "request_", "soft_stop"),
    [(HOLD, STOP, 2.0), (HOLD, STOP, 0.0), (HOLD, RECORD_FAILS, 0.0), (RETURN, RECORD_FAILS, 0.0)],
    ids=["smooth stop", "stop without a soft stop", "hold", "return"],
)
def test_it_leaves_with_the_velocity_and_accelerations_of_the_test(limits, request_, soft_stop):
    before, after, rows = stopped(Limits(**limits), request_, soft_stop)
    own, speed = accelerations(before).max(), abs(after[1] - after[0]) / DT
    assert speed > 0.02
    assert accelerations(after).max() <= own * (1.0 + 1e-6)
    at_once = abs(after[2] - after[1]) / DT
    assert at_once == pytest.approx(speed - 0.5 * own * DT, rel=1e-3), "it did not leave with its velocity"
    if limits is HOLD and soft_stop == 0.0:
        rest = abs(after[-1] - after[1])
        assert rest == pytest.approx(0.5 * speed**2 / own, rel=1e-6)
    else:
        assert after[-1] == pytest.approx(0.0, abs=1e-15)
    assert rows[0, 1] == (RAMP_DOWN if request_ == STOP else TRIPPED)
    assert rows[-1, 1] == (STOPPED_AT_REST if request_ == STOP else FINISHED)


def test_an_emergency_stop_is_immediate_without_a_limit_of_braking():
    _, after, _ = stopped(Limits(**RETURN), EMERGENCY_STOP)
    assert set(after[1:]) == {after[1]}


@pytest.mark.parametrize("braking", [0.2, 1.0, 20.0])
def test_an_emergency_stop_brakes_as_hard_as_the_definition_allows(braking):
    _, after, _ = stopped(Limits(**RETURN, braking=[braking]), EMERGENCY_STOP)
    speed = abs(after[1] - after[0]) / DT
    assert accelerations(after).max() <= braking * (1.0 + 1e-6)
    assert abs(after[-1] - after[1]) == pytest.approx(0.5 * speed**2 / braking, rel=1e-6)


@pytest.mark.parametrize("request_", [STOP, RECORD_FAILS, EMERGENCY_STOP])
@pytest.mark.parametrize("braking", [0.05, 0.2])
def test_no_stop_and_no_return_has_more_than_the_limit_of_braking(request_, braking):
    hurried = {**RETURN, "return_time": 0.02}  # in which the way would take far more
    _, after, rows = stopped(Limits(**hurried, braking=[braking]), request_, soft_stop=0.02)
    assert accelerations(after).max() <= braking * (1.0 + 1e-6)
    assert rows[-1, 1] in (FINISHED, STOPPED_AT_REST)


@pytest.mark.parametrize("request_", [STOP, RECORD_FAILS])
def test_a_slow_test_needs_no_longer_than_braking_takes_at_most(request_):
    """At 10 mm/s after a smooth beginning of 10 s: with the acceleration of the test it would take seconds."""
    t = DT * np.arange(1, 20_000)
    slow = np.where(t < 10.0, 0.05 * (t - 10.0 / np.pi * np.sin(np.pi * t / 10.0)) / 5.0, 0.1 + 0.02 * (t - 10.0))
    _, after, _ = stopped(Limits(**HOLD), request_, motion=slow, at=12_000)
    speed = abs(after[1] - after[0]) / DT
    moving = np.flatnonzero(np.abs(np.diff(after[1:])) > 1e-15)
    assert moving.size == pytest.approx(BRAKING / DT, abs=1)
    assert accelerations(after).max() <= speed / BRAKING * (1.0 + 1e-6)


def test_braking_never_passes_a_limit_of_the_command():
    limit = 1.00001 * abs(sine()[FASTEST - 1])
    _, after, _ = stopped(Limits(**HOLD, command={"trip": [limit]}, braking=[0.01]), STOP)
    assert np.abs(after).max() <= limit
    assert np.abs(after).max() >= 0.99999 * limit


def test_a_limit_that_is_passed_while_braking_ends_it_at_once():
    test = Moved(sine(), Limits(**HOLD, force={"trip": 45.0}))
    test.drive(FASTEST)
    braking = test.drive(3, RECORD_FAILS)
    test.loop.parameter("rig")["stiffness"] = 1e9
    rows = test.drive(500, RECORD_FAILS)
    assert abs(rows[0, 0]) > abs(braking[-1, 0])
    assert set(rows[1:, 0]) == {rows[1, 0]} and rows[-1, 3] == 5.0


def test_until_it_stops_no_command_differs():
    test = Moved(sine(), Limits(**RETURN, braking=[0.1]))
    rows = test.drive(2000)
    np.testing.assert_array_equal(rows[:, 0], sine()[:2000])
    assert set(rows[:, 1]) == {RUNNING}
