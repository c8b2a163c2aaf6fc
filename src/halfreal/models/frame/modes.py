"""The lowest modes of a frame."""

from __future__ import annotations

import numpy as np
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
