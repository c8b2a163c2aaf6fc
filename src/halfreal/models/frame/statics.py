"""Statics of a frame: whether it stands, and where it is under loads, by Newton's method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg

from ...errors import HalfrealError
from ...kernels.band import factored
from .model import Model

ITERATIONS = 50
TOLERANCE = 1e-12
MECHANISM = 1e-11
"""Part of its own stiffness that is left to a degree of freedom when the others give way, below which nothing holds
it."""
MOST_NAMED = 4
"""Elements at a node that a message names."""


class StaticsError(HalfrealError):
    """A frame that does not stand; ``at`` is the setting at fault, ``moved`` where it was left."""

    def __init__(self, text: str, *at: str, moved: np.ndarray | None = None) -> None:
        super().__init__(text)
        self.at, self.moved = at, moved


def check_connected(given: Mapping[str, Any]) -> None:
    """Refuse a node without element, and a part of the frame that is joined to no support and not to the specimen."""
    links = [element.nodes for element in given["elements"].values()]
    links += [(one.master, *one.slaves) for one in given["constraints"]]
    alone = _left_out(given, {node for link in links for node in link})
    if alone:
        more = f" and {len(alone) - 1} more are" if len(alone) > 1 else " is"
        raise StaticsError(
            f"node '{alone[0]}'{more} not connected to an element or a constraint; connect it, or remove it",
            *("nodes", alone[0]),
        )
    held = {name for name, node in given["nodes"].items() if node.fixed} | {one.node for one in given["interface"]}
    held |= {link[0] for link in links if len(link) == 1}  # a spring to the ground
    while more_held := {node for link in links if held.intersection(link) for node in link} - held:
        held |= more_held
    loose_part = _left_out(given, held)
    if loose_part:
        of = next(
            (f" of element '{name}'" for name, one in given["elements"].items() if loose_part[0] in one.nodes), ""
        )
        more = f", and {len(loose_part) - 1} more with it, are" if len(loose_part) > 1 else " is"
        raise StaticsError(
            f"node '{loose_part[0]}'{of}{more} joined to no support; join this part to the frame, or support it",
            *("nodes", loose_part[0]),
        )


def _left_out(given: Mapping[str, Any], names: set[str]) -> list[str]:
    return [name for name in given["nodes"] if name not in names]


def loose(stiffness: sparse.csr_matrix, width: int) -> np.ndarray | None:
    """A motion that a stiffness does not resist, (n,); None if it resists all."""
    diagonal = stiffness.diagonal()
    bare = np.flatnonzero(diagonal <= 0.0)
    n = len(diagonal)
    if len(bare):
        return np.asarray(np.eye(1, n, int(bare[0]))[0])
    scale = sparse.diags(1.0 / np.sqrt(diagonal))
    factors = factored((scale @ stiffness @ scale).tocsr(), width)
    pivots = factors[:, 0]
    weak = np.flatnonzero(~(pivots > MECHANISM))
    if not len(weak):
        return None
    # Lᵀ x = e_j with the first pivot that vanishes: A x = D e_j = 0
    j = int(weak[0])
    motion = np.zeros(n)
    motion[j] = 1.0
    for i in range(j - 1, -1, -1):
        reach = min(width, j - i)
        motion[i] = -factors[i, 1 : reach + 1] @ motion[i + 1 : i + reach + 1]
    return np.asarray(scale @ motion)


def check_stands(model: Model, stiffness: sparse.csr_matrix, elements: Mapping[str, Any], loaded: bool = False) -> None:
    """Refuse a mechanism, also one under gravity loads, naming what moves most and the elements there."""
    motion = loose(stiffness, model.width)
    if motion is None:
        return
    turning = np.array(
        [model.numbering.directions[i % len(model.numbering.directions)][0] == "r" for i in model.numbering.free]
    )
    size = np.abs(motion)
    straight = size * ~turning
    at = int(np.argmax(straight)) if straight.max() > 1e-6 * size.max() else int(np.argmax(size))
    many = int(np.sum(size > 0.1 * size.max()))
    with_it = f", with {many - 1} more degree{'s' * (many > 2)} of freedom" if many > 1 else ""
    what = f"{model.numbering.named(at)}{_elements_at(model, at, elements)}{with_it}"
    if loaded:
        raise StaticsError(
            f"the frame is not stable under its gravity loads: it buckles or yields at {what}; lower the loads, "
            "stiffen or brace it",
            "loads",
        )
    raise StaticsError(
        f"the frame is a mechanism: nothing holds {what}; support it, brace it, or remove a pinned end",
        "nodes",
        model.numbering.node_of(at),
    )


def _elements_at(model: Model, free: int, elements: Mapping[str, Any]) -> str:
    """The elements at the node of a degree of freedom, for a message."""
    if model.numbering.free[free] < 0:
        return ""
    node = model.numbering.node_of(free)
    names = [f"'{name}'" for name, one in elements.items() if node in one.nodes]
    if not names:
        return ""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f" (element{'s' * (len(names) > 1)} {', '.join(names[:MOST_NAMED])}{more})"


def settle(model: Model, load: np.ndarray, springs: sparse.csr_matrix) -> np.ndarray:
    """Displacements under a load of a model that has not been loaded.

    ``springs`` stand for a specimen without which it would not stand.
    """
    held = model.stiffness if loose(model.initial, model.width) is None else model.stiffness + springs
    more = held - model.stiffness
    q, size = np.zeros(model.dofs), float(np.abs(load).max(initial=0.0))
    for _ in range(ITERATIONS):
        forces, tangents, _ = model.forces(q)
        left = load - held @ q - forces
        if np.abs(left).max(initial=0.0) <= TOLERANCE * size:
            return q
        try:
            step = scipy.sparse.linalg.splu((model.tangent(tangents) + more).tocsc()).solve(left)
        except RuntimeError:  # nothing resists any more
            break
        if not np.all(np.isfinite(q + step)):
            break
        q = q + step
    worst, unsolved = int(np.argmax(np.abs(left))), model.failed(q)
    element = f", where element '{unsolved}' has none with its hinges or sections" if unsolved else ""
    raise StaticsError(
        f"no equilibrium of the frame under its gravity loads: {np.abs(left).max():.3g} N or N m remain at "
        f"{model.numbering.named(worst)}{element}; lower the loads, or strengthen it there",
        "loads",
        moved=q,
    )
