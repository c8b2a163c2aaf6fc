"""Whole sessions between both ends in one process, over UDP and in shared memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager

import numpy as np
import pytest

from halfreal.kernels.loop import Loop
from halfreal.kernels.tick import STOPPED
from halfreal.links.controller_end import ControllerEnd, begin
from halfreal.links.datagram import Datagram
from halfreal.links.rig_end import RigEnd, RigSession
from halfreal.links.wires import LinkError
from links.ends import LONG, STEP, controller_loop, link, reach, rig_loop, value

PATIENCE = 20.0
AT = (np.array([0.25]), np.array([250.0]))
ARM = 4
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


def waiting(rig: RigEnd) -> Callable[[threading.Event], RigSession | None]:
    return lambda ended: rig.await_session(lambda: AT, ended.is_set)


@MEDIA
def test_hello_tells_what_is_measured_and_each_offer_has_a_key_of_its_own(medium):
    with both_ends(medium) as (rig, controller), in_background(waiting(rig)) as opened:
        offers = [controller.hello(1, STEP, 0.1, PATIENCE) for _ in range(3)]
    assert opened == [None]
    assert len({offer.key for offer in offers}) == 3
    assert [(offer.displacement[0], offer.force[0]) for offer in offers] == [(0.25, 250.0)] * 3


@MEDIA
@pytest.mark.parametrize(
    ("axes", "step", "lease", "reason"),
    [
        (1, 2 * STEP, 0.1, r"its step is 0\.001 s"),
        (2, STEP, 0.1, "it has 1 axis"),
        (1, STEP, 1e6, "lease of 1e\\+06 s"),
        (1, STEP, float("nan"), "lease of nan s"),
    ],
)
def test_what_cannot_be_served_is_refused_in_words(medium, axes, step, lease, reason):
    with (
        both_ends(medium) as (rig, controller),
        in_background(waiting(rig)),
        pytest.raises(LinkError, match=f"refuses: .*{reason}"),
    ):
        controller.hello(axes, step, lease, PATIENCE)


@MEDIA
def test_where_no_one_answers_the_error_says_where_and_what_to_do(medium):
    with both_ends(medium) as (rig, controller):
        with pytest.raises(LinkError, match=r"no answer .*within 0\.06 s.*halfreal rig") as error:
            controller.hello(1, STEP, 0.1, 0.06)
        assert rig.address in str(error.value)


@MEDIA
def test_only_the_newest_offer_can_be_armed_and_only_once(medium):
    with both_ends(medium) as (rig, controller):
        with in_background(waiting(rig)) as opened:
            old, new = (controller.hello(1, STEP, LONG / 200, PATIENCE) for _ in range(2))
            controller.wire.send(Datagram(ARM, old.key, 1, channels=(0.25,)).encode())
            controller.hello(1, STEP, LONG / 200, PATIENCE)  # heard after it
            controller.wire.send(Datagram(ARM, new.key, 1, channels=(0.25,)).encode())
            last = controller.hello(1, STEP, LONG / 200, PATIENCE)
        assert opened == [None]
        with in_background(waiting(rig)) as opened:  # nor after the rig has begun to listen anew
            controller.wire.send(Datagram(ARM, last.key, 1, channels=(0.25,)).encode())
            controller.hello(1, STEP, LONG / 200, PATIENCE)
        assert opened == [None]


def follow(rig: RigEnd, *, waits: bool) -> Callable[[threading.Event], Loop]:
    """Serve one session to its end; give its loop."""

    def work(ended: threading.Event) -> Loop:
        session = rig.await_session(lambda: AT, ended.is_set)
        assert session is not None
        loop = rig_loop(rig, session, waits=waits)
        rig.ready(session, AT)
        assert loop.run(10_000_000).ended == STOPPED
        rig.close_session()
        return loop

    return work


@MEDIA
def test_in_step_with_the_loop_every_command_is_answered_in_the_next_tick(medium):
    """Two sessions one after the other, over the same wires."""
    with both_ends(medium) as (rig, controller):
        for _ in range(2):
            with in_background(follow(rig, waits=True)) as served:
                offer = controller.hello(1, STEP, LONG / 200, PATIENCE)
                loop = controller_loop(controller, offer, waits=True, trip=LONG / 200)
                begin(loop, controller.arm(offer.displacement, PATIENCE), controller.wire)
                log = loop.run(300, record=["command", "measured.displacement", "measured.force"]).log
                controller.stop(value(loop, "link.sent"))
            rig_side = served[0]
            assert isinstance(rig_side, Loop)
            np.testing.assert_array_equal(log[0, 2:], [0.25, 250.0])
            np.testing.assert_array_equal(log[1:, 2], log[:-1, 1])
            np.testing.assert_array_equal(log[1:, 3], 1000.0 * log[:-1, 1])
            for side in (loop, rig_side):
                bad = ("lost", "duplicated", "reordered", "corrupted", "truncated", "foreign", "replayed")
                assert [value(side, f"link.{name}") for name in bad] == [0.0] * 7
            assert value(loop, "link.lag") == 0.0
            assert value(rig_side, "rig.state") == 1.0
