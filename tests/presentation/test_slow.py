"""The page of a slow test, from a clock whose ticks are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from halfreal.presentation import html, plots
from halfreal.presentation.measures import key_figures, measures
from halfreal.presentation.realtime import real_time
from halfreal.presentation.realtime_plots import pace
from halfreal.presentation.slow import in_hours, motion, slow_test, tick_times
from halfreal.runs.run import Event, Run, Signal
from presentation.pages import Page

TICKS = 5000


@pytest.fixture(scope="module")
def slow(steady: Run) -> Run:
    """Ticks of 2 s of which 0.5 s are settling; before tick 100 it was paused for a minute."""
    taken = np.full(TICKS, 2.0)
    taken[100] += 60.0
    signals = {
        **steady.signals,
        "pace.lateness": Signal("s", np.full(TICKS, 1e-5)),
        "pace.overruns": Signal("1", np.full(TICKS, 3.0)),
        "motion.clock": Signal("s", np.cumsum(taken)),
        "motion.settled": Signal("s", np.full(TICKS, 0.5)),
    }
    return replace(
        steady,
        kind="run",
        definition={**steady.definition, "slow": {"period": 1e-3, "ramp": 1.0}},
        signals=signals,
        events=(Event(0.1, "motion.state", "paused: the command is held"), Event(0.1, "motion.state", "resumed")),
    )


def test_ticks_are_differences_of_the_clock_and_settling_is_as_recorded(slow: Run) -> None:
    time, taken = tick_times(slow)
    assert time.size == TICKS and taken[0] == 2.0 and taken[100] == 62.0
    found = slow_test(slow)
    assert found is not None
    rows = {name: value for name, value, _ in found.rows}
    assert rows == {"time": "2.8 h", "stretch": "2.01e+03 ×", "a tick": "2 s, 62 s", "settling": "500 ms, 500 ms"}
    assert found.happened == ["1 × paused: the command is held"]
    ticks, settling = (line.get_ydata() for line in motion(slow).axes[0].lines[:2])
    np.testing.assert_array_equal(ticks, taken)
    assert np.all(settling == 0.5)


def test_the_page_has_a_section_and_none_of_what_has_no_meaning_here(slow: Run, real: Run) -> None:
    page = Page(html.render(slow)).text
    assert "Slow test" in page and "on the rig's clock, including pauses" in page
    assert "Times within a tick" not in page and "Remaining delay" not in page
    found = real_time(slow)
    assert found is not None and not found.spreads and found.counters
    with pytest.raises(plots.NothingToPlotError):
        pace(slow)
    assert np.isnan(next(row.delay for row in measures(slow) if row.comparison == "synchronisation"))
    assert "Remaining delay" not in dict(key_figures(slow)) and "Remaining delay" in dict(key_figures(real))


def test_a_test_in_real_time_and_one_without_a_tick_have_no_such_section(slow: Run, real: Run) -> None:
    assert slow_test(real) is None and "Slow test" not in Page(html.render(real)).text
    empty = replace(slow, time=np.zeros(0), signals={n: Signal(s.unit, np.zeros(0)) for n, s in slow.signals.items()})
    assert slow_test(empty) is None
    with pytest.raises(plots.NothingToPlotError):
        motion(empty)


def test_long_times_are_told_in_minutes_and_hours() -> None:
    assert [in_hours(seconds) for seconds in (5.0, 90.0, 9000.0)] == ["5 s", "1.5 min", "2.5 h"]
