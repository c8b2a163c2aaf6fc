"""Displacement-based beam–column with fibre sections.

Cubic displacements across, linear along the chord (O. C. Zienkiewicz, R. L. Taylor, The Finite Element Method, vol. 2,
5th ed., Butterworth–Heinemann 2000, chapter 7): at ξ = x/L a section is strained by

    ε_0 = δ/L,    κ = ((6ξ − 4) θ_i + (6ξ − 2) θ_j)/L

and by virtual work, with points ξ and weights w of a rule over 0 … 1,

    p = Σ w B̂ᵀ (N, M),    k = Σ w/L B̂ᵀ k_s B̂,        B̂ = ⎡1     0        0   ⎤
                                                           ⎣0  6ξ − 4   6ξ − 2⎦

Curvature is linear along an element: where members yield, take several elements in a member.  It is dispBeamColumn of
OpenSees.

Numbers: L, geometry, number of points, all ξ, all w.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ....kernels.compile import kernel
from ..sections import Fibres
from .corotational import deformations, resistance
from .fibre_beam import FibreBeam, Rule
from .fibre_section import section_response

DISPLACEMENT_BEAM = 3.0


@kernel
def displacement_beam(numbers, at, at_section, laws, first, at_record, elapsed, d, f, stiffness, at_k, scratch):  # type: ignore[no-untyped-def]
    """Forces into ``f`` and tangent into ``stiffness``; sections are recorded among strains and stresses from
    ``at_record`` on."""
    v, p, k = scratch[0], scratch[1], scratch[2]
    length, geometry, points = numbers[at], numbers[at + 1], int(numbers[at + 2])
    fibres, strains, stresses = int(numbers[at_section]), laws[5], laws[6]
    deformations(geometry, length, d, v)
    p[0], p[1], p[2] = 0.0, 0.0, 0.0
    for i in range(9):
        k[i] = 0.0
    axial = v[0] / length
    for i in range(points):
        x, weight = numbers[at + 3 + i], numbers[at + 3 + points + i]
        b_1, b_2 = 6.0 * x - 4.0, 6.0 * x - 2.0
        curvature = (b_1 * v[1] + b_2 * v[2]) / length
        n, m, k_11, k_12, k_22 = section_response(
            numbers, at_section, laws, first + i * fibres, elapsed, axial, curvature
        )
        strains[at_record + 2 * i], strains[at_record + 2 * i + 1] = axial, curvature
        stresses[at_record + 2 * i], stresses[at_record + 2 * i + 1] = n, m
        p[0] += weight * n
        p[1] += weight * b_1 * m
        p[2] += weight * b_2 * m
        share = weight / length
        k[0] += share * k_11
        k[1] += share * k_12 * b_1
        k[2] += share * k_12 * b_2
        k[4] += share * k_22 * b_1 * b_1
        k[5] += share * k_22 * b_1 * b_2
        k[8] += share * k_22 * b_2 * b_2
    k[3], k[6], k[7] = k[1], k[2], k[5]
    resistance(geometry, length, d, p, k, f, stiffness, at_k)
    return 0


class DisplacementBeam(FibreBeam):
    """Beam–column with fibre sections whose curvature is linear along it; several make a member that yields."""

    kind: Literal["displacement-based beam"] = "displacement-based beam"
    rule: Rule = "legendre"
    """Integration points: Gauss–Legendre, or Gauss–Lobatto, which include the ends."""

    def stiffness(self, length: float, x: np.ndarray, weights: np.ndarray, section: np.ndarray) -> np.ndarray:
        b = np.zeros((len(x), 2, 3))
        b[:, 0, 0], b[:, 1, 1], b[:, 1, 2] = 1.0, 6.0 * x - 4.0, 6.0 * x - 2.0
        return np.asarray(np.einsum("p,pai,ab,pbj->ij", weights / length, b, section, b))

    def piece(self, numbers: tuple[float, ...], fibres: Fibres) -> dict[str, object]:
        return {"type": DISPLACEMENT_BEAM, "numbers": numbers}
