"""Criteria of a test's own: read without being run, given the test itself and the emulated system, kept and judged."""

import numpy as np
import pytest

import halfreal
from examples.wallace2005 import DELAY, definition
from halfreal.contracts.user_criteria import units_in
from halfreal.kernels.user import UserFunctionError
from halfreal.presentation.html import render
from halfreal.runs.scored import against_acceptance, scores
from halfreal.studies.check.criteria.scores import scores as found_in_a_check
from halfreal.studies.check.examined import Examined

MINE = """
UNITS = {"first time": "s", "last time": "s", "due": "mm", "shown": "1"}

raise_at_import = 1 / WHAT

def score(run, reference, parameters):
    due = reference.vector("target")[:, 0]
    return {
        "first time": run.time[0], "last time": run.time[-1], "due": 1e3 * abs(due).max(),
        "shown": parameters["shown"] if len(due) == len(run.time) else float("nan"),
    }
"""
RIGHT = MINE.replace("WHAT", "1")
SOFT = {"step": 1e-3, "duration": 2.0, "soft_start": 0.25, "soft_stop": 0.25, "seed": 1}


def written(folder, text=RIGHT, **asked):
    (folder / "mine.py").write_text(text)
    criteria = {"kind": "user", "function": f"{folder}/mine.py:score", "parameters": {"shown": 7.0}}
    coupling = {"kind": "forward prediction", "prediction": DELAY}
    return definition(timing=SOFT, reference={}, coupling=coupling, criteria=criteria, **asked)


def test_criteria_get_the_test_itself_and_the_emulated_system_and_are_kept_with_their_units(tmp_path):
    asked = {"criteria": {"due": "1 m", "shown": {"least": 7.5}}}
    test = written(tmp_path, acceptance=asked)
    run = halfreal.rehearse(test)
    first, last, due, shown = (run.scores[name] for name in ("first time", "last time", "due", "shown"))
    assert (first.value, first.unit) == (0.0, "s") and last.value == pytest.approx(1.999)
    assert due.value == pytest.approx(1e3 * np.nanmax(np.abs(run.signals["reference"].values)), rel=1e-12)
    assert (shown.value, shown.unit) == (7.0, "1")
    halfreal.save(run, tmp_path / "run.h5")
    again = halfreal.load_run(tmp_path / "run.h5")
    assert again.scores == run.scores
    page = render(again)
    assert "at least 7.5: not met" in page and f"{due.value:.4g} mm" in page
    told = {name: well for name, _, well in against_acceptance(test.acceptance, run)}
    assert told == {"due": True, "shown": False}
    (tmp_path / "mine.py").unlink()  # a run file outlives it
    assert halfreal.definition.from_json(halfreal.Definition, again.definition).criteria is not None


def test_what_is_below_acceptance_makes_a_test_marginal(tmp_path):
    test = written(tmp_path, acceptance={"criteria": {"shown": 6.0, "due": {"least": "0 mm"}}})
    found = {one.severity: one for one in found_in_a_check(Examined(test))}
    assert found["marginal"].text.startswith("the criterion shown is 7, accepted: at most 6")
    assert (found["marginal"].value, found["marginal"].limit) == (7.0, 6.0)
    assert "first time 0 s" in found["note"].text


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("run.time[0]", "run.signals['none']"), "there is no 'none' here; the record has the signals"),
        (("run.time[0]", "'soon'"), "'first time' is 'soon' where a number is expected"),
        (('"first time": run', '"second": run'), "they returned 'second', whose unit is not stated"),
        (("run.time[0]", "1 / 0"), r"ZeroDivisionError: division by zero at mine\.py, line 9"),
        (("1 / WHAT", "1 / 0"), r"cannot be loaded: ZeroDivisionError"),
    ],
)
def test_what_goes_wrong_is_told(tmp_path, change, told):
    test = written(tmp_path, MINE.replace(*change).replace("WHAT", "1"))
    run = halfreal.runs.Run(
        title="", kind="rehearsal", definition={}, definition_text="", step=1e-3, time=np.arange(8) * 1e-3,
        signals={"target": halfreal.runs.Signal("m", np.ones(8))}, events=(), outcome="completed", reason="", seed=1,
        started="",
    )  # fmt: skip
    with pytest.raises(halfreal.HalfrealError, match=told):
        scores(test, run, run)


def test_a_definition_is_held_against_the_units_that_a_file_tells_without_running_it(tmp_path):
    with pytest.raises(halfreal.DefinitionError) as error:
        # 1 / WHAT would raise
        written(tmp_path, MINE).with_values({"acceptance.criteria": {"due": "3 N"}})
    assert "'3 N' is in N where mm is expected" in str(error.value)
    (tmp_path / "silent.py").write_text("def score(run, reference): return {}\n")
    with pytest.raises(UserFunctionError, match="does not state the units"):
        units_in(tmp_path / "silent.py")
