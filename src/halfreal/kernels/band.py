"""Symmetric banded matrices for blocks: product, factors and solution at a cost that grows with the bandwidth.

Of a symmetric A of n rows with the half-bandwidth b the lower part is stored column by column,

    band[j, k] = A[j + k, j],    k = 0 … b

and so are the factors of A = L D Lᵀ: D in band[:, 0], L below.  No pivots are sought: A has to be positive definite, or
at least have no leading minor that vanishes (G. H. Golub, C. F. Van Loan, Matrix Computations, 4th ed., section 4.3).
Inner loops run along rows of the stored array, four of them at a time, as in ``kernels/linear.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .compile import kernel
from .entry import entry

if TYPE_CHECKING:
    import scipy.sparse as sparse


def half_bandwidth(matrix: sparse.spmatrix) -> int:
    """Largest distance of an entry from the diagonal."""
    from scipy.sparse import coo_matrix

    found = coo_matrix(matrix)
    return int(np.max(np.abs(found.row - found.col), initial=0))


def banded(matrix: np.ndarray, width: int) -> np.ndarray:
    """A symmetric matrix, dense or sparse, in the layout of this file, (n, width + 1)."""
    n = matrix.shape[0]
    band = np.zeros((n, width + 1))
    for k in range(min(width, n - 1) + 1):
        band[: n - k, k] = matrix.diagonal(-k)
    return band


@kernel
def _below(band, j, last, x):  # type: ignore[no-untyped-def]
    """Σ band[j, k] x[j + k] over k = 1 … last − 1, in four sums that do not wait for each other."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    row, x = band[j], x[j:]
    k = 1
    while k + 4 <= last:
        a += row[k] * x[k]
        b += row[k + 1] * x[k + 1]
        c += row[k + 2] * x[k + 2]
        d += row[k + 3] * x[k + 3]
        k += 4
    while k < last:
        a += row[k] * x[k]
        k += 1
    return (a + b) + (c + d)


@kernel
def _narrow_multiply_add(band, factor, x, y):  # type: ignore[no-untyped-def]
    """The same sums for a diagonal or tridiagonal A, row by row, so that rows do not wait for each other."""
    n, last = band.shape[0], band.shape[0] - 1
    if band.shape[1] == 1:
        for j in range(n):
            y[j] += factor * (band[j, 0] * x[j])
        return
    if last > 0:
        y[0] += factor * (band[0, 0] * x[0] + band[0, 1] * x[1])
    for j in range(1, last):
        y[j] = (y[j] + band[j - 1, 1] * (factor * x[j - 1])) + factor * (band[j, 0] * x[j] + band[j, 1] * x[j + 1])
    if last > 0:
        y[last] += band[last - 1, 1] * (factor * x[last - 1])
    if n > 0:
        y[last] += factor * (band[last, 0] * x[last])


@kernel
def band_multiply_add(band, factor, x, y):  # type: ignore[no-untyped-def]
    """y += factor A x."""
    n, width = band.shape
    if width <= 2:
        _narrow_multiply_add(band, factor, x, y)
        return
    j = 0
    while width > 3 and j + width + 3 <= n:
        a, b, c, d = factor * x[j], factor * x[j + 1], factor * x[j + 2], factor * x[j + 3]
        y[j] += band[j, 0] * a
        y[j + 1] += band[j, 1] * a + band[j + 1, 0] * b
        y[j + 2] += band[j, 2] * a + band[j + 1, 1] * b + band[j + 2, 0] * c
        for k in range(3, width):
            y[j + k] += (band[j, k] * a + band[j + 1, k - 1] * b) + (band[j + 2, k - 2] * c + band[j + 3, k - 3] * d)
        k = width
        y[j + k] += band[j + 1, k - 1] * b + band[j + 2, k - 2] * c + band[j + 3, k - 3] * d
        y[j + k + 1] += band[j + 2, k - 1] * c + band[j + 3, k - 2] * d
        y[j + k + 2] += band[j + 3, k - 1] * d
        for i in range(4):
            y[j + i] += factor * _below(band, j + i, width, x)
        j += 4
    while j < n:
        last = min(width, n - j)
        scaled = factor * x[j]
        for k in range(1, last):
            y[j + k] += band[j, k] * scaled
        y[j] += factor * (band[j, 0] * x[j] + _below(band, j, last, x))
        j += 1


