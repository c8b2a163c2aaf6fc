"""Modes of a frame: the lowest, or all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sparse
import scipy.sparse.linalg

from ...contracts.massless import undamped_modes

FEW = 0.1
"""Part of all modes up to which they are sought one by one, in frames that are large enough for it to matter."""
LARGE = 200


def lowest_modes(mass: sparse.csr_matrix, stiffness: sparse.csr_matrix, count: int) -> tuple[np.ndarray, np.ndarray]:
    """ω² of the lowest modes in rising order, and their shapes with ΦᵀMΦ = I, (n, count); fewer if there are fewer."""
    n = mass.shape[0]
    if n < LARGE or count > FEW * n:
        squares, shapes = undamped_modes(mass.toarray(), stiffness.toarray())
        return squares[:count], shapes[:, :count]
    # below all eigenvalues, as a frame that only the specimen holds has some at zero
    below = -1e-3 * float(stiffness.diagonal().max() / mass.diagonal().max())
    start = np.random.default_rng(1).standard_normal(n)
    squares, shapes = scipy.sparse.linalg.eigsh(
        stiffness.tocsc(), k=count, M=mass.tocsc(), sigma=below, which="LM", v0=start
    )
    order = np.argsort(squares)
    return squares[order], shapes[:, order]


@dataclass(frozen=True)
class Modes:
    """All modes, those of degrees of freedom with mass, which others follow."""

    heavy: np.ndarray
    """Degrees of freedom with mass."""
    bare: np.ndarray
    """Those without."""
    square: np.ndarray
    """ω²."""
    shapes: np.ndarray
    """Φ over those with mass, ΦᵀMΦ = I."""
    weighted: np.ndarray
    """MΦ."""
    follow: np.ndarray
    """S Φ over those without mass, S = −K_bb⁻¹ K_bh."""
    static: Callable[[np.ndarray], np.ndarray]
    """K_bb⁻¹ times columns."""


def all_modes(mass: Any, stiffness: Any) -> Modes | None:
    """None if a degree of freedom without mass is not held by the stiffness."""
    heavy, bare = (np.flatnonzero(one) for one in (mass.diagonal() > 0.0, mass.diagonal() <= 0.0))
    own = stiffness[heavy][:, heavy].toarray()
    weight = mass[heavy][:, heavy].toarray()
    if bare.size:
        across = stiffness[bare][:, heavy].toarray()
        try:
            factors = scipy.sparse.linalg.splu(stiffness[bare][:, bare].tocsc())
        except RuntimeError:  # exactly singular
            return None
        follow, static = -factors.solve(across), factors.solve
        own = own + across.T @ follow
    else:
        follow, static = np.zeros((0, heavy.size)), np.asarray
    diagonal = np.diag(weight)
    if np.count_nonzero(weight) == heavy.size:
        root = 1.0 / np.sqrt(diagonal)
        square, turned = scipy.linalg.eigh(root[:, None] * own * root, driver="evd")
        shapes = root[:, None] * turned
    else:
        square, shapes = scipy.linalg.eigh(own, weight)
    return Modes(heavy, bare, square, shapes, weight @ shapes, follow @ shapes, static)
