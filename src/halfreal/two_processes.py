"""Work shared with a forked process: figures of a report, variants of a test."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
MOST_JOBS = 256


def results(jobs: Sequence[Callable[[], T]]) -> list[T]:
    """What the jobs return, in their order; another process takes part where that is safe and pays."""
    return shared(jobs) if 2 <= len(jobs) <= MOST_JOBS and can_fork() else [job() for job in jobs]


def can_fork() -> bool:
    """Whether there is another processor, and no thread whose locks a fork would copy without the thread itself."""
    return len(os.sched_getaffinity(0)) > 1 and sum(1 for _ in Path("/proc/self/task").iterdir()) == 1


def shared(jobs: Sequence[Callable[[], T]]) -> list[T]:
    """The same with a forked process in any case; jobs that it has not done are done here, and raise their errors."""
    queue, filling = os.pipe()
    os.write(filling, bytes(range(len(jobs))))  # a byte is taken by one process only
    os.close(filling)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            done = _take(queue, jobs)
            with os.fdopen(writing, "wb") as there:
                pickle.dump(done, there)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    try:
        found = _take(queue, jobs)
    finally:
        os.close(queue)
        with os.fdopen(reading, "rb") as here:
            written = here.read()
        _, status = os.waitpid(child, 0)
    if status == 0:
        found |= pickle.loads(written)
    return [found[number] if number in found else job() for number, job in enumerate(jobs)]


def _take(queue: int, jobs: Sequence[Callable[[], T]]) -> dict[int, Any]:
    """Do one job after another, until none is left."""
    found = {}
    while taken := os.read(queue, 1):
        found[taken[0]] = jobs[taken[0]]()
    return found
