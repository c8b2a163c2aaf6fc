"""The record of a test: a ring of rows and the file they go to, and what becomes of both at the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..kernels.control import RECORDER_ERROR, ROWS, ROWS_DROPPED, ROWS_READ
from ..records import live_file, rescue, run_file
from ..records.kept_file import CHANGED, HAPPENED, KeptFile
from ..records.ring import Ring
from ..runs.run import Run

RING_SECONDS = 6.0
"""A recorder may be away for so long before a row finds no room."""
LEAST_ROWS, MOST_ROWS = 65_536, 262_144
"""Of a ring; never small: a loop paced by a simulated rig in step is far faster than its step."""


class Record:
    """Ring and file of one test; ``columns`` are the channels in a row, without the time."""

    def __init__(self, output: Path, columns: int, step: float) -> None:
        self.output = output
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
        return CHANGED if self.words[RECORDER_ERROR] == CHANGED else self.kept.lost()

    def conclude(self, **known: Any) -> None:
        """Write into the file, in place, what is known of the end; arguments of ``live_file.finish``."""
        assert self.kept is not None
        if self.happened() != CHANGED:
            live_file.finish(self.kept.by_descriptor, **known)

    def load(self) -> Run | None:
        """The recorded run, under whatever name it is; None if the file was overwritten."""
        assert self.kept is not None
        return None if self.happened() == CHANGED else run_file.load(self.kept.by_descriptor)

    def pack(self, run: Run) -> str:
        """Let a packed file with all of ``run`` take the place of the recorded one, or say why it cannot.

        Only ours is replaced: a file that has taken its name is left alone, and the run saved under another.
        """
        assert self.kept is not None
        if self.words[RECORDER_ERROR] > 0:
            return ""  # the disk has no room for more, and the record says so itself
        if self.happened() == 0:
            try:
                run_file.save(run, self.kept.path, overwrite=True, instead_of=self.kept.identity)
                return ""
            except (OSError, MemoryError) as error:
                if self.happened() == 0:
                    return f"the record was not packed ({error}); it is whole, and larger than it would be"
        what = HAPPENED[self.happened()]
        self.output = rescue.save_elsewhere(run, self.kept.path)
        return f"'{self.kept.path.name}' {what}; the record is in '{self.output}'"

    def close(self) -> None:
        if self.kept is not None:
            self.kept.close()
        self.ring.close()
