"""The report says what the run was, stands alone, and lets nothing in that is not ours."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from halfreal.presentation import html
from halfreal.presentation.answers import run_json
from halfreal.presentation.verdict import verdict
from halfreal.presentation.wording import date, in_time, number, percent, sentence
from halfreal.records import definition_hash
from halfreal.runs.run import Event, InMotion, Run, Signal
from halfreal.runs.validity import AT_REST, IN_ANY_MOTION
from presentation.pages import Page


def test_the_report_of_a_steady_run_states_its_numbers(steady: Run, steady_page: str) -> None:
    page = Page(steady_page).text
    assert "GO" in page and "NO-GO" not in page
    # A sine that is late by φ = 2π · 2 Hz · 2 ms: NRMSE 2 sin(φ/2) = 2.51 %; the target is 1/1.01 of the reference.
    assert "2.51 %" in page and "0.99 %" in page
    assert "2 ms" in page and "5 mm" in page and "5 Hz" in page and "10.0 %" in page
    assert definition_hash(steady.definition) in page
    assert "A method of computation for structural dynamics" in page, "the paper of the run's method"
    assert "actuator tracking for real-time hybrid simulation" in page, "the paper of the measure"
    assert 'mass = "2.2 kg"' in page and "measured force" in page
    assert "2026-11-15 12:00:00 UTC" in page


def test_the_report_of_a_tripped_run_says_when_and_why(tripped: Run) -> None:
    page = Page(html.render(tripped)).text
    assert "NO-GO" in page
    assert "stopped by the guard at 3 s: gap was 0.006 m, beyond its limit of 0.005 m." in page
    assert "The linearised loop is unstable" in page and "−6.00 %" in page and "growth" in page


def test_verdict_is_the_runs_own_and_none_if_it_was_not_judged(steady: Run) -> None:
    assert [verdict(replace(steady, verdict=word)).word for word in ("GO", "NO-GO")] == ["GO", "NO-GO"]
    unjudged = replace(steady, verdict="", reasons=(), remedies=())
    page = Page(html.render(unjudged)).text
    assert "NOT JUDGED" in page and "Run 'halfreal check' for a verdict." in page
    assert "Go or no-go" not in page
    assert run_json(unjudged, Path("run.h5"))["verdict"] is None
    of_rig = verdict(replace(unjudged, kind="rig"))
    assert (of_rig.word, of_rig.tone) == ("COMPLETED", "go")


def test_the_banner_says_where_stability_holds(steady: Run) -> None:
    known = replace(steady.stability, holds=AT_REST, in_motion=InMotion("the motion runs away"))
    banner = verdict(replace(steady, stability=known)).stability
    assert banner.endswith("(at rest). In motion, the motion runs away.")
    assert (
        "motion"
        not in verdict(replace(steady, stability=replace(known, holds=IN_ANY_MOTION, in_motion=None))).stability
    )


def test_reasons_remedies_and_limits_used_are_told(steady_page: str, tripped: Run) -> None:
    page = Page(steady_page).text
    assert "stable, as it seems." in page
    assert "25.0 %" in page
    told = Page(html.render(replace(tripped, reasons=("unstable",)))).text
    assert "shorter delay" in told


HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{ 7*7 }}]]>-->$x$"


def test_nothing_hostile_in_any_text_gets_into_the_page(steady: Run) -> None:
    run = replace(
        steady,
        title=HOSTILE,
        reason=HOSTILE,
        outcome="failed",
        definition={HOSTILE: {HOSTILE: HOSTILE}, "description": HOSTILE},
        definition_text="</pre>" + HOSTILE,
        signals={**steady.signals, f"coupling.{HOSTILE}": Signal(HOSTILE, steady.time)},
        events=(Event(1.0, HOSTILE, HOSTILE),),
        stability=replace(steady.stability, text=HOSTILE),
        references=(HOSTILE,),
        versions={HOSTILE: HOSTILE},
        host={HOSTILE: HOSTILE},
        started=HOSTILE,
    )
    text = html.render(run)
    page = Page(text)
    assert not {"script", "img", "iframe", "object", "link"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert page.text.count(HOSTILE) >= 10, "shown as it is"


def test_the_page_fetches_nothing(steady_page: str) -> None:
    page = Page(steady_page)
    links = [value for name, value in page.attributes if name in ("href", "src", "xlink:href", "action", "data")]
    assert links, "markers and pictures inside the plots"
    assert all(value and value.startswith(("#", "data:image/png;base64,")) for value in links)
    assert not re.search(r"@import|url\((?!#)", steady_page)
    assert "script" not in page.tags


def test_plots_are_whole_svg_with_labels_and_ids_of_their_own(two_axes: Run) -> None:
    text = html.render(two_axes)
    drawings = re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL)
    # history, synchronisation, loop and command for each axis; forces, poles, excitation
    assert len(drawings) == 2 * 4 + 3
    for drawing in drawings:
        root = ElementTree.fromstring(drawing)
        assert root.get("role") == "img" and root.get("aria-label") and root.get("viewBox") and not root.get("width")
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    used = set(re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', text))
    assert {a or b for a, b in used} <= set(ids)


def test_the_same_run_gives_the_same_page(steady: Run, steady_page: str) -> None:
    assert html.render(steady) == steady_page


def test_runs_with_next_to_nothing_have_a_report_too(steady: Run) -> None:
    bare = replace(
        steady,
        time=np.zeros(0),
        signals={},
        events=(),
        stability=None,
        outcome="failed",
        reason="no link",
        definition={},
    )
    assert "The rehearsal failed at 0 s: no link." in Page(html.render(bare)).text
    empty = replace(
        bare, signals={"target": Signal("m", np.zeros(0)), "measured.displacement": Signal("m", np.zeros(0))}
    )
    assert "—" in Page(html.render(empty)).text
    one = replace(bare, time=np.zeros(1), signals={"target": Signal("m", np.full(1, np.nan))})
    Page(html.render(one))


def test_measures_can_leave_out_a_start_up(steady: Run) -> None:
    assert "from 1.5 s on" in Page(html.render(steady, from_time=1.5)).text
    assert "—" in Page(html.render(steady, from_time=1e9)).text


def test_a_report_is_whole_or_not_there(steady: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.html"
    html.report(steady, path)
    assert path.read_text(encoding="utf-8").rstrip().endswith("</html>")
    monkeypatch.setattr(html, "render", lambda *_: "another page")
    with pytest.raises(FileExistsError, match="already exists"):
        html.report(steady, path)
    before = path.read_bytes()

    def full_disk(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full_disk)
    with pytest.raises(OSError, match="No space"):
        html.report(replace(steady, title="other"), path, overwrite=True)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_a_long_definition_is_cut_and_what_is_absent_left_out() -> None:
    sections = html.definition_sections(
        {
            "title": "in the head",
            "step": 1e-3,
            "virtual": {
                "mass": [[2.2]],
                "record": [0.1] * 4000,
                "none": None,
                "elements": [{"law": "gap", "on": True}],
            },
            "empty": {"a": None},
        }
    )
    assert sections == [
        ("test", [("step", "0.001")]),
        (
            "virtual",
            [("mass", "2.2"), ("record", "4000 values"), ("elements[1].law", "gap"), ("elements[1].on", "yes")],
        ),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (percent(0.0251), "2.51 %"),
        (percent(-0.5, sign=True), "−50.0 %"),
        (percent(0.02, sign=True), "+2.00 %"),
        (percent(1e-9), "< 0.001 %"),
        (percent(0.0), "0.000 %"),
        (percent(12.0), "1200 %"),
        (percent(float("nan")), "—"),
        (number(-1.5), "−1.5"),
        (in_time(2.3e-3), "2.3 ms"),
        (in_time(-1.5), "−1.5 s"),
        (in_time(1e-9), "< 0.001 ms"),
        (sentence("stable"), "stable."),
        (sentence("really?"), "really?"),
        (date("2026-11-15T12:00:00+02:00"), "2026-11-15 12:00:00 +0200"),
        (date("yesterday"), "yesterday"),
    ],
)
def test_numbers_and_texts_for_people(text: str, expected: str) -> None:
    assert text == expected


def test_report_of_a_single_sample_is_written_without_warnings(steady: Run) -> None:
    short = replace(
        steady,
        time=steady.time[:1],
        signals={name: Signal(signal.unit, signal.values[:1]) for name, signal in steady.signals.items()},
    )
    assert "<html" in html.render(short)


def test_auxiliary_channels_have_a_plot_and_a_row(steady: Run) -> None:
    definition = {**steady.definition, "auxiliary": {"pressure": {"unit": "MPa"}, "not_recorded": {"unit": "V"}}}
    pressure = Signal("MPa", 20.0 + np.sin(steady.time))
    run = replace(steady, definition=definition, signals={**steady.signals, "measured.pressure": pressure})
    page = Page(html.render(run)).text
    assert "Auxiliary channels of the rig." in page and "Auxiliary channels" not in Page(html.render(steady)).text
    assert "measured.pressure" in page and "MPa" in page
