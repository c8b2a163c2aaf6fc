"""Running a campaign: the points that its store does not have yet, in batches, by its workers.

Only this process writes the store, and what is in it is whole: a campaign that was interrupted, at any time and by
anything, continues with the missing points.  A point that fails, or that kills its worker, is recorded as failed
with its reason.  A batch that a worker did not survive is done again point by point, so that the one at fault is found.
"""

from __future__ import annotations

import datetime
import fcntl
import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from ..definition.definition import Definition
from ..definition.load import to_toml
from ..records.whole_file import whole_file
from ..runs.rehearse import Progress, versions
from .evaluate import Job, Point, job_for
from .plan import Design, Plan, lay_out
from .scores import wanted
from .store import PointResult, Results, Store, load_results
from .workers import CampaignError, DaskWorkers, LocalWorkers, WorkerDiedError, Workers, default_workers

BATCH_TIME = 0.5
"""Seconds that a batch should take: long against handing it over, short against losing it."""
LARGEST_BATCH = 200
JOURNALS = ("-journal", "-wal", "-shm")
"""What SQLite may have left next to a store."""


def sweep(
    definition: Definition,
    plan: Plan,
    store: Path | str,
    *,
    design: Design | None = None,
    text: str | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    overwrite: bool = False,
    on_progress: Progress | None = None,
) -> Results:
    """Check, rehearse and score a definition at every point of a plan.

    Parameters
    ----------
    definition
        The test.
    plan
        What varies, and the scores.
    store
        SQLite file of the results. Points of this campaign that it already contains are not repeated; another campaign
        in it is an error unless ``overwrite``.
    design
        The points of the plan, if already computed.
    text
        The definition as its file has it, for the report.
    workers
        Number of processes; default: one per processor.
    scheduler
        Address of a Dask scheduler such as ``tcp://127.0.0.1:8786``, whose workers are used instead.
    overwrite
        Whether existing results are replaced.
    on_progress
        Callback with (points done, total).

    Returns
    -------
    Results
        One row per point; ``to_dataframe()`` for pandas.
    """
    design = lay_out(plan, definition) if design is None else design
    if scheduler is not None and workers is not None:
        raise CampaignError("both workers and a scheduler are given; a cluster has its own workers; omit one")
    if workers is not None and workers < 1:
        raise CampaignError(f"{workers} workers; at least 1 is needed")
    scores = wanted(plan, definition)
    job = job_for(definition, plan, design.places, scores, design.values)
    path = Path(store)
    facts = {
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "definition": to_toml(definition) if text is None else text,
        **versions(),
    }
    crew: Workers = LocalWorkers(workers or default_workers()) if scheduler is None else DaskWorkers(scheduler)
    with (
        closing(crew),  # one that cannot be reached has not cost the results that are there
        alone(path, overwrite),
        closing(Store(path, definition, plan, design, scores, facts)) as kept,
    ):
        _complete(kept, crew, job, design, on_progress)
    return load_results(path)


@contextmanager
def alone(path: Path, overwrite: bool) -> Iterator[None]:
    """While it lasts no other campaign writes to this store; with ``overwrite`` it is emptied, once it is ours."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError:  # the store reports what is wrong with it
        yield
        return
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CampaignError(
                f"a running campaign writes to '{path}'; wait for it or stop it, or choose another --output"
            ) from None
        except OSError:  # not known on a file system without locks
            pass
        if overwrite:
            os.ftruncate(fd, 0)
            for left in JOURNALS:
                path.with_name(path.name + left).unlink(missing_ok=True)
        yield
    finally:
        os.close(fd)


def _complete(store: Store, crew: Workers, job: Job, design: Design, on_progress: Progress | None) -> None:
    """Have the missing points done, and put them into the store as they come."""
    missing, total = store.missing(), len(design.values)
    done = total - len(missing)
    points = deque((number, tuple(map(float, design.values[number - 1]))) for number in missing)
    for results in _carry_out(crew, job, points):
        store.add(results, _keep_runs(store.path, results))
        done += len(results)
        if on_progress is not None:
            on_progress(done, total)


def _carry_out(crew: Workers, job: Job, points: deque[Point]) -> Iterator[list[PointResult]]:
    """Results as they come, in batches that take about ``BATCH_TIME``."""
    alone: deque[Point] = deque()  # of batches that were lost
    under_way: dict[Future[list[PointResult]], list[Point]] = {}
    pace = BATCH_TIME
    while points or alone or under_way:
        room = crew.room
        while (points or alone) and len(under_way) < room:
            size = min(int(BATCH_TIME / pace), LARGEST_BATCH, len(points) // room)  # at the end all have some
            batch = [alone.popleft()] if alone else [points.popleft() for _ in range(max(size, 1))]
            under_way[crew.submit(job, batch)] = batch
        for future in wait(under_way, return_when=FIRST_COMPLETED).done:
            batch = under_way.pop(future)
            try:
                results = future.result()
            except WorkerDiedError as error:
                if len(batch) > 1:
                    alone.extend(batch)
                    continue
                results = [PointResult(batch[0][0], "failed", reason=str(error))]
            pace = max(float(np.mean([result.seconds for result in results])), 1e-6)
            yield results


def _keep_runs(store: Path, results: list[PointResult]) -> dict[int, str]:
    """Write the run files of some points into a folder next to the store; return their names from there."""
    names = {}
    folder = store.with_suffix(".runs")
    for result in results:
        if result.run_file is not None:
            folder.mkdir(exist_ok=True)
            path = folder / f"{result.point:06d}.h5"
            with whole_file(path, overwrite=True) as temporary:  # of a row that was never inserted
                temporary.write_bytes(result.run_file)
            names[result.point] = f"{folder.name}/{path.name}"
    return names
