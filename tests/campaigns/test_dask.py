"""Campaigns on a Dask cluster: a real scheduler with three workers, of which one is killed."""

import re
import subprocess
import sys
from contextlib import ExitStack

import pytest

from campaigns.test_sweep import PLAN, TEST, assert_whole
from halfreal.campaigns import workers
from halfreal.campaigns.plan import Plan
from halfreal.campaigns.store import load_results
from halfreal.campaigns.sweep import sweep
from halfreal.campaigns.workers import CampaignError


class Cluster:
    """A scheduler and its workers, each a process."""

    def __init__(self, processes: ExitStack) -> None:
        self._processes = processes
        self.scheduler = self._start("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        self.address = self._read(self.scheduler, r"Scheduler at:\s+(tcp://\S+)")

    def add_worker(self) -> subprocess.Popen[str]:
        worker = self._start("dask_worker", self.address, "--no-nanny", "--nthreads", "1", "--no-dashboard")
        self._read(worker, r"Registered to:\s+(\S+)")
        return worker

    def _start(self, program: str, *words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-W", "ignore", "-m", f"distributed.cli.{program}", *words]
        process = self._processes.enter_context(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
        self._processes.callback(process.kill)
        return process

    def _read(self, process: subprocess.Popen[str], pattern: str) -> str:
        assert process.stderr is not None
        for line in process.stderr:
            if found := re.search(pattern, line):
                return found[1]
        raise AssertionError(f"{process.args} ended with {process.wait()}")


@pytest.fixture(scope="module")
def cluster():
    with ExitStack() as processes:
        yield Cluster(processes)


def test_a_scheduler_without_workers_is_told(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "PATIENCE", 0.5)
    with pytest.raises(CampaignError, match="has no workers; start some with 'dask worker tcp://"):
        sweep(TEST, PLAN, tmp_path / "r.sqlite", scheduler=cluster.address)


def test_a_worker_killed_in_a_campaign_loses_no_point_and_doubles_none(cluster, tmp_path):
    crew = [cluster.add_worker() for _ in range(3)]
    many = {"low": 1e-3, "high": 8e-3, "count": 150}
    plan = Plan(vary={**PLAN.vary, "rig.actuator.delay": many}, scores=PLAN.scores, check=False)
    seen = []

    def kill(done, total):
        seen.append(done)
        if len(seen) == 3:
            crew[0].kill()

    found = sweep(TEST, plan, tmp_path / "r.sqlite", scheduler=cluster.address, on_progress=kill)
    assert seen[2] < seen[-1] == 300, "killed under way"
    assert crew[0].wait() < 0
    assert found.failed == 0
    assert_whole(found, TEST, plan)


def test_a_campaign_whose_scheduler_is_lost_goes_on_without_it(cluster, tmp_path):
    cluster.add_worker()
    with pytest.raises(CampaignError, match=r"is no longer available .*; finished points are kept"):
        sweep(
            TEST,
            PLAN,
            tmp_path / "r.sqlite",
            scheduler=cluster.address,
            on_progress=lambda done, total: cluster.scheduler.kill(),
        )
    assert 0 < len(load_results(tmp_path / "r.sqlite")) < 60
    assert_whole(sweep(TEST, PLAN, tmp_path / "r.sqlite", workers=1), TEST, PLAN)
