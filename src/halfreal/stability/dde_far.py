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

from ..kernels.entry import entry
from .dde_matrix import DATA, FASTMATH, QUOTIENT, inner, invert


def unwound(M: np.ndarray) -> float:
    """arg det(I − t M) gained from t = 0 to 1, the spectral radius of M being below 1; steps as in ``dde_matrix``."""
    out = np.empty(1)
    _unwound(np.ascontiguousarray(M), np.empty_like(M, order="C"), np.empty(len(M), np.int64), out)
    return float(out[0])


@entry("c16[,]", "c16[,]", "i8[]", "f8[]", fastmath=FASTMATH)
def _unwound(M, inverse, order, out):  # type: ignore[no-untyped-def]
    n = len(M)
    t, total, before, expected = 0.0, 0.0, 0.0, 0.0
    while True:
        for p in range(n):
            for q in range(n):
                inverse[p, q] = (1.0 if p == q else 0.0) - t * M[p, q]
        now = invert(inverse, order)
        gained = now - before - expected
        total += expected + gained - 2.0 * np.pi * np.round(gained / (2.0 * np.pi))
        if t == 1.0 or not np.isfinite(total):
            out[0] = total
            return 0
        before = now
        size, trace = 0.0, 0.0
        for p in range(n):
            for q in range(n):
                change = 0.0 + 0.0j
                for j in range(n):
                    change += inverse[p, j] * M[j, q]
                size += change.real**2 + change.imag**2
                if p == q:
                    trace += change.imag
        step = min(QUOTIENT / max(np.sqrt(size), 1e-300), 1.0 - t)
        expected = -step * trace
        t = t + step if t + step < 1.0 else 1.0


@inner
def perron(W: Any, v: Any, w: Any) -> Any:
    """An upper bound of the spectral radius of a matrix without negative entries: max (W v)_i / v_i for a v > 0."""
    n = W.shape[0]
    for i in range(n):
        v[i] = 1.0
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


def radius(data: Any, x: float) -> float:
    """No root has Re s ≥ x and |s| beyond this; inf if that cannot be shown."""
    n = data[2].shape[-1]
    out = np.empty(1)
    _radius(data, x, np.zeros((4, n, n)), np.empty((2, n)), np.empty(n, np.int64), out)
    return float(out[0])


@entry(DATA, "f8", "f8[,,]", "f8[,]", "i8[]", "f8[]", fastmath=FASTMATH)
def _radius(data, x, room, vectors, order, out):  # type: ignore[no-untyped-def]
    modal, states, A, delays, _, lam, c, b, g, _ = data
    n, late = A.shape[-1], len(delays)
    W, v, w = room[0], vectors[0], vectors[1]
    out[0] = np.inf
    if modal:
        last = 0.0
        for i in range(len(lam)):
            last = max(last, abs(lam[i]))
        distance = 0.05 * last + 1e-3
        for _ in range(200):
            W[:] = 0.0
            for k in range(late):
                e = np.exp(-x * delays[k])
                for p in range(n):
                    for q in range(n):
                        W[p, q] += e * abs(A[k, p, q])
                for i in range(len(lam)):
                    if g[k, i] > 0.0:
                        d = e / (last + distance - abs(lam[i]))
                        for p in range(n):
                            for q in range(n):
                                W[p, q] += d * abs(c[p, i]) * abs(b[k, i, q])
            if perron(W, v, w) < 1.0 - 1e-9:
                out[0] = 1.001 * (last + distance)
                return 0
            distance *= 1.5
            if distance > 1e14 * (last + 1.0):
                break
        return 0
    for p in range(n):
        for q in range(n):
            W[p, q] = 0.0 if p == q and p >= states else abs(A[0, p, q])  # A_0 holds −I there
            for k in range(late):
                W[p, q] += np.exp(-x * delays[k]) * abs(A[k + 1, p, q])
    rest = n - states
    top, inverse, product = room[1, :states, :states], room[2, :rest, :rest], room[3, :states, :rest]
    for p in range(states):
        for q in range(states):
            top[p, q] = W[p, q]
    if rest:
        if perron(W[states:, states:], v, w) >= 1.0 - 1e-9:
            return 0
        for p in range(rest):
            for q in range(rest):
                inverse[p, q] = (1.0 if p == q else 0.0) - W[states + p, states + q]
        invert(inverse, order)
        for p in range(states):
            for q in range(rest):
                product[p, q] = 0.0
                for j in range(rest):
                    product[p, q] += W[p, states + j] * inverse[j, q]
            for q in range(states):
                for j in range(rest):
                    top[p, q] += product[p, j] * W[states + j, q]
    out[0] = 1.1 * perron(top, v, w) + 1e-300
    return 0
