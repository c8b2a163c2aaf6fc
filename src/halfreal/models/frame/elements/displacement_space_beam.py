"""Displacement-based beam–column with fibre sections in space.

As in a plane (``displacement_beam.py``), with bending both ways over the same fibres: at ξ = x/L

    ε_0 = δ/L,    κ = ((6ξ − 4) θ_i + (6ξ − 2) θ_j)/L,    λ = ((6ξ − 4) χ_i + (6ξ − 2) χ_j)/L

with the rotations θ of the ends against the chord about the section's z, and χ about its y.  It is dispBeamColumn of
OpenSees in space.

Numbers: L, geometry, number of points, all ξ, all w.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ....kernels.compile import kernel
from ..sections import Fibres
from .fibre_beam import Rule
from .space_fibre_beam import (
    FORCES,
    OF_SECTION,
    RECORDED,
    SpaceFibreBeam,
    add_sections,
    shapes,
    space_resistance,
)
from .space_section import space_section_response

DISPLACEMENT_SPACE_BEAM = 5.0


def _displacement_space_beam(numbers, at, at_section, laws, first, at_record, elapsed, d, f, stiffness, at_k, scratch):  # type: ignore[no-untyped-def]
    """As ``displacement_beam``."""
    p, k, sums = scratch[0], scratch[1], scratch[2]
    length, geometry, points = numbers[at], numbers[at + 1], int(numbers[at + 2])
    fibres, strains, stresses = int(numbers[at_section]), laws[5], laws[6]
    for i in range(FORCES):
        p[i] = 0.0
    for i in range(FORCES * FORCES):
        k[i] = 0.0
    axial = d[0] / length
    for i in range(points):
        x, weight = numbers[at + 3 + i], numbers[at + 3 + points + i]
        b = (1.0, 6.0 * x - 4.0, 6.0 * x - 2.0, 6.0 * x - 4.0, 6.0 * x - 2.0)
        curvature, across = (b[1] * d[1] + b[2] * d[2]) / length, (b[3] * d[3] + b[4] * d[4]) / length
        space_section_response(numbers, at_section, laws, first + i * fibres, elapsed, axial, curvature, across, sums)
        record = at_record + RECORDED * i
        strains[record], strains[record + 1], strains[record + 2] = axial, curvature, across
        for j in range(RECORDED):
            stresses[record + j] = sums[j]
        for j in range(FORCES):
            p[j] += weight * b[j] * sums[OF_SECTION[j]]
        add_sections(b, weight / length, sums, 3, k)
    space_resistance(geometry, length, d, p, k, f, stiffness, at_k)
    return 0


displacement_space_beam = kernel(_displacement_space_beam)
"""``_displacement_space_beam``, compiled once for all frames."""


class DisplacementSpaceBeam(SpaceFibreBeam):
    """Beam–column in space with fibre sections whose curvatures are linear along it; several make a member."""

    kind: Literal["displacement-based space beam"] = "displacement-based space beam"
    rule: Rule = "legendre"
    """Integration points: Gauss–Legendre, or Gauss–Lobatto, which include the ends."""

    def stiffness(self, length: float, x: np.ndarray, weights: np.ndarray, section: np.ndarray) -> np.ndarray:
        b = shapes(6.0 * x - 4.0, 6.0 * x - 2.0)
        return np.asarray(np.einsum("p,pai,ab,pbj->ij", weights / length, b, section, b))

    def piece(self, numbers: tuple[float, ...], fibres: Fibres) -> dict[str, object]:
        return {"type": DISPLACEMENT_SPACE_BEAM, "numbers": numbers}
