"""A table of compensation corrected by what was recorded: tuning on the rig, without a model of the specimen.

V. Ruffini, C. Szczyglowski, D. A. W. Barton, M. Lowenberg, S. A. Neild, Exp. Tech. (2020), doi
10.1007/s40799-020-00394-5, section 4.3: the compensator's amplitude and phase that leave the least error were found on
the rig, and lie near those of the model.  What is to be found follows from their Eq. 10, which is linear in P
(``halfreal.stability.ideal_compensator``),

    r = D_a/D_n = G_c P + G_f/N            measured displacement over target; P = D_c/D_n, command over target

    P ← P + (1 − r)/G_c                    one step at each frequency that the test stays at
    G_c = (r₂ − r₁)/(P₂ − P₁)              from two records (secant), or that of the rig's model from one

r and P are phasors of the record itself, over the settled half of each dwell; the origin of the command then does not
matter.  Their scatter is that of pieces of the dwell.  Where two records are too alike to determine G_c, or there is
one only, G_c is that of the rig's model (``Rig.follower``), and of a rig without one r/P, which is right if the
specimen does not push the rig back (G_f = 0).  A step changes P by ``LARGEST`` of it at most.

The error left is estimated as the scatter, and what the error of G_c makes of the step: of a secant by the scatter of
r₂ − r₁, of a model as if G_c were as far off as the model's r.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ...definition.definition import Definition
from ...definition.load import from_json
from ...errors import HalfrealError
from ...identification.frf import fitted_sine
from ...runs.judged_samples import judged
from ...runs.run import Run

SETTLED = 0.5
"""Part of a dwell after which it counts as settled."""
PIECES = 5
"""Of the settled part of a dwell, each of whole cycles: their scatter is that of r."""
SINE = 0.5
"""Part of the target that must be a sine for r to be that of its frequency."""
SIGNIFICANT = 1.0
"""Standard errors of r beyond which an error is corrected: from here on a correction takes away more than it adds."""
NOISY = 0.02
"""Standard error of r, as a part of 1, from which on it is too noisy to say that nothing need be corrected."""
VAGUE = 0.3
"""Standard error of r, and relative error of a secant's G_c, beyond which they are not used."""
LARGEST = 0.5
"""Change of P in one step, as a part of it."""
RIGHT = "correct within its scatter"
RECORDED = ("target", "command", "measured.displacement")


@dataclass(frozen=True)
class Dwell:
    """A frequency of a record: r, P and the standard error of r."""

    hz: float
    ratio: complex
    compensator: complex
    error: float
    sine: float = 1.0
    """Part of the target's variation that a sine of this frequency explains."""


@dataclass(frozen=True)
class Correction:
    """What became of a frequency."""

    hz: float
    ratio: complex = complex("nan")
    """r of the last record."""
    scatter: float = math.nan
    """Standard error of r."""
    before: complex = complex("nan")
    """P of the last record."""
    after: complex | None = None
    """P as corrected; None if it is not."""
    slope: complex = complex("nan")
    """G_c."""
    slope_from: str = ""
    left: float = math.nan
    """|1 − r| to be expected with it; NaN if nothing is known of it."""
    note: str = ""


@dataclass(frozen=True)
class TableCorrection:
    """The answer: what became of every frequency, and the definition with the corrected table."""

    rows: tuple[Correction, ...]
    best: Definition | None
    """None if nothing is corrected."""
    notes: tuple[str, ...]

    @property
    def corrected(self) -> tuple[Correction, ...]:
        return tuple(row for row in self.rows if row.after is not None)

    @property
    def right(self) -> bool:
        """Whether nothing need be corrected."""
        return all(row.note == RIGHT for row in self.rows)


def tune_from_runs(definition: Definition, runs: Sequence[Run]) -> TableCorrection:
    """Correct the compensation table of a definition from recorded stepped tests.

    Parameters
    ----------
    definition
        The test.
    runs
        One record, or two of which the last is corrected.

    Returns
    -------
    TableCorrection
        The corrected table and its expected errors.
    """
    if len(runs) not in (1, 2):
        raise HalfrealError(f"a table is corrected by one or two records, but {len(runs)} are given; omit some")
    if definition.coupling.with_responses(definition, np.zeros(0), np.zeros(0, dtype=complex)) is None:
        raise HalfrealError(
            f"a coupling of kind '{definition.coupling.kind}' has no table to correct from records; use "
            'one with a table, e.g. kind = "narrow band table"'
        )
    if len(definition.interface) != 1:
        raise HalfrealError(f"a table is corrected for one axis, but the interface has {len(definition.interface)}")
    *earlier, last = [dwells(run, f"record {i}") for i, run in enumerate(runs, start=1)]
    first = earlier[0] if earlier else {}
    rows = [corrected(definition, one, first.get(one.hz)) for one in last.values()]
    asked = definition.coupling.frequencies_to_judge(definition)
    missing = [Correction(hz, note="not excited in the record, unchanged") for hz in asked if hz not in last]
    changed = [row for row in rows if row.after is not None]
    best = None
    if changed:
        hz, wanted = np.array([row.hz for row in changed]), np.array([row.after for row in changed])
        coupling = definition.coupling.with_responses(definition, hz, wanted)
        assert coupling is not None
        best = from_json(Definition, definition.unchecked_copy({"coupling": coupling}).model_dump(mode="json"))
    return TableCorrection(tuple(sorted([*rows, *missing], key=lambda row: row.hz)), best, notes(definition, runs))


