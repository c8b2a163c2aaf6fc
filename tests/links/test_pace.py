"""Deadlines, and what is done about those that are missed.

A deadline is missed by writing one of the past into the block's state, not by sleeping.
"""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from halfreal.kernels.loop import Loop
from halfreal.links.pace import BINS, PER_OCTAVE, pace, percentiles
from links.ends import ramp, value

LONG = 1000.0
"""A period [s] of which the time that a test takes is a small share."""
SHORT = 1e-3


def paced(period: float, overrun: str, **more: float) -> Loop:
    return Loop([ramp()], outer=[pace(period, 0.0, overrun, waits=True, **more)], dt=period)


def miss(loop: Loop, periods: float, period: float) -> float:
    """Let the next tick have been due so many periods ago; return that deadline [ns from the origin]."""
    state, origin = loop.state("pace"), int(loop.parameter("pace")["origin"])
    due = float(time.monotonic_ns() - origin) - 1e9 * periods * period
    state["ticks"], state["deadline"] = 1.0, due - 1e9 * period
    state["woke"] = state["deadline"]
    return due


def test_counting_runs_the_ticks_missed_at_once_until_it_has_caught_up():
    loop = paced(LONG, "count")
    miss(loop, 2.5, LONG)
    stretch = loop.run(3, record=["pace.overruns"])  # a fourth tick would wait for half a period
    assert stretch.ticks == 3
    assert value(loop, "pace.overruns") == 3.0
    assert value(loop, "pace.lateness") == pytest.approx(0.5 * LONG, rel=0.1)
    assert value(loop, "loop.fault") == 0.0


@pytest.mark.parametrize(("overrun", "fault"), [("hold", ""), ("trip", "not done before the next was due")])
def test_holding_moves_the_deadlines_by_whole_periods(overrun, fault):
    loop = paced(SHORT, overrun)
    due = miss(loop, 2.5, SHORT)
    loop.run(1)
    moved = (float(loop.state("pace")["deadline"]) - due) / (1e9 * SHORT)
    late = value(loop, "pace.lateness") / SHORT
    assert late > 2.5
    assert moved == pytest.approx(math.ceil(late), abs=1e-6)
    assert value(loop, "pace.overruns") == 1.0
    assert fault in loop.describe(value(loop, "loop.fault"))
    assert (value(loop, "loop.fault") != 0.0) == bool(fault)


def test_lateness_beyond_its_limit_is_a_fault():
    loop = paced(LONG, "count", lateness=2.0 * LONG)
    miss(loop, 1.5, LONG)
    loop.run(1)
    assert value(loop, "loop.fault") == 0.0
    miss(loop, 2.5, LONG)
    loop.run(1)
    assert "limits.lateness.trip" in loop.describe(value(loop, "loop.fault"))


def test_no_tick_begins_before_it_is_due():
    loop = paced(2e-5, "count")
    log = loop.run(200, record=["pace.lateness", "pace.execution"]).log
    assert log[:, 1].min() >= -1e-9  # deadlines are kept to fractions of a nanosecond, the clock is not
    assert log[:, 2].min() >= 0.0
    state = loop.state("pace")
    assert state["lateness_histogram"].sum() == 200.0
    assert state["execution_histogram"].sum() == 199.0  # the first tick has no beginning
    assert 0.0 < state["execution_sum"] / 199.0 <= state["execution_max"]


@pytest.mark.parametrize("seed", [1, 2])
def test_percentiles_are_those_of_the_times_to_a_bin(seed):
    times = np.random.default_rng(seed).lognormal(10.0, 2.0, 5000)  # ns
    edges = 2.0 ** (np.arange(BINS + 1) / PER_OCTAVE)
    histogram = np.histogram(times, edges)[0].astype(float)
    shares = [0.0, 0.5, 0.9, 0.99, 0.999, 1.0]
    exact = 1e-9 * np.quantile(times, shares, method="inverted_cdf")
    found = percentiles(histogram, shares)
    assert np.all(found[1:] >= exact[1:])
    assert np.all(found[1:] <= exact[1:] * 2 ** (1 / PER_OCTAVE) * (1 + 1e-12))


def test_percentiles_of_nothing_are_not_a_number():
    assert np.isnan(percentiles(np.zeros(BINS), [0.5])).all()
