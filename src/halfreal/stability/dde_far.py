"""Where a delay system has no roots: far to the right and far up, by the theorem of Perron and Frobenius.

Of the characteristic matrix Y(s) of ``dde_walk``, its first rows divided by s in the dense form, Y = I − M(s), and the
entries of M are bounded for all |s| ≥ R, Re s ≥ x: |M| ≤ W.  The spectral radius of M is then at most that of W, which
is at most max (W v)_i / v_i for any v > 0 (L. Collatz, "Einschließungssatz für die charakteristischen Zahlen von
Matrizen", Math. Z. 48 (1942) 221–226).  If that is below 1, there are no roots, and all that the argument of det Y
gains there on the way to infinity is what det(I − t M) gains on the way from t = 0.

In the dense form, the late variables last, W has the rows [(|A_0¹¹| + Σ|A_k¹¹|e_k)/R, Σ|A_k¹²|e_k/R] and
[|A_0²¹| + Σ|A_k²¹|e_k, Σ|A_k²²|e_k] with e_k = e^{−x τ_k}; its spectral radius is below 1 if that of W²² is and R is
above that of R W¹¹ + R W¹²(I − W²²)⁻¹W²¹.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .dde_walk import QUOTIENT, compiled


@compiled
def unwound(M: Any) -> Any:
    """arg det(I − t M) gained from t = 0 to 1, the spectral radius of M being below 1; steps as in ``dde_walk``."""
    one = np.eye(len(M)) + 0j
    t, total, before, expected = 0.0, 0.0, 0.0, 0.0
    while True:
        sign, _ = np.linalg.slogdet(one - t * M)
        now = np.arctan2(sign.imag, sign.real)
        gained = now - before - expected
        total += expected + gained - 2.0 * np.pi * np.round(gained / (2.0 * np.pi))
        if t == 1.0 or not np.isfinite(total):
            return total
        before = now
        change = np.linalg.solve(one - t * M, M)
        step = min(QUOTIENT / max(np.sqrt((np.abs(change) ** 2).sum()), 1e-300), 1.0 - t)
        expected = -step * np.trace(change).imag
        t = t + step if t + step < 1.0 else 1.0


@compiled
def perron(W: Any) -> Any:
    """An upper bound of the spectral radius of a matrix without negative entries: max (W v)_i / v_i for a v > 0."""
    n = W.shape[0]
    v, w = np.ones(n), np.empty(n)
    best = np.inf
    for _ in range(60):
        bound = 0.0
        for i in range(n):
            total = 0.0
            for j in range(n):
                total += W[i, j] * v[j]
            w[i] = total
            bound = max(bound, total / v[i])
        if bound >= best * (1.0 - 1e-3):
            return min(best, bound)
        best = bound
        for i in range(n):
            v[i] = (w[i] / bound if bound > 0.0 else 0.0) + 0.1 * v[i] + 1e-12
    return best


@compiled
def radius(data: Any, x: Any) -> Any:
    """No root has Re s ≥ x and |s| beyond this; inf if that cannot be shown."""
    modal, states, A, delays, _, lam, c, b, g, _ = data
    n, late = A.shape[-1], len(delays)
    W = np.zeros((n, n))
    if modal:
        last = 0.0
        for i in range(len(lam)):
            last = max(last, abs(lam[i]))
        distance = 0.05 * last + 1e-3
        for _ in range(200):
            W[:] = 0.0
            for k in range(late):
                e = np.exp(-x * delays[k])
                W += e * np.abs(A[k])
                for i in range(len(lam)):
                    if g[k, i] > 0.0:
                        d = e / (last + distance - abs(lam[i]))
                        for p in range(n):
                            for q in range(n):
                                W[p, q] += d * abs(c[p, i]) * abs(b[k, i, q])
            if perron(W) < 1.0 - 1e-9:
                return 1.001 * (last + distance)
            distance *= 1.5
            if distance > 1e14 * (last + 1.0):
                break
        return np.inf
    W += np.abs(A[0])
    for p in range(states, n):
        W[p, p] = 0.0  # A_0 holds −I there
    for k in range(late):
        W += np.exp(-x * delays[k]) * np.abs(A[k + 1])
    top = W[:states, :states].copy()
    rest = n - states
    if rest:
        if perron(W[states:, states:].copy()) >= 1.0 - 1e-9:
            return np.inf
        inner = np.linalg.inv(np.eye(rest) - W[states:, states:])
        top += np.ascontiguousarray(W[:states, states:]) @ inner @ np.ascontiguousarray(W[states:, :states])
    return 1.1 * perron(top) + 1e-300
