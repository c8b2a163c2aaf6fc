"""Approximate characteristic roots of a delay system: its generator, discretised on Chebyshev points.

D. Breda, S. Maset, R. Vermiglio, "Pseudospectral differencing methods for characteristic roots of delay differential
equations", SIAM J. Sci. Comput. 27 (2005) 482–495; for algebraic and neutral equations E. Jarlebring, K. Meerbergen,
W. Michiels, "A Krylov method for the delay eigenvalue problem", SIAM J. Sci. Comput. 32 (2010) 3278–3300.

The history of the variables over the longest delay, w(θ) = C x(t + θ), is a polynomial through the points

    θ_j = (cos(jπ/N) − 1) τ/2,   j = 0 … N,        A_k = B_k C

C picks what comes back late and nothing else, so that a large structure with a small specimen stays small.  A root s
has w(θ) = e^{sθ} w(0), that is w˙ = s w at all points but θ_0, where the delay equation holds instead:

    s E x = A_0 x + Σ_k B_k Σ_j ℓ_j(−τ_k) w_j,      s w_i = Σ_j D_ij w_j  (i = 1 … N),      w_0 = C x

Its algebraic rows are solved for the algebraic variables, which leaves an ordinary eigenvalue problem without the
infinite eigenvalues of the pencil.  Roots with |s| τ well below N are exact to rounding, the others are not.

======== ==============================================================
N        degree of the polynomial (``degree``)
θ_j      points in the past [s]
w        what comes back late, as many as the rank of all A_k together
ℓ_j      Lagrange polynomials of the points
D        their derivatives at the points [1/s]
τ        longest delay [s]
======== ==============================================================
"""

from __future__ import annotations

from functools import cache

import numpy as np

from .dde_system import SINGULAR, DelaySystem


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


def late_variables(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """B (delays, n, m) and C (m, n) with A_k = B_k C and m as small as can be."""
    norms = np.sqrt((A * A).sum(axis=(0, 1)))
    used = np.flatnonzero(norms)
    n = A.shape[-1]
    if used.size < 2:
        C = np.zeros((used.size, n))
        C[np.arange(used.size), used] = 1.0
        return A[:, :, used], C
    columns = A[:, :, used] / norms[used]
    _, sizes, Vt = np.linalg.svd(columns.reshape(-1, used.size), full_matrices=False)
    Vt = Vt[: int((sizes > SINGULAR * sizes[0]).sum())]
    C = np.zeros((len(Vt), n))
    C[:, used] = Vt * norms[used]
    return columns @ Vt.T, C


def generator(system: DelaySystem, degree: int) -> np.ndarray:
    """The matrix whose eigenvalues approximate the roots."""
    if not system.delays.size:
        return _without_algebraic(system, system.A[0])
    n, half = len(system.E), 0.5 * system.longest
    B, C = late_variables(system.A[1:])
    m = len(C)
    values = lagrange(degree, 1.0 - system.delays / half)
    derivative = chebyshev(degree)[2] / half
    rows = np.empty((n, n + degree * m))
    rows[:, :n] = system.A[0] + np.tensordot(values[:, 0], B, axes=1) @ C
    rows[:, n:] = np.tensordot(B, values[:, 1:], axes=([0], [0])).transpose(0, 2, 1).reshape(n, -1)
    past = np.zeros((degree, m, n + degree * m))
    past[:, :, :n] = derivative[1:, 0, None, None] * C
    each = np.arange(m)
    past[:, :, n:].reshape(degree, m, degree, m)[:, each, :, each] = derivative[1:, 1:]
    return _without_algebraic(system, rows, past.reshape(degree * m, n + degree * m))


def _without_algebraic(system: DelaySystem, rows: np.ndarray, past: np.ndarray | None = None) -> np.ndarray:
    """From E x˙ = rows·(x, w) and w˙ = past·(x, w) to the matrix of x and w alone, algebraic variables solved for."""
    n = len(system.E)
    U, V, rank = system.parts
    if rank == n:
        rows = np.linalg.solve(system.E, rows)
        return rows if past is None else np.concatenate([rows, past])
    rows = U.T @ rows
    rows[:, :n] = rows[:, :n] @ V
    lasts = slice(rank, n)
    solved = -np.linalg.solve(rows[rank:, lasts], np.delete(rows[rank:], lasts, axis=1))
    E = (U.T @ system.E @ V)[:rank, :rank]
    top = np.linalg.solve(E, np.delete(rows[:rank], lasts, axis=1) + rows[:rank, lasts] @ solved)
    if past is None:
        return np.asarray(top)
    past = past.copy()
    past[:, :n] = past[:, :n] @ V
    return np.concatenate([top, np.delete(past, lasts, axis=1) + past[:, lasts] @ solved])


def needed_degree(system: DelaySystem, right_of: float) -> int:
    """N that resolves all roots right of ``right_of``.

    A root s is an eigenvalue of A_0 + Σ A_k e^{−τ_k Re s + jθ_k} for some angles θ_k (Z. Wu, W. Michiels, "Reliably
    computing all characteristic roots of delay differential equations in a given right half plane using a spectral
    method", J. Comput. Appl. Math. 236 (2012) 2499–2514).  Angles and real parts are sampled, the fastest of these
    eigenvalues tells how many points the history needs.
    """
    if not system.delays.size:
        return 1
    generatrix = np.random.default_rng(1)  # the same angles each time
    count = 24 if system.delays.size == 1 else 96
    angles = 2.0 * np.pi * generatrix.random((count, system.delays.size))
    if system.delays.size == 1:
        angles = np.linspace(0.0, np.pi, count)[:, None]
    fastest = 0.0
    for share in (1.0, 0.5, 0.0):
        late = share * np.exp(np.minimum(-right_of * system.delays, 300.0)) * np.exp(1j * angles)
        values = _pencil(system, system.A[0] + np.tensordot(late, system.A[1:], axes=1))
        values = values[values.real >= right_of]
        fastest = max(fastest, float(np.abs(values).max(initial=0.0)))
    return int(np.ceil(0.5 * fastest * system.longest)) + 12


def _pencil(system: DelaySystem, A: np.ndarray) -> np.ndarray:
    """Finite eigenvalues of all pencils (A_i, E), in one row."""
    U, V, rank = system.parts
    A = U.T @ A @ V
    E = (U.T @ system.E @ V)[:rank, :rank]
    inner = A[:, :rank, :rank]
    if rank < len(system.E):
        inner = inner - A[:, :rank, rank:] @ np.linalg.solve(A[:, rank:, rank:], A[:, rank:, :rank])
    return np.asarray(np.linalg.eigvals(np.linalg.solve(E, inner))).ravel()
