"""Campaigns on this machine: every point once, whatever happens to the campaign or to its workers."""

import json
from concurrent.futures import Future

import numpy as np
import pytest
from typer.testing import CliRunner

import halfreal
from examples.wallace2005 import GALLERY, definition
from halfreal.campaigns import sweep as campaign
from halfreal.campaigns import workers
from halfreal.campaigns.evaluate import evaluate, job_for
from halfreal.campaigns.plan import Plan, lay_out
from halfreal.campaigns.scores import wanted
from halfreal.campaigns.store import PointResult, StoreError, load_results
from halfreal.campaigns.sweep import sweep
from halfreal.campaigns.workers import CampaignError, WorkerDiedError
from halfreal.cli import app

pytestmark = pytest.mark.xdist_group("campaign")
TEST = definition(timing={"step": 1e-3, "duration": 0.5}, limits={"gap": {"trip": 5e-3}})
PLAN = Plan(
    vary={"rig.actuator.delay": {"low": 1e-3, "high": 8e-3, "count": 30}, "rig.specimen.stiffness": [500.0, 2250.0]},
    scores=("rms gap", "peak measured.force", "synchronisation nrmse", "closest limit"),
    check=False,
)


def in_this_process(test, plan):
    """Scores of all points, without store or workers."""
    design = lay_out(plan, test)
    job = job_for(test, plan, design.places, wanted(plan, test))
    return evaluate(job, [(i + 1, tuple(row)) for i, row in enumerate(design.values)])


def assert_whole(found, test, plan):
    """Every point is there once, with the scores it has when nothing happens."""
    expected = in_this_process(test, plan)
    assert found["point"].tolist() == [result.point for result in expected]
    for name in plan.scores:
        assert found[name].tolist() == [result.scores[name] for result in expected]


@pytest.fixture
def started(monkeypatch):
    """The processes that a campaign starts."""
    found, start = [], workers._start
    monkeypatch.setattr(workers, "_start", lambda: found.append(start()) or found[-1])
    return found


def test_an_interrupted_campaign_goes_on_where_it_stopped_and_a_killed_worker_costs_nothing(tmp_path, started):
    path, seen = tmp_path / "r.sqlite", []

    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(TEST, PLAN, path, workers=2, on_progress=interrupt)
    assert all(process.poll() is not None for process in started), "no worker is left behind"
    before = load_results(path)
    assert 0 < len(before) < before.points == 60

    def kill(done, total):
        seen.append(done)
        if len(seen) == 1:
            started[-1].kill()

    found = sweep(TEST, PLAN, path, workers=2, on_progress=kill)
    assert seen[0] > len(before) and seen[-1] == 60
    assert len(started) == 5, "two, two again, and one for the one that was killed"
    assert_whole(found, TEST, PLAN)
    assert found.failed == 0
    sweep(TEST, PLAN, path, on_progress=lambda done, total: pytest.fail("nothing is left to do"))
    assert len(started) == 5


def test_failing_points_are_recorded_with_their_reason_and_do_not_stop_the_rest(tmp_path):
    plan = Plan(vary={"rig.actuator.delay": ["2 ms", "3 s", "4 ms"]}, scores=("rms gap",), check=False)
    found = sweep(TEST, plan, tmp_path / "r.sqlite", workers=1)
    assert found["status"].tolist() == ["done", "failed", "done"]
    assert "3000 steps, more than 2000; shorten the delay" in found["reason"][1]
    assert np.isfinite(found["rms gap"]).tolist() == [True, False, True]


def test_run_files_are_kept_beside_the_table_on_request(tmp_path):
    plan = Plan(vary={"rig.actuator.delay": ["2 ms", "4 ms"]}, scores=("peak gap",), check=False, keep_runs=True)
    found = sweep(TEST, plan, tmp_path / "r.sqlite", workers=1)
    assert found["run_file"].tolist() == ["r.runs/000001.h5", "r.runs/000002.h5"]
    run = halfreal.load_run(tmp_path / found["run_file"][1])
    assert run.definition["rig"]["actuator"]["delay"] == 4e-3
    assert np.abs(run.signals["gap"].values).max() == found["peak gap"][1]
    assert "reference" in run.signals and run.stability is not None


class Deadly:
    """Workers that point 7 kills."""

    room = 4

    def __init__(self):
        self.asked = []

    def submit(self, job, points):
        self.asked.append([number for number, _ in points])
        future = Future()
        if 7 in self.asked[-1]:
            future.set_exception(WorkerDiedError("it was killed"))
        else:
            future.set_result([PointResult(number, "done", "completed", seconds=0.05) for number in self.asked[-1]])
        return future

    def close(self):
        pass


