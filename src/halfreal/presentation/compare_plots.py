"""Plots of two runs laid over each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..runs.run import Run
from . import series
from .compare import common, events, labels
from .phases import dress_both
from .plots import SHARE, energy_limits, fit, look_title, needed, unit_of, values_of
from .series import Display, envelope, peak
from .style import MEASURED, TARGET, new_figure, styled

FIRST, SECOND = "#0f766e", "#8a929e"
LOOKS: tuple[dict[str, Any], ...] = (
    {"color": FIRST, "linewidth": 1.0, "zorder": 2.1},
    {"color": SECOND, "linewidth": 3.0, "alpha": 0.55},
)
"""The first is thin and dark on top, the second broad and pale below: curves that agree stay visible."""


@dataclass(frozen=True)
class Curve:
    """A line of a panel."""

    time: np.ndarray
    values: np.ndarray
    in_view: np.ndarray
    """Which samples must be seen in full."""
    look: dict[str, Any]

    @property
    def extent(self) -> tuple[float, float]:
        return series.extent(self.values, self.in_view)


@dataclass(frozen=True)
class Panel:
    """Curves over the same time and in the same unit."""

    title: str
    label: str
    curves: list[Curve]
    unit: Display

    def draw(self, axes: Axes, window: tuple[float, float] | None) -> None:
        """Draw the whole, or a window [s] of it."""
        for curve in self.curves:
            kept = slice(None) if window is None else (curve.time >= window[0]) & (curve.time <= window[1])
            axes.plot(*envelope(curve.time[kept], self.unit.factor * curve.values[kept], 1800), **curve.look)
        if window is None:
            fit(axes, [curve.extent for curve in self.curves], self.unit)
        elif window[1] > window[0]:
            axes.set_xlim(window)


@styled
def histories(first: Run, second: Run, dof: int = 1) -> Figure:
    """Target, what should follow it, gap and energy error of both, and what distinguishes them, in time."""
    for run in (first, second):
        needed(run, "target", dof)
    panels = _panels(first, second, dof)
    closest = next((run for run in (first, second) if series.cut_short(run) is not None), first)
    window = series.closer_look(closest, needed(closest, "target", dof))
    happened = events(first, second)
    figure = new_figure(10.4, 1.0 + 1.55 * len(panels))
    grid = figure.add_gridspec(len(panels), 2, width_ratios=(1.9, 1))
    for side in (0, 1):
        drawn: list[Axes] = []
        for i, panel in enumerate(panels):
            axes = figure.add_subplot(grid[i, side], sharex=drawn[0] if drawn else None)
            drawn.append(axes)
            panel.draw(axes, window if side else None)
            axes.tick_params(labelbottom=i == len(panels) - 1)
            if panel.unit is SHARE:
                energy_limits(axes, first, dof, titled=not side)
            elif not side:
                axes.set(title=panel.title, ylabel=f"{panel.label} [{panel.unit.label}]")
            if not side and len(axes.get_legend_handles_labels()[0]) > 1:
                axes.legend(loc="lower right", bbox_to_anchor=(1.0, 0.97), ncols=2, borderpad=0)
        if side:
            drawn[0].set_title(look_title(closest))
        drawn[-1].set_xlabel("time [s]")
        names = ("", " ") if side else labels(first, second)  # beside the closer look there is no room for them
        dress_both(drawn, dict(zip(names, (first, second), strict=True)), happened)
    figure.legend(
        [Line2D([], [], **look) for look in LOOKS], labels(first, second), loc="outside upper center", ncols=2
    )
    return figure


def _panels(first: Run, second: Run, dof: int) -> list[Panel]:
    runs = (first, second)
    whole = [np.ones(len(run.time), dtype=bool) for run in runs]
    in_view = [series.in_view(run) for run in runs]
    target = [values_of(run, "target", dof) for run in runs]
    of = series.compared(first, dof)
    measured = [values_of(run, of.followed, dof) for run in runs]
    gap = [None if x is None or z is None else x - z for x, z in zip(measured, target, strict=True)]
    energy = [values_of(run, "energy.error", dof) for run in runs]

    def overlay(found: list[np.ndarray | None], kept: list[np.ndarray]) -> list[Curve]:
        sides = zip(runs, found, kept, LOOKS, strict=True)
        return [Curve(run.time, values, seen, look) for run, values, seen, look in sides if values is not None]

    panels = [
        ("Target", of.quantity, overlay(target, whole)),
        (f"Measured {of.quantity}", of.quantity, overlay(measured, whole)),
        ("Synchronisation error", of.gap, overlay(gap, in_view)),
        (f"Difference: {' − '.join(labels(first, second))}", "difference", _difference(first, second, dof)),
    ]
    made = []
    for title, label, curves in panels:
        if curves:
            largest = peak(*(np.array(curve.extent) for curve in curves))
            made.append(Panel(title, label, curves, unit_of(first, "target", dof, largest)))
    shares = overlay(energy, in_view)
    return [*made, Panel("Running energy error", "share", shares, SHARE)] if shares else made


def _difference(first: Run, second: Run, dof: int) -> list[Curve]:
    """First − second at the times that both have, until one of them was stopped."""
    i, j = common(first, second)
    stops = [series.cut_short(run) for run in (first, second) if run.outcome == "stopped"]
    kept = first.time[i] <= min((stop for stop in stops if stop is not None), default=np.inf)
    i, j = i[kept], j[kept]
    in_view = series.in_view(first)[i] & series.in_view(second)[j]
    found = []
    for channel, label, color in (
        ("target", "target", TARGET),
        (series.compared(first).followed, "measured", MEASURED),
    ):
        ours, theirs = values_of(first, channel, dof), values_of(second, channel, dof)
        if ours is not None and theirs is not None and len(i):
            look = {"color": color, "linewidth": 0.8, "label": label}
            found.append(Curve(first.time[i], ours[i] - theirs[j], in_view, look))
    return sorted(found, key=lambda curve: -peak(np.array(curve.extent)))  # the smaller on top
