"""Displacements and rotations in one sum of squares: a lever L makes a rotation θ the displacement L θ.

The laws of ``lms.py`` and ``rls.py`` minimise a sum over all axes.  Where some of them are rotations, metres would be
added to radians, and the result would depend on the units.  Inside the coupling every axis is therefore in metres and
every drive in newtons: a gap in rotation counts as L θ, a drive that is a moment M as the force M / L.  The work of a
drive on its axis stays the same.  L is a setting.  If it is omitted, drives of the same size move displacements and
rotations equally in the model: with the squares of the entries of H, summed over all harmonics, by the kinds of axis
(x, θ) and of drive (F, M),

    L⁴ |H_θM|² + L² (|H_θF|² − |H_xM|²) − |H_xF|² = 0

A test whose rotations are expressed in a unit k times smaller has k L in place of L, and the same drives.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ...contracts.axes import Axes
from ...contracts.state_space import StateSpace


@dataclass(frozen=True)
class Lever:
    """``axes``: factor that makes the motion of each axis a displacement; ``drives``: what one newton is on each."""

    axes: np.ndarray
    drives: np.ndarray

    @classmethod
    def of(cls, axes: Axes | None, count: int, length: float | None) -> Lever:
        """For an interface, or for ``count`` axes that are displacements."""
        if axes is None or length is None:
            return cls(np.ones(count), np.ones(count))
        return cls(np.where(axes.rotations, length, 1.0), np.where(axes.actuators.rotations, length, 1.0))

    def transfer(self, h: np.ndarray) -> np.ndarray:
        """Transfer functions (…, n, n) in m/N."""
        return np.asarray(self.axes[:, None] * h * self.drives)

    def plant(self, plant: StateSpace) -> StateSpace:
        """A plant from drives to gap, in m/N."""
        c, d = self.axes[:, None] * plant.c, self.transfer(plant.d)
        return replace(plant, b=plant.b * self.drives, c=c, d=d)


def balanced(transfer: np.ndarray, axes: Axes) -> float:
    """L [m] with which drives move displacements and rotations equally; 1 m where there is nothing to compare."""
    turns, moments = axes.rotations, axes.actuators.rotations
    squares = np.sum(np.abs(transfer) ** 2, axis=0)

    def total(rows: np.ndarray, columns: np.ndarray) -> float:
        return float(squares[np.ix_(rows, columns)].sum())

    of_force, of_moment = total(~turns, ~moments), total(~turns, moments)
    turned_by_force, turned_by_moment = total(turns, ~moments), total(turns, moments)
    middle = turned_by_force - of_moment
    root = math.sqrt(middle**2 + 4.0 * turned_by_moment * of_force)
    # the positive root, without cancellation
    upper, lower = (2.0 * of_force, middle + root) if middle >= 0.0 else (root - middle, 2.0 * turned_by_moment)
    return math.sqrt(upper / lower) if upper > 0.0 and lower > 0.0 else 1.0
