"""What the rig's end in C does with a datagram, by docs/link.md."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
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
    HELLO,
    IDLE,
    MEASUREMENT,
    OFFER,
    SAFE,
    STOP,
    Controller,
    Datagram,
)
from links.reference import LAG, LONG, NONE, STEP, Start, bad, only, running

FARTHEST = round(2 * LONG / STEP) + 64  # ahead of the newest that a sequence may be


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
    "other version": ("foreign", lambda d: replace(d, version=1)),
    "other session": ("foreign", lambda d: replace(d, session=d.session ^ 1)),
    "no session": ("foreign", lambda d: replace(d, session=0)),
    "kind 0": ("foreign", lambda d: replace(d, kind=0)),
    "kind 8": ("foreign", lambda d: replace(d, kind=8)),
    "a rig's offer": ("foreign", lambda d: replace(d, kind=OFFER)),
    "a rig's measurement": ("foreign", lambda d: replace(d, kind=MEASUREMENT)),
    "HELLO with a session": ("foreign", lambda d: replace(d, kind=HELLO, channels=(STEP, 1.0, 1.0, 0.0))),
    "HELLO with one channel": ("foreign", lambda d: replace(d, kind=HELLO, session=0)),
    "STOP with a channel": ("foreign", lambda d: replace(d, kind=STOP)),
    "no channels": ("foreign", lambda d: replace(d, channels=())),
    "two channels": ("foreign", lambda d: replace(d, channels=(0.1, 0.1))),
    "more channels than any datagram": ("foreign", lambda d: replace(d, channels=(0.1,) * 321)),
    "other tag": ("corrupted", lambda d: d.packed(tag=bytes(16))),
    "NaN": ("corrupted", lambda d: replace(d, channels=(math.nan,))),
    "infinity": ("corrupted", lambda d: replace(d, channels=(math.inf,))),
    "minus infinity": ("corrupted", lambda d: replace(d, channels=(-math.inf,))),
    "too far ahead": ("foreign", lambda d: replace(d, sequence=d.sequence + FARTHEST)),
    "the last of all sequences": ("foreign", lambda d: replace(d, sequence=2**64 - 1)),
    "64 behind": ("replayed", lambda d: replace(d, sequence=d.sequence - 65)),
    "the first": ("replayed", lambda d: replace(d, sequence=1)),
    "sequence 0": ("replayed", lambda d: replace(d, sequence=0)),
    "ARM once more": ("replayed", lambda d: replace(d, kind=ARM, sequence=1, channels=(STEP, 1.0, LONG, 0.0))),
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
        bad_one = spoil(Datagram(COMMAND, controller.session, controller.sequence + 1, (0.1,)))
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
                spoiled = altered(Datagram(COMMAND, controller.session, controller.sequence + 1, (0.1,)), at, bit)
                controller.send(spoiled)
                ahead = int.from_bytes(spoiled[16:24], "little") - controller.sequence
                foreign = at < 6 or 8 <= at < 16 or ahead > FARTHEST
                expected["foreign" if foreign else "truncated" if at < 8 else "corrupted"] += 1
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
                controller.send(Datagram(COMMAND, controller.session, sequence, (0.1,)))
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
        controller.send(Datagram(COMMAND, controller.session, 1 + FARTHEST, (0.0,), tick=2**63 - 1))
        got = controller.measurement()
        assert (got.answers, got.tick) == (1 + FARTHEST, -(2**63))
        controller.send(Datagram(COMMAND, controller.session, 2, (0.1,)))
        assert controller.hello().code == BUSY
    assert bad(rig.end()) == only(lost=FARTHEST - 1, replayed=1)


def test_how_far_ahead_a_sequence_may_be_follows_from_the_lease_and_the_step(start: Start) -> None:
    """Twice the lease in steps, and the window: 2 × 0.5 s / 1 ms + 64 = 1064."""
    rig = start("--in-step")
    with Controller(rig.port, STEP) as controller:
        controller.arm(0.5)
        controller.send(Datagram(COMMAND, controller.session, 1 + 1065, (0.1,)))
        controller.sequence = 1 + 1063
        assert controller.command(0.0).channels == (0.0, 0.0)
    assert bad(rig.end()) == only(foreign=1, lost=1063)


@pytest.mark.parametrize("ahead", [100_000, FARTHEST, FARTHEST + 1, 2**63])
def test_a_forged_sequence_does_not_take_the_stop_from_the_controller(start: Start, ahead: int) -> None:
    """One datagram with the controller's key and address, from far ahead: accepted or not, STOP stops the rig."""
    rig = start()
    with Controller(rig.port, STEP) as controller:
        controller.arm(LONG)
        controller.send(Datagram(COMMAND, controller.session, 1 + ahead, (0.0,)))
        controller.send(controller.next(STOP))
        while (got := controller.measurement()).state == ARMED:
            pass
        assert got.state == IDLE
        assert controller.hello(LONG).state == IDLE


