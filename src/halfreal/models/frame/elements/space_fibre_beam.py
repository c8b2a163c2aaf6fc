"""What beam–columns with fibre sections in space have in common.

Deformations v = (δ, θ_i, θ_j, χ_i, χ_j): elongation, and rotations of the ends against the chord about the section's z
and y.  The section's y points towards ``orientation``, which is the beam's local z, and its z to the right as seen
along the beam: so (δ, θ_i, θ_j) is a plane beam, and a section of a plane frame stands upright in space.  The twist is
elastic and acts on nothing else.  With P-Δ the axial force acts across both ways, N L ψ on each rotation ψ of the
chord.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import numpy as np

from ....kernels.compile import kernel
from ....settings import Vector, fault
from ..parts import OfElement
from ..piece import Piece, Reading
from .corotational import GEOMETRIES, LEANING
from .element import Site, oriented, space_beam_mass
from .fibre_beam import OF_SECTIONS, FibreBeam, fibre_reading, points_of
from .geometry import chord, space_beam

FORCES = 5
"""N, moments of both ends over θ, over χ."""
RECORDED = 3
"""Deformations of a section, and forces: along it, over κ, over λ."""
OF_SECTION = (0, 1, 1, 2, 2)
"""To which of them each force of the element belongs."""
PLACE = ((0, 1, 2), (1, 3, 4), (2, 4, 5))
"""Entry of a symmetric matrix of three rows, kept as 11, 12, 13, 22, 23, 33."""
LINE = 1e-9
"""Part of the stiffness over κ, or over λ, below which the fibres are in one line."""
ACROSS = {"curvature across": (2, 0, "1/m"), "moment across": (2, 1, "N m")}


@kernel
def add_sections(b, weight, slopes, at, total):  # type: ignore[no-untyped-def]
    """total += weight bᵀ s b, (25,), of the six entries of s from ``slopes[at]`` on."""
    for i in range(FORCES):
        for j in range(FORCES):
            total[FORCES * i + j] += weight * b[i] * b[j] * slopes[at + PLACE[OF_SECTION[i]][OF_SECTION[j]]]


@kernel
def space_resistance(geometry, length, d, p, k, f, stiffness, at_k):  # type: ignore[no-untyped-def]
    """Forces p over v and their tangent k, (25,), as f and ∂f/∂d; with P-Δ d has the chord's rotations too."""
    count = FORCES + 2 if geometry == LEANING else FORCES
    for i in range(count * count):
        stiffness[at_k + i] = 0.0
    for i in range(FORCES):
        f[i] = p[i]
        for j in range(FORCES):
            stiffness[at_k + i * count + j] = k[FORCES * i + j]
    for i in range(FORCES, count):
        f[i] = p[0] * length * d[i]
        stiffness[at_k + i * count + i] = p[0] * length


def shapes(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """b at every point, (points, 3, 5)."""
    b = np.zeros((len(first), RECORDED, FORCES))
    b[:, 0, 0], b[:, 1, 1], b[:, 1, 2], b[:, 2, 3], b[:, 2, 4] = 1.0, first, second, first, second
    return b


class SpaceFibreBeam(FibreBeam):
    """A beam–column with fibre sections in space."""

    orientation: Annotated[np.ndarray, Vector("1")] | None = None
    """Vector towards the positive y of its section; default: upwards, for vertical beams along x."""
    geometry: Literal["linear", "p-delta"] = "linear"
    """Geometric nonlinearity: "p-delta" includes the moment of the axial force due to lateral displacement."""

    def pieces(self, name: str, site: Site) -> Iterator[Piece]:
        if site.numbering.dimensions != 3:
            raise fault(f"a {self.kind} is for frames in space; in a plane use the kind without 'space'", "kind")
        fibres = site.fibres(self.section, "section")
        section = fibres.space_stiffness()
        if np.linalg.det(section[1:, 1:]) <= LINE * section[1, 1] * section[2, 2] or not section[2, 2] > 0.0:
            raise fault(
                f"all fibres of section '{self.section}' are in one line, across which it does not "
                "resist bending; divide "
                "its width into several fibres (fibres_along), or give bars a z",
                "section",
            )
        rigidity = site.section(self.section).rigidity
        if rigidity is None:
            raise fault(
                f"section '{self.section}' has no torsional stiffness, but the {self.kind} '{name}' "
                "needs one; give torsional_rigidity (G J), or torsion_constant of an elastic section",
                "section",
            )
        length, direction = chord(*self.ends(site, name))
        a = space_beam(length, oriented(self.kind, name, direction, self.orientation))
        x, weights = points_of(self.rule, self.points)
        k = self.stiffness(length, x, weights, section)
        leaning = self.geometry == "p-delta"
        numbers = (length, GEOMETRIES[self.geometry], float(self.points), *x.tolist(), *weights.tolist())
        # the section's z is the other way than the beam's y
        rows = np.vstack([a[0], -a[2:4], a[4:6], *([a[6:8]] if leaning else [])])
        yield Piece(
            element=name,
            dofs=self.dofs(site),
            kinematics=rows,
            stiffness=np.pad(k, (0, 2 if leaning else 0)),
            laws=fibres.laws * self.points,
            ends=tuple(
                f"fibre at y = {1e3 * y:.4g} mm, z = {1e3 * z:.4g} mm in section {i} of '{name}'"
                for i in range(1, self.points + 1)
                for y, z in zip(fibres.y.tolist(), fibres.z.tolist(), strict=True)
            ),
            places=tuple(np.repeat(x, len(fibres.y)).tolist()),
            volumes=tuple(np.outer(length * weights, fibres.area).ravel().tolist()),
            shared=fibres.space_numbers(),
            leans=(FORCES, FORCES + 1) if leaning else (),
            length=length,
            sections=self.points,
            recorded=RECORDED,
            **self.piece(numbers, fibres),
        )
        yield Piece(
            element=name,
            dofs=self.dofs(site),
            kinematics=a[[1]],
            stiffness=np.array([[rigidity / length]]),
        )

    def reading(self, asked: OfElement, site: Site) -> Reading:
        return fibre_reading(asked, site, self.section, self.points, {**OF_SECTIONS, **ACROSS}, RECORDED)

    def mass(self, site: Site, consistent: bool) -> tuple[tuple[int, ...], np.ndarray] | None:
        fibres, per_length = site.fibres(self.section), site.section(self.section).mass_per_length
        if per_length == 0.0:
            return None
        length, direction = chord(*(site.numbering.nodes[node] for node in self.nodes))
        axes = oriented(self.kind, "", direction, self.orientation)
        polar = float(fibres.area @ (fibres.y**2 + fibres.z**2) / np.sum(fibres.area))
        return self.dofs(site), space_beam_mass(length, axes, per_length, polar, consistent)
