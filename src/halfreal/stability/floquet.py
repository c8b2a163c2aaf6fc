"""Floquet multipliers: what small deviations from a periodic motion become in one period.

They are the eigenvalues μ of the monodromy matrix ∂x(T)/∂x, measured on the loop that runs (``shooting.py``).  The
motion is stable if all |μ| < 1.  A limit cycle has one at μ = 1, along the motion itself; how far the computed one is
from there shows how good the others are, and it is left out.  How a motion loses its stability as a number changes
(Y. A. Kuznetsov, Elements of Applied Bifurcation Theory, 3rd ed., Springer 2004, chapter 5):

    μ = 1          fold: two cycles meet and vanish (or, of a symmetric one, two asymmetric ones branch off)
    μ = −1         period doubling
    μ = e^{±iψ}    Neimark–Sacker: motion on a torus, whose amplitude beats
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigvals
from scipy.sparse.linalg import ArpackError, LinearOperator, eigs

from .shooting import PART, Shooting

DENSE = 300
"""States up to which the whole monodromy matrix is measured."""
SOME = 8
"""Largest multipliers that are found of more."""
WELL_MET = 1e-4
"""Distance of the multiplier at 1 from there up to which small slopes are good."""
REAL = 1e-3
"""Angle [rad] from the real axis within which a multiplier counts as real."""


def multipliers(shooting: Shooting, start: np.ndarray, ticks: float, part: float = PART) -> np.ndarray:
    """All Floquet multipliers of a motion, or the largest of very many; largest first.

    States are moved by so large a ``part`` of their motion for the slopes.
    """
    n = start.size
    if n > DENSE:
        operator = LinearOperator(
            (n, n), lambda v: shooting.image(start, ticks, np.real(np.ravel(v)), part), dtype=float
        )
        try:
            return ordered(eigs(operator, k=SOME, v0=np.ones(n), return_eigenvectors=False, tol=1e-8))
        except ArpackError:  # which happens where few multipliers are not nothing
            pass
    return ordered(eigvals(np.array([shooting.image(start, ticks, unit, part) for unit in np.eye(n)]).T))


def of_free_motion(shooting: Shooting, start: np.ndarray, ticks: float) -> tuple[np.ndarray, float]:
    """Floquet multipliers of a limit cycle without the one at 1, and how far that is from there.

    A law with a corner is met at ticks only, and by small slopes always at the same ones, though the ticks of one
    period fall between those of the one before.  So where the multiplier at 1 is not met, slopes over about what a
    state moves in a tick are tried too, and those that meet it best count.
    """
    best = without_trivial(multipliers(shooting, start, ticks))
    for part in (3.0 / ticks, 6.0 / ticks):
        if best[1] > WELL_MET:
            best = min(best, without_trivial(multipliers(shooting, start, ticks, part)), key=lambda one: one[1])
    return best


def ordered(values: np.ndarray) -> np.ndarray:
    return np.asarray(values[np.argsort(-np.abs(values), kind="stable")], dtype=complex)


def without_trivial(values: np.ndarray) -> tuple[np.ndarray, float]:
    """The multipliers without the one closest to 1, and how far that is from there."""
    if not values.size:
        return values, 0.0
    nearest = int(np.argmin(np.abs(values - 1.0)))
    return np.delete(values, nearest), float(abs(values[nearest] - 1.0))


def crossing(value: complex) -> str:
    """What happens where this multiplier crosses the unit circle."""
    angle = abs(np.angle(value))
    if angle < REAL:
        return "fold"
    return "period doubling" if np.pi - angle < REAL else "Neimark–Sacker"
