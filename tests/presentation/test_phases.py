"""A run's ways to the test and home again, and its end before time, neither count nor break anything."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from halfreal.contracts.axes import Axes
from halfreal.presentation import html, plots, series
from halfreal.presentation.measures import key_figures, measures
from halfreal.presentation.phases import phases
from halfreal.presentation.verdict import verdict
from halfreal.runs.run import Event, Run, Signal
from presentation.pages import Page


def test_only_the_test_itself_is_measured(real: Run, rehearsed: Run) -> None:
    for ours, theirs in zip(measures(real), measures(rehearsed), strict=True):
        assert ours.samples == theirs.samples == 5000
        assert ours.nrmse == theirs.nrmse and ours.largest_error == theirs.largest_error
        assert ours.delay == pytest.approx(theirs.delay, rel=1e-9)
    assert dict(key_figures(real))["Peak target"] == "5 mm"
    assert measures(real, from_time=-3.0) == measures(real), "nothing before 0 s"
    assert measures(real, from_time=1.0)[0].samples == 4000


def test_a_time_of_zero_that_was_rounded_down_counts(real: Run) -> None:
    shifted = replace(real, time=real.time - 1e-12)
    assert measures(shifted)[0].samples == 5000


def test_a_definition_without_a_duration_is_measured_to_its_end(real: Run) -> None:
    assert measures(replace(real, definition={}))[0].samples == 6500


def test_phases_are_those_of_the_guards_mode(real: Run) -> None:
    found = [(phase.name, round(phase.start, 6), round(phase.end, 6)) for phase in phases(real)]
    assert found == [
        ("armed", -1.0, -0.75),
        ("ramping", -0.75, 0.0),
        ("running", 0.0, 5.0),
        ("ramp-down", 5.0, 6.0),
        ("stopped", 6.0, 6.499),
    ]
    odd = replace(real, signals={"guard.mode": Signal("1", np.where(real.time < 1, 77.0, np.nan))})
    assert [phase.name for phase in phases(odd)] == ["mode 77", "mode nan"]


def test_a_last_phase_of_one_sample_is_left_out(rehearsed: Run) -> None:
    mode = np.where(rehearsed.time > 4.9985, 2.0, 0.0)
    run = replace(rehearsed, signals={**rehearsed.signals, "guard.mode": Signal("1", mode)})
    assert [phase.name for phase in phases(run)] == ["running"]
    assert not plots.time_history(run).axes[0].collections, "one phase needs no strip"


def test_phases_stand_above_the_plot_and_what_is_outside_the_test_is_shaded(real: Run) -> None:
    upper, gap, energy, zoomed, *_ = plots.time_history(real).axes
    assert {"ramping", "running", "ramp-down"} <= {text.get_text() for text in upper.texts}
    assert [text.get_text() for text in zoomed.texts] == ["running"]
    for axes in (upper, gap, energy):
        shaded = sorted((patch.get_x(), patch.get_x() + patch.get_width()) for patch in axes.patches)
        assert [edge for span in shaded for edge in span] == pytest.approx(
            [axes.get_xlim()[0], 0.0, 5.0, axes.get_xlim()[1]]
        )
    assert zoomed.get_xlim()[0] > 3 and zoomed.get_xlim()[1] == pytest.approx(4.999), "last cycles of the test"


def test_a_change_of_phase_is_no_alarm_and_other_events_keep_their_numbers(real: Run) -> None:
    axes = plots.command(real).axes[0]
    assert [text.get_text() for text in axes.texts if text.get_text().isdigit()] == ["2"]


def test_the_gap_is_drawn_as_large_as_it_is_in_the_test(real: Run) -> None:
    _, gap, *_ = plots.time_history(real).axes
    largest = 5 * 2 * np.sin(np.pi * 2 * 2e-3)  # mm, of a sine that is 2 ms late; the approach is off by 8 mm
    assert gap.get_ylim() == pytest.approx((-1.16 * largest, 1.16 * largest), rel=1e-3)


def test_the_energy_error_stands_below_the_gap_with_its_limits(real: Run) -> None:
    energy = plots.time_history(real).axes[2]
    assert energy.get_title(loc="left") == "Running energy error: warn at 5 %, trip at 20 %"
    levels = {line.get_ydata()[0] for line in energy.lines if len(line.get_ydata()) == 2 and line.get_xdata()[0] == 0}
    assert {5.0, 20.0} <= levels
    limits = {"energy": {"trip": [0.1, 0.3]}, "gap": {"trip": [1e-3]}, "rotation": {"gap": {"trip": [2e-3]}}}
    turning = replace(real, definition={"limits": limits}, interface=Axes(("x", "rz")))
    assert series.limit(turning, "energy", 2) == 0.3
    assert [series.limit(turning, "gap", dof) for dof in (1, 2)] == [1e-3, 2e-3]


def test_a_stopped_run_is_measured_up_to_its_stop(stopped: Run) -> None:
    assert series.cut_short(stopped) == pytest.approx(2.0)
    row = measures(stopped)[0]
    assert row.samples == 2001 and row.largest_error < 0.03
    told = verdict(stopped)
    assert (told.word, told.tone) == ("STOPPED", "check")
    assert told.outcome == "The run was stopped by the operator at 2 s, before its end at 5 s."
    assert plots.time_history(stopped).axes[3].get_title(loc="left") == "Around the stop"
    assert "STOPPED" in Page(html.render(stopped)).text


def test_a_trip_on_the_way_to_the_test_leaves_nothing_to_measure(real: Run) -> None:
    kept = real.time < -0.5
    signals = {name: Signal(signal.unit, signal.values[kept]) for name, signal in real.signals.items()}
    run = replace(
        real,
        time=real.time[kept],
        signals=signals,
        events=(Event(-0.6, "guard.cause", "trip"),),
        outcome="tripped",
        reason="gap beyond its limit",
    )
    assert np.isnan(measures(run)[0].nrmse)
    page = Page(html.render(run)).text
    assert "TRIPPED" in page and "stopped by the guard at −0.6 s: gap beyond its limit." in page
    assert "−0.6000 s" in page


def test_the_banner_of_a_run_says_how_it_ended(real: Run) -> None:
    told = verdict(real)
    assert (told.word, told.tone) == ("COMPLETED", "go")
    assert told.outcome == "The run completed: 5 s in steps of 1 ms."
    assert told.stability.startswith("The test was judged GO before it ran.")
    assert verdict(replace(real, outcome="failed", reason="no link")).tone == "no-go"
