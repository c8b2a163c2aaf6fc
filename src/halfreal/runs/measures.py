"""Error measures: how well the rig followed (synchronisation) and how true the test was (fidelity).

Every measure compares a signal x with the reference r it should have been, sample by sample, and is a plain number;
NaN where it has no meaning (no samples, a reference that is zero throughout).

=====================  =======================================  ===================================================
row                    reference r                              signal x
=====================  =======================================  ===================================================
synchronisation        target z: where the virtual part is      measured displacement: where the specimen is
fidelity               reference z*: the emulated system        target z: where the virtual part is
=====================  =======================================  ===================================================

Where the virtual part requests a force, that is the target, which the measured force follows, and what should be the
reference is the virtual part's own displacement at the interface (``halfreal.runs.judged_samples.compared``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from .columns import Column, finite_rows, part, total
from .error_measures import frequency_evaluation, sample_errors
from .judged_samples import axis_name, compared, judged_rows, largest, peak, whole_steps
from .run import Run

NAN = float("nan")
STILL = 1e-6
"""Part of the largest target of its unit: an axis whose target stays below it is not compared."""
MOVES = 1e-2
"""Part of the largest target of its unit: an axis whose target stays below it, such as one that only answers noise, is
compared but does not count in key figures and scores."""
MOVES_BESIDE_ALL = 1e-3
"""The same for the largest of all axes, 1 rad taken as 1 m: so that no rotation counts that is below a hundredth of the
displacements even at a lever of 10 m, and no displacement below a hundredth of the rotations' at one of 0.1 m."""


@dataclass(frozen=True)
class Measures:
    """One row of the table of errors: one comparison for one axis of the interface."""

    comparison: str
    """``"synchronisation"`` or ``"fidelity"``."""
    dof: int
    """From 1."""
    axis: str
    """Its name."""
    moves: bool
    """Whether its reference is large enough, next to the other axes, for it to count in key figures and scores."""
    nrmse: float
    peak_error: float
    largest_error: float
    amplitude: float
    delay: float
    frequency_hz: float
    energy_error: float
    """Only for the synchronisation, and only if displacement and force were measured."""
    samples: int
    """How many samples were compared."""


def energy_error(force: Column, target: Column, measured: Column) -> float:
    """Work of the measured force on the gap over the work it exchanges on the target.

        e = ∫ f d(x − z) / ∫ |f dz|

    The specimen takes up ∫ f dx while the virtual part gives ∫ f dz; the difference, which the transfer system adds on
    its own account, is the energy error that G. Mosqueda, B. Stojadinović, S. A. Mahin, J. Struct. Eng. 133 (2007)
    1100–1108, monitor.  f is the resisting force.  **Positive: the transfer system feeds energy in**, which acts as
    negative damping (a delay does); negative: it takes energy out.  The energy going forth and back on the target is
    the measure, as the net work is near zero on an elastic specimen.  A spring lagging by the phase φ in a steady sine
    has e = π sin φ / (2 cos φ + 2 φ sin φ) ≈ π φ/2.  Integrals by the trapezium rule.

    Where the target is a force, the measured displacement d takes the place of f: e = ∫ d d(F − f) / ∫ |d df|, the
    complementary work.
    """
    if len(force) < 2:
        return NAN
    on_gap, exchanged = total(_works, force, target, measured, overlap=1)
    return _ratio(float(on_gap), float(exchanged))


def _works(force: np.ndarray, target: np.ndarray, measured: np.ndarray) -> np.ndarray:
    """Work on the gap, and the work exchanged on the target."""
    mean_force = 0.5 * force[1:]
    mean_force += 0.5 * force[:-1]
    return np.array([np.sum(np.diff(measured - target) * mean_force), np.sum(np.abs(np.diff(target) * mean_force))])


def measures(run: Run, from_time: float = 0.0) -> tuple[Measures, ...]:
    """The table of errors of a run from ``from_time`` [s] on (to leave out a start-up), for each axis.

    Judged is the test itself, from 0 s to its duration and not the way there and back; a tripped or stopped run up to
    then, as the guard moves the rig afterwards and not the test; a diverged record up to its first number that is not
    finite.
    """
    of, kept = compared(run), judged_rows(run, from_time)
    rows = []
    for name, truth, signal, answer, at in (
        ("synchronisation", "target", of.followed, of.answer, kept),
        ("fidelity", "reference", of.response, None, whole_steps(run, kept)),
    ):
        most = largest(run, truth, at)
        for i, unit in enumerate(run.units(truth)):
            if i not in run.interface.commanded_at:  # nothing makes the rig follow there
                continue
            r, x = run.along_axis(truth, i), run.along_axis(signal, i)
            if r is None or x is None:
                continue
            due = peak(part(r, at))
            if due < STILL * most[unit]:  # it was not asked to move: nothing to follow
                continue
            row = _row(run, at, name, i, r, x, run.along_axis(answer, i) if answer else None)
            row = replace(row, moves=due >= max(MOVES * most[unit], MOVES_BESIDE_ALL * max(most.values())))
            if name == "synchronisation" and run.definition.get("slow") is not None:
                row = replace(row, delay=NAN)  # time stood still until the rig had settled
            rows.append(row)
    return tuple(rows)


measured_errors = measures
"""The name under which packages offer it, as theirs is that of a module."""


def counted(rows: Iterable[Measures], comparison: str) -> list[Measures]:
    """Rows of a comparison whose axes move: the worst of them represents the run."""
    return [row for row in rows if row.comparison == comparison and row.moves]


def _row(run: Run, rows: slice, name: str, i: int, reference: Column, signal: Column, force: Column | None) -> Measures:
    columns = [part(column, rows) for column in (reference, signal, *([] if force is None else [force]))]
    end, time = finite_rows(*columns), part(run.time, rows)
    r, x, *forces = (part(column, slice(end)) for column in columns)
    step = (time[end - 1] - time[0]) / (end - 1) if end > 1 else run.step
    with np.errstate(over="ignore", invalid="ignore"):  # a diverged record may overflow: the measure is then NaN
        found = frequency_evaluation(r, x, step)
        error, peak_error, largest_error = sample_errors(r, x)
        return Measures(
            comparison=name,
            dof=i + 1,
            axis=axis_name(run, i + 1),
            moves=True,
            nrmse=error,
            peak_error=peak_error,
            largest_error=largest_error,
            amplitude=found.amplitude,
            delay=found.delay,
            frequency_hz=found.frequency_hz,
            energy_error=energy_error(forces[0], r, x) if forces else NAN,
            samples=end,
        )


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 and np.isfinite(part) and np.isfinite(whole) else NAN


def worst(rows: Iterable[Measures], comparison: str) -> Measures | None:
    """The row that represents a comparison: that of the largest error among the axes that move; None if none does."""
    found = counted(rows, comparison)
    return max(found, key=lambda row: np.inf if np.isnan(row.nrmse) else row.nrmse) if found else None
