"""How a slow test moves its rig: ramp, settle, average, advance; what holds it, and what its operator may say.

The bench follows its command with a lag, period by period, and keeps a log of its own: what the motion made of it is
compared with that.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from halfreal.definition.definition import Definition
from halfreal.kernels.block import Block, Channel
from halfreal.kernels.control import AGAIN, EMERGENCY_STOP, PAUSE, REQUEST, SPEED, WORDS
from halfreal.kernels.loop import Loop
from halfreal.kernels.modes import FINISHED, RUNNING, STOPPED_AT_REST, TRIPPED
from halfreal.kernels.tick import TICK
from halfreal.safety.guard import GuardPlan, Seen, guard
from halfreal.safety.limits import Commands, Limits
from halfreal.safety.slow_motion import HOLDING, MOVING, NOT_MEASURED, NOT_SETTLED, PAUSED, SHARE_OF_RATE, Slow
from live.processes import wait_for

STEP, PERIOD, ROOM = 0.01, 1e-3, 4096
GOALS = np.array([1e-3, -2e-3, 0.5e-3, 3e-3])
STIFFNESS = 5e4
RECORD = ["motion.command", "measured.displacement", "measured.force", "motion.settled", "motion.clock", "command"]


def asked_step(p, s, t, u, y):
    y[0], y[1] = p.goals[min(max(round(t / p.step), 0), p.goals.size - 1)], 0.0
    return 0


def bench_step(p, s, t, u, y):
    """A lag of first order, whose displacement is read with noise by a camera that loses frames."""
    now = int(s.count)
    s.place += p.lag * (p.gain * u[0] - s.place)
    seen = s.place + p.noise[now % p.noise.size]
    lost = p.lost_from <= now < p.lost_until
    y[0], y[1] = np.nan if lost else seen, p.stiffness * s.place
    if now < s.command.size:
        s.command[now], s.sensed[now] = u[0], y[0]
    if u[0] != s.last and s.moves < s.way.size:
        s.way[int(s.moves)] = s.last = u[0]
        s.moves += 1.0
    s.count += 1.0
    return 0


def motion_loop(
    goals: np.ndarray = GOALS,
    *,
    limits: Limits | None = None,
    lag: float = 1.0,
    noise: np.ndarray | None = None,
    lost: tuple[float, float] = (0.0, 0.0),
    commands: Commands = "displacement",
    **slow: object,
) -> Loop:
    settings = Slow(**{"period": PERIOD, "ramp": 0.02, **slow})
    limits, start, unit = limits or Limits(), np.zeros(1), "N" if commands == "force" else "m"
    rate = limits.command_rate.values("trip", 1)
    source = Block(
        "source",
        asked_step,
        (),
        (Channel("command.asked", "m"), Channel("energy.error", "1")),
        {"goals": goals, "step": STEP},
    )
    names = (("sensed.displacement",), ("sensed.force",))
    motion = settings.block(STEP, unit, ("command.asked",), *names, rate, start, commands)
    watch = (("motion.command",), ("motion.command",), ("motion.displacement",), ("sensed.force",), ("energy.error",))
    bench = Block(
        "bench",
        bench_step,
        ("command",),
        (Channel("sensed.displacement", "m"), Channel("sensed.force", "N")),
        {
            "lag": lag,
            "gain": 1.0 / STIFFNESS if commands == "force" else 1.0,
            "noise": np.zeros(16) if noise is None else noise,
            "lost_from": lost[0],
            "lost_until": lost[1],
            "stiffness": STIFFNESS,
        },
        {
            "place": 0.0,
            "count": 0.0,
            "command": np.zeros(ROOM),
            "sensed": np.zeros(ROOM),
            "last": 0.0,
            "moves": 0.0,
            "way": np.zeros(ROOM),
        },
    )
    kind = {"commands": commands, "targets": commands}
    last = guard(limits, GuardPlan(PERIOD, Seen(*watch), start, duration=STEP * len(goals), step=STEP, **kind))
    return Loop([source, motion, last], outer=[bench], dt=STEP, end=len(goals), hold=HOLDING)


def ran(loop: Loop, ticks: int = len(GOALS)) -> dict[str, np.ndarray]:
    """Recorded channels of the ticks, and the bench's own log of the periods."""
    log = loop.run(ticks, record=RECORD).log
    return {name: log[:, 1 + i] for i, name in enumerate(RECORD)}


