"""The rig's own safety: what its end of the link does when commands stop, and when it is told to.

The lease is ended by shortening it, not by waiting for its end.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator

import numpy as np
import pytest

from halfreal.kernels.control import EMERGENCY_STOP, REQUEST, WORDS
from halfreal.kernels.loop import Loop
from halfreal.kernels.tick import COMPLETED, STOPPED
from halfreal.links.rig_command import AFTER
from halfreal.links.rig_end import RigSession
from halfreal.links.udp import UdpWire
from links.by_hand import ARMED, COMMAND, IDLE, NO_COMMAND, SAFE, STOP, Datagram, unpacked
from links.by_hand import EMERGENCY_STOP as EMERGENCY_STOPPED
from links.ends import KEY, LONG, STEP, rig_end, rig_loop, sockets, value

RETURN = 10 * STEP


@pytest.fixture
def ends() -> Iterator[tuple[UdpWire, socket.socket]]:
    with sockets() as both:
        yield both


def serving(wire: UdpWire, *, waits: bool = False, returns: bool = False) -> Loop:
    return rig_loop(rig_end(wire), RigSession(KEY, LONG, wire), waits=waits, returns=returns, return_time=RETURN)


def say(far: socket.socket, sequence: int, position: float | None = None, tick: int = 0) -> None:
    channels = () if position is None else (position,)
    far.send(Datagram(STOP if position is None else COMMAND, KEY, sequence, channels, tick=tick).packed())


def heard(far: socket.socket) -> list[Datagram]:
    found = []
    while True:
        try:
            found.append(unpacked(far.recv(2000)))
        except BlockingIOError:
            return found


def end_lease(loop: Loop) -> None:
    loop.parameter("link.command")["lease"] = 0.0


def test_a_rig_without_commands_holds_the_last_one_and_says_why(ends):
    wire, far = ends
    loop = serving(wire)
    say(far, 2, 0.5, tick=10)
    loop.run(2)  # in the second it is at rest
    end_lease(loop)
    before = value(loop, "rig.clock")
    stretch = loop.run(10_000, record=["command", "rig.state", "rig.code", "rig.clock"])
    assert stretch.ended == STOPPED
    elapsed = np.minimum(np.diff([before, *stretch.log[:, 4]]), STEP).sum()
    assert elapsed == pytest.approx(AFTER, abs=2.0 * STEP)
    assert set(stretch.log[:, 1]) == {0.5}
    assert set(stretch.log[:, 2]) == {SAFE}
    assert set(stretch.log[:, 3]) == {NO_COMMAND}
    told = heard(far)
    assert {(d.state, d.code) for d in told[2:]} == {(SAFE, NO_COMMAND)}
    assert [d.tick for d in told] == list(range(11, 11 + len(told)))


def test_it_returns_without_a_jerk_to_where_it_was_armed(ends):
    """Velocity and acceleration are zero at both ends of the way, and its time is that between the steps."""
    wire, far = ends
    loop = serving(wire, returns=True)
    say(far, 2, 0.5)
    loop.run(2)
    end_lease(loop)
    before = value(loop, "rig.clock")
    stretch = loop.run(10_000, record=["command", "rig.clock"])
    elapsed = np.cumsum(np.minimum(np.diff([before, *stretch.log[:, 2]]), STEP))
    share = np.minimum(elapsed / RETURN, 1.0)
    way = 0.5 * (1.0 - share**3 * (10.0 - 15.0 * share + 6.0 * share**2))
    np.testing.assert_allclose(stretch.log[:, 1], way, atol=1e-12)
    assert stretch.ended == STOPPED
    assert elapsed[-1] == pytest.approx(RETURN + AFTER, abs=2.0 * STEP)


def test_a_rig_that_is_safe_obeys_nothing_more_of_the_session(ends):
    wire, far = ends
    loop = serving(wire, returns=True)
    say(far, 2, 0.5)
    loop.run(1)
    end_lease(loop)
    loop.run(1)
    say(far, 3, -0.7)
    loop.run(1)
    say(far, 4)  # STOP, of a controller that goes home: the way to safety is not cut short
    stretch = loop.run(10_000, record=["command"])
    assert value(loop, "rig.state") == SAFE
    assert stretch.log[0, 1] > stretch.log[-1, 1]
    assert stretch.log[-1, 1] == pytest.approx(0.0, abs=1e-15)


def test_stop_lets_it_stand_where_it_is_and_is_answered(ends):
    wire, far = ends
    loop = serving(wire, returns=True)
    say(far, 2, 0.5)
    loop.run(1)
    say(far, 3)
    stretch = loop.run(10, record=["command"])
    assert (stretch.ended, stretch.ticks) == (STOPPED, 1)
    assert stretch.log[0, 1] == 0.5
    assert [d.state for d in heard(far)] == [ARMED, IDLE]


def test_what_is_not_accepted_does_not_renew_the_lease(ends):
    wire, far = ends
    loop = serving(wire)
    say(far, 2, 0.5)
    loop.run(1)
    before = float(loop.state("link.command")["arrived"])
    say(far, 2, 0.6)
    far.send(Datagram(COMMAND, KEY + 1, 3, (0.6,)).packed())
    far.send(Datagram(COMMAND, KEY, 3, (np.nan,)).packed())
    loop.run(1)
    assert float(loop.state("link.command")["arrived"]) == before
    assert value(loop, "command") == 0.5
    say(far, 3, 0.6)
    loop.run(1)
    assert float(loop.state("link.command")["arrived"]) > before


def test_an_armed_rig_without_any_command_makes_itself_safe_where_it_stands(ends):
    wire, far = ends
    loop = serving(wire, returns=True)
    loop.run(3)
    assert (value(loop, "rig.state"), value(loop, "link.newest")) == (ARMED, 1.0)
    end_lease(loop)
    assert loop.run(10_000).ended == STOPPED
    assert {d.channels for d in heard(far)} == {(0.0, 0.0)}
    assert value(loop, "rig.code") == NO_COMMAND


def test_what_was_queued_while_the_rig_was_held_up_does_not_revive_it(ends):
    """Its lease is over before it looks, and what it then hears is a stop as well."""
    wire, far = ends
    loop = serving(wire)
    say(far, 2, 0.5)
    loop.run(2)
    for sequence in range(3, 20):
        say(far, sequence, 0.01 * sequence)
    say(far, 20)
    end_lease(loop)
    log = loop.run(3, record=["command", "rig.state"]).log
    np.testing.assert_array_equal(log[:, 1:], [[0.5, SAFE]] * 3)
    assert value(loop, "link.newest") == 20.0  # heard, and not obeyed


def test_of_several_commands_in_one_step_the_newest_counts_and_none_after_stop(ends):
    wire, far = ends
    loop = serving(wire)
    for sequence in (2, 4, 3):
        say(far, sequence, 0.1 * sequence)
    loop.run(1)
    assert value(loop, "command") == 0.4
    say(far, 5, 0.5)
    say(far, 6)
    say(far, 7, 0.7)
    assert loop.run(5).ended == STOPPED
    assert (value(loop, "command"), value(loop, "rig.state")) == (0.5, IDLE)


def test_a_new_command_is_followed_within_the_lease(ends):
    wire, far = ends
    loop = serving(wire)
    for sequence in range(2, 50):
        say(far, sequence, 0.001 * sequence, tick=sequence)
        stretch = loop.run(1, record=["command", "link.tick"])
        assert stretch.ended == COMPLETED
        np.testing.assert_array_equal(stretch.log[0, 1:], [0.001 * sequence, sequence])


def test_in_step_one_command_is_one_step(ends):
    wire, far = ends
    loop = serving(wire, waits=True)
    for sequence in range(2, 12):
        say(far, sequence, 0.001 * sequence, tick=sequence)
    log = loop.run(10, record=["command"]).log
    np.testing.assert_allclose(log[:, 1], 0.001 * np.arange(2, 12))
    assert [d.answers for d in heard(far)] == list(range(2, 12))


def test_after_its_own_emergency_stop_nothing_moves(ends):
    wire, far = ends
    loop = serving(wire, returns=True)
    say(far, 2, 0.5)
    loop.run(1)
    words = np.zeros(WORDS, dtype=np.int64)
    words[REQUEST] = EMERGENCY_STOP
    log = np.zeros((20, 2))
    heard(far)
    loop.drive(20, log, ["command"], words)
    assert value(loop, "rig.state") == SAFE
    assert set(log[:, 1]) == {0.5}
    assert {(d.state, d.code, d.channels[0]) for d in heard(far)} == {(SAFE, EMERGENCY_STOPPED, 0.5)}
    words[REQUEST] = 0
    say(far, 3, 0.7)
    loop.drive(1, log, ["command"], words)
    assert (value(loop, "rig.state"), value(loop, "command")) == (SAFE, 0.5)
