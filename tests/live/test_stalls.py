"""The clock of a test that is held up for 50 ms at 1 kHz: what ``real_time.overrun`` and the lease promise, happens.

Commands carry the time at which they were sent: from it the test's own time is seen to catch up, or not.
"""

from __future__ import annotations

import math
import re
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import halfreal
from halfreal.kernels.modes import RUNNING
from halfreal.runs.run import Run
from live.processes import (
    LEASE_OVER,
    SAFE,
    STEP,
    Rig,
    assert_every_tick,
    assert_held_after_trip,
    assert_obeyed,
    column,
    controller,
    definition,
)
from live.proxy import COMMAND, At, Datagram, Proxy, Stall

WHEN, LONG_ENOUGH = 200, 0.05
NEARLY = 0.9 * LONG_ENOUGH
"""The signal to stop takes a moment to arrive."""


@dataclass
class Stalled:
    """What is left of a test that was held up."""

    code: int
    said: str
    run: Run
    rig: Run
    sent_at: dict[int, float]
    """Times [s] of the controller's clock at which its commands were sent, by their sequence."""

    def behind(self, first: int, last: int) -> float:
        """Seconds that the test's time is behind the clock, from one command up to another."""
        return float(np.median([self.sent_at[i] - STEP * i for i in range(first, last)]))


def stalled(tmp_path: Path, rig: Rig, changes: dict[str, object], seconds: float = LONG_ENOUGH) -> Stalled:
    stall = Stall(WHEN, round(1e9 * seconds))
    with Proxy(rig.port, stall.commands, stall.measurements) as proxy:
        with controller(tmp_path, proxy.port, changes) as process:
            stall.process.append(process.pid)
            code = process.ends()
        assert code in (0, 1), f"it did not get to its test: {process.said} {process.complained}"
        record = rig.record()
    run = halfreal.load_run(tmp_path / "run.h5")
    assert_every_tick(run)
    assert_obeyed(run, record)
    sent_at = {one.sequence: 1e-9 * one.timestamp for one in proxy.heard if one.kind == COMMAND}
    return Stalled(code, process.said, run, record, sent_at)


@pytest.mark.parametrize("pacing", ["clock", "rig"])
def test_a_stall_within_the_lease_is_counted_and_the_tests_time_stands_still(
    tmp_path: Path, rig: Rig, pacing: str
) -> None:
    # the measured motion is late by the stall, and by what else a busy machine does
    test = stalled(tmp_path, rig, {"real_time.pacing": pacing, "acceptance.synchronisation": "none"})
    run = test.run
    assert (test.code, run.outcome) == (0, "completed")
    assert 401 <= len(run.time) <= 401 + 0.1 / STEP  # and then it brakes
    lateness, overruns = column(run, "pace.lateness"), column(run, "pace.overruns")
    worst = int(np.argmax(lateness))
    assert lateness[worst] >= NEARLY
    assert column(test.rig, "link.age").max() >= NEARLY and test.rig.outcome == "completed", "it kept its last command"
    assert run.accepted is not None and run.accepted.computer is not None
    stalls, running = run.accepted.computer.stalls, column(run, "guard.mode") == RUNNING
    assert sum(one.count for one in stalls) == np.ptp(overruns[running]), "each overrun has one cause"
    assert NEARLY <= max(one.longest for one in stalls) <= sum(one.lost for one in stalls)
    assert any(event.channel == "pace" and "held up for" in event.text for event in run.events)
    later = test.behind(300, 390) - test.behind(100, 190)
    assert 1 <= overruns[min(worst + 1, 400)] - overruns[worst - 1] <= 2, "it is counted once"
    assert later >= NEARLY
    apart = np.diff([test.sent_at[i] for i in sorted(test.sent_at)])
    assert apart.min() >= 0.499 * STEP, "commands were sent at once"