def periods(loop: Loop, field: str = "command") -> np.ndarray:
    bench = loop.state("bench")
    return bench[field][: int(bench["count"])].copy()


def reason(loop: Loop) -> str:
    return loop.describe(float(loop.vector[loop.index["loop.fault"]]))


# --- ramp -----------------------------------------------------------------------------------------------------------


def test_the_way_to_a_command_is_half_a_cosine_and_the_goal_is_met_exactly():
    loop = motion_loop(GOALS[:1], ramp=0.05)
    found = ran(loop, 1)
    share = np.arange(1, 51) / 50
    np.testing.assert_allclose(periods(loop)[:50], 0.5e-3 * (1.0 - np.cos(np.pi * share)), rtol=0.0, atol=1e-18)
    assert periods(loop)[49] == found["motion.command"][0] == GOALS[0]
    assert periods(loop).size == 51, "one period more, to measure"
    assert found["measured.displacement"][0] == GOALS[0]


@pytest.mark.parametrize("speed", [0, 100_000], ids=["as defined", "a hundred times faster"])
def test_no_ramp_is_faster_than_the_rate_limit_whatever_the_speed(speed):
    rate, words = 0.05, np.zeros(WORDS, dtype=np.int64)
    loop = motion_loop(limits=Limits(command_rate={"trip": rate}), ramp=0.001)
    words[SPEED] = speed
    loop.parameter("motion")["words"] = float(words.ctypes.data)
    ran(loop)
    assert reason(loop) == "" and loop.vector[loop.index["guard.mode"]] == RUNNING
    moved = np.diff(periods(loop), prepend=0.0)
    assert SHARE_OF_RATE * rate * 0.99 < np.abs(moved).max() / PERIOD <= SHARE_OF_RATE * rate
    ways = np.abs(np.diff(GOALS, prepend=0.0))
    expected = np.ceil(0.5 * np.pi * ways / (SHARE_OF_RATE * rate) / PERIOD) + 1  # and one to measure
    assert periods(loop).size == expected.sum()


# --- settle ---------------------------------------------------------------------------------------------------------


def settled_after(errors: np.ndarray, tolerance: float, time: int) -> int:
    """Periods until the error has been within the tolerance for ``time`` of them, at least one."""
    quiet = 0
    for i, error in enumerate(errors):
        quiet = quiet + 1 if abs(error) <= tolerance else 0
        if quiet >= max(time, 1):
            return i + 1
    raise AssertionError("it never settled")


@pytest.mark.parametrize(("tolerance", "time"), [(1e-6, 0), (1e-6, 25), (2e-5, 10)])
def test_the_rig_has_settled_once_it_was_within_the_tolerance_for_the_time(tolerance, time):
    noise = np.zeros(16)
    noise[3] = 1.5e-5  # leaves the narrow tolerance now and then, and the wide one never
    noise = noise if time < 16 else np.zeros(16)
    loop = motion_loop(lag=0.05, noise=noise, settle={"displacement": tolerance, "time": time * PERIOD, "timeout": 5.0})
    found = ran(loop)
    assert reason(loop) == ""
    # after the period in which the goal is commanded: the response to it is seen in the next one
    first, sensed = 20, periods(loop, "sensed")
    for tick, goal in enumerate(GOALS):
        taken = settled_after(sensed[first - 1 :] - goal, tolerance, time)
        assert found["motion.settled"][tick] == pytest.approx(taken * PERIOD)
        first += taken  # measured within the last of them
        assert found["motion.clock"][tick] == pytest.approx(first * PERIOD)
        first += 20


