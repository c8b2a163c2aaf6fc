"""What beam–columns with fibre sections have in common: sections at the points of a rule, and what is reported of them.

Rules over 0 … 1 with n points: Gauss–Legendre integrates polynomials of the degree 2n − 1 exactly, Gauss–Lobatto, with
a point at each end, of the degree 2n − 3 (P. J. Davis, P. Rabinowitz, Methods of Numerical Integration, 2nd ed.,
Academic Press 1984, section 2.7).  The stiffness of an elastic beam needs the degree 2.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import numpy as np
from numpy.polynomial import legendre
from pydantic import Field, ValidationInfo, field_validator

from ....settings import fault
from ..parts import OfElement
from ..piece import Piece, Reading
from ..sections import Fibres
from .corotational import GEOMETRIES, LEANS, coordinates, unloaded
from .element import FrameElement, Geometry, Site, beam_mass
from .geometry import chord

Rule = Literal["lobatto", "legendre"]
FEWEST = {"lobatto": 3, "legendre": 2}
MOST = 10
OF_SECTIONS = {
    "axial strain": (0, 0, "1"),
    "axial force": (0, 1, "N"),
    "curvature": (1, 0, "1/m"),
    "moment": (1, 1, "N m"),
}
OF_FIBRES = {"strain": (0, "1"), "stress": (1, "Pa")}


def points_of(rule: Rule, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Points ξ and weights, which sum to 1, over 0 … 1."""
    if rule == "legendre":
        x, weights = legendre.leggauss(count)
    else:
        last = np.eye(count)[-1]  # P_{n−1}
        x = np.concatenate([[-1.0], np.sort(legendre.legroots(legendre.legder(last)).real), [1.0]])
        weights = 2.0 / (count * (count - 1) * legendre.legval(x, last) ** 2)
    return 0.5 * (x + 1.0), 0.5 * weights


class FibreBeam(FrameElement):
    """A beam–column with fibre sections."""

    nodes: tuple[str, str]
    section: str
    """Name of its section, of fibres or elastic."""
    geometry: Geometry = "linear"
    """"p-delta" includes the moment of the axial force due to lateral displacement; "corotational" is exact for
    large displacements.
    """
    rule: Rule
    points: Annotated[int, Field(validate_default=True)] = 5
    """Number of integration sections."""

    @field_validator("points")
    @classmethod
    def _enough(cls, points: int, info: ValidationInfo) -> int:
        rule = info.data.get("rule")
        if rule is not None and not FEWEST[rule] <= points <= MOST:
            raise fault(
                f"{points} points of the rule '{rule}'; give {FEWEST[rule]} to {MOST}: with fewer even an elastic beam "
                "would have the wrong stiffness"
            )
        return points

    @abstractmethod
    def stiffness(self, length: float, x: np.ndarray, weights: np.ndarray, section: np.ndarray) -> np.ndarray:
        """∂p/∂v without load, of a section's stiffness; (3, 3) in a plane."""
        raise NotImplementedError

    @abstractmethod
    def piece(self, numbers: tuple[float, ...], fibres: Fibres) -> dict[str, Any]:
        """What only this formulation says of its piece."""
        raise NotImplementedError

    def pieces(self, name: str, site: Site) -> Iterator[Piece]:
        if site.numbering.dimensions != 2:
            raise fault(f"a {self.kind} is for plane frames only; use dimensions = 2", "kind")
        fibres = site.fibres(self.section, "section")
        length, direction = chord(*self.ends(site, name))
        x, weights = points_of(self.rule, self.points)
        k = self.stiffness(length, x, weights, fibres.stiffness())
        numbers = (length, GEOMETRIES[self.geometry], float(self.points), *x.tolist(), *weights.tolist())
        yield Piece(
            element=name,
            dofs=self.dofs(site),
            kinematics=coordinates(self.geometry, length, direction),
            stiffness=unloaded(self.geometry, length, k),
            laws=fibres.laws * self.points,
            ends=tuple(
                f"fibre at y = {1e3 * y:.4g} mm in section {i} of '{name}'"
                for i in range(1, self.points + 1)
                for y in fibres.y.tolist()
            ),
            places=tuple(np.repeat(x, len(fibres.y)).tolist()),
            volumes=tuple(np.outer(length * weights, fibres.area).ravel().tolist()),
            shared=fibres.numbers(),
            leans=LEANS if self.geometry == "p-delta" else (),
            length=length,
            sections=self.points,
            **self.piece(numbers, fibres),
        )

    def reading(self, asked: OfElement, site: Site) -> Reading:
        return fibre_reading(asked, site, self.section, self.points, OF_SECTIONS, 2)

    def mass(self, site: Site, consistent: bool) -> tuple[tuple[int, ...], np.ndarray] | None:
        return beam_mass(self, site.section(self.section).mass_per_length, site, consistent)


def fibre_reading(
    asked: OfElement, site: Site, section: str, points: int, quantities: dict[str, tuple[int, int, str]], recorded: int
) -> Reading:
    """What a response asks of a beam with so many sections, of which so many deformations are recorded each."""
    if asked.law != 1:
        raise fault("it has sections, not laws: give section, and gauge for one of its fibres", "law")
    if asked.section > points:
        raise fault(f"it has no section {asked.section}, but {points}, from its first end", "section")
    if asked.gauge is None:
        if asked.quantity not in quantities:
            raise fault(
                f"'{asked.quantity}' is not a quantity of a section; use one of "
                f"{', '.join(quantities)}, or a gauge for "
                "strain and stress",
                "quantity",
            )
        which, force, unit = quantities[asked.quantity]
        return Reading("section", recorded * (asked.section - 1) + which, bool(force), unit)
    if asked.quantity not in OF_FIBRES:
        raise fault(f"a gauge gives strain or stress, not '{asked.quantity}'; give one of them", "quantity")
    fibres = site.fibres(section, "section")
    fibre = site.section(section).gauge(asked.gauge, fibres)
    force, unit = OF_FIBRES[asked.quantity]
    return Reading("law", (asked.section - 1) * len(fibres.y) + fibre, bool(force), unit)
