"""Commands keep their distance in wall time, whatever has held up those who send them: on a clock of the test's own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfreal.links import controller_end, rig_command
from halfreal.links.controller_end import ControllerEnd
from halfreal.links.rig_command import OwnLimits
from halfreal.links.rig_end import RigSession
from halfreal.links.wires import NoWire
from links import ends
from links.by_hand import COMMAND, OWN_LIMIT, SAFE, Datagram
from links.ends import KEY, LONG, STEP, offer_of
from links.scripted import Scripted

PERIOD = 1_000_000
"""Nanoseconds."""
SHORTEST, SUSTAINED = 0.5, 0.999
"""Shares of a period that docs/safety.md and docs/link.md promise."""
RATE = 0.2
DELAYS = st.lists(st.one_of(st.just(0), st.integers(0, PERIOD), st.integers(0, 400 * PERIOD)), min_size=2, max_size=40)
"""Times that pass between two ticks: none in a burst, hundreds of periods in a stall."""


def sender(monkeypatch: pytest.MonkeyPatch) -> Scripted:
    end = ControllerEnd(NoWire())
    rate = np.array([RATE])
    send, _ = end.blocks(("command",), STEP, rate=rate, waits=True, stale_warn=None, stale_trip=None, offer=offer_of())
    scripted = Scripted(send, controller_end, monkeypatch, look=0)
    monkeypatch.setattr(controller_end, "seal", lambda buffer, count, session: 72 + 8 * count)
    monkeypatch.setattr(controller_end, "write_header", lambda *_: None)
    monkeypatch.setattr(controller_end, "store_double", lambda *_: None)
    return scripted


@given(delays=DELAYS, speeds=st.lists(st.floats(-1.0, 1.0), min_size=40, max_size=40))
def test_no_command_leaves_faster_than_the_rate_limit_in_wall_time(delays: list[int], speeds: list[float]) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        end = sender(monkeypatch)
        times, commands = [], [0.0]
        for delay, speed in zip(delays, speeds, strict=False):
            end.time += delay
            commands.append(commands[-1] + speed * RATE * STEP)  # as fast as the guard lets a command be
            end.u[0] = commands[-1]
            end.step(0.0)
            times.append(end.time)
        apart = np.diff(times)
        assert np.all(apart >= SHORTEST * PERIOD)
        assert np.all(np.abs(np.diff(commands[1:])) <= RATE * 1e-9 * apart * (1.0 + 1e-9))
        at_once = np.array(delays[1:]) <= PERIOD
        assert np.all(apart[at_once] <= PERIOD + 1), "it waited for longer than a period"


@given(st.integers(3, 60))
def test_a_rig_without_a_clock_does_not_make_the_test_run_fast(ticks: int) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        end = sender(monkeypatch)
        begin = end.time
        for _ in range(ticks):
            end.step(0.0)
        assert end.time - begin >= (ticks - 2) * SUSTAINED * PERIOD


@given(stall=st.integers(2, 500), ticks=st.integers(4, 60))
def test_time_lost_in_a_stall_is_not_made_up(stall: int, ticks: int) -> None:
    """But for one period, after a stall commands leave no faster than they do without one."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        end = sender(monkeypatch)
        for _ in range(3):
            end.step(0.0)
        end.time += stall * PERIOD
        end.step(0.0)
        begin = end.time
        for _ in range(ticks):
            end.step(0.0)
        assert end.time - begin >= (ticks * SUSTAINED - 1.0) * PERIOD


# The rig's end


def limited(monkeypatch: pytest.MonkeyPatch, *, waits: bool, furthest: float = np.inf) -> Scripted:
    limits = OwnLimits(*(np.array([x]) for x in (0.05, RATE, furthest, 0.01, np.inf)))
    session = RigSession(KEY, LONG, NoWire())
    rig = ends.rig_end(NoWire(), limits=limits)
    block = rig.command_block(session, np.zeros(1), waits=waits, returns=True, return_time=0.01)
    return Scripted(block, rig_command, monkeypatch)


def command(sequence: int, position: float) -> bytes:
    return Datagram(COMMAND, KEY, sequence, (position,)).packed()


@pytest.mark.parametrize("waits", [False, True], ids=["own clock", "in step"])
def test_a_rig_follows_no_faster_than_its_own_rate_in_wall_time(monkeypatch, waits: bool) -> None:
    end = limited(monkeypatch, waits=waits)
    random = np.random.default_rng(3)
    at = np.cumsum(random.choice([0.0, 0.1, 1.0, 30.0], 120))
    wanted = np.clip(np.cumsum(random.normal(0.0, 2e-3, 120)), -0.009, 0.009)
    end.come([(when, command(2 + i, x)) for i, (when, x) in enumerate(zip(at, wanted, strict=True))])
    times, positions, clock = [], [], 0.0
    for _ in range(120):
        end.step(clock)
        clock += random.choice([0.05, 1.0, 7.0])
        times.append(end.elapsed)
        positions.append(end["command"])
    moved, apart = np.abs(np.diff(positions)), 1e-3 * np.diff(times)
    assert end["rig.state"] == 2.0 and moved.max() > 0.0
    assert np.all(moved <= RATE * np.minimum(apart, STEP) * (1.0 + 1e-6) + 1e-12)
    assert np.all(apart >= SHORTEST * STEP)
    assert end["rig.slowed"] > 0.0


@pytest.mark.parametrize(
    ("first", "then", "furthest"),
    [(0.011, None, np.inf), (0.0, 0.051, np.inf), (0.0, 0.006, 0.005)],
    ids=["first one far away", "beyond its limit", "further than its longest step"],
)
def test_a_command_that_a_rig_does_not_allow_moves_nothing(monkeypatch, first, then, furthest) -> None:
    end = limited(monkeypatch, waits=True, furthest=furthest)
    end.come([(1.0, command(2, first)), *([] if then is None else [(2.0, command(3, then))]), (9.0, command(9, 0.0))])
    for _ in range(3):
        end.step(0.0)
    assert (end["rig.state"], end["rig.code"]) == (SAFE, OWN_LIMIT)
    assert end["command"] == 0.0


def test_a_return_at_the_end_of_the_lease_is_no_faster_than_the_rate_limit(monkeypatch) -> None:
    end = limited(monkeypatch, waits=False)
    end.come([(0.0, command(2, 0.009))])
    for i in range(60):
        end.step(float(i))
    assert end["command"] == pytest.approx(0.009)
    end.p["lease"] = 0.0
    positions = []
    for i in range(60, 400):
        end.step(float(i))
        positions.append(end["command"])
    assert positions[-1] == pytest.approx(0.0, abs=1e-15)
    assert np.abs(np.diff(positions)).max() <= RATE * STEP
    assert np.abs(np.diff(positions)).max() > 0.9 * RATE * STEP, "10 ms were asked for: it is the limit that counts"


def test_the_offer_holds_the_rigs_own_limits() -> None:
    limits = OwnLimits(*(np.array([x]) for x in (0.05, RATE, 0.01, 0.01, np.inf)))
    assert limits.offered() == (0.05, RATE, 0.01)
    assert OwnLimits.none(1).offered() == (np.inf,) * 3