def test_without_a_tolerance_the_time_alone_counts():
    loop = motion_loop(lag=0.01, settle={"time": 0.03, "timeout": 1.0})
    np.testing.assert_allclose(ran(loop)["motion.settled"], 0.03)


def test_the_measurement_is_the_mean_over_the_time_of_averaging():
    noise = np.random.default_rng(1).normal(0.0, 1e-5, 16)
    loop = motion_loop(lag=0.2, noise=noise, settle={"time": 0.05, "timeout": 1.0}, average=0.023)
    found = ran(loop)
    ends = (20 + 50 + 23 - 1) * np.arange(1, len(GOALS) + 1)  # averaging begins in the period that ends the settling
    np.testing.assert_allclose(found["motion.clock"], ends * PERIOD)
    sensed = periods(loop, "sensed")
    for tick, end in enumerate(ends):
        part = sensed[end - 24 : end - 1]  # what a period sees was sensed at the end of the one before
        assert found["measured.displacement"][tick] == pytest.approx(part.mean(), rel=1e-12)
        assert part.std() > 1e-6
        assert found["measured.force"][tick] == pytest.approx(STIFFNESS * GOALS[tick], rel=1e-4)


# --- what does not settle, and frames that are lost -------------------------------------------------------------------

TIGHT = {"displacement": 1e-6, "timeout": 0.1}


def test_without_an_operator_a_rig_that_does_not_settle_is_a_fault_and_trips():
    loop = motion_loop(lag=0.0, settle=TIGHT)
    loop.run(10)
    assert reason(loop).startswith("block 'motion': the rig has not settled within 0.1 s (slow.settle); widen the")
    assert loop.vector[loop.index["guard.mode"]] == TRIPPED
    assert loop.vector[loop.index["motion.clock"]] == pytest.approx(0.12, abs=1.5 * PERIOD), "ramp and timeout"
    assert np.all(periods(loop)[19:] == GOALS[0]), "the command was not held"


def test_a_lost_frame_does_not_count_and_the_next_one_is_waited_for():
    settle = {**TIGHT, "time": 0.005}
    loop = motion_loop(GOALS[:1], lost=(10, 40), settle=settle)
    found = ran(loop, 1)
    assert reason(loop) == "" and found["measured.displacement"][0] == GOALS[0]
    assert found["motion.settled"][0] == pytest.approx(0.026), "from the first frame after the ramp on"
    # of the ten frames that are averaged four are lost
    loop = motion_loop(GOALS[:1], noise=np.linspace(-1e-7, 1e-7, 16), lost=(25, 29), settle=settle, average=0.01)
    found = ran(loop, 1)
    frames = periods(loop, "sensed")[23:33]
    assert np.isnan(frames).sum() == 4 and found["motion.clock"][0] == pytest.approx(0.034)
    assert found["measured.displacement"][0] == pytest.approx(np.nanmean(frames), rel=1e-14)


def test_without_an_operator_frames_that_are_lost_for_good_are_a_fault():
    loop = motion_loop(lost=(0, np.inf), settle=TIGHT)
    loop.run(10)
    assert reason(loop).startswith("block 'motion': no displacement was measured within 0.1 s (slow.settle.timeout);")
    assert np.all(periods(loop)[19:] == GOALS[0]), "the command was not held"


def test_a_rig_commanded_in_force_settles_by_its_force_and_waits_for_a_frame_to_be_measured():
    loads, settle = STIFFNESS * GOALS, {"force": 1.0, "time": 0.005, "timeout": 0.1}
    loop = motion_loop(loads, commands="force", lost=(10, 60), settle=settle)
    found = ran(loop)
    assert reason(loop) == "" and found["motion.settled"][0] == pytest.approx(0.005)
    np.testing.assert_allclose(found["motion.clock"][:2], [0.062, 0.087])  # the first frame is seen in period 61
    np.testing.assert_allclose(found["measured.displacement"], GOALS, rtol=1e-12)
    loop = motion_loop(loads, commands="force", lost=(10, np.inf), settle=settle)
    loop.run(3000)
    assert reason(loop).startswith("block 'motion': no displacement was measured within 0.1 s")
    assert periods(loop)[-1] == 0.0, "a force is not held but taken back"


