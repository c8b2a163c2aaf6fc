"""A run file from before its first row to after its last: made before the test, filled by the recorder, then packed.

    kept = create(run, "test.h5", columns=…, …)      everything but the rows
    recorder.start(ring, kept)                       the rows, from another process
    finish("test.h5", outcome="completed")           how the test ended, as the controller knows it
    pack("test.h5")                                  the same run as an ordinary, compressed file

At every moment in between ``run_file.load_run`` reads what is there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..runs.run import Outcome, Run
from . import live_checksums as checksums
from . import live_layout as layout
from . import superblock
from .kept_file import KeptFile
from .new_file import new_hdf5_file
from .recorder import room_for
from .run_file import RunFileError, escaped, load_run, name_channel, name_time, save, write_header
from .whole_file import whole_file

LARGEST = 4e9
"""Bytes of values that are read into memory to be packed; a longer recording stays as it is."""
CHUNK_TIME = 0.4
"""Time [s] that one chunk of a channel covers, within the bounds below."""
SMALLEST_CHUNK, LARGEST_CHUNK = 256, 16384


def create(
    run: Run,
    path: str | Path,
    *,
    columns: Sequence[str],
    every: int = 1,
    watched: Sequence[str] = (),
    texts: Mapping[str, Mapping[float, str]] | None = None,
    overwrite: bool = False,
) -> KeptFile:
    """Make the file of a run that is about to start, and hold it.

    Parameters
    ----------
    run
        All that is known before the test.  Its signals are the channels to keep, with their units; their values, the
        times and the outcome are not used.
    columns
        Every channel in a row of the ring, in order (the time, which comes first, is not one of them).
    every
        Keep the ticks whose number is a multiple of it.
    watched
        Channels each change of which, in any tick, is an event; they start from 0.
    texts
        What such an event says: ``{channel: {value: text}}``, and "<channel> is now <value>" for any other value.  An
        empty text is no event.
    """

    unknown = [name for name in (*run.signals, *watched) if name not in columns]
    if unknown:
        known = ", ".join(columns)
        raise RunFileError(
            f"'{unknown[0]}' is to be recorded or watched but is not a column of the ring; columns: {known}"
        )
    if every < 1:
        raise RunFileError(f"record.every = {every} is not possible; the smallest value is 1, every tick")
    names = list(columns)
    header = {
        "columns": [1 + names.index(name) for name in run.signals],
        "every": int(every),
        "step": float(run.step),
        "watched": list(watched),
        "watched_columns": [1 + names.index(name) for name in watched],
        "texts": {
            name: {str(float(value)): text for value, text in table.items()} for name, table in (texts or {}).items()
        },
    }
    rows = 2 ** round(np.log2(CHUNK_TIME / (run.step * every)))
    chunk = int(np.clip(rows, SMALLEST_CHUNK, LARGEST_CHUNK))
    # Version 1.10 is the first in which a file can be read next to its writer, and all later ones read it.
    with whole_file(path, overwrite) as temporary:
        with new_hdf5_file(temporary, libver=("v110", "v110")) as file:
            write_header(replace(run, outcome="failed", reason="see /ending"), file)
            name_time(_growing(file, "time", (), chunk))
            group = file.create_group("channels", track_order=True)
            for name, signal in run.signals.items():
                name_channel(_growing(group, escaped(name), (), chunk), name, signal.unit)
            ending = layout.encoded({"ended": layout.RECORDING})
            file.create_dataset("ending", data=np.frombuffer(ending, dtype=np.uint8))
            live = file.create_group("live")
            live["header"] = json.dumps(header)
            live.create_dataset("written", data=np.zeros(4, dtype=np.int64))
            _growing(live, "events", (3,), SMALLEST_CHUNK)
            first = checksums.entry(0, 0, checksums.of_header(file))[np.newaxis]
            room = {"maxshape": (None, checksums.WIDTH), "chunks": (SMALLEST_CHUNK, checksums.WIDTH)}
            file.create_dataset(checksums.NAME, data=first, dtype="<i8", **room)
        kept = KeptFile.open(temporary)  # before it has its name, under which another file might be by then
    kept.path = Path(path).absolute()
    return kept


def _growing(group: Any, name: str, shape: tuple[int, ...], chunk: int) -> Any:
    # Never filled: only what /live/written counts is read, and that has been written.
    return group.create_dataset(
        name, (0, *shape), maxshape=(None, *shape), chunks=(chunk, *shape), dtype="<f8", fill_time="never"
    )


def finish(
    path: str | Path,
    *,
    outcome: Outcome,
    reason: str = "",
    verdict: Literal["GO", "MARGINAL", "NO-GO", ""] | None = None,
    reasons: Sequence[str] | None = None,
    remedies: Sequence[str] | None = None,
    limits_used: Mapping[str, float] | None = None,
) -> None:
    """Add to the ending what the controller knows of it, in place; call it after the recorder has ended.

    How the recording itself ended stays in the file, and ``load`` adds it to the reason unless it was in order.
    """
    import h5py

    said: dict[str, Any] = {
        "outcome": outcome,
        "reason": reason,
        "verdict": verdict,
        "reasons": None if reasons is None else list(reasons),
        "remedies": None if remedies is None else list(remedies),
        "limits_used": None if limits_used is None else {name: float(share) for name, share in limits_used.items()},
    }
    fd = os.open(path, os.O_RDWR)
    try:
        if layout.is_locked(fd):
            raise RunFileError(f"'{path}' is still being recorded; wait for the recorder to end")
        superblock.release(fd)
        with h5py.File(path, "r") as file:
            if "live" not in file:
                raise RunFileError(f"'{path}' is not a recording; only recordings can be finalised")
            dataset = file["ending"]
            offset, ending = dataset.id.get_offset(), layout.decoded(dataset[()])
        layout.write_ending(fd, offset, ending | {key: value for key, value in said.items() if value is not None})
        os.fsync(fd)
    finally:
        os.close(fd)


def pack(path: str | Path) -> bool:
    """Replace the file of a recording that has ended by the same run as an ordinary, compressed file, or leave it.

    False: it is too large for the memory, the disk has no room for both, or not all of it matches its checksums; it
    stays as it is, and can be read.
    """
    fd = os.open(path, os.O_RDONLY)
    try:
        if layout.is_locked(fd):
            raise RunFileError(f"'{path}' is still being recorded; wait for the recorder to end")
        size = os.fstat(fd).st_size
    finally:
        os.close(fd)
    if size > LARGEST or room_for(path, size) is not None:
        return False
    run = load_run(path)
    if run.integrity is not None and run.integrity.left_out:
        return False
    save(run, path, overwrite=True)
    return True
