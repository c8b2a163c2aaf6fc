"""What every element of a frame says of itself."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from pydantic_core import PydanticCustomError

from ....contracts.inside import Look
from ....settings import Settings, fault
from ....values import found_in
from ...structures.beam_elements import element_mass
from ..names import unknown
from ..numbering import Numbering
from ..parts import OfElement
from ..piece import Piece, Reading
from ..sections import AnySection, Fibres, Section
from .geometry import chord, local_axes

Geometry = Literal["linear", "p-delta", "corotational"]


@dataclass(frozen=True)
class Site:
    """What an element receives about its frame."""

    numbering: Numbering
    sections: Mapping[str, AnySection]
    materials: Mapping[str, Any]

    def section(self, name: str, *at: str | int) -> AnySection:
        if name not in self.sections:
            raise fault(unknown("section", name, self.sections), *at)
        return self.sections[name]

    def elastic_section(self, name: str, *at: str | int) -> Section:
        """A section with a modulus and an area of its own."""
        found = self.section(name, *at).elastic
        if found is None:
            raise fault(
                f"section '{name}' is made of fibres, but this element is elastic; use the kind 'force-based beam' or "
                "'displacement-based beam', or a section with modulus and area",
                *at,
            )
        return found

    def fibres(self, name: str, *at: str | int) -> Fibres:
        """A section as fibres."""
        found = self.section(name, *at)
        try:
            return found.fibres(self.materials, self.numbering.dimensions)
        except PydanticCustomError as error:
            raise fault("; ".join(f"section '{name}': {text}" for _, text in found_in(error)), *at) from error

    def material(self, name: str, *at: str | int) -> Any:
        if name not in self.materials:
            raise fault(unknown("material", name, self.materials), *at)
        return self.materials[name]


class FrameElement(Settings):
    """An element between two nodes."""

    references: ClassVar[tuple[str, ...]] = ()
    kind: str
    look: ClassVar[Look] = "member"
    """How it is drawn."""
    nodes: Annotated[tuple[str, ...], Field(min_length=1, max_length=2)]
    """The nodes that it joins, by name."""

    @property
    def pinned(self) -> tuple[float, ...]:
        """Where along it there are pins, from 0 at its first node to 1."""
        return ()

    @abstractmethod
    def pieces(self, name: str, site: Site) -> Iterator[Piece]:
        """What it gives to the model; faults name the key at fault."""
        raise NotImplementedError

    def mass(self, site: Site, consistent: bool) -> tuple[tuple[int, ...], np.ndarray] | None:
        """Its mass matrix over the displacements of its nodes, if it has one."""
        return None

    def reading(self, asked: OfElement, site: Site) -> Reading:
        """What a response asks of it; a fault if it has no such thing."""
        if asked.quantity not in ("deformation", "force") or asked.gauge is not None:
            raise fault(
                "it has laws but no sections; give quantity = 'deformation' or 'force', and no gauge", "quantity"
            )
        return Reading("law", asked.law - 1, asked.quantity == "force")

    def dofs(self, site: Site) -> tuple[int, ...]:
        """Places in u of all displacements of its nodes."""
        return tuple(i for node in self.nodes for i in site.numbering.indices(node))

    def ends(self, site: Site, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates of its nodes; a fault if they are in one place."""
        start, end = (site.numbering.nodes[node] for node in self.nodes)
        if np.linalg.norm(end - start) <= 1e-9 * max(1.0, float(np.abs(start).max())):
            raise fault(
                f"the {self.kind} '{name}' has no length: nodes '{self.nodes[0]}' and "
                f"'{self.nodes[1]}' are at the same "
                "point; give them different coordinates, or use a spring, which needs no length",
                "nodes",
            )
        return start, end


def beam_mass(
    beam: FrameElement, per_length: float, site: Site, consistent: bool
) -> tuple[tuple[int, ...], np.ndarray] | None:
    """Mass matrix of a plane beam, lumped or consistent; None if it has none."""
    if per_length == 0.0:
        return None
    length, (c, s) = chord(*(site.numbering.nodes[node] for node in beam.nodes))
    if not consistent:
        half = 0.5 * per_length * length
        return beam.dofs(site), np.diag([half, half, 0.0, half, half, 0.0])
    own = np.zeros((6, 6))
    own[np.ix_([0, 3], [0, 3])] = per_length * length / 6.0 * np.array([[2.0, 1.0], [1.0, 2.0]])
    own[np.ix_([1, 2, 4, 5], [1, 2, 4, 5])] = element_mass(length, per_length)
    turn = np.kron(np.eye(2), np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]))
    return beam.dofs(site), turn.T @ own @ turn


def oriented(kind: str, name: str, direction: np.ndarray, orientation: np.ndarray | None) -> np.ndarray:
    """Local axes of a beam in space, rows x, y, z; a fault if its orientation does not say them."""
    if orientation is not None and len(orientation) != 3:
        raise fault(f"the orientation has {len(orientation)} numbers; give 3: x, y, z", "orientation")
    axes = local_axes(direction, orientation)
    if axes is None:
        raise fault(
            f"orientation of the {kind} '{name}' is along the beam itself and does not define its local z; "
            "give a vector across it",
            "orientation",
        )
    return axes


def space_beam_mass(length: float, axes: np.ndarray, per_length: float, polar: float, consistent: bool) -> np.ndarray:
    """Mass matrix of a beam in space, lumped or consistent; ``polar`` is the square of its radius of gyration."""
    total = per_length * length
    if not consistent:
        return np.diag(np.tile([0.5 * total] * 3 + [0.0] * 3, 2))
    own, share = np.zeros((12, 12)), np.array([[2.0, 1.0], [1.0, 2.0]]) / 6.0
    own[np.ix_([0, 6], [0, 6])] = total * share
    own[np.ix_([3, 9], [3, 9])] = total * polar * share
    bending = element_mass(length, per_length)
    sign = np.array([1.0, -1.0, 1.0, -1.0])  # a rotation about y lowers z
    own[np.ix_([1, 5, 7, 11], [1, 5, 7, 11])] = bending
    own[np.ix_([2, 4, 8, 10], [2, 4, 8, 10])] = bending * np.outer(sign, sign)
    turn = np.kron(np.eye(4), axes)
    return np.asarray(turn.T @ own @ turn)
