"""A beam in space whose displacements and rotations may be of any size: corotational.

Rotations in space do not add up.  Each end therefore keeps its triad R, which follows the increments of the rotations
in the frame: R ← exp(Δα) R, from the end of the step before.  After M. A. Crisfield, "A consistent co-rotational
formulation for non-linear, three-dimensional, beam-elements", Comput. Methods Appl. Mech. Eng. 81 (1990) 131–150: with
the triads r of an end and m half-way between both, and the chord's direction e_1 and length l now,

    e_k = m_k − ½ (m_k·e_1)(e_1 + m_1),  k = 2, 3
    2 sin θ_x = r_2·e_3 − r_3·e_2,    2 sin θ_y = r_3·e_1 − r_1·e_3,    2 sin θ_z = r_1·e_2 − r_2·e_1              (1)

are the rotations of an end against the beam's own axes, and v = (l − L, twist, θ_y of both ends, θ_z of both ends) its
deformations, which bending about y and z (``beam.py``), elongation and twist resist without acting on each other.
Forces are f = Tᵀ p with δv = T δd, where the half-way triad turns by half of what both ends turn.  The tangent is
Tᵀ k T with the turning of axial and shear forces; moments that turn are left out of it, so that it is symmetric.  The
iteration needs a little longer for that, and ends at the same forces.

Coordinates d are the displacement of the second node against the first, and the rotations of both, all along the
frame's axes.  Numbers: those of ``bending`` for y, then for z, EA/L, GJ/L, and the local axes at the start, row by row.
Inner state: that of ``bending`` for y and z, both ends' rotations as unit quaternions, and α at the end of the step
before.
"""

from __future__ import annotations

import numpy as np

from ....kernels.compile import kernel
from .beam import INNER, bending

TURNING_SPACE_BEAM = 7.0
PLANE = 7
"""Numbers of a plane of bending."""
STRETCH, TWIST, AXES = 2 * PLANE, 2 * PLANE + 1, 2 * PLANE + 2
TURNED, ALPHA = 2 * INNER, 2 * INNER + 8
INNER_STATES = 2 * INNER + 14
COORDINATES = 9
START = (*(0.0,) * TURNED, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, *(0.0,) * 6)
"""Inner states before any load."""


@kernel
def _dot(a, b):  # type: ignore[no-untyped-def]
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def _cross(a, b):  # type: ignore[no-untyped-def]
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def _sum(x, a, y, b):  # type: ignore[no-untyped-def]
    """x a + y b."""
    return x * a[0] + y * b[0], x * a[1] + y * b[1], x * a[2] + y * b[2]


@kernel
def _product(a, b):  # type: ignore[no-untyped-def]
    """Quaternion of the rotation b followed by a."""
    w = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3]
    x, y, z = _cross((a[1], a[2], a[3]), (b[1], b[2], b[3]))
    return w, a[0] * b[1] + b[0] * a[1] + x, a[0] * b[2] + b[0] * a[2] + y, a[0] * b[3] + b[0] * a[3] + z


@kernel
def _unit(w, x, y, z):  # type: ignore[no-untyped-def]
    scale = 1.0 / np.sqrt(w * w + x * x + y * y + z * z)
    return w * scale, x * scale, y * scale, z * scale


@kernel
def _turned(q, a):  # type: ignore[no-untyped-def]
    """A vector turned by a unit quaternion."""
    axis = (q[1], q[2], q[3])
    once = _cross(axis, a)
    twice = _cross(axis, once)
    return (
        a[0] + 2.0 * (q[0] * once[0] + twice[0]),
        a[1] + 2.0 * (q[0] * once[1] + twice[1]),
        a[2] + 2.0 * (q[0] * once[2] + twice[2]),
    )


