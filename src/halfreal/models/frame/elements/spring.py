"""Element with one law along one coordinate: springs of zero length, trusses, dampers.

    f = A σ(d/L, d˙/L)

A and L are 1 for a law of forces over displacements (or moments over rotations); of a truss whose law is one of stress
over strain they are its area and its length.  With P-Δ the force turns with the chord, by ψ (in space two of them):
f_ψ = f L ψ.  Corotational, d is the displacement of the second end against the first in the axes of the chord as it
was, and with x = (L + d_1, d_2, …) the chord now, l its length and n = x/l,

    δ = l − L,    δ˙ = n · d˙,    f = N n,    K = N' n nᵀ + N/l (1 − n nᵀ)

Numbers: A, 1/L of the law, length of the chord, geometry.
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
from .corotational import GEOMETRIES, LEANING, LINEAR, TURNING
from .element import FrameElement, Geometry, Site
from .geometry import chord, elongation, normals

SPRING = 2.0


@kernel
def spring(numbers, at, laws, first, elapsed, factor, count, d, rate, f, stiffness, at_k, scratch):  # type: ignore[no-untyped-def]
    """Force into ``f`` and tangent into ``stiffness``; ``factor`` is the slope of the rate over d."""
    area, shorter, length, geometry = numbers[at], numbers[at + 1], numbers[at + 2], numbers[at + 3]
    n, far, fast, now = scratch[0], d[0], rate[0], length
    if geometry == TURNING:
        square = d[0] * (2.0 * length + d[0])
        for i in range(1, count):
            square += d[i] * d[i]
        now = np.sqrt(length * length + square)
        far, fast = square / (now + length), 0.0
        for i in range(count):
            n[i] = (d[i] + (length if i == 0 else 0.0)) / now
            fast += n[i] * rate[i]
    stress, tangent, damping = law_response(laws, first, far * shorter, fast * shorter, elapsed)
    force, slope = area * stress, area * shorter * (tangent + damping * factor)
    for i in range(count * count):
        stiffness[at_k + i] = 0.0
    if geometry == TURNING:
        for i in range(count):
            f[i] = force * n[i]
            for j in range(count):
                stiffness[at_k + i * count + j] = (slope - force / now) * n[i] * n[j]
            stiffness[at_k + i * count + i] += force / now
        return 0
    f[0], stiffness[at_k] = force, slope
    for i in range(1, count):
        f[i] = force * length * d[i]
        stiffness[at_k + i * count + i] = force * length
    return 0


class Truss(FrameElement):
    """A member that carries axial force only: elastic by its section, or by a law of force over elongation."""

    kind: Literal["truss"] = "truss"
    look: ClassVar[Look] = "rod"
    nodes: tuple[str, str]
    section: str | None = None
    """Name of its section: EA/L, or the area of a material."""
    material: str | None = None
    """Name of a material: force–elongation instead of a section, or stress–strain with one."""
    geometry: Geometry = "linear"
    """"p-delta" includes the lateral force of a leaning member; "corotational" is exact for large displacements."""

    def pieces(self, name: str, site: Site) -> Iterator[Piece]:
        section = None if self.section is None else site.elastic_section(self.section, "section")
        law = None if self.material is None else site.material(self.material, "material")
        length, direction = chord(*self.ends(site, name))
        per = len(site.numbering.directions)
        across = [elongation(one, per) for one in normals(direction)]
        if self.geometry == "linear":
            across = []
        elif self.geometry == "p-delta":
            across = [row / length for row in across]
        a = np.array([elongation(direction, per), *across])
        geometry = GEOMETRIES[self.geometry]
        if law is not None and law.of == "strain" and section is not None:
            yield _piece(name, self.dofs(site), a, law, (section.area, 1.0 / length, length, geometry))
            return
        if law is not None and law.of == "strain":
            raise fault(
                f"material '{self.material}' of the truss '{name}' is a stress–strain law; also give a section, for "
                "its area",
                "section",
            )
        if section is not None and law is None:
            law = LinearLaw(kind="linear", stiffness=section.modulus * section.area / length)
        elif law is None or section is not None:
            raise fault(f"the truss '{name}' needs either a section or a material; give one of them", "section")
        yield _piece(name, self.dofs(site), a, _along(law, False, name), (1.0, 1.0, length, geometry))

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

    kind: Literal["spring"] = "spring"
    look: ClassVar[Look] = "spring"
    direction: str
    """Direction of the deformation: "x", "y", "rz"; in space also "z", "rx", "ry"."""
    material: str
    """Name of a material: force–displacement, or moment–rotation for rx, ry, rz."""

    def pieces(self, name: str, site: Site) -> Iterator[Piece]:
        a = _between(self, self.direction, site)
        law = _along(site.material(self.material, "material"), self.direction.startswith("r"), name)
        yield _piece(name, self.dofs(site), a, law, (1.0, 1.0, 1.0, LINEAR))


class Damper(FrameElement):
    """A linear dashpot along the line between two nodes, or along a direction between two or from one to ground."""

    kind: Literal["damper"] = "damper"
    look: ClassVar[Look] = "dashpot"
    damping: Annotated[float, Number("N s/m", least=0)] | None = None
    rotational_damping: Annotated[float, Number("N m s/rad", least=0)] | None = None
    """Rotational damping of a dashpot along rx, ry, rz."""
    direction: str | None = None

    def pieces(self, name: str, site: Site) -> Iterator[Piece]:
        turning = self.direction is not None and self.direction.startswith("r")
        wanted, other = ("rotational_damping", "damping") if turning else ("damping", "rotational_damping")
        value = getattr(self, wanted)
        if value is None or getattr(self, other) is not None:
            raise fault(f"the damper '{name}' needs {wanted}, not {other}; give it", other if value else wanted)
        if self.direction is not None:
            a = _between(self, self.direction, site)
        elif len(self.nodes) == 2:
            _, along = chord(*self.ends(site, name))
            a = elongation(along, len(site.numbering.directions))[None]
        else:
            raise fault(f"the damper '{name}' has one node and no direction; give direction = 'x'", "nodes")
        yield Piece(name, self.dofs(site), a, np.zeros((1, 1)), damping=np.array([[value]]))


def _between(element: FrameElement, direction: str, site: Site) -> np.ndarray:
    """A of a deformation along a direction, (1, dofs)."""
    directions = site.numbering.directions
    if direction not in directions:
        raise fault(f"'{direction}' is not a direction of this frame; use one of {', '.join(directions)}", "direction")
    row = np.zeros(len(element.nodes) * len(directions))
    at = directions.index(direction)
    row[-len(directions) + at] = 1.0
    if len(element.nodes) == 2:
        row[at] = -1.0
    return row[None]


def _along(law: Law, turning: bool, name: str) -> Law:
    if law.of != ("displacement", "rotation")[turning]:
        if law.of == "strain":
            raise fault(
                f"the material '{law.kind}' is a stress–strain law, for trusses and fibres; '{name}' needs one over "
                f"a {('displacement', 'rotation')[turning]}",
                "material",
            )
        raise fault(
            f"'{name}' is deformed by a {('displacement', 'rotation')[turning]}, but its material '{law.kind}' is "
            f"one of {('displacements', 'rotations')[law.rotational]}; use kind = '{law.other}'",
            "material",
        )
    return law


def along_chord(name: str, dofs: tuple[int, ...], a: np.ndarray, law: Law, length: float) -> Piece:
    """Force of a law over the first coordinate; with P-Δ the others are rotations of the chord."""
    return _piece(name, dofs, a, law, (1.0, 1.0, length, LEANING if len(a) > 1 else LINEAR))


def _piece(
    name: str, dofs: tuple[int, ...], a: np.ndarray, law: Law, numbers: tuple[float, float, float, float]
) -> Piece:
    stiffness = np.zeros((len(a), len(a)))
    stiffness[0, 0] = numbers[0] * numbers[1] * law.initial_stiffness
    linear = law.linear and numbers[3] == LINEAR
    return Piece(
        name,
        dofs,
        a,
        stiffness,
        type=None if linear else SPRING,
        numbers=numbers,
        laws=(law,),
        ends=(name,),
        volumes=(numbers[0] / numbers[1],),
        leans=tuple(range(1, len(a))) if numbers[3] == LEANING else (),
        length=numbers[2],
    )
