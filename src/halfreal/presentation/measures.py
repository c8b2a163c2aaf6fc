"""The few numbers of a run to read first, as text; the table of errors is made in ``halfreal.runs.measures``."""

from __future__ import annotations

import numpy as np

from ..runs.measures import Measures as Measures
from ..runs.measures import counted as counted
from ..runs.measures import energy_error as energy_error
from ..runs.measures import measures as measures
from ..runs.measures import worst as worst
from ..runs.run import Run
from .series import largest, rows_in_test
from .specimen import headline
from .wording import in_time, in_unit, percent

REFERENCES = ("guo2014", "mosqueda2007")
"""Papers of the measures, for the report."""

MODELLED = "Fidelity error (model)"
"""On a rig whose specimen need not be that of the reference."""


def key_figures(run: Run, from_time: float = 0.0, rows: tuple[Measures, ...] | None = None) -> list[tuple[str, str]]:
    """The few numbers to read first, as text; of several axes that move, those of the worst, which is named.

    ``rows`` are the run's measures, if they have been computed.
    """
    figures = [("Outcome", run.outcome if not run.reason else f"{run.outcome}: {run.reason}")]
    if run.stability is not None and np.isfinite(run.stability.spectral_radius):
        figures.append(("Spectral radius", f"{run.stability.spectral_radius:.6f}"))
    peaks = [in_unit(value, unit) for unit, value in largest(run, "target", rows_in_test(run)).items()]
    if peaks:
        figures.append(("Peak target", ", ".join(peaks)))
    rows = measures(run, from_time) if rows is None else rows
    for comparison, name in (("synchronisation", "Synchronisation error"), ("fidelity", "Fidelity error")):
        found = worst(rows, comparison)
        if found is None:
            continue
        axis = "" if len(run.interface) == 1 else f" (axis {found.axis})"
        if comparison == "fidelity" and run.specimen_met is not None:
            figures.append(("Tested specimen", headline(run)))  # before what rests on its model
        if comparison == "fidelity" and run.rests_on_a_model:
            name = MODELLED
        figures.append((name, percent(found.nrmse) + axis))
        if comparison == "synchronisation":
            if np.isfinite(found.delay) or run.definition.get("slow") is None:
                figures.append(("Remaining delay", in_time(found.delay) + axis))
            figures.append(("Amplitude error", percent(found.amplitude - 1, sign=True) + axis))
    return figures
