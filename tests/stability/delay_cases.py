"""Delay systems with known answers, and two independent ways to count roots and to measure growth."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from examples.wallace2005 import DELAY, KS, C, K, M
from halfreal.stability.dde import DelaySystem

MASS = 12.5
"""Rigid mass on the tip of the rod [kg]."""


def wallace(delay: float) -> DelaySystem:
    """m z¨ + c z˙ + k z + k_s z(t − τ) = 0."""
    return DelaySystem.second_order(M, C, K, [(delay, KS, None, None)])


def predicted(weights: np.ndarray, step: float = 1e-3) -> DelaySystem:
    """The same at the rig's delay behind a predictor: delays τ + jΔ (Eq. 14 of Wallace et al. 2005)."""
    return DelaySystem.second_order(
        M, C, K, [(DELAY + j * step, KS * weight, None, None) for j, weight in enumerate(weights)]
    )


def rod_modes(count: int) -> tuple[np.ndarray, np.ndarray]:
    """ω [rad/s] and modal mass [kg] at tip shape 1 of a fixed–free rod of ten elements with consistent mass."""
    mass, stiffness = np.zeros((11, 11)), np.zeros((11, 11))
    for e in range(10):
        mass[e : e + 2, e : e + 2] += 10.8003 / 6 * np.array([[2, 1], [1, 2]])
        stiffness[e : e + 2, e : e + 2] += 280_075.0 * np.array([[1, -1], [-1, 1]])
    squares, shapes = scipy.linalg.eigh(stiffness[1:, 1:], mass[1:, 1:])
    return np.sqrt(squares[:count]), 1.0 / shapes[-1, :count] ** 2


def rod(delay: float, modes: int = 2) -> DelaySystem:
    """The rod's modes (1 % of damping) with the tip's mass pushing back ``delay`` late: neutral."""
    omega, mass = rod_modes(modes)
    late = MASS * np.ones((modes, modes))
    return DelaySystem.second_order(
        np.diag(mass), np.diag(0.02 * mass * omega), np.diag(mass * omega**2), [(delay, None, None, late)]
    )


def rod_open_loop(omega: np.ndarray, modes: int = 2) -> np.ndarray:
    """L(jω) = m s² Σ_i 1/(μ_i (s² + 2ζω_i s + ω_i²))."""
    s = 1j * np.asarray(omega)[..., None]
    own, mass = rod_modes(modes)
    return np.asarray((MASS * s**2 / (mass * (s**2 + 0.02 * own * s + own**2))).sum(axis=-1))


def count_inside(system: DelaySystem, left: float, right: float, top: float, points: int = 2000) -> int:
    """Number of roots in left < Re s < right, |Im s| < top by the argument principle: turns of det Δ on the contour."""
    side = np.linspace(0.0, 1.0, points, endpoint=False)
    corners = np.array([left - 1j * top, right - 1j * top, right + 1j * top, left + 1j * top])
    contour = np.concatenate([a + (b - a) * side for a, b in zip(corners, np.roll(corners, -1), strict=True)])
    values, _ = np.linalg.slogdet(system.matrix(contour))
    turns = np.angle(np.roll(values, -1) / values)
    assert np.abs(turns).max() < 2.0, "contour too coarse, or a root on it"
    return round(float(turns.sum()) / (2 * np.pi))


def growth_rate(system: DelaySystem, per_delay: int, periods: int) -> float:
    """Growth rate [1/s] of E x˙ = A_0 x + A_1 x(t − τ), from Runge–Kutta 4 by the method of steps, E regular.

    The past is wanted at steps and between two: there it is the cubic Hermite polynomial, as accurate as the method.
    """
    a0, a1 = np.linalg.solve(system.E, system.A)
    (delay,) = system.delays
    h = delay / per_delay
    n, steps = len(a0), per_delay * periods
    x, slope = np.zeros((steps + per_delay + 1, n)), np.zeros((steps + per_delay + 1, n))
    x[: per_delay + 1, 0] = 1.0
    for i in range(per_delay, steps + per_delay):
        j = i - per_delay
        late = (
            x[j],
            0.5 * (x[j] + x[j + 1]) + h / 8 * (slope[j] - slope[j + 1]),
            x[j + 1],
        )
        k1 = a0 @ x[i] + a1 @ late[0]
        k2 = a0 @ (x[i] + h / 2 * k1) + a1 @ late[1]
        k3 = a0 @ (x[i] + h / 2 * k2) + a1 @ late[1]
        k4 = a0 @ (x[i] + h * k3) + a1 @ late[2]
        slope[i] = k1
        x[i + 1] = x[i] + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        slope[i + 1] = a0 @ x[i + 1] + a1 @ x[i + 1 - per_delay]
    # one leading pair e^{at} cos(bt + φ): four samples in a row give e^{2aT} from the recurrence they obey
    tail = x[-1 - 3 * per_delay :: per_delay, 0]
    product = (tail[1] * tail[3] - tail[2] ** 2) / (tail[0] * tail[2] - tail[1] ** 2)
    return float(np.log(product) / (2 * delay))
