"""Statics of a frame: whether it stands, and where it is under loads, by Newton's method."""

from __future__ import annotations

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


class StaticsError(HalfrealError):
    """A frame that does not stand; ``at`` is the setting at fault, ``moved`` where it was left."""

    def __init__(self, text: str, *at: str, moved: np.ndarray | None = None) -> None:
        super().__init__(text)
        self.at, self.moved = at, moved


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


def check_stands(model: Model, stiffness: sparse.csr_matrix, loaded: bool = False) -> None:
    """Refuse a mechanism, also one under gravity loads, naming what moves most."""
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
    with_it = f", and {many - 1} more degree(s) of freedom with it" if many > 1 else ""
    what = f"{model.numbering.named(at)}{with_it}"
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
