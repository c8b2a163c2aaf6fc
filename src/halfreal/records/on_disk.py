"""Long records that stay on disk: a report reads pieces of their columns when it needs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np

from ..runs.columns import PIECE, Column, RowNumbers, computed, pieces
from ..runs.run import Run, Signal
from . import seal
from .apart import load_apart
from .run_file import check_format, read_run

LARGE = 4_000_000
"""Values of a record from which on it stays on disk (32 MB)."""
CACHE = 1 << 19
"""Bytes of unpacked values that HDF5 keeps of each column: what one piece reads, and not all of a long record."""


class StoredColumn:
    """A column of a run file (``runs/columns.py``): a slice is read when it is used, all of it by ``numpy.asarray``."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    def __len__(self) -> int:
        return int(self._dataset.shape[0])

    def __getitem__(self, rows: Any, /) -> Any:
        if not isinstance(rows, slice):
            return self._dataset[rows]
        start, stop, step = rows.indices(len(self))
        if step == 1 or stop <= start:
            return self._dataset[start:stop]
        size = max(PIECE // step, 1) * step
        # copies of the few rows that are kept: views would hold all that was read
        kept = [self._dataset[i : min(i + size, stop)][::step].copy() for i in range(start, stop, size)]
        return np.concatenate(kept)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self._dataset[:], dtype=dtype)


def _times(stored: Column, step: float) -> Column:
    """The times of a record: computed if that gives the same to the bit, which is faster, and else as stored."""
    if len(stored) < 2:
        return stored
    first, second = (round(float(stored[row]) / step) for row in (0, 1))
    even = computed(lambda rows: (first + rows * (second - first)) * step, RowNumbers(len(stored)))
    return even if all(np.array_equal(one, other) for one, other in pieces(stored, even)) else stored


def load_on_disk(path: Path, large: int = LARGE) -> Run:
    """Read a run file; the times and channels of a ``large`` one stay on disk.

    The file stays open, so that all columns are of one file, also if its name is given to another one.  Only a whole
    and intact file is read in this way.
    """
    import h5py

    if not path.is_file() or not h5py.is_hdf5(path) or seal.look(path) is not seal.Seal.INTACT:
        return load_apart(path)
    file = h5py.File(path, "r", rdcc_nbytes=CACHE)
    check_format(file, path)
    channels = list(file["channels"].values())
    rows = len(file["time"])
    if rows * len(channels) < large or "live" in file or any(channel.shape != (rows,) for channel in channels):
        file.close()
        return load_apart(path)
    signals = {
        one.attrs["name"]: Signal(unit=one.attrs["unit"], values=cast(np.ndarray, StoredColumn(one)))
        for one in channels
    }
    time = _times(StoredColumn(file["time"]), float(file.attrs["step"]))
    return read_run(file, columns=(cast(np.ndarray, time), signals))
