"""A state-space model from pulse responses.

B. L. Ho, R. E. Kalman, "Effective construction of linear state-variable models from input/output functions",
Regelungstechnik 14 (1966) 545–548, with the balanced factorisation of J.-N. Juang, R. S. Pappa, "An eigensystem
realization algorithm for modal parameter identification and model reduction", J. Guid. Control Dyn. 8 (1985) 620–627:

    h_0 = D,  h_k = C A^(k−1) B,      H_ij = h_(1 + r(i + j)) = U Σ Vᵀ,      H'_ij = h_(2 + r(i + j))
    A = Σ^(−1/2) Uᵀ H' V Σ^(−1/2),    B, C: the first block of Σ^(1/2) Vᵀ and of U Σ^(1/2)

The stride r spans slow motion with few rows.  Responses are first divided by a size of each output and of each input,
so that the model does not depend on units: a displacement of micrometres counts as much as a force of kilonewtons.
"""

from __future__ import annotations

import numpy as np

from .state_space import StateSpace

RANK = 1e-10
"""Singular values below this share of the largest are rounding."""
PASSES = 50
"""Of the division by sizes, more than its convergence takes."""


def realised(pulses: np.ndarray, dt: float, rows: int = 60) -> StateSpace:
    """The model whose pulse responses are ``pulses`` (samples, outputs, inputs)."""
    samples, outputs, inputs = pulses.shape
    of_outputs, of_inputs = sizes_of(pulses)
    through, pulses = pulses[0], pulses / np.outer(of_outputs, of_inputs)
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
    b, c = (root[:, None] * right.T)[:, :inputs], (left * root)[:outputs]
    return StateSpace(a, b * of_inputs, of_outputs[:, None] * c, through, dt)


def difference(model: StateSpace, pulses: np.ndarray) -> float:
    """The largest difference between a model's pulse responses and these, as a share of the sizes of both ends."""
    found, x = [model.d], model.b
    for _ in pulses[1:]:
        found.append(model.c @ x)
        x = model.a @ x
    return share(np.array(found) - pulses, pulses)


def share(error: np.ndarray, pulses: np.ndarray) -> float:
    """The largest value of an error of pulse responses, as a share of the sizes of its output and input."""
    return float(np.max(np.abs(error) / np.outer(*sizes_of(pulses)), initial=0.0))


def sizes_of(pulses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A size of each output and of each input, divided by which all have responses of about 1.

    Rows and columns of the largest responses are brought to one norm by turns (R. Sinkhorn, P. Knopp, "Concerning
    nonnegative matrices and doubly stochastic matrices", Pacific J. Math. 21 (1967) 343–348): the result is the same
    in any units.
    """
    left = np.abs(pulses).max(axis=0, initial=0.0)
    rows, columns = np.ones(len(left)), np.ones(left.shape[1])
    for _ in range(PASSES):
        for axis, sizes in ((1, rows), (0, columns)):
            norm = np.sqrt(np.sum(left**2, axis=axis))
            norm[norm == 0.0] = 1.0
            sizes *= norm
            left = left / np.expand_dims(norm, axis)
    return rows, columns