@kernel
def band_factor(band, first=0):  # type: ignore[no-untyped-def]
    """Replace A by its factors, from the column ``first`` on; returns whether all pivots found are positive.

    A column of the factors follows from those before it alone, so that these may stay if A has not changed there.
    Four of them at a time are taken off a column.
    """
    n, width = band.shape
    definite = True
    for j in range(first, n):
        k, last = 1, min(width - 1, j)
        while k + 3 <= last:
            a, b = band[j - k, k] * band[j - k, 0], band[j - k - 1, k + 1] * band[j - k - 1, 0]
            c, d = band[j - k - 2, k + 2] * band[j - k - 2, 0], band[j - k - 3, k + 3] * band[j - k - 3, 0]
            all_four = width - k - 3
            for m in range(all_four):
                band[j, m] -= (a * band[j - k, k + m] + b * band[j - k - 1, k + 1 + m]) + (
                    c * band[j - k - 2, k + 2 + m] + d * band[j - k - 3, k + 3 + m]
                )
            m = all_four
            band[j, m] -= (a * band[j - k, k + m] + b * band[j - k - 1, k + 1 + m]) + c * band[j - k - 2, k + 2 + m]
            band[j, m + 1] -= a * band[j - k, k + m + 1] + b * band[j - k - 1, k + m + 2]
            band[j, m + 2] -= a * band[j - k, k + m + 2]
            k += 4
        while k <= last:
            a = band[j - k, k] * band[j - k, 0]
            for m in range(width - k):
                band[j, m] -= a * band[j - k, k + m]
            k += 1
        if not band[j, 0] > 0.0:
            definite = False
        inverse = 1.0 / band[j, 0]
        for m in range(1, width):
            band[j, m] *= inverse
    return definite


@entry("f8[,]")
def _factor(band):  # type: ignore[no-untyped-def]
    return 1 if band_factor(band) else 0


def factored(matrix: np.ndarray, width: int) -> np.ndarray:
    """Factors of a symmetric matrix, dense or sparse; for Python."""
    band = banded(matrix, width)
    _factor(band)
    return band


@kernel
def _narrow_solve(factors, x):  # type: ignore[no-untyped-def]
    """The same for a diagonal or tridiagonal A; what a row passes to the next one stays in a register."""
    n, width = factors.shape
    if width == 2 and n > 0:
        known = x[0]
        for j in range(1, n):
            known = x[j] - factors[j - 1, 1] * known
            x[j] = known
    for j in range(n):
        x[j] /= factors[j, 0]
    if width == 2 and n > 0:
        known = x[n - 1]
        for j in range(n - 2, -1, -1):
            known = x[j] - factors[j, 1] * known
            x[j] = known


@kernel
def band_solve(factors, x):  # type: ignore[no-untyped-def]
    """x becomes A⁻¹ x, with the factors of A."""
    n, width = factors.shape
    if width <= 2:
        _narrow_solve(factors, x)
        return
    j = 0
    while width > 4 and j + width + 3 <= n:
        a = x[j]
        b = x[j + 1] - factors[j, 1] * a
        c = x[j + 2] - factors[j, 2] * a - factors[j + 1, 1] * b
        d = x[j + 3] - factors[j, 3] * a - factors[j + 1, 2] * b - factors[j + 2, 1] * c
        x[j + 1], x[j + 2], x[j + 3] = b, c, d
        for k in range(4, width):
            x[j + k] -= (factors[j, k] * a + factors[j + 1, k - 1] * b) + (
                factors[j + 2, k - 2] * c + factors[j + 3, k - 3] * d
            )
        k = width
        x[j + k] -= factors[j + 1, k - 1] * b + factors[j + 2, k - 2] * c + factors[j + 3, k - 3] * d
        x[j + k + 1] -= factors[j + 2, k - 1] * c + factors[j + 3, k - 2] * d
        x[j + k + 2] -= factors[j + 3, k - 1] * d
        j += 4
    while j < n:
        known = x[j]
        for k in range(1, min(width, n - j)):
            x[j + k] -= factors[j, k] * known
        j += 1
    for j in range(n):
        x[j] /= factors[j, 0]
    for j in range(n - 1, -1, -1):
        x[j] -= _below(factors, j, min(width, n - j), x)
