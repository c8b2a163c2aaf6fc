"""Directions of elements in a plane and in space.

A beam in space has local axes x along it, z in the plane of x and a given vector v, y = v × x / |v × x|, z = x × y.
"""

from __future__ import annotations

import numpy as np


def chord(start: np.ndarray, end: np.ndarray) -> tuple[float, np.ndarray]:
    """Length and direction from one node to another."""
    along = np.asarray(end, dtype=float) - np.asarray(start, dtype=float)
    length = float(np.linalg.norm(along))
    return length, along / length if length > 0.0 else along


def elongation(direction: np.ndarray, per_node: int) -> np.ndarray:
    """A of the elongation, over all displacements of both nodes, (2 per_node,)."""
    row = np.zeros(2 * per_node)
    row[: len(direction)] = -direction
    row[per_node : per_node + len(direction)] = direction
    return row


def normals(direction: np.ndarray) -> np.ndarray:
    """Unit vectors across a direction, (dimensions − 1, dimensions); in a plane the one to its left."""
    if len(direction) == 2:
        return np.array([[-direction[1], direction[0]]])
    first = np.cross(direction, np.eye(3)[np.argmin(np.abs(direction))])
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(direction, first)])


def plane_beam(length: float, direction: np.ndarray) -> np.ndarray:
    """A of (elongation, rotations of both ends against the chord, rotation of the chord), (4, 6)."""
    c, s = direction
    turn = np.array([s, -c, 0.0, -s, c, 0.0]) / length
    ends = np.zeros((2, 6))
    ends[0, 2] = ends[1, 5] = 1.0
    return np.vstack([elongation(direction, 3), ends - turn, turn])


UPWARDS = np.array([0.0, 0.0, 1.0])
ALONG_X = np.array([1.0, 0.0, 0.0])
PARALLEL = 1e-6
"""Sine of the angle between a beam and its orientation vector below which they count as parallel."""


def local_axes(direction: np.ndarray, orientation: np.ndarray | None) -> np.ndarray | None:
    """Rows x, y, z; None if the orientation is along the beam.  Without one it is upwards, of a vertical beam x."""
    if orientation is None:
        upright = np.linalg.norm(np.cross(UPWARDS, direction)) < PARALLEL
        orientation = ALONG_X if upright else UPWARDS
    across = np.cross(orientation, direction)
    size = float(np.linalg.norm(across))
    if not size > PARALLEL * float(np.linalg.norm(orientation)):
        return None
    y = across / size
    return np.array([direction, y, np.cross(direction, y)])


def chord_turns(length: float, axes: np.ndarray, per_node: int = 6) -> np.ndarray:
    """A of the chord's rotations about the local y and z, over all displacements of both nodes, (2, 2 per_node)."""
    return np.array([-elongation(axes[2], per_node), elongation(axes[1], per_node)]) / length


def space_beam(length: float, axes: np.ndarray) -> np.ndarray:
    """A of (elongation, twist, end rotations about y, about z against the chord, its rotations about y, z), (8, 12)."""
    turns = chord_turns(length, axes)
    rows = [elongation(axes[0], 6), np.concatenate([np.zeros(3), -axes[0], np.zeros(3), axes[0]])]
    for axis, turn in zip(axes[1:], turns, strict=True):
        rows.append(np.concatenate([np.zeros(3), axis, np.zeros(6)]) - turn)
        rows.append(np.concatenate([np.zeros(9), axis]) - turn)
    return np.vstack([*rows, turns])
