"""How a run kept time, from channels whose percentiles are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from halfreal.presentation import html, plots
from halfreal.presentation.realtime import real_time
from halfreal.presentation.realtime_plots import pace
from halfreal.runs.run import Run, Signal
from presentation.pages import Page


def with_channels(run: Run, **values: np.ndarray) -> Run:
    signals = {f"pace.{name}": Signal("s", given) for name, given in values.items()}
    count = len(next(iter(values.values())))
    return replace(run, time=run.step * np.arange(count), signals=signals)


def test_percentiles_of_evenly_spread_times_are_their_shares(real: Run) -> None:
    even = 1e-6 * np.random.default_rng(0).permutation(1001)  # 0 µs, 1 µs, … 1 ms
    found = real_time(with_channels(real, lateness=even))
    assert found is not None and found.ticks == 1001
    assert found.spreads[0][2:] == ("500 µs", "990 µs", "999 µs", "1 ms", "100 %")


def test_counters_tell_their_last_value_and_the_lag_its_mean(real: Run) -> None:
    found = real_time(real)
    assert found is not None
    counted = {name: value for name, value, _ in found.counters}
    assert counted["overruns"] == "2" and counted["lost"] == "7" and counted["lag"] == "1"
    assert any("maximum 2" in meaning for name, _, meaning in found.counters if name == "lag")
    assert found.privileges == [("realtime scheduling", "SCHED_FIFO, priority 80")]


def test_the_page_of_a_run_has_a_section_and_that_of_a_rehearsal_has_none(real: Run, steady_page: str) -> None:
    page = Page(html.render(real)).text
    assert "Real time" in page and "8 µs" in page and "SCHED_FIFO, priority 80" in page
    assert "datagrams never received" in page
    assert "Real time" not in Page(steady_page).text and real_time(replace(real, kind="rehearsal")) is None


def test_a_run_that_recorded_nothing_of_it_says_so(real: Run) -> None:
    bare = replace(real, signals={}, host={})
    assert "No timing was recorded." in Page(html.render(bare)).text
    with pytest.raises(plots.NothingToPlotError):
        pace(bare)


def test_every_tick_is_in_the_histogram_however_early_or_late(real: Run) -> None:
    lateness = np.concatenate([np.full(90, -1e-3), np.full(9, 2e-5), [40.0], [np.nan]])
    figure = pace(with_channels(real, lateness=lateness, execution=np.r_[0.0, np.full(100, 3e-6)]))
    counts = [axes.patches[0].get_data().values for axes in figure.axes]
    assert [int(count.sum()) for count in counts] == [100, 100]
    assert counts[0][0] == 90 and all(axes.get_xscale() == axes.get_yscale() == "log" for axes in figure.axes)


def test_table_and_plot_tell_the_same_lateness_also_of_ticks_that_were_early(real: Run) -> None:
    lateness = 1e-6 * np.random.default_rng(3).normal(-20.0, 30.0, 2000)  # paced by the rig: most of them early
    given = with_channels(real, lateness=lateness)
    found = real_time(given)
    assert found is not None
    drawn = [text.get_text() for text in pace(given).axes[0].texts]
    assert found.spreads[0][2].startswith("−")
    for name, value in zip(("50 %", "99 %", "99.9 %", "max"), found.spreads[0][2:6], strict=True):
        assert f"{name}: {value}" in drawn
