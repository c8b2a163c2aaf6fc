"""The learning curve of a coupling that adapts (``learning.py``)."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from ..runs.columns import computed
from ..runs.judged_samples import NMSE, learns
from ..runs.run import Run
from .phases import dress
from .plots import NothingToPlotError
from .series import display, drawable, envelope, peak
from .style import ERROR, MEASURED, TARGET, new_figure, styled

MISFIT, DRIVE = "coupling.misfit", "coupling.drive"
SMALLEST = 1e-16
"""Ratio of squares below which rounding is drawn."""


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
