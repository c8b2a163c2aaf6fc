"""Plots of two runs overlaid on each other."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..runs.columns import Column, computed, part
from ..runs.run import Run
from . import series
from .common_times import SAME, common, taken
from .compare import events, labels
from .phases import dress_both
from .plots import (
    QUANTITIES,
    SHARE,
    NothingToPlotError,
    energy_limits,
    few,
    fit,
    in_plane,
    look_title,
    needed,
    samples_from,
    unit_of,
    values_of,
)
from .series import Display, display, drawable, envelope, peak
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

    time: Column
    values: Column
    in_view: slice
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
            kept = slice(None)
            if window is not None:
                kept = slice(bisect_left(curve.time, window[0]), bisect_right(curve.time, window[1]))
            time, shown = envelope(part(curve.time, kept), part(curve.values, kept), 1800)
            axes.plot(time, self.unit.factor * shown, **curve.look)
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
        names = ("", " ") if side else labels(first, second)  # next to the closer look there is no room for them
        dress_both(drawn, dict(zip(names, (first, second), strict=True)), happened)
    figure.legend(
        [Line2D([], [], **look) for look in LOOKS], labels(first, second), loc="outside upper center", ncols=2
    )
    return figure


@styled
def loops(first: Run, second: Run, dof: int = 1, from_time: float = 0.0) -> Figure:
    """Force against displacement of each, side by side on the same scales, and of both on top of each other."""
    pairs = []
    for run in (first, second):
        kept = samples_from(run, from_time)
        pairs.append([part(needed(run, f"measured.{name}", dof), kept) for name in ("displacement", "force")])
    x_unit = unit_of(first, "measured.displacement", dof, peak(*(x for x, _ in pairs)))
    f_unit = unit_of(first, "measured.force", dof, peak(*(f for _, f in pairs)))
    figure = new_figure(10.4, 3.7)
    panels = figure.subplots(1, 3, sharex=True, sharey=True)
    moved, felt = ("rotation", "moment") if first.interface.rotations[dof - 1] else ("displacement", "force")
    for i, ((x, f), name, look) in enumerate(zip(pairs, labels(first, second), LOOKS, strict=True)):
        in_plane(panels[i], x_unit.factor * few(x), f_unit.factor * few(f), str(look["color"]))
        panels[i].set_title(name)
    for (x, f), look in reversed(list(zip(pairs, LOOKS, strict=True))):
        in_plane(panels[2], x_unit.factor * few(x), f_unit.factor * few(f), **look)
    panels[2].set_title("both")
    panels[0].set_ylabel(f"measured {felt} [{f_unit.label}]")
    for axes in panels:
        axes.set_xlabel(f"measured {moved} [{x_unit.label}]")
    return figure


@styled
def responses(first: Run, second: Run) -> Figure:
    """Responses of the virtual part that either definition requests, of both runs."""
    names = [name for name in series.responses(first) if name in second.signals]
    if not names:
        raise NothingToPlotError(
            "no response of the virtual part was recorded in both; request one in virtual.responses"
        )
    figure = new_figure(10.4, 0.7 + 1.5 * len(names))
    panels = list(np.ravel(figure.subplots(len(names), 1, sharex=True)))
    for axes, name in zip(panels, names, strict=True):
        values = [drawable(run.signals[name].values) for run in (first, second)]
        unit = display(first.signals[name].unit, peak(*values))
        for run, of_run, look in zip((first, second), values, LOOKS, strict=True):
            time, shown = envelope(run.time, of_run, 1800)
            axes.plot(time, unit.factor * shown, **look)
        axes.set_title(name, parse_math=False)
        axes.set_ylabel(f"{QUANTITIES.get(first.signals[name].unit, 'value')} [{unit.label}]", parse_math=False)
    panels[-1].set_xlabel("time [s]")
    return figure


def _panels(first: Run, second: Run, dof: int) -> list[Panel]:
    runs = (first, second)
    whole = [series.whole_run(run) for run in runs]
    in_view = [series.in_view(run) for run in runs]
    target = [values_of(run, "target", dof) for run in runs]
    of = series.compared(first, dof)
    measured = [values_of(run, of.followed, dof) for run in runs]
    gap = [
        None if x is None or z is None else computed(np.subtract, x, z) for x, z in zip(measured, target, strict=True)
    ]
    energy = [values_of(run, "energy.error", dof) for run in runs]

    def overlay(found: Sequence[Column | None], kept: list[slice]) -> list[Curve]:
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
    answers = overlay([values_of(run, of.answer, dof) for run in runs], whole)
    if answers:
        largest = peak(*(np.array(curve.extent) for curve in answers))
        what = of.answer.partition(".")[2]
        made.insert(2, Panel(f"Measured {what}", what, answers, unit_of(first, of.answer, dof, largest)))
    shares = overlay(energy, in_view)
    return [*made, Panel("Running energy error", "share", shares, SHARE)] if shares else made


def _difference(first: Run, second: Run, dof: int) -> list[Curve]:
    """First − second at the times that both have, until one of them was stopped."""
    stops = [series.cut_short(run) for run in (first, second) if run.outcome == "stopped"]
    until = min((stop for stop in stops if stop is not None), default=np.inf)
    ours, theirs = common(first, second, slice(0, bisect_right(first.time, until)), series.whole_run(second))
    times, in_view = taken(first.time, ours), _seen(first, second)
    kept = slice(bisect_left(times, in_view[0]), bisect_right(times, in_view[1]))
    found = []
    for channel, label, color in (
        ("target", "target", TARGET),
        (series.compared(first).followed, "measured", MEASURED),
    ):
        here, there = values_of(first, channel, dof), values_of(second, channel, dof)
        if here is not None and there is not None and len(times):
            look = {"color": color, "linewidth": 0.8, "label": label}
            apart = computed(np.subtract, taken(here, ours), taken(there, theirs))
            found.append(Curve(times, apart, kept, look))
    return sorted(found, key=lambda curve: -peak(np.array(curve.extent)))  # the smaller on top


def _seen(first: Run, second: Run) -> tuple[float, float]:
    """Times [s] between which plots of errors of both show all."""
    rows = [(run, series.in_view(run)) for run in (first, second)]
    if any(kept.start == kept.stop for _, kept in rows):
        return np.inf, -np.inf
    margin = SAME * min(first.step, second.step)
    low, high = max(run.time[kept.start] for run, kept in rows), min(run.time[kept.stop - 1] for run, kept in rows)
    return float(low) - margin, float(high) + margin
