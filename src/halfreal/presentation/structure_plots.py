"""Pictures of what happened inside the virtual substructure: drifts, hinges, where it yielded, where energy went."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..runs.replay import CAME_IN, Replay
from . import sketch as drawn
from .plots import NothingToPlotError, in_plane
from .series import Display, display, envelope, peak
from .style import BAD, ERROR, GOOD, MEASURED, QUIET, REFERENCE, TARGET, new_figure, styled

LOOPS_SHOWN = 9
YIELDED = 0.02
"""Plastic part of the largest deformation from which on a spot counts as yielded."""
OF = {"rotation": ("rotation", "moment"), "displacement": ("displacement", "force"), "strain": ("strain", "stress")}
PLASTIC = {"rotation": (1e3, "mrad"), "displacement": (1e3, "mm"), "strain": (100.0, "%")}
COLOURS = (TARGET, MEASURED, GOOD, ERROR, BAD, REFERENCE, QUIET)


def yielded(replay: Replay) -> np.ndarray:
    """Which spots have yielded."""
    with np.errstate(invalid="ignore"):
        return np.asarray(replay.plastic > YIELDED * np.maximum(replay.strains.size, 1e-300))


@styled
def drifts(replay: Replay, direction: str) -> Figure:
    """Drifts of the storeys in time, and their envelope over the height, as parts of the storeys' heights."""
    storeys, values = replay.inside.sketch.storeys, replay.drifts[direction]
    if not storeys:
        raise NothingToPlotError("the structure has no storeys")
    shares = 100.0 * values / np.array([storey.height for storey in storeys])
    figure = new_figure(10.4, 3.6)
    history, height = figure.subplots(1, 2, width_ratios=(2.2, 1))
    strongest = sorted(np.argsort(-np.abs(shares).max(axis=0))[: len(COLOURS)])
    for k, i in enumerate(strongest):
        history.plot(*envelope(replay.all_time, shares[:, i]), linewidth=0.9, color=COLOURS[k], label=f"storey {i + 1}")
    few = "" if len(strongest) == len(storeys) else f", the {len(strongest)} largest of {len(storeys)}"
    history.set(xlabel="time [s]", ylabel="drift over height [%]", title=f"Storey drifts in {direction}{few}")
    figure.legend(*history.get_legend_handles_labels(), loc="outside upper center", ncols=len(COLOURS))
    levels = np.array([[storey.below, storey.above] for storey in storeys]).ravel()
    for extreme, color in ((shares.min(axis=0), TARGET), (shares.max(axis=0), MEASURED)):
        height.plot(np.repeat(extreme, 2), levels, color=color, linewidth=1.6)
    left = shares[-1]
    height.plot(np.repeat(left, 2), levels, color=QUIET, linewidth=1.2, linestyle=(0, (4, 2)), label="at the end")
    height.axvline(0.0, color=REFERENCE, linewidth=0.7)
    height.set(xlabel="drift over height [%]", ylabel="height [m]", title="Envelope, both directions")
    height.legend(loc="best")
    return figure


