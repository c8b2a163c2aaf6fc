"""The rig's end in C (docs/link/rig.c), built here and judged by a controller written by hand from docs/link.md."""

from __future__ import annotations

import contextlib
import math
import struct
import subprocess
import threading
import time
from pathlib import Path

import pytest

from links.by_hand import (
    ARM,
    ARMED,
    BOUND,
    BUSY,
    COMMAND,
    EMERGENCY_STOP,
    HELLO,
    IDLE,
    LEASE_TOO_LONG,
    NO_COMMAND,
    OFFER,
    OTHER_AXES,
    OTHER_STEP,
    REFUSAL,
    SAFE,
    STOP,
    Controller,
    Datagram,
)
from links.reference import LAG, LONG, NONE, STEP, STIFFNESS, Start, bad, only

# Handshake


def test_hello_is_answered_with_what_is_measured_the_rigs_limits_and_one_number_for_all(start: Start) -> None:
    rig = start("--axes", "3", *["--stroke", "0.2", "--rate", "0.3", "--largest-step", "0.004"])
    with Controller(rig.port, STEP, axes=3) as controller:
        offers = [controller.hello() for _ in range(5)]
    assert {(offer.kind, offer.state, offer.code) for offer in offers} == {(OFFER, IDLE, 0)}
    assert {offer.channels for offer in offers} == {(*[0.0] * 6, *[0.2] * 3, *[0.3] * 3, *[0.004] * 3)}
    numbers = {offer.session for offer in offers}
    assert len(numbers) == 1 and 0 not in numbers


def test_who_asks_is_told_that_the_rig_is_simulated_and_its_name(start: Start) -> None:
    rig = start("--axes", "3")
    with Controller(rig.port, STEP, axes=3) as controller:
        plain = controller.hello()
        controller.send(Datagram(HELLO, sequence=77, code=1, channels=(STEP, 3.0, 1.0, 0.0)))
        offer = controller.hear()
    assert (offer.kind, offer.answers, offer.channels[:15]) == (OFFER, 77, plain.channels)
    assert offer.channels[15] == 1.0
    assert struct.pack("<12d", *offer.channels[16:]).rstrip(b"\0").decode().startswith("rig.c 1")


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"step": 0.002}, OTHER_STEP),
        ({"step": math.nan}, OTHER_STEP),
        ({"axes": 2.0}, OTHER_AXES),
        ({"axes": math.nan}, OTHER_AXES),
        ({"lease": math.nextafter(LONG, math.inf)}, LEASE_TOO_LONG),
        ({"lease": math.nan}, LEASE_TOO_LONG),
        ({"lease": 0.0}, LEASE_TOO_LONG),
    ],
)
def test_what_the_rig_cannot_serve_is_refused_with_the_reason(start: Start, asked: dict[str, float], code: int) -> None:
    rig = start()
    with Controller(rig.port, STEP) as controller:
        refusal = controller.hello(**asked)
        assert (refusal.kind, refusal.session, refusal.code, refusal.channels) == (REFUSAL, 0, code, (STEP, 1.0, 0.0))
        assert controller.hello(LONG).kind == OFFER


def test_an_armed_rig_is_busy_for_others_and_for_its_own_controller(start: Start) -> None:
    rig = start("--in-step")
    with Controller(rig.port, STEP) as controller, Controller(rig.port, STEP) as other:
        controller.arm(LONG)
        rig.change("armed")
        for asking in (other, controller):
            refusal = asking.hello()
            assert (refusal.kind, refusal.code, refusal.state) == (REFUSAL, BUSY, ARMED)
        assert controller.command(0.001).state == ARMED


def test_who_arms_second_is_not_heard(start: Start) -> None:
    rig = start("--in-step")
    with Controller(rig.port, STEP) as early, Controller(rig.port, STEP) as late:
        early.session = early.hello(LONG).session
        late.arm(LONG)
        early.send(early.next(ARM, early.wanted(LONG)))
        assert late.command(0.001).state == ARMED
    assert bad(rig.end()) == only(foreign=1)


# Commands


