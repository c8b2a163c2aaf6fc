"""How limit cycles and bifurcation diagrams look."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import units
from ...figures import BAD, GOOD, MEASURED, QUIET, TARGET
from .specials import stability_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .continuation import Branch, Continuation
    from .periodic_motion import PeriodicMotion

INK = "#14181d"
COLOURS = {"stable": GOOD, "unstable": BAD, "neutral": QUIET}
LINES = {"stable": "-", "unstable": "--", "neutral": "-"}
MARKS = {"fold": "D", "period doubling": "s", "Neimark–Sacker": "^", "branch point": "P"}


def draw_cycle(figure: Figure, cycle: PeriodicMotion) -> None:
    """One period of the axis that moves most, and its force against its displacement."""
    left, right = figure.subplots(1, 2)
    n = len(cycle.channels) // 3
    target, measured, force = (cycle.channels[cycle.axis + i * n] for i in range(3))
    factor, unit = units.of_axis(cycle.signal(target), cycle.units[cycle.axis])
    newton, of_force = units.of_axis(cycle.signal(force), cycle.units[cycle.axis + 2 * n])
    time, moved = 1e3 * cycle.time, factor * cycle.signal(measured)
    left.plot(time, factor * cycle.signal(target), color=TARGET, label=target)
    left.plot(time, moved, color=MEASURED, label=measured)
    left.set(xlabel="time [ms]", ylabel=f"displacement [{unit}]", title=f"limit cycle, {cycle.frequency_hz:.4g} Hz")
    left.legend(loc="lower left")
    right.plot(factor * cycle.signal(target), newton * cycle.signal(force), color=INK)
    right.set(xlabel=f"{target} [{unit}]", ylabel=f"{force} [{of_force}]", title="force against target")


def draw_diagram(figure: Figure, found: Continuation) -> None:
    """Amplitude of cycles over the number, and the state of rest below."""
    axes = figure.subplots()
    fx, ux = units.of_axis(np.array([found.low, found.high]), found.unit)
    fy, uy = units.of_axis(np.array([found.largest]), found.amplitude_unit)
    labelled: set[str] = set()
    rest = np.where(found.growth[:, 1] < 0.0, 0.5, 1.5)
    borders = [found.low, *(one.number for one in found.hopf), found.high]
    for begin, end in pairwise(borders):
        inside = (found.growth[:, 0] >= begin) & (found.growth[:, 0] <= end)
        kind = "stable" if not inside.any() or np.median(rest[inside]) < 1.0 else "unstable"
        line(axes, fx * np.array([begin, end]), np.zeros(2), kind, labelled, 2.4)
    for branch in found.branches:
        draw_branch(axes, branch, fx, fy, labelled)
    for one in found.hopf:
        label = one.criticality if one.criticality != "unknown" else ""
        name = f"{label} Hopf point".strip()
        axes.plot(
            fx * one.number, 0.0, "o", color="white", markeredgecolor=INK, markersize=6, label=name, zorder=5,
            clip_on=False,
        )  # fmt: skip
    for branch in found.branches:
        for special in branch.specials:
            axes.plot(
                fx * special.number, fy * special.amplitude, MARKS[special.kind], color=INK, markersize=5,
                linestyle="none", label=None if special.kind in labelled else special.kind, zorder=5,
            )  # fmt: skip
            labelled.add(special.kind)
    top = max([1.15 * float(branch.amplitudes.max()) for branch in found.branches] or [found.largest])
    top = fy * min(top, found.largest)
    axes.axvline(fx * found.operating, color=QUIET, linewidth=0.9, linestyle=":", label="operating point")
    axes.set(
        xlabel=f"{found.place} [{ux}]",
        ylabel=f"amplitude of the target [{uy}]",
        xlim=(fx * found.low, fx * found.high),
        ylim=(-0.02 * top, top),
        title="limit cycles over a number of the definition",
    )
    axes.legend(loc="best", frameon=True, framealpha=0.9, edgecolor="none")


def draw_branch(axes: Any, branch: Branch, fx: float, fy: float, labelled: set[str]) -> None:
    """A family, in pieces of one kind of stability each."""
    kinds = [stability_of(size) for size in branch.sizes]
    begin = 0
    for i in range(1, len(kinds) + 1):
        if i == len(kinds) or kinds[i] != kinds[begin]:
            piece = slice(begin, min(i + 1, len(kinds)))
            line(axes, fx * branch.numbers[piece], fy * branch.amplitudes[piece], kinds[begin], labelled, 1.8)
            begin = i


def line(axes: Any, x: np.ndarray, y: np.ndarray, kind: str, labelled: set[str], width: float) -> None:
    axes.plot(
        x, y, color=COLOURS[kind], linestyle=LINES[kind], linewidth=width, label=None if kind in labelled else kind
    )
    labelled.add(kind)
