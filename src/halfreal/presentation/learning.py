"""How a coupling that learns came along: its key figures, and from when on a test with it is judged.

A harmonic coupling (``couplings/harmonic``) closes the gap in steady state, and until then it learns: errors
over the whole test would show how long it took, not how well the test was coupled.  It is judged by its last periods.
The learning curve is in ``learning_plot.py``: a command that prints key figures need not load matplotlib.
"""

from __future__ import annotations

import numpy as np

from ..runs.columns import computed
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
<<<<<<< HEAD
    values = run.signals[NMSE].values[series.judged(run)]
    return [*found, ("Gap at the end", percent(float(np.sqrt(values[-1]))))] if len(values) else found
=======
    rows = series.judged_rows(run)
    if rows.start == rows.stop:
        return found
    return [*found, ("Gap at the end", percent(float(np.sqrt(run.signals[NMSE].values[rows.stop - 1]))))]


@styled
def learning_curve(run: Run) -> Figure:
    """Gap over target and error of the identification, on a logarithmic scale, and the amplitudes of the drive."""
    if not learns(run):
        raise NothingToPlotError("the coupling of this run does not adapt, or 'coupling.nmse' was not recorded")
    drives = [name for name in run.signals if name == DRIVE or name.startswith(f"{DRIVE}.")]
    figure = new_figure(10.4, 3.4 + 1.8 * bool(drives))
    heights = (1.6, 1.0) if drives else (1.0,)
    panels = list(np.ravel(figure.subplots(len(heights), 1, sharex=True, height_ratios=heights)))
    upper = panels[0]
    curves = ((MISFIT, MEASURED, "transfer functions: misfit / response"), (NMSE, ERROR, "gap / target"))
    for name, colour, label in curves:
        if name in run.signals:
            ratio = computed(_ratio, drawable(run.signals[name].values))
            upper.semilogy(*envelope(run.time, ratio), color=colour, linewidth=1.2, label=label)
    upper.set(title="Adaptation", ylabel="ratio of RMS values")
    upper.legend(loc="upper right", ncols=2)
    if drives:
        driven = [drawable(run.signals[name].values) for name in drives]
        unit = display(run.signals[drives[0]].unit, peak(*driven))
        for i, one in enumerate(driven):
            look = {"color": TARGET} if len(driven) == 1 else {}
            time, few = envelope(run.time, one)
            panels[-1].plot(time, unit.factor * few, linewidth=1.0, label=f"harmonic {i + 1}", **look)
        panels[-1].set(title="Amplitudes of the drive", ylabel=f"amplitude [{unit.label}]")
        if len(driven) > 1:
            panels[-1].legend(loc="upper right", ncols=min(len(driven), 5))
    panels[-1].set_xlabel("time [s]")
    dress(panels, run)
    return figure


def _ratio(squares: np.ndarray) -> np.ndarray:
    """Ratios of RMS values; nothing where they are not known."""
    return np.sqrt(np.where(squares > 0.0, np.maximum(squares, SMALLEST), np.nan))
>>>>>>> report
