"""A rig or a controller that is held up itself, or flooded: on a clock of the test's own."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from halfreal.kernels.wire import MOST
from halfreal.links import controller_end, rig_command
from halfreal.links.controller_end import ControllerEnd
from halfreal.links.rig_end import RigSession
from halfreal.links.wires import NoWire
from links import ends
from links.by_hand import ARM, ARMED, COMMAND, MEASUREMENT, NO_COMMAND, SAFE, STOP, Datagram, unpacked
from links.ends import KEY, STEP, offer_of
from links.scripted import Scripted

LEASE = 100.0
"""Milliseconds; so is all that follows."""
PERIOD = 1e3 * STEP
FOREIGN = Datagram(COMMAND, KEY ^ 1, 5, (0.7,)).packed()


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch):
    def build(*, waits: bool) -> Scripted:
        end = ends.rig_end(NoWire())
        session = RigSession(KEY, 1e-3 * LEASE, NoWire())
        block = end.command_block(session, np.array([0.25]), waits=waits, returns=False, return_time=0.01)
        return Scripted(block, rig_command, monkeypatch)

    return build


@pytest.fixture
def controller(monkeypatch: pytest.MonkeyPatch):
    def build(*, waits: bool, trip: float) -> Scripted:
        offer = offer_of()
        end = ControllerEnd(NoWire())
        blocks = end.blocks(("command",), STEP, waits=waits, stale_warn=None, stale_trip=1e-3 * trip, offer=offer)
        return Scripted(blocks[1], controller_end, monkeypatch)

    return build


def command(sequence: int, position: float = 0.5) -> bytes:
    return Datagram(COMMAND, KEY, sequence, (position,)).packed()


def measurement(sequence: int, x: float, answers: int = 2) -> bytes:
    return Datagram(MEASUREMENT, KEY, sequence, (x, 1000.0 * x), answers, state=ARMED).packed()


def state(end: Scripted) -> tuple[float, float, float]:
    return end["rig.state"], end["rig.code"], end["command"]


@pytest.mark.parametrize("waits", [False, True], ids=["own clock", "in step"])
def test_a_rig_follows_a_command_that_comes_within_the_lease_and_no_later_one(rig, waits):
    end = rig(waits=waits)
    end.come([(1.0, command(2, 0.3)), (LEASE - 1.0, command(3, 0.4)), (2.0 * LEASE, command(4, 0.5))])
    end.step(0.0)
    for at in np.arange(PERIOD, 3.0 * LEASE, PERIOD):
        end.step(at)
        if end["rig.state"] == SAFE:
            break
    assert state(end) == (SAFE, NO_COMMAND, 0.4)
    assert 2.0 * LEASE - 1.0 <= end.elapsed <= 2.0 * LEASE + PERIOD


@pytest.mark.parametrize("waits", [False, True], ids=["own clock", "in step"])
def test_a_rig_held_up_between_two_steps_does_not_revive(rig, waits):
    end = rig(waits=waits)
    end.come([(1.0 + i, command(2 + i)) for i in range(50)])
    end.s["arrived"] = 1.0  # armed right at the start
    end.step(5.0 * LEASE)
    assert state(end) == (SAFE, NO_COMMAND, 0.25)
    end.come([(0.0, command(90)), (0.0, Datagram(STOP, KEY, 91).packed())])
    end.step(5.0 * LEASE)
    end.step(5.0 * LEASE)
    assert state(end) == (SAFE, NO_COMMAND, 0.25)


def test_a_rig_held_up_while_it_waited_for_a_command_does_not_revive(rig):
    """The command came in time and was seen too late."""
    end = rig(waits=True)
    end.come([(LEASE / 2.0, command(2))])
    end.held_up = int(5e6 * LEASE)
    end.step(0.0)
    end.step(0.0)
    assert state(end) == (SAFE, NO_COMMAND, 0.25)


@pytest.mark.parametrize("waits", [False, True], ids=["own clock", "in step"])
def test_a_flood_of_strangers_outlasts_neither_step_nor_lease(rig, waits):
    """A look takes a microsecond; a step on its own clock reads so many datagrams at the most, one in step none."""
    end = rig(waits=waits)
    end.come(itertools.repeat((0.0, FOREIGN)))
    most = 2e-3 * MOST + 0.01
    before = 0.0
    while end["rig.state"] != SAFE:
        end.step(0.0)
        assert end.elapsed - before <= (LEASE + 0.01 if waits else most)
        before = end.elapsed
    assert LEASE <= end.elapsed <= LEASE + 2.0 * most
    assert end["link.foreign"] > 100.0
    assert end["command"] == 0.25


def test_a_safe_rig_in_step_keeps_its_own_time_however_many_commands_come(rig):
    end = rig(waits=True)
    end.s["arrived"] = 1.0
    end.step(LEASE)
    assert end["rig.state"] == SAFE
    end.come([(0.0, command(2 + i)) for i in range(20)])
    begin = end.elapsed
    for _ in range(5):
        end.step(0.0)
    assert end.elapsed - begin == pytest.approx(5.0 * PERIOD, rel=0.02)


def test_arm_that_comes_again_is_answered_again_and_steps_nothing(rig):
    """Its answer was lost; a rig in step sends no other until there is a command."""
    end = rig(waits=True)
    copy = Datagram(ARM, KEY, 1, (0.25,) * 4).packed()
    end.come([(10.0, copy), (20.0, copy), (30.0, command(2)), (31.0, copy)])
    end.step(0.0)
    assert (end["command"], end["link.duplicated"], end["link.newest"]) == (0.5, 2.0, 2.0)
    answers = [(d.kind, d.sequence, d.answers, d.state) for d in map(unpacked, end.sent)]
    assert answers == [(MEASUREMENT, 1, 1, ARMED)] * 2
    end.come([(32.0, copy), (40.0, command(3, 0.6))])
    end.step(0.0)
    assert end["command"] == 0.6
    assert len(end.sent) == 2  # after the first command there is nothing to repeat


@pytest.mark.parametrize("waits", [False, True], ids=["own clock", "paced by the rig"])
def test_a_flooded_controller_goes_on_to_its_next_command(controller, waits):
    end = controller(waits=waits, trip=LEASE)
    end.come(itertools.repeat((0.0, FOREIGN)))
    end.step(0.0)
    assert 0.0 < end["link.foreign"] <= MOST
    assert end["link.late"] == 1.0


def test_a_controller_takes_the_newest_of_what_came_while_it_was_held_up(controller):
    for waits in (False, True):
        end = controller(waits=waits, trip=LEASE)
        end.come([(1.0 + i, measurement(2 + i, 0.1 * i)) for i in range(20)])
        assert end.step(30.0) == 0
        assert end["measured.displacement"] == pytest.approx(1.9)
        assert end["link.newest"] == 21.0


def test_a_controller_paced_by_its_rig_waits_for_the_next_measurement_only(controller):
    end = controller(waits=True, trip=LEASE)
    end.come([(2.0 + 3.0 * i, measurement(2 + i, 0.1 * i)) for i in range(5)])
    for i in range(5):
        assert end.step(0.0) == 0
        assert end.elapsed == pytest.approx(2.0 + 3.0 * i, abs=0.05)
        assert end["measured.displacement"] == pytest.approx(0.1 * i)
        assert end["link.idle"] == pytest.approx(2e-3 if i == 0 else 3e-3, abs=5e-5)
    assert end["link.late"] == 0.0


def test_a_controller_by_its_clock_shows_that_measurements_are_missing(controller):
    """From the fourth period without one, until one comes; not when one or two are late."""
    end = controller(waits=False, trip=LEASE)
    end.come([(1.0, measurement(2, 0.3)), (4.0, measurement(3, 0.3)), (20.5, measurement(4, 0.3))])
    shown = []
    for at in np.arange(1.1, 24.0, PERIOD):
        assert end.step(at) == 0
        shown.append(end["link.stale"])
    missing = [at - 4.1 > 2.999 * PERIOD and at < 20.5 for at in np.arange(1.1, 24.0, PERIOD)]
    assert shown == [controller_end.HELD if one else 0.0 for one in missing]


@pytest.mark.parametrize("waits", [False, True], ids=["own clock", "paced by the rig"])
def test_measurements_are_stale_once_they_are_as_old_as_the_limit(controller, waits):
    end = controller(waits=waits, trip=LEASE)
    end.come([(1.0, measurement(2, 0.3))])
    status, at = 0, 1.0
    while status == 0:
        status = end.step(at)
        at += PERIOD
        assert (status == controller_end.STALE) == (end["link.age"] >= 1e-3 * LEASE)
    assert end.elapsed == pytest.approx(1.0 + LEASE, abs=PERIOD + 0.1)
    assert end["measured.displacement"] == pytest.approx(0.3)
