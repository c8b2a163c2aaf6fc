"""Normal form of a delay system: derivatives alone on the left, algebraic variables solved for, variables balanced.

    x₁˙ = A_0¹¹ x₁ + Σ_k (A_k¹¹ x₁ + A_k¹² x₂)(t − τ_k),      0 = A_0²¹ x₁ − x₂ + Σ_k (A_k²¹ x₁ + A_k²² x₂)(t − τ_k)

It has the roots of E x˙ = A_0 x + Σ A_k x(t − τ_k).  With UᵀEV = diag(e, 0) the rows of UᵀA_kV are divided by e, and
the algebraic ones by −(UᵀA_0V)²², after which A_0¹² is subtracted away.  A_k²² are the difference operator's weights.

Variables are then given units in which the rows and columns of Σ|A_k| are of like size (the algorithm of LAPACK's
gebal: B. N. Parlett, C. Reinsch, "Balancing a matrix for calculation of eigenvalues and eigenvectors", Numer. Math. 13
(1969) 293–304).  If several algebraic variables come back late, they are also turned into the Schur basis of the
largest A_k²², if ρ(Σ|A_k²²|), by which the difference operator is bounded, is smaller there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from .dde_walk import compiled

SINGULAR = 1e-12
"""Relative size below which a singular value of scaled matrices counts as zero."""


@dataclass(frozen=True)
class Loop:
    """What comes back late, w = c x₁ + Σ D_k w(t − τ_k), of x₁˙ = a x₁ + Σ b_k w(t − τ_k): as few as can be."""

    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    d: np.ndarray


class UnderdeterminedError(Exception):
    """Algebraic rows that do not determine the algebraic variables: how many."""


def normal_form(E: np.ndarray, A: np.ndarray, longest: float) -> tuple[int, np.ndarray]:
    """Number of states, and A (1 + delays, n, n) with the states first."""
    diagonal = np.diagonal(E)
    if np.count_nonzero(E) == np.count_nonzero(diagonal):
        order = np.flatnonzero(diagonal)
        rank = len(order)
        if rank < len(E):
            order = np.concatenate([order, np.flatnonzero(diagonal == 0.0)])
            A = A[:, order[:, None], order]
        e = diagonal[order[:rank]]
    else:
        A, e = _diagonal(E, A, longest)
        rank = len(e)
    A = A / np.concatenate([e, np.ones(len(E) - rank)])[:, None] if rank < len(E) else A / e[:, None]
    if rank < len(E):
        A = _solved(A, rank)
    units = balanced(np.abs(A).sum(axis=0))
    return rank, A * (units / units[:, None])


def _diagonal(E: np.ndarray, A: np.ndarray, longest: float) -> tuple[np.ndarray, np.ndarray]:
    """A of variables in which E is diagonal, and its diagonal without the zeros."""
    size = np.abs(A).sum(axis=0) + np.abs(E) / (longest or 1.0)
    rows, columns = np.ones(len(size)), np.ones(len(size))
    for _ in range(3):
        now = rows[:, None] * size * columns
        rows /= np.sqrt(np.maximum(now.max(axis=1), 1e-300))
        columns /= np.sqrt(np.maximum(now.max(axis=0), 1e-300))
    both = rows[:, None] * columns
    U, e, Vt = np.linalg.svd(E * both)
    rank = int((e > SINGULAR * max(float(e[0]), 1e-300)).sum())
    if rank == len(e):  # no variable need be turned
        return np.linalg.solve(E, A), np.ones(len(E))
    return U.T @ (A * both) @ Vt.T, e[:rank]


def _solved(A: np.ndarray, rank: int) -> np.ndarray:
    """The algebraic rows times −(A_0²²)⁻¹, and A_0¹² subtracted away."""
    inner = A[0, rank:, rank:]
    scale = np.abs(inner).max(axis=1, keepdims=True)
    if not scale.all() or np.linalg.cond(inner / scale) > 1.0 / SINGULAR:
        raise UnderdeterminedError(len(inner))
    A = A.astype(complex)
    A[:, rank:] = -np.linalg.solve(inner, A[:, rank:])
    A[:, :rank] += A[0, :rank, rank:] @ A[:, rank:]
    A[0, :rank, rank:] = 0.0
    A[0, rank:, rank:] = -np.eye(len(inner))
    if len(inner) > 1:
        late = A[1:, rank:, rank:]
        if late.any():
            T = scipy.linalg.schur(late[np.argmax(np.abs(late).max(axis=(1, 2)))], output="complex")[1]
            turned = T.conj().T @ late @ T
            if _radius(turned) < (1.0 - 1e-9) * _radius(late):
                A[:, rank:] = T.conj().T @ A[:, rank:]
                A[:, :, rank:] = A[:, :, rank:] @ T
                A[0, rank:, rank:] = -np.eye(len(inner))
    return A


def loop_form(rank: int, A: np.ndarray) -> Loop:
    """The loop that a system in normal form closes through its delays."""
    B, C = late_variables(A[1:])
    c = C[:, :rank]
    if rank == A.shape[-1]:
        return Loop(A[0], B, c, np.zeros((len(B), len(C), len(C)), dtype=A.dtype))
    return Loop(A[0, :rank, :rank], B[:, :rank], c + C[:, rank:] @ A[0, rank:, :rank], C[:, rank:] @ B[:, rank:])


def late_variables(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """B (delays, n, m) and C (m, n) with A_k = B_k C and m as small as can be."""
    norms = np.sqrt((np.abs(A) ** 2).sum(axis=(0, 1)))
    used = np.flatnonzero(norms)
    n = A.shape[-1]
    if used.size < 2:
        C = np.zeros((used.size, n))
        C[np.arange(used.size), used] = 1.0
        return A[:, :, used], C
    columns = A[:, :, used] / norms[used]
    _, sizes, Vt = np.linalg.svd(columns.reshape(-1, used.size), full_matrices=False)
    Vt = Vt[: int((sizes > SINGULAR * sizes[0]).sum())]
    C = np.zeros((len(Vt), n), dtype=A.dtype)
    C[:, used] = Vt * norms[used]
    return columns @ Vt.conj().T, C


def _radius(late: np.ndarray) -> float:
    return float(np.abs(np.linalg.eigvals(np.abs(late).sum(axis=0))).max())


@compiled
def balanced(size: Any) -> Any:
    """Units (powers of 2) in which rows and columns are of like size."""
    n = size.shape[0]
    units = np.ones(n)
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
    return units
