"""The guard as the state machine of a test: armed, ramping, running, ramp-down, stopped, tripped."""

import math

import numpy as np
import pytest

from halfreal.contracts.axes import Axes
from halfreal.kernels.atomic import store_word
from halfreal.kernels.block import Block, Channel
from halfreal.kernels.control import EMERGENCY_STOP, RECORD_FAILS, REQUEST, ROWS, ROWS_DROPPED, STOP, TICKS, WAIT, WORDS
from halfreal.kernels.loop import Loop
from halfreal.kernels.modes import FINISHED, RAMP_DOWN, RAMPING, RUNNING, STOPPED_AT_REST, TRIPPED
from halfreal.kernels.tick import COMPLETED, STOPPED
from halfreal.safety.guard import BY_OPERATOR, BY_RECORDER, GuardPlan, Seen, guard
from halfreal.safety.limits import Limits

DT = 1e-3
RECORD = ["command", "guard.mode", "guard.cause", "source.ticks", "gap"]


def source_step(p, s, t, u, y):
    """Asks for 1 mm more each millisecond, counts its ticks, and measures nothing but zero."""
    s.ticks += 1.0
    y[0] = y[1] = 1e-3 * s.ticks
    y[2] = y[3] = y[4] = 0.0
    y[5] = s.ticks
    return 0


def constants_step(p, s, t, u, y):
    for i in range(y.size):
        y[i] = p.values[i]
    return 0


def release_step(p, s, t, u, y):
    """A rig that lets a waiting loop go in its 50th tick."""
    s.count += 1.0
    y[0] = u[0]
    if s.count == 50.0:
        store_word(int(p.wait), 0)
    return 0


def loop_of(limits: Limits | None = None, before: int = 0, end: int = 10, soft_stop: float = 0.0) -> Loop:
    names = ("command.asked", "target", "measured.displacement", "measured.force", "energy.error")
    outputs = (*(Channel(name, "m") for name in names), Channel("source.ticks", "1"))
    source = Block("source", source_step, (), outputs, {}, {"ticks": 0.0})
    ends = {"soft_start": before * DT, "soft_stop": soft_stop, "duration": end * DT}
    watch = guard(limits or Limits(), GuardPlan(DT, Seen(*((name,) for name in names)), np.zeros(1), **ends))
    return Loop([source, watch], dt=DT, start=-before, end=end)


def drive(loop: Loop, ticks: int, words: np.ndarray) -> np.ndarray:
    """The rows of these ticks: time, then RECORD."""
    log = np.zeros((ticks, 1 + len(RECORD)))
    words[ROWS] = 0
    loop.drive(ticks, log, RECORD, words)
    return log[: words[ROWS]]


def test_soft_start_comes_from_where_the_rig_stands_along_a_half_cosine_and_the_test_begins_at_zero():
    loop = loop_of(before=20)
    loop.state("guard")["applied"][:] = loop.state("guard")["held"][:] = 0.004
    log = loop.run(25, record=RECORD).log
    assert np.array_equal(log[:, 0], DT * np.arange(-20, 5))
    share = np.arange(21) / 20
    assert np.allclose(log[:20, 1], 0.004 * 0.5 * (1 + np.cos(np.pi * share[:20])), atol=1e-18)
    assert np.all(log[:20, 2] == RAMPING)
    assert np.all(log[20:, 2] == RUNNING)
    assert np.array_equal(log[:, 4], [0.0] * 20 + [1.0, 2.0, 3.0, 4.0, 5.0])  # the test stood still until then
    assert np.allclose(log[20:, 1], 1e-3 * np.arange(1, 6))


def test_limits_are_watched_on_the_way_to_the_test():
    loop = loop_of(Limits(gap={"trip": 1e-3}), before=20)
    loop.state("guard")["applied"][:] = loop.state("guard")["held"][:] = 0.004
    log = loop.run(5, record=RECORD).log
    assert log[0, 2] == TRIPPED
    assert np.all(log[:, 1] == 0.004)
    assert np.all(log[:, 4] == 0.0)


