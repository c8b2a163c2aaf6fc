"""The coupling chosen for a test: those that apply, each at its best on rehearsals, ranked.

The rig is the definition's model, with what is uncertain in it; the search is that of ``search.py``, the errors are
described in ``bench.py`` and ``parts.py``, and what the linear model says of them in ``predicted.py``.  Couplings that
leave the margins which [acceptance] requires come first.  They are ranked by the largest error over the nominal rig and
all samples, or by the criterion that the definition names (section [criteria], ``minimise``).  Those within ``ALIKE``
of the least are ranked by what else matters: first come those that bear at least half as much further delay as any of
them, and of these the simplest, fixed ones before those that adapt.

A search that is interrupted continues from its journal (``journal.py``); the same test and samples give the same
answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...contracts.coupling import Coupling
from ...data_frames import data_frame
from ...definition.definition import Definition
from ...errors import HalfrealError
from ...runs.alike import alike as built_alike
from ...runs.loop_stability import LoopStability, loop_stability
from ...safety.limits import Commands
from ...summaries import Summarised
from ..check.criteria.reach import out_of_reach
from .bench import LEARNT, LONGEST, Bench, Outcome, worst_of
from .families import applies, search
from .journal import Journal, fingerprint
from .parts import Parts, parts
from .predicted import predicted_error
from .search import Found, Tried

SAMPLES = 20
JUDGED = 4
"""Couplings of a kind that are judged on all samples, until one fails with none."""
TUNED = ", tuned: "
"""In a title, before the coupling; of a test that is tuned once more, the last."""
ALIKE = 5e-4
"""Difference of errors, as parts of the motion, that no one will see."""
ALIKE_SHARE = 0.01
"""The same for a criterion, as a share of its least value."""


@dataclass(frozen=True)
class TuningRow:
    """One coupling: its errors on the nominal rig, the largest of all samples, margins, noise and effort."""

    name: str
    coupling: Coupling | None
    nominal: Outcome
    worst: float
    """Largest error of the nominal rig and all samples; endless if one of them failed."""
    failed: int
    """Samples that exceed limits, or are unstable at rest."""
    fault: str = ""
    """Of the worst of these in its rehearsal."""
    stability: LoopStability | None = None
    parts: Parts | None = None
    short: str = ""
    """Margins that [acceptance] requires and that it does not leave."""
    predicted: float = math.nan
    """Of the linear model: error of the rig behind its target, nominal, of the worst axis."""
    lost: str = ""
    """Why it is not the best; empty for the best."""

    @property
    def delay_margin(self) -> float:
        """Further delay that the loop tolerates [s]; 0 if that is not known."""
        known = None if self.stability is None else self.stability.margin
        return 0.0 if known is None else float(known.critical_delay)


@dataclass(frozen=True, repr=False)
class Tuning(Summarised):
    """The answer: rows from the best to the worst, the best definition, and what to know about it."""

    rows: tuple[TuningRow, ...]
    best: Definition | None
    """Ready to check and to run; None if no coupling could be run."""
    samples: int
    rehearsals: int
    notes: tuple[str, ...]
    commands: Commands
    """Commanded quantity of the rig."""
    tried: tuple[Tried, ...] = ()
    """All settings that were tried, in their order."""
    criterion: str = ""
    """What was minimised in place of the error, and its unit."""
    unit: str = "1"
    axes: tuple[str, ...] = ()
    """Names of the axes that count."""

    def summary(self) -> str:
        """The best coupling, and how many were compared."""
        if self.best is None:
            return f"none of {len(self.rows)} couplings could be run"
        return f"best of {len(self.rows)} couplings: {self.rows[0].name}, after {self.rehearsals} rehearsals"

    def to_dataframe(self) -> Any:
        """A row for each coupling, the best first, as a pandas data frame."""
        unit = self.unit if self.criterion else "1"
        columns = {
            "coupling": [row.name for row in self.rows],
            "error": [row.nominal.error for row in self.rows],
            "worst": [row.worst for row in self.rows],
            "predicted": [row.predicted for row in self.rows],
            "delay margin": [row.delay_margin for row in self.rows],
            "failed": [row.failed for row in self.rows],
            "why not": [row.lost for row in self.rows],
        }
        units = {"error": unit, "worst": unit, "predicted": "1", "delay margin": "s", "failed": "1"}
        return data_frame(columns, units, index="coupling")


def tune(
    definition: Definition,
    *,
    samples: int = SAMPLES,
    workers: int = 2,
    on_progress: Callable[[str], None] = lambda text: None,
    journal: Path | None = None,
) -> Tuning:
    """Find the best coupling for a test by rehearsals over its uncertainty.

    Parameters
    ----------
    definition
        The test.
    samples
        Samples of the uncertain parameters.
    workers
        Number of processes.
    on_progress
        Callback that receives progress messages.
    journal
        File in which intermediate results are stored; an interrupted search resumes from it.

    Returns
    -------
    Tuning
        Ranked couplings, and the tuned definition.
    """
    reason = applies(definition)
    if reason:
        raise HalfrealError(reason)
    kept = Journal(journal, fingerprint(definition, samples))
    with built_alike():
        return _tuned(definition, Bench(definition, samples, workers, kept), kept, on_progress)


def _tuned(definition: Definition, bench: Bench, kept: Journal, on_progress: Callable[[str], None]) -> Tuning:
    try:
        on_progress("couplings")
        found, tried = search(bench, on_progress)
        rows = []
        for i, one in enumerate(found, start=1):
            on_progress(f"{one.name}, all samples: {i} of {len(found)}, {bench.rehearsals} rehearsals so far")
            rows.append(judged(bench, one))
        ranked = with_reasons(rank(rows, bool(bench.criterion)), bench)
        best = None
        if ranked and math.isfinite(ranked[0].worst):
            on_progress("decomposing the error")
            ranked = [replace(row, parts=told_apart(bench, row)) for row in ranked]
            title = f"{definition.title.partition(TUNED)[0]}{TUNED}{ranked[0].name}"
            best = definition.unchecked_copy({"coupling": ranked[0].coupling, "title": title})
        told = tuple(notes(definition, bench))
        kept.close()
        unit = definition.criteria.units[bench.criterion] if definition.criteria and bench.criterion else "1"
        return Tuning(
            tuple(ranked),
            best,
            len(bench.drawn) - 1,
            bench.rehearsals,
            told,
            definition.commands,
            tuple(tried),
            bench.criterion,
            unit,
            tuple(definition.interface.names[i] for i in bench.counted),
        )
    finally:
        bench.close()


def judged(bench: Bench, found: Found) -> TuningRow:
    """A coupling on all samples, with its margins."""
    which, name, coupling = range(len(bench.drawn)), found.name, found.coupling
    if coupling is None:
        return TuningRow(name, None, Outcome(found.reason, math.inf), math.inf, len(which))
    fewest = len(which) + 1
    for one in (coupling, *found.before)[:JUDGED]:
        of_samples = bench.outcomes(one, which)
        faults = max(sum(bool(each.reason) for each in of_samples), len(which) - bench.stable(one, which))
        if faults < fewest:
            coupling, outcomes, failed, fewest = one, of_samples, faults, faults
        if not failed:
            break  # else it fails with a sample that the search has left out, and one nearly as good may not
    worst = max(one.error for one in outcomes) if not failed else math.inf
    test = bench.with_coupling(coupling)
    try:
        stability = loop_stability(test)
    except HalfrealError:  # a rig that cannot be linearised: rehearsals alone speak
        stability = None
    return TuningRow(
        name,
        coupling,
        outcomes[0],
        worst,
        failed,
        worst_of(outcomes).reason,
        stability,
        short=found.short,
        predicted=predicted_error(test, bench.motion, bench.counted),
    )


def told_apart(bench: Bench, row: TuningRow) -> Parts | None:
    """The parts of a coupling's error; None if it failed."""
    return None if row.coupling is None or row.failed else parts(bench, row.coupling)


