"""Directions of elements in a plane and in space."""

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
