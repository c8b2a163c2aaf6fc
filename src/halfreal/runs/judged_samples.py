"""Which samples of a record a test is judged by, and which of its channels are held against each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..kernels.modes import OVER
from .run import Run

PERIODS = 10.0
"""Of the strongest frequency, at the end of a test whose coupling learns, by which it is judged."""
NMSE = "coupling.nmse"
"""The channel in which a coupling that learns says how far it has come."""
TRIP = "guard.cause"
"""The channel on which the guard says why it stepped in."""
LARGEST_DRAWN = 1e12
"""A diverged signal is drawn up to here: plotting libraries overflow beyond."""
PIECE = 1 << 16
"""Samples of a long record that are looked at together."""


@dataclass(frozen=True)
class Compared:
    """Which channels of a run are held against each other, and what they are called."""

    quantity: str
    """Of the target."""
    followed: str
    """Measured channel that should be the target."""
    answer: str
    """Measured channel that is not commanded: its work on the gap is the energy error."""
    response: str
    """Displacement of the virtual part at the interface, which should be the reference."""
    target: str = ""
    """Symbols; none where axes have names, as letters are taken."""
    measured: str = ""

    @property
    def by_force(self) -> bool:
        return self.followed == "measured.force"

    @property
    def gap(self) -> str:
        return f"{self.measured} − {self.target}" if self.target else "measured − target"


BY_DISPLACEMENT = Compared("displacement", "measured.displacement", "measured.force", "target", "z", "x")
BY_FORCE = Compared("force", "measured.force", "measured.displacement", "virtual.interface", "f", "F")


def compared(run: Run, dof: int = 1) -> Compared:
    """What to compare: by the unit of its target, a test asks the specimen for a displacement or for a force."""
    unit = run.units("target")[dof - 1]
    found = BY_FORCE if unit in ("N", "N m") else BY_DISPLACEMENT
    if unit in ("rad", "N m"):
        found = replace(found, quantity="moment" if found.by_force else "rotation")
    return found if axis_name(run, dof).isdigit() or len(run.interface) == 1 else replace(found, target="", measured="")


def axis_name(run: Run, dof: int) -> str:
    return run.interface.names[dof - 1]


def largest(run: Run, name: str, kept: np.ndarray) -> dict[str, float]:
    """Largest value of a vector signal on axes of each unit."""
    found: dict[str, float] = {}
    at = as_slice(kept)
    for i, unit in enumerate(run.units(name)):
        values = run.along_axis(name, i)
        if values is not None:
            found[unit] = max(found.get(unit, 0.0), peak(values[at]))
    return found


def as_slice(kept: np.ndarray) -> slice | np.ndarray:
    """The same samples as a slice where they follow each other: it gives a view of a long record, not a copy."""
    first, count = int(np.argmax(kept)) if len(kept) else 0, int(np.count_nonzero(kept))
    return slice(first, first + count) if kept[first : first + count].all() else kept


def whole_steps(run: Run) -> np.ndarray:
    """Which samples are beginnings of integration steps, where a step has several exchanges; all where it has one.

    Between them the virtual part's displacements stand still.
    """
    stage = run.signals.get("virtual.stage")
    kept = np.ones(len(run.time), dtype=bool)
    if stage is not None and np.nanmax(stage.values, initial=0.0) > 0.0:
        kept[:] = False
        # counted from the end: while a stiffness is found out, every tick is a first one
        kept[int(np.flatnonzero(stage.values == 0.0)[-1]) :: -round(np.nanmax(stage.values) + 1.0)] = True
    return kept


def drawable(values: np.ndarray) -> np.ndarray:
    """The values with NaN (a gap in the line) where they are too large to draw; the same array if there are none."""
    pieces = (values[i : i + PIECE] for i in range(0, len(values), PIECE))
    with np.errstate(invalid="ignore"):
        if all((np.abs(piece) <= LARGEST_DRAWN).all() for piece in pieces):
            return values
        return np.where(np.abs(values) <= LARGEST_DRAWN, values, np.nan)


def envelope(time: np.ndarray, values: np.ndarray, points: int = 1600) -> tuple[np.ndarray, np.ndarray]:
    """At most about ``points`` points of a long record that draw the same line: least and largest of each stretch."""
    stretches = points // 2
    length = len(values) // stretches if stretches else 0
    if length <= 2:
        return time, values
    used = len(values) // length * length
    blocks = values[:used].reshape(-1, length)
    low, high = (np.empty(len(blocks), dtype=int) for _ in range(2))
    few = max(PIECE // length, 1)
    for i in range(0, len(blocks), few):  # without copies of a long record
        piece = blocks[i : i + few]
        gaps = np.isnan(piece)
        low[i : i + few] = np.argmin(np.where(gaps, np.inf, piece), axis=1)
        high[i : i + few] = np.argmax(np.where(gaps, -np.inf, piece), axis=1)
    first = np.arange(len(blocks)) * length
    kept = np.unique(np.concatenate([first + low, first + high, [0], np.arange(used, len(values)), [len(values) - 1]]))
    return time[kept], values[kept]


def peak(*signals: np.ndarray | None) -> float:
    """Largest absolute value that can be drawn of all the signals."""
    found = 0.0
    for signal in signals:
        for i in range(0, 0 if signal is None else len(signal), PIECE):
            assert signal is not None
            values = np.abs(drawable(signal[i : i + PIECE]))
            found = max(found, float(values[np.isfinite(values)].max(initial=0.0)))
    return found


def duration(run: Run) -> float:
    """How long the test is by its definition [s]; without end if that does not say."""
    value = setting(run, "timing", "duration")
    return float(value) if isinstance(value, int | float) else np.inf


def in_test(run: Run, from_time: float = 0.0) -> np.ndarray:
    """Which samples belong to the test: from 0 s, or ``from_time`` [s], up to its duration.

    Before and after, a run is on its way to where the test begins and home again.
    """
    length = duration(run)
    ticks = np.round(length / run.step) if np.isfinite(length) else np.inf
    first = max(from_time, 0.0) - 1e-6 * run.step
    return (run.time >= first) & (run.time < (ticks - 0.5) * run.step)


def cut_short(run: Run) -> float | None:
    """When the guard or the operator ended the test before its time [s], or None if it went through."""
    if run.outcome == "completed":
        return None
    trips = [event.time for event in run.events if event.channel == TRIP]
    if trips:
        return min(trips)
    modes = run.signals.get("guard.mode")
    ended = np.zeros(0, dtype=int) if modes is None else np.flatnonzero(np.isin(modes.values, OVER))
    return float(run.time[ended[0]]) if len(ended) else None


def judged(run: Run, from_time: float = 0.0) -> np.ndarray:
    """Which samples the test is judged by: its own, from ``from_time`` [s] on, and up to where it was cut short."""
    end, inside = cut_short(run), in_test(run, from_time)
    return inside if end is None else inside & (run.time <= end)


def last_cycles(
    time: np.ndarray, values: np.ndarray, trip: float | None = None, cycles: float = 3.0
) -> tuple[float, float]:
    """Times [s] between which the last cycles of a signal lie, or those around a trip.

    A cycle is that of the strongest frequency in the last part of the record, or of what led to the trip.
    """
    if not len(time):
        return 0.0, 1.0
    usable = np.flatnonzero(np.isfinite(drawable(values)) & (time <= (np.inf if trip is None else trip)))
    if len(usable) < 16:
        return float(time[0]), float(time[-1])
    end = int(usable[-1]) + 1
    start = int(0.6 * end)
    part = np.nan_to_num(drawable(values[start:end]))
    length = float(time[end - 1] - time[start])
    part -= part.mean()
    part *= np.hanning(len(part))
    spectrum = np.abs(np.fft.rfft(part))
    top = int(np.argmax(spectrum[1:])) + 1
    near = slice(max(1, top - 1), top + 2)  # a window's peak is three bins wide: its centre is finer than a bin
    period = (
        length * spectrum[near].sum() / (np.arange(len(spectrum))[near] @ spectrum[near]) if spectrum[top] else length
    )
    last = float(time[end - 1]) if trip is None else min(float(time[-1]), trip + period)
    first = max(float(time[0]), last - max(cycles * period, 40 * float(time[1] - time[0])))
    return first, last


def setting(run: Run, *keys: str) -> Any:
    value: Any = run.definition
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def learns(run: Run) -> bool:
    """Whether the run's coupling is one that learns."""
    return NMSE in run.signals


def since(run: Run) -> float:
    """Time [s] from which on a run is judged: its last periods if its coupling learns, else its beginning."""
    target = run.vector("target")
    inside = in_test(run)
    if not learns(run) or target is None or cut_short(run) is not None or not inside.any():
        return 0.0
    return max(last_cycles(run.time[inside], target[inside, 0], cycles=PERIODS)[0], 0.0)
