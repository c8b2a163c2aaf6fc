"""Slow tests on a rig: the run is the rehearsal, the operator is heard and asked, and time does not matter."""

from __future__ import annotations

import io
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import halfreal
from halfreal.definition.faults import DefinitionError
from halfreal.kernels.modes import RAMP_DOWN
from halfreal.kernels.spacing import SHORTEST
from halfreal.live.console import Operator, run_test
from halfreal.live.slow_operator import RefusedError
from halfreal.live.view import status, table
from live.processes import armed, column, definition, ticks, wait_for
from live.proxy import MEASUREMENT, Datagram, Proxy
from live.slow import (
    SLOW,
    SPRING,
    STEP,
    TICKS,
    YIELDING,
    SlowRig,
    assert_same_test,
    slow_definition,
)
from live.test_agreement import TWO_AXES

REFERENCE = {"reference.substeps": 8}


@pytest.fixture(scope="module")
def slow_rigs() -> Iterator[list[SlowRig]]:
    found: list[SlowRig] = []
    yield found
    for rig in found:
        with rig:
            pass


@pytest.fixture
def rig(slow_rigs: list[SlowRig], tmp_path_factory: pytest.TempPathFactory) -> SlowRig:
    """The rig with a spring as specimen, standing at 0."""
    if not slow_rigs:
        slow_rigs.append(SlowRig(tmp_path_factory.mktemp("rig"), SPRING))
    slow_rigs[0].go_home()
    return slow_rigs[0]


def reached(session: halfreal.Session, state: str, tick: int) -> None:
    wait_for(lambda: (session.state, ticks(session)) == (state, tick), f"'{state}' at tick {tick}")


def warnings(run: halfreal.Run) -> list[tuple[float, str]]:
    return [(event.time, event.text) for event in run.events if event.channel == "guard.warning"]


def shown(session: halfreal.Session) -> str:
    """The operator's view as text."""
    page = io.StringIO()
    Console(file=page, width=120).print(table(status(session), session.definition.title))
    return page.getvalue()


def test_the_operator_pauses_steps_resumes_and_the_test_is_the_rehearsal_all_the_same(
    tmp_path: Path, rig: SlowRig
) -> None:
    given = slow_definition(tmp_path, rig.port, SPRING, REFERENCE, {"limits.gap.warn": "0.1 mm"})
    with armed(halfreal.Session(given, tmp_path / "run.h5"), wait=True) as session:
        session.pause()
        session.start()
        reached(session, "paused", 0)
        session.step()
        reached(session, "paused", 1)
        session.step()
        reached(session, "paused", 2)
        page = shown(session)
        assert f"2 of {TICKS}: moving" in page and "left, as it went" not in page, "paused, for as long as one likes"
        assert "at 1 times the speed of the definition" in page
        assert "p: pause    r: resume    n: one tick" in page and "1000 Hz; a period takes" in page
        command = float(session.loop.vector[session.loop.index["command"]])
        assert 0.9 * 0.3 * STEP < command < 0.3 * STEP, "where the second tick has brought it"
        goal = session.loop.state("motion")["goal"][0]
        assert f"{1e3 * goal:.4g} mm" in page
        with pytest.raises(RefusedError, match=r"speed factor 1000 is out of range; use 0\.01"):
            session.set_speed(1000.0)
        session.set_speed(2.0)
        assert session.speed == 2.0 and "at 2 times the speed" in shown(session)
        session.set_speed(1.0)
        session.resume()
        session.wait()
        run = session.finish()
    rig.record()
    assert (run.outcome, run.reason) == ("completed", "")
    rehearsal = halfreal.rehearse(given)
    assert_same_test(run, rehearsal)
    assert not np.any(column(run, "guard.warning")), "the rig lags on its way alone: no row tells of it"
    assert warnings(run) == warnings(rehearsal) and len(warnings(run)) > TICKS / 2
    told = [(event.time, event.text) for event in run.events if event.channel == "motion.state"]
    held, going = "paused: the command is held", "resumed"
    assert told == [(pytest.approx(tick * STEP), text) for tick in range(3) for text in (held, going)]


@contextmanager
def unattended(session: halfreal.Session) -> Iterator[tuple[halfreal.Session, list[str]]]:
    """A test as ``halfreal run --start`` has it where there is no terminal, in a thread, and what it says."""
    said: list[str] = []
    thread = threading.Thread(target=lambda: run_test(session, start=True, say=said.append, operator=Operator(session)))
    try:
        session.check()
        thread.start()
        yield session, said
        thread.join()
    finally:
        session.emergency_stop()
        thread.join()
        session.close()


