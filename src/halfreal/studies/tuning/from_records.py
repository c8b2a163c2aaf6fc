"""Couplings chosen from recorded tests: the rig is identified, the search is made on it, and what it predicts is
reported.

How much a prediction is worth, the records say themselves: each is rehearsed again, with its own coupling and
excitation, on the rig that was identified, and the error that this predicts is listed next to the one that was
achieved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...contracts.rig import Rig
from ...definition.definition import Definition
from ...definition.load import from_json
from ...errors import HalfrealError
from ...runs.lean import lean_rehearsal
from ...runs.measures import measures, worst
from ...runs.run import Run
from ..identifying.identify import Identified, identify
from .tune import SAMPLES, Tuning, tune

SIGNALS = ("target", "measured.displacement", "measured.force")


@dataclass(frozen=True)
class Against:
    """A record next to what the identified rig predicts of the same test: errors of the motion behind its target."""

    name: str
    achieved: float
    predicted: float
    reason: str = ""
    """Why nothing is predicted; else empty."""


@dataclass(frozen=True)
class TunedFromRecords:
    """The rig that records show, how well it predicts them, and the coupling for it."""

    identified: Identified
    against: tuple[Against, ...]
    tuning: Tuning


def tune_from_records(
    definition: Definition,
    runs: Sequence[tuple[str, Run]],
    *,
    samples: int = SAMPLES,
    workers: int = 2,
    on_progress: Callable[[str], None] = lambda text: None,
    journal: Path | None = None,
) -> TunedFromRecords:
    """Identify the rig of a definition from named runs on it, and find the coupling for all that they leave open."""
    on_progress("identifying the rig")
    found = identify(definition, runs, on_progress=on_progress)
    if found.definition is None:
        raise HalfrealError(
            "the records do not determine the rig's parameters"
            + (f": {'; '.join(found.notes)}" if found.notes else "")
            + "; 'halfreal identify' shows details and accepts --parameter; then tune the definition that it writes"
        )
    compared = tuple(against(found.definition.rig, name, run) for name, run in runs)
    tuning = tune(found.definition, samples=samples, workers=workers, on_progress=on_progress, journal=journal)
    return TunedFromRecords(found, compared, tuning)


def against(rig: Rig, name: str, run: Run) -> Against:
    """A recorded test next to its rehearsal on another rig."""
    row = worst(measures(run), "synchronisation")
    achieved = math.nan if row is None else row.nrmse
    try:
        recorded = from_json(Definition, run.definition).unchecked_copy({"rig": rig, "link": None, "criteria": None})
        axes = recorded.interface
        again = lean_rehearsal(recorded, [one for signal in SIGNALS for one in axes.channels(signal)])
        predicted = worst(measures(again), "synchronisation")
    except HalfrealError as error:
        return Against(name, achieved, math.nan, str(error))
    if again.outcome != "completed":
        return Against(name, achieved, math.nan, f"its rehearsal {again.outcome}: {again.reason}")
    return Against(name, achieved, math.nan if predicted is None else predicted.nrmse)
