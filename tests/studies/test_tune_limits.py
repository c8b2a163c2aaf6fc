"""Tuning next to limits: the best that they permit is found, what they reject is named, and noise is not blamed."""

import math
from pathlib import Path

import numpy as np
import pytest

import halfreal
from examples.wallace2005 import GALLERY, definition
from halfreal.presentation.tune_text import as_text
from halfreal.runs.alike import alike
from halfreal.runs.error_measures import nrmse
from halfreal.studies.tuning.bench import Bench
from halfreal.studies.tuning.line_search import Place, line_search
from halfreal.studies.tuning.mark import is_tuned, marked
from halfreal.studies.tuning.parts import parts
from halfreal.studies.tuning.tune import tune

CASE = Path(__file__).parent / "cases" / "tune_near_a_limit.toml"


# --- the search along a number ----------------------------------------------------------------------------------------


def searched(error, share=lambda at: 0.0, start=0.7, most=8):
    """The best found, and how many places were tried."""
    tried = []

    def judge(at):
        tried.append(at)
        used = share(at)
        return Place(at, 2 * (used > 1.0), used - 1.0 if used > 1.0 else error(at), used)

    first = judge(start)
    begun = [first] if first.grade == 0 else [judge(0.0), first]
    return line_search(judge, begun, most), len(tried)


@pytest.mark.parametrize("best", [0.0, 0.1, 0.43, 0.71, 0.9, 1.0])
def test_a_best_in_the_open_is_found_within_few_places(best):
    found, count = searched(lambda at: math.hypot(0.01, at - best))
    assert found.amount < 0.012 and count <= 9


@pytest.mark.parametrize("allowed", [0.15, 0.4, 0.64])
def test_a_best_next_to_a_limit_is_found_from_beyond_it(allowed):
    found, count = searched(lambda at: 1.0 - at, share=lambda at: 0.6 + 0.4 * (at / allowed) ** 1.5)
    assert 0.97 * allowed < found.at <= allowed and count <= 8


def test_a_search_ends_where_all_is_rejected():
    found, count = searched(lambda at: 1.0, share=lambda at: 3.0 + at)
    assert found.at == 0.0 and count <= 4


# --- whole searches ---------------------------------------------------------------------------------------------------


def test_the_best_that_a_limit_permits_is_found_and_what_it_rejects_is_named():
    """Uncompensated the error is 48 %; order 3 with 12 points reaches the limit of the command at 3.2 ms with 21 %, as
    a grid of rehearsals shows."""
    found = tune(halfreal.load(CASE))
    best = found.rows[0]
    assert best.name == "forward prediction" and best.worst < 0.22
    assert best.coupling.order == 3 and 2.95e-3 < best.coupling.prediction < 3.25e-3
    rejected = [one for one in found.tried if one.limit]
    assert rejected and all(one.share > 1.0 and one.error == math.inf for one in rejected)
    adaptive = next(row for row in found.rows if row.name == "adaptive forward prediction")
    assert adaptive.nominal.reason.startswith("rejected: limits.command 12")
    lines = as_text(found)
    (line,) = (one for one in lines if "  rejected: " in one)
    assert "limits.command 12" in line and line.endswith(", limit 8 mm)") and "fails" not in line
    assert any("by limits.command (" in line for line in lines)
    assert "noise" not in best.parts.largest


def drawn(seed):
    """The case with a random rig, specimen and limit of the command, which it keeps by little uncompensated."""
    random = np.random.default_rng(seed)
    changed = {
        "timing.duration": 6.0,
        "excitation.virtual.duration": 5.5,
        "rig.actuator.frequency": random.uniform(50.0, 70.0),
        "rig.specimen.mass": random.uniform(0.3, 0.6),
    }
    test = halfreal.load(CASE).with_values(changed)
    with alike():
        (plain,) = Bench(test, 0).outcomes(test.coupling, [0])
    return test.with_values({"limits.command.trip": plain.command * random.uniform(1.02, 1.3)})


@pytest.mark.parametrize("seed", range(2))
def test_the_best_is_never_worse_than_none_and_is_what_a_rehearsal_shows(seed):
    test = drawn(seed)
    found = tune(test)
    best, none = found.rows[0], next(row for row in found.rows if row.name == "none")
    sound = not none.failed and not none.short
    assert not best.failed and (best.worst <= none.worst + 5e-4 or not sound)
    assert any(one.limit == "limits.command" and 1.0 < one.share < 3.0 for one in found.tried)
    run = halfreal.rehearse(found.best)
    assert run.outcome == "completed" and max(run.limits_used.values()) <= 1.0
    error = nrmse(run.signals["reference"].values, run.signals["rig.displacement"].values)
    assert error == pytest.approx(best.nominal.error, rel=1e-6)


# --- noise ------------------------------------------------------------------------------------------------------------


def test_noise_is_not_blamed_where_there_is_none():
    coarse = {"force": {}, "displacement": {"resolution": 2e-4}}
    rig = {"actuator": {"delay": 9.4e-3}, "specimen": {"stiffness": 2250.0}, "sensors": coarse}
    test = definition(timing={"step": 1e-3, "duration": 3.0}, rig=rig)
    predicted = halfreal.load(GALLERY / "forward_prediction.toml").coupling
    found = parts(Bench(test, 0), predicted)
    assert found.noise == 0.0 and found.bounds > 5e-3 and "noise" not in found.largest
    sharp = definition(timing={"step": 1e-3, "duration": 3.0}, coupling=predicted.model_dump())
    assert not any("noise" in one or "quieter" in one for one in halfreal.check(sharp).remedies)


# --- what a check advises ---------------------------------------------------------------------------------------------


def test_a_search_is_not_advised_for_its_own_result():
    test = halfreal.load(CASE)
    text = CASE.read_text()
    assert any("halfreal tune" in one for one in halfreal.check(test, text=text).remedies)
    mine = marked(marked(text, test), test)
    assert mine.count("chosen by halfreal tune") == 1 and is_tuned(mine, test)
    assert not any("halfreal tune" in one for one in halfreal.check(test, text=mine).remedies)
    changed = test.with_values({"rig.specimen.mass": 0.4})
    assert not is_tuned(mine, changed)


def test_an_interval_of_predictions_is_one_over_which_the_test_is_a_go():
    test = halfreal.load(GALLERY / "uncompensated.toml")
    text = next(one for one in halfreal.check(test).remedies if one.startswith("forward prediction"))
    low, high = (float(one) for one in text.split(" by ")[1].split(", ")[0].replace(" ms", "").split(" to "))
    assert low < 9.4 < high
    for ms in (low, 0.5 * (low + high), high):
        coupling = {"kind": "forward prediction", "prediction": f"{ms} ms"}
        assert halfreal.check(test.with_values({"coupling": coupling})).verdict == "GO"