class Blind:
    """Does something to the displacement that the controller sees, as long as it is told to."""

    def __init__(self, change: Callable[[float], float]) -> None:
        self.change, self.on = change, True

    def __call__(self, datagram: Datagram) -> list[bytes]:
        if datagram.kind != MEASUREMENT or not self.on or datagram.sequence < 3:
            return [datagram.data]
        displacement, force = datagram.channels
        return [datagram.with_channels([self.change(displacement), force])]


@pytest.mark.parametrize(
    ("change", "state", "told"),
    [
        (lambda x: math.nan, "waiting: no measurement", "no measurement in time: the command is held"),
        (
            lambda x: x + 5e-6,
            "waiting: the rig has not settled",
            "the rig has not settled in time: the command is held",
        ),
    ],
    ids=["frames lost", "not settled"],
)
def test_the_operator_is_asked_and_the_test_goes_on_when_it_is_mended(
    tmp_path: Path, rig: SlowRig, change: Callable[[float], float], state: str, told: str
) -> None:
    blind = Blind(change)
    with Proxy(rig.port, measurements=blind) as proxy:
        given = slow_definition(tmp_path, proxy.port, SPRING, REFERENCE)
        with unattended(halfreal.Session(given, tmp_path / "run.h5")) as (session, said):
            wait_for(lambda: any(line.startswith(f"{state}; the command is held") for line in said), "it to say so")
            assert ticks(session) == 0
            sends = session.loop.index["link.sent"]
            since = session.loop.vector[sends]
            wait_for(lambda: session.loop.vector[sends] > since + 100, "the loop to go on")
            assert "min left" not in shown(session)
            assert session.state == state and session.loop.vector[session.loop.index["command"]] == 0.0
            blind.on = False
            seen = session.loop.index["sensed.displacement"]
            wait_for(lambda: session.loop.vector[seen] == 0.0, "a measurement that is right")  # else it settles later
            session.resume()
        rig.record()
    run = halfreal.load_run(tmp_path / "run.h5")
    assert run.outcome == "completed"
    assert_same_test(run, halfreal.rehearse(given))
    assert any(event.text.startswith(told) for event in run.events)


def test_in_a_rehearsal_nobody_is_asked_and_the_timeout_is_a_trip_that_says_what_to_do(tmp_path: Path) -> None:
    lagging = {"rig.actuator.kind": "first order", "rig.actuator.time_constant": "1 s"}
    run = halfreal.rehearse(slow_definition(tmp_path, None, SPRING, lagging))
    assert run.outcome == "tripped"
    assert run.reason == (
        "block 'motion': the rig has not settled within 0.2 s (slow.settle); widen the tolerance, increase the "
        "timeout, or tune the rig's controller"
    )


def test_a_slow_test_records_every_tick_and_what_is_needed_to_resume_it(tmp_path: Path, rig: SlowRig) -> None:
    with pytest.raises(DefinitionError, match="every 2 ticks are recorded, but a slow test can only be"):
        slow_definition(tmp_path, rig.port, SPRING, {"record.every": 2})
    given = slow_definition(tmp_path, rig.port, SPRING, {"record.channels": ["target"], "timing.duration": "0.05 s"})
    needed = {"target", "command.asked", "measured.displacement", "measured.force", "guard.mode", "motion.clock"}
    assert set(halfreal.rehearse(given).signals) == needed
    run = halfreal.run(given, tmp_path / "run.h5")
    rig.record()
    assert set(run.signals) == needed and len(run.time) == 6


# --- slow and in real time --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", [SPRING, YIELDING], ids=["spring", "elastoplastic"])
def test_slow_and_in_real_time_a_rate_independent_specimen_gives_the_same_test(tmp_path: Path, law: str) -> None:
    """The rig of the definition has one step of delay, which the scheme reckons with; a slow test has none.

    What is left is rounding: the mean of two equal numbers is exact.
    """
    quick = {name: None for name in SLOW if name.startswith("slow.")}
    slow, real_time = (halfreal.rehearse(slow_definition(tmp_path, None, law, change)) for change in ({}, quick))
    assert slow.outcome == real_time.outcome == "completed"
    target, other = column(slow, "target"), column(real_time, "target")
    assert np.abs(target).max() > 2 * 4.0 / 2250.0, "beyond yielding"
    np.testing.assert_allclose(target, other[: target.size], rtol=0.0, atol=1e-15)
    # each tick's target and its answer belong together: an error of energy would be one of bookkeeping
    assert np.abs(column(slow, "energy.error")).max() < 1e-9 < np.abs(column(real_time, "energy.error")).max()


