"""A campaign is of one code: a user's function, or anything that it imports or reads, must not change on the way."""

import pytest

from examples.wallace2005 import definition
from halfreal.campaigns.evaluate import evaluate, job_for
from halfreal.campaigns.plan import Plan
from halfreal.campaigns.scores import wanted
from halfreal.campaigns.store import StoreError, load_results
from halfreal.campaigns.sweep import sweep

pytestmark = pytest.mark.xdist_group("campaign")
PLAN = Plan(vary={"rig.actuator.delay": [i * 1e-3 for i in range(1, 9)]}, scores=("peak command",), check=False)
COUPLING = "from law import GAIN\n\ndef step(p, s, t, u, y):\n    y[0] = GAIN * u[0]\n    return 0\n"


@pytest.fixture
def test(tmp_path):
    (tmp_path / "mine.py").write_text(COUPLING)
    (tmp_path / "law.py").write_text("GAIN = 1.0\n")
    coupling = {"kind": "user", "function": f"{tmp_path / 'mine.py'}:step"}
    return definition(timing={"step": 1e-3, "duration": 0.2}, coupling=coupling)


def test_a_helper_that_changes_while_the_campaign_runs_ends_it_and_keeps_the_points_before(test, tmp_path):
    store, law = tmp_path / "r.sqlite", tmp_path / "law.py"
    words = r"law.py has changed since this campaign started: .* keeps its \d points.*; restore the code to resume"
    with pytest.raises(StoreError, match=words):
        sweep(test, PLAN, store, workers=1, on_progress=lambda done, total: law.write_text("GAIN = 0.5\n"))
    before = load_results(store)
    assert 0 < len(before) < 8 and before.failed == 0
    with pytest.raises(StoreError, match=words):
        sweep(test, PLAN, store, workers=1)
    assert len(load_results(store)) == len(before)
    law.write_text("GAIN = 1.0\n")
    found = sweep(test, PLAN, store, workers=1)
    job = job_for(test, PLAN, ("rig.actuator.delay",), wanted(PLAN, test))
    expected = evaluate(job, [(i + 1, (value,)) for i, value in enumerate(PLAN.vary["rig.actuator.delay"])])
    assert found["peak command"].tolist() == [one.scores["peak command"] for one in expected]


def test_code_that_breaks_while_the_campaign_runs_makes_no_failed_points(test, tmp_path):
    store = tmp_path / "r.sqlite"
    with pytest.raises(StoreError, match=r"mine.py has changed since this campaign started"):
        sweep(
            test, PLAN, store, workers=1, on_progress=lambda done, total: (tmp_path / "law.py").write_text("GAIN = \n")
        )
    found = load_results(store)
    assert 0 < len(found) < 8 and found.failed == 0


def test_code_that_cannot_be_loaded_is_refused_before_a_point_is_run(test, tmp_path):
    (tmp_path / "law.py").write_text("GAIN = 1 / 0\n")
    with pytest.raises(ValueError, match=r"mine.py cannot be loaded: ZeroDivisionError"):
        sweep(test, PLAN, tmp_path / "r.sqlite", workers=1)
