"""Phases of a run, by the guard's mode, and how they show in plots against time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.transforms import ScaledTranslation

from ..runs.columns import pieces
from ..runs.run import Run
from . import series
from .style import mark_events

MODES = {
    0: ("running", "#a5d6b5"),
    1: ("tripped", "#ef9a93"),
    2: ("finished", "#cfd4da"),
    3: ("armed", "#dfe3e8"),
    4: ("ramping", "#f6d58a"),
    5: ("ramp-down", "#c9b8e6"),
    6: ("stopped", "#b9c0c9"),
}
"""Values of the guard's mode: name and colour of the phase."""
OUTSIDE = "#f3f4f6"
HEIGHT = 9.0
"""Of a strip of phases, in points."""
LETTER = 3.4
"""Room that a letter in a strip needs, in points of the width that axes have before the layout widens them."""


class Happening(Protocol):
    """An event, as far as a plot marks it."""

    @property
    def time(self) -> float: ...

    @property
    def channel(self) -> str: ...


@dataclass(frozen=True)
class Phase:
    """A stretch of the run in which the guard kept its mode."""

    name: str
    color: str
    start: float
    end: float


def phases(run: Run) -> list[Phase]:
    """The run's phases in order, but for a last one of a single sample; none if the guard's mode was not recorded."""
    mode = run.signals.get("guard.mode")
    if mode is None or not len(run.time):
        return []
    begins, before, count = [], None, 0
    for (values,) in pieces(mode.values):
        known = np.where(np.isfinite(values), values, -1.0)
        changed = np.flatnonzero(known[1:] != known[:-1]) + 1
        begins += [count + int(i) for i in (*([] if known[0] == before else [0]), *changed)]
        before, count = known[-1], count + len(known)
    found = []
    for i, j in zip(begins, [*begins[1:], count - 1], strict=True):
        value = float(mode.values[i])
        name, color = MODES.get(int(value) if np.isfinite(value) else -1, (f"mode {value:g}", "#ffffff"))
        found.append(Phase(name, color, float(run.time[i]), float(run.time[j])))
    return [phase for phase in found if phase.end > phase.start] or found


def dress(panels: list[Axes], run: Run) -> None:
    """Give panels above each other, all against time, the run's phases and events, and a shade outside the test."""
    dress_both(panels, {"": run}, run.events)


def dress_both(panels: list[Axes], runs: Mapping[str, Run], events: Sequence[Happening]) -> None:
    """The same of several runs by their names; ``events`` are in the order in which the page lists them."""
    known = {name: phases(run) for name, run in runs.items()}
    shown = {name: found for name, found in known.items() if len(found) > 1}
    for i, (name, found) in enumerate(reversed(shown.items())):
        _strip(panels[0], found, name, 5 + i * (HEIGHT + 1))
    if shown:
        title = panels[0].get_title(loc="left")
        panels[0].set_title(title, pad=7 + len(shown) * (HEIGHT + 1), parse_math=False)
    # a change of phase is no alarm, and shows in the strip
    told = {i: event.time for i, event in enumerate(events, start=1) if event.channel != "guard.mode" or not shown}
    for panel in panels:
        _shade(panel, list(runs.values()))
        mark_events(panel, told)


def _shade(axes: Axes, runs: list[Run]) -> None:
    """Grey where a record continues before or after the test."""
    low, high = axes.get_xlim()
    recorded = [run for run in runs if len(run.time)]
    end = max((series.duration(run) for run in recorded), default=np.inf)
    if any(run.time[0] < -0.5 * run.step for run in recorded) and low < 0:
        axes.axvspan(low, min(0.0, high), color=OUTSIDE, zorder=0)
    if any(run.time[-1] > end + 0.5 * run.step for run in recorded) and high > end:
        axes.axvspan(max(low, end), high, color=OUTSIDE, zorder=0)
    axes.set_xlim(low, high)


def _strip(axes: Axes, shown: list[Phase], name: str, above: float) -> None:
    """A strip of phases, ``above`` the axes by that many points, with their names where there is room."""
    low, high = axes.get_xlim()
    figure = axes.figure
    place = axes.get_xaxis_transform() + ScaledTranslation(0, above / 72, figure.dpi_scale_trans)
    width = 72 * axes.get_position().width * figure.get_figure(root=True).get_figwidth()
    inside = [(max(phase.start, low), min(phase.end, high), phase) for phase in shown]
    inside = [(start, end, phase) for start, end, phase in inside if end > start]
    strip = LineCollection(
        [[(start, 1.0), (end, 1.0)] for start, end, _ in inside],
        colors=[phase.color for *_, phase in inside],
        linewidths=HEIGHT,
        transform=place,
        clip_on=False,
        capstyle="butt",
    )
    strip.set_in_layout(False)
    axes.add_collection(strip, autolim=False)
    look: dict[str, Any] = {"va": "center_baseline", "fontsize": 7, "color": "#3a414b", "clip_on": False}
    if name.strip():
        axes.text(low, 1.0, f"{name}  ", transform=place, ha="right", **look)
    for start, end, phase in inside:
        if (end - start) / (high - low) * width >= LETTER * len(phase.name):
            text = axes.text((start + end) / 2, 1.0, phase.name, transform=place, ha="center", **look)
            text.set_in_layout(False)
