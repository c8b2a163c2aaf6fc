"""Rehearse the test, and draw its histories, hinges and brace.

python figures.py [FOLDER]        # pictures go to FOLDER, "results" if left out
"""

from __future__ import annotations

import sys
from pathlib import Path

from matplotlib.figure import Figure

import halfreal
from halfreal.presentation import new_figure, styled

HERE = Path(__file__).parent
LOOPS = {
    "column B1 at its foot": (
        "virtual.foot rotation",
        "virtual.foot moment",
        1e3,
        1e-3,
        "rotation [mrad]",
        "moment [kN m]",
    ),
    "girder B1 at B1": (
        "virtual.girder rotation",
        "virtual.girder moment",
        1e3,
        1e-3,
        "rotation [mrad]",
        "moment [kN m]",
    ),
    "brace, as measured": ("measured.displacement", "measured.force", 1e3, 1e-3, "displacement [mm]", "force [kN]"),
}


@styled
def histories(run: halfreal.Run) -> Figure:
    """Displacements of roof, first floor and specimen."""
    figure = new_figure(9, 3.6)
    axes = figure.subplots()
    for name, label in (("virtual.roof", "roof"), ("target", "first floor"), ("measured.displacement", "specimen")):
        axes.plot(run.time, 1e3 * run.signals[name].values, linewidth=0.9, label=label)
    axes.set(xlabel="time [s]", ylabel="displacement [mm]", xlim=(0, run.time[-1]))
    axes.legend(ncols=3)
    return figure


@styled
def loops(run: halfreal.Run) -> Figure:
    """Moments over rotations of two hinges, and the brace's force over its displacement."""
    figure = new_figure(10, 3.4)
    for axes, (title, (x, y, scale_x, scale_y, *labels)) in zip(figure.subplots(1, 3), LOOPS.items(), strict=True):
        axes.plot(scale_x * run.signals[x].values, scale_y * run.signals[y].values, linewidth=0.6)
        axes.set(title=title, xlabel=labels[0], ylabel=labels[1])
    return figure


def rehearsal() -> halfreal.Run:
    return halfreal.rehearse(halfreal.load(HERE / "yielding_frame.toml"))


def draw(run: halfreal.Run, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in {"histories": histories(run), "loops": loops(run)}.items():
        figure.savefig(folder / f"{name}.png", dpi=100)
        print(folder / f"{name}.png")


if __name__ == "__main__":
    draw(rehearsal(), Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results"))