def test_an_armed_loop_holds_and_records_nothing_until_it_is_let_go():
    words = np.zeros(WORDS, dtype=np.int64)
    words[WAIT] = 1
    rig = Block(
        "rig",
        release_step,
        ("command",),
        (Channel("rig.command", "m"),),
        {"wait": float(words.ctypes.data + 8 * WAIT)},
        {"count": 0.0},
    )
    waiting = Loop(loop_of(before=4).blocks, outer=[rig], dt=DT, start=-4, end=10)
    waiting.state("guard")["applied"][:] = waiting.state("guard")["held"][:] = 0.004
    log = drive(waiting, 6, words)
    assert waiting.state("rig")["count"] == 50 + 6
    assert words[TICKS] == 6
    assert np.array_equal(log[:, 0], DT * np.arange(-4, 2))
    assert log[0, 2] == RAMPING
    assert np.array_equal(log[:, 4], [0, 0, 0, 0, 1, 2])


def test_waiting_means_armed_and_the_command_stays_where_the_rig_stands():
    loop, words = loop_of(before=4), np.zeros(WORDS, dtype=np.int64)
    loop.state("guard")["applied"][:] = loop.state("guard")["held"][:] = 0.004
    words[WAIT], words[REQUEST] = 1, EMERGENCY_STOP  # an emergency stop is heard while waiting
    log = drive(loop, 3, words)
    assert log[0, 2] == TRIPPED
    assert np.all(log[:, 1] == 0.004)


def test_soft_stop_brings_the_rig_home_after_the_last_tick_and_ends_the_loop():
    loop = loop_of(Limits(safe_position=[-2e-3]), end=10, soft_stop=0.02)
    stretch = loop.run(1000, record=RECORD)
    log = stretch.log
    assert stretch.ended == STOPPED
    assert len(log) == 10 + 1 + 20  # from 1 m/s it brakes in a tick, as that is how it began to move
    assert np.all(log[10:30, 2] == RAMP_DOWN)
    assert log[30, 2] == STOPPED_AT_REST
    assert log[9:11, 1] == pytest.approx([0.010, 0.0105])
    assert log[30, 1] == pytest.approx(-2e-3, abs=1e-18)
    assert np.all(np.diff(log[10:, 1]) < 0)
    assert log[-1, 4] == 10  # the test stood still


def test_soft_stop_is_no_faster_than_the_commands_rate_limit():
    loop = loop_of(Limits(command_rate={"trip": 1.5}), end=10, soft_stop=2e-3)
    log = loop.run(1000, record=RECORD).log
    assert log[-1, 2] == STOPPED_AT_REST
    assert np.abs(np.diff(log[9:, 1])).max() <= 1.5 * DT * (1 + 1e-9)
    assert len(log) == 10 + 1 + math.ceil(0.5 * math.pi * 0.0105 / 1.5 / DT)


def test_without_a_soft_stop_the_command_holds_and_the_loop_ends():
    stretch = loop_of(end=10).run(1000, record=RECORD)
    assert stretch.ended == STOPPED
    assert stretch.log[-2:, 1] == pytest.approx([0.010, 0.0105])  # it brakes, in the tick in which it ends
    assert loop_of(end=10).run(10).ended == COMPLETED


@pytest.mark.parametrize(
    ("request_", "mode", "cause"),
    [(STOP, RAMP_DOWN, 0.0), (EMERGENCY_STOP, TRIPPED, BY_OPERATOR), (RECORD_FAILS, TRIPPED, BY_RECORDER)],
)
@pytest.mark.parametrize("at", [2, 12])
def test_requests_are_obeyed_in_the_very_next_tick_while_ramping_and_while_running(request_, mode, cause, at):
    loop, words = loop_of(Limits(on_trip="return"), before=10, soft_stop=0.5), np.zeros(WORDS, dtype=np.int64)
    before = drive(loop, at, words)
    words[REQUEST] = request_
    after = drive(loop, 5, words)
    assert np.all(after[:, 2] == mode)
    assert np.all(after[:, 3] == cause)
    assert np.all(after[1:, 4] == after[0, 4])  # from then on the virtual substructure stands still
    braked = 0.5 * DT if at == 12 and request_ != EMERGENCY_STOP else 0.0  # from 1 m/s, in a tick
    assert np.abs(after[:, 1]).max() == pytest.approx(np.abs(before[-1, 1]) + braked, abs=1e-12)


def test_a_trip_is_final_whatever_is_asked_afterwards():
    loop, words = loop_of(Limits(after_trip=0.01)), np.zeros(WORDS, dtype=np.int64)
    drive(loop, 3, words)
    words[REQUEST] = EMERGENCY_STOP
    drive(loop, 2, words)
    for request in (0, STOP):
        words[REQUEST], words[WAIT] = request, 1
        assert drive(loop, 1, words)[-1, 2] == TRIPPED
    log = drive(loop, 100, words)
    assert log[-1, 2] == FINISHED
    assert np.all(log[:, 1] == 3e-3)


