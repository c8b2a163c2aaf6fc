"""A structure drawn from its sketch: nodes, members, hinges, supports, masses and the interface, also deformed.

A structure in space is seen from a corner (an orthographic, axonometric view)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure, FigureBase

from ..contracts.inside import Inside, Sketch
from .style import BAD, GOOD, MEASURED, QUIET, REFERENCE, TARGET, new_figure, styled

AZIMUTH, ELEVATION = np.radians(-60.0), np.radians(20.0)
SPACE = np.array(
    [
        [-np.sin(AZIMUTH), np.cos(AZIMUTH), 0.0],
        [-np.cos(AZIMUTH) * np.sin(ELEVATION), -np.sin(AZIMUTH) * np.sin(ELEVATION), np.cos(ELEVATION)],
    ]
)
"""Axonometric view, (2, 3)."""
AS_WIDE_AS_A_PAGE = 9.0
"""Inches."""
MOST_NAMES = 40
"""Nodes up to which their names are written."""
MODES_SHOWN = 3
DEFORMED = 0.08
"""Part of its size by which a structure is drawn deformed."""
INSIDE = 0.16
"""Part of half a member by which hinges at its end are drawn inside it."""
AXES = ("x", "y", "z")
LINES: dict[str, dict[str, Any]] = {
    "member": {"color": REFERENCE, "linewidth": 1.8},
    "rod": {"color": REFERENCE, "linewidth": 1.0},
    "spring": {"color": GOOD, "linewidth": 1.2, "linestyle": (0, (2, 1))},
    "dashpot": {"color": GOOD, "linewidth": 1.2, "linestyle": (0, (5, 2))},
}
WORDS = {
    "member": ("beam", "beams"),
    "rod": ("truss", "trusses"),
    "spring": ("spring", "springs"),
    "dashpot": ("damper", "dampers"),
}


def seen(at: np.ndarray) -> np.ndarray:
    """Coordinates on paper, (…, 2)."""
    points = np.asarray(at, dtype=float)
    return points @ SPACE.T if points.shape[-1] == 3 else points


def size_of(sketch: Sketch) -> float:
    points = np.array(list(sketch.nodes.values()))
    return float(max(np.ptp(points, axis=0).max(), 1e-9))


def moved(inside: Inside, motion: np.ndarray, scale: float) -> dict[str, np.ndarray]:
    """Nodes where a motion of all nodes, times ``scale``, brings them."""
    dimensions, per = inside.sketch.dimensions, len(inside.directions)
    by_node = np.reshape(motion, (-1, per))[:, :dimensions]
    return {name: at + scale * by_node[i] for i, (name, at) in enumerate(inside.sketch.nodes.items())}


def segments(sketch: Sketch, look: str, nodes: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """Ends of the members of a look on paper; one that is at a single node has a stub."""
    stub, found = 0.04 * size_of(sketch) * np.ones(2), []
    for member in sketch.members:
        if member.look == look:
            ends = [seen(nodes[node]) for node in member.nodes]
            found.append(np.array(ends if len(ends) == 2 else [ends[0], ends[0] - stub]))
    return found


def members(
    axes: Axes, sketch: Sketch, nodes: Mapping[str, np.ndarray] | None = None, **look: Any
) -> list[tuple[LineCollection, str]]:
    """Draw its members, between nodes that may have moved; the lines of each look."""
    drawn = []
    for name, style in LINES.items():
        lines = segments(sketch, name, sketch.nodes if nodes is None else nodes)
        if lines:
            collection = LineCollection(lines, zorder=2, **{**style, **look})
            axes.add_collection(collection)
            drawn.append((collection, name))
    return drawn


def frame_of(axes: Axes, sketch: Sketch, room: float = 0.12) -> None:
    """Equal scales, with room around the structure."""
    points = seen(np.array(list(sketch.nodes.values())))
    low, high = points.min(axis=0), points.max(axis=0)
    around = room * max(float((high - low).max()), 1e-9)
    axes.set(xlim=(low[0] - around, high[0] + around), ylim=(low[1] - around, high[1] + around), aspect="equal")
    axes.grid(False)
    if sketch.dimensions == 2:
        axes.set(xlabel="x [m]", ylabel="y [m]")
    else:
        axes.set_axis_off()
        corner = np.array([low[0] - 0.8 * around, low[1] - 0.8 * around])
        for name, toward in zip(AXES, 0.8 * around * SPACE.T, strict=True):
            axes.plot(*np.array([corner, corner + toward]).T, color=QUIET, linewidth=1.0)
            axes.annotate(name, tuple(corner + 1.3 * toward), ha="center", va="center", fontsize=7, color=QUIET)


def supports(axes: Axes, sketch: Sketch) -> None:
    """Clamped, pinned and sliding supports."""
    turning = tuple(one for one in ("rx", "ry", "rz") if sketch.dimensions == 3 or one == "rz")
    straight = AXES[: sketch.dimensions]
    groups: dict[str, list[np.ndarray]] = {"s": [], "^": [], "o": []}
    for name, held in sketch.fixed.items():
        if not any(one in held for one in straight):
            continue
        whole = all(one in held for one in straight)
        groups["s" if whole and all(one in held for one in turning) else "^" if whole else "o"].append(
            seen(sketch.nodes[name])
        )
    labels = {"s": "clamped", "^": "pinned support", "o": "partly fixed"}
    for marker, points in groups.items():
        if points:
            x, y = np.array(points).T
            look: dict[str, Any] = {"marker": marker, "s": 60, "color": QUIET, "zorder": 1, "label": labels[marker]}
            axes.scatter(x, y, **({**look, "facecolors": "none"} if marker == "o" else look))


def masses(axes: Axes, sketch: Sketch) -> None:
    heaviest = max(sketch.mass.values(), default=0.0)
    if heaviest <= 0.0:
        return
    heavy = [(seen(sketch.nodes[name]), value) for name, value in sketch.mass.items() if value > 0.0]
    x, y = np.array([at for at, _ in heavy]).T
    sizes = [20 + 110 * value / heaviest for _, value in heavy]
    total = sum(value for _, value in heavy)
    axes.scatter(
        x, y, s=sizes, color=TARGET, alpha=0.25, linewidths=0, zorder=1, label=f"mass, {total / 1e3:.4g} t in total"
    )


def spots(axes: Axes, sketch: Sketch, **look: Any) -> None:
    """Hinges and other laws that are not linear."""
    if not sketch.spots:
        return
    x, y = spots_at(sketch).T
    drawn: dict[str, Any] = {"s": 20, "facecolors": "white", "edgecolors": MEASURED, "linewidths": 1.2, "zorder": 4}
    count = len(sketch.spots)
    axes.scatter(x, y, label=f"{count} hinge{'s' * (count != 1)} and laws", **{**drawn, **look})


def spots_at(sketch: Sketch, nodes: Mapping[str, np.ndarray] | None = None) -> np.ndarray:
    """Where spots are drawn: those at the end of a member a little inside it, so that they stay apart, (spots, 2).

    Members may lie between nodes that have moved.
    """
    ends = {member.name: (member.nodes[0], member.nodes[-1]) for member in sketch.members}
    places, found = sketch.nodes if nodes is None else nodes, []
    for spot in sketch.spots:
        first, last = ends[spot.member]
        chord = sketch.nodes[last] - sketch.nodes[first]
        long = float(chord @ chord)
        share = float(chord @ (spot.at - sketch.nodes[first])) / long if long > 0.0 else 0.5
        share += INSIDE * (0.5 - share)
        found.append(seen(places[first] + share * (places[last] - places[first])))
    return np.array(found).reshape(-1, 2)


def interface(axes: Axes, sketch: Sketch) -> None:
    """An arrow along each axis, where the specimen is attached."""
    long, names = 0.11 * size_of(sketch), AXES[: sketch.dimensions]
    for i, (node, direction) in enumerate(sketch.interface):
        at = sketch.nodes[node]
        label = "specimen" if len(sketch.interface) == 1 else f"specimen, axis {i + 1}"
        tail = seen(at)
        if direction in names:
            toward = seen(at + long * np.eye(sketch.dimensions)[names.index(direction)])
        else:
            toward = tail + np.array([0.6, 0.6]) * long
        axes.annotate(
            "",
            xy=tuple(toward),
            xytext=tuple(tail),
            arrowprops={"arrowstyle": "-|>", "color": BAD, "linewidth": 2.0, "shrinkA": 0, "shrinkB": 0},
            zorder=6,
        )
        axes.annotate(
            f"{label} ({direction})", tuple(tail), xytext=(4, 9), textcoords="offset points", color=BAD, zorder=6
        )


@styled
def model(sketch: Sketch) -> Figure:
    """The structure with all its parts, at rest."""
    wide, tall = room(sketch)
    figure = new_figure(max(wide, AS_WIDE_AS_A_PAGE), min(tall, 5.0))  # pages show figures as wide as they are
    axes = figure.subplots()
    _model(axes, sketch)
    return figure


def _model(axes: Axes, sketch: Sketch) -> None:
    members(axes, sketch)
    lines = [[seen(sketch.nodes[one]), seen(sketch.nodes[other])] for one, other in sketch.links]
    axes.add_collection(LineCollection(lines, color=QUIET, linewidth=0.7, linestyle=(0, (1, 2)), zorder=1))
    supports(axes, sketch)
    masses(axes, sketch)
    spots(axes, sketch)
    if sketch.pins:
        x, y = np.array([seen(at) for at in sketch.pins]).T
        axes.scatter(x, y, s=26, facecolors="white", edgecolors=REFERENCE, linewidths=1.0, zorder=4, label="pin")
    x, y = np.array([seen(at) for at in sketch.nodes.values()]).T
    axes.scatter(x, y, s=7, color=REFERENCE, zorder=3)
    if len(sketch.nodes) <= MOST_NAMES:
        for name, at in sketch.nodes.items():
            axes.annotate(
                name,
                tuple(seen(at)),
                xytext=(4, -9),
                textcoords="offset points",
                fontsize=7,
                color="#5b6470",
                parse_math=False,
            )
    interface(axes, sketch)
    frame_of(axes, sketch)
    kinds = dict.fromkeys(member.look for member in sketch.members)
    for look in kinds:
        count = sum(member.look == look for member in sketch.members)
        axes.plot([], [], label=f"{count} {WORDS[look][count != 1]}", **LINES[look])
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), labelspacing=0.8)
    axes.set_title("Model of the virtual part")


@styled
def overview(inside: Inside) -> Figure:
    """The structure, and its lowest modes below."""
    wide, tall = room(inside.sketch)
    figure = new_figure(max(wide, 7.5), 1.8 * tall)
    parts = np.ravel(np.asarray(figure.subfigures(2, 1, height_ratios=(1.0, 0.75))))
    _model(parts[0].subplots(), inside.sketch)
    _modes(parts[1], inside, MODES_SHOWN)
    return figure


@styled
def modes(inside: Inside, count: int = MODES_SHOWN) -> Figure:
    """Its lowest modes at rest, without the specimen."""
    wide, tall = room(inside.sketch)
    figure = new_figure(min(12.0, 0.62 * wide * count), 0.75 * tall)
    _modes(figure, inside, count)
    return figure


def _modes(figure: FigureBase, inside: Inside, count: int) -> None:
    frequencies, shapes = inside.modes(count)
    sketch = inside.sketch
    for i, axes in enumerate(np.ravel(figure.subplots(1, len(frequencies)))):
        members(axes, sketch, color=QUIET, linewidth=0.7)
        straight = np.reshape(shapes[i], (-1, len(inside.directions)))[:, : sketch.dimensions]
        scale = DEFORMED * size_of(sketch) / max(float(np.abs(straight).max()), 1e-300)
        members(axes, sketch, moved(inside, shapes[i], scale), color=TARGET)
        supports(axes, sketch)
        frame_of(axes, sketch)
        axes.set_axis_off()
        axes.set_title(f"mode {i + 1}: {frequencies[i]:.4g} Hz", loc="center")


def room(sketch: Sketch) -> tuple[float, float]:
    """Width and height of a figure [inch] that suits its shape."""
    points = seen(np.array(list(sketch.nodes.values())))
    across, up = np.maximum(np.ptp(points, axis=0), 1e-9)
    tall = float(np.clip(4.8 * up / across, 2.6, 6.4))
    return float(np.clip(tall * across / up, 2.4, 7.0)) + 2.6, tall
