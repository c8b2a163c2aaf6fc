"""Recursive least squares on a triangular factor, for blocks: a new row of data costs O(n²), and nothing is allocated.

The weighted problem  min_x Σ_i w_i (a_iᵀx − b_i)²  is held as the upper triangular factor R (n × n) and the vector z
with RᵀR = Σ w_i a_i a_iᵀ and Rᵀz = Σ w_i a_i b_i, so that its solution is R x = z.  Several problems that differ in
their right-hand sides b alone share one R: z and x are then the rows of matrices (m × n).  To forget is to multiply all
weights by μ: R and z by √μ.  A row (aᵀ, b) of weight 1 comes in by n Givens rotations, each of which turns one of its
entries to zero:

    ⎡ c  s⎤ ⎡R_ii  R_i,i+1 … R_in  z_i⎤        c = R_ii/d,  s = a_i/d,  d = √(R_ii² + a_i²)
    ⎣−s  c⎦ ⎣a_i   a_i+1   … a_n   b  ⎦

RᵀR is never formed, so that the solution keeps the digits that normal equations lose (G. H. Golub, C. F. Van Loan,
Matrix Computations, on updating QR factorisations).  Only the triangle of R is read or written.
"""

from __future__ import annotations

import math

from .compile import kernel


@kernel
def _scale(x, factor):  # type: ignore[no-untyped-def]
    for j in range(x.shape[0]):
        x[j] *= factor


@kernel
def _turn(x, y, c, s):  # type: ignore[no-untyped-def]
    for j in range(x.shape[0]):
        upper, lower = x[j], y[j]
        x[j] = c * upper + s * lower
        y[j] = c * lower - s * upper


@kernel
def _dot(x, y):  # type: ignore[no-untyped-def]
    """xᵀy in four sums that do not wait for each other."""
    n = x.shape[0]
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    j = 0
    while j + 4 <= n:
        first += x[j] * y[j]
        second += x[j + 1] * y[j + 1]
        third += x[j + 2] * y[j + 2]
        fourth += x[j + 3] * y[j + 3]
        j += 4
    while j < n:
        first += x[j] * y[j]
        j += 1
    return (first + second) + (third + fourth)


@kernel
def forget(r, z, factor):  # type: ignore[no-untyped-def]
    """R and all z times ``factor`` = √μ."""
    for i in range(r.shape[0]):
        _scale(r[i, i:], factor)
    for k in range(z.shape[0]):
        _scale(z[k], factor)


@kernel
def rotate_in(r, z, row, right, first):  # type: ignore[no-untyped-def]
    """Take in a row a of data with the right-hand sides ``right`` (m,); both are used up.

    Entries of ``row`` before ``first`` are zero.
    """
    for i in range(first, r.shape[0]):
        diagonal, entry = r[i, i], row[i]
        length = math.sqrt(diagonal * diagonal + entry * entry)
        if entry == 0.0 or length == 0.0:  # nothing to turn, or so small that its square is zero
            continue
        c, s = diagonal / length, entry / length
        r[i, i] = length
        _turn(r[i, i + 1 :], row[i + 1 :], c, s)
        for k in range(z.shape[0]):
            upper, lower = z[k, i], right[k]
            z[k, i] = c * upper + s * lower
            right[k] = c * lower - s * upper


@kernel
def solve(r, z, x):  # type: ignore[no-untyped-def]
    """R x = z for every row of z; a parameter of which the data say nothing (R_ii = 0) becomes zero."""
    n = r.shape[0]
    for k in range(z.shape[0]):
        for i in range(n - 1, -1, -1):
            value = z[k, i] - _dot(r[i, i + 1 :], x[k, i + 1 :])
            x[k, i] = value / r[i, i] if r[i, i] != 0.0 else 0.0