@pytest.mark.parametrize(
    ("limit", "cause"), [({"velocity": {"trip": 0.9}}, 7.0), ({"acceleration": {"trip": 900.0}}, 8.0)]
)
def test_measured_velocity_and_acceleration_trip(limit, cause):
    loop = loop_of(Limits(**limit))
    loop.state("guard")["before"][:] = 1e-3  # it then measures zero: 1 m/s and 1000 m/s²
    assert list(loop.run(1, record=RECORD).log[0, 2:4]) == [TRIPPED, cause]
    quiet = loop_of(Limits(**limit, smoothing=0.1))
    quiet.state("guard")["before"][:] = 1e-3
    assert quiet.run(1, record=RECORD).log[0, 2] == RUNNING


def test_limits_are_given_once_or_for_each_axis():
    limits = Limits(force={"warn": [1.0, 2.0], "trip": 5.0}, gap={"trip": [0.1, 0.2]})
    assert np.array_equal(limits.force.values("warn", 2), [1.0, 2.0])
    assert np.array_equal(limits.force.values("trip", 2), [5.0, 5.0])
    limits.check_axes(Axes.numbered(2))
    with pytest.raises(Exception, match="2 values for 3 axis"):
        limits.check_axes(Axes.numbered(3))
    with pytest.raises(ValueError, match="a warning must come first"):
        Limits(force={"warn": [1.0, 6.0], "trip": 5.0})


def test_a_full_ring_trips_the_loop_and_counts_what_it_dropped():
    loop, words = loop_of(end=100), np.zeros(WORDS, dtype=np.int64)
    log = np.zeros((4, 1 + len(RECORD)))
    loop.drive(10, log, RECORD, words)
    assert words[ROWS] == 4
    assert words[ROWS_DROPPED] == 6
    assert "the recorder has not kept up" in loop.describe(loop.vector[loop.index["loop.fault"]])
    assert loop.state("guard")["mode"] == TRIPPED
    assert loop.state("guard")["applied"][0] == 5.5e-3  # it brakes in the tick after the first row was lost


def test_an_operators_stop_is_the_cause_on_record_also_beside_a_blocks_fault():
    loop, words = loop_of(end=100), np.zeros(WORDS, dtype=np.int64)
    drive(loop, 3, words)
    words[REQUEST] = EMERGENCY_STOP
    loop.vector[loop.index["loop.fault"]] = 1001.0
    assert drive(loop, 1, words)[0, 3] == BY_OPERATOR


@pytest.mark.parametrize(("which", "cause"), [("measured.displacement", 4.0), ("measured.force", 5.0)])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_sensors_fault_is_the_cause_not_what_the_loop_made_of_it(which, cause, value):
    names = ("command.asked", "target", "measured.displacement", "measured.force", "energy.error")
    # the loop has already carried the bad value into the command, the target and the energy
    bad = [value if name in ("command.asked", "target", which) else 0.0 for name in names]
    source = Block("source", constants_step, (), tuple(Channel(name, "m") for name in names), {"values": np.array(bad)})
    watch = guard(Limits(), GuardPlan(DT, Seen(*((name,) for name in names)), np.zeros(1)))
    log = Loop([source, watch], dt=DT).run(1, record=["guard.mode", "guard.cause"]).log
    assert list(log[0, 1:]) == [TRIPPED, cause]


@pytest.mark.parametrize("soft_stop", [0.0, 0.02])
def test_the_lag_behind_a_command_that_leads_is_no_gap_once_the_test_is_over(soft_stop):
    names = ("command.asked", "target", "measured.displacement", "measured.force", "energy.error")
    ahead = np.array([5e-3, 0.0, 0.0, 0.0, 0.0])  # synchronised, by a command that leads by 5 mm
    source = Block("source", constants_step, (), tuple(Channel(name, "m") for name in names), {"values": ahead})
    limits = Limits(gap={"trip": 1e-3})
    watch = guard(
        limits,
        GuardPlan(DT, Seen(*((name,) for name in names)), np.zeros(1), soft_stop=soft_stop, duration=10 * DT),
    )
    loop = Loop([source, watch], dt=DT, end=10)
    assert loop.run(1000, record=["guard.mode"]).log[-1, 1] == STOPPED_AT_REST
    assert limits.watched(Axes.numbered(1)).used(loop.state("guard")["peaks"]) == {"gap": 0.0}
