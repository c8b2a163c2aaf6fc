"""Who does the work: processes on this machine, or a Dask cluster by the address of its scheduler.

Both take a job and some points and give a future of their results.  A worker that is lost takes nothing with it but
the time it spent: its points are done again, by another.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

from .. import __version__
from ..errors import HalfrealError
from .evaluate import Job, Point, evaluate
from .store import PointResult

PATIENCE = 5.0
"""Seconds in which a scheduler must answer, and then have a worker."""
TRIES = 3
"""Workers that points may cost before they are held to be the reason."""


class CampaignError(HalfrealError):
    """A campaign that cannot begin, or cannot continue."""


class WorkerDiedError(HalfrealError):
    """A worker that ended without an answer."""


class Workers(Protocol):
    """What a campaign needs of its workers."""

    @property
    def room(self) -> int:
        """Tasks to have under way at a time, so that no one waits."""

    def submit(self, job: Job, points: Sequence[Point]) -> Future[list[PointResult]]:
        """Have points evaluated; ``WorkerDiedError`` if they cost a worker its life."""

    def close(self) -> None:
        """Stop at once."""


def default_workers() -> int:
    return len(os.sched_getaffinity(0))


# --- processes on this machine ----------------------------------------------------------------------------------------


class LocalWorkers:
    """Processes of ``halfreal.campaigns.worker``, each in the care of a thread that starts it again when it dies."""

    def __init__(self, count: int) -> None:
        if count < 1:
            raise CampaignError(f"{count} workers; at least 1 is needed")
        self._count = count
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="campaign")
        self._own = threading.local()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._closed = False
        self._lock = threading.Lock()

    @property
    def room(self) -> int:
        return 2 * self._count

    def submit(self, job: Job, points: Sequence[Point]) -> Future[list[PointResult]]:
        return self._threads.submit(self._ask, job, tuple(points))

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for process in self._processes:
                process.kill()
        self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            _reap(process)

    def _ask(self, job: Job, points: tuple[Point, ...]) -> list[PointResult]:
        for left in reversed(range(TRIES)):
            process = self._process()
            try:
                assert process.stdin is not None and process.stdout is not None
                pickle.dump((job, points), process.stdin)
                process.stdin.flush()
                answer: list[PointResult] = pickle.load(process.stdout)
                return answer
            except (EOFError, OSError, pickle.UnpicklingError) as error:
                process.kill()
                how = _how_it_ended(process.wait())  # before the next try, which asks whether it lives
                if not left or self._closed:
                    raise WorkerDiedError(f"the process that rehearsed it {how}, {TRIES} times") from error
        raise AssertionError("the last try returns or raises")

    def _process(self) -> subprocess.Popen[bytes]:
        """This thread's process, started if there is none that lives."""
        process: subprocess.Popen[bytes] | None = getattr(self._own, "process", None)
        if process is None or process.poll() is not None:
            with self._lock:
                if process is not None:
                    self._processes.discard(process)
                    _reap(process)
                if self._closed:
                    raise WorkerDiedError("the campaign was stopped")
                process = self._own.process = _start()
                self._processes.add(process)
        return process


def _start() -> subprocess.Popen[bytes]:
    # Small matrices are fastest with one thread, above all side by side; what this process can import, that one can.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [sys.executable, "-m", "halfreal.campaigns.worker", str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        start_new_session=True,  # Ctrl-C is for the campaign, which then ends its workers
    )


def _reap(process: subprocess.Popen[bytes]) -> None:
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):  # what was still to be sent to a process that has exited
                stream.close()


def _how_it_ended(code: int) -> str:
    return f"was killed ({signal.Signals(-code).name})" if code < 0 else f"ended with exit code {code}"


# --- a Dask cluster ---------------------------------------------------------------------------------------------------


class DaskWorkers:
    """The workers of a Dask scheduler, on any machines."""

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise CampaignError("a scheduler needs Dask; install it with: pip install 'halfreal[dask]'") from error

        class ClosingClient(Client):
            def __init__(self, *args: Any, **options: Any) -> None:
                try:
                    super().__init__(*args, **options)
                except BaseException:  # or it would wait for its scheduler once more when this process ends
                    with contextlib.suppress(Exception):
                        self.close(timeout=PATIENCE)
                    raise

        try:
            self._client: Any = ClosingClient(address, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError, TypeError, ImportError) as error:
            raise CampaignError(
                f"no Dask scheduler responds at '{address}' within {PATIENCE:g} s; start one with "
                "'dask scheduler', and "
                f"give its address, such as tcp://127.0.0.1:8786 ({type(error).__name__})"
            ) from error
        self._address = address
        self._under_way: set[Any] = set()  # what no one refers to, Dask gives up
        try:
            self._meet()
        except BaseException:
            self._client.close()
            raise

    @property
    def room(self) -> int:
        try:
            return 4 + 2 * int(sum(self._client.nthreads().values()))
        except Exception as error:
            raise self._gone(error) from error

    def _meet(self) -> None:
        """See that there are workers, and that they have the halfreal that this process has."""
        try:
            self._client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError as error:
            raise CampaignError(
                f"the Dask scheduler at '{self._address}' has no workers; start some with 'dask worker {self._address}'"
            ) from error
        try:
            theirs = set(self._client.run(_version).values())
        except Exception as error:
            raise CampaignError(
                f"the workers of '{self._address}' cannot import halfreal ({error}); install it there, {__version__}"
            ) from error
        if theirs != {__version__}:
            there = ", ".join(sorted(theirs))
            raise CampaignError(f"the workers have halfreal {there} and this is {__version__}; install the same there")

    def submit(self, job: Job, points: Sequence[Point]) -> Future[list[PointResult]]:
        answer: Future[list[PointResult]] = Future()
        asked = self._client.submit(evaluate, job, tuple(points), pure=False)
        self._under_way.add(asked)
        asked.add_done_callback(lambda done: self._pass_on(done, answer))
        return answer

    def _pass_on(self, done: Any, answer: Future[list[PointResult]]) -> None:
        from distributed import KilledWorker

        self._under_way.discard(done)
        try:
            answer.set_result(done.result())
        except KilledWorker:
            answer.set_exception(WorkerDiedError("it crashed several Dask workers in a row"))
        except BaseException as error:
            answer.set_exception(self._gone(error))

    def _gone(self, error: BaseException) -> CampaignError:
        return CampaignError(
            f"the Dask scheduler at '{self._address}' is no longer available "
            f"({type(error).__name__}); finished points are kept; "
            "rerun the command to resume"
        )

    def close(self) -> None:
        self._client.close()


def _version() -> str:
    return __version__