# --- the guard ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "lag", "returns"),
    [
        ({"displacement": {"trip": 0.6e-3}}, 1.0, False),
        ({"displacement": {"trip": 0.6e-3}}, 1.0, True),
        ({"gap": {"trip": 0.2e-3}}, 0.05, False),
        ({"velocity": {"trip": 0.05}}, 1.0, False),
    ],
    ids=["displacement, held", "displacement, returned", "gap", "velocity"],
)
def test_the_guard_watches_the_way_and_ends_it(limits, lag, returns):
    trip = {"on_trip": "return", "return_time": 0.05} if returns else {"on_trip": "hold"}
    loop = motion_loop(limits=Limits(**limits, **trip, after_trip=0.05), lag=lag)
    loop.run(200)
    commands = periods(loop)
    assert loop.vector[loop.index["guard.mode"]] == FINISHED and loop.vector[TICK] < 200
    highest = int(np.argmax(commands))
    assert 0.1e-3 < commands[highest] < GOALS[0] and highest < 19, "it was not ended on its way"
    if returns:
        assert commands[-1] == 0.0 and np.all(np.diff(commands[highest:]) <= 0.0)
    else:
        assert np.all(commands[highest:] == commands[highest])


# --- the operator ---------------------------------------------------------------------------------------------------


@contextmanager
def operated(loop: Loop, **preset: int) -> Iterator[np.ndarray]:
    """A loop that runs in a thread with words for its operator, and is ended whatever happens."""
    words = np.zeros(WORDS, dtype=np.int64)
    words[PAUSE] = preset.get("pause", 0)
    loop.parameter("motion")["words"] = float(words.ctypes.data)
    thread = threading.Thread(target=loop.drive, args=(int(1e6), np.empty((0, 1)), (), words))
    thread.start()
    try:
        yield words
    finally:
        words[REQUEST] = EMERGENCY_STOP
        thread.join()


def now(loop: Loop, name: str) -> float:
    return float(loop.vector[loop.index[name]])


def reached(loop: Loop, state: float, tick: int) -> None:
    wait_for(lambda: now(loop, "motion.state") == state and loop.vector[TICK] == tick, f"state {state} at tick {tick}")


def goes_on_holding(loop: Loop, command: float) -> None:
    """The loop runs for many periods more, and the command stays."""
    bench = loop.state("bench")
    since = float(bench["count"])
    wait_for(lambda: bench["count"] > since + 1000, "the loop to go on")
    assert now(loop, "command") == command


def test_paused_between_ticks_a_single_tick_is_taken_and_the_rest_is_as_without_a_pause():
    loop, other = motion_loop(), motion_loop()
    ran(other)
    with operated(loop, pause=3) as words:  # from tick 2 on
        reached(loop, PAUSED, 2)
        goes_on_holding(loop, GOALS[1])
        words[PAUSE], words[AGAIN] = 4, 1
        reached(loop, PAUSED, 3)
        goes_on_holding(loop, GOALS[2])
        assert now(loop, "measured.displacement") == GOALS[2]
        words[PAUSE], words[AGAIN] = 0, 2
        wait_for(lambda: now(loop, "guard.mode") == STOPPED_AT_REST, "the end of the test")
    np.testing.assert_array_equal(loop.state("bench")["way"], other.state("bench")["way"])
    assert loop.state("bench")["moves"] == 20 * len(GOALS)


