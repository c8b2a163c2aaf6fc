"""Plots of a campaign: its scores over one number (curves), over two (maps), over more (main effects)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .. import units
from ..presentation.plots import SHARE, NothingToPlotError
from ..presentation.series import Display, display
from ..presentation.style import BAD, ERROR, QUIET, REFERENCE, TARGET, new_figure, styled
from .plan import Varied
from .store import Column, Results

SHARES = ("nrmse", "error", "used")
"""Endings of the names of scores that are shown in per cent."""
CONTOURS = 4
"""Values along each axis from which a map is drawn as filled contours; with fewer, as fields."""
SCATTERED = 12
"""Scattered points from which a map is drawn between them; with fewer, as dots."""
BINS = 8
MOST_DOTS = 3000
MARKS: dict[str, dict[str, Any]] = {
    "best": {"marker": "*", "markersize": 13, "color": "white", "markeredgecolor": REFERENCE, "markeredgewidth": 1.2},
    "in the definition": {
        "marker": "o", "markersize": 7, "color": "white", "markeredgecolor": REFERENCE, "markeredgewidth": 1.6,
    },
    "not completed or no GO": {"marker": "x", "markersize": 4, "color": BAD, "markeredgewidth": 1.0},
}  # fmt: skip


@dataclass(frozen=True)
class Line:
    """Values of a number or a score in people's unit, with what to write at their axis."""

    values: np.ndarray
    label: str
    factor: float


def of_parameter(results: Results, parameter: Varied) -> Line:
    factor, unit = units.of_axis(results[parameter.place], parameter.unit)
    return Line(factor * results[parameter.place], f"{parameter.place} [{unit}]", factor)


def unit_of(score: Column, values: np.ndarray) -> Display:
    """The unit in which people read a score."""
    if score.name.split(" ")[-1] in SHARES:
        return SHARE
    finite = np.abs(values[np.isfinite(values)])
    return Display(1.0, "°") if score.unit == "deg" else display(score.unit, float(finite.max(initial=0.0)))


def of_score(results: Results, score: Column) -> Line:
    shown = unit_of(score, results[score.name])
    return Line(shown.factor * results[score.name], f"{score.name} [{shown.label}]", shown.factor)


def numeric(results: Results) -> list[Column]:
    """The scores that can be drawn, the goal first."""
    goal = results.goal[0]
    found = [score for score in results.scores if score.unit and np.isfinite(results[score.name]).any()]
    return sorted(found, key=lambda score: score.name != goal.name)


