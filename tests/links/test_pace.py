"""Deadlines, what is done about those that are missed, and the account that is kept: on a clock of the test's own."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfreal.kernels.loop import Loop
from halfreal.links import pace as module
from halfreal.links.pace import BINS, MISSED, PER_OCTAVE, TOO_LATE, pace, percentiles
from links.ends import ramp, value
from links.scripted import Scripted

PERIOD = 1_000_000
"""Nanoseconds; so are all times here."""
TICK = 1e-9 * PERIOD
WORK = st.lists(st.one_of(st.integers(0, PERIOD), st.integers(0, 5 * PERIOD), st.just(PERIOD)), max_size=12)
"""Times that the other blocks take from one call of this one to the next."""


def scripted(overrun: str, monkeypatch: pytest.MonkeyPatch, *, waits: bool = True, **more: object) -> Scripted:
    return Scripted(pace(TICK, 0.0, overrun, waits=waits, **more), module, monkeypatch, look=0)


def called_after(end: Scripted, work: int) -> int:
    """Let the other blocks work so long, then call; give the status."""
    end.time += work
    return end.step(0.0)


def test_the_first_tick_begins_a_period_after_the_first_call(monkeypatch):
    end = scripted("trip", monkeypatch)
    end.time += 12_345
    begin = end.time
    assert called_after(end, 0) == 0
    assert end.time == begin + PERIOD
    assert end["pace.lateness"] == end["pace.execution"] == end["pace.overruns"] == 0.0


@pytest.mark.parametrize("overrun", ["hold", "trip"])
@given(work=WORK)
def test_ticks_wait_for_their_deadlines_and_missed_ones_are_dealt_with(overrun, work):
    """Deadlines are whole periods from the first call; one that is gone is passed over."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        end = scripted(overrun, monkeypatch)
        begin = end.time
        called_after(end, 0)
        overruns, lateness, due = 0, [0], PERIOD
        for busy in work:
            called = end.time - begin + busy
            status = called_after(end, busy)
            due += PERIOD
            missed = called > due
            overruns += missed
            lateness.append(max(called - due, 0))
            if missed:
                due = PERIOD * -(-called // PERIOD)
            assert end.time - begin == max(called, due)
            assert end["pace.lateness"] == pytest.approx(1e-9 * lateness[-1], abs=1e-15)
            assert end["pace.execution"] == pytest.approx(1e-9 * busy, abs=1e-15)
            assert end["pace.overruns"] == overruns
            assert status == (MISSED if missed and overrun == "trip" else 0)
        assert end.s["lateness_max"] == max(lateness)
        assert end.s["execution_max"] == max(work, default=0)
        assert end.s["execution_sum"] == sum(work)
        assert end.s["lateness_histogram"].sum() == len(work) + 1
        assert end.s["execution_histogram"].sum() == len(work)


def test_ticks_that_were_missed_are_not_made_up_for(monkeypatch):
    end = scripted("hold", monkeypatch)
    begin = end.time
    called_after(end, 0)
    for _ in range(3):
        before = end.time
        called_after(end, 7 * PERIOD // 2)
        assert end.time - before == 4 * PERIOD
    assert end.time - begin == 13 * PERIOD


def test_a_tick_later_than_the_limit_is_a_fault(monkeypatch):
    end = scripted("hold", monkeypatch, lateness=2.0 * TICK)
    called_after(end, 0)
    assert called_after(end, 3 * PERIOD) == 0  # late by two periods: as late as may be
    end = scripted("hold", monkeypatch, lateness=2.0 * TICK)
    called_after(end, 0)
    assert called_after(end, 3 * PERIOD + 1) == TOO_LATE


@given(work=WORK, idle=st.lists(st.integers(0, 3 * PERIOD), min_size=12, max_size=12))
def test_paced_by_its_rig_it_waits_for_nothing_and_idle_time_is_no_work(work, idle):
    with pytest.MonkeyPatch.context() as monkeypatch:
        end = scripted("trip", monkeypatch, waits=False, idle=("link.idle",))
        assert called_after(end, 0) == 0
        overruns = 0
        for busy, waited in zip(work, idle, strict=False):
            end.u[0] = 1e-9 * waited
            before = end.time
            status = called_after(end, busy + waited)
            assert end.time == before + busy + waited
            late = busy + waited - PERIOD
            overruns += late > PERIOD
            assert end["pace.execution"] == pytest.approx(1e-9 * busy, abs=1e-14)
            assert end["pace.lateness"] == pytest.approx(1e-9 * late, abs=1e-15)
            assert end["pace.overruns"] == overruns
            assert status == (MISSED if late > PERIOD else 0)


# With the machine's clock


def test_no_tick_begins_before_it_is_due_and_the_histogram_tells_how_late_they_were():
    period = 2e-5
    loop = Loop([ramp()], outer=[pace(period, 0.0, "hold", waits=True)], dt=period)
    names = ["pace.lateness", "pace.execution"]
    log = loop.run(301, record=names).log[1:, 1:]  # a row has the times of the tick before it
    lateness, execution = np.vstack([log, [value(loop, name) for name in names]]).T
    execution = execution[1:]  # the first tick has no beginning
    assert lateness.min() >= -1e-9  # deadlines are kept to fractions of a nanosecond, the clock is not
    assert execution.min() > 0.0
    state = loop.state("pace")
    for name, values in (("lateness", lateness), ("execution", execution)):
        histogram = state[f"{name}_histogram"]
        assert histogram.sum() == values.size
        assert state[f"{name}_max"] == pytest.approx(1e9 * values.max(), rel=1e-12)
        shares = [0.5, 0.9, 0.99, 1.0]
        exact = np.quantile(values, shares, method="inverted_cdf")
        found = percentiles(histogram, shares)
        assert np.all(found >= exact * (1 - 1e-12))
        assert np.all(found <= np.maximum(exact, 1e-9) * 2 ** (1 / PER_OCTAVE) * (1 + 1e-12))
    assert state["execution_sum"] == pytest.approx(1e9 * execution.sum())


def test_faults_are_told_with_their_limits():
    loop = Loop([ramp()], outer=[pace(TICK, 0.0, "trip", waits=True, lateness=0.25)], dt=TICK)
    state = loop.state("pace")
    state["ticks"], state["deadline"] = 1.0, float(time.monotonic_ns()) - loop.parameter("pace")["origin"] - 50 * PERIOD
    state["woke"] = state["deadline"]
    loop.run(1)
    assert loop.describe(value(loop, "loop.fault")).endswith("was due, 1 ms later (real_time.overrun)")
    assert any("limits.lateness.trip, 250 ms" in text for text in loop.faults().values())


# Histograms


@pytest.mark.parametrize("seed", [1, 2])
def test_percentiles_are_those_of_the_times_to_a_bin(seed):
    times = np.random.default_rng(seed).lognormal(10.0, 2.0, 5000)
    histogram = np.zeros(BINS)
    for nanoseconds in times:
        module.note(histogram, nanoseconds)
    shares = [0.001, 0.5, 0.9, 0.99, 0.999, 1.0]
    exact = 1e-9 * np.quantile(times, shares, method="inverted_cdf")
    found = percentiles(histogram, shares)
    assert np.all(found >= exact)
    assert np.all(found <= exact * 2 ** (1 / PER_OCTAVE) * (1 + 1e-12))


@given(st.lists(st.floats(-1e9, 1e12), max_size=20))
def test_every_time_stands_in_the_bin_that_holds_it(times):
    histogram = np.zeros(BINS)
    for nanoseconds in times:
        module.note(histogram, nanoseconds)
    edges = 2.0 ** (np.arange(BINS + 1) / PER_OCTAVE)
    kept = np.clip(times, 1.0, edges[-1] * (1 - 1e-9))
    cumulated = np.concatenate([[0.0], np.cumsum(histogram)])
    for low, high in pairwise(range(0, BINS + 1, 64)):  # whole octaves: their edges are exact
        held = np.count_nonzero((kept >= edges[low]) & (kept < edges[high]))
        assert cumulated[high] - cumulated[low] == held


def test_percentiles_of_nothing_are_not_a_number():
    assert np.isnan(percentiles(np.zeros(BINS), [0.5])).all()