@styled
def loops(replay: Replay) -> Figure:
    """Force over deformation of the spots that have absorbed most, one of each place at most."""
    chosen = chosen_loops(replay)
    if not chosen:
        raise NothingToPlotError("no hinge or law that may yield")
    columns = min(3, len(chosen))
    rows = -(-len(chosen) // columns)
    figure = new_figure(10.4, 0.4 + 2.5 * rows)
    panels = np.ravel(figure.subplots(rows, columns, squeeze=False))
    for axes in panels[len(chosen) :]:
        axes.set_axis_off()
    for axes, i in zip(panels, chosen, strict=False):
        spot = replay.inside.sketch.spots[i]
        x, y = (display(unit, float(size)) for unit, size in zip(spot.units, _sizes(replay, i), strict=True))
        if spot.of == "strain":  # as in the tables
            x = Display(100.0, "%")
        in_plane(axes, x.factor * replay.strain[:, i], y.factor * replay.stress[:, i], MEASURED)
        words = OF[spot.of]
        axes.set(xlabel=f"{words[0]} [{x.label}]", ylabel=f"{words[1]} [{y.label}]")
        axes.set_title(spot.name.replace(" in section", "\nin section"), parse_math=False)
    return figure


def chosen_loops(replay: Replay) -> list[int]:
    """The spots whose loops are drawn: those that have absorbed most, and of each member's section one."""
    found: list[int] = []
    places: set[tuple[str, tuple[float, ...]]] = set()
    for i in np.argsort(-replay.absorbed):
        spot = replay.inside.sketch.spots[i]
        place = (spot.member, tuple(np.round(spot.at, 6)))
        if place not in places:
            places.add(place)
            found.append(int(i))
        if len(found) == LOOPS_SHOWN:
            break
    return found


@styled
def where(replay: Replay) -> Figure:
    """Where it yielded and by how much, and where energy was dissipated, on the frame at its largest motion."""
    sketch = replay.inside.sketch
    if not sketch.spots:
        raise NothingToPlotError("no hinge or law that may yield")
    wide, tall = drawn.room(sketch)
    figure = new_figure(min(11.5, 2.0 * (wide - 1.2)), tall)
    plastic, energy = figure.subplots(1, 2)
    at, gone = drawn.spots_at(sketch), yielded(replay)
    for axes in (plastic, energy):
        drawn.members(axes, sketch, color=QUIET)
        drawn.supports(axes, sketch)
        drawn.interface(axes, sketch)
        drawn.frame_of(axes, sketch)
        if sketch.dimensions == 2:
            axes.set(xlabel="x [m]", ylabel="")
    plastic.scatter(*at[~gone].T, s=9, color="white", edgecolors=QUIET, linewidths=0.6, zorder=4)
    kinds = dict.fromkeys(spot.of for spot in sketch.spots)
    for of, marker in zip(kinds, ("o", "s", "D"), strict=False):
        mine = np.flatnonzero(gone & np.array([spot.of == of for spot in sketch.spots]))
        mine = mine[np.argsort(replay.plastic[mine])]  # fibres of a section are at one place: the largest on top
        if mine.size:
            factor, unit = PLASTIC[of]
            values = factor * replay.plastic[mine]
            look: dict[str, Any] = {
                "cmap": "YlOrRd",
                "vmin": 0.0,
                "edgecolors": REFERENCE,
                "linewidths": 0.5,
                "zorder": 5,
            }
            dots = plastic.scatter(*at[mine].T, c=values, s=46, marker=marker, **look)
            figure.colorbar(dots, ax=plastic, label=f"largest plastic {OF[of][0]} [{unit}]", shrink=0.7)
    plastic.set_title(f"{int(gone.sum())} of {len(gone)} yielded")
    places, of_place = np.unique(at, axis=0, return_inverse=True)
    absorbed = np.maximum(np.bincount(np.ravel(of_place), replay.absorbed), 0.0)  # of all fibres of a section
    shares = absorbed / max(float(absorbed.max()), 1e-300)
    dots = energy.scatter(
        *places.T, c=1e-3 * absorbed, s=4 + 150 * shares, cmap="viridis_r", vmin=0.0, zorder=5,
        edgecolors=REFERENCE, linewidths=0.3,
    )  # fmt: skip
    figure.colorbar(dots, ax=energy, label="energy absorbed [kJ]", shrink=0.7)
    energy.set_title(f"{1e-3 * replay.absorbed.sum():.4g} kJ absorbed")
    return figure


@styled
def energies(replay: Replay) -> Figure:
    """Where the supplied energy went, over time."""
    told = replay.energy
    factor, unit = (1e-3, "kJ") if peak(*told.values()) > 1e3 else (1.0, "J")
    figure = new_figure(10.4, 3.6)
    axes = figure.subplots()
    labels = {
        "absorbed": ("absorbed by hinges, springs, fibres", MEASURED),
        "damping": ("viscous damping", TARGET),
        "specimen": ("to the specimen", ERROR),
        "elastic": ("strain energy and gravity", GOOD),
        "kinetic": ("kinetic", QUIET),
    }
    base, times = np.zeros(len(replay.all_time)), replay.all_time
    every = max(1, len(times) // 1500)
    for key, (label, color) in labels.items():
        values = factor * (-told[key] if key in CAME_IN else told[key])
        axes.fill_between(
            times[::every], base[::every], (base + values)[::every], color=color, alpha=0.65, linewidth=0, label=label
        )
        base = base + values
    axes.plot(*envelope(times, factor * told["input"]), color=REFERENCE, linewidth=1.2, label="input by the excitation")
    axes.set(xlabel="time [s]", ylabel=f"energy [{unit}]", title="Energy balance")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def _sizes(replay: Replay, i: int) -> tuple[float, float]:
    return replay.strains.size[i], replay.stresses.size[i]
