"""Degrees of freedom of a frame: those of all nodes, those that are free, and T between them.

    u = T q

u are the displacements x, y, rz (in a plane) or x, y, z, rx, ry, rz (in space) of every node, q those that neither
supports nor constraints prescribe.  A constraint gives a slave's displacements by those of its master, u_s = Σ c u_m;
masters may be slaves of others.  A rigid body turns with small rotations: u_s = u_m + θ_m × (x_s − x_m).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sparse

DIRECTIONS = {2: ("x", "y", "rz"), 3: ("x", "y", "z", "rx", "ry", "rz")}


class NumberingError(ValueError):
    """Supports or constraints that contradict each other."""


@dataclass(frozen=True)
class Numbering:
    """Nodes of a frame, and what is free of them."""

    nodes: Mapping[str, np.ndarray]
    """Coordinates by name [m]."""
    dimensions: int
    transformation: sparse.csr_matrix
    """T, (all, free)."""
    places: dict[str, int] = field(repr=False)
    free: tuple[int, ...] = field(repr=False)
    """Which displacement of all each free one is; −1 and below are modes of a reduced interior."""

    @property
    def directions(self) -> tuple[str, ...]:
        return DIRECTIONS[self.dimensions]

    @property
    def all(self) -> int:
        return len(self.nodes) * len(self.directions)

    def index(self, node: str, direction: str) -> int:
        """Place in u of a node's displacement."""
        return self.places[node] * len(self.directions) + self.directions.index(direction)

    def indices(self, node: str) -> list[int]:
        """Places in u of all displacements of a node."""
        per = len(self.directions)
        return list(range(self.places[node] * per, (self.places[node] + 1) * per))

    def named(self, free: int) -> str:
        """A free degree of freedom for people: "x of node 'A'"."""
        index = self.free[free]
        return self.named_of_all(index) if index >= 0 else f"mode {-index} of the reduced interior"

    def node_of(self, free: int) -> str:
        """Name of the node of a free degree of freedom."""
        return list(self.nodes)[self.free[free] // len(self.directions)]

    def named_of_all(self, index: int) -> str:
        node, direction = divmod(index, len(self.directions))
        return f"{self.directions[direction]} of node '{list(self.nodes)[node]}'"

    def reordered(self, order: np.ndarray) -> Numbering:
        """The same with the free degrees of freedom in another order."""
        columns = self.transformation.tocsc()[:, order].tocsr()
        return Numbering(self.nodes, self.dimensions, columns, self.places, tuple(self.free[i] for i in order))


def rigid_row(direction: str, offset: np.ndarray, dimensions: int) -> dict[str, float]:
    """Displacement of a point of a rigid body by those of its master, from which it is at ``offset``."""
    if dimensions == 2:
        dx, dy = offset
        return {"x": {"x": 1.0, "rz": -dy}, "y": {"y": 1.0, "rz": dx}, "rz": {"rz": 1.0}}[direction]
    dx, dy, dz = offset
    return {
        "x": {"x": 1.0, "ry": dz, "rz": -dy},
        "y": {"y": 1.0, "rz": dx, "rx": -dz},
        "z": {"z": 1.0, "rx": dy, "ry": -dx},
        "rx": {"rx": 1.0},
        "ry": {"ry": 1.0},
        "rz": {"rz": 1.0},
    }[direction]


def numbering(
    nodes: Mapping[str, np.ndarray],
    dimensions: int,
    fixed: Mapping[str, Iterable[str]],
    slaves: Sequence[tuple[str, str, str, Mapping[str, float]]],
) -> Numbering:
    """From supports by node, and slaves: (node, direction, master, {master's direction: factor})."""
    directions = DIRECTIONS[dimensions]
    places = {name: i for i, name in enumerate(nodes)}
    per = len(directions)

    def index(node: str, direction: str) -> int:
        return places[node] * per + directions.index(direction)

    held = {index(node, direction) for node, given in fixed.items() for direction in given}
    follows: dict[int, dict[int, float]] = {}
    for node, direction, master, row in slaves:
        at = index(node, direction)
        what = f"{direction} of node '{node}'"
        if at in held:
            raise NumberingError(f"{what} is fixed by a support and prescribed by a constraint; keep one of them")
        if at in follows:
            raise NumberingError(f"{what} is prescribed by two constraints; keep one of them")
        follows[at] = {index(master, key): value for key, value in row.items() if value != 0.0}
    free = tuple(i for i in range(len(places) * per) if i not in held and i not in follows)
    column = {i: k for k, i in enumerate(free)}
    resolved: dict[int, dict[int, float]] = {}

    def resolve(at: int, above: tuple[int, ...]) -> dict[int, float]:
        if at in column:
            return {column[at]: 1.0}
        if at in held:
            return {}
        if at in above:
            node, direction = divmod(at, per)
            name = f"{directions[direction]} of node '{list(nodes)[node]}'"
            raise NumberingError(f"{name} follows itself through constraints; name one node as the master of all")
        if at not in resolved:
            total: dict[int, float] = {}
            for master, factor in follows[at].items():
                for k, value in resolve(master, (*above, at)).items():
                    total[k] = total.get(k, 0.0) + factor * value
            resolved[at] = total
        return resolved[at]

    rows = [(i, k, value) for i in range(len(places) * per) for k, value in resolve(i, ()).items()]
    i, k, values = zip(*rows, strict=True) if rows else ((), (), ())
    matrix = sparse.csr_matrix((values, (i, k)), shape=(len(places) * per, len(free)))
    return Numbering(nodes, dimensions, matrix, places, free)
