"""The inside of a structure: where its parts are, and what its block's state shows of them.

A virtual substructure that knows where its parts are gives a ``Sketch`` of them, and pictures are drawn of that.  One
that also says how the state of its block is read gives its ``Inside``: its inner motion and its energies follow from
what a record holds, by playing the recorded inputs to the same block again (``halfreal.runs.replay``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    import scipy.sparse as sparse

Look = Literal["member", "rod", "spring", "dashpot"]
UNITS = {"rotation": ("rad", "N m"), "displacement": ("m", "N"), "strain": ("1", "Pa")}
"""Of deformation and force of a law, by what it is a law of."""
SAME_HEIGHT = 1e-3
"""Part of the structure's height within which nodes are of one floor."""
DENSE = 400
"""Degrees of freedom up to which all modes are computed."""


@dataclass(frozen=True)
class Member:
    """A part between two nodes, or from one to ground."""

    name: str
    nodes: tuple[str, ...]
    look: Look = "member"


@dataclass(frozen=True)
class Spot:
    """A place that may yield or dissipate: a hinge, a spring, a fibre."""

    name: str
    """For people: "hinge of 'girder' at 'A1'"."""
    member: str
    at: np.ndarray
    """Coordinates [m]."""
    of: str
    """What it is a law of: "rotation", "displacement" or "strain"."""
    stiffness: float
    """Before any load."""
    volume: float = 1.0
    """Work of a unit of stress over a unit of strain: 1 for forces and moments, area times length for stresses."""

    @property
    def units(self) -> tuple[str, str]:
        """Of its deformation and of its force."""
        return UNITS[self.of]


@dataclass(frozen=True)
class Storey:
    """What lies between two floors; the ground is a floor."""

    below: float
    above: float
    """Heights of the floors [m]."""
    lower: tuple[str, ...]
    upper: tuple[str, ...]
    """Their nodes."""

    @property
    def height(self) -> float:
        return self.above - self.below


@dataclass(frozen=True)
class Sketch:
    """Where the parts of a structure are."""

    nodes: Mapping[str, np.ndarray]
    """Coordinates [m]; the last one is upwards."""
    fixed: Mapping[str, tuple[str, ...]]
    """Directions that supports hold."""
    mass: Mapping[str, float]
    """Of nodes [kg]."""
    members: tuple[Member, ...]
    spots: tuple[Spot, ...]
    interface: tuple[tuple[str, str], ...]
    """Node and direction of each axis."""
    pins: tuple[np.ndarray, ...] = ()
    """Where members are pinned."""
    links: tuple[tuple[str, str], ...] = ()
    """Constraints: nodes that follow other nodes."""

    @property
    def dimensions(self) -> int:
        return len(next(iter(self.nodes.values())))

    @cached_property
    def storeys(self) -> tuple[Storey, ...]:
        """From the ground up: between heights at which nodes are held or have mass."""
        heights = {name: float(at[-1]) for name, at in self.nodes.items()}
        near = SAME_HEIGHT * max(1e-9, max(heights.values()) - min(heights.values()))
        floors: list[list[str]] = []
        told = [name for name in heights if self.fixed.get(name) or self.mass.get(name, 0.0) > 0.0]
        for name in sorted(told, key=lambda one: heights[one]):
            if floors and heights[name] - heights[floors[-1][0]] <= near:
                floors[-1].append(name)
            else:
                floors.append([name])
        return tuple(
            Storey(heights[lower[0]], heights[upper[0]], tuple(lower), tuple(upper))
            for lower, upper in pairwise(floors)
        )


@dataclass(frozen=True)
class Inside:
    """How a structure's block shows what is inside it.

    The state of its block has the fields ``q`` and ``v``, displacements and velocities of its degrees of freedom,
    ``beyond``, the forces of its parts beyond ``stiffness``, and ``strain`` and ``stress`` of its spots.
    """

    sketch: Sketch
    directions: tuple[str, ...]
    """Displacements and rotations of each node, in their order."""
    to_nodes: sparse.csr_matrix
    """From q to the displacements of all nodes, one node after another."""
    mass: sparse.csr_matrix
    damping: sparse.csr_matrix
    stiffness: sparse.csr_matrix
    on_inputs: np.ndarray
    """Forces of the block's inputs, (inputs, n)."""
    spots: np.ndarray
    """Place in ``strain`` of each spot of the sketch."""
    rest: tuple[np.ndarray, np.ndarray]
    """Strain and stress of the spots at rest."""
    dashpots: tuple[tuple[str, np.ndarray, float], ...] = field(default=())
    """Name, elongation by q and damping of each linear dashpot."""

    def column(self, node: str, direction: str) -> int:
        """Where a displacement of a node stands among those of all."""
        return list(self.sketch.nodes).index(node) * len(self.directions) + self.directions.index(direction)

    @property
    def sideways(self) -> tuple[str, ...]:
        """Horizontal directions."""
        return self.directions[: self.sketch.dimensions - 1]

    def drifts(self, direction: str) -> np.ndarray:
        """From the displacements of all nodes to the storeys' drifts, between the means of floors, (storeys, all)."""
        rows = np.zeros((len(self.sketch.storeys), self.to_nodes.shape[0]))
        for row, storey in zip(rows, self.sketch.storeys, strict=True):
            for nodes, sign in ((storey.upper, 1.0), (storey.lower, -1.0)):
                for node in nodes:
                    row[self.column(node, direction)] += sign / len(nodes)
        return rows

    def modes(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Lowest frequencies [Hz] and shapes over the displacements of all nodes, (count, all), without specimen.

        What has no mass follows the rest.  A structure that only the specimen holds has modes of 0 Hz.
        """
        import scipy.linalg
        import scipy.sparse.linalg

        n = self.mass.shape[0]
        heavy = int(np.count_nonzero(self.mass.diagonal() > 0.0))
        count = min(count, heavy)
        # M φ = μ (K + s M) φ, ω² = 1/μ − s: regular also where the structure itself is not held
        shift = 1e-6 * self.stiffness.diagonal().max() / max(float(self.mass.diagonal().max()), 1e-300)
        held = (self.stiffness + shift * self.mass).tocsc()
        if n <= DENSE or count > n // 4:
            mu, shapes = scipy.linalg.eigh(self.mass.toarray(), held.toarray())
        else:
            mu, shapes = scipy.sparse.linalg.eigsh(self.mass.tocsc(), count, M=held, which="LM")
        order = np.argsort(mu)[::-1][:count]
        squared = np.maximum(1.0 / mu[order] - shift, 0.0)
        return np.sqrt(squared) / (2.0 * np.pi), np.asarray((self.to_nodes @ shapes[:, order]).T)
