"""The rig's end in C protects itself: its stroke, its largest step, its rate, and its way to safety.

The witness is what the rig reports.  Its simulated actuator is a lag of first order that takes one step for each
measurement, d' = p + (d - p) exp(-h/T): so two displacements give the position p that was applied between them.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from links.by_hand import (
    ARMED,
    BOUND,
    BUSY,
    COMMAND,
    EMERGENCY_STOP,
    NO_COMMAND,
    OWN_LIMIT,
    REFUSAL,
    SAFE,
    Controller,
    Datagram,
)
from links.reference import LAG, LONG, STEP, Start, running

DECAY = math.exp(-STEP / LAG)
ROUNDING = 1e-13  # of a position from two displacements [m]
BRAKING = 0.1  # the longest it brakes [s]


def applied(measurements: Sequence[Datagram]) -> np.ndarray:
    """The positions applied in each step after the first measurement."""
    reached = np.array([one.channels[0] for one in measurements])
    return (reached[1:] - DECAY * reached[:-1]) / (1.0 - DECAY)


def assert_no_faster(measurements: Sequence[Datagram], rate: float) -> None:
    """From any step to any later one, in the rig's own wall time, and never more than a whole step's way in one.

    A step happens after the measurement before it is stamped, and before its own: steps i and j are no further apart
    than the stamps of measurements i - 1 and j.
    """
    position = np.concatenate([[measurements[0].channels[0]], applied(measurements)])
    assert np.all(np.abs(np.diff(position)) <= rate * STEP + ROUNDING)
    stamp = 1e-9 * np.array([one.timestamp - measurements[0].timestamp for one in measurements])
    for i in range(1, len(position) - 1):  # from position i, applied in step i, to all later ones
        assert np.all(np.abs(position[i + 1 :] - position[i]) <= rate * (stamp[i + 1 :] - stamp[i - 1]) + ROUNDING)


def wait_until(moment: int) -> None:
    while time.monotonic_ns() < moment:
        pass


def follow_to(controller: Controller, position: float) -> Datagram:
    """Say it once, and listen until the rig is there."""
    controller.send(controller.next(COMMAND, (position,)))
    while abs((got := controller.measurement()).channels[0] - position) > 1e-9:
        assert got.state == ARMED
    return got


# Stroke and largest step


def test_a_command_beyond_the_stroke_makes_it_safe_before_it_moves(start: Start) -> None:
    """What is at the stroke is obeyed, what is beyond it by one unit in the last place is not."""
    rig = start("--in-step", "--stroke", "0.25")
    with Controller(rig.port, STEP) as controller:
        controller.arm(LONG)
        reached = controller.command(0.25)
        assert reached.state == ARMED
        got = controller.command(math.nextafter(0.25, 1.0))
        assert (got.state, got.code) == (SAFE, OWN_LIMIT)
        assert applied([reached, got])[0] == pytest.approx(0.25, abs=ROUNDING)  # it neither brakes beyond, nor leaves
        rig.change("armed")
        rig.change("safe: own limit, axis 1: command 0.25 m, stroke 0.25 m")


@pytest.mark.parametrize("options", [(), ("--in-step",)], ids=["own clock", "in step"])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_first_command_far_from_where_it_stands_is_refused(start: Start, options: tuple[str, ...], axis: int) -> None:
    rig = start(*options, "--axes", "2", "--largest-step", "0.005")
    with Controller(rig.port, STEP, axes=2) as controller:
        controller.arm(LONG)
        rig.change("armed")
        commands = [0.0, 0.0]
        commands[axis] = -0.0051
        controller.send(controller.next(COMMAND, commands))
        while (got := controller.measurement()).state == ARMED:
            assert got.channels == (0.0,) * 4
        rig.change(
            f"safe: own limit, axis {axis + 1}: command -0.0051 m, 0.0051 m from the position applied, largest 0.005 m"
        )
        for _ in range(20):
            assert (got.state, got.code, got.channels) == (SAFE, OWN_LIMIT, (0.0,) * 4)
            got = controller.measurement()


def test_with_its_own_defaults_it_refuses_what_is_farther_than_5_mm(program: Path) -> None:
    with running(program, "") as begin:
        rig = begin("--in-step")
        with Controller(rig.port, STEP) as controller:
            assert controller.arm().channels[2:] == (0.25, 0.5, 0.005)
            assert controller.command(0.005).state == ARMED
            assert controller.command(0.0056).state == SAFE  # at least 0.0051 m from 0.5 m/s x 1 ms


def test_what_matters_is_the_distance_from_the_position_applied(start: Start) -> None:
    """Each command is near the one before it; but they come faster than the rate, and the position stays behind."""
    rig = start("--in-step", "--rate", "0.5", "--largest-step", "0.005")
    with Controller(rig.port, STEP) as controller:
        controller.arm(LONG)
        k = 1
        while controller.command(0.001 * k).state == ARMED:
            k += 1
        assert 6 <= k <= 10  # 1 mm a command, of which it goes at most half: 0.001 k - 0.0005 (k - 1) > 0.005


# Rate


@pytest.mark.parametrize("rate", [0.05, 0.5])
def test_a_command_is_approached_no_faster_than_the_rate_and_reached(start: Start, rate: float) -> None:
    rig = start("--rate", str(rate), "--largest-step", "0.005")
    with Controller(rig.port, STEP) as controller:
        controller.arm(LONG)
        heard = [controller.measurement()]
        controller.send(controller.next(COMMAND, (0.005,)))
        while abs(heard[-1].channels[0] - 0.005) > 1e-9:
            heard.append(controller.measurement())
    assert_no_faster(heard, rate)
    moving = np.flatnonzero(np.diff(applied(heard)) > ROUNDING)
    assert moving.size + 1 >= 0.005 / rate / STEP - 1e-6
    assert applied(heard)[-1] == pytest.approx(0.005, abs=ROUNDING)


commands_at_times = st.lists(
    st.tuples(st.floats(-0.012, 0.012), st.sampled_from([0, 0, 0, 100, 700, 1000, 1300, 4000])), min_size=1, max_size=60
)


@hypothesis_settings(max_examples=25)
@given(draws=commands_at_times, rate=st.sampled_from([0.02, 0.5, 5.0]), largest=st.sampled_from([0.002, 0.01, 0.03]))
def test_in_step_no_commands_at_no_times_move_it_faster_than_its_rate(
    program: Path, draws: list[tuple[float, int]], rate: float, largest: float
) -> None:
    """And it is safe with the first command that is too far from the position applied, which it does not follow."""
    with running(program) as start:
        rig = start("--in-step", "--rate", str(rate), "--largest-step", str(largest))
        with Controller(rig.port, STEP) as controller:
            heard = [controller.hello(LONG)]
            controller.arm(LONG)
            position = 0.0
            for command, microseconds in draws:
                wait_until(time.monotonic_ns() + 1000 * microseconds)
                got = controller.command(command)
                beyond = abs(command - position) - largest
                if abs(beyond) > ROUNDING:
                    assert got.state == (SAFE if beyond > 0 else ARMED)
                if got.state == SAFE:
                    assert got.code == OWN_LIMIT
                    heard += [got, *(controller.measurement() for _ in range(3))]
                    braked = applied(heard[-5:])  # no further than its velocity takes it, which falls in each step
                    assert np.all(np.abs(np.diff(braked)) <= rate * STEP + ROUNDING)
                    assert abs(braked[-1] - position) <= 0.5 * rate * BRAKING + ROUNDING
                    break
                heard.append(got)
                position = applied(heard[-2:])[0]
    assert_no_faster(heard, rate)


@hypothesis_settings(max_examples=25)
@given(draws=commands_at_times, rate=st.sampled_from([0.02, 0.5, 5.0]))
def test_on_its_own_clock_no_commands_at_no_times_move_it_faster_than_its_rate(
    program: Path, draws: list[tuple[float, int]], rate: float
) -> None:
    with running(program) as start:
        rig = start("--rate", str(rate), "--largest-step", "0.03")
        with Controller(rig.port, STEP) as controller:
            heard = [controller.hello(LONG)]
            controller.arm(LONG)
            for command, microseconds in draws:
                wait_until(time.monotonic_ns() + 1000 * microseconds)
                controller.send(controller.next(COMMAND, (command,)))
            heard.append(controller.measurement())
            while heard[-1].answers < controller.sequence or len(heard) < 40:
                heard.append(controller.measurement())
            assert {one.state for one in heard[1:]} == {ARMED}
    assert_no_faster(heard, rate)


# The way to safety


def share_of_way(position: np.ndarray, away: float, home: float) -> np.ndarray:
    """x of 10 x^3 - 15 x^4 + 6 x^5 = share of the way done, by bisection."""
    low, high = np.zeros(position.size), np.ones(position.size)
    for _ in range(60):
        x = 0.5 * (low + high)
        less = 10 * x**3 - 15 * x**4 + 6 * x**5 < (position - away) / (home - away)
        low, high = np.where(less, x, low), np.where(less, high, x)
    return 0.5 * (low + high)


@pytest.mark.parametrize("held_up", [False, True], ids=["on time", "held up"])
@pytest.mark.parametrize("in_step", [False, True], ids=["own clock", "in step"])
@pytest.mark.parametrize(
    ("asked", "rate"), [(0.05, 1.0), (0.05, 0.4)], ids=["in the time asked for", "prolonged by the rate"]
)
def test_it_returns_smoothly_to_where_it_was_armed_and_is_busy_until_at_rest(
    start: Start, asked: float, rate: float, in_step: bool, held_up: bool
) -> None:
    """A polynomial with no velocity and no acceleration at its ends, in the time asked for, or as the rate allows.

    Each step goes on by its time and at most by a whole step; one that the computer slept through is not made up for.
    """
    rig = start("--return", str(asked), "--rate", str(rate), *(["--in-step"] if in_step else []))
    with Controller(rig.port, STEP) as controller, Controller(rig.port, STEP) as other:

        def go(position: float) -> Datagram:
            if not in_step:
                return follow_to(controller, position)
            while abs((got := controller.command(position)).channels[0] - position) > 1e-9:
                pass
            return got

        controller.arm(LONG)
        go(0.004)
        controller.stop()
        home = controller.arm(0.5).channels[0]
        last = go(0.020)
        while (got := controller.measurement()).state == ARMED:
            last = got
        away, way = 0.020, [last, got]  # as commanded: its lag has died out but for 1e-9
        refusal = other.hello()
        assert (refusal.kind, refusal.code, refusal.state) == (REFUSAL, BUSY, SAFE)
        while way[-1].channels[0] > 0.6 * away:
            way.append(controller.measurement())
        if held_up:
            rig.process.send_signal(signal.SIGSTOP)
            wait_until(way[-1].timestamp + 30_000_000)
            rig.process.send_signal(signal.SIGCONT)
        for change in ("armed", "idle", "armed", "safe: no valid command for 0.500 s", "safe: at rest"):
            rig.change(change)
        controller.socket.setblocking(False)
        with suppress(BlockingIOError):
            while True:
                way.append(controller.measurement())
        assert controller.session != other.hello(LONG).session
    assert {(one.state, one.code) for one in way[1:]} == {(SAFE, NO_COMMAND)}
    assert_no_faster(way, rate)
    position = applied(way)
    lasts = max(asked, 1.875 * abs(away - home) / rate)
    there = int(np.argmax(np.abs(position - home) < ROUNDING))
    assert np.all(np.abs(position[there:] - home) < ROUNDING), "it left again"
    assert 1e-9 * (way[there + 1].timestamp - way[0].timestamp) >= lasts - 2 * STEP
    x = share_of_way(position[:there], away, home)
    advances = np.diff(x[(x > 0.02) & (x < 0.98)]) * lasts / STEP
    assert np.all((advances > 0.0) & (advances < 1.0 + 1e-6))
    assert advances.max() > 1.0 - 1e-6


@pytest.mark.parametrize("options", [(), ("--return", "0.05")], ids=["hold", "return"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_its_emergency_stop_moves_nothing(start: Start, options: tuple[str, ...], number: int) -> None:
    rig = start("--in-step", *options)
    with Controller(rig.port, STEP) as controller:
        controller.arm(LONG)
        reached = controller.command(0.010)
        rig.process.send_signal(number)
        got = controller.measurement()
        assert (got.state, got.code, got.channels) == (SAFE, EMERGENCY_STOP, reached.channels)
        assert rig.process.wait(BOUND) == 0


@pytest.mark.parametrize("options", [(), ("--in-step",)], ids=["own clock", "in step"])
def test_safe_and_at_rest_nothing_moves(start: Start, options: tuple[str, ...]) -> None:
    """Made safe by a command out of reach while it is on its way: from there on it stands."""
    rig = start(*options, "--rate", "0.5", "--largest-step", "0.02")
    with Controller(rig.port, STEP) as controller:
        controller.arm(LONG)
        rig.change("armed")
        for _ in range(5):
            controller.send(controller.next(COMMAND, (0.015,)))
            assert controller.measurement().state == ARMED
        controller.send(controller.next(COMMAND, (-0.1,)))
        while (got := controller.measurement()).state == ARMED:
            pass
        way = [got]
        assert 0.0 < got.channels[0] < 0.015
        assert rig.line().startswith("safe: own limit")
        assert rig.change("safe: at rest")
        controller.socket.setblocking(False)
        with suppress(BlockingIOError):
            while True:
                way.append(controller.measurement())
        controller.socket.settimeout(BOUND)
        position = applied(way)
        assert np.all(np.diff(position) > -ROUNDING), "it turned"
        assert np.all(np.abs(position[-40:] - position[-1]) <= ROUNDING), "it did not come to rest"
        offer = got
        while offer.timestamp < got.timestamp + 400 * STEP * 1e9:
            offer = controller.hello()
        assert (offer.state, offer.code) == (SAFE, OWN_LIMIT)
        assert offer.channels[0] == pytest.approx(way[-1].channels[0], abs=1e-6)
