"""A structure that is pushed sideways until it has moved so far: what is requested, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .inside import Inside

SOFT = 0.5
"""Part of a spot's initial stiffness below which it has yielded."""


@dataclass(frozen=True)
class Push:
    """How a structure is pushed."""

    pattern: str | Mapping[str, float] = "mode"
    """How the force is spread over the nodes: by "mode", mass times the strongest mode in the direction; "uniform", by
    mass; "triangle", by mass times height; or the share of each node."""
    node: str | None = None
    """The node that is watched; the highest one with mass if left out."""
    direction: str | None = None
    """Of the push; that of the interface's first axis that is a horizontal displacement, or x, if left out."""
    target: float | None = None
    """Displacement of the watched node [m]; 2 % of the structure's height if left out."""
    steps: int = 200


@dataclass(frozen=True)
class Yielding:
    """A spot that has begun to yield."""

    spot: int
    step: int


@dataclass(frozen=True)
class Pushed:
    """Equilibria of a structure that is pushed, a row for each step; the first is at rest."""

    inside: Inside
    node: str
    direction: str
    pattern: Mapping[str, float]
    """Share of each node in the whole force."""
    displacement: np.ndarray
    """Of the watched node [m]."""
    base_shear: np.ndarray
    """The whole force [N]."""
    motion: np.ndarray
    """Displacements of all nodes, (rows, all)."""
    strain: np.ndarray
    stress: np.ndarray
    """Of the spots, (rows, spots)."""
    note: str = ""
    """Why it was not pushed to the end; empty if it was."""

    @property
    def drifts(self) -> np.ndarray:
        """Of the storeys [m], (rows, storeys)."""
        return np.asarray(self.motion @ self.inside.drifts(self.direction).T)

    @property
    def sequence(self) -> list[Yielding]:
        """Spots that have yielded, in the order in which they did."""
        stiffness = np.array([spot.stiffness for spot in self.inside.sketch.spots])
        moved = np.diff(self.strain, axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            soft = (np.diff(self.stress, axis=0) / moved < SOFT * stiffness) & (
                np.abs(moved) > 1e-6 * np.abs(self.strain).max(axis=0)
            )
        found = [Yielding(int(i), int(np.argmax(soft[:, i])) + 1) for i in range(len(stiffness)) if soft[:, i].any()]
        return sorted(found, key=lambda one: (one.step, one.spot))
