"""A continuous loop with its forward predictor as a model with finitely many states.

    L₀(s) P(s),        P(s) = Σ_j w_j e^{−s j Δ}

The samples of the predictor are values of a polynomial through N + 1 Chebyshev points of its span (m − 1) Δ, as in
``contracts.state_space.transport``.  The error falls faster than any power of N once N exceeds half of ω (m − 1) Δ.
|P| is at most Σ|w_j|, which bounds the frequencies at which the loop's gain can still be one, and so the N that is
needed.

At high frequencies the gain of a loop with a direct term D comes as close as one likes to ρ(D) Σ|w_j|.  If that is at
least one, no delay is stable.
"""

from __future__ import annotations

import numpy as np

from ..contracts.state_space import StateSpace, transport
from ..errors import HalfrealError
from .dde_pseudospectral import lagrange

MORE = 16
"""Points beyond those that a frequency needs: the error is then that of rounding."""
MOST = 400
"""States of the predictor on all axes together."""


def with_predictor(bare: StateSpace, weights: np.ndarray, step: float) -> StateSpace:
    """L₀ P; with a direct term of at least one if the loop is unstable with any delay."""
    if len(weights) == 1:
        return StateSpace(bare.a, bare.b * weights[0], bare.c, bare.d * weights[0])
    largest = float(np.abs(weights).sum())
    if np.abs(np.linalg.eigvals(bare.d)).max(initial=0.0) * largest >= 1.0:
        return StateSpace(bare.a, bare.b, bare.c, bare.d * largest)
    span = step * (len(weights) - 1)
    order = int(np.ceil(0.5 * _highest(bare, largest) * span)) + MORE
    if order * bare.channels > MOST:
        raise HalfrealError(
            f"the loop with its predictor of {len(weights)} samples has a gain of one up to frequencies that need "
            f"{order * bare.channels} states where {MOST} is the limit; use continuous=False, the sampled loop"
        )
    one = transport(span, order)
    rows = weights @ lagrange(order, 1.0 - 2.0 * np.arange(len(weights)) / (len(weights) - 1))
    eye = np.eye(bare.channels)
    return bare.after(StateSpace(np.kron(eye, one.a), np.kron(eye, one.b), np.kron(eye, rows[None, 1:]), rows[0] * eye))


def _highest(bare: StateSpace, gain: float) -> float:
    """Frequency [rad/s] above which the loop, its gain raised so much, is below one: beyond all of its poles."""
    omega = float(np.abs(bare.poles()).max(initial=1.0))
    for _ in range(60):
        ahead = bare.response(omega * np.geomspace(1.0, 8.0, 7))
        if np.linalg.norm(ahead, 2, axis=(1, 2)).max() * gain < 1.0:
            return omega
        omega *= 1.25
    raise HalfrealError("the gain of the loop with its predictor does not fall below one; use continuous=False")
