"""What pages and terminals say of a run after its end: accepted or not, by whom, on which rig, with which specimen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from halfreal.page.told import accepted_told
from halfreal.presentation import compare_html, compare_plots, html
from halfreal.presentation.answers import judgement_lines, run_json
from halfreal.presentation.compare import figures
from halfreal.presentation.measures import key_figures
from halfreal.presentation.provenance import rig
from halfreal.presentation.verdict import verdict
from halfreal.runs.run import Accepted, Computer, Property, Run, Signal, SpecimenMet, Stalls
from presentation.pages import Page

STIFFER = Property("stiffness", ("1",), "N/m", 2767.0, 11.0, 2250.0, 9.0, 0.23, True)


@pytest.fixture(scope="module")
def judged(real: Run) -> Run:
    """The run on a real rig with a stiffer spring, not accepted."""
    roof = Signal("m/s^2", np.sin(real.time))
    return replace(
        real,
        verdict="GO",
        rig={"nature": "real", "name": "bench 3, v2.1", "address": "10.0.0.7:7411"},
        about={"notes": "after\nlunch", "operator": "A. <Tester>", "specimen": "spring 7"},
        accepted=Accepted("NOT ACCEPTED", ("3 of 1500 ticks not finished before the next was due",)),
        specimen_met=SpecimenMet((STIFFER,)),
        signals={**real.signals, "virtual.roof": roof},
        definition={**real.definition, "virtual": {"responses": {"roof": {"dof": 3}}}},
    )


@pytest.fixture(scope="module")
def page(judged: Run) -> str:
    return Page(html.render(judged)).text


def test_the_page_says_which_rig_it_was_and_who_ran_the_test(page: str) -> None:
    assert "real (bench 3, v2.1), at 10.0.0.7:7411" in page
    assert "A. <Tester>" in page and "spring 7" in page and "lunch" in page


def test_the_judgement_stands_beside_that_of_the_check(judged: Run, page: str) -> None:
    assert verdict(judged).word == "NOT ACCEPTED" and verdict(judged).tone == "no-go"
    assert "judged GO before it ran" in verdict(judged).stability
    assert "Why it is not accepted" in page and "3 of 1500 ticks not finished before the next was due." in page
    fine = replace(judged, accepted=Accepted("ACCEPTED", ("the test completed",)))
    assert (verdict(fine).word, verdict(fine).tone) == ("ACCEPTED", "go")
    assert verdict(replace(judged, accepted=None)).word == "COMPLETED"


@pytest.mark.parametrize(
    ("nature", "word", "tone"), [("simulated", "ACCEPTED", "go"), ("real", "NOT ACCEPTED", "no-go")]
)
def test_a_computer_that_is_not_fit_is_told_apart_everywhere(judged: Run, nature: str, word: str, tone: str) -> None:
    stalls = (Stalls("scheduler", 4, 0.002, 0.008), Stalls("computer", 2, 0.003, 0.005))
    computer = Computer(
        False, "held the loop up 6 times, up to 3 ms; not fit for 1 kHz", ("4 by other programs",), stalls
    )
    found = Accepted(word, ("the test completed",), "ACCEPTED", computer)
    run = replace(judged, accepted=found, rig={"nature": nature})
    line = "Test: ACCEPTED. Computer: held the loop up 6 times, up to 3 ms; not fit for 1 kHz"
    assert (verdict(run).word, verdict(run).tone, found.text) == (word, tone, line)
    report = Page(html.render(run)).text
    assert line in report and "not finished in time, by cause" in report and "4 by other programs" in report
    assert ('class="alarm">The computer held' in html.render(run)) == (nature == "real")
    assert judgement_lines(found) == [
        "Test: ACCEPTED", "  - the test completed", f"Computer: {computer.text}", "  - 4 by other programs"
    ]  # fmt: skip
    told = run_json(run, Path("run.h5"))
    assert (told["accepted"], told["test_accepted"], told["computer"]["fit"]) == (word == "ACCEPTED", True, False)
    assert told["computer"]["stalls"][1] == {"cause": "computer", "count": 2, "longest_s": 0.003, "lost_s": 0.005}
    assert accepted_told(found) == {"word": word, "judged": [line, "4 by other programs"]}


def test_the_specimen_that_was_met_comes_before_the_fidelity(judged: Run, page: str) -> None:
    words = "The tested specimen is 23 ± 1 % stiffer than the model: the fidelity error relative to the model"
    assert page.index(words) < page.index("Fidelity error")
    assert "2767 ± 11 N/m" in page and "2250 ± 9 N/m" in page
    names = [name for name, _ in key_figures(judged)]
    assert names.index("Tested specimen") < names.index("Fidelity error (model)")


def test_what_rests_on_a_model_is_marked_of_real_rigs_only(judged: Run, page: str) -> None:
    assert "Stability with the model of the rig" in page and "fidelity is relative to the model of the specimen" in page
    assert "Fidelity (model): NRMSE" in [row.name for row in figures(judged, judged)]
    assert "With the model of the rig: " in verdict(judged).stability
    simulated = replace(judged, rig={"nature": "simulated"})
    assert "Fidelity error" in dict(key_figures(simulated))
    assert "Fidelity: NRMSE" in [row.name for row in figures(simulated, simulated)]
    assert "model of the rig" not in verdict(simulated).stability
    assert replace(judged, rig={"nature": "unknown"}).rests_on_a_model and replace(judged, rig={}).rests_on_a_model


def test_a_rig_that_did_not_say_is_not_known(judged: Run, steady: Run) -> None:
    assert "the rig did not report it" in rig(replace(judged, rig={"nature": "unknown", "name": "", "address": "x:1"}))
    assert "older than this information" in rig(replace(judged, rig={}))
    assert rig(replace(steady, kind="rehearsal", rig={})) == "simulated"


def test_force_and_responses_that_were_asked_for_are_shown(page: str) -> None:
    assert "Measured force over time." in page
    assert "Requested responses of the virtual part." in page


def test_two_runs_show_their_loops_side_by_side_on_the_same_scales(judged: Run, rehearsed: Run) -> None:
    figure = compare_plots.loops(judged, rehearsed)
    first, second, both = figure.axes
    assert first.get_xlim() == second.get_xlim() == both.get_xlim()
    assert first.get_ylim() == second.get_ylim() == both.get_ylim()
    assert [len([line for line in axes.lines if len(line.get_xdata())]) for axes in figure.axes] == [1, 1, 2]
    text = Page(compare_html.render(judged, rehearsed)).text
    assert "side by side at the same scale" in text and "NOT ACCEPTED" in text and "bench 3, v2.1" in text
    assert "The tested specimen is 23 ± 1 % stiffer" in text