def test_commands_in_step_are_answered_one_by_one_with_the_closed_form(start: Start) -> None:
    """A lag of first order under constant commands: d(k) = u (1 - exp(-k h / T)); a spring: f = k d."""
    rig = start("--in-step", "--axes", "2")
    with Controller(rig.port, STEP, axes=2) as controller:
        controller.arm(LONG)
        for k in range(1, 101):
            got = controller.command(0.010, -0.002, tick=k - 21)
            reached = 1.0 - math.exp(-k * STEP / LAG)
            expected = [0.010 * reached, -0.002 * reached]
            assert got.channels[:2] == pytest.approx(expected, rel=1e-12)
            assert got.channels[2:] == pytest.approx([STIFFNESS * d for d in expected], rel=1e-12)
            assert (got.state, got.code) == (ARMED, 0)
    counters = rig.end()
    assert counters["accepted"] == 101  # with ARM
    assert bad(counters) == NONE


def test_on_its_own_clock_it_measures_each_step_and_follows_the_newest_command(start: Start) -> None:
    rig = start()
    with Controller(rig.port, STEP) as controller:
        controller.arm(LONG)
        for _ in range(5):
            got = controller.measurement()
            assert (got.answers, got.tick, got.channels) == (1, 1, (0.0, 0.0))
        controller.send(controller.next(COMMAND, (0.010,), tick=6))
        while got.answers == 1:
            got = controller.measurement()
        for _ in range(50):
            last, got = got, controller.measurement()
            assert (got.answers, got.tick) == (2, 7)
            expected = 0.010 + (last.channels[0] - 0.010) * math.exp(-STEP / LAG)
            assert got.channels == pytest.approx([expected, STIFFNESS * expected], rel=1e-12)
            assert got.timestamp > last.timestamp


def test_arming_moves_nothing(start: Start) -> None:
    rig = start()
    with Controller(rig.port, STEP) as controller:
        controller.session = controller.hello(LONG).session
        controller.send(controller.next(ARM, controller.wanted(LONG)))
        for _ in range(5):
            got = controller.measurement()
            assert (got.state, got.channels) == (ARMED, (0.0, 0.0))


# The end of a session


def test_stop_makes_it_idle_where_it_stands_and_a_second_session_works(start: Start) -> None:
    rig = start("--in-step")
    with Controller(rig.port, STEP) as first, Controller(rig.port, STEP) as second:
        first.arm(LONG)
        rig.change("armed")
        reached = first.command(0.010).channels
        last = first.stop()
        assert (last.state, last.code, last.channels) == (IDLE, 0, reached)
        assert rig.change("idle")["accepted"] == 3
        offer = second.arm(LONG)
        assert offer.channels[:2] == reached
        assert rig.change("armed")["accepted"] == 4
        got = second.command(0.010)
        assert 0.010 - got.channels[0] == pytest.approx(0.010 * math.exp(-2 * STEP / LAG), rel=1e-12)
        assert second.stop().state == IDLE


def test_stopped_on_its_way_it_keeps_the_position_applied(start: Start) -> None:
    """No step of the command: the actuator of the simulation comes to rest there with its lag."""
    rig = start("--rate", "0.5")
    with Controller(rig.port, STEP) as controller:
        controller.arm(LONG)
        controller.send(controller.next(COMMAND, (0.2,)))
        while (got := controller.measurement()).answers == 1:
            pass
        last = controller.stop()
        assert last.state == IDLE
        assert got.channels[0] <= last.channels[0] < 0.2
        offer = last
        while offer.timestamp < last.timestamp + 400 * STEP * 1e9:
            offer = controller.hello()
        moved = offer.channels[0] - last.channels[0]
        assert 0.0 <= moved <= 0.5 * LAG * 1.001  # it was no further behind than its lag at its rate
        assert controller.hello().channels[0] == pytest.approx(offer.channels[0], abs=1e-12)