@styled
def surfaces(results: Results) -> Figure:
    """Every score over the one or two numbers that vary."""
    scores, usable = numeric(results), results.accepted()
    if len(results.parameters) > 2 or not scores or not usable.any():
        raise NothingToPlotError("no completed point, or more than two numbers vary")
    draw = _curve if len(results.parameters) == 1 else _map
    rows = -(-len(scores) // 2)
    figure = new_figure(10.4, 0.5 + (2.5 if draw is _curve else 3.4) * rows)
    axes = figure.subplots(rows, 2, squeeze=False).ravel()
    for one in axes[len(scores) :]:
        one.remove()
    for one, score in zip(axes, scores, strict=False):
        draw(one, results, score, usable)
    handles: dict[str, Any] = {}
    for one in axes[: len(scores)]:
        handles |= dict(zip(*reversed(one.get_legend_handles_labels()), strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside upper right", ncols=3)
    return figure


@styled
def effects(results: Results) -> Figure:
    """The goal over each number that varies, for any of the others: all points, and the median of each stretch."""
    usable = results.accepted()
    if not usable.any():
        raise NothingToPlotError("no completed point")
    ranked = influence(results)
    goal = of_score(results, results.goal[0])
    columns = min(3, len(ranked))
    rows = -(-len(ranked) // columns)
    figure = new_figure(10.4, 0.3 + 2.6 * rows)
    axes = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
    for one in axes[len(ranked) :]:
        one.remove()
    best = results.best(1)
    kept = np.flatnonzero(usable)[:: -(-int(usable.sum()) // MOST_DOTS)]
    for i, (one, (parameter, correlation)) in enumerate(zip(axes, ranked, strict=False)):
        x = of_parameter(results, parameter)
        one.plot(x.values[kept], goal.values[kept], ".", color=TARGET, markersize=2.5, alpha=0.45, rasterized=True)
        one.plot(*medians(x.values[usable], goal.values[usable], parameter.log), color=ERROR, linewidth=1.8)
        one.plot(x.values[best], goal.values[best], linestyle="none", clip_on=False, **MARKS["best"])
        one.set(title=f"rank correlation {correlation:+.2f}".replace("-", "−"), xlabel=x.label)
        one.set_xscale("log" if parameter.log else "linear")
        if i % columns == 0:
            one.set_ylabel(goal.label)
    return figure


def influence(results: Results) -> list[tuple[Varied, float]]:
    """Spearman's rank correlation of each number that varies with the goal, the strongest first."""
    from scipy.stats import rankdata

    usable = results.accepted()
    goal = rankdata(results[results.goal[0].name][usable])
    found = []
    for parameter in results.parameters:
        ranks = rankdata(results[parameter.place][usable])
        spread = float(np.std(ranks) * np.std(goal))
        shared = float(np.mean((ranks - ranks.mean()) * (goal - goal.mean())))
        found.append((parameter, shared / spread if spread else 0.0))
    return sorted(found, key=lambda item: -abs(item[1]))


def medians(x: np.ndarray, y: np.ndarray, log: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Medians of y over x: at each value of x while these are few, else in stretches with as many points each."""
    distinct = np.unique(x)
    if len(distinct) <= 2 * BINS:
        return distinct, np.array([np.median(y[x == value]) for value in distinct])
    parts = np.array_split(np.argsort(x, kind="stable"), min(BINS, len(x)))
    middle = [np.exp(np.mean(np.log(x[part]))) if log else np.mean(x[part]) for part in parts]
    return np.array(middle), np.array([np.median(y[part]) for part in parts])


# --- one panel --------------------------------------------------------------------------------------------------------


def _curve(axes: Axes, results: Results, score: Column, usable: np.ndarray) -> None:
    (parameter,) = results.parameters
    x, y = of_parameter(results, parameter), of_score(results, score)
    order = np.argsort(x.values, kind="stable")
    line = np.where(usable, y.values, np.nan)[order]
    axes.plot(x.values[order], line, color=TARGET, marker=".", markersize=4, linewidth=1.1)
    others = ~usable & np.isfinite(y.values)
    _mark(axes, "not completed or no GO", x.values[others], y.values[others], clip=True)
    axes.axvline(parameter.value * x.factor, color=QUIET, linestyle=(0, (4, 2)), linewidth=0.9)
    best = results.best(1)
    _mark(axes, "best", x.values[best], y.values[best])
    shown = line[np.isfinite(line)]
    if shown.size and np.ptp(shown) > 0.0:  # a test that diverged must not flatten all others
        room = 0.15 * np.ptp(shown)
        axes.set_ylim(shown.min() - room, shown.max() + room)
    room = 0.01 * np.ptp(x.values)
    if room > 0.0 and not parameter.log:
        axes.set_xlim(x.values.min() - room, x.values.max() + room)
    axes.set(title=score.name, xlabel=x.label, ylabel=y.label, xscale="log" if parameter.log else "linear")


def _map(axes: Axes, results: Results, score: Column, usable: np.ndarray) -> None:
    across, upwards = results.parameters
    x, y, z = of_parameter(results, across), of_parameter(results, upwards), of_score(results, score)
    shown = usable & np.isfinite(z.values)
    if shown.any():
        drawn = _fill(axes, x.values, y.values, np.where(shown, z.values, np.nan), (across.log, upwards.log))
        bar = axes.figure.colorbar(drawn, ax=axes, pad=0.02)
        bar.outline.set_visible(False)
    _mark(axes, "not completed or no GO", x.values[~usable], y.values[~usable])
    ends = [(line.values.min(), line.values.max()) for line in (x, y)]
    here = np.array([across.value * x.factor, upwards.value * y.factor])
    if all(low <= value <= high for value, (low, high) in zip(here, ends, strict=True)):
        _mark(axes, "in the definition", here[:1], here[1:])
    best = results.best(1)
    _mark(axes, "best", x.values[best], y.values[best])
    axes.grid(False)
    axes.set(title=z.label, xlabel=x.label, ylabel=y.label)
    axes.set(xscale="log" if across.log else "linear", yscale="log" if upwards.log else "linear")


def _fill(axes: Axes, x: np.ndarray, y: np.ndarray, z: np.ndarray, logs: tuple[bool, bool]) -> Any:
    """Colours over a plane, from points on a grid or scattered; NaN is left white."""
    columns, rows = np.unique(x), np.unique(y)
    known = np.isfinite(z)
    if len(columns) * len(rows) == len(z) and min(len(columns), len(rows)) > 1:
        table = np.full((len(rows), len(columns)), np.nan)
        table[np.searchsorted(rows, y), np.searchsorted(columns, x)] = z
        if min(table.shape) >= CONTOURS and np.ptp(z[known]) > 0.0:
            filled = axes.contourf(columns, rows, np.ma.masked_invalid(table), levels=16, cmap="viridis")
            axes.contour(filled, levels=np.asarray(filled.levels)[::4], colors="white", linewidths=0.5, alpha=0.7)
            return filled
        return axes.pcolormesh(columns, rows, np.ma.masked_invalid(table), shading="nearest", cmap="viridis")
    if known.sum() >= SCATTERED and np.ptp(z[known]) > 0.0:
        try:
            return axes.tricontourf(*_triangles(x[known], y[known], logs), z[known], levels=16, cmap="viridis")
        except (RuntimeError, ValueError):  # all on one line
            pass
    return axes.scatter(x[known], y[known], c=z[known], s=22, cmap="viridis")


def _triangles(x: np.ndarray, y: np.ndarray, logs: tuple[bool, bool]) -> tuple[Any]:
    """Triangles between scattered points, as slim as they look on the page."""
    from matplotlib.tri import Triangulation

    scaled = [np.log(values) if log else values for values, log in zip((x, y), logs, strict=True)]
    unit = [(values - values.min()) / max(np.ptp(values), 1e-300) for values in scaled]
    return (Triangulation(x, y, Triangulation(*unit).triangles),)


def _mark(axes: Axes, name: str, x: np.ndarray, y: np.ndarray, clip: bool = False) -> None:
    if len(x):
        axes.plot(x, y, linestyle="none", label=name, zorder=5, clip_on=clip, **MARKS[name])
