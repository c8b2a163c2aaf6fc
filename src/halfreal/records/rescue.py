"""A record that lost its file: what is still within reach, and where it goes instead."""

from __future__ import annotations

import errno
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..runs.run import Run, Signal
from . import live_layout as layout
from .kept_file import KeptFile
from .recorder import changes
from .ring import Ring
from .run_file import RunFileError
from .whole_file import whole_file

MOST_NAMES = 1000


def from_ring(
    header: Run,
    ring: Ring,
    first: int = 0,
    *,
    columns: Sequence[str],
    every: int,
    watched: Sequence[str],
    texts: Mapping[str, Mapping[float, str]],
) -> Run:
    """The newest rows, from ``first`` on, which the ring still holds, as a run; others as of ``live_file.create``."""
    last = ring.written()
    first = max(first, last - ring.capacity, 0)
    block = ring.copy(first, last)
    place = {name: 1 + i for i, name in enumerate(columns)}
    seen = [place[name] for name in watched]
    before = ring.copy(first - 1, first)[seen, 0] if max(last - ring.capacity, 0) < first else np.zeros(len(watched))
    happened = changes(block[0], block[seen], before)
    table = {name: {str(float(value)): text for value, text in words.items()} for name, words in texts.items()}
    events = layout.as_text({"watched": list(watched), "texts": table}, happened)
    chosen = np.rint(block[0] / header.step) % every == 0.0
    signals = {name: Signal(one.unit, block[place[name]][chosen]) for name, one in header.signals.items()}
    return replace(header, time=block[0][chosen], signals=signals, events=header.events + events)


def with_rows_of(run: Run, rest: Run) -> Run:
    """A run that its file holds in part, with those of the ``rest`` of its rows and events that come later."""
    last = run.time[-1] if run.time.size else -np.inf
    later = rest.time > last
    signals = {
        name: Signal(one.unit, np.concatenate([one.values, rest.signals[name].values[later]]))
        for name, one in run.signals.items()
    }
    time = np.concatenate([run.time, rest.time[later]])
    events = tuple(event for event in rest.events if event.time > last)
    return replace(run, time=time, signals=signals, events=run.events + events)


def copy(lost: KeptFile, target: Path) -> None:
    """Copy a file that may have no name any more: HDF5 opens none without."""
    with whole_file(target) as temporary, lost.by_descriptor.open("rb") as source, temporary.open("xb") as copied:
        shutil.copyfileobj(source, copied, 1 << 20)


def put_elsewhere(path: Path, write: Callable[[Path], None]) -> Path:
    """Write a file under a free name next to ``path``, or in another folder if need be; return its name.

    ``write`` makes the file that it is given, and refuses to overwrite one.
    """
    faults = []
    for folder in dict.fromkeys((path.parent, Path.cwd(), Path(tempfile.gettempdir()))):
        try:
            return _put_free(folder, path, write)
        except OSError as error:
            faults.append(f"'{folder}': {error.strerror or error}")
    raise RunFileError(
        f"the record of '{path}' cannot be saved anywhere ({'; '.join(faults)}); free disk space for the next one"
    )


def _put_free(folder: Path, path: Path, write: Callable[[Path], None]) -> Path:
    for number in range(1, MOST_NAMES):
        target = folder / f"{path.stem}.recovered{'' if number == 1 else f'-{number}'}{path.suffix}"
        try:
            write(target)
            return target
        except FileExistsError:
            continue
    raise FileExistsError(errno.EEXIST, f"there are already {MOST_NAMES} recovered records; remove some", str(path))
