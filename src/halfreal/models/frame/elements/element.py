"""What every element of a frame says of itself."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ....contracts.inside import Look
from ....settings import Number, Settings, fault
from ..names import unknown
from ..numbering import Numbering
from ..piece import Piece

Geometry = Literal["linear", "p-delta"]


class Section(Settings):
    """Cross-section of elastic members."""

    modulus: Annotated[float, Number("Pa", above=0)]
    """Young's modulus E."""
    area: Annotated[float, Number("m^2", above=0)]
    second_moment: Annotated[float, Number("m^4", above=0)] | None = None
    """Second moment of area I, of beams; bending in the plane of a plane frame."""
    mass_per_length: Annotated[float, Number("kg/m", least=0)] = 0.0
    """Put on the nodes as the frame's ``element_mass`` says."""


@dataclass(frozen=True)
class Site:
    """What an element is told of the frame in which it stands."""

    numbering: Numbering
    sections: Mapping[str, Section]
    materials: Mapping[str, Any]

    def section(self, name: str, *at: str | int) -> Section:
        if name not in self.sections:
            raise fault(unknown("section", name, self.sections), *at)
        return self.sections[name]

    def material(self, name: str, *at: str | int) -> Any:
        if name not in self.materials:
            raise fault(unknown("material", name, self.materials), *at)
        return self.materials[name]


class FrameElement(Settings):
    """An element between two nodes."""

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

    def dofs(self, site: Site) -> tuple[int, ...]:
        """Places in u of all displacements of its nodes."""
        return tuple(i for node in self.nodes for i in site.numbering.indices(node))

    def ends(self, site: Site, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates of its nodes; a fault if they are in one place."""
        start, end = (site.numbering.nodes[node] for node in self.nodes)
        if np.linalg.norm(end - start) <= 1e-9 * max(1.0, float(np.abs(start).max())):
            raise fault(
                f"the {self.kind} '{name}' has no length: nodes '{self.nodes[0]}' and '{self.nodes[1]}' are in one "
                "place; give them different coordinates, or take a spring, which needs no length",
                "nodes",
            )
        return start, end
