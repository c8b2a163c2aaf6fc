"""How stability charts look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...figures import BAD, GOOD, QUIET
from ...runs.validity import IN_ANY_MOTION

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .chart import Chart

INK = "#14181d"


def draw(figure: Figure, chart: Chart) -> None:
    """A stability chart in a figure."""
    axes = figure.subplots()
    (fx, ux), (fy, uy) = chart.x.scale, chart.y.scale
    x, y = chart.x.values * fx, chart.y.values * fy
    if chart.measure == "delay":
        fill(figure, axes, x, y, 1e3 * chart.margin, "margin: delay to the boundary [ms]")
    else:
        what = "deviations from the motion" if chart.measure == "motion" else "the slowest pole"
        fill(figure, axes, x, y, chart.margin, f"margin: decay rate of {what} [1/s]")
    for curve in chart.branches:
        axes.plot(curve[:, 0] * fx, curve[:, 1] * fy, color=QUIET, linewidth=0.7)
    for curve in chart.boundary:
        axes.plot(curve[:, 0] * fx, curve[:, 1] * fy, color=INK, linewidth=1.6)
    mark(axes, chart.x.operating * fx, chart.y.operating * fy)
    axes.set(
        xlabel=f"{chart.x.place} [{ux}]",
        ylabel=f"{chart.y.place} [{uy}]",
        xlim=(x[0], x[-1]),
        ylim=(y[0], y[-1]),
        title="stability chart" if chart.holds == IN_ANY_MOTION else f"stability chart, {chart.holds}",
    )
    name_regions(axes, x, y, chart.margin)


def fill(figure: Figure, axes: Any, x: np.ndarray, y: np.ndarray, margin: np.ndarray, words: str) -> None:
    """Filled contours of a margin, its colours centred on the boundary, with a colour bar."""
    from matplotlib.colors import LinearSegmentedColormap

    finite = margin[np.isfinite(margin)]
    sizes = finite[finite > 0.0] if np.any(finite > 0.0) else -finite[finite < 0.0]
    # the stable part sets the range: how unstable the unstable part is matters less
    reach = _rounded(float(np.quantile(sizes, 0.9))) if sizes.size else 1.0
    stops = ((0.0, BAD), (0.4999, "#f7dcd8"), (0.5001, "#d9eee0"), (1.0, GOOD))  # the boundary shows as a step
    colours = LinearSegmentedColormap.from_list("margin", stops)
    levels = np.linspace(-reach, reach, 21)
    shown = np.clip(margin, -reach, reach)
    filled = axes.contourf(x, y, np.ma.masked_invalid(shown), levels=levels, cmap=colours, extend="both", alpha=0.75)
    axes.set_axisbelow(False)
    axes.grid(color="white", linewidth=0.5, alpha=0.6)
    bar = figure.colorbar(filled, ax=axes, pad=0.02, ticks=np.linspace(-reach, reach, 5))
    bar.set_label(words)
    bar.outline.set_visible(False)


def mark(axes: Any, x: float, y: float) -> None:
    """The operating point."""
    axes.plot(
        x, y, marker="o", markersize=7, color="white", markeredgecolor=INK, markeredgewidth=1.8, linestyle="none",
        label="operating point", zorder=5, clip_on=False,
    )  # fmt: skip
    axes.legend(loc="upper right", frameon=True, framealpha=0.85, edgecolor="none", handletextpad=0.3)


def name_regions(axes: Any, x: np.ndarray, y: np.ndarray, margin: np.ndarray) -> None:
    """Write "stable" and "unstable" where there is most room for it."""
    from scipy.ndimage import distance_transform_edt

    valid = ~np.isnan(margin)
    for part, word, colour in ((valid & (margin > 0.0), "stable", GOOD), (valid & (margin <= 0.0), "unstable", BAD)):
        if np.mean(part) < 0.01:
            continue
        room = np.pad(part, 1)
        spacing = (1.0 / part.shape[0], 1.6 / part.shape[1])  # a word is wide
        place = distance_transform_edt(room, sampling=spacing)[1:-1, 1:-1]
        row, column = np.unravel_index(np.argmax(place), place.shape)
        axes.text(
            x[column], y[row], word, ha="center", va="center", color=colour, fontweight="bold", fontsize=10, alpha=0.95,
            bbox={"boxstyle": "round,pad=0.25", "facecolor": "white", "alpha": 0.75, "linewidth": 0}, zorder=4,
        )  # fmt: skip


def _rounded(value: float) -> float:
    """The next of 1, 2, 2.5, 4, 5, 8 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(step for step in (1.0, 2.0, 2.5, 4.0, 5.0, 8.0, 10.0) if value <= step * power * 1.0001) * power)
