"""Scores of a point are those of its whole rehearsal and of the loop that runs, however little was recorded."""

import numpy as np
import pytest

import halfreal
from examples.wallace2005 import GALLERY, critical_delay, definition, linearised
from halfreal.campaigns.evaluate import evaluate, job_for, lean_rehearsal
from halfreal.campaigns.plan import Plan, lay_out
from halfreal.campaigns.scores import ERRORS, Found, channels_for, score, wanted
from halfreal.contracts.axes import Axes
from halfreal.definition.faults import DefinitionError
from halfreal.presentation.measures import measures

pytestmark = pytest.mark.xdist_group("campaign")
NAMES = (
    "peak measured.displacement", "rms gap", "peak command", "limits used", "closest limit",
    *(f"synchronisation {name}" for name in ERRORS), "fidelity nrmse", "fidelity delay",
)  # fmt: skip


def short(name, **timing):
    test = halfreal.load(GALLERY / name)
    return test.model_copy(update={"timing": test.timing.model_copy(update={"duration": 3.0, **timing})})


@pytest.mark.parametrize(
    ("name", "timing"),
    [
        ("forward_prediction.toml", {}),
        ("forward_prediction.toml", {"soft_start": 0.4, "soft_stop": 0.3}),
        ("uncompensated.toml", {"duration": 12.0}),
        ("adaptive.toml", {}),
    ],
)
def test_a_lean_rehearsal_scores_to_the_bit_as_a_whole_one(name, timing):
    test = short(name, **timing)
    whole = halfreal.rehearse(test)
    lean = lean_rehearsal(test, channels_for(NAMES, test))
    assert (lean.outcome, lean.reason) == (whole.outcome, whole.reason)
    assert len(lean.signals) < len(whole.signals)
    assert score(NAMES, Found(lean), 0.5) == score(NAMES, Found(whole), 0.5)
    assert (whole.outcome == "tripped") == (name == "uncompensated.toml"), "both ends are tried"


def test_scores_of_signals_are_what_they_say():
    run = halfreal.rehearse(short("forward_prediction.toml"))
    kept = run.time >= 1.0
    gap = run.signals["target"].values[kept] - run.signals["measured.displacement"].values[kept]
    found = score(NAMES, Found(run), 1.0)
    assert found["rms gap"] == pytest.approx(np.linalg.norm(gap) / np.sqrt(gap.size), rel=1e-12)
    assert found["peak command"] == np.abs(run.signals["command"].values[kept]).max()
    assert found["limits used"] == max(run.limits_used.values())
    assert run.limits_used[found["closest limit"]] == found["limits used"]
    row = measures(run, 1.0)[0]
    assert found["synchronisation amplitude error"] == row.amplitude - 1.0
    assert found["synchronisation delay"] == row.delay


def test_of_several_axes_the_worst_counts():
    run = halfreal.rehearse(short("forward_prediction.toml"))
    target, measured = (run.signals[name] for name in ("target", "measured.displacement"))
    twice = {
        "target.1": target,
        "target.2": target,
        "measured.displacement.1": target,
        "measured.displacement.2": measured,
    }
    both = run.__class__(**{**vars(run), "signals": twice, "interface": Axes.numbered(2)})
    one, two = (score(("synchronisation nrmse", "peak target"), Found(each), 0.0) for each in (run, both))
    assert one == two


def test_growth_rates_over_delays_change_sign_at_the_critical_delay():
    test = definition(timing={"step": 1e-3, "duration": 0.05})
    critical = critical_delay()
    plan = Plan(
        vary={"rig.actuator.delay": [critical - 2e-4, critical + 2e-4]},
        scores=("growth rate", "spectral radius", "delay margin"),
        check=False,
    )
    design = lay_out(plan, test)
    job = job_for(test, plan, design.places, wanted(plan, test))
    below, above = evaluate(job, [(i + 1, tuple(row)) for i, row in enumerate(design.values)])
    assert below.scores["growth rate"] < 0.0 < above.scores["growth rate"]
    assert below.scores["delay margin"] == pytest.approx(2e-4, abs=2e-5)
    assert above.scores["delay margin"] is None
    exact = linearised(definition(delay=critical + 2e-4)).spectral_radius
    assert above.scores["spectral radius"] == pytest.approx(exact, rel=1e-9)


def test_a_point_that_is_checked_has_the_verdict_of_the_check():
    test = short("forward_prediction.toml")
    plan = Plan(vary={"coupling.prediction": [0.0, "9.4 ms"]}, scores=("rms gap",))
    names = [column.name for column in wanted(plan, test)]
    assert names == ["rms gap", "verdict", "spectral radius", "delay margin"]
    job = job_for(test, plan, ("coupling.prediction",), wanted(plan, test))
    bad, good = evaluate(job, [(1, (0.0,)), (2, (9.4e-3,))])
    assert (bad.scores["verdict"], bad.outcome) == ("NO-GO", "completed"), "unstable, but too slowly for 3 s"
    assert (good.scores["verdict"], good.outcome) == ("GO", "completed")
    answer = halfreal.check(test)
    assert good.scores["delay margin"] == answer.stability.margin.critical_delay
    assert good.scores["spectral radius"] == answer.linearisation.spectral_radius


@pytest.mark.parametrize(
    ("scores", "more", "words"),
    [
        (("rms gap", "synchronization nrmse"), {}, "did you mean 'synchronisation nrmse'?"),
        (("peak measured.forc",), {}, "this test has no signal 'measured.forc'; did you mean measured.force"),
        (("verdict",), {"check": False}, "set check = true"),
        (("fidelity nrmse",), {}, "give the definition a section [reference]"),
        (("rms gap",), {"minimise": "peak gap"}, "'peak gap' is not among the scores"),
        (("closest limit",), {}, "is a text, not a number"),
    ],
)
def test_scores_that_a_test_does_not_have_are_refused(scores, more, words):
    with pytest.raises(DefinitionError) as error:
        wanted(Plan(vary={"virtual.mass": [1.0]}, scores=scores, **more), definition(reference=None))
    assert words in str(error.value)
