"""A state-space model from pulse responses.

B. L. Ho, R. E. Kalman, "Effective construction of linear state-variable models from input/output functions",
Regelungstechnik 14 (1966) 545–548, with the balanced factorisation of J.-N. Juang, R. S. Pappa, "An eigensystem
realization algorithm for modal parameter identification and model reduction", J. Guid. Control Dyn. 8 (1985) 620–627:

    h_0 = D,  h_k = C A^(k−1) B,      H_ij = h_(1 + r_i + r_j) = U Σ Vᵀ,      H'_ij = h_(2 + r_i + r_j)
    A = Σ^(−1/2) Uᵀ H' V Σ^(−1/2),    B, C: the first block of Σ^(1/2) Vᵀ and of U Σ^(1/2)

The rows r are 0, 1, 2, … and then further and further apart: a response that ends within a few ticks is in the former,
slow motion in the latter.  More of the former are taken until the model has the responses.  Pulses that have not
arrived yet are no dynamics to be found: each input and output is delayed by its dead time, exactly, by a shift
register, and the rest is realised.  Responses are first divided by a size of each output and of each input, so that the
model does not depend on units: a displacement of micrometres counts as much as a force of kilonewtons.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import block_diag

from .state_space import StateSpace, shift_register

RANK = 1e-10
"""Singular values below this share of the largest are rounding."""
ROUNDING = 1e-13
"""Share of a response that has not begun up to which it is none."""
FEWEST = 100
"""Samples of a response that are realised, at least."""
PASSES = 50
"""Of the division by sizes, more than its convergence takes."""
ROWS = (40, 120, 360)
"""Of those one tick apart: more are taken where fewer do not give the responses to this share."""
APART = 40
"""Rows further and further apart."""
MATCHED = 1e-8
MOST_STATES = 600
"""Of a model."""


def realised(pulses: np.ndarray, dt: float) -> StateSpace:
    """The model whose pulse responses are ``pulses`` (samples, outputs, inputs); of those with as many rows as it takes
    the one that comes nearest."""
    into, out = dead_times(pulses)
    if into.max(initial=0) + out.max(initial=0) > len(pulses) - FEWEST:
        into, out = 0 * into, 0 * out
    begun = np.empty((len(pulses) - into.max(initial=0) - out.max(initial=0), *pulses.shape[1:]))
    for o, later in enumerate(out):
        for i, delay in enumerate(into):
            begun[:, o, i] = pulses[later + delay :][: len(begun), o, i]
    best, least = realised_with(begun, dt, ROWS[0]), np.inf
    for rows in ROWS:
        model = realised_with(begun, dt, rows)
        missed = difference(model, begun)
        if missed < least:
            best, least = model, missed
        if missed < MATCHED or 2 * rows > len(pulses):
            break
    if best.states + int(into.sum() + out.sum()) > MOST_STATES:
        return best
    return delayed(out, dt).after(best.after(delayed(into, dt)))


def dead_times(pulses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ticks before anything of an input is seen, and of an output beyond these; 0 where nothing ever is.

    A tick more is no dead time, but what any state takes that is not passed through.
    """
    seen = np.abs(pulses) > ROUNDING * np.abs(pulses).max(axis=0, initial=0.0)
    first = np.where(seen.any(axis=0), np.maximum(seen.argmax(axis=0) - 1, 0), len(pulses))
    into = first.min(axis=0, initial=len(pulses))
    into[into == len(pulses)] = 0
    later = np.where(first < len(pulses), first - into, len(pulses))
    out = later.min(axis=1, initial=len(pulses))
    out[out == len(pulses)] = 0
    return into, out


def delayed(ticks: np.ndarray, dt: float) -> StateSpace:
    """Each channel delayed by so many ticks."""
    parts = [shift_register(int(one), dt) for one in ticks]
    a, b, c, d = (block_diag(*(getattr(part, name) for part in parts)) for name in "abcd")
    return StateSpace(a, b, c, d, dt)


def realised_with(pulses: np.ndarray, dt: float, close: int) -> StateSpace:
    """The model with ``close`` rows one tick apart."""
    samples, outputs, inputs = pulses.shape
    of_outputs, of_inputs = sizes_of(pulses)
    through, pulses = pulses[0], pulses / np.outer(of_outputs, of_inputs)
    last = (samples - 3) // 2
    apart = np.geomspace(close, max(last, close), APART).astype(int)
    rows = np.unique(np.minimum(np.concatenate([np.arange(close), apart]), last))
    index = 1 + rows[:, None] + rows[None, :]

    def hankel(shift: int) -> np.ndarray:
        count = rows.size
        return np.asarray(pulses[index + shift].transpose(0, 2, 1, 3).reshape(count * outputs, count * inputs))

    left, sizes, right = np.linalg.svd(hankel(0), full_matrices=False)
    order = int(np.count_nonzero(sizes > RANK * sizes[0])) if sizes.size and sizes[0] > 0 else 0
    root = np.sqrt(sizes[:order])
    left, right = left[:, :order], right[:order].T
    a = (left / root).T @ hankel(1) @ (right / root)
    b, c = (root[:, None] * right.T)[:, :inputs], (left * root)[:outputs]
    return StateSpace(a, b * of_inputs, of_outputs[:, None] * c, through, dt)


def difference(model: StateSpace, pulses: np.ndarray) -> float:
    """The largest difference between a model's pulse responses and these, as a share of the sizes of both ends."""
    found, x = [model.d], model.b
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in pulses[1:]:
            found.append(model.c @ x)
            x = model.a @ x
        missed = share(np.array(found) - pulses, pulses)
    return missed if np.isfinite(missed) else np.inf


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
