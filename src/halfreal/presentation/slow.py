"""How a slow test was moved: the time that its ticks took on the rig's clock, and how long the rig took to settle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from ..runs.run import Run
from .plots import NothingToPlotError
from .series import judged
from .style import MEASURED, QUIET, TARGET, new_figure, styled
from .wording import in_time, number

CLOCK, SETTLED = "motion.clock", "motion.settled"
STATE = "motion.state"
RESUMED = ("resumed", "goes on")
"""Texts of the event after a pause; the second is that of older run files."""
MINUTE, HOUR = 60.0, 3600.0


@dataclass(frozen=True)
class SlowTest:
    """What the page says about a slow test's motion."""

    rows: list[tuple[str, str, str]]
    """Name, value, meaning."""
    happened: list[str]
    """How often it was paused, or the operator asked."""


def is_slow(run: Run) -> bool:
    return run.definition.get("slow") is not None


def tick_times(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Times [s] of the completed ticks, and the seconds that each took on the rig's clock."""
    if not is_slow(run) or CLOCK not in run.signals:
        return np.zeros(0), np.zeros(0)
    kept = judged(run)
    if "guard.mode" in run.signals:
        kept &= np.asarray(run.signals["guard.mode"].values) == 0.0
    return np.asarray(run.time)[kept], np.diff(np.asarray(run.signals[CLOCK].values)[kept], prepend=0.0)


def slow_test(run: Run) -> SlowTest | None:
    """Of a slow test how it was moved; None of any other, and of one without a completed tick."""
    time, taken = tick_times(run)
    if not time.size:
        return None
    simulated = time[-1] - time[0] + run.step
    rows = [
        ("time", in_hours(float(taken.sum())), "on the rig's clock, including pauses"),
        ("stretch", f"{number(taken.sum() / simulated, 3)} ×", f"for {number(simulated)} s of the test"),
        ("a tick", spread(taken), "ramp, settling, averaging and pauses: median and maximum"),
    ]
    if SETTLED in run.signals:
        settled = np.asarray(run.signals[SETTLED].values)[np.isin(run.time, time)]
        rows.append(("settling", spread(settled), "from the end of a ramp until the rig has settled"))
    counts: dict[str, int] = {}
    for event in run.events:
        if event.channel == STATE and event.text not in RESUMED:
            counts[event.text] = counts.get(event.text, 0) + 1
    return SlowTest(rows, [f"{count} × {text}" for text, count in counts.items()])


def spread(values: np.ndarray) -> str:
    return f"{in_time(float(np.median(values)))}, {in_time(float(values.max()))}"


def in_hours(seconds: float) -> str:
    """A long time as people say it."""
    if seconds < MINUTE:
        return in_time(seconds)
    return f"{seconds / MINUTE:.1f} min" if seconds < HOUR else f"{seconds / HOUR:.1f} h"


@styled
def motion(run: Run) -> Figure:
    """Seconds that each tick took on the rig's clock, and those of them in which it settled."""
    time, taken = tick_times(run)
    if not time.size:
        raise NothingToPlotError(f"not a slow test, or '{CLOCK}' was not recorded")
    figure = new_figure(10.4, 2.4)
    axes = figure.subplots()
    axes.step(time, taken, where="post", color=TARGET, linewidth=1.0, label="a tick")
    if SETTLED in run.signals:
        settled = np.asarray(run.signals[SETTLED].values)[np.isin(run.time, time)]
        axes.step(time, settled, where="post", color=MEASURED, linewidth=1.0, label="of which settling")
    axes.axhline(float(np.median(taken)), color=QUIET, linewidth=0.8, linestyle=(0, (3, 2)))
    axes.set(title="Time on the rig's clock", xlabel="time of the test [s]", ylabel="seconds")
    axes.set_ylim(bottom=0.0)
    if taken.max() > 10.0 * np.median(taken):  # a pause dwarfs the ticks
        axes.set_ylim(bottom=None)
        axes.set_yscale("symlog", linthresh=float(np.median(taken)))
        axes.set_ylim(bottom=0.0)
    axes.set_xlim(float(time[0]), float(time[-1] + run.step))
    axes.legend(loc="upper right", ncols=2)
    return figure