def alike(least: float, by_criterion: bool) -> float:
    """By how much more two are still alike."""
    return ALIKE_SHARE * abs(least) if by_criterion else ALIKE


def rank(rows: list[TuningRow], by_criterion: bool = False) -> list[TuningRow]:
    """The best first; of those alike the one that tolerates most delay, of failed ones the one that failed least."""
    usable = [row for row in rows if math.isfinite(row.worst)]
    sound = [row for row in usable if not row.short] or usable
    least = min((row.worst for row in sound), default=math.inf)
    near = least + alike(least, by_criterion)
    most = max((row.delay_margin for row in sound if row.worst <= near), default=0.0)

    def order(row: TuningRow) -> tuple[float, ...]:
        if not math.isfinite(row.worst):
            return 4.0, float(row.failed), row.nominal.error
        if not any(row is one for one in sound):
            return 3.0, row.worst
        if row.worst > near:
            return 2.0, row.worst
        tolerant = row.delay_margin >= 0.5 * most
        return 0.0 if tolerant else 1.0, float(adapts(row)), float(rows.index(row))

    return sorted(rows, key=order)


def adapts(row: TuningRow) -> bool:
    return row.coupling is not None and "adaptive" in row.coupling.kind


def with_reasons(ranked: list[TuningRow], bench: Bench) -> list[TuningRow]:
    """The rows, each but the first with why it lost against that."""
    if not ranked:
        return ranked
    best = ranked[0]
    near = best.worst + alike(best.worst, bool(bench.criterion))

    def lost(row: TuningRow) -> str:
        if row.nominal.reason:
            return row.nominal.reason
        if row.failed:
            return f"fails with {row.failed} of {len(bench.drawn)} rigs: {row.fault or 'unstable at rest'}"
        if row.short and not best.short:
            return row.short
        if row.worst > near:
            ratio = row.worst / best.worst if best.worst > 0.0 else math.inf
            return f"its {bench.criterion or 'error'} is {ratio:.3g} times that of the best"
        if row.delay_margin < 0.5 * best.delay_margin:
            return "equally accurate, but with less than half the delay margin"
        if adapts(row) and not adapts(best):
            return "equally accurate, but adaptive where a fixed one is as good"
        return "equally accurate, but less simple"

    return [best, *(replace(row, lost=lost(row)) for row in ranked[1:])]


