"""Velocity and acceleration of a specimen that is measured only in displacement, by cubic regression.

F. Nordtorp, G. Abbiati, "A DAE solver for coordination of force-controlled hybrid testing", engrXiv preprint, Eqs.
14–16: a cubic f is fitted by least squares to the measured displacement d and to the last n states of the numerical
side, and differentiated at the time τ where the derivatives are wanted,

    min over f of  (f(t_d) − d)² + Σ_p (f(t_p) − hq_p)² + w² Σ_p (f˙(t_p) − hu_p)²

The residuals are in metres and in metres per second: the weight w [s] makes them comparable.  The paper adds them as
they are, w = 1 s; with a step well below a second the velocities then count almost alone.

The fit is linear in what it is fitted to, so that it is a row of weights, found before the test:

    d˙(τ) = Σ_i v_i z_i,    d¨(τ) = Σ_i a_i z_i,    z = (d, hq_1 … hq_n, hu_1 … hu_n),  newest first

============= ==========================================================================
n             number of states in the history, newest at time 0, one step apart
t_d, τ        time of the measured displacement, and of the derivatives [steps after the newest state]
w             weight of the velocities [s]
============= ==========================================================================
"""

from __future__ import annotations

import numpy as np

COEFFICIENTS = 4
"""Of a cubic."""


def rows(dt: float, measured_at: float, points: int, velocity_weight: float) -> np.ndarray:
    """Design matrix of the fit over time in steps, (1 + 2n, 4); its last n rows carry the weight of the velocities."""
    times = np.concatenate([[measured_at], -np.arange(float(points))])
    powers = times[:, None] ** np.arange(COEFFICIENTS)
    slopes = np.zeros((points, COEFFICIENTS))
    slopes[:, 1:] = powers[1:, :-1] * np.arange(1.0, COEFFICIENTS)
    return np.vstack([powers, velocity_weight / dt * slopes])


def determined(dt: float, measured_at: float, points: int, velocity_weight: float) -> bool:
    """Whether the fit has one answer."""
    return int(np.linalg.matrix_rank(rows(dt, measured_at, points, velocity_weight))) == COEFFICIENTS


def derivative_weights(dt: float, measured_at: float, at: float, points: int, velocity_weight: float) -> np.ndarray:
    """Weights (2, 1 + 2n) of velocity [1/s, and 1 for velocities] and acceleration in z."""
    fitted = np.linalg.pinv(rows(dt, measured_at, points, velocity_weight))
    fitted[:, 1 + points :] *= velocity_weight
    first = np.array([0.0, 1.0, 2.0 * at, 3.0 * at**2]) / dt
    second = np.array([0.0, 0.0, 2.0, 6.0 * at]) / dt**2
    return np.array([first @ fitted, second @ fitted])
