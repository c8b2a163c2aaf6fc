"""Loop form of a delay system: its states, and the few variables that come back late.

    x˙ = a x + Σ_k b_k w(t − τ_k),       w = c x + Σ_k d_k w(t − τ_k)

It has the roots of E x˙ = A_0 x + Σ A_k x(t − τ_k).  With A_k = B_k C, C of as few rows as can be, and
UᵀEV = diag(e, 0), rows are divided by e and the algebraic variables solved for; what of them comes back late at once
are the d_k, which have the eigenvalues of the difference operator of ``dde_system`` (and zeros).

States are given units in which the rows and columns of |a| + Σ|b_k c| are of like size (the algorithm of LAPACK's
gebal: B. N. Parlett, C. Reinsch, "Balancing a matrix for calculation of eigenvalues and eigenvectors", Numer. Math. 13
(1969) 293–304).  w is turned into the Schur basis of the largest d_k, if ρ(Σ|d_k|), by which the difference operator is
bounded, is smaller there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from ..kernels.entry import entry
from .dde_matrix import FASTMATH

SINGULAR = 1e-12
"""Relative size below which a singular value of scaled matrices counts as zero."""


@dataclass(frozen=True)
class Loop:
    """a (n, n), b (delays, n, m), c (m, n), d (delays, m, m)."""

    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    d: np.ndarray


class UnderdeterminedError(Exception):
    """Algebraic rows that do not determine the algebraic variables: how many."""


def loop_form(E: np.ndarray, A: np.ndarray, longest: float) -> Loop:
    """The loop that a delay system closes through its delays."""
    now = A[0]
    B, C = late_variables(A[1:])
    diagonal = np.diagonal(E)
    if np.count_nonzero(E) == np.count_nonzero(diagonal):
        e = diagonal
        if not e.all():
            order = np.argsort(diagonal == 0.0, kind="stable")
            e = diagonal[order]
            now, B, C = now[order[:, None], order], B[:, order], C[:, order]
    else:
        rows, columns = _scales(np.abs(A).sum(axis=0) + np.abs(E) / (longest or 1.0))
        U, e, Vt = np.linalg.svd(rows[:, None] * E * columns)
        e[e <= SINGULAR * max(float(e[0]), 1e-300)] = 0.0
        if e.all():  # no variable need be turned
            now, B, e = np.linalg.solve(E, now), np.linalg.solve(E, B), np.ones(len(e))
        else:
            now, B, C = U.T @ (rows[:, None] * now * columns) @ Vt.T, U.T @ (rows[:, None] * B), (C * columns) @ Vt.T
    rank = int(np.count_nonzero(e))
    a, b, c = now[:rank, :rank], B[:, :rank], C[:, :rank]
    d = np.zeros((len(B), len(C), len(C)))
    if rank < len(E):
        inner = now[rank:, rank:]
        size = np.abs(inner).max(axis=1, keepdims=True)
        if not size.all() or np.linalg.cond(inner / size) > 1.0 / SINGULAR:
            raise UnderdeterminedError(len(inner))
        states, late = -np.linalg.solve(inner, now[rank:, :rank]), -np.linalg.solve(inner, B[:, rank:])
        a, b = a + now[:rank, rank:] @ states, b + now[:rank, rank:] @ late
        c, d = c + C[:, rank:] @ states, C[:, rank:] @ late
    a, b = a / e[:rank, None], b / e[:rank, None]
    units = balanced(np.abs(a) + np.abs(b).sum(axis=0) @ np.abs(c))
    return _turned(Loop(a * (units / units[:, None]), b / units[:, None], c * units, d))


def late_variables(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """B (delays, n, m) and C (m, n) with A_k = B_k C and m as small as can be."""
    norms = np.sqrt(np.einsum("kij,kij->j", A, A))
    used = np.flatnonzero(norms)
    n = A.shape[-1]
    if used.size < 2 or n == 2:  # with two variables nothing is gained
        C = np.zeros((used.size, n))
        C[np.arange(used.size), used] = 1.0
        return A[:, :, used], C
    columns = A[:, :, used] / norms[used]
    _, sizes, Vt = np.linalg.svd(columns.reshape(-1, used.size), full_matrices=False)
    Vt = Vt[: int((sizes > SINGULAR * sizes[0]).sum())]
    C = np.zeros((len(Vt), n))
    C[:, used] = Vt * norms[used]
    return columns @ Vt.T, C


def _scales(size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Factors of rows and columns that make the largest entries of each alike."""
    rows, columns = np.ones(len(size)), np.ones(len(size))
    for _ in range(3):
        now = rows[:, None] * size * columns
        rows /= np.sqrt(np.maximum(now.max(axis=1), 1e-300))
        columns /= np.sqrt(np.maximum(now.max(axis=0), 1e-300))
    return rows, columns


def _turned(loop: Loop) -> Loop:
    """The loop with late variables in the basis in which the difference operator is best bounded."""
    d = loop.d
    if d.shape[-1] < 2 or not d.any():
        return loop
    T = scipy.linalg.schur(d[np.argmax(np.abs(d).max(axis=(1, 2)))], output="complex")[1]
    turned = T.conj().T @ d @ T
    if _radius(turned) >= (1.0 - 1e-9) * _radius(d):
        return loop
    return Loop(loop.a, loop.b @ T, T.conj().T @ loop.c, turned)


def _radius(d: np.ndarray) -> float:
    return float(np.abs(np.linalg.eigvals(np.abs(d).sum(axis=0))).max())


def balanced(size: np.ndarray) -> np.ndarray:
    """Units (powers of 2) in which rows and columns are of like size."""
    units = np.ones(len(size))
    _balance(np.ascontiguousarray(size), units)
    return units


@entry("f8[,]", "f8[]", fastmath=FASTMATH)
def _balance(size, units):  # type: ignore[no-untyped-def]
    n = size.shape[0]
    for _ in range(20):
        settled = True
        for i in range(n):
            row = column = 0.0
            for j in range(n):
                if j != i:
                    row += size[i, j] * units[j] / units[i]
                    column += size[j, i] * units[i] / units[j]
            if row > 0.0 and column > 0.0:
                factor = 2.0 ** np.round(0.5 * np.log2(row / column))
                if factor != 1.0 and row / factor + column * factor < 0.95 * (row + column):
                    units[i] *= factor
                    settled = False
        if settled:
            break
    return 0