@kernel
def _end(inner, trial, at, end, d):  # type: ignore[no-untyped-def]
    """Rotation of an end at d: what is committed, turned by the increment."""
    q, alpha, now = at + TURNED + 4 * end, at + ALPHA + 3 * end, 3 + 3 * end
    by = (d[now] - inner[alpha], d[now + 1] - inner[alpha + 1], d[now + 2] - inner[alpha + 2])
    angle = np.sqrt(_dot(by, by))
    part = 0.5 - angle * angle / 48.0 if angle < 1e-4 else np.sin(0.5 * angle) / angle
    step = (np.cos(0.5 * angle), part * by[0], part * by[1], part * by[2])
    w, x, y, z = _product(step, (inner[q], inner[q + 1], inner[q + 2], inner[q + 3]))
    found = _unit(w, x, y, z)
    for i in range(3):
        trial[alpha + i] = d[now + i]
    trial[q], trial[q + 1], trial[q + 2], trial[q + 3] = found
    return found


@kernel
def _across(a, e_1, length):  # type: ignore[no-untyped-def]
    """(I − e_1 e_1ᵀ) a / l."""
    return _sum(1.0 / length, a, -_dot(a, e_1) / length, e_1)


@kernel
def _seen(a, m_k, m_1, e_1, length):  # type: ignore[no-untyped-def]
    """How a·e_k changes with the relative displacement, and with the spin of the half-way triad; a held."""
    share, lean = 0.5 * (_dot(a, e_1) + _dot(a, m_1)), 0.5 * _dot(m_k, e_1)
    by_d = _across(_sum(-share, m_k, -lean, a), e_1, length)
    spin = _sum(1.0, _cross(m_k, a), -share, _cross(m_k, e_1))
    return by_d, _sum(1.0, spin, -lean, _cross(m_1, a))


@kernel
def _put(row, scale, by_d, half, own, end):  # type: ignore[no-untyped-def]
    """row += scale times what a deformation changes by: with d, with half of both spins, and with an end's own."""
    for i in range(3):
        row[i] += scale * by_d[i]
        row[3 + i] += 0.5 * scale * half[i]
        row[6 + i] += 0.5 * scale * half[i]
        row[3 + 3 * end + i] += scale * own[i]


