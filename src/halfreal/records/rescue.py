"""A record that lost its file: what is still within reach, and where it goes instead."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..runs.run import Run, Signal
from . import live_layout as layout
from .recorder import changes
from .ring import Ring
from .run_file import RunFileError, save

MOST_NAMES = 1000


def from_ring(
    header: Run,
    ring: Ring,
    *,
    columns: Sequence[str],
    every: int,
    watched: Sequence[str],
    texts: Mapping[str, Mapping[float, str]],
) -> Run:
    """The newest rows, which the ring still holds, as a run; arguments as of ``live_file.create``."""
    last = ring.written()
    block = ring.copy(max(last - ring.capacity, 0), last)
    place = {name: 1 + i for i, name in enumerate(columns)}
    happened = changes(block[0], block[[place[name] for name in watched]], np.zeros(len(watched)))
    table = {name: {str(float(value)): text for value, text in words.items()} for name, words in texts.items()}
    events = layout.in_words({"watched": list(watched), "texts": table}, happened)
    chosen = np.rint(block[0] / header.step) % every == 0.0
    signals = {name: Signal(one.unit, block[place[name]][chosen]) for name, one in header.signals.items()}
    return replace(header, time=block[0][chosen], signals=signals, events=header.events + events)


def save_elsewhere(run: Run, path: Path) -> Path:
    """Save a run under a free name beside ``path``, or where there is a folder to write to; return its name."""
    faults = []
    for folder in dict.fromkeys((path.parent, Path.cwd(), Path(tempfile.gettempdir()))):
        try:
            return _save_free(run, folder, path)
        except OSError as error:
            faults.append(f"'{folder}': {error.strerror or error}")
    raise RunFileError(f"the record of '{path}' cannot be saved anywhere ({'; '.join(faults)}); make room for the next")


def _save_free(run: Run, folder: Path, path: Path) -> Path:
    for number in range(1, MOST_NAMES):
        target = folder / f"{path.stem}.recovered{'' if number == 1 else f'-{number}'}{path.suffix}"
        try:
            save(run, target)
            return target
        except FileExistsError:
            continue
    raise FileExistsError(errno.EEXIST, f"it has {MOST_NAMES} recovered records already; remove some", str(path))
