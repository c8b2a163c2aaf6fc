"""Matrix–vector products for blocks: no allocation, inner loops over contiguous memory.

Convention: a block stores a matrix A **transposed**, as ``stored[j, i] = A[i, j]`` (``stored(A)`` makes it).  The
product is then formed column by column, y += A[:, j] x_j, four columns at a time, and the inner loop runs along rows of
the stored array.  Such a loop has no running sum, so that the compiler vectorises it without reordering any
floating-point addition.  Where there is nothing to vectorise, up to ``FEW`` rows, each is summed in a register instead,
in the same order.

Vectors must not overlap in memory.
"""

from __future__ import annotations

import numpy as np

from .compile import kernel

FEW = 4


def stored(matrix: np.ndarray) -> np.ndarray:
    """A matrix in the layout that the kernels of this file expect: its transpose, contiguous."""
    return np.ascontiguousarray(np.asarray(matrix, dtype=np.float64).T)


@kernel
def multiply_add(a, x, y):  # type: ignore[no-untyped-def]
    """y += A x."""
    if y.shape[0] <= FEW:
        for i in range(y.shape[0]):
            total = y[i]
            for j in range(x.shape[0]):
                total += a[j, i] * x[j]
            y[i] = total
        return
    j = 0
    while j + 4 <= x.shape[0]:
        first, second, third, fourth = x[j], x[j + 1], x[j + 2], x[j + 3]
        for i in range(y.shape[0]):
            y[i] = y[i] + a[j, i] * first + a[j + 1, i] * second + a[j + 2, i] * third + a[j + 3, i] * fourth
        j += 4
    while j < x.shape[0]:
        factor = x[j]
        for i in range(y.shape[0]):
            y[i] += a[j, i] * factor
        j += 1


@kernel
def multiply_subtract(a, x, y):  # type: ignore[no-untyped-def]
    """y −= A x."""
    if y.shape[0] <= FEW:
        for i in range(y.shape[0]):
            total = y[i]
            for j in range(x.shape[0]):
                total -= a[j, i] * x[j]
            y[i] = total
        return
    j = 0
    while j + 4 <= x.shape[0]:
        first, second, third, fourth = x[j], x[j + 1], x[j + 2], x[j + 3]
        for i in range(y.shape[0]):
            y[i] = y[i] - a[j, i] * first - a[j + 1, i] * second - a[j + 2, i] * third - a[j + 3, i] * fourth
        j += 4
    while j < x.shape[0]:
        factor = x[j]
        for i in range(y.shape[0]):
            y[i] -= a[j, i] * factor
        j += 1


@kernel
def set_to(value, y):  # type: ignore[no-untyped-def]
    """Every entry of y becomes ``value``."""
    for i in range(y.shape[0]):
        y[i] = value


@kernel
def copy_to(x, y):  # type: ignore[no-untyped-def]
    """y = x."""
    for i in range(y.shape[0]):
        y[i] = x[i]


@kernel
def dot(a, x):  # type: ignore[no-untyped-def]
    """aᵀx."""
    total = 0.0
    for i in range(x.shape[0]):
        total += a[i] * x[i]
    return total


@kernel
def three_products(a, x, b, v, c, w, y):  # type: ignore[no-untyped-def]
    """y = A x + B v + C w."""
    set_to(0.0, y)
    multiply_add(a, x, y)
    multiply_add(b, v, y)
    multiply_add(c, w, y)


@kernel
def solve_in_place(a, x):  # type: ignore[no-untyped-def]
    """x becomes A⁻¹ x, by elimination with the largest pivots; A, not transposed, is used up."""
    n = x.shape[0]
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[pivot, k]):
                pivot = i
        if pivot != k:
            x[k], x[pivot] = x[pivot], x[k]
            for j in range(k, n):
                a[k, j], a[pivot, j] = a[pivot, j], a[k, j]
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            x[i] -= factor * x[k]
            for j in range(k, n):
                a[i, j] -= factor * a[k, j]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            x[k] -= a[k, j] * x[j]
        x[k] /= a[k, k]
