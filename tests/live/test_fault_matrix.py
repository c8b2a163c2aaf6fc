"""Whatever happens in whichever state: the rig stays within its limits in wall time, and the test ends as promised.

    state × event × pacing × on_trip

Real processes: the controller's loop and recorder, the rig on a clock of its own, and a proxy between them that loses
and falsifies.  The witnesses are the rig's own record, by its own clock, and the times at which commands left the
controller, with the newest measurement that each had received.  What is expected is the table of docs/safety.md,
written out in ``expected``.
"""

from __future__ import annotations

import itertools
import math
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import halfreal
from halfreal.kernels.control import RECORD_FAILS, REQUEST
from halfreal.kernels.modes import ARMED, RAMP_DOWN, RAMPING, RUNNING, TRIPPED
from halfreal.runs.run import Run
from halfreal.studies.check.check import Check
from live.processes import STEP, Rig, armed, column, definition, wait_for
from live.proxy import COMMAND, MEASUREMENT, Datagram, Proxy

RATE, FORCE, AWAY, STALL = 0.2, 200.0, 3e-3, 0.06
"""Limits [m/s] and [N], where the rig stands at first [m], and how long things are held up [s]."""
SAFE_STATE, OWN_FAULT = 3, 4
BRAKING, MISSING = 0.1, 3.0
"""What docs/safety.md promises: the longest braking after a trip [s], and periods without a measurement."""
LIMITS: dict[str, object] = {
    "limits.command.trip": "20 mm",
    "limits.command_rate.trip": f"{RATE} m/s",
    "limits.force.trip": f"{FORCE} N",
    "limits.return_time": "0.08 s",
    "auxiliary.pressure.unit": "kN",
    "auxiliary.pressure.reads": "rig.force",
}
TEST: dict[str, object] = {
    **LIMITS,
    "timing.duration": "0.15 s",
    "excitation.virtual.displacement": "2 mm",
    "timing.soft_start": "0.08 s",
    "timing.soft_stop": "0.08 s",
    "limits.after_trip": "0.01 s",
    # long enough that only what a cell does, and no hiccup of the machine, ends a test
    "limits.stale.trip": "5 s",
    "limits.lateness.trip": "5 s",
    "link.lease": "5 s",
    'limits.channels."measured.pressure".trip': "5 kN",
}
LONG: dict[str, dict[str, object]] = {
    "running": {"timing.duration": "0.4 s"},
    "ramp-down": {"timing.soft_stop": "0.4 s"},
    "tripped": {"limits.return_time": "0.4 s"},
}
"""The state in which something is to happen lasts long enough for a busy machine not to miss it."""
STATES = {"armed": ARMED, "ramping": RAMPING, "running": RUNNING, "ramp-down": RAMP_DOWN, "tripped": TRIPPED}
EVENTS = (
    "stop", "emergency stop", "controller held up", "rig held up", "datagrams lost", "measurements lost",
    "not a number", "force", "auxiliary not a number", "auxiliary", "rig fault", "record fails",
)  # fmt: skip
HALTING = ("emergency stop", "not a number", "force", "auxiliary not a number", "auxiliary", "rig fault")
"""What ends a return."""
STALLS = ("controller held up", "rig held up", "datagrams lost", "measurements lost")
OPERATOR, RECORD = "emergency stop by the operator", "the record can no longer be written"
REASONS = {
    "emergency stop": OPERATOR,
    "record fails": RECORD,
    "not a number": "measured.force was nan, not a finite number",
    "force": "measured.force was 500 N, beyond its limit of 200 N",
    "auxiliary not a number": "measured.pressure was nan, not a finite number",
    "auxiliary": "measured.pressure was 6 kN, beyond its limit of 5 kN",
    "rig fault": "block 'link.receive': the rig went to its safe state: a rig fault",
}


@dataclass
class Line:
    """What the proxy does to datagrams at the moment."""

    loses: bool = False
    one_way: bool = False
    """Only measurements are lost."""
    force: float | None = None
    auxiliary: float | None = None
    fault: bool = False

    def commands(self, datagram: Datagram) -> list[bytes]:
        return [] if self.loses and not self.one_way and datagram.kind == COMMAND else [datagram.data]

    def measurements(self, datagram: Datagram) -> list[bytes]:
        if datagram.kind != MEASUREMENT:
            return [datagram.data]
        if self.fault:
            return [datagram.with_state(SAFE_STATE, OWN_FAULT)]
        if self.force is not None or self.auxiliary is not None:
            displacement, force, auxiliary = datagram.channels
            force = force if self.force is None else self.force
            return [
                datagram.with_channels((displacement, force, auxiliary if self.auxiliary is None else self.auxiliary))
            ]
        return [] if self.loses else [datagram.data]


