"""Pictures of the wing, the store and the table: bodies as polygons, seen from afar, the farthest drawn first.

In the definition z points down, as is usual for aircraft, and the table lifts along +z: the store stands on the table
upside down.  Pictures of the aircraft are turned about x by 180° (y and z change sign), so that up is up everywhere.
The wing's chord is drawn, not modelled: it shows the twist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import parts
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba

from halfreal.figures import MEASURED, TARGET
from halfreal.rigs import AXES, MAVIS

Motion = Mapping[str, complex]
"""Displacements and rotations by the names of their degrees of freedom, of a mode or at an instant."""
ACTUATORS = {
    "z1": (-34, -12),
    "z2": (-34, -16),
    "z3": (36, -16),
    "z4": (28, -16),
    "x1": (-54, -8),
    "x2": (-6, 26),
    "y1": (50, -8),
}
"""In the order of the channels rig.stroke.1 … 7, and where their names stand."""
AHEAD = 0.4  # part of the chord ahead of the wing's axis
RADII = (0.02, 0.13, 0.15, 0.13, 0.05)  # m, of the store at its nodes
TURNED = np.array([1.0, -1.0, -1.0])  # of the aircraft about x
NODES = tuple(f"wing.{i + 1}" for i in range(parts.WING_ELEMENTS + 1))
BODY = tuple(f"body.{i + 1}" for i in range(5))
STATION = f"wing.{parts.STATION}"
PLACES = parts.positions()
LIGHT = np.array([-0.35, 0.8, 0.49])
CENTRED = {"ha": "center", "va": "center"}


@dataclass(frozen=True)
class View:
    """The direction from which a parallel projection looks: azimuth from x to y and elevation [deg]."""

    azimuth: float
    elevation: float

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """To the right, up, and towards the eye."""
        a, e = np.radians([self.azimuth, self.elevation])
        right = [-np.sin(a), np.cos(a), 0.0]
        up = [-np.sin(e) * np.cos(a), -np.sin(e) * np.sin(a), np.cos(e)]
        near = [np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)]
        return np.asarray(np.asarray(points) @ np.array([right, up, near]).T)


@dataclass(frozen=True)
class Face:
    corners: np.ndarray
    colour: str
    edge: str = "none"
    opacity: float = 1.0


AIRCRAFT, LABORATORY = View(-128.0, 24.0), View(-118.0, 20.0)


# --- bodies -----------------------------------------------------------------------------------------------------------


def still(points: np.ndarray) -> np.ndarray:
    return points


def moved(node: str, offset: np.ndarray, motion: Motion) -> np.ndarray:
    """Where a point is that a node carries at an offset [m]: small rotations, however large they are drawn."""
    shift, turn = (np.real([motion.get(f"{node}.{axis}", 0.0) for axis in names]) for names in (AXES[:3], AXES[3:]))
    return PLACES[node] + offset + shift + np.cross(turn, offset)


def chord(node: str) -> float:
    """As drawn [m]."""
    return 1.5 - 0.7 * NODES.index(node) / parts.WING_ELEMENTS


def edges(node: str, motion: Motion) -> tuple[np.ndarray, np.ndarray]:
    """Leading and trailing edge of the wing at a node."""
    back = np.array([chord(node), 0.0, 0.0])
    return moved(node, -AHEAD * back, motion), moved(node, (1.0 - AHEAD) * back, motion)


def wing(motion: Motion, colour: str, edge: str, opacity: float = 1.0) -> list[Face]:
    rims = [edges(node, motion) for node in NODES]
    return [Face(np.array([a[0], a[1], b[1], b[0]]) * TURNED, colour, edge, opacity) for a, b in pairwise(rims)]


def store(motion: Motion, colour: str, edge: str, *, on_table: bool, opacity: float = 1.0) -> list[Face]:
    """Pylon and body: under the wing, or on the table with the interface as origin."""
    sign, origin = (np.ones(3), PLACES[STATION]) if on_table else (TURNED, np.zeros(3))
    width = np.array([0.16, 0.0, 0.0])
    upper = [moved(STATION, side, motion) for side in (-width, width)]
    lower = [moved("body.3", side, motion) for side in (width, -width)]
    faces = [np.array(upper + lower)]
    around = np.linspace(0, 2 * np.pi, 13)
    circle = np.stack([0 * around, np.cos(around), np.sin(around)], axis=1)
    rings = [moved(node, np.zeros(3), motion) + r * circle for node, r in zip(BODY, RADII, strict=True)]
    for one, other in pairwise(rings):
        faces += [np.array([one[k], one[k + 1], other[k + 1], other[k]]) for k in range(12)]
    return [Face((corners - origin) * sign, colour, edge, opacity) for corners in faces]


def box(
    low: Sequence[float] | np.ndarray,
    high: Sequence[float] | np.ndarray,
    colour: str,
    edge: str,
    turn: Callable[[np.ndarray], np.ndarray],
) -> list[Face]:
    ends = np.array([low, high])
    faces = []
    for axis in range(3):
        for end in (0, 1):
            others = [i for i in range(3) if i != axis]
            corners = np.empty((4, 3))
            corners[:, axis] = ends[end, axis]
            corners[:, others[0]] = ends[[0, 1, 1, 0], others[0]]
            corners[:, others[1]] = ends[[0, 0, 1, 1], others[1]]
            faces.append(Face(turn(corners), colour, edge))
    return faces


def rod(start: np.ndarray, end: np.ndarray, radius: float, colour: str, pieces: int = 6) -> list[Face]:
    """A round bar in pieces, which sort better by their distance than the whole."""
    along = (end - start) / np.linalg.norm(end - start)
    first = np.cross(along, [0.3, 0.5, 0.81])
    first /= np.linalg.norm(first)
    around = np.linspace(0, 2 * np.pi, 13)[:, None]
    circle = radius * (np.cos(around) * first + np.sin(around) * np.cross(along, first))
    stops = [start + share * (end - start) for share in np.linspace(0, 1, pieces + 1)]
    return [
        Face(np.array([a + circle[k], a + circle[k + 1], b + circle[k + 1], b + circle[k]]), colour)
        for a, b in pairwise(stops)
        for k in range(12)
    ]


def table(size: np.ndarray, pose: np.ndarray) -> list[Face]:
    """Platform, force plate and actuators at a pose of the interface (x … rz)."""

    def turn(points: np.ndarray) -> np.ndarray:
        return np.asarray(points + pose[:3] + np.cross(pose[3:], points))

    half = 0.5 * size[:2]
    faces = box((*-half, -size[2]), (*half, 0.0), "#d8dde3", "#7c8590", turn)
    faces += box((-0.3, -0.3, 0.0), (0.3, 0.3, 0.06), "#8fb8a2", "#3f6b54", turn)
    for one in MAVIS:
        foot, head = one.position - one.length * one.direction, turn(one.position)
        middle = foot + 0.55 * (head - foot)
        faces += rod(foot, middle, 0.065, "#5d6772") + rod(middle, head, 0.03, "#aab2bd")
        block = np.where(one.direction != 0, 0.04, 0.12)
        faces += box(foot - block, foot + block, "#9aa3ad", "#5d6772", still)
    return faces


# --- drawing ----------------------------------------------------------------------------------------------------------


def draw(axes: Any, view: View, faces: Sequence[Face]) -> None:
    """The farthest first, lit from above and the left."""
    seen = [view(face.corners) for face in faces]
    order = np.argsort([points[:, 2].mean() for points in seen])
    fills, lines = [], []
    for face, points in ((faces[i], seen[i]) for i in order):
        normal = np.cross(points[2] - points[0], points[3] - points[1])
        light = abs(normal @ LIGHT) / max(float(np.linalg.norm(normal)), 1e-12)
        red, green, blue, opacity = to_rgba(face.colour, face.opacity)
        fills.append((*(np.array([red, green, blue]) * (0.72 + 0.28 * light)), opacity))
        lines.append(fills[-1] if face.edge == "none" else to_rgba(face.edge))
    corners = [seen[i][:, :2] for i in order]
    axes.add_collection(PolyCollection(corners, facecolors=fills, edgecolors=lines, linewidths=0.5))


def outline(axes: Any, view: View) -> None:
    """Wing and store at rest, dotted."""
    front, back = (np.array([edges(node, {})[k] for node in NODES]) for k in (0, 1))
    body = np.array([PLACES[node] for node in BODY])
    for path in (np.vstack([front, back[::-1], front[:1]]), body, np.array([PLACES[STATION], PLACES["body.3"]])):
        axes.plot(*view(path * TURNED)[:, :2].T, ":", color="0.35", linewidth=0.9)


def triad(axes: Any, view: View, origin: np.ndarray, sign: np.ndarray, length: float) -> None:
    """The definition's axes."""
    for axis, name in enumerate("xyz"):
        tip = origin + length * sign * np.eye(3)[axis]
        start, end = view(np.array([origin, tip]))[:, :2]
        axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": "k", "shrinkA": 0, "shrinkB": 0})
        axes.annotate(name, end + 0.16 * length * (end - start) / max(np.linalg.norm(end - start), 1e-9), **CENTRED)