def dwells(run: Run, name: str = "the record") -> dict[float, Dwell]:
    """The frequencies that a record stays at to the end of their dwell, each with its r and P."""
    test = from_json(Definition, run.definition)
    driven = next((one for one in (test.excitation.specimen, test.excitation.virtual) if one is not None), None)
    stays = None if driven is None else driven.dwells
    if stays is None:
        raise HalfrealError(
            f"{name} ('{run.title}') has no constant frequency; a table is corrected from a sine or a stepped "
            "test, such as gust trains or a stepped sine"
        )
    columns = {name: run.vector(name) for name in RECORDED}
    if absent := [name for name, values in columns.items() if values is None]:
        raise HalfrealError(f"{', '.join(absent)} is not in {name}; record it (record.channels)")
    signals = {name: values[:, 0] for name, values in columns.items() if values is not None}
    long = test.timing.duration if stays.dwell is None else stays.dwell
    during = run.time[judged(run)]
    end = float(during[-1] + 1.5 * np.median(np.diff(during))) if len(during) > 1 else 0.0
    found = {}
    for i, hz in enumerate(stays.frequencies):
        if (i + 1) * long > end:
            break  # cut short, or not reached at all
        kept = (run.time >= (i + SETTLED) * long - 0.5 * run.step) & (run.time < (i + 1) * long - 0.5 * run.step)
        found[float(hz)] = _dwell(float(hz), run.time[kept], {key: signal[kept] for key, signal in signals.items()})
    if not found:
        raise HalfrealError(
            f"{name} ('{run.title}', {run.outcome}) ends before its first frequency does; run it longer"
        )
    return found


def _dwell(hz: float, time: np.ndarray, signals: dict[str, np.ndarray]) -> Dwell:
    """r and P over all of it, and the standard error of r from its pieces."""

    def ratios(part: slice) -> tuple[complex, complex]:
        target, command, moved = (fitted_sine(time[part], signals[name][part], hz)[0] for name in RECORDED)
        return (moved / target, command / target) if target else (complex("nan"), complex("nan"))

    span = float(time[-1] - time[0]) * len(time) / (len(time) - 1)
    cycles = int(hz * span / PIECES + 1e-9)
    if cycles < 1:
        raise HalfrealError(
            f"at {hz:g} Hz the record has {hz * span:.3g} cycles after settling; {PIECES} or more are needed, dwell "
            "longer"
        )
    edges = np.round(np.arange(PIECES + 1) * cycles / (hz * span) * len(time)).astype(int)
    pieces = np.array([ratios(slice(a, b))[0] for a, b in pairwise(edges)])
    ratio, compensator = ratios(slice(None))
    spread = math.sqrt(float(np.mean(np.abs(pieces - pieces.mean()) ** 2)) / (PIECES - 1))
    return Dwell(hz, ratio, compensator, spread, fitted_sine(time, signals["target"], hz)[1])


def corrected(definition: Definition, last: Dwell, first: Dwell | None) -> Correction:
    """One step at a frequency; ``first`` is the record before, if there is one with this frequency."""
    row = Correction(last.hz, last.ratio, last.error, last.compensator)
    off = abs(1.0 - last.ratio)
    if not math.isfinite(off) or not math.isfinite(last.error):
        return replace(row, note="the target does not move: is it excited?")
    if last.sine < SINE:
        return replace(
            row, note=f"{100 * last.sine:.0f} % of the target is a sine of this frequency: not steady, or noise"
        )
    if off <= SIGNIFICANT * last.error and last.error < NOISY:
        return replace(row, left=off, note=RIGHT)
    if off <= SIGNIFICANT * last.error or last.error > VAGUE:
        return replace(row, note=f"too noisy: scatter {100 * last.error:.2g} %; excite it more, or dwell longer")
    (slope, vague, source), note = modelled(definition, last), ""
    if first is not None and abs(last.compensator - first.compensator) > 0.0:
        met = last.ratio - first.ratio
        unsure = math.hypot(first.error, last.error) / abs(met) if met else math.inf
        if unsure <= VAGUE:
            slope, vague, source = met / (last.compensator - first.compensator), unsure, "two records"
        else:
            note = "the records are too similar to determine G_c"
    step = (1.0 - last.ratio) / slope
    share = min(1.0, LARGEST * abs(last.compensator) / abs(step))
    if share < 1.0:
        note = f"step limited to {100 * LARGEST:.0f} % of P, {100 * share:.0f} % of the required one; repeat the test"
    left = math.hypot(last.error, off * max(1.0 - share, share * vague) if math.isfinite(vague) else math.nan)
    return replace(row, after=last.compensator + share * step, slope=slope, slope_from=source, left=left, note=note)


def modelled(definition: Definition, last: Dwell) -> tuple[complex, float, str]:
    """G_c from one record: of the rig's model, else r/P; its relative error, and where it is from."""
    omega, dt = np.array([2 * np.pi * last.hz]), definition.timing.step
    try:
        command, force = definition.rig.follower(dt).responses(omega)
        device = definition.virtual.device(dt).response(omega)
    except HalfrealError:
        return last.ratio / last.compensator, math.nan, "r/P"
    expected = complex(command[0] * last.compensator + force[0] / device[0])
    return complex(command[0]), abs(last.ratio - expected) / abs(expected), "the rig's model"


def notes(definition: Definition, runs: Sequence[Run]) -> tuple[str, ...]:
    """What the answer rests on."""
    told, mine = [], definition.model_dump(mode="json")
    for i, run in enumerate(runs, start=1):
        if run.definition["virtual"] != mine["virtual"]:
            raise HalfrealError(
                f"record {i} ('{run.title}') has another [virtual] than this definition, but the table depends on "
                "it; record this one"
            )
        if run.definition["rig"] != mine["rig"]:
            told.append(f"record {i} ('{run.title}') has another [rig] than this definition")
        if run.outcome != "completed":
            told.append(f"record {i} ('{run.title}') {run.outcome}: {run.reason}; its whole dwells are used")
    return tuple(told)
