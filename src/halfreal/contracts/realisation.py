"""A state-space model from pulse responses.

B. L. Ho, R. E. Kalman, "Effective construction of linear state-variable models from input/output functions",
Regelungstechnik 14 (1966) 545–548, with the balanced factorisation of J.-N. Juang, R. S. Pappa, "An eigensystem
realization algorithm for modal parameter identification and model reduction", J. Guid. Control Dyn. 8 (1985) 620–627:

    h_0 = D,  h_k = C A^(k−1) B,      H_ij = h_(1 + r(i + j)) = U Σ Vᵀ,      H'_ij = h_(2 + r(i + j))
    A = Σ^(−1/2) Uᵀ H' V Σ^(−1/2),    B, C: the first block of Σ^(1/2) Vᵀ and of U Σ^(1/2)

The stride r spans slow motion with few rows.
"""

from __future__ import annotations

import numpy as np

from .state_space import StateSpace

RANK = 1e-10
"""Singular values below this share of the largest are rounding."""


def realised(pulses: np.ndarray, dt: float, rows: int = 60) -> StateSpace:
    """The model whose pulse responses are ``pulses`` (samples, outputs, inputs)."""
    samples, outputs, inputs = pulses.shape
    stride = max((samples - 3) // (2 * (rows - 1)), 1)
    rows = min(rows, (samples - 3) // (2 * stride) + 1)
    index = 1 + stride * (np.arange(rows)[:, None] + np.arange(rows)[None, :])

    def hankel(shift: int) -> np.ndarray:
        return np.asarray(pulses[index + shift].transpose(0, 2, 1, 3).reshape(rows * outputs, rows * inputs))

    left, sizes, right = np.linalg.svd(hankel(0))
    order = int(np.count_nonzero(sizes > RANK * sizes[0])) if sizes.size and sizes[0] > 0 else 0
    root = np.sqrt(sizes[:order])
    left, right = left[:, :order], right[:order].T
    a = (left / root).T @ hankel(1) @ (right / root)
    return StateSpace(a, (root[:, None] * right.T)[:, :inputs], (left * root)[:outputs], pulses[0], dt)
