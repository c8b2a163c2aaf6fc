"""Work shared with a forked process: matplotlib takes a tenth of a second for a figure, and a report has a dozen."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


def results(jobs: Sequence[Callable[[], T]]) -> list[T]:
    """What the jobs return, in their order; every second one is done by another process where that is safe and pays."""
    if len(jobs) < 2 or len(os.sched_getaffinity(0)) < 2 or threading.active_count() > 1:
        return [
            job() for job in jobs
        ]  # a fork would copy locks of other threads, without the threads that release them
    return shared(jobs)


def shared(jobs: Sequence[Callable[[], T]]) -> list[T]:
    """The same with a forked process in any case; jobs that fail in it are repeated here, to raise their error."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            with os.fdopen(writing, "wb") as there:
                pickle.dump([job() for job in jobs[1::2]], there)
            os._exit(0)
        except BaseException:
            os._exit(1)
    os.close(writing)
    try:
        ours = [job() for job in jobs[::2]]
    finally:
        with os.fdopen(reading, "rb") as here:
            written = here.read()
        _, status = os.waitpid(child, 0)
    theirs = pickle.loads(written) if status == 0 else [job() for job in jobs[1::2]]
    found: list[Any] = [None] * len(jobs)
    found[::2], found[1::2] = ours, theirs
    return found
