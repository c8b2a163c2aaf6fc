"""What the controller makes of a rig that is silent, safe, idle or late."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import numpy as np
import pytest

from halfreal.kernels.control import EMERGENCY_STOP as EMERGENCY_STOP_REQUEST
from halfreal.kernels.control import REQUEST, WORDS
from halfreal.kernels.loop import Loop
from halfreal.kernels.modes import TRIPPED
from halfreal.links.controller_end import ControllerEnd
from halfreal.links.udp import UdpWire
from links.by_hand import ARMED, EMERGENCY_STOP, IDLE, MEASUREMENT, NO_COMMAND, OWN_LIMIT, SAFE, Datagram
from links.ends import KEY, LONG, STEP, controller_loop, offer_of, ramp, sockets, value

OFFER = offer_of(0.1, 100.0)
MEASURED = ("measured.displacement", "measured.force")


@pytest.fixture
def ends() -> Iterator[tuple[UdpWire, socket.socket]]:
    with sockets() as both:
        yield both


def measure(far: socket.socket, sequence: int, x: float = 0.2, state: int = ARMED, code: int = 0, answers: int = 1):
    channels = (x, 1000.0 * x)
    far.send(Datagram(MEASUREMENT, KEY, sequence, channels, answers, state=state, code=code).packed())


def fault(loop: Loop) -> str:
    return loop.describe(value(loop, "loop.fault"))


def test_before_the_first_measurement_those_of_the_offer_stand(ends):
    loop = controller_loop(ControllerEnd(ends[0]), OFFER, waits=False)
    log = loop.run(2, record=MEASURED).log
    np.testing.assert_array_equal(log[:, 1:], [[0.1, 100.0], [0.1, 100.0]])


@pytest.mark.parametrize(
    ("state", "code", "words"),
    [
        (SAFE, NO_COMMAND, "within its lease"),
        (SAFE, OWN_LIMIT, "a rig-side limit"),
        (SAFE, EMERGENCY_STOP, "its emergency stop"),
        (IDLE, 0, "the rig has"),
        (0, 0, "is not considered armed"),
        (7, 0, "is not considered armed"),
    ],
)
def test_a_rig_that_follows_no_more_is_a_fault_that_says_why(ends, state, code, words):
    wire, far = ends
    loop = controller_loop(ControllerEnd(wire), OFFER, waits=False)
    measure(far, 2)
    loop.run(1)
    assert fault(loop) == ""
    measure(far, 3, state=state, code=code)
    loop.run(1)
    assert words in fault(loop)


def test_measurements_older_than_the_limit_are_a_fault_and_the_last_ones_stand(ends):
    wire, far = ends
    loop = controller_loop(ControllerEnd(wire), OFFER, waits=False)
    measure(far, 2, 0.3)
    loop.run(1)
    assert (fault(loop), value(loop, "link.stale")) == ("", 0.0)
    loop.parameter("link.receive")["warn"] = 0.0
    loop.run(1)
    assert (fault(loop), value(loop, "link.stale")) == ("", 2.0)
    loop.parameter("link.receive")["trip"] = 0.0
    loop.run(1)
    assert "limits.stale.trip" in fault(loop)
    assert [value(loop, name) for name in MEASURED] == [0.3, 300.0]
    assert value(loop, "link.age") > 0.0
    assert value(loop, "link.late") == 2.0


def test_lag_is_the_commands_that_are_not_yet_answered(ends):
    wire, far = ends
    loop = controller_loop(ControllerEnd(wire), OFFER, waits=False)
    for sequence in range(2, 6):
        measure(far, sequence, answers=sequence - 1)
        loop.run(1)
        assert value(loop, "link.sent") == sequence
        assert value(loop, "link.lag") == 1.0


def test_the_newest_of_several_measurements_is_taken(ends):
    wire, far = ends
    loop = controller_loop(ControllerEnd(wire), OFFER, waits=False)
    for sequence in range(1, 200):
        measure(far, sequence, 1e-3 * sequence)
    loop.run(1)
    assert value(loop, "measured.displacement") == pytest.approx(0.199)
    assert value(loop, "link.lost") == 0.0


def test_paced_by_the_rig_it_waits_for_a_measurement_that_is_there(ends):
    wire, far = ends
    loop = controller_loop(ControllerEnd(wire), OFFER, waits=True)
    for sequence in range(1, 20):
        measure(far, sequence, 1e-3 * sequence)
        loop.run(1)
        assert value(loop, "measured.displacement") == pytest.approx(1e-3 * sequence)
    assert value(loop, "link.late") == 0.0


def test_paced_by_a_silent_rig_it_waits_until_the_limit_and_after_a_trip_a_period(ends):
    """If it waited any longer than that, this test would not end."""
    loop = controller_loop(ControllerEnd(ends[0]), OFFER, waits=True, trip=5 * STEP)
    loop.run(1)
    assert "limits.stale.trip" in fault(loop)
    tripped = controller_loop(ControllerEnd(ends[0]), OFFER, waits=True, trip=LONG, mode=TRIPPED)
    assert tripped.run(5).ticks == 5
    assert value(tripped, "link.late") == 5.0


def test_paced_by_a_silent_rig_without_a_limit_it_waits_no_longer_than_the_lease(ends):
    """If it did, neither the operator nor this test would be heard again."""
    end = ControllerEnd(ends[0])
    send, receive = end.blocks(("command",), STEP, waits=True, stale_warn=None, stale_trip=None, offer=OFFER)
    loop = Loop([ramp()], outer=[send, receive], dt=STEP)
    loop.parameter("link.receive")["lease"] = 1e9 * STEP
    assert loop.run(3).ticks == 3
    assert (fault(loop), value(loop, "link.late")) == ("", 3.0)


def test_an_operators_request_ends_the_waiting_for_a_silent_rig_once(ends):
    """Without that, the loop would wait here for the whole lease, and this test for an hour; later ticks wait again."""
    end = ControllerEnd(ends[0])
    end._lease = 3600.0
    send, receive = end.blocks(("command",), STEP, waits=True, stale_warn=None, stale_trip=None, offer=OFFER)
    loop = Loop([ramp()], outer=[send, receive], dt=STEP)
    words = np.zeros(WORDS, dtype=np.int64)
    words[REQUEST] = EMERGENCY_STOP_REQUEST
    loop.parameter("link.receive")["request"] = float(words.ctypes.data + 8 * REQUEST)
    assert loop.run(1).ticks == 1
    assert value(loop, "link.late") == 1.0
    loop.parameter("link.receive")["lease"] = 1e9 * STEP
    loop.run(1)
    assert value(loop, "link.idle") >= STEP