def bare(axes: Any, across: tuple[float, float], upwards: tuple[float, float]) -> None:
    axes.set(xlim=across, ylim=upwards, aspect="equal")
    axes.axis("off")


def label(axes: Any, view: View, text: str, point: np.ndarray, shift: tuple[float, float], **more: Any) -> None:
    """Text beside a point in space, joined to it by a line."""
    arrow = {"arrowstyle": "-", "color": "0.4", "linewidth": 0.7, "shrinkA": 0, "shrinkB": 1}
    at = view(np.asarray(point))[:2]
    axes.annotate(text, at, shift, textcoords="offset points", arrowprops=arrow, **(CENTRED | more))


# --- the pictures -----------------------------------------------------------------------------------------------------


def emulated(axes: Any, names: Mapping[str, str]) -> None:
    """The aircraft that the test stands for: the wing is virtual, the store physical; responses by their names."""
    view = AIRCRAFT
    draw(axes, view, wing({}, "#a9cbe8", TARGET, 0.9) + store({}, MEASURED, "none", on_table=False))
    root = np.array(edges(NODES[0], {})) * TURNED
    draw(axes, view, [Face(np.array([*root, *(root[::-1] + np.array([0.0, 0.12, 0.0]))]), "#5d6772")])
    by_node: dict[str, list[str]] = {}
    for name, dof in names.items():
        node, direction = dof.rsplit(".", 1)
        by_node.setdefault(node, []).append(f"{name} ({direction})")
    shifts = {"wing.13": (22, -44), "wing.6": (10, 46), "body.1": (-30, -34), "body.5": (14, -64)}
    for node, told in by_node.items():
        axes.plot(*view(PLACES[node] * TURNED)[:2], "o", color="k", markersize=4)
        label(axes, view, "\n".join(told), PLACES[node] * TURNED, shifts[node])
    push = np.array([sum(share * (dof.endswith(f".{axis}")) for dof, share in parts.FORCE.items()) for axis in "xyz"])
    tip = PLACES[f"wing.{parts.TIP}"] * TURNED
    start, end = view(np.array([tip - 1.1 * push * TURNED, tip]))[:, :2]
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": "tab:red", "linewidth": 2})
    axes.annotate("virtual force", start, (0, 7), textcoords="offset points", color="tab:red", **CENTRED)
    label(axes, view, "interface, six axes", PLACES[STATION] * TURNED, (16, 62))
    axes.plot(*view(PLACES[STATION] * TURNED)[:2], "s", color="k", markersize=5)
    triad(axes, view, np.array([0.6, -0.9, -0.9]), TURNED, 0.6)