@pytest.mark.parametrize("options", [(), ("--in-step",)], ids=["own clock", "in step"])
def test_when_commands_stop_it_holds_says_safe_and_obeys_no_more(start: Start, options: tuple[str, ...]) -> None:
    rig, lease = start(*options), 0.4
    with Controller(rig.port, STEP) as controller:
        controller.arm(lease)
        rig.change("armed")
        first = sent = time.monotonic_ns()
        while sent - first < 0.5 * lease * 1e9:  # each of them renews it
            sent = time.monotonic_ns()
            controller.send(controller.next(COMMAND, (0.010,)))
            got = controller.measurement()
        while got.state == ARMED:
            held, got = got.channels, controller.measurement()
        rig.change("safe: no valid command for 0.400 s")
        assert (got.state, got.code, got.channels) == (SAFE, NO_COMMAND, held)
        assert got.answers == controller.sequence
        assert got.timestamp - sent >= lease * 1e9  # the same clock on one machine
        controller.send(controller.next(COMMAND, (0.1,)))
        controller.send(controller.next(STOP))
        while got.answers < controller.sequence:
            got = controller.measurement()
            assert (got.state, got.code, got.channels) == (SAFE, NO_COMMAND, held)
        rig.change("safe: at rest")
        offer = controller.arm(LONG)
        assert (offer.state, offer.code, offer.channels[:2]) == (SAFE, NO_COMMAND, held)
        rig.change("armed")
        last = controller.stop()
        assert (last.state, last.code, last.channels) == (IDLE, 0, held)


def test_on_its_way_to_safety_it_is_busy_and_stop_does_not_end_it(start: Start) -> None:
    rig = start("--return", "3600", "--in-step")
    with Controller(rig.port, STEP) as controller, Controller(rig.port, STEP) as other:
        controller.arm(0.3)
        controller.send(controller.next(COMMAND, (0.010,)))
        while (got := controller.measurement()).state == ARMED:
            pass
        refusal = other.hello()
        assert (refusal.kind, refusal.code, refusal.state) == (REFUSAL, BUSY, SAFE)
        assert controller.stop().state == SAFE
        assert controller.measurement().sequence > got.sequence + 1


def test_who_ends_the_rig_makes_it_say_so(start: Start) -> None:
    rig = start("--in-step")
    with Controller(rig.port, STEP) as controller:
        controller.arm(LONG)
        reached = controller.command(0.010)
        rig.end()
        got = controller.measurement()
        assert (got.state, got.code, got.channels) == (SAFE, EMERGENCY_STOP, reached.channels)


def test_in_step_it_can_be_ended_while_commands_leave_it_no_time_to_sleep(start: Start) -> None:
    rig, over = start("--in-step"), threading.Event()
    with Controller(rig.port, STEP) as controller:
        controller.arm(LONG)

        def flood() -> None:
            while not over.is_set():
                with contextlib.suppress(OSError):  # it has ended
                    controller.send(controller.next(COMMAND, (0.0,)))

        sender = threading.Thread(target=flood)
        sender.start()
        try:
            while controller.hear().answers < 100:
                pass
            assert rig.end()["accepted"] >= 100
        finally:
            over.set()
            sender.join()


def test_a_log_that_nobody_reads_any_more_does_not_end_it(start: Start) -> None:
    rig = start("--in-step")
    assert rig.process.stdout is not None
    rig.process.stdout.close()
    with Controller(rig.port, STEP) as controller:
        controller.arm(LONG)
        assert controller.command(0.0).state == ARMED
        assert controller.stop().state == IDLE
        assert controller.hello(LONG).kind == OFFER


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "usage: rig PORT"),
        (("0", "1"), "usage: rig PORT"),
        (("70000",), "PORT is 70000, but must be a whole number from 0 to 65535"),
        (("0", "--axes", "65"), "--axes is 65, but must be a whole number from 1 to 64"),
        (("0", "--axes", "1.5"), "--axes is 1.5, but must be a whole number from 1 to 64"),
        (("0", "--step", "nan"), "--step [s] is nan, but must be a number from 1e-05 to 10"),
        (("0", "--lease", "1 s"), "--lease [s] is 1 s, but must be a number from 0.001 to 3600"),
        (("0", "--stroke", "0"), "--stroke [m] is 0, but must be a finite number above 0"),
        (("0", "--rate", "-0.5"), "--rate [m/s] is -0.5, but must be a finite number above 0"),
        (("0", "--rate", "inf"), "--rate [m/s] is inf, but must be a finite number above 0"),
        (("0", "--largest-step", "nan"), "--largest-step [m] is nan, but must be a finite number above 0"),
        (("0", "--largest-step", "5 mm"), "--largest-step [m] is 5 mm, but must be a finite number above 0"),
    ],
)
def test_arguments_that_cannot_be_are_refused(program: Path, arguments: tuple[str, ...], message: str) -> None:
    ended = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=BOUND, check=False)
    assert ended.returncode == 2
    assert message in ended.stderr