def expected(state: str, event: str, on_trip: str) -> tuple[str, str, str]:
    """Outcome, reason (its beginning) and where the rig ends: "held" or "home"."""
    after_a_trip = "home" if on_trip == "return" and state != "armed" else "held"  # nothing moves before the start
    if state == "tripped":  # by a record that fails, before the event: that stays the reason
        return "tripped", RECORD, "held" if event in HALTING else after_a_trip
    if event == "stop":
        if state == "armed":
            return "stopped", "by the operator", "held"
        return ("completed", "", "home") if state == "ramp-down" else ("stopped", "by the operator", "home")
    if event in STALLS:
        return "completed", "", "home"
    # an emergency stop holds; without its sensors, or after a fault, a return would be blind
    held = event in ("emergency stop", "not a number", "auxiliary not a number", "rig fault")
    return "tripped", REASONS[event], "held" if held else after_a_trip


@pytest.fixture(scope="module")
def rigs_of_the_matrix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Rig]]:
    found: dict[str, Rig] = {}
    yield found
    for rig in found.values():
        rig.__exit__()


@pytest.fixture(scope="module")
def checks() -> dict[str, Check]:
    """The verdict on each definition: whether it is a GO is not what is tried here."""
    return {}


def held_up(pid: int, seconds: float) -> None:
    """Stop a process, by another one: it may be this."""
    subprocess.run(["sh", "-c", f"kill -STOP {pid}; sleep {seconds}; kill -CONT {pid}"], check=True)


def happen(event: str, session: halfreal.Session, rig: Rig, line: Line) -> None:
    if event == "stop":
        session.stop()
    elif event == "emergency stop":
        session.emergency_stop()
    elif event == "controller held up":
        held_up(os.getpid(), STALL)
    elif event == "rig held up":
        held_up(rig.pid, STALL)
    elif event in ("datagrams lost", "measurements lost"):
        line.one_way, line.loses = event == "measurements lost", True
        subprocess.run(["sleep", str(STALL)], check=True)
        line.loses = False
    elif event == "not a number":
        line.force = math.nan
    elif event == "force":
        line.force = 500.0
    elif event == "auxiliary not a number":
        line.auxiliary = math.nan
    elif event == "auxiliary":
        line.auxiliary = 6.0
    elif event == "rig fault":
        line.fault = True
    else:
        session._words()[REQUEST] = RECORD_FAILS


def mode(session: halfreal.Session) -> float:
    assert session.loop is not None
    return float(session.loop.vector[session.loop.index["guard.mode"]])


def ended(session: halfreal.Session) -> bool:
    return not session.running


def reach(state: str, session: halfreal.Session) -> None:
    """Bring an armed session, which waits, into a state of the test."""
    if state == "armed":
        return
    session.start()
    if state == "tripped":
        wait_for(lambda: mode(session) == RUNNING, "the test to run")
        session._words()[REQUEST] = RECORD_FAILS
    wait_for(lambda: mode(session) == STATES[state] or ended(session), state)


def cells() -> Iterator[tuple[str, str, str, str]]:
    """All of them; where nothing trips, what to do on a trip is not asked twice."""
    for pacing, on_trip, state, event in itertools.product(("clock", "rig"), ("hold", "return"), STATES, EVENTS):
        if on_trip == "return" or expected(state, event, on_trip)[0] == "tripped":
            yield pacing, on_trip, state, event


@pytest.mark.parametrize(("pacing", "on_trip", "state", "event"), cells())
def test_the_rig_moves_within_its_limits_and_the_test_ends_as_promised(
    tmp_path: Path, rigs_of_the_matrix, checks, tmp_path_factory, pacing: str, on_trip: str, state: str, event: str
) -> None:
    how = {"limits.on_trip": on_trip}
    if on_trip not in rigs_of_the_matrix:
        rigs_of_the_matrix[on_trip] = Rig(tmp_path_factory.mktemp("rig"), changes=LIMITS | how)
        rigs_of_the_matrix[on_trip].auxiliary = 1
    rig, line = rigs_of_the_matrix[on_trip], Line()
    rig.go_home(AWAY)
    with Proxy(rig.port, line.commands, line.measurements) as proxy:
        given = definition(tmp_path, proxy.port, TEST, how, LONG.get(state, {}), {"real_time.pacing": pacing})
        session = halfreal.Session(given, tmp_path / "run.h5")
        if pacing + on_trip not in checks:
            checks[pacing + on_trip] = session.check()
        session.checked = checks[pacing + on_trip]
        with armed_as_checked(session):
            reach(state, session)
            happen(event, session, rig, line)
            if state == "armed" and event in STALLS:
                session.start()
            session.wait()
            run = session.finish()
        record = rig.record()
    outcome, reason, ends = expected(state, event, on_trip)
    assert run.outcome == outcome and run.reason.startswith(reason), run.reason
    assert_within_limits(record, proxy)
    assert_not_blind(proxy)
    if event == "stop" and state in ("ramping", "running"):
        assert_smooth(run)
    if ends == "home":
        assert column(record, "command")[-1] == pytest.approx(0.0, abs=1e-12)
    else:
        assert_held(run, record)


