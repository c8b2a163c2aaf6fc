"""Two runs on one page: what differs is told, what agrees is said to agree, and every difference is a known one."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from halfreal.cli import app
from halfreal.presentation import compare, compare_html, html
from halfreal.presentation.common_times import common
from halfreal.presentation.compare_plots import histories
from halfreal.presentation.compare_text import about_definitions
from halfreal.presentation.definitions import differences
from halfreal.records import save
from halfreal.runs.run import Event, Run, Signal
from presentation.pages import Page

GAIN, OFFSET = 1.02, 1e-4


@pytest.fixture(scope="module")
def off(real: Run) -> Run:
    """The run with a target off by 0.1 mm and a specimen that moves 2 % too far."""
    signals = dict(real.signals)
    signals["target"] = Signal("m", real.signals["target"].values + OFFSET)
    signals["measured.displacement"] = Signal("m", GAIN * real.signals["measured.displacement"].values)
    return replace(real, signals=signals)


@pytest.fixture(scope="module")
def pair_page(off: Run, rehearsed: Run) -> str:
    return compare_html.render(off, rehearsed)


def test_the_page_says_which_is_which(pair_page: str) -> None:
    page = Page(pair_page).text
    assert "halfreal comparison of a run and a rehearsal" in page
    assert re.search(r"run: steady sine\s*2026-11-16 08:00:00 UTC", page)
    assert re.search(r"rehearsal: steady sine\s*2026-11-15 12:00:00 UTC", page)
    assert "COMPLETED" in page and "Real time" in page and "Phases of the run" in page
    assert "limits.energy.trip[1]" in page and "The runs had different definitions" in page


def test_two_of_a_kind_are_told_apart(steady: Run, tripped: Run) -> None:
    assert compare.labels(steady, tripped) == ("rehearsal A", "rehearsal B")


def test_a_run_beside_itself_is_the_same(rehearsed: Run, real: Run) -> None:
    page = Page(compare_html.render(replace(real, definition=rehearsed.definition), rehearsed)).text
    assert "Both had the same definition" in page
    assert "Identical sample by sample: 5000 samples of 4 signals" in page
    assert about_definitions(rehearsed, rehearsed) == ["both runs had the same definition"]


def test_figures_of_both_stand_beside_their_difference(off: Run, rehearsed: Run) -> None:
    rows = {row.name: row for row in compare.figures(off, rehearsed)}
    assert rows["Outcome"].first == rows["Outcome"].second == "completed"
    peak = rows["Peak target"]
    assert (peak.first, peak.second, peak.difference) == ("5.1 mm", "5 mm", "+0.1 mm")
    amplitude = rows["Synchronisation: amplitude error"]
    assert (amplitude.first, amplitude.difference) == ("+2.00 %", "+2.00 pp")
    assert rows["Peak command"].difference == "0"
    limits = {row.name: (row.first, row.second, row.difference) for row in compare.limits(off, rehearsed)}
    assert limits == {"gap": ("75.0 %", "25.0 %", "+50.0 pp"), "energy error": ("20.0 %", "—", "—")}


def test_peaks_of_displacements_and_rotations_are_told_apart(two_axes: Run) -> None:
    signals = {n: Signal("rad" if n == "target.2" else s.unit, s.values) for n, s in two_axes.signals.items()}
    names = [row.name for row in compare.figures(replace(two_axes, signals=signals), two_axes)]
    assert "Peak target (displacements)" in names and "Peak target (rotations)" in names and "Peak command" in names


def test_agreement_is_that_of_the_test_alone(off: Run, rehearsed: Run) -> None:
    found = {one.signal: one for one in compare.agreements(off, rehearsed)}
    assert found["command"].identical and found["command"].samples == 5000
    moved = found["measured displacement"]
    assert moved.nrmse == pytest.approx(GAIN - 1, rel=1e-9) and moved.amplitude == pytest.approx(GAIN, rel=1e-9)
    assert moved.delay == pytest.approx(0.0, abs=1e-9) and moved.largest == "0.1 mm"
    assert found["target"].largest == "0.1 mm" and not found["target"].identical


def test_the_difference_is_drawn_where_both_have_samples(off: Run, rehearsed: Run) -> None:
    axes = next(axes for axes in histories(off, rehearsed).axes if axes.get_title(loc="left").startswith("Difference"))
    assert axes.get_title(loc="left") == "Difference: run − rehearsal"
    lines = {line.get_label(): line for line in axes.lines}
    np.testing.assert_allclose(lines["target"].get_ydata(), 1e3 * OFFSET, rtol=1e-9)
    assert np.abs(lines["measured"].get_ydata()).max() == pytest.approx(1e3 * 5e-3 * (GAIN - 1), rel=1e-3)
    assert lines["target"].get_xdata()[[0, -1]] == pytest.approx([0.0, 4.999])


def test_a_stopped_run_is_compared_up_to_its_stop(stopped: Run, rehearsed: Run) -> None:
    assert {one.samples for one in compare.agreements(stopped, rehearsed)} == {2001}
    assert all(one.identical for one in compare.agreements(stopped, rehearsed))
    figure = histories(stopped, rehearsed)
    axes = next(axes for axes in figure.axes if axes.get_title(loc="left").startswith("Difference"))
    assert max(line.get_xdata().max() for line in axes.lines if line.get_label() == "target") == pytest.approx(2.0)


def common_rows(*runs: Run) -> list[np.ndarray]:
    """Rows of two runs at the same times, as numbers."""
    rows = common(*runs, *(slice(0, len(run.time)) for run in runs))
    return [np.arange(len(run.time))[chosen] for run, chosen in zip(runs, rows, strict=True)]


@pytest.mark.parametrize(("every", "shift", "count"), [(1, 0.0, 5000), (2, 0.0, 2500), (3, 1e-9, 1667), (1, 4e-4, 0)])
def test_samples_are_matched_by_their_times(rehearsed: Run, every: int, shift: float, count: int) -> None:
    thin = replace(
        rehearsed,
        time=rehearsed.time[::every] + shift,
        signals={name: Signal(signal.unit, signal.values[::every]) for name, signal in rehearsed.signals.items()},
    )
    i, j = common_rows(thin, rehearsed)
    assert len(i) == count and np.array_equal(j, every * i)
    if not count:
        assert "no samples at the same times" in Page(compare_html.render(thin, rehearsed)).text


def test_steps_that_differ_share_the_times_of_the_longer_one(rehearsed: Run) -> None:
    coarse = replace(rehearsed, step=2.5e-3, time=2.5e-3 * np.arange(2000), signals={})
    i, j = common_rows(coarse, rehearsed)
    assert np.array_equal(i, np.arange(0, 2000, 2)) and np.array_equal(j, 5 * np.arange(1000))


def test_events_of_the_same_kind_share_a_line(rehearsed: Run) -> None:
    def of(*events: tuple[float, str]) -> Run:
        return replace(rehearsed, events=tuple(Event(time, "c", text) for time, text in events))

    found = compare.events(of((1.0, "a"), (2.0, "b"), (3.0, "a")), of((0.5, "d"), (1.1, "a")))
    assert [(row.text, row.first, row.second) for row in found] == [
        ("d", None, 0.5),
        ("a", 1.0, 1.1),
        ("b", 2.0, None),
        ("a", 3.0, None),
    ]


TEST = {
    "title": "t",
    "timing": {"step": 1e-3, "duration": 1.0},
    "virtual": {"mass": [[2.2]], "stiffness": [[2250.0]]},
    "rig": {"actuator": {"delay": 9.4e-3}, "specimen": {"stiffness": [[2250.0]]}},
}


def test_definitions_differ_by_place_with_units() -> None:
    changed = {
        **TEST,
        "rig": {"actuator": {"delay": 9.5e-3}, "specimen": {"stiffness": [[2250.0000000001]]}},
        "limits": {"gap": {"trip": 5e-3}},
    }
    found = {one.place: (one.here, one.there) for one in differences(TEST, changed)}
    assert found["rig.actuator.delay"] == ("9.4 ms", "9.5 ms")
    stiffness = found["rig.specimen.stiffness"]
    assert stiffness[0] != stiffness[1], "also what only the last digits tell apart"
    gap = next(place for place in found if place.startswith("limits.gap.trip"))
    assert found[gap] == ("—", "5 mm") and len(found) == 3


def test_what_is_left_at_its_default_is_no_difference() -> None:
    assert differences(TEST, {**TEST, "description": "", "coupling": {"kind": "none"}}) == []


def test_entries_of_arrays_are_compared_one_by_one() -> None:
    here = {"a": {"unit": "N/m", "values": [[1.0, 2.0], [2.0, 3.0]]}, "b": [1, None], "strange": True}
    there = {"a": {"unit": "N/m", "values": [[1.0, 2.0], [2.0, 4.0]]}, "b": [1]}
    found = [(one.place, one.here, one.there) for one in differences(here, there)]
    assert found == [("a[2][2]", "3.0 N/m", "4.0 N/m"), ("strange", "yes", "—")]


def test_many_differences_are_cut_and_counted(rehearsed: Run) -> None:
    other = replace(rehearsed, definition={"record": list(range(100))})
    lines = about_definitions(replace(rehearsed, definition={"record": list(range(1, 101))}), other)
    assert lines[1] == "  record[1]: 1 in the rehearsal A, 0 in the rehearsal B"
    assert lines[-1] == "  and 88 further values"
    assert "further values differ" in Page(compare_html.render(rehearsed, other)).text


def test_the_page_of_two_stands_alone_and_lets_nothing_hostile_in(off: Run, rehearsed: Run, pair_page: str) -> None:
    hostile = "<script>alert(1)</script>\"'&{{ 7*7 }}"
    bad = replace(
        rehearsed,
        title=hostile,
        definition={hostile: hostile},
        definition_text=hostile,
        events=(Event(1.0, hostile, hostile),),
        limits_used={hostile: 0.5},
        host={hostile: hostile},
        started=hostile,
    )
    for text in (pair_page, compare_html.render(off, bad)):
        page = Page(text)
        assert not {"script", "img", "iframe", "object", "link"} & set(page.tags)
        links = [value for name, value in page.attributes if name in ("href", "src", "xlink:href")]
        assert all(value and value.startswith(("#", "data:image/png;base64,")) for value in links)
        ids = re.findall(r'\bid="([^"]+)"', text)
        assert len(ids) == len(set(ids))
    assert page.text.count(hostile) >= 8, "shown as it is"
    assert compare_html.render(off, rehearsed) == pair_page, "the same runs give the same page"


def test_runs_that_have_next_to_nothing_in_common_have_a_page(steady: Run, two_axes: Run, tripped: Run) -> None:
    bare = replace(steady, time=np.zeros(0), signals={}, events=(), stability=None, limits_used={}, definition={})
    assert "no samples at the same times" in Page(compare_html.render(bare, bare)).text
    assert "rehearsal" in Page(compare_html.render(steady, bare)).text
    Page(compare_html.render(two_axes, steady))
    assert "axis 2" in Page(compare_html.render(two_axes, two_axes)).text
    assert "Around the trip" in compare_html.render(steady, tripped)


def test_the_command_line_tells_what_differs_and_writes_the_page(
    off: Run, rehearsed: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    save(off, "run.h5")
    save(rehearsed, "rehearsal.h5")
    answer = CliRunner().invoke(app, ["report", "run.h5", "--compare", "rehearsal.h5"])
    assert answer.exit_code == 0, answer.output
    assert "limits.energy.trip[1]: 0.2 in the run, — in the rehearsal" in answer.output
    assert "+0.1 mm" in answer.output and str(tmp_path / "run.html") in answer.output
    assert "comparison of a run and a rehearsal" in Path("run.html").read_text(encoding="utf-8")
    late = CliRunner().invoke(app, ["report", "run.h5", "--compare", "rehearsal.h5", "--from", "5.5 s", "-f"])
    assert late.exit_code == 2 and "not within the rehearsal, which goes from 0 s to 4.999 s" in late.output
    missing = CliRunner().invoke(app, ["report", "run.h5", "--compare", "none.h5", "-f"])
    assert missing.exit_code == 2 and "none.h5" in missing.output


def test_a_page_of_two_is_written_from_python(real: Run, rehearsed: Run, tmp_path: Path) -> None:
    html.report(real, tmp_path / "both.html", compare=rehearsed, from_time=1.0)
    assert "from 1 s on" in Page((tmp_path / "both.html").read_text(encoding="utf-8")).text
