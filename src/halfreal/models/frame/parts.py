"""Nodes, constraints, loads, places and responses of a frame, as they stand in a definition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

import numpy as np
from pydantic import BeforeValidator, Field

from ...settings import Number, Settings, Vector
from ..structures.virtual_block import UNITS, Quantity
from .numbering import DIRECTIONS, rigid_row

Direction = Literal["x", "y", "z", "rx", "ry", "rz"]
Fixed = Annotated[
    tuple[Direction, ...],
    BeforeValidator(
        lambda value: (
            {"all": DIRECTIONS[3], "pinned": ("x", "y", "z")}.get(value, value) if isinstance(value, str) else value
        ),
        json_schema_input_type=Literal["all", "pinned"] | tuple[Direction, ...],
    ),
]


class Node(Settings):
    """A node: where it is, what it weighs and what holds it."""

    at: Annotated[np.ndarray, Vector("m")]
    """Coordinates x, y, in space also z."""
    mass: Annotated[float, Number("kg", least=0)] = 0.0
    """In every direction."""
    inertia: Annotated[float, Number("kg m^2", least=0)] = 0.0
    """Rotational inertia, about every axis; nodes may have none."""
    fixed: Fixed = ()
    """Directions fixed by a support, or "all", or "pinned" for all displacements."""


class EqualMotion(Settings):
    """Nodes that move as one in some directions, regardless of their distance."""

    kind: Literal["equal"] = "equal"
    master: str
    """The node that the others follow."""
    slaves: tuple[str, ...]
    """The nodes that follow it."""
    directions: tuple[Direction, ...]
    """In which they do."""

    def rows(
        self, nodes: Mapping[str, np.ndarray], dimensions: int
    ) -> Iterator[tuple[str, str, str, dict[str, float]]]:
        for slave in self.slaves:
            for direction in self.directions:
                yield slave, direction, self.master, {direction: 1.0}


class RigidLink(Settings):
    """Nodes that are rigidly joined to a master: all their displacements and rotations follow it."""

    kind: Literal["rigid link"] = "rigid link"
    master: str
    """The node that the others follow."""
    slaves: tuple[str, ...]
    """The nodes that follow it."""

    def rows(
        self, nodes: Mapping[str, np.ndarray], dimensions: int
    ) -> Iterator[tuple[str, str, str, dict[str, float]]]:
        for slave in self.slaves:
            for direction in DIRECTIONS[dimensions]:
                offset = nodes[slave] - nodes[self.master]
                yield slave, direction, self.master, rigid_row(direction, offset, dimensions)


class RigidDiaphragm(Settings):
    """A floor that is rigid in its plane: in a plane frame its nodes move alike in x; in space in x, y and about z."""

    kind: Literal["rigid diaphragm"] = "rigid diaphragm"
    master: str
    """The node that the others follow."""
    slaves: tuple[str, ...]
    """The nodes that follow it."""

    def rows(
        self, nodes: Mapping[str, np.ndarray], dimensions: int
    ) -> Iterator[tuple[str, str, str, dict[str, float]]]:
        for slave in self.slaves:
            if dimensions == 2:
                yield slave, "x", self.master, {"x": 1.0}
                continue
            offset = (nodes[slave] - nodes[self.master]) * np.array([1.0, 1.0, 0.0])
            for direction in ("x", "y", "rz"):
                yield slave, direction, self.master, rigid_row(direction, offset, dimensions)


Constraint = Annotated[EqualMotion | RigidLink | RigidDiaphragm, Field(discriminator="kind")]


class Load(Settings):
    """A constant load at a node, there before the test starts."""

    node: str
    direction: Direction
    force: Annotated[float, Number("N")] | None = None
    moment: Annotated[float, Number("N m")] | None = None
    """In the directions rx, ry, rz."""


class At(Settings):
    """A direction of a node."""

    node: str
    direction: Direction


class Motion(At):
    """A displacement, velocity or acceleration of a node, relative to the ground, or to another node."""

    quantity: Quantity
    against: str | None = None
    """Another node whose motion is subtracted, e.g. for a storey drift."""

    @property
    def unit(self) -> str:
        unit = UNITS[self.quantity]
        return unit.replace("m", "rad", 1) if self.direction.startswith("r") else unit


OfLaw = Literal["deformation", "force"]
OfSection = Literal["axial strain", "curvature", "curvature across", "axial force", "moment", "moment across"]
OfFibre = Literal["strain", "stress"]


class OfElement(Settings):
    """Deformation or force inside an element: of a hinge its rotation or moment, of a fibre its strain or stress."""

    element: str
    """Name of the element."""
    quantity: OfLaw | OfSection | OfFibre
    """"deformation" or "force" of a law; "axial strain", "curvature", "axial force" or "moment" of a section, in space
    "curvature across" or "moment across" too; "strain" or "stress" of a fibre."""
    law: Annotated[int, Field(ge=1)] = 1
    """Number of the law of the element, from its first end."""
    section: Annotated[int, Field(ge=1)] = 1
    """Number of the section of a fibre beam, from its first end."""
    gauge: str | None = None
    """Fibre of the section: "top", "bottom", or one of the section's gauges."""


Response = Motion | OfElement
