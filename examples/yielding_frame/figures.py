"""Rehearse both tests, push both frames, and draw what happened.

python figures.py [FOLDER]        # pictures go to FOLDER, "results" if left out
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import halfreal
from halfreal.contracts import Push, Pushed
from halfreal.presentation import BAD, MEASURED, TARGET, new_figure, pushover, sketch, structure_plots, styled
from halfreal.runs import replay

HERE = Path(__file__).parent
STOREY = 3.5
"""Height of a storey [m]."""


def rehearsal(name: str = "yielding_frame", **changes: object) -> halfreal.Run:
    return halfreal.rehearse(halfreal.load(HERE / f"{name}.toml").with_values(changes))


def without_guard() -> halfreal.Run:
    """The collapse, if nobody stopped it."""
    test = halfreal.load(HERE / "collapse.toml")
    return halfreal.rehearse(test.model_copy(update={"limits": type(test.limits)(after_trip=0.0)}))


def pushed() -> Pushed:
    found = halfreal.load(HERE / "yielding_frame.toml").virtual.pushover(Push(target=0.5, steps=100))
    assert found is not None
    return found


@styled
def histories(run: halfreal.Run) -> Figure:
    """Displacements of roof, first floor and specimen, and the brace's loop."""
    figure = new_figure(10, 3.4)
    axes, loop = figure.subplots(1, 2, width_ratios=(2.4, 1))
    for name, label in (("virtual.roof", "roof"), ("target", "first floor"), ("measured.displacement", "specimen")):
        axes.plot(run.time, 1e3 * run.signals[name].values, linewidth=0.9, label=label)
    axes.set(xlabel="time [s]", ylabel="displacement [mm]", xlim=(0, run.time[-1]))
    axes.legend(ncols=3)
    x, y = (run.signals[f"measured.{name}"].values for name in ("displacement", "force"))
    loop.plot(1e3 * x, 1e-3 * y, color=MEASURED, linewidth=0.6)
    loop.set(title="brace, as measured", xlabel="displacement [mm]", ylabel="force [kN]")
    return figure


@styled
def stopped(run: halfreal.Run, on: halfreal.Run, limit: float) -> Figure:
    """Drift of the second storey with the guard, and without it."""
    figure = new_figure(9, 3.2)
    axes = figure.subplots()
    end = next(event.time for event in run.events if event.text.startswith("trip"))
    for one, color, label in ((on, BAD, "without the guard"), (run, TARGET, "stopped by the guard")):
        shown = one.time < (end if one is run else np.inf)
        drift = one.signals["virtual.drift 2"].values
        axes.plot(one.time[shown], 100 * drift[shown] / STOREY, color=color, label=label)
    for sign in (-1, 1):
        axes.axhline(100 * sign * limit / STOREY, color=BAD, linewidth=0.8, linestyle=(0, (4, 2)))
    axes.set(xlabel="time [s]", ylabel="drift of storey 2 [%]", ylim=(-15, 15), xlim=(0, end + 3.0))
    axes.legend()
    return figure


def draw(
    run: halfreal.Run, played: replay.Replay, down: halfreal.Run, on: halfreal.Run, push: Pushed, folder: Path
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    found = replay.replay(down)
    assert found is not None
    figures = {
        "model": sketch.overview(played.inside),
        "histories": histories(run),
        "drifts": structure_plots.drifts(played, "x"),
        "where": structure_plots.where(played),
        "loops": structure_plots.loops(played),
        "energies": structure_plots.energies(played),
        "pushover": pushover.curve(push),
        "collapse": stopped(down, on, trip_limit()),
        "collapse_where": structure_plots.where(found),
    }
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png", dpi=90)
        print(folder / f"{name}.png")


def trip_limit() -> float:
    """Of the second storey's drift [m]."""
    limit = halfreal.load(HERE / "collapse.toml").limits.channels["virtual.drift 2"].trip
    return halfreal.units.parse(str(limit), "m")


if __name__ == "__main__":
    run = rehearsal()
    played = replay.replay(run)
    assert played is not None
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results")
    draw(run, played, rehearsal("collapse"), without_guard(), pushed(), folder)
