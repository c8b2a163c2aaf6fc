"""Growing roots of delay equations, counted without the package: the argument principle on a contour that is refined.

Nothing here is proven; the points are many, and an interval on which the argument changes by much is halved.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def gained(direction: Callable[[np.ndarray], np.ndarray], path: np.ndarray) -> float | None:
    """Argument of a function (of which only the direction counts) gained along a path; None next to a zero."""
    values = direction(path)
    for _ in range(40):
        change = np.angle(values[1:] / values[:-1])
        coarse = np.flatnonzero(np.abs(change) > 0.35)
        if not coarse.size:
            return float(change.sum())
        between = 0.5 * (path[coarse] + path[coarse + 1])
        if np.abs(between - path[coarse]).min() < 1e-11:
            return None
        values = np.insert(values, coarse + 1, direction(between))
        path = np.insert(path, coarse + 1, between)
    return None


def growing(A: np.ndarray, delays: np.ndarray) -> int | None:
    """Roots of x˙ = A_0 x + Σ A_k x(t − τ_k) with a positive real part: all have |s| ≤ Σ‖A_k‖."""
    A, delays = np.asarray(A, dtype=float), np.asarray(delays, dtype=float)
    one = np.eye(A.shape[-1])

    def direction(s: np.ndarray) -> np.ndarray:
        late = np.tensordot(np.exp(-s[:, None] * delays), A[1:], axes=1)
        return np.linalg.slogdet(s[:, None, None] * one - A[0] - late)[0]

    reach = 1.2 * np.linalg.norm(A, 2, axis=(1, 2)).sum()
    fine = np.linspace(0.0, min(reach, 400.0 / delays.max()), 5000)
    up = np.unique(np.concatenate([fine, np.geomspace(1e-6 * min(reach, 1.0), reach, 4000)]))
    right = np.concatenate([[0.0], np.geomspace(1e-7 * reach, reach, 1500)])
    path = np.concatenate([1j * up, 1j * reach + right[1:], reach + 1j * np.linspace(reach, 0.0, 800)[1:]])
    turned = gained(direction, path)
    return None if turned is None else round(-turned / np.pi)


def growing_neutral(zeta: float, omega: float, stiffness: float, mass: float, delay: float) -> int | None:
    """Roots of q¨ + 2ζω q˙ + ω² q + (stiffness q + mass q¨)(t − τ) = 0 with a positive real part, mass < 1.

    Zeros of 1 + G(s) e^{−sτ}, G = (mass s² + stiffness)/(s² + 2ζωs + ω²): beyond the last frequency at which |G| = 1
    the function stays within the unit circle round 1, and turns no more.
    """

    def function(s: np.ndarray) -> np.ndarray:
        return 1 + (mass * s**2 + stiffness) / (s**2 + 2 * zeta * omega * s + omega**2) * np.exp(-s * delay)

    # |mass (−w) + stiffness|² = (ω² − w)² + 4ζ²ω²w, w the square of the frequency
    squares = np.roots(
        [1 - mass**2, 4 * (zeta * omega) ** 2 - 2 * omega**2 + 2 * mass * stiffness, omega**4 - stiffness**2]
    )
    real = squares.real[(np.abs(squares.imag) < 1e-9 * omega**2) & (squares.real > 0)]
    last = 1.01 * np.sqrt(real.max(initial=omega**2)) + omega
    turned = gained(function, 1j * np.linspace(0.0, last, 4000 + int(20 * last * delay)))
    return None if turned is None else round((np.angle(function(np.array([1j * last]))[0]) - turned) / np.pi)