def test_by_default_a_stall_of_more_than_a_tenth_of_a_second_trips(tmp_path: Path, rig: Rig) -> None:
    test = stalled(tmp_path, rig, {"limits.lateness.trip": None}, 0.13)
    assert (test.code, test.run.outcome) == (1, "tripped")
    assert test.run.reason == "block 'pace': a tick was later than limits.lateness.trip, 100 ms"
    assert_held_after_trip(test.run)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"real_time.overrun": "trip"},
            r"block 'pace': a tick was not finished before the next was due, 1 ms later \(real_time\.overrun\)",
        ),
        (
            {"limits.lateness.trip": "40 ms"},
            r"block 'pace': a tick was later than limits\.lateness\.trip, 40 ms",
        ),
    ],
    ids=["overrun", "lateness"],
)
def test_a_stall_trips_the_test_where_the_definition_says_so(
    tmp_path: Path, rig: Rig, changes: dict[str, object], words: str
) -> None:
    test = stalled(tmp_path, rig, changes)
    run = test.run
    assert (test.code, run.outcome) == (1, "tripped")
    assert re.fullmatch(words, run.reason), run.reason
    assert run.reason in test.said
    assert_held_after_trip(run)
    assert test.rig.outcome == "completed", "it was not let go"
    trip = np.flatnonzero(column(run, "guard.cause"))[0]
    lateness = column(run, "pace.lateness")
    if "limits.lateness.trip" in changes:
        assert lateness[trip] > 0.04 and np.all(lateness[:trip] <= 0.04)
    else:  # a tick that begins too late is not done before the next is due, which is then found
        assert lateness[trip] > 0.0 and np.all(lateness[: trip - 1] <= STEP)


def test_a_stall_beyond_the_lease_leaves_a_rig_that_is_safe_and_does_not_revive(tmp_path: Path, rig: Rig) -> None:
    lease = 0.2
    changes = {"link.lease": f"{lease} s", "limits.lateness.trip": "10 s"}
    test = stalled(tmp_path, rig, changes, lease + 0.03)
    run, record = test.run, test.rig
    assert (test.code, run.outcome) == (1, "tripped")
    assert run.reason.endswith("the rig went to its safe state: no valid command within its lease")
    assert run.reason in test.said
    assert_held_after_trip(run)
    assert (record.outcome, record.reason) == ("tripped", "no valid command within the lease")
    safe = np.flatnonzero(column(record, "rig.state") == SAFE)
    command, newest = column(record, "command"), column(record, "link.newest")
    assert np.all(column(record, "rig.code")[safe] == LEASE_OVER)
    assert column(record, "link.age")[safe[0]] >= lease
    assert safe[0] - np.flatnonzero(newest == newest[safe[0] - 1])[0] <= lease / STEP + 2
    assert np.all(command[safe] == command[safe[0] - 1]), "it moved on"


def test_a_rig_that_is_held_up_beyond_its_lease_does_not_obey_what_has_come_meanwhile(tmp_path: Path, rig: Rig) -> None:
    lease = 0.3
    since: list[float] = []

    def hold_up() -> None:
        rig.signal(signal.SIGSTOP)
        since.append(time.monotonic())

    held = At(WHEN, hold_up)

    def commands(datagram: Datagram) -> list[bytes]:
        held(datagram)
        # by the clock: a controller that catches up sends many commands at once
        if since and time.monotonic() - since[0] > 1.5 * lease:
            rig.signal(signal.SIGCONT)
            since[0] = math.inf
        return [datagram.data]

    with Proxy(rig.port, commands=commands) as proxy:
        changes = {"link.lease": f"{lease} s", "limits.stale.trip": "5 s", "timing.duration": "2 s"}
        run = halfreal.run(definition(tmp_path, proxy.port, changes), tmp_path / "run.h5")
    record = rig.record()
    assert run.reason.endswith("the rig went to its safe state: no valid command within its lease")
    assert_obeyed(run, record)
    state, newest, command = (column(record, name) for name in ("rig.state", "link.newest", "command"))
    safe = np.flatnonzero(state == SAFE)
    assert column(record, "link.age")[safe[0]] >= lease
    assert newest[safe[-1]] - newest[safe[0] - 1] > 100, "commands had come"
    # it brakes, with what is left of its velocity after so long a time: less than a step of the last motion
    last, before = command[safe[0] - 1], command[safe[0] - 2]
    assert np.abs(command[safe] - last).max() <= abs(last - before), "it obeyed them"
    assert safe.size > 20 and np.ptp(command[safe][-20:]) == 0.0, "it did not come to rest"
