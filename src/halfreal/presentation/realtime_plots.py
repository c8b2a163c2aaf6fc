"""Plots of how a run kept time."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..runs.run import Run
from .plots import NothingToPlotError
from .realtime import PACES, in_tick, recorded, spread
from .spreads import Numbers
from .style import BAD, MEASURED, QUIET, TARGET, new_figure, styled

SHORTEST = 1e-8
"""What is earlier or shorter [s] counts as this: a logarithm needs a least value."""
BINS = 20
"""In each decade."""


@styled
def pace(run: Run) -> Figure:
    """Histograms of lateness and execution time, both axes logarithmic, with percentiles and the length of a tick."""
    if run.definition.get("slow") is not None:
        raise NothingToPlotError("a slow test records only the last period of each tick")
    found = {name: recorded(run, channel) for channel, (name, _) in PACES.items()}
    found = {name: values for name, values in found.items() if len(values)}
    if not found:
        raise NothingToPlotError("the run has no timing of its ticks; record pace.lateness and pace.execution")
    low = np.floor(np.log10(min(max(values.least, SHORTEST) for values in found.values())))
    high = np.ceil(np.log10(max(*(values.largest for values in found.values()), 1.5 * run.step)))
    edges = np.logspace(low, high, BINS * int(high - low) + 1)
    figure = new_figure(10.4, 3.0)
    panels = np.ravel(figure.subplots(1, len(found), sharey=True))
    colors = {"latency": TARGET, "execution": MEASURED}
    for axes, (name, values) in zip(panels, found.items(), strict=True):
        _histogram(axes, values, edges, colors[name], run.step)
        axes.set(title=f"{name.capitalize()} of {len(values)} ticks", xlabel="time [µs]")
    panels[0].set(ylabel="ticks", ylim=(0.7, 8 * max(map(len, found.values()))))
    return figure


def _histogram(axes: Axes, values: Numbers, edges: np.ndarray, color: str, step: float) -> None:
    # what is earlier than the axis begins is counted in its first bin, and shown as it is
    counts = sum(np.histogram(np.clip(piece, edges[0], edges[-1]), edges)[0] for piece in values)
    axes.stairs(counts, 1e6 * edges, fill=True, color=color, alpha=0.75, baseline=0.5)
    axes.set(xscale="log", yscale="log", xlim=(1e6 * edges[0], 1e6 * edges[-1]))
    marks = spread(values)
    for i, (name, value) in enumerate(marks.items()):
        at = 1e6 * min(max(value, edges[0]), edges[-1])
        axes.axvline(at, color=QUIET, linewidth=0.9, linestyle=(0, (3, 2)))
        _note(axes, at, 0.97 - 0.085 * i, f"{name}: {in_tick(value)}", "#3a414b")
    axes.axvline(1e6 * step, color=BAD, linewidth=1.2)
    _note(axes, 1e6 * step, 0.97 - 0.085 * len(marks), "one tick", BAD)


def _note(axes: Axes, x: float, y: float, text: str, color: str) -> None:
    low, high = np.log(axes.get_xlim())
    left = np.log(x) > low + 0.7 * (high - low)
    axes.annotate(
        text,
        xy=(x, y),
        xycoords=("data", "axes fraction"),
        xytext=(-3 if left else 3, 0),
        textcoords="offset points",
        ha="right" if left else "left",
        va="top",
        fontsize=7.5,
        color=color,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.6},
    )
