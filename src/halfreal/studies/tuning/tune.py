"""The coupling chosen for a test: those that apply, each at its best on rehearsals, ranked.

The rig is the definition's model, with what is uncertain in it; the search is that of ``tune_search.py``, the errors
are told in ``tune_bench.py`` and ``tune_parts.py``.  Couplings are ranked by the largest error over the nominal rig and
all samples.  Those within ``ALIKE`` of the least are ranked by what else matters: first come those that bear at least
half as much further delay as any of them, and of these the simplest, fixed ones before those that adapt.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ...contracts.coupling import Coupling
from ...definition.definition import Definition
from ...errors import HalfrealError
from ...runs.loop_stability import LoopStability, loop_stability
from ...safety.limits import Commands
from ..check.criteria.reach import out_of_reach
from .bench import LEARNT, LONGEST, Bench, Outcome
from .parts import Parts, parts
from .search import Found, applies, search

SAMPLES = 20
TUNED = ", tuned: "
"""In a title, before the coupling; of a test that is tuned once more, the last."""
ALIKE = 5e-4
"""Difference of errors, as parts of the motion, that nobody will see."""


@dataclass(frozen=True)
class TuningRow:
    """One coupling: its errors on the nominal rig, the largest of all samples, margins, noise and effort."""

    name: str
    coupling: Coupling | None
    nominal: Outcome
    worst: float
    """Largest error of the nominal rig and all samples; endless if one of them failed."""
    failed: int
    """Samples that tripped, or are unstable at rest."""
    stability: LoopStability | None = None
    parts: Parts | None = None

    @property
    def delay_margin(self) -> float:
        """Further delay that the loop bears [s]; 0 if that is not known."""
        known = None if self.stability is None else self.stability.margin
        return 0.0 if known is None else float(known.critical_delay)


@dataclass(frozen=True)
class Tuning:
    """The answer: rows from the best to the worst, the best definition, and what to know about it."""

    rows: tuple[TuningRow, ...]
    best: Definition | None
    """Ready to check and to run; None if no coupling could be run."""
    samples: int
    rehearsals: int
    notes: tuple[str, ...]
    commands: Commands
    """What the rig is commanded in."""


def tune(
    definition: Definition,
    *,
    samples: int = SAMPLES,
    workers: int = 2,
    said: Callable[[str], None] = lambda text: None,
) -> Tuning:
    """Find the coupling for a test; ``said`` is told what is under way."""
    reason = applies(definition)
    if reason:
        raise HalfrealError(reason)
    bench = Bench(definition, samples, workers)
    try:
        said("couplings")
        found = search(bench, said)
        rows = []
        for one in found:
            said(f"{one.name}, all samples")
            rows.append(judged(bench, one))
        ranked = rank(rows)
        best = None
        if ranked and math.isfinite(ranked[0].worst):
            said("where the error comes from")
            ranked = [replace(row, parts=told_apart(bench, row)) for row in ranked]
            title = f"{definition.title.partition(TUNED)[0]}{TUNED}{ranked[0].name}"
            best = definition.unchecked_copy({"coupling": ranked[0].coupling, "title": title})
        told = tuple(notes(definition, bench))
        return Tuning(tuple(ranked), best, len(bench.drawn) - 1, bench.rehearsals, told, definition.commands)
    finally:
        bench.close()


def judged(bench: Bench, found: Found) -> TuningRow:
    """A coupling on all samples, with its margins."""
    which, name, coupling = range(len(bench.drawn)), found.name, found.coupling
    if coupling is None:
        return TuningRow(name, None, Outcome(found.reason, math.inf), math.inf, len(which))
    outcomes = bench.outcomes(coupling, which)
    failed = max(sum(bool(one.reason) for one in outcomes), len(which) - bench.stable(coupling, which))
    worst = max(one.error for one in outcomes) if not failed else math.inf
    return TuningRow(name, coupling, outcomes[0], worst, failed, loop_stability(bench.with_coupling(coupling)))


def told_apart(bench: Bench, row: TuningRow) -> Parts | None:
    """The parts of a coupling's error; None if it failed."""
    return None if row.coupling is None or row.failed else parts(bench, row.coupling)


def rank(rows: list[TuningRow]) -> list[TuningRow]:
    """The best first; of those alike the one that bears most, of those that failed the one that failed least."""
    least = min((row.worst for row in rows), default=math.inf)
    most = max((row.delay_margin for row in rows if row.worst <= least + ALIKE), default=0.0)

    def order(row: TuningRow) -> tuple[float, ...]:
        if not math.isfinite(row.worst):
            return 3.0, float(row.failed), row.nominal.error
        if row.worst > least + ALIKE:
            return 2.0, row.worst
        bears = row.delay_margin >= 0.5 * most
        adapts = row.coupling is not None and "adaptive" in row.coupling.kind
        return 0.0 if bears else 1.0, float(adapts), float(rows.index(row))

    return sorted(rows, key=order)


def notes(definition: Definition, bench: Bench) -> list[str]:
    """What the answer rests on."""
    told = [finding.text for finding in out_of_reach(bench.nominal, bench.due)]
    if not bench.uncertain:
        told.append(
            "nothing is said to be uncertain: judged for the rig exactly as described ([uncertainty] changes that)"
        )
    if bench.refused:
        told.append(f"{bench.refused} sample(s) of what is uncertain are no valid definitions, and were left out")
    if bench.due is None:
        told.append("the emulated system is not known: errors are those of the rig behind its target")
    if bench.by_sensors:
        told.append("the rig does not tell its true displacement: errors are those of the measured one")
    if definition.timing.duration > LONGEST:
        told.append(f"the first {LONGEST:g} s of {definition.timing.duration:g} s were rehearsed")
    if bench.first:
        told.append(f"couplings that learn are judged by the last {100 * (1 - LEARNT):.0f} % of the test")
    if np.all([part is None for part in (definition.excitation.virtual, definition.excitation.specimen)]):
        told.append("nothing excites this test: what was compared is how it comes to rest")
    return told