def test_paused_on_its_way_the_command_is_held_at_once_and_speed_is_the_operators():
    loop = motion_loop(ramp=1e4)  # ten million periods
    with operated(loop) as words:
        wait_for(lambda: now(loop, "command") > 0.0, "it to move")
        words[PAUSE] = 1
        reached(loop, PAUSED, 0)
        held = now(loop, "command")
        assert 0.0 < held < GOALS[0]
        goes_on_holding(loop, held)
        words[SPEED], words[PAUSE], words[AGAIN] = 100_000_000, 0, 1
        wait_for(lambda: now(loop, "guard.mode") == STOPPED_AT_REST, "the end of the test")
    assert now(loop, "command") == GOALS[-1]


def test_the_speed_divides_the_time_of_the_ramp():
    words = np.zeros(WORDS, dtype=np.int64)
    loop = motion_loop(ramp=0.05)
    loop.parameter("motion")["words"] = float(words.ctypes.data)
    lengths = []
    for words[SPEED] in (1000, 2500, 500, 0):
        before = now(loop, "motion.clock")
        loop.run(1)
        lengths.append(round((now(loop, "motion.clock") - before) / PERIOD))
    assert lengths == [51, 21, 101, 51]


def test_an_emergency_stop_while_paused_trips_where_it_stands():
    loop = motion_loop(limits=Limits(after_trip=0.01))
    with operated(loop, pause=2) as words:
        reached(loop, PAUSED, 1)
        words[REQUEST] = EMERGENCY_STOP
        wait_for(lambda: now(loop, "guard.mode") == FINISHED, "the end")
    assert now(loop, "command") == GOALS[0]


@pytest.mark.parametrize(
    ("broken", "mended", "state"),
    [({"lag": 0.0}, ("lag", 1.0), NOT_SETTLED), ({"lost": (0.0, np.inf)}, ("lost_until", 0.0), NOT_MEASURED)],
    ids=["not settled", "frames lost"],
)
def test_an_operator_is_asked_and_the_command_held_until_it_is_tried_again(broken, mended, state):
    loop = motion_loop(settle=TIGHT, **broken)
    with operated(loop) as words:
        reached(loop, state, 0)
        goes_on_holding(loop, GOALS[0])
        words[AGAIN] = 1  # in vain
        wait_for(lambda: loop.state("motion")["again"] == 1.0, "the motion to hear it")
        reached(loop, state, 0)
        loop.parameter("bench")[mended[0]] = mended[1]
        goes_on_holding(loop, GOALS[0])
        assert now(loop, "motion.state") == state and reason(loop) == ""
        words[AGAIN] = 2
        wait_for(lambda: now(loop, "guard.mode") == STOPPED_AT_REST, "the end of the test")
    assert now(loop, "motion.state") == MOVING and now(loop, "measured.displacement") == GOALS[-1]


# --- definitions ----------------------------------------------------------------------------------------------------


def definition(**slow: object) -> Definition:
    return Definition(
        title="t",
        timing={"step": STEP, "duration": 1.0},
        virtual={"mass": [[1.0]], "stiffness": [[100.0]], "scheme": "explicit newmark"},
        rig={"specimen": {"stiffness": [[100.0]]}},
        slow={"period": PERIOD, "ramp": 0.02, **slow},
    )


@pytest.mark.parametrize(
    ("slow", "message"),
    [
        ({"settle": {"force": 1.0}}, "the rig is commanded in displacement; give slow.settle.displacement instead"),
        ({"settle": {"displacement": [1e-6, 1e-6]}}, r"2 values for 1 axis\(es\); give one, or one for each"),
        (
            {"settle": {"time": 2.0, "timeout": 1.0}},
            "1 s is not longer than the 2 s for which the rig must have settled",
        ),
        ({"period": 0.05}, "0.05 s is longer than the shortest phase of a tick, 0.02 s; shorten it"),
    ],
)
def test_motions_that_cannot_be_are_refused(slow, message):
    with pytest.raises(ValueError, match=message):
        definition(**slow)