def test_a_point_that_kills_its_workers_fails_alone(tmp_path, monkeypatch):
    crew = Deadly()
    monkeypatch.setattr(campaign, "LocalWorkers", lambda count: crew)
    plan = Plan(
        vary={"rig.actuator.delay": {"low": 1e-3, "high": 8e-3, "count": 100}}, scores=("rms gap",), check=False
    )
    found = sweep(TEST, plan, tmp_path / "r.sqlite")
    assert found["point"].tolist() == list(range(1, 101))
    assert found["point"][found["status"] == "failed"].tolist() == [7]
    assert found["reason"][6] == "it was killed"
    assert max(map(len, crew.asked)) == 10, "half a second of work at 50 ms"


def test_another_plan_does_not_go_into_the_same_table(tmp_path):
    path = tmp_path / "r.sqlite"
    one, other = (Plan(vary={"virtual.mass": [mass]}, scores=("rms gap",), check=False) for mass in (2.0, 3.0))
    sweep(TEST, one, path, workers=1)
    with pytest.raises(StoreError, match="1 points of another plan"):
        sweep(TEST, other, path, workers=1)
    assert sweep(TEST, other, path, workers=1, overwrite=True)["virtual.mass"].tolist() == [3.0]


def test_workers_must_be_some_and_of_one_kind(tmp_path):
    for more in ({"workers": 0}, {"workers": 2, "scheduler": "tcp://127.0.0.1:1"}):
        with pytest.raises(CampaignError):
            sweep(TEST, PLAN, tmp_path / "r.sqlite", **more)
    assert not (tmp_path / "r.sqlite").exists()


# --- the command ------------------------------------------------------------------------------------------------------


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_the_command_writes_table_and_page_and_tells_the_best(tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text('scores = ["rms gap"]\ncheck = false\n[vary]\n"rig.actuator.delay" = ["7 ms", "9.4 ms", "3 s"]\n')
    answer = run("sweep", GALLERY / "forward_prediction.toml", plan, "--workers", 1)
    assert answer.exit_code == 1, "a point failed"
    assert "3 of 3 points: 2 completed, 1 failed." in answer.output
    assert "point 2: rms gap" in answer.output
    again = run("sweep", GALLERY / "forward_prediction.toml", plan, "--json")
    told = json.loads(again.output)
    assert (told["points"], told["done"], told["failed"]) == (3, 2, 1)
    assert told["best"][0]["values"] == {"rig.actuator.delay": 9.4e-3}
    assert (tmp_path / "plan.sqlite").is_file() and "<html" in (tmp_path / "plan.html").read_text()[:200]


def test_wrong_input_to_the_command_is_told_with_exit_code_two(tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "PATIENCE", 0.2)
    plan = tmp_path / "plan.toml"
    (tmp_path / "mine.html").write_text("not a campaign's")
    good = '[vary]\n"rig.actuator.delay" = ["7 ms"]\n'
    for text, more, words in (
        (good.replace("delay", "dely"), (), "did you mean 'rig.actuator.delay'"),
        (good.replace("7 ms", "-7 ms"), (), "must be at least 0 s"),
        (good, ("--scheduler", "tcp://127.0.0.1:1"), "no Dask scheduler responds at 'tcp://127.0.0.1:1' within 0.2 s"),
        (good, ("--scheduler", "nonsense"), "no Dask scheduler responds at 'nonsense'"),
        (good, ("--output", plan), "would be overwritten"),
        (good, ("--output", tmp_path / "mine.sqlite"), "exists and does not belong to this campaign"),
    ):
        plan.write_text(text)
        answer = run("sweep", GALLERY / "forward_prediction.toml", plan, *more)
        assert (answer.exit_code, words in answer.output) == (2, True), answer.output
        assert "Traceback" not in answer.output


@pytest.mark.parametrize("overwrite", [True, False])
def test_a_running_campaign_keeps_its_store_whatever_another_is_asked_for(tmp_path, overwrite):
    path, plan = tmp_path / "r.sqlite", PLAN.model_copy(update={"vary": {"rig.actuator.delay": [1e-3, 2e-3]}})
    refused = []

    def another(done, total):
        with pytest.raises(CampaignError, match="a running campaign writes to"):
            sweep(TEST, plan, path, workers=1, overwrite=overwrite)
        refused.append(done)

    found = sweep(TEST, plan, path, workers=1, on_progress=another)
    assert refused and len(found) == 2
    assert len(sweep(TEST, plan, path, workers=1, overwrite=overwrite)) == 2
