"""The record of a test that runs: the ring, the file, and the recorder between them, which is looked after.

A recorder that dies, or gives no sign of life, is started again on the same ring and file; rows stay in the ring until
they are in the file.  One that cannot be replaced is reported to the loop, which trips.
"""

from __future__ import annotations

import contextlib
import math
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ..kernels.control import ENDED, NONE, RECORD_FAILS, RECORDER_BEAT, RECORDER_ERROR, REQUEST, ROWS, ROWS_READ, STOP
from ..records import recorder
from ..records.kept_file import KeptFile
from .record import Record

DISK_EVERY = 1.0
"""Seconds between two looks at the room on the disk."""
LAST_ROWS = 10.0
"""Seconds without a further row in the file, after a test, after which no more are waited for."""


class Recording(Record):
    """The record of one test with a recorder process.

    Parameters
    ----------
    restarts
        So often a recorder that died is started again.
    silence
        Seconds without a sign of life after which a recorder counts as dead.
    on_message
        Called with a line for people when a recorder has been replaced.
    """

    def __init__(
        self,
        output: Path,
        columns: int,
        step: float,
        *,
        restarts: int,
        silence: float,
        on_message: Callable[[str], None],
    ) -> None:
        super().__init__(output, columns, step)
        self._most, self._silence, self._on_message = restarts, silence, on_message
        self._process: subprocess.Popen[bytes] | None = None
        self._restarts = 0
        self._beat = (-1, 0.0)
        self._look_at_disk = 0.0

    def start(self, kept: KeptFile) -> None:
        """Start the recorder of a file that has been made; return once it is at work."""
        self.kept = kept
        self._process = recorder.start(self.ring, kept)
        recorder.wait_until_ready(self._process, self.ring)

    def put(self, rows: np.ndarray, every: float = 0.01) -> None:
        """Put rows of an earlier record into the ring, before the loop begins."""
        capacity = self.ring.capacity
        for first in range(0, len(rows), capacity):
            part = rows[first : first + capacity]
            while self._at_work() and self.words[ROWS_READ] < first:
                time.sleep(every)
                self.tend()
            self.ring.rows[: len(part)] = part
            self.words[ROWS] = first + len(part)

    def tend(self) -> None:
        """Look after the recorder; to be called some ten times a second."""
        if self._process is None:
            return
        assert self.kept is not None
        words, now = self.words, time.monotonic()
        if words[RECORDER_ERROR]:
            self._fail()
        self._watch_disk(now)
        beat = int(words[RECORDER_BEAT])
        if beat != self._beat[0]:
            self._beat = (beat, now)
        code = self._process.poll()
        if code is None and beat > 0 and self.waiting_rows > 0 and now - self._beat[1] > self._silence:
            self._process.kill()
            code = self._process.wait()
        if code is None or (code == 0 and words[ENDED]):
            return
        if words[RECORDER_ERROR] == 0 and self._restarts < self._most:
            self._restarts += 1
            self._on_message(f"the recorder process died (exit code {code}) and was restarted; no data was lost")
            self._beat = (-1, now)
            self._process = recorder.start(self.ring, self.kept)
        else:
            self._fail()

    def _watch_disk(self, now: float) -> None:
        """Report once when a disk that had room for the record at the start is about to have none."""
        if now < self._look_at_disk:
            return
        self._look_at_disk = now + DISK_EVERY
        free = shutil.disk_usage(self.output.absolute().parent).free
        if free < recorder.SPARE:
            self._look_at_disk = math.inf
            self._on_message(
                f"the disk of '{self.output.name}' has {free / 1e6:.0f} MB left; the record keeps "
                f"{recorder.SPARE / 1e6:.0f} MB free; another program fills the disk, and the test "
                "trips when it is full"
            )

    def _fail(self) -> None:
        """Have the loop trip; an emergency stop stays one."""
        if self.words[REQUEST] in (NONE, STOP):
            self.words[REQUEST] = RECORD_FAILS

    def empty(self, every: float) -> None:
        """After the loop's end: wait until its last rows are in the file."""
        self._restarts = min(self._restarts, self._most - 1)  # once more, for what the ring still holds
        written, deadline = -1, 0.0
        while self._at_work():
            assert self._process is not None
            if (rows := int(self.words[ROWS_READ])) != written:  # a slow disk is waited for as long as it continues
                written, deadline = rows, time.monotonic() + LAST_ROWS
            if time.monotonic() > deadline:
                self._process.kill()  # what it has not written by now it does not write after the end either
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(every)
            if time.monotonic() > deadline:
                break
            self.tend()

    def _at_work(self) -> bool:
        """Whether a recorder is at work, or has died and is to be started again."""
        if self._process is None:
            return False
        code = self._process.poll()
        return code is None or (code != 0 and self.words[RECORDER_ERROR] == 0 and self._restarts < self._most)
