"""The paper's Algorithm 1 to the letter, on its linear example: a step as a matrix, and its spectral radius.

State at t_i: x_i = (q_i, u_i), the three states before it, and d, the displacement measured last.  In every stage j

    x_ij = x_i + Δt Σ a_jk x˙_ik                                                              (line 4)
    d˙, d¨ at t_i from a cubic through d at t_i and the states of t_{i−1}, t_{i−2}, t_{i−3}     (line 5; Eqs. 14 to 16)
    r = k q_ij + m (d¨ + 2α (d˙ − u_ij) + β² (d − q_ij))                                       (line 6; Eq. 11)
    d = −r/k_PS                                                                               (lines 7 and 8; Eq. 13)
    x˙_ij = (u_ij, d¨ + 2α (d˙ − u_ij) + β² (d − q_ij))                                        (line 9; Eq. 12)

Eq. 16 leaves x_i itself out of the regression: what is differentiated lags a step behind what is integrated.  Two
choices stay open.  The d in lines 5 and 6 is not measured yet: that of the stage before is taken ("lagged"), or r and d
are solved for together ("solved").  Line 9 may take the slopes with the d of lines 5 and 6, or with the d that line 8
has brought and d˙, d¨ anew from it ("fresh").

This is written apart from halfreal's methods: it has nothing in common with them but the paper's equations.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

MASS, SPRING, SPECIMEN = 0.5, 390.0, 390.0  # kg, N/m
OMEGA_0 = float(np.sqrt((SPRING + SPECIMEN) / MASS))
TABLEAUS: dict[str, tuple[list[list[float]], list[float]]] = {
    "forward Euler": ([[0.0]], [1.0]),
    "RK2": ([[0.0, 0.0], [1.0, 0.0]], [0.5, 0.5]),
    "RK4": ([[0, 0, 0, 0], [0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 1.0, 0]], [1 / 6, 1 / 3, 1 / 3, 1 / 6]),
}
READINGS = tuple((loop, slopes) for loop in ("lagged", "solved") for slopes in ("commanded", "fresh"))


def derivatives(step: float) -> np.ndarray:
    """Weights (2, 7) of d, three displacements and three velocities in d˙ and d¨ at t_i (Eqs. 14 to 16)."""
    times = -np.arange(1.0, 4.0)  # in steps, so that the powers are of one size
    values = np.vander([0.0, *times], 4, increasing=True)
    slopes = np.zeros((3, 4))
    slopes[:, 1:] = values[1:, :3] * [1.0, 2.0, 3.0] / step
    fitted = np.linalg.pinv(np.vstack([values, slopes]))
    return np.array([fitted[1] / step, 2.0 * fitted[2] / step**2])


def transition(scheme: str, alpha: float, step: float, loop: str, slopes: str, *, newest: bool = False) -> np.ndarray:
    """Of (q_i, u_i, q_{i−1..i−3}, u_{i−1..i−3}, d) over a step, α being β [1/s].

    With the ``newest`` state in the regression, x_i, x_{i−1}, x_{i−2} and a d of t_{i+1}, it is reading B.
    """
    shares, sums = TABLEAUS[scheme]
    velocity, acceleration = derivatives(step)
    weights = acceleration + 2 * alpha * velocity
    columns = []
    for start in np.eye(9):
        x, history, d = start[:2], start[2:8], start[8]
        fitted = np.array([x[0], *history[:2], x[1], *history[3:5]]) if newest else history
        rates: list[np.ndarray] = []

        def pulled(x_j: np.ndarray, d: float, fitted: np.ndarray = fitted) -> float:
            """d¨ + 2α (d˙ − u) + β² (d − q)."""
            return float(weights @ [d, *fitted] - 2 * alpha * x_j[1] + alpha**2 * (d - x_j[0]))

        for row in shares:
            x_j = x + step * sum((a * rate for a, rate in zip(row, rates, strict=False)), np.zeros(2))
            if loop == "solved":  # r(d) is linear in d: d = −r(d)/k_PS
                none, one = (SPRING * x_j[0] + MASS * pulled(x_j, value) for value in (0.0, 1.0))
                d = -none / (SPECIMEN + one - none)
            used = pulled(x_j, d)
            d = -(SPRING * x_j[0] + MASS * used) / SPECIMEN
            rates.append(np.array([x_j[1], pulled(x_j, d) if slopes == "fresh" else used]))
        new = x + step * sum((b * rate for b, rate in zip(sums, rates, strict=True)), np.zeros(2))
        columns.append([*new, x[0], *history[:2], x[1], *history[3:5], d])
    return np.array(columns).T


def radius(scheme: str, alpha: float, omega: float, loop: str, slopes: str) -> float:
    """Spectral radius at Ω = ω_0 Δt."""
    return float(np.abs(np.linalg.eigvals(transition(scheme, alpha, omega / OMEGA_0, loop, slopes))).max())


def smallest_radius(alphas: Iterable[float], omegas: Iterable[float]) -> dict[tuple[str, str], float]:
    """By reading, the smallest spectral radius of all schemes, α = β and Ω."""
    grid = [(scheme, alpha, omega) for scheme in TABLEAUS for alpha in alphas for omega in omegas]
    return {reading: min(radius(*at, *reading) for at in grid) for reading in READINGS}
