"""Approximate characteristic roots of a delay system: its generator, discretised on Chebyshev points.

D. Breda, S. Maset, R. Vermiglio, "Pseudospectral differencing methods for characteristic roots of delay differential
equations", SIAM J. Sci. Comput. 27 (2005) 482–495; for algebraic and neutral equations E. Jarlebring, K. Meerbergen,
W. Michiels, "A Krylov method for the delay eigenvalue problem", SIAM J. Sci. Comput. 32 (2010) 3278–3300.

The history of what comes back late (``dde_loop.Loop``) over the longest delay is a polynomial through the points

    θ_j = (cos(jπ/N) − 1) τ/2,   j = 0 … N

so that a large structure with a small specimen stays small.  A root s has w(θ) = e^{sθ} w(0), that is w˙ = s w at all
points but θ_0, where the loop is closed instead:

    s x = a x + Σ_k b_k Σ_j ℓ_j(−τ_k) w_j,    s w_i = Σ_j D_ij w_j (i = 1 … N),    w_0 = c x + Σ_k d_k Σ_j ℓ_j(−τ_k) w_j

Roots with |s| τ well below N are exact to rounding, the others are not: these are first guesses, and no more.

======== ==============================================================
N        degree of the polynomial (``degree``)
θ_j      points in the past [s]
w        what comes back late
ℓ_j      Lagrange polynomials of the points
D        their derivatives at the points [1/s]
τ        longest delay [s]
======== ==============================================================
"""

from __future__ import annotations

from functools import cache

import numpy as np

from ..kernels.entry import Entry
from .dde_loop import Loop
from .dde_matrix import FASTMATH


@cache
def chebyshev(degree: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points cos(jπ/N), weights of their barycentric interpolation, and differentiation matrix."""
    j = np.arange(degree + 1)
    points = np.cos(np.pi * j / degree)
    weights = np.where(j % 2 == 0, 1.0, -1.0)
    weights[[0, -1]] *= 0.5
    # differences of cosines as products of sines lose no digits
    apart = 2.0 * np.sin(np.pi * (j[:, None] + j) / (2 * degree)) * np.sin(np.pi * (j - j[:, None]) / (2 * degree))
    np.fill_diagonal(apart, 1.0)
    derivative = weights / weights[:, None] / apart
    np.fill_diagonal(derivative, 0.0)
    np.fill_diagonal(derivative, -derivative.sum(axis=1))
    return points, weights, derivative


def lagrange(degree: int, at: np.ndarray) -> np.ndarray:
    """ℓ_j(at), (len(at), N + 1), on −1 … 1."""
    points, weights, _ = chebyshev(degree)
    apart = at[:, None] - points
    hit = np.abs(apart) < 1e-15
    terms = weights / np.where(hit, 1.0, apart)
    values = terms / terms.sum(axis=1, keepdims=True)
    return np.asarray(np.where(hit.any(axis=1, keepdims=True), hit, values))


def generator(loop: Loop, delays: np.ndarray, degree: int) -> np.ndarray:
    """The matrix whose eigenvalues approximate the roots."""
    if not len(loop.c):
        return loop.a
    half = 0.5 * float(delays.max())
    values = lagrange(degree, 1.0 - delays / half)
    n, m = len(loop.a), len(loop.c)
    inverse: np.ndarray = np.zeros((0, 0))
    if loop.d.any():
        inverse = np.linalg.inv(np.eye(m) - np.tensordot(values[:, 0], loop.d, axes=1))
    dtype = np.result_type(loop.a, loop.b, loop.c, loop.d)
    whole = np.zeros((n + degree * m, n + degree * m), dtype)
    given = [np.ascontiguousarray(one, dtype) for one in (loop.a, loop.b, loop.c, loop.d)]
    rooms = np.zeros((2, m, len(whole)), dtype), np.zeros((n, m), dtype)
    _ASSEMBLED[dtype](*given, values, chebyshev(degree)[2] / half, inverse.astype(dtype), whole, *rooms)
    return whole


def assembled(a, b, c, d, values, derivative, inverse, whole, rows, now):  # type: ignore[no-untyped-def]
    """Rows of the states and of w_1 … w_N; ``inverse`` of what w_0 has of itself, empty for the identity."""
    n, m = a.shape[0], c.shape[0]
    late, degree = b.shape[0], values.shape[1] - 1
    size = n + degree * m
    first = rows[0]  # w_0 of the states and of the other points
    for p in range(m):
        for q in range(n):
            first[p, q] = c[p, q]
        for q in range(m):
            for k in range(late):
                for j in range(degree):
                    first[p, n + j * m + q] += values[k, j + 1] * d[k, p, q]
    if inverse.size:
        for p in range(m):
            for q in range(m):
                for j in range(size):
                    rows[1, p, j] += inverse[p, q] * first[q, j]
        first = rows[1]
    for p in range(n):
        for q in range(n):
            whole[p, q] = a[p, q]
        for q in range(m):
            for k in range(late):
                now[p, q] += values[k, 0] * b[k, p, q]
                for j in range(degree):
                    whole[p, n + j * m + q] += values[k, j + 1] * b[k, p, q]
        for q in range(m):
            for j in range(size):
                whole[p, j] += now[p, q] * first[q, j]
    for i in range(degree):
        for p in range(m):
            for j in range(degree):
                whole[n + i * m + p, n + j * m + p] = derivative[i + 1, j + 1]
            for j in range(size):
                whole[n + i * m + p, j] += derivative[i + 1, 0] * first[p, j]
    return 0


_ASSEMBLED = {
    np.dtype(name): Entry(
        assembled,
        (of2, of3, of2, of3, "f8[,]", "f8[,]", of2, of2, of3, of2),
        FASTMATH,
    )
    for name, of2, of3 in (("f8", "f8[,]", "f8[,,]"), ("c16", "c16[,]", "c16[,,]"))
}
"""For real and for complex loops."""