def armed_as_checked(session: halfreal.Session):
    session.check = lambda on_progress=None: session.checked  # type: ignore[method-assign]
    return armed(session, wait=True)


def assert_within_limits(record: Run, proxy: Proxy) -> None:
    command, clock = column(record, "command"), column(record, "rig.clock")
    moved, apart = np.abs(np.diff(command)), np.diff(clock)
    assert np.all(moved <= RATE * STEP * (1.0 + 1e-9)), "a step at the rig"
    assert np.all(moved <= RATE * apart * (1.0 + 1e-9)), "a speed at the rig, by its own clock"
    sent = [(one.timestamp, one.channels[0]) for one in proxy.heard if one.kind == COMMAND]
    times, commands = np.array(sent).T
    moved, apart = np.abs(np.diff(commands)), 1e-9 * np.diff(times)
    assert np.all(apart >= 0.499 * STEP), "commands that were sent at once"
    assert np.all(moved <= RATE * apart * (1.0 + 1e-6)), "a speed at which commands left the controller"


def assert_not_blind(proxy: Proxy) -> None:
    """With each command goes the number of the newest measurement received: without newer ones it soon stays.

    A command is blind if the one before it was sent, after the first with that number, later than the controller may
    wait for a measurement and then look for one.  What brakes already comes to rest.
    """
    sent = [one for one in proxy.heard if one.kind == COMMAND]
    first, way = sent[0], 0.0
    for before, one in itertools.pairwise(sent):
        last, way = way, one.channels[0] - before.channels[0]
        blind = 1e-9 * (before.timestamp - first.timestamp)
        if one.answers != first.answers:
            first = one
        elif blind > (MISSING + 1.0) * STEP:
            brakes = abs(way) < abs(last) and way * last > 0.0 and blind < 2.0 * BRAKING
            assert way == 0.0 or brakes, "it moved without measurements"


def assert_smooth(run: Run) -> None:
    """A stop leaves with the velocity of the command, and with no larger acceleration than the test had."""
    command, modes = column(run, "command"), column(run, "guard.mode")
    stops = int(np.flatnonzero(modes == RAMP_DOWN)[0])
    ways, paused = np.diff(command), np.flatnonzero(column(run, "link.stale"))
    if stops < 3 or np.any(np.abs(paused - stops) < 3):  # it had just begun, or was held in any case
        return
    own = max(np.abs(np.diff(ways[: stops - 1])).max(), abs(ways[stops - 2]) * STEP / 0.08)  # at most the soft stop
    braking = math.ceil(abs(ways[stops - 2]) / own)
    assert np.abs(np.diff(ways[stops - 2 : stops + braking - 2])).max(initial=0.0) <= own * (1.0 + 1e-6)


def assert_held(run: Run, record: Run) -> None:
    """From the event on, which no tick comes after but those of the hold, the command stays, once it has braked."""
    command, modes = column(run, "command"), column(run, "guard.mode")
    if np.any(modes == TRIPPED):
        halted = np.flatnonzero(column(run, "guard.halted"))
        tripped = int(np.flatnonzero(modes == TRIPPED)[0])
        first = int(halted[0]) if halted.size else tripped
        at_once = halted.size or run.reason == OPERATOR or "not a finite number" in run.reason
        ways = np.abs(np.diff(command[max(first - 1, 0) :]))
        if at_once:
            assert np.all(command[first:] == command[first])
        else:
            assert np.all(np.diff(ways) <= 1e-12), "it did not only brake"
            assert np.all(ways[math.ceil(BRAKING / STEP) + 1 :] == 0.0)
    else:
        assert np.all(command == command[0]) and command[0] == AWAY
    assert column(record, "command")[-1] == command[-1]
