"""Which samples of a record a test is judged by, and which of its channels are held against each other."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..kernels.modes import OVER
from .columns import PIECE, Column, computed, part, pieces
from .run import Run
from .spectra import size_at, transforms, windowed

PERIODS = 10.0
"""Of the strongest frequency, at the end of a test whose coupling learns, by which it is judged."""
NMSE = "coupling.nmse"
"""The channel in which a coupling that learns says how far it has come."""
TRIP = "guard.cause"
"""The channel on which the guard says why it stepped in."""
LARGEST_DRAWN = 1e12
"""A diverged signal is drawn up to here: plotting libraries overflow beyond."""


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


def largest(run: Run, name: str, rows: slice) -> dict[str, float]:
    """Largest value of a vector signal on axes of each unit."""
    found: dict[str, float] = {}
    for i, unit in enumerate(run.units(name)):
        values = run.along_axis(name, i)
        if values is not None:
            found[unit] = max(found.get(unit, 0.0), peak(part(values, rows)))
    return found


def whole_steps(run: Run, rows: slice) -> slice:
    """Those rows that are beginnings of integration steps, where a step has several exchanges; all where it has one.

    Between them the virtual part's displacements stand still.
    """
    stage = run.signals.get("virtual.stage")
    if stage is None:
        return rows
    most, last, count = 0.0, 0, 0
    for (values,) in pieces(stage.values):
        most = max(most, float(np.nanmax(values, initial=0.0)))
        beginnings = np.flatnonzero(values == 0.0)
        last = count + int(beginnings[-1]) if len(beginnings) else last
        count += len(values)
    if most == 0.0:
        return rows
    # counted from the end: while a stiffness is found out, every tick is a first one
    every = round(most + 1.0)
    first = rows.start + (last - rows.start) % every
    return slice(first, max(first, min(rows.stop, last + 1)), every)


def drawable(values: Column) -> Column:
    """The values with NaN (a gap in the line) where they are too large to draw."""
    return computed(_drawable, values)


def _drawable(values: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        small = np.abs(values) <= LARGEST_DRAWN
    return values if small.all() else np.where(small, values, np.nan)


def envelope(time: Column, values: Column, points: int = 1600) -> tuple[np.ndarray, np.ndarray]:
    """At most about ``points`` points of a long record that draw the same line: least and largest of each stretch."""
    stretches = points // 2
    length = len(values) // stretches if stretches else 0
    if length <= 2:
        return time[:], values[:]
    at_once = max(PIECE // length, 1) * length
    found = []
    for first in range(0, len(values), at_once):
        piece = values[first : first + at_once]
        blocks = np.pad(piece, (0, -len(piece) % length), constant_values=np.nan).reshape(-1, length)
        gaps = np.isnan(blocks)
        low = np.argmin(np.where(gaps, np.inf, blocks), axis=1)
        high = np.argmax(np.where(gaps, -np.inf, blocks), axis=1)
        begin = np.arange(len(blocks)) * length
        ends = [0] * (first == 0) + [len(piece) - 1] * (first + len(piece) == len(values))
        kept = np.unique(np.concatenate([begin + low, begin + high, np.array(ends, dtype=int)]))
        found.append((time[first : first + len(piece)][kept], piece[kept]))
    times, chosen = zip(*found, strict=True)
    return np.concatenate(times), np.concatenate(chosen)


def peak(*signals: Column | None) -> float:
    """Largest absolute value that can be drawn of all the signals."""
    found = 0.0
    for signal in signals:
        for (values,) in () if signal is None else pieces(signal):
            sizes = np.abs(_drawable(values))
            found = max(found, float(sizes[np.isfinite(sizes)].max(initial=0.0)))
    return found


def duration(run: Run) -> float:
    """How long the test is by its definition [s]; without end if that does not say."""
    value = setting(run, "timing", "duration")
    return float(value) if isinstance(value, int | float) else np.inf


def rows_in_test(run: Run, from_time: float = 0.0) -> slice:
    """Which samples belong to the test: from 0 s, or ``from_time`` [s], up to its duration; the run's times increase.

    Before and after, a run is on its way to where the test begins and home again.
    """
    length = duration(run)
    ticks = np.round(length / run.step) if np.isfinite(length) else np.inf
    first = bisect_left(run.time, max(from_time, 0.0) - 1e-6 * run.step)
    return slice(first, max(first, bisect_left(run.time, (ticks - 0.5) * run.step)))


def in_test(run: Run, from_time: float = 0.0) -> np.ndarray:
    """The same, as a truth value for each sample."""
    return _chosen(run, rows_in_test(run, from_time))


def _chosen(run: Run, rows: slice) -> np.ndarray:
    found = np.zeros(len(run.time), dtype=bool)
    found[rows] = True
    return found


def cut_short(run: Run) -> float | None:
    """When the guard or the operator ended the test before its time [s], or None if it went through."""
    if run.outcome == "completed":
        return None
    trips = [event.time for event in run.events if event.channel == TRIP]
    if trips:
        return min(trips)
    modes, count = run.signals.get("guard.mode"), 0
    for (values,) in () if modes is None else pieces(modes.values):
        ended = np.flatnonzero(np.isin(values, OVER))
        if len(ended):
            return float(run.time[count + int(ended[0])])
        count += len(values)
    return None


def judged_rows(run: Run, from_time: float = 0.0) -> slice:
    """Which samples the test is judged by: its own, from ``from_time`` [s] on, and up to where it was cut short."""
    end, rows = cut_short(run), rows_in_test(run, from_time)
    return rows if end is None else slice(rows.start, max(rows.start, min(rows.stop, bisect_right(run.time, end))))


def judged(run: Run, from_time: float = 0.0) -> np.ndarray:
    """The same, as a truth value for each sample."""
    return _chosen(run, judged_rows(run, from_time))


def last_cycles(time: Column, values: Column, trip: float | None = None, cycles: float = 3.0) -> tuple[float, float]:
    """Times [s] between which the last cycles of a signal lie, or those around a trip.

    A cycle is that of the strongest frequency in the last part of the record, or of what led to the trip.
    """
    if not len(time):
        return 0.0, 1.0
    before = len(time) if trip is None else bisect_right(time, trip)
    usable, end, count = 0, 0, 0
    for (piece,) in pieces(part(drawable(values), slice(before))):
        finite = np.flatnonzero(np.isfinite(piece))
        usable, end = usable + len(finite), count + int(finite[-1]) + 1 if len(finite) else end
        count += len(piece)
    if usable < 16:
        return float(time[0]), float(time[-1])
    motion = windowed(computed(np.nan_to_num, part(drawable(values), slice(int(0.6 * end), end))))
    length = float(time[end - 1] - time[end - len(motion)])
    top, largest = 1, 0.0
    for numbers, (transform,) in transforms(motion):
        sizes = np.where(numbers > 0, np.abs(transform), -1.0)
        at = int(np.argmax(sizes))
        if sizes[at] > largest:
            top, largest = int(numbers[at]), float(sizes[at])
    near = range(max(1, top - 1), min(top + 1, len(motion) // 2) + 1)
    # a window's peak is three bins wide: its centre is finer than a bin
    sizes = np.array([size_at(motion, number) for number in near])
    period = length * sizes.sum() / (np.array(near) @ sizes) if largest else length
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
    target, inside = run.along_axis("target", 0), rows_in_test(run)
    if not learns(run) or target is None or cut_short(run) is not None or inside.stop == inside.start:
        return 0.0
    return max(last_cycles(part(run.time, inside), part(target, inside), cycles=PERIODS)[0], 0.0)
