"""Laws of nonlinear elements: the force r over the deformation δ.

An element is a law code, a row of six parameters and one internal variable, its permanent set s: the deformation it
keeps where it is unloaded (0 where it begins, and always 0 for laws without memory).  Three scalars describe what it
has gone through: s and δ₀, the set and the deformation at the last committed step, and the trial deformation δ.  All
laws are independent of the rate, so that s at δ follows from s at δ₀ alone: a scheme may try any number of
deformations and commits once a step::

    r = restoring_force(law, parameters, s, before, deformation)   # changes nothing
    s = permanent_set(law, parameters, s, before, deformation)     # to commit; the caller keeps δ as the next `before`

``add_restoring`` and ``commit`` do the same for all elements of a structure.

======================= ================================================== ==================================
law                     force                                              parameters
======================= ================================================== ==================================
``LINEAR``              k δ                                                k
``CUBIC`` (Duffing)     k δ + k₃ δ³                                        k, k₃
``BILINEAR`` (elastic)  k δ inside ±a, ±k a + k₂ (δ ∓ a) outside           k, a, k₂
``ELASTOPLASTIC``       k (δ − s), |k (δ − s) − h s| ≤ F_y                 k, F_y, h
``BOUC_WEN``            α k δ + (1 − α) k z, z = A (δ − s),                k, α, A, β, γ, n
                        dz/dδ = A − |z|ⁿ (γ + β sgn(dδ z))
======================= ================================================== ==================================

The elastic bilinear law with k₂ = 0 is the saturating spring of Wallace, Sieber, Neild, Wagg, Krauskopf, Earthquake
Engng Struct. Dyn. 34 (2005) 1817–1832, section 3.  The elastoplastic law has linear kinematic hardening and is solved
by return mapping (Simo, Hughes, Computational Inelasticity, Springer 1998, chapter 1); with the hardening modulus
h its stiffness after yielding is k h / (k + h).  The last law is that of Wen, J. Eng. Mech. Div. ASCE 102 (1976)
249–263; it is integrated along δ by the classical Runge–Kutta method in ``SUBDIVISIONS`` parts; with
increments of a tenth of the yield displacement the force is accurate to 10⁻⁶ of the yield force, or 2·10⁻⁵ where n = 1
(|z|ⁿ then has a kink at zero).

Near a state of rest s does not change to first order.  It belongs among a block's frozen fields: with s held, a loop
linearised at rest has every element at its initial stiffness.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .compile import kernel
from .linear import dot

LINEAR, CUBIC, BILINEAR, ELASTOPLASTIC, BOUC_WEN = 0.0, 1.0, 2.0, 3.0, 4.0
PARAMETERS = 6
SUBDIVISIONS = 8


@kernel
def _bouc_wen_slope(p, z, direction):  # type: ignore[no-untyped-def]
    exponent = p[5]
    if exponent == 1.0:
        power = abs(z)
    elif exponent == 2.0:
        power = z * z
    else:
        power = abs(z) ** exponent
    return p[2] - power * (p[4] + p[3] * np.sign(direction * z))


@kernel
def _bouc_wen(p, permanent, before, deformation):  # type: ignore[no-untyped-def]
    h = (deformation - before) / SUBDIVISIONS
    z = p[2] * (before - permanent)
    for _ in range(SUBDIVISIONS):
        k1 = _bouc_wen_slope(p, z, h)
        k2 = _bouc_wen_slope(p, z + 0.5 * h * k1, h)
        k3 = _bouc_wen_slope(p, z + 0.5 * h * k2, h)
        k4 = _bouc_wen_slope(p, z + h * k3, h)
        z += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return z


@kernel
def _return_mapping(p, permanent, deformation):  # type: ignore[no-untyped-def]
    k, yielding, hardening = p[0], p[1], p[2]
    excess = k * (deformation - permanent) - hardening * permanent
    if abs(excess) > yielding:
        return permanent + (excess - np.sign(excess) * yielding) / (k + hardening)
    return permanent


@kernel
def permanent_set(law, p, permanent, before, deformation):  # type: ignore[no-untyped-def]
    """The set after the deformation has gone from ``before``, where it was ``permanent``, to ``deformation``."""
    if law == ELASTOPLASTIC:
        return _return_mapping(p, permanent, deformation)
    if law == BOUC_WEN:
        return deformation - _bouc_wen(p, permanent, before, deformation) / p[2]
    return 0.0


@kernel
def restoring_force(law, p, permanent, before, deformation):  # type: ignore[no-untyped-def]
    """The force at ``deformation``; ``permanent`` and ``before`` are those of the last committed step.

    An unknown law gives NaN.
    """
    if law == LINEAR:
        return p[0] * deformation
    if law == CUBIC:
        return (p[0] + p[1] * deformation * deformation) * deformation
    if law == BILINEAR:
        inside = min(max(deformation, -p[1]), p[1])
        return p[0] * inside + p[2] * (deformation - inside)
    if law == ELASTOPLASTIC:
        return p[0] * (deformation - _return_mapping(p, permanent, deformation))
    if law == BOUC_WEN:
        return p[0] * (p[1] * deformation + (1.0 - p[1]) * _bouc_wen(p, permanent, before, deformation))
    return np.nan


@kernel
def add_restoring(law, direction, parameters, permanent, before, trial, action, factor, total):  # type: ignore[no-untyped-def]
    """total += factor Σ_e action_e r_e(direction_eᵀ trial) over all elements.

    ``before`` and ``trial`` are displacements (n,) of the last committed step and on trial; ``direction`` and
    ``action`` are (e, n), ``law`` and ``permanent`` (e,), ``parameters`` (e, 6).
    """
    for e in range(law.shape[0]):
        start, deformation = dot(direction[e], before), dot(direction[e], trial)
        force = factor * restoring_force(law[e], parameters[e], permanent[e], start, deformation)
        for i in range(total.shape[0]):
            total[i] += action[e, i] * force


@kernel
def commit(law, direction, parameters, permanent, before, now):  # type: ignore[no-untyped-def]
    """Bring the sets ``permanent`` (e,) of all elements from displacements ``before`` (n,) to ``now``."""
    for e in range(law.shape[0]):
        start, deformation = dot(direction[e], before), dot(direction[e], now)
        permanent[e] = permanent_set(law[e], parameters[e], permanent[e], start, deformation)


def initial_stiffness(law: float, parameters: Sequence[float] | np.ndarray) -> float:
    """dr/dδ of an element that has not been loaded."""
    k = float(parameters[0])
    if law == BOUC_WEN:
        share = float(parameters[1])
        return k * (share + (1.0 - share) * float(parameters[2]))
    return k
