"""From a plane beam's own deformations to its coordinates in the frame: linear, with P-Δ, or corotational.

A beam–column resists its deformations v = (δ, θ_i, θ_j), elongation and rotations of the ends against the chord, by
p = (N, M_i, M_j), regardless of its formulation.  How v follows from coordinates d that are linear in the displacements
is its
*geometry*:

========== ============================== ==============================================================================
linear     d = v
P-Δ        d = (δ, θ_i, θ_j, ψ)           the axial force turns with the chord ψ: a moment N L ψ on ψ
turning    d = (u, w, θ_i, θ_j)           displacement of the second end against the first, along and across the chord
                                          as it was, and rotations of the ends
========== ============================== ==============================================================================

P-Δ after E. L. Wilson, Three-Dimensional Static and Dynamic Analysis of Structures, 2002, chapter 11; its tangent on δ
is left out to keep matrices symmetric, as N changes little in a step.

Corotational, after M. A. Crisfield, Non-linear Finite Element Analysis of Solids and Structures, vol. 1, Wiley 1991,
chapter 7, for displacements and rotations of any size: with the chord's length l and rotation β now,

    l cos β = L + u,    l sin β = w,    v = (l − L, θ_i − β, θ_j − β)                                              (1)
    f = Bᵀ p,           K = Bᵀ k B + N/l z zᵀ + (M_i + M_j)/l² (r zᵀ + z rᵀ)                                       (2)
    r = (cos β, sin β, 0, 0),    z = (−sin β, cos β, 0, 0),    B = (r, e_3 − z/l, e_4 − z/l)

Angles are known but for whole turns; β is taken on the turn on which the ends are.
"""

from __future__ import annotations

import numpy as np

from ....kernels.compile import kernel
from .geometry import elongation, plane_beam

LINEAR, LEANING, TURNING = 0.0, 1.0, 2.0
LEANS = (3,)
"""Which coordinate of a plane beam with P-Δ is the chord's rotation."""
GEOMETRIES = {"linear": LINEAR, "p-delta": LEANING, "corotational": TURNING}


def coordinates(geometry: str, length: float, direction: np.ndarray) -> np.ndarray:
    """A of a plane beam's coordinates d, over all displacements of both nodes, (3 or 4, 6)."""
    if geometry != "corotational":
        return plane_beam(length, direction)[: 4 if geometry == "p-delta" else 3]
    c, s = direction
    turns = np.zeros((2, 6))
    turns[0, 2] = turns[1, 5] = 1.0
    return np.vstack([elongation(direction, 3), elongation(np.array([-s, c]), 3), turns])


def unloaded(geometry: str, length: float, stiffness: np.ndarray) -> np.ndarray:
    """∂f/∂d without load, of a stiffness k over v, (3 or 4, 3 or 4)."""
    if geometry == "linear":
        return stiffness
    if geometry == "p-delta":
        return np.pad(stiffness, (0, 1))
    b = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, -1.0 / length, 1.0, 0.0], [0.0, -1.0 / length, 0.0, 1.0]])
    return np.asarray(b.T @ stiffness @ b)


@kernel
def deformations(geometry, length, d, v):  # type: ignore[no-untyped-def]
    """(1): v of d."""
    if geometry != TURNING:
        v[0], v[1], v[2] = d[0], d[1], d[2]
        return
    now = np.sqrt((length + d[0]) ** 2 + d[1] * d[1])
    turned = np.arctan2(d[1], length + d[0])
    turned += 2.0 * np.pi * np.round((0.5 * (d[2] + d[3]) - turned) / (2.0 * np.pi))
    v[0] = (d[0] * (2.0 * length + d[0]) + d[1] * d[1]) / (now + length)
    v[1], v[2] = d[2] - turned, d[3] - turned


@kernel
def resistance(geometry, length, d, p, k, f, stiffness, at_k):  # type: ignore[no-untyped-def]
    """(2): forces p over v and their tangent k, (9,) row by row, as f and ∂f/∂d."""
    if geometry != TURNING:
        count = 3 if geometry == LINEAR else 4
        for i in range(count * count):
            stiffness[at_k + i] = 0.0
        for i in range(3):
            f[i] = p[i]
            for j in range(3):
                stiffness[at_k + i * count + j] = k[3 * i + j]
        if geometry == LEANING:
            f[3] = p[0] * length * d[3]
            stiffness[at_k + 15] = p[0] * length
        return
    far = length + d[0]
    now = np.sqrt(far * far + d[1] * d[1])
    c, s = far / now, d[1] / now
    across = (p[1] + p[2]) / now
    f[0], f[1], f[2], f[3] = c * p[0] + s * across, s * p[0] - c * across, p[1], p[2]
    # columns of B over (u, w): those over the rotations are unit vectors
    b_0 = (c, s / now, s / now)
    b_1 = (s, -c / now, -c / now)
    k_00, k_01, k_11 = 0.0, 0.0, 0.0
    for i in range(3):
        for j in range(3):
            k_00 += b_0[i] * k[3 * i + j] * b_0[j]
            k_01 += b_0[i] * k[3 * i + j] * b_1[j]
            k_11 += b_1[i] * k[3 * i + j] * b_1[j]
    normal, turning = p[0] / now, across / now
    stiffness[at_k] = k_00 + normal * s * s - 2.0 * turning * c * s
    stiffness[at_k + 1] = k_01 - normal * c * s + turning * (c * c - s * s)
    stiffness[at_k + 5] = k_11 + normal * c * c + 2.0 * turning * c * s
    stiffness[at_k + 4] = stiffness[at_k + 1]
    for end in range(2):
        on_u, on_w = 0.0, 0.0
        for i in range(3):
            on_u += b_0[i] * k[3 * i + 1 + end]
            on_w += b_1[i] * k[3 * i + 1 + end]
        stiffness[at_k + 2 + end] = stiffness[at_k + 4 * (2 + end)] = on_u
        stiffness[at_k + 6 + end] = stiffness[at_k + 4 * (2 + end) + 1] = on_w
        for other in range(2):
            stiffness[at_k + 4 * (2 + end) + 2 + other] = k[3 * (1 + end) + 1 + other]
