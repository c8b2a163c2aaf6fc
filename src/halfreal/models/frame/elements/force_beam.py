"""Force-based beam–column with fibre sections.

E. Spacone, F. C. Filippou, F. F. Taucer, "Fibre beam–column model for non-linear analysis of R/C frames: Part I.
Formulation", Earthquake Engng Struct. Dyn. 25 (1996) 711–725; A. Neuenhofer, F. C. Filippou, J. Struct. Eng. 123 (1997)
958–966.  The forces p = (N, M_i, M_j) at the ends give those of every section by equilibrium, which is exact even when
sections yield, and the deformations of all sections must add up to those of the element:

    (N, M)(ξ) = b p,    b = ⎡1    0     0⎤        (1)            v = Σ w L bᵀ e                                    (2)
                            ⎣0  ξ − 1   ξ⎦

with points ξ and weights w of a rule over 0 … 1.  (1) and (2) are solved by Newton's method for p and the deformations
e = (ε_0, κ) of all sections, whose forces are s(e) and tangents k_s = f_s⁻¹,

    Δp = F⁻¹ (v − Σ w L bᵀ (e + f_s (b p − s))),    F = Σ w L bᵀ f_s b,    Δe = f_s (b (p + Δp) − s)

in at most ``ITERATIONS`` passes over the fibres from what the last trial has left, and if these do not do, in
``CAREFUL`` ones from what is committed.  It ends when Δp and Δe would do less work than ``CLOSE``² of what the sections
hold; Δp is still made.  The tangent is F⁻¹.  It is forceBeamColumn of OpenSees.

After the first step all e fit (2), and so do all e + α Δe: the iteration then looks for the least strain energy among
them, whose slope along a step is Σ w s(e + α Δe)ᵀ Δe.  Where that has grown positive beyond ``SLACK`` of what it was,
as where concrete closes its cracks, the step went too far, and is taken back to where the secant has no slope
(M. A. Crisfield, Non-linear Finite Element Analysis of Solids and Structures, vol. 1, Wiley 1991, section 9.2).
Careful passes allow ``NARROW`` of it only, with which the energy goes down for certain where no fibre softens.

Where all fibres but one yield without hardening, k_s has no inverse; below ``THIN`` of its determinant at first,
``FLOOR`` of the stiffness at first is added to it in F and f_s, which slows the iteration but not its result.

Numbers: L, geometry, number of points, all ξ, all w, k_s without load (three).  Inner states: of each section e, s,
k_s (three), Δe and f_s (three); then p.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ....kernels.compile import kernel
from ..sections import Fibres
from .corotational import deformations, resistance
from .fibre_beam import FibreBeam, Rule
from .fibre_section import section_response

FORCE_BEAM = 4.0
ITERATIONS, CAREFUL = 20, 60
CLOSE = 1e-9
THIN, FLOOR = 1e-10, 1e-8
SLACK, NARROW, SEARCHES = 0.8, 0.1, 8
OWN = 12
"""Inner states of a section."""


@kernel
def _soften(own, k):  # type: ignore[no-untyped-def]
    """f_s of a section by its k_s; k is that without load."""
    k_11, k_12, k_22 = own[4], own[5], own[6]
    determinant = k_11 * k_22 - k_12 * k_12
    a, b, c = k[0], k[1], k[2]
    if abs(determinant) < THIN * (a * c - b * b):
        k_11, k_12, k_22 = k_11 + FLOOR * a, k_12 + FLOOR * b, k_22 + FLOOR * c
        determinant = k_11 * k_22 - k_12 * k_12
    inverse = 1.0 / determinant
    own[9], own[10], own[11] = k_22 * inverse, -k_12 * inverse, k_11 * inverse


@kernel
def _gather(length, xs, weights, k, sections, p, v, flex, left):  # type: ignore[no-untyped-def]
    """F (six entries) and what is left of (2), f_s (b p − s) as Δe; the work that is left in (1) and that the sections
    hold."""
    f_a, f_b, f_c, f_d, f_e, f_f = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    left_1, left_2, left_3 = v[0], v[1], v[2]
    work, size = 0.0, 0.0
    for i in range(xs.shape[0]):
        x, weight = xs[i], weights[i] * length
        own = sections[OWN * i : OWN * i + OWN]
        f_11, f_12, f_22 = own[9], own[10], own[11]
        n = p[0] - own[2]
        m = (x - 1.0) * p[1] + x * p[2] - own[3]
        axial, curvature = f_11 * n + f_12 * m, f_12 * n + f_22 * m
        own[7], own[8] = axial, curvature
        work += weight * abs(n * axial + m * curvature)
        axial, curvature = axial + own[0], curvature + own[1]
        size += weight * (k[0] * own[0] ** 2 + k[2] * own[1] ** 2)
        left_1 -= weight * axial
        left_2 -= weight * (x - 1.0) * curvature
        left_3 -= weight * x * curvature
        f_a += weight * f_11
        f_b += weight * f_12 * (x - 1.0)
        f_c += weight * f_12 * x
        f_d += weight * f_22 * (x - 1.0) * (x - 1.0)
        f_e += weight * f_22 * (x - 1.0) * x
        f_f += weight * f_22 * x * x
    flex[0], flex[1], flex[2], flex[3], flex[4], flex[5] = f_a, f_b, f_c, f_d, f_e, f_f
    left[0], left[1], left[2] = left_1, left_2, left_3
    return work, size


@kernel
def _invert(flex, k):  # type: ignore[no-untyped-def]
    """k = F⁻¹, (9,)."""
    a, b, c, d, e, f = flex[0], flex[1], flex[2], flex[3], flex[4], flex[5]
    k[0], k[1], k[2] = d * f - e * e, c * e - b * f, b * e - c * d
    determinant = a * k[0] + b * k[1] + c * k[2]
    k[4], k[5], k[8] = a * f - c * c, b * c - a * e, a * d - b * b
    inverse = 1.0 / determinant
    for i in range(9):
        k[i] *= inverse
    k[3], k[6], k[7] = k[1], k[2], k[5]


@kernel
def force_beam(  # type: ignore[no-untyped-def]
    numbers, at, at_section, laws, first, at_record, elapsed, inner, trial, at_inner, d, f, stiffness, at_k, scratch
):
    """Forces into ``f`` and tangent into ``stiffness``; 0, or 1 if (1) and (2) were not solved."""
    v, p, k, flex, left, change = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4], scratch[5]
    length, geometry, points = numbers[at], numbers[at + 1], int(numbers[at + 2])
    fibres, strains, stresses = int(numbers[at_section]), laws[5], laws[6]
    # parts of arrays: at a place that is a sum, Numba tests at every access whether it counts from the end
    at_x, at_w, at_p = at + 3, at + 3 + points, at_inner + OWN * points
    xs, weights, at_first = (
        numbers[at_x:at_w],
        numbers[at_w : at_w + points],
        numbers[at_w + points : at_w + points + 3],
    )
    sections, force = trial[at_inner:at_p], trial[at_p : at_p + 3]
    deformations(geometry, length, d, v)
    status, reach, before, after, searches = 1, 1.0, 0.0, 0.0, 0
    for iteration in range(ITERATIONS + CAREFUL):
        first_step = iteration == 0 or iteration == ITERATIONS
        slack = SLACK if iteration < ITERATIONS else NARROW
        if iteration == ITERATIONS:
            for i in range(at_inner, at_p + 3):
                trial[i] = inner[i]
        farther = 1.0
        if not first_step and before < 0.0 and after > slack * -before and searches < SEARCHES:
            searches += 1
            farther = reach * before / (before - after) - reach
            reach += farther
        else:
            work, size = _gather(length, xs, weights, at_first, sections, force, v, flex, left)
            _invert(flex, k)
            for i in range(3):
                change[i] = k[3 * i] * left[0] + k[3 * i + 1] * left[1] + k[3 * i + 2] * left[2]
                work += abs(change[i] * left[i])
                force[i] += change[i]
            if not first_step and work <= CLOSE * CLOSE * size:
                status = 0
                break
            searches, reach, before = 0, 1.0, 0.0
            for i in range(points):
                x, own = xs[i], sections[OWN * i : OWN * i + OWN]
                n, m = change[0], (x - 1.0) * change[1] + x * change[2]
                own[7] += own[9] * n + own[10] * m
                own[8] += own[10] * n + own[11] * m
                before += weights[i] * (own[2] * own[7] + own[3] * own[8])
        after = 0.0
        for i in range(points):
            own = sections[OWN * i : OWN * i + OWN]
            own[0] += farther * own[7]
            own[1] += farther * own[8]
            n, m, k_11, k_12, k_22 = section_response(
                numbers, at_section, laws, first + i * fibres, elapsed, own[0], own[1]
            )
            own[2], own[3] = n, m
            if k_11 != own[4] or k_12 != own[5] or k_22 != own[6]:
                own[4], own[5], own[6] = k_11, k_12, k_22
                _soften(own, at_first)
            after += weights[i] * (n * own[7] + m * own[8])
        if first_step:  # from there on all deformations fit v
            before = 0.0
    for i in range(points):
        own, record = sections[OWN * i : OWN * i + OWN], at_record + 2 * i
        strains[record], strains[record + 1] = own[0], own[1]
        stresses[record], stresses[record + 1] = own[2], own[3]
    p[0], p[1], p[2] = force[0], force[1], force[2]
    resistance(geometry, length, d, p, k, f, stiffness, at_k)
    return status


class ForceBeam(FibreBeam):
    """Beam–column with fibre sections whose forces are in equilibrium everywhere; one makes a member that yields."""

    references = ("spacone1996",)
    kind: Literal["force-based beam"] = "force-based beam"
    rule: Rule = "lobatto"
    """Integration points: Gauss–Lobatto, which include the ends, or Gauss–Legendre."""

    def stiffness(self, length: float, x: np.ndarray, weights: np.ndarray, section: np.ndarray) -> np.ndarray:
        b = np.zeros((len(x), 2, 3))
        b[:, 0, 0], b[:, 1, 1], b[:, 1, 2] = 1.0, x - 1.0, x
        return np.linalg.inv(np.einsum("p,pai,ab,pbj->ij", weights * length, b, np.linalg.inv(section), b))

    def piece(self, numbers: tuple[float, ...], fibres: Fibres) -> dict[str, object]:
        k = fibres.stiffness()
        slopes = (float(k[0, 0]), float(k[0, 1]), float(k[1, 1]))
        f = np.linalg.inv(k)
        soft = (float(f[0, 0]), float(f[0, 1]), float(f[1, 1]))
        start = (*(0.0, 0.0, 0.0, 0.0, *slopes, 0.0, 0.0, *soft) * self.points, 0.0, 0.0, 0.0)
        return {"type": FORCE_BEAM, "numbers": (*numbers, *slopes), "inner": len(start), "start": start}