def test_two_axes_by_operator_splitting_are_the_same_slow_and_in_real_time(tmp_path: Path) -> None:
    two = {
        **TWO_AXES,
        "timing.step": "10 ms",
        "virtual.scheme.kind": "operator splitting",
        "virtual.scheme.specimen_stiffness": [["3000 N/m", "-600 N/m"], ["-600 N/m", "1500 N/m"]],
        "virtual.scheme.alpha": -0.1,
        "virtual.scheme": None,
    }
    moved = {name: value for name, value in SLOW.items() if name.startswith("slow.")}
    moved["slow.settle.displacement"] = ["1 um", "2 um"]
    slow, real_time = (halfreal.rehearse(definition(tmp_path, 1, {**two, **change})) for change in (moved, {}))
    assert slow.outcome == real_time.outcome == "completed"
    for name in ("target.1", "target.2"):
        found, other = column(slow, name), column(real_time, name)
        assert np.abs(found).max() > 1e-3
        np.testing.assert_allclose(found, other[: found.size], rtol=0.0, atol=1e-15)


def answer_to_one_force(mass: float, damping: float, stiffness: float) -> np.ndarray:
    """Displacements of an oscillator by Newmark's explicit method, given a force of 1 N in the first tick alone."""
    q, v, found = 0.0, 0.0, []
    for tick in range(TICKS):
        found.append(q)
        a = ((tick == 0) - damping * v - stiffness * q) / (mass + 0.5 * STEP * damping)
        v += 0.5 * STEP * a
        q, v = q + STEP * v + 0.5 * STEP**2 * a, v + 0.5 * STEP * a
    return np.array(found)


@pytest.mark.parametrize("law", [SPRING, YIELDING], ids=["spring", "elastoplastic"])
def test_a_lagging_rig_that_settles_within_a_tolerance_is_off_by_what_that_tolerance_makes(
    tmp_path: Path, law: str
) -> None:
    """A displacement off by at most e at each tick is a force off by at most k e, and what the structure makes of
    such forces is bounded by the sum of its answers to one of them: |Δz| ≤ k e Σ |h|.  A yielding specimen is softer,
    and its plastic set is off by no more than the displacement that caused it.
    """
    tolerance, k = 1e-5, 2250.0
    lagging = {
        "rig.actuator.kind": "first order",
        "rig.actuator.time_constant": "5 ms",
        "slow.settle.displacement": f"{tolerance} m",
        "slow.settle.timeout": "1 s",
    }
    ideal = column(halfreal.rehearse(slow_definition(tmp_path, None, law)), "target")
    run = halfreal.rehearse(slow_definition(tmp_path, None, law, lagging))
    assert run.outcome == "completed"
    missed = np.abs(column(run, "measured.displacement") - column(run, "command")).max()
    assert 0.1 * tolerance < missed <= tolerance
    answer = answer_to_one_force(mass=2.2, damping=2 * 15.0, stiffness=2 * 2250.0 + k)
    assert 0.0 < np.abs(column(run, "target") - ideal).max() <= k * tolerance * np.abs(answer).sum()


def test_real_time_tests_have_no_words_of_a_slow_one(tmp_path: Path) -> None:
    session = halfreal.Session(definition(tmp_path, 1), tmp_path / "run.h5")
    with pytest.raises(RefusedError, match="a real-time test cannot be paused; only one with a"):
        session.pause()


def test_stopped_in_its_first_tick_a_test_tells_of_it_in_the_order_of_what_happened(
    tmp_path: Path, rig: SlowRig
) -> None:
    given = slow_definition(tmp_path, rig.port, SPRING)
    with armed(halfreal.Session(given, tmp_path / "run.h5"), wait=True) as session:
        session.pause()
        session.start()
        reached(session, "paused", 0)
        session.stop()
        session.wait()
        run = session.finish()
    rig.record()
    texts = [event.text for event in run.events]
    assert texts == ["the rig is armed", "paused: the command is held", "stopped"]


def test_a_smooth_stop_takes_its_time_by_the_rigs_own_clock(tmp_path: Path, rig: SlowRig) -> None:
    """It is brought home within 0.3 s of wall time, and the rig in step has no clock that would see to it."""
    home = 0.3
    given = slow_definition(tmp_path, rig.port, SPRING, {"timing.soft_stop": f"{home} s"})
    with armed(halfreal.Session(given, tmp_path / "run.h5"), wait=True) as session:
        session.start()
        wait_for(lambda: ticks(session) >= 8, "the test to have moved the rig")
        session.stop()
        session.wait()
        run = session.finish()
    record = rig.record()
    assert run.outcome == "stopped"
    down = np.flatnonzero(column(run, "guard.mode") == RAMP_DOWN)[0]
    going = column(record, "link.newest") > column(run, "link.sent")[down]
    command, clock = column(record, "command")[going], column(record, "rig.clock")[going]
    distance = abs(column(run, "command")[down - 1])
    assert distance > 1e-3 and command[-1] == pytest.approx(0.0, abs=1e-12)
    assert clock[-1] - clock[0] >= 0.9 * home
    speed = np.abs(np.diff(command)) / np.diff(clock)
    assert speed.max() <= 0.5 * np.pi * distance / home / SHORTEST
