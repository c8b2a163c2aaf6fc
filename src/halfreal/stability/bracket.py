"""Where a function of one variable passes zero between two points.

T. R. Chandrupatla (1997): A new hybrid quadratic/bisection algorithm for finding the zero of a nonlinear function
without using derivatives, Advances in Engineering Software 28(3), 145–149.  Of the three latest points (a, f_a),
(b, f_b), (c, f_c), a and b on either side of the root, with

    ξ = (a − b)/(c − b),    φ = (f_a − f_b)/(f_c − f_b),

the inverse quadratic through them is monotonous between a and b if φ² < ξ and (1 − φ)² < 1 − ξ, and is then followed;
else the interval is halved.  ``scipy.optimize`` has a method like it, and takes longer to import than a check does.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

EPSILON = float(np.finfo(float).eps)
MOST = 500
"""Evaluations, far more than halving the interval takes."""


def root_between(function: Callable[[float], float], low: float, high: float) -> float:
    """The root between two points at which the function has different signs, to four units in the last place."""
    a, b = low, high
    at_a, at_b = function(a), function(b)
    if at_a * at_b > 0.0:
        raise ValueError(f"the function has one sign at both ends, {low:g} and {high:g}")
    if at_a == 0.0 or at_b == 0.0:
        return a if at_a == 0.0 else b
    part = 0.5
    for _ in range(MOST):
        x = a + part * (b - a)
        at_x = function(x)
        if (at_x > 0.0) == (at_a > 0.0):
            c, at_c = a, at_a
        else:
            c, at_c, b, at_b = b, at_b, a, at_a
        a, at_a = x, at_x
        best = a if abs(at_a) < abs(at_b) else b
        room = abs(b - a)
        least = 2.0 * EPSILON * abs(best)
        if room <= 2.0 * least or at_a == 0.0:
            return best
        part = 0.5
        xi, phi = (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)
        if phi * phi < xi and (1.0 - phi) ** 2 < 1.0 - xi:
            part = at_a / (at_b - at_a) * at_c / (at_b - at_c)
            part += (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
        part = min(max(part, least / room), 1.0 - least / room)
    return best
