"""Appending to a run file so that it can be read, complete up to the last append, if the writer is killed.

HDF5's order for a writer next to readers (SWMR) keeps the structure sound at every moment, and so also when the writer
is killed: what is pointed to is written before what points to it.  After each append ``/live/written`` says how much of
the datasets counts.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from h5py import h5d, h5f, h5p, h5s

from . import live_checksums as checksums
from . import live_layout as layout
from . import superblock

_abandoned: list[LiveWriter] = []
"""Kept, so that their files are not closed when no one refers to them any more."""


class LiveWriter:
    """A file made by ``live_file.create``, open for appending; continues where an earlier writer ended."""

    def __init__(self, path: str | Path) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        layout.lock(self._fd)  # a second recorder at the same file is refused here
        superblock.release(self._fd)
        self._file = h5py.File(h5f.open(os.fsencode(path), h5f.ACC_RDWR | h5f.ACC_SWMR_WRITE, fapl=_access()))
        self.header: dict[str, Any] = json.loads(self._file["live/header"].asstr()[()])
        self._written_at = self._file["live/written"].id.get_offset()
        self._ending_at = self._file["ending"].id.get_offset()
        written = self._file["live/written"][()]
        self.ring_rows, self.rows, self.events = (int(count) for count in written[:3])
        self._columns = [dataset.id for dataset in self._file["channels"].values()] + [self._file["time"].id]
        self._events = self._file["live/events"].id
        self._checksums, self._entries, self._checksum = None, 0, b""
        if checksums.NAME in self._file:  # not in a file of an earlier version
            self._checksums = self._file[checksums.NAME].id
            known = self._file[checksums.NAME][()]
            self._entries = checksums.last_of(known, self.rows, self.events)
            if self._entries == 0:
                raise OSError(errno.EIO, f"{self.rows} rows and {self.events} events have no checksum in the file")
            self._checksum = checksums.digest_of(known[self._entries - 1])
            self._checksums.set_extent((self._entries, checksums.WIDTH))
        for column in self._columns:  # cut off what a killed writer had begun
            column.set_extent((self.rows,))
        self._events.set_extent((self.events, 3))
        self._file.flush()
        self._commit()
        self.last_time = float(self._file["time"][self.rows - 1]) if self.rows else None
        self.watched = self._last_watched()

    def _last_watched(self) -> np.ndarray:
        values = np.zeros(len(self.header["watched"]))
        for _, which, value in self._file["live/events"][()]:
            values[int(which)] = value
        return values

    def append(self, ring_rows: int, time: np.ndarray, columns: list[np.ndarray], events: np.ndarray) -> None:
        """Add values of the channels, in their order, at some times; after this ``ring_rows`` rows are dealt with."""
        rows, count = self.rows + time.size, self.events + len(events)
        if time.size:
            memory, place = h5s.create_simple((time.size,)), h5s.create_simple((rows,), (h5s.UNLIMITED,))
            place.select_hyperslab((self.rows,), (time.size,))
            for dataset, values in zip(self._columns, (*columns, time), strict=True):
                _append(dataset, (rows,), memory, place, values)
            self.last_time = float(time[-1])
        if len(events):
            memory, place = h5s.create_simple(events.shape), h5s.create_simple((count, 3), (h5s.UNLIMITED, 3))
            place.select_hyperslab((self.events, 0), events.shape)
            _append(self._events, (count, 3), memory, place, events)
        if time.size or len(events):
            self._add_checksum(rows, count, time, columns, events)
            self._file.flush()
        self.ring_rows, self.rows, self.events = ring_rows, rows, count
        self._commit()

    def _add_checksum(
        self, rows: int, count: int, time: np.ndarray, columns: list[np.ndarray], events: np.ndarray
    ) -> None:
        if self._checksums is None:
            return
        self._checksum = checksums.following(self._checksum, time, columns, events)
        shape, unlimited = (self._entries + 1, checksums.WIDTH), (h5s.UNLIMITED, checksums.WIDTH)
        place = h5s.create_simple(shape, unlimited)
        place.select_hyperslab((self._entries, 0), (1, checksums.WIDTH))
        new = checksums.entry(rows, count, self._checksum)[np.newaxis]
        _append(self._checksums, shape, h5s.create_simple(new.shape), place, new)
        self._entries += 1

    def _commit(self) -> None:
        size = os.fstat(self._fd).st_size
        written = np.array([self.ring_rows, self.rows, self.events, size], dtype=np.int64)
        os.pwrite(self._fd, written.tobytes(), self._written_at)
        self._committed = written

    def intact(self) -> bool:
        """Whether the file is still as this writer left it, and not truncated or overwritten by another program."""
        found = os.pread(self._fd, self._committed.nbytes, self._written_at)
        return found == self._committed.tobytes() and os.fstat(self._fd).st_size >= self._committed[-1]

    def drop(self) -> None:
        """Never touch the file again; the process may continue, and HDF5 is not given the chance to close it."""
        _abandoned.append(self)

    def put_ending(self, ending: Mapping[str, Any]) -> None:
        layout.write_ending(self._fd, self._ending_at, {**ending, "time": self.last_time})

    def close(self, ending: Mapping[str, Any] | None = None) -> None:
        """Close the file, store at once how the test ended (or keep what is stored), and flush it to disk."""
        self._file.close()  # the lock goes with it: a reader who comes now would take the recorder for dead
        if ending is not None:
            self.put_ending(ending)
        os.fsync(self._fd)
        os.close(self._fd)

    def abandon(self, ending: Mapping[str, Any]) -> None:
        """Say how it ended when the file cannot be written to any more; the process is to end by ``os._exit``.

        HDF5 must not be given the chance to close the file, which would write to it.
        """
        self.drop()
        self.put_ending(ending)
        with contextlib.suppress(OSError):  # else it opens for reading next to a writer, as if that had been killed
            superblock.release(self._fd)


def _access() -> h5p.PropFAID:
    access = h5p.create(h5p.FILE_ACCESS)
    access.set_libver_bounds(h5f.LIBVER_V110, h5f.LIBVER_V110)
    # No chunk cache: rows go straight to their place in the file, and a chunk is not written again for each.
    access.set_cache(0, 0, 0, 0.75)
    # A reader's lock must never stop a recording.
    access.set_file_locking(False, True)
    return access


def _append(dataset: h5d.DatasetID, shape: tuple[int, ...], memory: Any, place: Any, values: np.ndarray) -> None:
    dataset.set_extent(shape)
    dataset.write(memory, place, np.ascontiguousarray(values))