def notes(definition: Definition, bench: Bench) -> list[str]:
    """What the answer rests on."""
    told = [finding.text for finding in out_of_reach(bench.nominal, bench.due)]
    if not bench.uncertain:
        told.append("no uncertainty is stated: assessed for the nominal rig only (add [uncertainty])")
    if bench.refused:
        told.append(f"{bench.refused} sample(s) of the uncertainty are not valid definitions and were skipped")
    if bench.due is None:
        told.append("the emulated system is not known: errors are those of the rig relative to its target")
    if bench.criterion:
        told.append(f"ranked by the criterion '{bench.criterion}' (section [criteria])")
    if bench.unlinearised:
        told.append(f"the loop cannot be linearised, so only rehearsals are used: {bench.unlinearised}")
    if bench.by_sensors:
        told.append("the rig does not provide its true displacement: errors are those of the measured one")
    if definition.timing.duration > LONGEST:
        told.append(f"the first {LONGEST:g} s of {definition.timing.duration:g} s were rehearsed")
    if bench.first:
        told.append(f"adaptive couplings are assessed by the last {100 * (1 - LEARNT):.0f} % of the test")
    if np.all([part is None for part in (definition.excitation.virtual, definition.excitation.specimen)]):
        told.append("this test has no excitation: the decay to rest was compared")
    return told
