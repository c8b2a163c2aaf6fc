"""The rig's own record: what its actuator did, regardless of the controller's record.

It holds every row of the session, however long that is: while it lasts, a thread takes the rows from the ring into the
file, which is readable all the time.
"""

from __future__ import annotations

import datetime
import errno
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ..definition.definition import Definition
from ..definition.load import to_toml
from ..definition.user_code import files_run
from ..kernels.block import Channel
from ..kernels.control import ENDED, RECORDER_ERROR
from ..records import live_file, recorder, rescue
from ..runs.rehearse import host, versions
from ..runs.run import Outcome, Run, Signal
from .record import Record

LARGEST_PACKED = 4e8
"""Bytes of a record that is packed at its end; a larger one stays as it is, or the next session would have to wait."""


class RigRecord(Record):
    """The record of one session in a file, which takes the place of the last one's.

    The memory is taken here, and the file made by the thread: whoever arms the rig does not wait for a disk.
    """

    def __init__(
        self, definition: Definition, channels: Sequence[Channel], output: Path, rig: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(output, len(channels), definition.period)
        self._definition, self._channels, self._rig = definition, channels, rig or {}
        self._said: list[str] = []
        self._thread = threading.Thread(target=self._record, name="halfreal rig's record", daemon=True)

    def begin(self) -> None:
        self._thread.start()

    def _record(self) -> None:
        try:
            self.kept = live_file.create(self._header(), self.output, columns=self._columns(), overwrite=True)
        except OSError as error:
            self.words[RECORDER_ERROR] = error.errno or errno.EIO
            return
        recorder.record(self.kept, self.ring, lambda: False, self._said.append)

    def _columns(self) -> list[str]:
        return [channel.name for channel in self._channels]

    def _header(self) -> Run:
        definition = self._definition
        return Run(
            title=f"{definition.title} (the rig's own record)",
            kind="rig",
            definition=definition.model_dump(mode="json"),
            definition_text=to_toml(definition),
            step=definition.timing.step,
            time=np.zeros(0),
            signals={channel.name: Signal(channel.unit, np.zeros(0)) for channel in self._channels},
            events=(),
            outcome="failed",
            reason="",
            seed=definition.timing.seed,
            started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            interface=definition.interface,
            versions=versions(),
            code=files_run(definition),
            host=host(),
            rig=self._rig,
            about=definition.record.about(),
        )

    def finish(self, outcome: Outcome, reason: str) -> list[str]:
        """When the loop has ended: have the last rows in the file, and how it ended; return what there is to say."""
        self.words[ENDED] = 1
        self._thread.join()
        said = self._said
        if self.lost_rows:
            said.append(f"{self.lost_rows} rows of the session are missing from the record: {self._why()}")
        if self.words[RECORDER_ERROR] <= 0:  # else the file says so itself, and this process cannot open it again
            self.conclude(outcome=outcome, reason=reason)
            assert self.kept is not None
            if self.happened() or self.kept.by_descriptor.stat().st_size <= LARGEST_PACKED:
                run = self.load() or rescue.from_ring(
                    self._header(), self.ring, columns=self._columns(), every=1, watched=(), texts={}
                )
                said.append(self.pack(run))
        said.append(f"record: {self.output}")
        self.close()
        return [line for line in said if line]

    def _why(self) -> str:
        error = int(self.words[RECORDER_ERROR])
        return recorder.as_text(error) if error else "the disk was too slow"
