"""The rig's end in C (docs/link/rig.c), built here and judged by a controller written by hand from docs/link.md."""

from __future__ import annotations

import json
import math
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

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
    MEASUREMENT,
    NO_COMMAND,
    OFFER,
    OTHER_AXES,
    OTHER_STEP,
    OWN_LIMIT,
    REFUSAL,
    SAFE,
    STOP,
    Controller,
    Datagram,
)

SOURCE = Path(__file__).parents[2] / "docs" / "link" / "rig.c"
STEP, LAG, STIFFNESS = 0.001, 0.010, 2250.0  # the lag is TIME_CONSTANT of rig.c
LONG = 600.0  # a lease that no test outlives
BAD = ("truncated", "foreign", "corrupted", "replayed", "duplicated", "reordered", "lost")
NONE = dict.fromkeys(BAD, 0)


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler: there is no cc on PATH")
    rig = tmp_path_factory.mktemp("reference") / "rig"
    build = [compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-std=gnu11", str(SOURCE), "-o", str(rig), "-lm"]
    built = subprocess.run(build, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return rig


class Process:
    """The rig as a process: its port, its lines, its end."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.text = b""
        self.port = int(self.line().removeprefix("listening on 127.0.0.1:"))

    def line(self) -> str:
        assert self.process.stdout is not None
        while b"\n" not in self.text:
            assert select.select([self.process.stdout], [], [], BOUND)[0], "the rig printed nothing"
            got = os.read(self.process.stdout.fileno(), 65536)
            assert got, "the rig has ended"
            self.text += got
        line, self.text = self.text.split(b"\n", 1)
        return line.decode()

    def change(self, to: str) -> dict[str, int]:
        """The counters at the next change of state, which must be this one."""
        text, brace, counters = self.line().partition("{")
        assert text.strip() == to
        return json.loads(brace + counters)

    def end(self) -> dict[str, int]:
        """The counters at the end."""
        self.process.send_signal(signal.SIGTERM)
        while not (line := self.line()).startswith("{"):
            pass
        assert self.process.wait(BOUND) == 0
        return json.loads(line)


Start = Callable[..., Process]


@pytest.fixture
def start(program: Path) -> Iterator[Start]:
    with running(program) as started:
        yield started


@contextmanager
def running(program: Path) -> Iterator[Start]:
    processes: list[subprocess.Popen[bytes]] = []

    def started(*options: str) -> Process:
        arguments = f"0 --step {STEP} --stiffness {STIFFNESS} --lease {LONG}".split()
        processes.append(subprocess.Popen([program, *arguments, *options], stdout=subprocess.PIPE))
        return Process(processes[-1])

    try:
        yield started
    finally:
        for process in processes:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


def only(**counted: int) -> dict[str, int]:
    return NONE | counted


def bad(counters: dict[str, int]) -> dict[str, int]:
    return {name: counters[name] for name in BAD}


# Handshake


def test_hello_is_answered_with_an_offer_of_what_is_measured_and_a_new_key_each_time(start: Start) -> None:
    rig = start("--axes", "3")
    with Controller(rig.port, STEP, axes=3) as controller:
        offers = [controller.hello() for _ in range(5)]
    assert {(offer.kind, offer.state, offer.code, offer.channels) for offer in offers} == {(OFFER, IDLE, 0, (0.0,) * 6)}
    keys = {offer.key for offer in offers}
    assert len(keys) == 5 and 0 not in keys


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
        assert (refusal.kind, refusal.key, refusal.code, refusal.channels) == (REFUSAL, 0, code, (STEP, 1.0))
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


def test_only_the_newest_offer_counts(start: Start) -> None:
    rig = start("--in-step")
    with Controller(rig.port, STEP) as early, Controller(rig.port, STEP) as late:
        early.key = early.hello(LONG).key
        late.arm(LONG)
        early.send(early.next(ARM, (0.0,)))
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


def test_arming_moves_nothing_whatever_position_it_names(start: Start) -> None:
    rig = start()
    with Controller(rig.port, STEP) as controller:
        controller.key = controller.hello(LONG).key
        controller.send(controller.next(ARM, (0.1,)))
        for _ in range(5):
            got = controller.measurement()
            assert (got.state, got.channels) == (ARMED, (0.0, 0.0))


# What is done with a datagram


def altered(datagram: Datagram, at: int, bit: int) -> bytes:
    data = bytearray(datagram.packed())
    data[at] ^= 1 << bit
    return bytes(data)


WRONG: dict[str, tuple[str, Callable[[Datagram], Datagram | bytes]]] = {
    "empty": ("truncated", lambda d: b""),
    "one byte": ("truncated", lambda d: b"H"),
    "header only": ("truncated", lambda d: d.packed()[:56]),
    "a byte missing": ("truncated", lambda d: d.packed()[:-1]),
    "a byte more": ("truncated", lambda d: d.packed() + b"\0"),
    "a channel fewer than counted": ("truncated", lambda d: d.packed(count=2)),
    "more than the largest": ("truncated", lambda d: d.packed() + bytes(4000)),
    "other magic": ("foreign", lambda d: replace(d, magic=0x4C524649)),
    "other version": ("foreign", lambda d: replace(d, version=2)),
    "other key": ("foreign", lambda d: replace(d, key=d.key ^ 1)),
    "no key": ("foreign", lambda d: replace(d, key=0)),
    "kind 0": ("foreign", lambda d: replace(d, kind=0)),
    "kind 8": ("foreign", lambda d: replace(d, kind=8)),
    "a rig's offer": ("foreign", lambda d: replace(d, kind=OFFER)),
    "a rig's measurement": ("foreign", lambda d: replace(d, kind=MEASUREMENT)),
    "HELLO with a key": ("foreign", lambda d: replace(d, kind=HELLO, channels=(STEP, 1.0, 1.0))),
    "HELLO with one channel": ("foreign", lambda d: replace(d, kind=HELLO, key=0)),
    "STOP with a channel": ("foreign", lambda d: replace(d, kind=STOP)),
    "no channels": ("foreign", lambda d: replace(d, channels=())),
    "two channels": ("foreign", lambda d: replace(d, channels=(0.1, 0.1))),
    "more channels than any datagram": ("foreign", lambda d: replace(d, channels=(0.1,) * 200)),
    "other CRC": ("corrupted", lambda d: d.packed(crc=0)),
    "NaN": ("corrupted", lambda d: replace(d, channels=(math.nan,))),
    "infinity": ("corrupted", lambda d: replace(d, channels=(math.inf,))),
    "minus infinity": ("corrupted", lambda d: replace(d, channels=(-math.inf,))),
    "64 behind": ("replayed", lambda d: replace(d, sequence=d.sequence - 65)),
    "the first": ("replayed", lambda d: replace(d, sequence=1)),
    "sequence 0": ("replayed", lambda d: replace(d, sequence=0)),
    "ARM once more": ("replayed", lambda d: replace(d, kind=ARM, sequence=1)),
    "63 behind": ("duplicated", lambda d: replace(d, sequence=d.sequence - 64)),
    "the newest": ("duplicated", lambda d: replace(d, sequence=d.sequence - 1)),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_bad_datagram_is_counted_and_moves_nothing(start: Start, wrong: str) -> None:
    """Each is made of the very command that would be next and would move the rig by 0.1 m × (1 - exp(-h/T))."""
    counted, spoil = WRONG[wrong]
    rig = start("--in-step")
    with Controller(rig.port, STEP) as controller:
        controller.arm(LONG)
        for _ in range(70):
            controller.command(0.0)
        bad_one = spoil(Datagram(COMMAND, controller.key, controller.sequence + 1, (0.1,)))
        controller.send(bad_one)
        assert controller.command(0.0).channels == (0.0, 0.0)  # the next thing heard: it was not answered either
        assert controller.stop().state == IDLE
    assert bad(rig.end()) == only(**{counted: 1})


def test_any_bit_turned_on_the_way_is_counted_and_moves_nothing(start: Start) -> None:
    rig = start("--in-step")
    expected = dict(NONE)
    with Controller(rig.port, STEP) as controller:
        controller.arm(LONG)
        controller.command(0.0)
        length = len(Datagram(COMMAND, channels=(0.1,)).packed())
        for at in range(length):
            for bit in range(8):
                controller.send(altered(Datagram(COMMAND, controller.key, controller.sequence + 1, (0.1,)), at, bit))
                counted = "foreign" if at < 6 or 8 <= at < 16 else "truncated" if at < 8 else "corrupted"
                expected[counted] += 1
            assert controller.command(0.0).channels == (0.0, 0.0)
    assert bad(rig.end()) == expected


def test_a_sequence_that_comes_late_is_no_longer_lost_and_moves_nothing(start: Start) -> None:
    rig = start("--in-step")
    with Controller(rig.port, STEP) as controller:
        controller.arm(LONG)
        overtaken = [controller.next(COMMAND, (0.1,)) for _ in range(3)]
        controller.command(0.0)
        for datagram in (overtaken[1], overtaken[1], overtaken[0]):
            controller.send(datagram)
        assert controller.command(0.0).channels == (0.0, 0.0)
    assert bad(rig.end()) == only(reordered=2, duplicated=1, lost=1)


@pytest.mark.parametrize(("ahead", "counted"), [(62, "duplicated"), (63, "duplicated"), (64, "replayed")])
def test_after_a_jump_the_window_still_knows_what_came_before(start: Start, ahead: int, counted: str) -> None:
    rig = start("--in-step")
    with Controller(rig.port, STEP) as controller:
        controller.arm(LONG)
        before = controller.next(COMMAND, (0.0,))
        controller.send(before)
        controller.measurement()
        controller.sequence += ahead - 1
        controller.command(0.0)
        controller.send(before)
        controller.command(0.0)
    assert bad(rig.end()) == only(**{counted: 1, "lost": ahead - 1})


@hypothesis_settings(max_examples=20)
@given(st.lists(st.integers(0, 200), min_size=1, max_size=60))
def test_sequences_in_any_order_are_counted_as_a_set_of_them_would(program: Path, sequences: list[int]) -> None:
    """The window of 64 sequences against a set that forgets nothing."""
    newest, seen, expected, moved = 1, {0, 1}, dict(NONE), 0
    with running(program) as start:
        rig = start("--in-step")
        with Controller(rig.port, STEP) as controller:
            controller.arm(LONG)
            for sequence in sequences:
                controller.send(Datagram(COMMAND, controller.key, sequence, (0.1,)))
                if sequence > newest:
                    expected["lost"] += sequence - newest - 1
                    newest, moved = sequence, moved + 1
                    reached = 0.1 * (1.0 - math.exp(-moved * STEP / LAG))
                    got = controller.measurement()
                    assert got.answers == newest
                    assert got.channels[0] == pytest.approx(reached, rel=1e-12)
                elif sequence <= newest - 64:
                    expected["replayed"] += 1
                elif sequence in seen:
                    expected["duplicated"] += 1
                else:
                    expected["reordered"] += 1
                    expected["lost"] -= 1
                seen.add(sequence)
            controller.sequence = 1000
            assert controller.stop().state == IDLE
            expected["lost"] += 1000 - newest
        counters = rig.end()
    assert bad(counters) == expected
    assert counters["sent"] == 3 + moved  # offer, answers to ARM and to STOP


def test_the_largest_numbers_are_taken_as_they_come(start: Start) -> None:
    rig = start("--in-step")
    with Controller(rig.port, STEP) as controller:
        controller.arm(LONG)
        controller.send(Datagram(COMMAND, controller.key, 2**64 - 1, (0.0,), tick=2**63 - 1))
        got = controller.measurement()
        assert (got.answers, got.tick) == (2**64 - 1, -(2**63))
        controller.send(Datagram(COMMAND, controller.key, 2, (0.1,)))
        assert controller.hello().code == BUSY
    assert bad(rig.end()) == only(lost=2**64 - 3, replayed=1)


def test_a_stranger_with_the_right_key_is_not_heard(start: Start) -> None:
    rig = start("--in-step")
    with Controller(rig.port, STEP) as controller, Controller(rig.port, STEP) as stranger:
        controller.arm(LONG)
        controller.command(0.0)
        for kind, channels in ((COMMAND, (0.1,)), (STOP, ())):
            stranger.send(Datagram(kind, controller.key, controller.sequence + 1, channels))
        got = controller.command(0.0)
        assert (got.state, got.channels) == (ARMED, (0.0, 0.0))
        assert stranger.hello().code == BUSY  # and the first thing it hears
    assert bad(rig.end()) == only(foreign=2)


def test_an_idle_rig_obeys_nothing_but_the_arm_it_offered(start: Start) -> None:
    rig = start("--in-step")
    with Controller(rig.port, STEP) as controller, Controller(rig.port, STEP) as stranger:
        for kind in (ARM, COMMAND):
            controller.send(Datagram(kind, 0, 1, (0.1,)))
        key = controller.hello(LONG).key
        for kind, sequence in ((COMMAND, 1), (COMMAND, 2), (ARM, 0), (ARM, 2)):
            controller.send(Datagram(kind, key, sequence, (0.1,)))
        controller.send(Datagram(ARM, key, 1, (math.nan,)))
        controller.send(Datagram(STOP, key, 1))
        stranger.send(Datagram(ARM, key, 1, (0.1,)))
        again = controller.hello(LONG)
        assert (again.kind, again.state, again.channels) == (OFFER, IDLE, (0.0, 0.0))
    counters = rig.end()
    assert counters["accepted"] == 0
    assert bad(counters) == only(foreign=8, corrupted=1)


def test_a_recorded_session_cannot_be_replayed(start: Start) -> None:
    rig = start("--in-step")
    with Controller(rig.port, STEP) as controller:
        controller.arm(LONG)
        controller.command(0.001)
        old = controller.key
        recorded = [Datagram(ARM, old, 1, (0.0,)), Datagram(COMMAND, old, 2, (0.1,)), Datagram(STOP, old, 3)]
        where = controller.stop().channels
        for datagram in recorded:  # to an idle rig,
            controller.send(datagram)
        offer = controller.hello(LONG)
        for datagram in recorded:  # to one that has made another offer,
            controller.send(datagram)
        again = controller.hello(LONG)
        assert offer.state == again.state == IDLE
        assert offer.channels == again.channels == where
        controller.arm(LONG)
        for datagram in recorded:  # and in the next session
            controller.send(datagram)
        got = controller.command(where[0])
        assert (got.state, got.channels) == (ARMED, where)
    assert bad(rig.end()) == only(foreign=9)


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
        assert offer.channels == reached
        assert rig.change("armed")["accepted"] == 4
        got = second.command(0.010)
        assert 0.010 - got.channels[0] == pytest.approx(0.010 * math.exp(-2 * STEP / LAG), rel=1e-12)
        assert second.stop().state == IDLE


def test_stopped_on_its_way_it_stays_there(start: Start) -> None:
    rig = start()
    with Controller(rig.port, STEP) as controller:
        controller.arm(LONG)
        controller.send(controller.next(COMMAND, (0.2,)))
        while (got := controller.measurement()).answers == 1:
            pass
        last = controller.stop()
        assert last.state == IDLE
        assert got.channels[0] <= last.channels[0] < 0.2
        offer = last
        while offer.timestamp < last.timestamp + 20 * STEP * 1e9:
            offer = controller.hello()
        assert offer.channels == last.channels


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
        assert (offer.state, offer.code, offer.channels) == (SAFE, NO_COMMAND, held)
        rig.change("armed")
        last = controller.stop()
        assert (last.state, last.code, last.channels) == (IDLE, 0, held)


@pytest.mark.parametrize("wrong", ["a byte missing", "other key", "other CRC", "NaN", "the newest"])
def test_what_is_not_accepted_does_not_renew_the_lease(start: Start, wrong: str) -> None:
    """Sent all the time; a rig that took it for a command would never become safe."""
    rig = start("--in-step")
    with Controller(rig.port, STEP) as controller:
        controller.arm(0.2)
        controller.send(controller.next(COMMAND, (0.0,)))
        controller.measurement()
        bad_one = WRONG[wrong][1](Datagram(COMMAND, controller.key, controller.sequence + 1, (0.1,)))
        controller.socket.settimeout(0.01)
        end = time.monotonic() + BOUND
        while time.monotonic() < end:
            controller.send(bad_one)
            with suppress(TimeoutError):
                assert controller.measurement().state == SAFE
                break
        else:
            pytest.fail(f"still armed after {BOUND} s")


def test_it_returns_smoothly_to_where_it_was_armed_and_is_busy_until_at_rest(start: Start) -> None:
    """A polynomial with no velocity and no acceleration at its ends, in 50 steps, behind the actuator's lag."""
    rig = start("--in-step", "--return", "0.05")
    with Controller(rig.port, STEP) as controller:
        controller.arm(LONG)
        for _ in range(100):
            home = controller.command(0.004).channels[0]
        controller.stop()
        controller.arm(0.5)
        for _ in range(100):
            away = where = controller.command(0.020).channels[0]
        for k in range(1, 151):
            x = min(k / 50, 1.0)
            target = away + (home - away) * (10 * x**3 - 15 * x**4 + 6 * x**5)
            where = target + (where - target) * math.exp(-STEP / LAG)
            got = controller.measurement()
            assert (got.state, got.code) == (SAFE, NO_COMMAND)
            assert got.channels == pytest.approx([where, STIFFNESS * where], rel=1e-12)
        assert got.channels[0] == pytest.approx(home, abs=1e-6)
        rig.change("armed")
        rig.change("idle")
        rig.change("armed")
        rig.change("safe: no valid command for 0.500 s")
        rig.change("safe: at rest")
        assert controller.hello(LONG).channels == got.channels


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


def test_its_own_limit_makes_it_safe_before_it_moves(start: Start) -> None:
    """The stroke is 0.25 m: what is there is obeyed, what is beyond it by one unit in the last place is not."""
    rig = start("--in-step")
    with Controller(rig.port, STEP) as controller:
        controller.arm(LONG)
        reached = controller.command(0.25)
        assert reached.state == ARMED
        got = controller.command(math.nextafter(0.25, 1.0))
        assert (got.state, got.code, got.channels) == (SAFE, OWN_LIMIT, reached.channels)
        rig.change("armed")
        rig.change("safe: own limit")


def test_who_ends_the_rig_makes_it_say_so(start: Start) -> None:
    rig = start("--in-step")
    with Controller(rig.port, STEP) as controller:
        controller.arm(LONG)
        reached = controller.command(0.010)
        rig.end()
        got = controller.measurement()
        assert (got.state, got.code, got.channels) == (SAFE, EMERGENCY_STOP, reached.channels)


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
    ],
)
def test_arguments_that_cannot_be_are_told(program: Path, arguments: tuple[str, ...], message: str) -> None:
    ended = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=BOUND, check=False)
    assert ended.returncode == 2
    assert message in ended.stderr
