"""The rig's own record: what its actuator did, whatever the controller says.

It holds every row of the session, however long that is: while it lasts, a thread takes the rows from the ring into the
file, which is readable all the time.
"""

from __future__ import annotations

import datetime
import threading
from pathlib import Path

import numpy as np

from ..definition.definition import Definition
from ..definition.load import to_toml
from ..kernels.control import ENDED, RECORDER_ERROR
from ..kernels.loop import Loop
from ..records import live_file, recorder, rescue
from ..records.kept_file import KeptFile
from ..runs.rehearse import host, versions
from ..runs.run import Outcome, Run, Signal
from .record import Record

LARGEST_PACKED = 4e8
"""Bytes of a record that is packed at its end; a larger one stays as it is, or the next session would have to wait."""


class RigRecord(Record):
    """The record of one session in a file, which takes the place of the last one's."""

    def __init__(self, definition: Definition, loop: Loop, output: Path) -> None:
        super().__init__(output, len(loop.channels), loop.dt)
        self._header = Run(
            title=f"{definition.title} (the rig's own record)",
            kind="rig",
            definition=definition.model_dump(mode="json"),
            definition_text=to_toml(definition),
            step=definition.timing.step,
            time=np.zeros(0),
            signals={channel.name: Signal(channel.unit, np.zeros(0)) for channel in loop.channels},
            events=(),
            outcome="failed",
            reason="",
            seed=definition.timing.seed,
            started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            interface=definition.interface,
            versions=versions(),
            host=host(),
        )
        self._columns = [channel.name for channel in loop.channels]
        self.kept = live_file.create(self._header, output, columns=self._columns, overwrite=True)
        self._said: list[str] = []
        self._thread = threading.Thread(
            target=self._record, args=(self.kept,), name="halfreal rig's record", daemon=True
        )
        self._thread.start()

    def _record(self, kept: KeptFile) -> None:
        recorder.record(kept, self.ring, lambda: False, self._said.append)

    def finish(self, outcome: Outcome, reason: str) -> list[str]:
        """When the loop has ended: have the last rows in the file, and how it ended; return what there is to say."""
        assert self.kept is not None
        self.words[ENDED] = 1
        self._thread.join()
        said = self._said
        if self.lost_rows:
            said.append(f"{self.lost_rows} rows of the session are not in the record: {self._why()}")
        if self.words[RECORDER_ERROR] <= 0:  # else the file says so itself, and this process cannot open it again
            self.conclude(outcome=outcome, reason=reason)
            if self.happened() or self.kept.by_descriptor.stat().st_size <= LARGEST_PACKED:
                run = self.load() or rescue.from_ring(
                    self._header, self.ring, columns=self._columns, every=1, watched=(), texts={}
                )
                said.append(self.pack(run))
        said.append(f"record: {self.output}")
        self.close()
        return [line for line in said if line]

    def _why(self) -> str:
        error = int(self.words[RECORDER_ERROR])
        return recorder.in_words(error) if error else "the disk was too slow for them"
