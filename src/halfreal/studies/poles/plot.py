"""How poles are drawn: frequency and damping over a number of the definition, or against each other."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import units
from ...figures import BAD, GOOD, MEASURED, QUIET, REFERENCE, TARGET

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..charts.chart import Axis
    from .poles import LoopPoles

COLOURS = (TARGET, GOOD, "#7b3294", "#9a6700", "#c2185b", "#00838f", "#69717c")
HIGHEST_DAMPING = 1.02
SLOW, ROOM = 4.0, 2.5
"""A slow pole decays no faster than the first times the slowest; the panel reaches the second times its damping."""


def draw_sweep(figure: Figure, found: LoopPoles, over: Axis) -> None:
    """Two panels over the swept number, with the limits of stability, roots and identified poles."""
    above, below = figure.subplots(2, 1, sharex=True)
    factor, unit = units.of_axis(over.values, over.unit)
    x = factor * over.values
    shown = found.frequency_hz <= found.below_hz
    number = 0
    for track in np.argsort(-np.nanmax(np.where(shown, found.poles.real, -np.inf), axis=0)):
        points = shown[:, track]
        if not points.any():
            continue
        colour = COLOURS[number % len(COLOURS)]
        number += 1
        single: dict[str, Any] = {"marker": "." if points.sum() == 1 else "", "color": colour}
        above.plot(x, np.where(points, found.frequency_hz[:, track], np.nan), **single)
        below.plot(x, 100 * np.where(points, found.damping[:, track], np.nan), **single)
    if found.equation is not None:
        _draw_roots(above, below, x, found.equation.roots, found.below_hz)
    for one in found.identified:
        at = np.full(len(one.poles), factor * one.value)
        look: dict[str, Any] = {
            "color": MEASURED,
            "linestyle": "none",
            "marker": "o",
            "markersize": 5,
            "markerfacecolor": "none",
        }
        above.plot(at, one.frequency_hz, zorder=5, **look)
        below.plot(at, 100 * one.damping, zorder=5, **look)
    _shade_unstable((above, below), x, found, factor)
    below.axhline(0.0, color=QUIET, linewidth=0.9)
    if x[0] <= factor * over.operating <= x[-1]:
        for axes in (above, below):
            axes.axvline(factor * over.operating, color=REFERENCE, linewidth=0.9, linestyle=(0, (1, 2)))
    above.set(ylabel="frequency [Hz]", ylim=(0.0, found.below_hz), xlim=(x[0], x[-1]))
    above.set_title("Poles of the loop")
    below.set(xlabel=f"{over.place} [{unit}]", ylabel="damping ratio [%]", ylim=_damping_limits(found, shown))
    _legend(figure, found, over)


def _draw_roots(above: Axes, below: Axes, x: np.ndarray, roots: np.ndarray, highest: float) -> None:
    hz = np.abs(roots) / (2 * np.pi)
    kept = (hz <= highest) & (roots.imag >= 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        damping = 100 * -roots.real / np.abs(roots)
    look: dict[str, Any] = {"color": REFERENCE, "linestyle": (0, (4, 3)), "linewidth": 1.0, "zorder": 4}
    above.plot(x, np.where(kept, hz, np.nan), **look)
    below.plot(x, np.where(kept, damping, np.nan), **look)


def _shade_unstable(panels: tuple[Axes, ...], x: np.ndarray, found: LoopPoles, factor: float) -> None:
    edges = np.concatenate([[x[0]], factor * found.limits, [x[-1]]])
    unstable = not found.stable[0]
    for low, high in pairwise(edges):
        for axes in panels if unstable else ():
            axes.axvspan(low, high, facecolor=BAD, alpha=0.10, linewidth=0)
        unstable = not unstable
    for limit in factor * found.limits:
        for axes in panels:
            axes.axvline(limit, color=BAD, linewidth=1.0)


def _damping_limits(found: LoopPoles, shown: np.ndarray) -> tuple[float, float]:
    """About the slow poles, so that fast ones do not flatten them."""
    with np.errstate(invalid="ignore"):
        lead = np.nanmax(np.where(shown, found.poles.real, -np.inf), axis=1, keepdims=True)
        slow = shown & (found.poles.real >= SLOW * np.minimum(lead, 0.0))
    seen = 100 * np.concatenate([found.damping[slow], *(one.damping for one in found.identified), [0.0]])
    seen = seen[np.isfinite(seen)]
    high = min(max(ROOM * float(seen.max()), 1.0), 100 * HIGHEST_DAMPING)
    return min(float(seen.min()) * 1.15, -0.06 * high), high


def _legend(figure: Figure, found: LoopPoles, over: Axis) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: list[Artist] = [Line2D([], [], color=TARGET, label="sampled loop")]
    if found.equation is not None:
        entries.append(Line2D([], [], color=REFERENCE, linestyle=(0, (4, 3)), linewidth=1.0, label="delay equation"))
    if any(one.poles.size for one in found.identified):
        look: dict[str, Any] = {"color": MEASURED, "linestyle": "none", "marker": "o", "markerfacecolor": "none"}
        entries.append(Line2D([], [], label="identified from records", **look))
    if not found.stable.all():
        entries.append(Patch(facecolor=BAD, alpha=0.2, label="unstable"))
    if over.values[0] <= over.operating <= over.values[-1]:
        entries.append(Line2D([], [], color=REFERENCE, linestyle=(0, (1, 2)), linewidth=0.9, label="as defined"))
    figure.legend(handles=entries, loc="outside upper right", ncols=len(entries), fontsize=7.5)


def draw_map(figure: Figure, found: LoopPoles) -> None:
    """Damping against frequency, of one loop."""
    axes = figure.subplots()
    hz, damping = found.frequency_hz[0], 100 * found.damping[0]
    grows = found.poles[0].real >= 0.0
    for colour, chosen, label in ((TARGET, ~grows, "decays"), (BAD, grows, "grows")):
        if chosen.any():
            axes.plot(hz[chosen], damping[chosen], "x", color=colour, label=label, markeredgewidth=1.5)
    look: dict[str, Any] = {"markersize": 7, "markerfacecolor": "none", "linestyle": "none"}
    if found.equation is not None:
        roots = found.equation.roots[0]
        ratio = -100 * roots.real / np.abs(roots)
        axes.plot(np.abs(roots) / (2 * np.pi), ratio, "s", color=REFERENCE, label="delay equation", **look)
    for i, one in enumerate(found.identified):
        label = "" if i else "identified from records"
        axes.plot(one.frequency_hz, 100 * one.damping, "o", color=MEASURED, label=label, **look)
    axes.axhline(0.0, color=BAD, linewidth=0.9)
    seen = damping[(hz <= found.below_hz) & np.isfinite(damping)]
    top = min(max(1.3 * float(seen.max(initial=0.0)), 1.0), 100 * HIGHEST_DAMPING)
    axes.set(xlim=(0.0, found.below_hz), ylim=(min(1.3 * float(seen.min(initial=0.0)), -0.05 * top), top))
    axes.set(xlabel="frequency [Hz]", ylabel="damping ratio [%]")
    axes.set_title("Poles of the loop")
    axes.legend()