@hypothesis_settings(max_examples=20)
@given(sequence=st.integers(0, 2**64 - 1) | st.integers(0, 200), commands=st.integers(0, 100))
def test_stop_makes_an_armed_rig_idle_whatever_its_sequence(program: Path, sequence: int, commands: int) -> None:
    with running(program) as start:
        rig = start("--in-step")
        with Controller(rig.port, STEP) as controller:
            controller.arm(LONG)
            for _ in range(commands):
                controller.command(0.0)
            controller.send(Datagram(STOP, controller.session, sequence))
            got = controller.measurement()
            assert (got.state, got.code) == (IDLE, 0)
        counters = rig.end()
    newest = 1 + commands
    assert counters["accepted"] == newest + 1
    assert bad(counters) == only(lost=sequence - newest - 1 if newest < sequence <= newest + FARTHEST else 0)


@pytest.mark.parametrize("wrong", ["other session", "other tag", "STOP with a channel", "other version"])
def test_a_stop_that_is_not_the_controllers_is_not_obeyed(start: Start, wrong: str) -> None:
    counted, spoil = WRONG[wrong]
    rig = start("--in-step")
    with Controller(rig.port, STEP) as controller:
        controller.arm(LONG)
        channels = (0.1,) if wrong == "STOP with a channel" else ()
        controller.send(spoil(Datagram(STOP, controller.session, 2, channels)))
        assert controller.command(0.0).state == ARMED
    assert bad(rig.end()) == only(**{counted: 1})


def test_a_stranger_with_the_right_key_is_not_heard(start: Start) -> None:
    rig = start("--in-step")
    with Controller(rig.port, STEP) as controller, Controller(rig.port, STEP) as stranger:
        controller.arm(LONG)
        controller.command(0.0)
        for kind, channels in ((COMMAND, (0.1,)), (STOP, ())):
            stranger.send(Datagram(kind, controller.session, controller.sequence + 1, channels))
        got = controller.command(0.0)
        assert (got.state, got.channels) == (ARMED, (0.0, 0.0))
        assert stranger.hello().code == BUSY  # and the first thing it hears
    assert bad(rig.end()) == only(foreign=2)


def test_an_idle_rig_obeys_nothing_but_the_arm_it_offered(start: Start) -> None:
    rig = start("--in-step")
    with Controller(rig.port, STEP) as controller:
        for kind in (ARM, COMMAND):
            controller.send(Datagram(kind, 0, 1, (0.1,)))
        offered, wanted = controller.hello(LONG).session, controller.wanted(LONG)
        for kind, sequence in ((COMMAND, 1), (COMMAND, 2)):
            controller.send(Datagram(kind, offered, sequence, (0.1,)))
        for sequence in (0, 2):
            controller.send(Datagram(ARM, offered, sequence, wanted))
        controller.send(Datagram(ARM, offered, 1, (math.nan, *wanted[1:])))
        controller.send(Datagram(STOP, offered, 1))
        controller.send(Datagram(ARM, offered ^ 1, 1, wanted))
        for other in range(4):  # what HELLO would be refused for
            controller.send(Datagram(ARM, offered, 1, (*wanted[:other], 2.0 * LONG, *wanted[other + 1 :])))
        again = controller.hello(LONG)
        assert (again.kind, again.state, again.channels[:2]) == (OFFER, IDLE, (0.0, 0.0))
    counters = rig.end()
    assert counters["accepted"] == 0
    assert bad(counters) == only(foreign=12, corrupted=1)


def test_a_recorded_session_cannot_be_replayed(start: Start) -> None:
    rig = start("--in-step")
    with Controller(rig.port, STEP) as controller:
        controller.arm(LONG)
        controller.command(0.001)
        old = controller.session
        arm = Datagram(ARM, old, 1, controller.wanted(LONG), answers=controller.asked)
        recorded = [arm, Datagram(COMMAND, old, 2, (0.1,)), Datagram(STOP, old, 3)]
        where = controller.stop().channels
        for datagram in recorded:  # to an idle rig,
            controller.send(datagram)
        offer = controller.hello(LONG)
        for datagram in recorded:  # to one that has made another offer,
            controller.send(datagram)
        again = controller.hello(LONG)
        assert offer.state == again.state == IDLE
        assert offer.channels[:2] == again.channels[:2] == where
        controller.arm(LONG)
        for datagram in recorded:  # and in the next session
            controller.send(datagram)
        got = controller.command(where[0])
        assert (got.state, got.channels) == (ARMED, where)
    assert bad(rig.end()) == only(foreign=9)


@pytest.mark.parametrize("wrong", ["a byte missing", "other session", "other tag", "NaN", "the newest"])
def test_what_is_not_accepted_does_not_renew_the_lease(start: Start, wrong: str) -> None:
    """Sent all the time; a rig that took it for a command would never become safe."""
    rig = start("--in-step")
    with Controller(rig.port, STEP) as controller:
        controller.arm(0.2)
        controller.send(controller.next(COMMAND, (0.0,)))
        controller.measurement()
        bad_one = WRONG[wrong][1](Datagram(COMMAND, controller.session, controller.sequence + 1, (0.1,)))
        controller.socket.settimeout(0.01)
        end = time.monotonic() + BOUND
        while time.monotonic() < end:
            controller.send(bad_one)
            with suppress(TimeoutError):
                assert controller.measurement().state == SAFE
                break
        else:
            pytest.fail(f"still armed after {BOUND} s")
