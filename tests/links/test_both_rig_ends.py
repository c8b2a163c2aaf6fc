"""Both rig ends keep the rules of docs/link.md, whatever holds them up in whichever state, and they agree."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest

from links.both_ends import (
    FAULT,
    LARGEST_STEP,
    PERIOD,
    RATE,
    RETURN,
    STEP,
    STROKE,
    Motion,
    Runs,
    Script,
    in_c,
    in_python,
)
from links.by_hand import ARMED, EMERGENCY_STOP, NO_COMMAND, OWN_LIMIT, SAFE

AMPLITUDE, HERTZ = 4e-3, 5.0
"""A sine with 0.126 m/s and 3.95 m/s²."""
BEGINS = 0.002
LEASE = 50.0
BRAKING = 0.1
"""The longest that braking takes, as docs/link.md promises [s]."""
END = 400.0
TOLERANCE = 1e-12


@pytest.fixture(params=["Python", "C"])
def rig_end(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Runs:
    if request.param == "Python":
        return lambda script: in_python(script, monkeypatch)
    found = request.getfixturevalue("library")
    return lambda script: in_c(script, found)


def sine(ms: np.ndarray) -> np.ndarray:
    """From rest, with a smooth beginning of 100 ms."""
    t = 1e-3 * ms
    return BEGINS + AMPLITUDE * np.sin(2.0 * np.pi * HERTZ * t) * np.clip(t / 0.1, 0.0, 1.0) ** 2


def commands(until: float) -> list[tuple[float, float]]:
    """One in the middle of each period."""
    at = np.arange(0.0, until, PERIOD)
    return [(when + 0.5 * PERIOD, float(x)) for when, x in zip(at, sine(at), strict=True)]


FAST = 200.0
"""When the sine is fastest [ms]."""
EVENTS: dict[str, dict[str, object]] = {
    "lease": {"commands": commands(FAST)},
    "limit": {"commands": [*commands(FAST), (FAST + 0.5 * PERIOD, STROKE + 1e-6)]},
    "step": {"commands": [*commands(FAST), (FAST + 0.5 * PERIOD, float(sine(np.array(FAST))) + 1.1 * LARGEST_STEP)]},
    "stop": {"commands": commands(END), "stop": FAST},
    "fault": {"commands": commands(END), "fault": FAST},
}
CODES = {"lease": NO_COMMAND, "limit": OWN_LIMIT, "step": OWN_LIMIT, "stop": EMERGENCY_STOP, "fault": FAULT}
WHEN = {"armed": 5.0, "following": 180.3, "braking": 203.2, "returning": 215.4, "ending": 252.2, "at rest": 330.7}
STALLS = (0.3, 0.7, 1.6, 3.0, 40.0)


def script(event: str, **others: object) -> Script:
    return Script(until=END, lease=LEASE, begins=BEGINS, **(EVENTS[event] | others))  # type: ignore[arg-type]


def assert_within_rate(motion: Motion) -> None:
    moved, apart = np.abs(np.diff(motion.positions)), np.diff(motion.times)
    assert np.all(moved <= RATE * np.minimum(apart, STEP) * (1.0 + 1e-9) + TOLERANCE)


def steps(motion: Motion, state: int) -> np.ndarray:
    """Ways of the steps in a state, and the last before it."""
    first = motion.states.index(state)
    return np.diff(motion.positions[first - 2 :])


@pytest.mark.parametrize("in_step", [False, True], ids=["own clock", "in step"])
@pytest.mark.parametrize("stall", STALLS)
@pytest.mark.parametrize("state", WHEN)
@pytest.mark.parametrize("event", EVENTS)
def test_held_up_in_any_state_it_is_no_faster_than_its_rate(
    rig_end: Runs, event: str, state: str, stall: float, in_step: bool
) -> None:
    begin = WHEN[state]
    motion = rig_end(script(event, stalls=[(begin, begin + stall)], in_step=in_step))
    assert_within_rate(motion)
    assert motion.states[-1] == SAFE
    if stall < LEASE - 1.0:
        assert motion.codes[-1] == CODES[event]


@pytest.mark.parametrize("in_step", [False, True], ids=["own clock", "in step"])
def test_held_up_again_and_again_on_its_way_home_it_is_no_faster_than_its_rate(rig_end: Runs, in_step: bool) -> None:
    """3 ms now and then: a step that comes half a period after the last one has half of its way."""
    begins = np.arange(FAST, 3.0 * END, 7.3)
    long_way = [(i + 0.5, BEGINS + 1.4e-4 * i) for i in range(200)]
    given = script("lease", stalls=[(at, at + 3.0) for at in begins], in_step=in_step, commands=long_way)
    motion = rig_end(replace(given, until=3.0 * END))
    assert_within_rate(motion)
    assert motion.end == (SAFE, NO_COMMAND, pytest.approx(BEGINS, abs=TOLERANCE))
    apart, moved = np.diff(motion.times), np.abs(np.diff(motion.positions))
    assert np.max(moved[apart > 0.0] / apart[apart > 0.0]) > 0.9 * RATE, "the way was not limited by its rate"


@pytest.mark.parametrize("returns", [True, False], ids=["return", "hold"])
@pytest.mark.parametrize("event", EVENTS)
def test_it_returns_unless_it_was_stopped_or_has_a_fault(rig_end: Runs, event: str, returns: bool) -> None:
    motion = rig_end(script(event, returns=returns))
    state, code, position = motion.end
    assert (state, code) == (SAFE, CODES[event])
    if returns and event in ("lease", "limit", "step"):
        assert position == pytest.approx(BEGINS, abs=TOLERANCE)
    elif event in ("stop", "fault"):
        first = motion.states.index(SAFE)
        assert set(motion.positions[first:]) == {motion.positions[first - 1]}, "it moved"
    else:
        assert abs(position - BEGINS) < 1.1 * AMPLITUDE


@pytest.mark.parametrize("event", ["stop", "fault"])
def test_a_stop_or_a_fault_on_its_way_home_holds_it_there(rig_end: Runs, event: str) -> None:
    last = FAST - 60.0
    motion = rig_end(script("lease", **{event: last + LEASE + 0.4 * 1e3 * RETURN}, commands=commands(last)))
    state, code, position = motion.end
    assert (state, code) == (SAFE, CODES[event])
    away = float(sine(np.array(last - PERIOD)))
    assert 0.1 < (position - BEGINS) / (away - BEGINS) < 0.9, "it was not under way"
    halted = motion.codes.index(CODES[event])
    assert set(motion.positions[halted:]) == {motion.positions[halted - 1]}


@pytest.mark.parametrize("braking", [0.0, 12.0, 30.0], ids=["own motion", "12 m/s²", "30 m/s²"])
@pytest.mark.parametrize("event", ["limit", "step", "stop", "fault"])
def test_it_leaves_with_its_velocity_and_within_its_acceleration(rig_end: Runs, event: str, braking: float) -> None:
    motion = rig_end(script(event, braking=braking))
    ways = steps(motion, SAFE)
    accelerations = np.abs(np.diff(ways)) / STEP**2
    if braking == 0.0 and event in ("stop", "fault"):
        assert np.all(ways[1:] == 0.0), "an emergency stop is immediate where no acceleration is given"
        return
    emergency, speed = event in ("stop", "fault"), abs(ways[0]) / STEP
    own = np.abs(np.diff(motion.positions[: motion.states.index(SAFE)], n=2)).max() / STEP**2
    brakes = braking if emergency else max(own, speed / BRAKING)
    rests = int(speed / brakes / STEP)  # steps
    assert rests > 3
    assert np.all(accelerations[:rests] <= brakes * (1.0 + 1e-6))
    of_way = 10.0 / np.sqrt(3.0) * (2.0 * AMPLITUDE) / RETURN**2  # what the time of the return asks for
    assert np.all(accelerations <= (braking or max(of_way, brakes)) * (1.0 + 1e-6))
    if emergency:
        rest = motion.positions[-1] - motion.positions[motion.states.index(SAFE) - 1]
        assert abs(rest) == pytest.approx(0.5 * (ways[0] / STEP) ** 2 / braking, rel=1e-3), "it did not brake as it may"


def test_braking_ends_within_the_stroke(rig_end: Runs) -> None:
    """At 0.15 m/s 0.1 mm from its stroke: the stroke comes before the acceleration."""
    at = np.arange(0.0, 300.0, PERIOD)
    toward = STROKE - 1e-4 - 0.15e-3 * (at[-1] - at)
    begins = float(toward[0])
    given = Script(
        commands=[*((t + 0.5, float(x)) for t, x in zip(at, toward, strict=True)), (300.5, STROKE + 1e-6)],
        until=500.0, begins=begins, returns=False, braking=0.2,
    )  # fmt: skip
    motion = rig_end(given)
    assert motion.end[:2] == (SAFE, OWN_LIMIT)
    assert STROKE - 5e-5 < max(motion.positions) <= STROKE
    assert_within_rate(motion)


def test_armed_it_stays_and_then_follows(rig_end: Runs) -> None:
    motion = rig_end(Script(commands=commands(100.0), until=99.0, begins=BEGINS))
    assert set(motion.states) == {ARMED}
    found = np.interp(0.0985, motion.times, motion.positions)
    assert found == pytest.approx(float(sine(np.array(97.0))), abs=RATE * STEP)


@pytest.mark.parametrize("in_step", [False, True], ids=["own clock", "in step"])
@pytest.mark.parametrize("braking", [0.0, 12.0])
@pytest.mark.parametrize("event", EVENTS)
def test_the_two_ends_agree(
    library: ctypes.CDLL,
    monkeypatch: pytest.MonkeyPatch,
    event: str,
    braking: float,
    in_step: bool,
) -> None:
    """Not to the step, as they look at their clocks at different moments: where they go, when, and how fast."""
    given = script(event, braking=braking, in_step=in_step)
    one, other = in_python(given, monkeypatch), in_c(given, library)
    assert one.end[:2] == other.end[:2]
    assert one.end[2] == pytest.approx(other.end[2], abs=RATE * STEP)
    at = np.arange(0.0, 1e-3 * END, STEP)
    paths = [np.interp(at, motion.times, motion.positions) for motion in (one, other)]
    np.testing.assert_allclose(*paths, rtol=0.0, atol=2.0 * RATE * STEP)
