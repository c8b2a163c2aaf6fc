"""Whole sessions between both ends in one process, over UDP and in shared memory."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from halfreal.kernels.loop import Loop
from halfreal.kernels.tick import STOPPED
from halfreal.links import rig_end
from halfreal.links.controller_end import ControllerEnd, Offer, begin
from halfreal.links.datagram import Datagram
from halfreal.links.rig_end import OFFERED, RigEnd, RigSession
from halfreal.links.wires import LinkError
from links import by_hand
from links.by_hand import ARM, ARMED, COMMAND, HELLO, IDLE, MEASUREMENT, OFFER, OWN_LIMIT, SAFE
from links.ends import LEASE, STEP, controller_loop, link, reach, rig_loop, value

PATIENCE = 20.0
AT = (np.array([0.25]), np.array([250.0]))
WANTED = (STEP, 1.0, LEASE, 0.0)
MEDIA = pytest.mark.parametrize("medium", ["udp", "shared memory"])


@contextmanager
def in_background(work: Callable[[threading.Event], object]) -> Iterator[list[object]]:
    """A rig at work in a thread; what it returned is in the list after the end."""
    ended, results = threading.Event(), list[object]()
    thread = threading.Thread(target=lambda: results.append(work(ended)))
    thread.start()
    try:
        yield results
    finally:
        ended.set()
        thread.join()


@contextmanager
def both_ends(medium: str) -> Iterator[tuple[RigEnd, ControllerEnd]]:
    with ExitStack() as stack:
        where = link(medium)
        rig = stack.enter_context(closing(RigEnd.listen(where, 1, STEP)))
        yield rig, stack.enter_context(closing(reach(where, rig)))


def wait_for(what: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.001)


def waiting(rig: RigEnd) -> Callable[[threading.Event], RigSession | None]:
    return lambda ended: rig.await_session(lambda: AT, ended.is_set)


def follow(rig: RigEnd, *, waits: bool) -> Callable[[threading.Event], Loop]:
    """Serve one session to its end; give its loop."""

    def work(ended: threading.Event) -> Loop:
        session = rig.await_session(lambda: AT, ended.is_set)
        assert session is not None
        loop = rig_loop(rig, session, waits=waits)
        rig.ready(session, AT)
        assert loop.run(10_000_000).ended == STOPPED
        rig.close_session(value(loop, "rig.state"), value(loop, "rig.code"))
        return loop

    return work


def port(rig: RigEnd) -> int:
    return int(rig.address.rpartition(":")[2])


# Handshake


@MEDIA
def test_hello_tells_what_is_measured_and_offers_have_one_number_until_one_is_armed(medium):
    with both_ends(medium) as (rig, controller), in_background(waiting(rig)) as opened:
        offers = [controller.hello(1, STEP, 0.1, PATIENCE) for _ in range(3)]
    assert opened == [None]
    assert len({offer.session for offer in offers}) == 1 and offers[0].session != 0
    assert [(offer.displacement[0], offer.force[0]) for offer in offers] == [(0.25, 250.0)] * 3


@MEDIA
@pytest.mark.parametrize(
    ("axes", "step", "lease", "reason"),
    [
        (1, 2 * STEP, 0.1, r"its step is 0\.001 s"),
        (1, math.nan, 0.1, r"its step is 0\.001 s"),
        (2, STEP, 0.1, "it has 1 axis"),
        (1, STEP, 1e6, "lease of 1e\\+06 s"),
        (1, STEP, 0.0, "lease of 0 s"),
        (1, STEP, math.nan, "lease of nan s"),
    ],
)
def test_what_cannot_be_served_is_refused_in_words(medium, axes, step, lease, reason):
    with (
        both_ends(medium) as (rig, controller),
        in_background(waiting(rig)) as opened,
        pytest.raises(LinkError, match=f"refuses: .*{reason}"),
    ):
        controller.hello(axes, step, lease, PATIENCE)
    assert opened == [None]


def test_a_rig_in_a_session_tells_others_that_it_is_busy():
    def work(ended: threading.Event) -> None:
        assert rig.await_session(lambda: AT, ended.is_set) is not None
        while not ended.is_set():
            rig.turn_away()

    with both_ends("udp") as (rig, controller), in_background(work):
        offer = controller.hello(1, STEP, LEASE, PATIENCE)
        controller.wire.send(Datagram(ARM, offer.session, 1, channels=(STEP, 1.0, LEASE, 0.0)).encode())
        with by_hand.Controller(port(rig)) as other:
            refusal = other.hello()
        assert (refusal.kind, refusal.code, refusal.channels) == (by_hand.REFUSAL, by_hand.BUSY, (STEP, 1.0, 0.0))


@pytest.mark.parametrize(("state", "code"), [(SAFE, OWN_LIMIT), (IDLE, 0)])
def test_a_rig_that_has_made_itself_safe_says_so_in_its_offer(state, code):
    with both_ends("udp") as (rig, _), by_hand.Controller(port(rig)) as controller:
        rig.close_session(state, code)
        with in_background(waiting(rig)):
            offer = controller.hello()
    assert (offer.kind, offer.state, offer.code, offer.sequence) == (OFFER, state, code, 0)
    assert offer.session != 0


@MEDIA
def test_where_no_one_answers_the_error_says_where_and_what_to_do(medium):
    with both_ends(medium) as (rig, controller):
        with pytest.raises(LinkError, match=r"no response .*within 0\.06 s.*halfreal rig") as error:
            controller.hello(1, STEP, 0.1, 0.06)
        assert rig.address in str(error.value)


# Arming


def arm_of(offer: Offer) -> Datagram:
    return Datagram(ARM, offer.session, 1, channels=(STEP, 1.0, LEASE, 0.0))


@MEDIA
def test_an_offer_can_be_armed_once_and_only_while_it_stands(medium, monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(rig_end, "time", SimpleNamespace(monotonic=lambda: clock[0], monotonic_ns=time.monotonic_ns))
    with both_ends(medium) as (rig, controller):
        with in_background(waiting(rig)) as opened:
            forgotten = controller.hello(1, STEP, LEASE, PATIENCE)
            clock[0] += 1.1 * OFFERED
            late = controller.hello(1, STEP, LEASE, PATIENCE)
            clock[0] += 1.1 * OFFERED
            last = controller.hello(1, STEP, LEASE, PATIENCE)
            assert len({forgotten.session, late.session, last.session}) == 3
            controller.wire.send(arm_of(forgotten).encode())
            controller.hello(1, STEP, LEASE, PATIENCE)  # heard after it
        assert opened == [None]
        with in_background(waiting(rig)) as opened:
            controller.wire.send(arm_of(late).encode())
            wait_for(lambda: opened)
        assert isinstance(opened[0], RigSession) and opened[0].number == late.session
        rig.close_session()
        with in_background(waiting(rig)) as opened:  # neither it nor what was offered with it opens another
            for offer in (late, last):
                controller.wire.send(arm_of(offer).encode())
                assert controller.hello(1, STEP, LEASE, PATIENCE).session not in (late.session, last.session)
        assert opened == [None]


@pytest.mark.parametrize(
    ("wrong", "channels"),
    [
        ({}, (math.nan, *WANTED[1:])),
        ({}, (STEP, 1.0, math.inf, 0.0)),
        ({}, (STEP, 2.0, LEASE, 0.0)),
        ({}, (STEP, 1.0, LEASE, 1.0)),
        ({}, ()),
        ({}, (0.25, 0.25)),
        ({"sequence": 0}, WANTED),
        ({"sequence": 2}, WANTED),
        ({"session": 0}, WANTED),
        ({"kind": COMMAND}, WANTED),
        ({"kind": HELLO}, (0.25,)),
        ({"kind": MEASUREMENT}, WANTED),
    ],
)
def test_nothing_but_the_arm_that_was_offered_opens_a_session(wrong, channels):
    with both_ends("udp") as (rig, _), by_hand.Controller(port(rig)) as controller:
        with in_background(waiting(rig)) as opened:
            fields = {"kind": ARM, "session": controller.hello().session, "sequence": 1} | wrong
            controller.send(by_hand.Datagram(**fields, channels=channels))
            answer = controller.hear() if wrong.get("kind") == HELLO else None
            assert controller.hello().kind == OFFER  # heard after it, and still idle
        assert opened == [None]
        assert answer is None or answer.kind == by_hand.REFUSAL


def test_in_a_session_only_who_armed_it_is_heard():
    with (
        both_ends("udp") as (rig, _),
        by_hand.Controller(port(rig)) as controller,
        by_hand.Controller(port(rig)) as other,
    ):
        with in_background(waiting(rig)) as opened:
            controller.send(by_hand.Datagram(ARM, controller.hello().session, 1, controller.wanted(LEASE)))
            wait_for(lambda: opened)
        session = opened[0]
        assert isinstance(session, RigSession)
        other.send(by_hand.Datagram(COMMAND, session.number, 2, (0.7,)))
        controller.send(by_hand.Datagram(COMMAND, session.number, 2, (0.5,)))
        heard = session.wire.receive(PATIENCE)
        assert heard is not None and by_hand.unpacked(heard).channels == (0.5,)
        assert session.wire.receive(0.0) is None


def test_a_recorded_session_cannot_be_replayed():
    with both_ends("udp") as (rig, _), by_hand.Controller(port(rig)) as controller:
        with in_background(follow(rig, waits=True)):
            controller.arm(LEASE)
            controller.command(0.3)
            old = controller.session
            controller.stop()
        recorded = [
            by_hand.Datagram(ARM, old, 1, controller.wanted(LEASE), answers=controller.asked),
            by_hand.Datagram(COMMAND, old, 2, (0.3,)),
            by_hand.Datagram(by_hand.STOP, old, 3),
        ]
        with in_background(follow(rig, waits=True)) as served:
            for _ in range(2):  # to an idle rig, and to one that has made an offer
                for datagram in recorded:
                    controller.send(datagram)
                assert controller.hello(LEASE).state == IDLE
            controller.arm(LEASE)
            for datagram in recorded:
                controller.send(datagram)
            assert controller.command(0.4).channels == (0.4, 400.0)
            controller.stop()
        loop = served[0]
        assert isinstance(loop, Loop)
        assert value(loop, "link.foreign") == 3.0


# Sessions


def test_a_controller_written_by_hand_from_the_page_is_served():
    """Its own assertions follow the sequences, what each measurement answers, and its tick."""
    with both_ends("udp") as (rig, _), by_hand.Controller(port(rig)) as controller:
        for first in (-3, 5):
            with in_background(follow(rig, waits=True)):
                assert controller.arm(LEASE).channels == (0.25, 250.0, math.inf, math.inf, math.inf)
                for tick in range(first, first + 20):
                    got = controller.command(1e-3 * tick, tick=tick)
                    assert (got.state, got.code) == (ARMED, 0)
                    assert got.channels == (1e-3 * tick, pytest.approx(tick))
                last = controller.stop()
            assert (last.state, last.code) == (IDLE, 0)


@MEDIA
def test_in_step_with_the_loop_every_command_is_answered_in_the_next_tick(medium):
    """Two sessions one after the other, over the same wires."""
    with both_ends(medium) as (rig, controller):
        for _ in range(2):
            with in_background(follow(rig, waits=True)) as served:
                offer = controller.hello(1, STEP, LEASE, PATIENCE)
                loop = controller_loop(controller, offer, waits=True, trip=LEASE)
                begin(loop, controller.arm(PATIENCE), controller.wire)
                log = loop.run(300, record=["command", "measured.displacement", "measured.force"]).log
                controller.stop(value(loop, "link.sent"))
            rig_side = served[0]
            assert isinstance(rig_side, Loop)
            np.testing.assert_array_equal(log[0, 2:], [0.25, 250.0])
            np.testing.assert_array_equal(log[1:, 2], log[:-1, 1])
            np.testing.assert_array_equal(log[1:, 3], 1000.0 * log[:-1, 1])
            for side in (loop, rig_side):  # ARM may have come twice, and been answered twice, if the rig was slow
                bad = ("lost", "reordered", "corrupted", "truncated", "foreign", "replayed")
                assert [value(side, f"link.{name}") for name in bad] == [0.0] * 6
            assert value(loop, "link.lag") == 0.0
            assert value(loop, "link.late") == 0.0
            assert value(rig_side, "rig.state") == IDLE