def _turning_space_beam(  # type: ignore[no-untyped-def]
    numbers, at, laws, first, elapsed, inner, trial, at_inner, d, f, stiffness, at_k, t
):
    """Forces into ``f`` and tangent into ``stiffness``, row by row; 0, or 1 if its hinges have no solution."""
    axes = at + AXES
    x_0 = (numbers[axes], numbers[axes + 1], numbers[axes + 2])
    y_0 = (numbers[axes + 3], numbers[axes + 4], numbers[axes + 5])
    z_0 = (numbers[axes + 6], numbers[axes + 7], numbers[axes + 8])
    full = numbers[at + 3]
    moved = (d[0], d[1], d[2])
    chord = _sum(full, x_0, 1.0, moved)
    length = np.sqrt(_dot(chord, chord))
    e_1 = _sum(1.0 / length, chord, 0.0, chord)
    q_i, q_j = _end(inner, trial, at_inner, 0, d), _end(inner, trial, at_inner, 1, d)
    gap = _product(q_j, (q_i[0], -q_i[1], -q_i[2], -q_i[3]))
    sign = 1.0 if gap[0] >= 0.0 else -1.0  # of both quaternions of one rotation, the one that turns less
    w, x, y, z = _product(_unit(1.0 + sign * gap[0], sign * gap[1], sign * gap[2], sign * gap[3]), q_i)
    q_m = _unit(w, x, y, z)
    m_1, m_2, m_3 = _turned(q_m, x_0), _turned(q_m, y_0), _turned(q_m, z_0)
    lean_2, lean_3 = -0.5 * _dot(m_2, e_1), -0.5 * _dot(m_3, e_1)
    both = _sum(1.0, e_1, 1.0, m_1)
    e_2, e_3 = _sum(1.0, m_2, lean_2, both), _sum(1.0, m_3, lean_3, both)
    for i in range(6):
        for j in range(COORDINATES):
            t[i, j] = 0.0
    twist = 0.0
    turn_y, turn_z = (0.0, 0.0), (0.0, 0.0)
    for i in range(3):
        t[0, i] = e_1[i]
    for end in range(2):
        q = q_i if end == 0 else q_j
        r_1, r_2, r_3 = _turned(q, x_0), _turned(q, y_0), _turned(q, z_0)
        sin_x = 0.5 * (_dot(r_2, e_3) - _dot(r_3, e_2))
        sin_y = 0.5 * (_dot(r_3, e_1) - _dot(r_1, e_3))
        sin_z = 0.5 * (_dot(r_1, e_2) - _dot(r_2, e_1))
        side = 2.0 * end - 1.0
        twist += side * np.arcsin(sin_x)
        turn_y = (turn_y[1], np.arcsin(sin_y))
        turn_z = (turn_z[1], np.arcsin(sin_z))
        scale = 0.5 * side / np.sqrt(1.0 - sin_x * sin_x)
        by_d, half = _seen(r_2, m_3, m_1, e_1, length)
        _put(t[1], scale, by_d, half, _sum(1.0, _cross(r_2, e_3), -1.0, _cross(r_3, e_2)), end)
        by_d, half = _seen(r_3, m_2, m_1, e_1, length)
        _put(t[1], -scale, by_d, half, (0.0, 0.0, 0.0), end)
        scale = 0.5 / np.sqrt(1.0 - sin_y * sin_y)
        by_d, half = _seen(r_1, m_3, m_1, e_1, length)
        own = _sum(1.0, _cross(r_3, e_1), -1.0, _cross(r_1, e_3))
        _put(t[2 + end], scale, _sum(1.0, _across(r_3, e_1, length), -1.0, by_d), _sum(-1.0, half, 0.0, half), own, end)
        scale = 0.5 / np.sqrt(1.0 - sin_z * sin_z)
        by_d, half = _seen(r_1, m_2, m_1, e_1, length)
        own = _sum(1.0, _cross(r_1, e_2), -1.0, _cross(r_2, e_1))
        _put(t[4 + end], scale, _sum(1.0, by_d, -1.0, _across(r_2, e_1, length)), half, own, end)
    longer = (2.0 * full * _dot(x_0, moved) + _dot(moved, moved)) / (length + full)
    failed_y, y_1, y_2, y_11, y_12, y_22 = bending(
        numbers, at, laws, first, elapsed, inner, trial, at_inner, turn_y[0], turn_y[1]
    )
    failed_z, z_1, z_2, z_11, z_12, z_22 = bending(
        numbers, at + PLANE, laws, first, elapsed, inner, trial, at_inner + INNER, turn_z[0], turn_z[1]
    )
    stretch, twisting = numbers[at + STRETCH], numbers[at + TWIST]
    normal, torque = stretch * longer, twisting * twist
    for i in range(COORDINATES):
        f[i] = t[0, i] * normal + t[1, i] * torque + t[2, i] * y_1 + t[3, i] * y_2 + t[4, i] * z_1 + t[5, i] * z_2
        on_0, on_1 = stretch * t[0, i], twisting * t[1, i]
        on_2, on_3 = y_11 * t[2, i] + y_12 * t[3, i], y_12 * t[2, i] + y_22 * t[3, i]
        on_4, on_5 = z_11 * t[4, i] + z_12 * t[5, i], z_12 * t[4, i] + z_22 * t[5, i]
        for j in range(COORDINATES):
            stiffness[at_k + i * COORDINATES + j] = (
                on_0 * t[0, j] + on_1 * t[1, j] + on_2 * t[2, j] + on_3 * t[3, j] + on_4 * t[4, j] + on_5 * t[5, j]
            )
    shear = (f[0] - normal * e_1[0], f[1] - normal * e_1[1], f[2] - normal * e_1[2])
    for i in range(3):
        stiffness[at_k + i * COORDINATES + i] += normal / length
        for j in range(3):
            turning = normal * e_1[i] * e_1[j] + e_1[i] * shear[j] + shear[i] * e_1[j]
            stiffness[at_k + i * COORDINATES + j] -= turning / length
    return max(failed_y, failed_z)


turning_space_beam = kernel(_turning_space_beam)
"""``_turning_space_beam``, compiled once for all frames."""
