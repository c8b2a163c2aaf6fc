"""Long records that stay on disk: a report reads a channel when it needs it, and keeps what it draws of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..runs.run import Run, Signal
from . import seal
from .apart import load_apart
from .run_file import check_format, read_run

LARGE = 4_000_000
"""Values of a record from which on it stays on disk (32 MB)."""


class StoredSignal(Signal):
    """A channel whose values are read from its file each time that they are used."""

    def __init__(self, channel: Any) -> None:
        object.__setattr__(self, "unit", channel.attrs["unit"])
        object.__setattr__(self, "_channel", channel)

    @property
    def values(self) -> np.ndarray:
        found: np.ndarray = self.__dict__["_channel"][:]
        return found


def load_on_disk(path: Path, large: int = LARGE) -> Run:
    """Read a run file; of a ``large`` one only the times, while its channels stay on disk.

    The file stays open, so that all channels are of one file, also if its name is given to another one.  Only a whole
    and intact file is read in this way.
    """
    import h5py

    if not path.is_file() or not h5py.is_hdf5(path) or seal.look(path) is not seal.Seal.INTACT:
        return load_apart(path)
    file = h5py.File(path, "r")
    check_format(file, path)
    channels = list(file["channels"].values())
    rows = len(file["time"])
    if rows * len(channels) < large or "live" in file or any(channel.shape != (rows,) for channel in channels):
        file.close()
        return load_apart(path)
    return read_run(file, signals={channel.attrs["name"]: StoredSignal(channel) for channel in channels})
