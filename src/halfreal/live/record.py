"""The record of a test: a ring of rows and the file they go to, and what becomes of both at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..kernels.control import RECORDER_ERROR, ROWS, ROWS_DROPPED, ROWS_READ
from ..records import live_file, rescue, run_file
from ..records.kept_file import BEYOND_REACH, CHANGED, HAPPENED, MOVED, UNREADABLE, KeptFile
from ..records.ring import Ring
from ..records.run_file import RunFileError
from ..runs.run import Run

RING_SECONDS = 6.0
"""Seconds that a recorder may be away before a row finds no room."""
LEAST_ROWS, MOST_ROWS = 65_536, 262_144
"""Of a ring; never small: a loop paced by a simulated rig in step is far faster than its step."""


class Record:
    """Ring and file of one test; ``columns`` are the channels in a row, without the time."""

    def __init__(self, output: Path, columns: int, step: float) -> None:
        self.output, self._name = output, output.name
        self._happened = 0
        self.kept: KeptFile | None = None
        self.ring = Ring.create(int(np.clip(RING_SECONDS / step, LEAST_ROWS, MOST_ROWS)), columns)

    @property
    def words(self) -> np.ndarray:
        return self.ring.words

    @property
    def waiting_rows(self) -> int:
        """Rows in the ring that are not yet in the file."""
        return int(self.words[ROWS] - self.words[ROWS_READ])

    @property
    def lost_rows(self) -> int:
        """Rows that are not in the file when its recorder has ended."""
        return self.waiting_rows + int(self.words[ROWS_DROPPED])

    def happened(self) -> int:
        """0, or what happened to the file (records/kept_file.py)."""
        assert self.kept is not None
        if self._happened == 0:
            self._happened = CHANGED if self.words[RECORDER_ERROR] == CHANGED else self.kept.lost()
        return self._happened

    def conclude(self, **known: Any) -> None:
        """Write into the file, in place, what is known of the end; arguments of ``live_file.finish``."""
        assert self.kept is not None
        if self.happened() in BEYOND_REACH:
            return
        try:
            if self.happened() == MOVED:  # wherever it is now, it says how it ended
                live_file.finish(self.kept.by_descriptor, **known)
            live_file.finish(self._named(), **known)
        except (OSError, RunFileError):  # the newest rows are still in the ring
            self._happened = UNREADABLE

    def _named(self) -> Path:
        """The file by its descriptor; one that has lost its name is copied to a free one, and that is the record."""
        assert self.kept is not None
        if self.happened() and self.kept.lost():
            lost = self.kept
            self.output = rescue.put_elsewhere(lost.path, lambda target: rescue.copy(lost, target))
            self.kept = KeptFile.open(self.output)
            lost.close()
        return self.kept.by_descriptor

    def load(self) -> Run | None:
        """The record, under its present name; None if the file cannot be read any more."""
        if self.happened() in BEYOND_REACH:
            return None
        try:
            run = run_file.load_run(self._named())
        except (OSError, RunFileError):
            self._happened = UNREADABLE
            return None
        if run.integrity is not None and run.integrity.left_out:  # another program has written to it
            self._happened = CHANGED
            return None
        return replace(run, integrity=None)

    def load_all(self, header: Run, layout: Mapping[str, Any]) -> Run:
        """The record with the rows that a recorder which failed has left in the ring.

        ``header`` and ``layout`` are those with which the file was made (``live_file.create``).
        """
        run = self.load()
        if run is None:
            return rescue.from_ring(header, self.ring, **layout)
        if self.waiting_rows == 0:
            return run
        rest = rescue.from_ring(replace(header, events=()), self.ring, int(self.words[ROWS_READ]), **layout)
        return rescue.with_rows_of(run, rest)

    def pack(self, run: Run) -> str:
        """Let a packed file with all of ``run`` take the place of the recorded one; return what there is to say.

        Only ours is replaced: a file that has taken its name is left alone, and the run saved under another.
        """
        assert self.kept is not None
        if self.words[RECORDER_ERROR] > 0 and self.happened() == 0 and self.waiting_rows:
            return self._save_rest(run)
        said, elsewhere = "", self.happened() in BEYOND_REACH
        if not elsewhere and self.words[RECORDER_ERROR] <= 0:  # else the disk has no room, and the record says so
            try:
                run_file.save(run, self.kept.path, overwrite=True, instead_of=self.kept.identity)
            except (OSError, MemoryError) as error:
                said = f"the record was not compressed ({error}); it is complete, but larger"
                elsewhere = self.kept.lost() != 0
        if elsewhere:
            self._happened = self._happened or self.kept.lost()
            self.output = rescue.put_elsewhere(self.kept.path, lambda target: run_file.save(run, target))
        if self._happened:
            said = f"'{self._name}' {HAPPENED[self._happened]}; the record is in '{self.output}'"
        return said

    def _save_rest(self, run: Run) -> str:
        """Of a disk that was full: save the run with the rows that found no room, where there is room."""
        assert self.kept is not None
        part, rows = self.kept.path, self.waiting_rows
        try:
            self.output = rescue.put_elsewhere(part, lambda target: run_file.save(run, target))
        except (OSError, MemoryError, RunFileError) as error:
            return f"the last {rows} rows of the record, up to the trip, are lost: {error}"
        return f"the last {rows} rows found no room in '{part}'; the complete record is in '{self.output}'"

    def close(self) -> None:
        if self.kept is not None:
            self.kept.close()
        self.ring.close()