def laboratory(axes: Any, rig: Any) -> None:
    """The table with force plate and store, and its seven actuators by name."""
    view = LABORATORY
    size = rig.platform.size
    floor = np.array([[-1.9, -1.9, -1.28], [1.2, -1.9, -1.28], [1.2, 1.2, -1.28], [-1.9, 1.2, -1.28]])
    draw(axes, view, [Face(floor, "#f1f3f5", "#d8dde3")])
    draw(axes, view, table(size, np.zeros(6)) + store({}, MEASURED, "none", on_table=True))
    for (name, shift), one in zip(ACTUATORS.items(), MAVIS, strict=True):
        point = one.position - 0.75 * one.length * one.direction
        label(axes, view, f"{name}\n{1e-3 * one.force:.0f} kN", point, shift)
    label(axes, view, f"table, {rig.platform.mass:.0f} kg", np.array([0.75, -0.1, -0.1]), (58, 0))
    label(axes, view, f"force plate, {rig.force_plate.mass:.0f} kg", np.array([0.3, -0.1, 0.03]), (88, 12))
    for text, node, shift in (("nose", "body.1", (-14, 22)), ("tail", "body.5", (24, 18))):
        label(axes, view, text, PLACES[node] - PLACES[STATION], shift)
    label(axes, view, "store on its pylon", PLACES["body.3"] - PLACES[STATION] + [0, 0, 0.15], (-10, 34))
    triad(axes, view, np.array([-1.8, -0.75, -1.28]), np.ones(3), 0.4)


def scaled(motion: Motion, largest: float) -> dict[str, complex]:
    """A shape in a phase that makes its largest point real, and so large [m] where the drawn structure moves most."""
    sizes = {}
    for node in (*NODES[1:], *BODY):
        shift, turn = (np.array([motion.get(f"{node}.{a}", 0.0) for a in axes]) for axes in (AXES[:3], AXES[3:]))
        for offset in (0.0, *((-AHEAD * chord(node), (1 - AHEAD) * chord(node)) if node in NODES else ())):
            value = shift + np.cross(turn, [offset, 0.0, 0.0])
            sizes[float(np.linalg.norm(value))] = value
    most = sizes[max(sizes)]
    factor = largest / max(sizes) * np.exp(-1j * np.angle(most[np.argmax(np.abs(most))]))
    return {dof: factor * value for dof, value in motion.items()}


def sensed(true: Motion, told: Motion) -> list[np.ndarray]:
    """Points that the test's channels tell: edges at tip and interface, mid, nose and tail; the rest from ``true``."""
    both = {**true, **told}
    edged = [edge for node in (f"wing.{parts.TIP}", STATION) for edge in edges(node, both)]
    single = [moved(node, np.zeros(3), both) for node in (f"wing.{parts.MID}", "body.1", "body.5")]
    return edged + single


def mode(axes: Any, true: Motion, told: Motion, size: float = 4.5) -> None:
    """A mode of the assembled structure: at rest dotted, computed grey, identified as points."""
    view = AIRCRAFT
    outline(axes, view)
    draw(axes, view, wing(true, "#c9ced5", "#8a929e", 0.85) + store(true, "#7c8590", "none", on_table=False))
    points = view(np.array(sensed(true, told)) * TURNED)
    axes.plot(
        points[:, 0], points[:, 1], "o", color=MEASURED, markersize=size, markeredgecolor="w", markeredgewidth=0.5
    )
