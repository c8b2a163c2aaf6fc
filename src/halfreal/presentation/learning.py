"""How a coupling that learns came along: its key figures, and from when on a test with it is judged.

A harmonic coupling (``couplings/harmonic``) closes the gap in steady state, and until then it learns: errors
over the whole test would show how long it took, not how well the test was coupled.  It is judged by its last periods.
The learning curve is in ``learning_plot.py``: a command that prints key figures need not load matplotlib.
"""

from __future__ import annotations

import numpy as np

from ..runs.judged_samples import NMSE, PERIODS
from ..runs.judged_samples import learns as learns
from ..runs.judged_samples import since as since
from ..runs.run import Run
from . import series
from .wording import in_time, percent

NOTES = {
    "Judged from": f"the last {PERIODS:g} periods; the coupling adapts before",
    "Gap at the end": "RMS of gap over target",
}


def figures(run: Run, from_time: float) -> list[tuple[str, str]]:
    """Key figures of a coupling that learns; none of any other."""
    if not learns(run):
        return []
    found = [("Judged from", in_time(from_time))] if 0.0 < from_time == since(run) else []
    rows = series.judged_rows(run)
    if rows.start == rows.stop:
        return found
    return [*found, ("Gap at the end", percent(float(np.sqrt(run.signals[NMSE].values[rows.stop - 1]))))]
