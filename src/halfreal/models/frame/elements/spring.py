"""Element with one law along one coordinate: springs of zero length, trusses, dampers.

    f = A σ(d/L, d˙/L)

A and L are 1 for a law of forces over displacements (or moments over rotations); of a truss whose law is one of stress
over strain they are its area and its length.  With P-Δ the force turns with the chord ψ: f_ψ = f L ψ.

Numbers: A, 1/L, length for P-Δ.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

import numpy as np

from ....contracts.inside import Look
from ....kernels.compile import kernel
from ....settings import Number, fault
from ...materials.elastic import LinearLaw
from ...materials.law import Law
from ..law import law_response
from ..piece import Piece
from .element import FrameElement, Geometry, Site
from .geometry import chord, elongation

SPRING = 2.0


@kernel
def spring(numbers, at, laws, first, elapsed, factor, count, d, rate, f, stiffness, at_k):  # type: ignore[no-untyped-def]
    """Force into ``f`` and tangent into ``stiffness``; ``factor`` is the slope of the rate over d."""
    area, shorter = numbers[at], numbers[at + 1]
    stress, tangent, damping = law_response(laws, first, d[0] * shorter, rate[0] * shorter, elapsed)
    f[0] = area * stress
    stiffness[at_k] = area * shorter * (tangent + damping * factor)
    if count == 2:
        f[1] = f[0] * numbers[at + 2] * d[1]
        stiffness[at_k + 1], stiffness[at_k + 2] = 0.0, 0.0
        stiffness[at_k + 3] = f[0] * numbers[at + 2]
    return 0


class Truss(FrameElement):
    """A member that carries axial force only: elastic by its section, or by a law of force over elongation."""

    kind: Literal["truss"]
    look: ClassVar[Look] = "rod"
    nodes: tuple[str, str]
    section: str | None = None
    """Name of its section: EA/L."""
    material: str | None = None
    """Name of a material: a force over the elongation, in place of the section's EA/L."""
    geometry: Geometry = "linear"
    """Whether the force acts across the member where it leans ("p-delta"), as of leaning columns."""

    def pieces(self, name: str, site: Site) -> Iterator[Piece]:
        if (self.section is None) == (self.material is None):
            raise fault(f"the truss '{name}' needs either a section or a material; give one of them", "section")
        length, direction = chord(*self.ends(site, name))
        per = len(site.numbering.directions)
        a = [elongation(direction, per)]
        if self.geometry == "p-delta":
            if site.numbering.dimensions != 2:
                raise fault("p-delta of a truss stands in a plane frame only; give geometry = 'linear'", "geometry")
            c, s = direction
            a.append(np.array([s, -c, 0.0, -s, c, 0.0]) / length)
        if self.material is not None:
            law = _along(site.material(self.material, "material"), False, name)
        else:
            section = site.section(str(self.section), "section")
            law = LinearLaw(kind="linear", stiffness=section.modulus * section.area / length)
        yield _piece(name, self.dofs(site), np.array(a), law, length)

    def mass(self, site: Site, consistent: bool) -> tuple[tuple[int, ...], np.ndarray] | None:
        per_length = 0.0 if self.section is None else site.section(self.section).mass_per_length
        if per_length == 0.0:
            return None
        length, _ = chord(*(site.numbering.nodes[node] for node in self.nodes))
        per, dimensions = len(site.numbering.directions), site.numbering.dimensions
        share = np.array([[2.0, 1.0], [1.0, 2.0]]) / 6.0 if consistent else 0.5 * np.eye(2)
        moved = np.diag([1.0] * dimensions + [0.0] * (per - dimensions))
        return self.dofs(site), per_length * length * np.kron(share, moved)


class Spring(FrameElement):
    """A spring of a law along one direction, between two nodes or from one to ground; it needs no length."""

    kind: Literal["spring"]
    look: ClassVar[Look] = "spring"
    direction: str
    """The direction in which it is deformed: "x", "y", "rz"; in space also "z", "rx", "ry"."""
    material: str
    """Name of a material: over a displacement, or over a rotation for rx, ry, rz."""

    def pieces(self, name: str, site: Site) -> Iterator[Piece]:
        a = _across(self, self.direction, site)
        law = _along(site.material(self.material, "material"), self.direction.startswith("r"), name)
        yield _piece(name, self.dofs(site), a, law, 1.0)


class Damper(FrameElement):
    """A linear dashpot along the line between two nodes, or along a direction between two or from one to ground."""

    kind: Literal["damper"]
    look: ClassVar[Look] = "dashpot"
    damping: Annotated[float, Number("N s/m", least=0)] | None = None
    rotational_damping: Annotated[float, Number("N m s/rad", least=0)] | None = None
    """Of a dashpot along rx, ry, rz."""
    direction: str | None = None

    def pieces(self, name: str, site: Site) -> Iterator[Piece]:
        turning = self.direction is not None and self.direction.startswith("r")
        wanted, other = ("rotational_damping", "damping") if turning else ("damping", "rotational_damping")
        value = getattr(self, wanted)
        if value is None or getattr(self, other) is not None:
            raise fault(f"the damper '{name}' needs {wanted}, and no {other}; give it", other if value else wanted)
        if self.direction is not None:
            a = _across(self, self.direction, site)
        elif len(self.nodes) == 2:
            _, along = chord(*self.ends(site, name))
            a = elongation(along, len(site.numbering.directions))[None]
        else:
            raise fault(f"the damper '{name}' stands at one node and has no direction; give direction = 'x'", "nodes")
        yield Piece(name, self.dofs(site), a, np.zeros((1, 1)), damping=np.array([[value]]))


def _across(element: FrameElement, direction: str, site: Site) -> np.ndarray:
    """A of a deformation along a direction, (1, dofs)."""
    directions = site.numbering.directions
    if direction not in directions:
        raise fault(f"'{direction}' is no direction of this frame; give one of {', '.join(directions)}", "direction")
    row = np.zeros(len(element.nodes) * len(directions))
    at = directions.index(direction)
    row[-len(directions) + at] = 1.0
    if len(element.nodes) == 2:
        row[at] = -1.0
    return row[None]


def _along(law: Law, turning: bool, name: str) -> Law:
    if law.rotational != turning:
        raise fault(
            f"'{name}' is deformed by a {('displacement', 'rotation')[turning]}, and its material '{law.kind}' is "
            f"one of {('displacements', 'rotations')[law.rotational]}; take kind = '{law.other}'",
            "material",
        )
    return law


def _piece(name: str, dofs: tuple[int, ...], a: np.ndarray, law: Law, length: float) -> Piece:
    stiffness = np.zeros((len(a), len(a)))
    stiffness[0, 0] = law.initial_stiffness
    linear = law.linear and len(a) == 1
    return Piece(
        name, dofs, a, stiffness, type=None if linear else SPRING, numbers=(1.0, 1.0, length), laws=(law,), ends=(name,)
    )
