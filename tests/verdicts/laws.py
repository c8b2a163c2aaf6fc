"""Laws of specimens and structures, in plain numbers: force of a deformation x, with its memory m, which is updated.

Written from the formulas, not from the package: this is what its verdicts are held against.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

GAP, BILINEAR, CUBIC, ELASTOPLASTIC, BOUC_WEN, FRICTION, DAMPER = range(7)
MEMORY = 2
PARTS = 8
"""Of an increment, over which the law of Bouc and Wen is integrated."""


@njit(cache=True)
def _rate_of_z(p, z, way):
    """dz/dx for a motion in the direction ``way``; p = (k, α, Y, n, β, γ)."""
    return 1.0 - (abs(z) / p[2]) ** p[3] * (p[5] + p[4] * np.sign(way * z))


@njit(cache=True)
def force(code, p, m, x, v):
    """Force [N]; ``m`` holds the memory before, and after."""
    if code == GAP:  # stiffness, lower end, upper end
        return p[0] * (min(x - p[1], 0.0) + max(x - p[2], 0.0))
    if code == BILINEAR:  # stiffness inside, limit, stiffness outside
        outside = max(abs(x) - p[1], 0.0)
        return p[0] * x + (p[2] - p[0]) * math.copysign(outside, x)
    if code == CUBIC:  # stiffness, cubic
        return p[0] * x + p[1] * x**3
    if code == ELASTOPLASTIC:
        # stiffness, yield force, hardening b: a spring b k, and one of (1 − b) k that slides at (1 − b) times the yield
        k, most = (1.0 - p[2]) * p[0], (1.0 - p[2]) * p[1]
        stretched = min(max(x - m[0], -most / k), most / k)
        m[0] = x - stretched
        return p[2] * p[0] * x + k * stretched
    if code == BOUC_WEN:
        h, z = (x - m[0]) / PARTS, m[1]
        for _ in range(PARTS):
            a = _rate_of_z(p, z, h)
            b = _rate_of_z(p, z + 0.5 * h * a, h)
            c = _rate_of_z(p, z + 0.5 * h * b, h)
            d = _rate_of_z(p, z + h * c, h)
            z += h * (a + 2.0 * b + 2.0 * c + d) / 6.0
        m[0], m[1] = x, z
        return p[0] * (p[1] * x + (1.0 - p[1]) * z)
    if code == FRICTION:  # sticking stiffness, force
        stretched = min(max(x - m[0], -p[1] / p[0]), p[1] / p[0])
        m[0] = x - stretched
        return p[0] * stretched
    if code == DAMPER:  # F = c |v|^a sgn v, linear below a velocity
        if abs(v) < p[2]:
            return p[0] * p[2] ** (p[1] - 1.0) * v
        return math.copysign(p[0] * abs(v) ** p[1], v)
    return np.nan
