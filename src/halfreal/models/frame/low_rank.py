"""Matrices that are a banded one and a sum over few modes: damping in modes couples all degrees of freedom of a frame.

    A = B + c Σ_k r_k w_k w_kᵀ,    A⁻¹ x = B⁻¹x − S (1/(c r) + Wᵀ S)⁻¹ Wᵀ B⁻¹x,    S = B⁻¹ W

(M. A. Woodbury's formula; G. H. Golub, C. F. Van Loan, Matrix Computations, 4th ed., section 2.1.4).  A product or a
solution costs as many products of vectors as there are modes; what factors of B need in addition, two for each.
"""

from __future__ import annotations

import numpy as np

from ...kernels.band import band_factor, band_solve
from ...kernels.compile import kernel
from ...kernels.entry import entry
from ...kernels.linear import copy_to


@kernel
def add_modes(modes, rates, factor, x, y):  # type: ignore[no-untyped-def]
    """y += c Σ r_k w_k (w_kᵀ x)."""
    for k in range(modes.shape[0]):
        total = 0.0
        for i in range(x.shape[0]):
            total += modes[k, i] * x[i]
        total *= factor * rates[k]
        for i in range(x.shape[0]):
            y[i] += total * modes[k, i]


@kernel
def prepare_modes(factors, modes, rates, factor, solved, small):  # type: ignore[no-untyped-def]
    """S and the factors of 1/(c r) + WᵀS, from the factors of B."""
    count, n = modes.shape
    for k in range(count):
        copy_to(modes[k], solved[k])
        band_solve(factors, solved[k])
    for k in range(count):
        for m in range(k, count):
            total = 0.0
            for i in range(n):
                total += modes[m, i] * solved[k, i]
            small[k, m - k] = total
        small[k, 0] += 1.0 / (factor * rates[k])
    band_factor(small)


@kernel
def solve_with_modes(factors, modes, solved, small, x, work):  # type: ignore[no-untyped-def]
    """x becomes A⁻¹x, with the factors of B."""
    band_solve(factors, x)
    count, n = modes.shape
    for k in range(count):
        work[k] = 0.0
        for i in range(n):
            work[k] += modes[k, i] * x[i]
    band_solve(small, work)
    for k in range(count):
        for i in range(n):
            x[i] -= work[k] * solved[k, i]


@entry("f8[,]", "f8[,]", "f8[]", "f8", "f8[,]", "f8[,]")
def _prepare(factors, modes, rates, factor, solved, small):  # type: ignore[no-untyped-def]
    prepare_modes(factors, modes, rates, factor, solved, small)
    return 0


def prepared(factors: np.ndarray, modes: np.ndarray, rates: np.ndarray, factor: float) -> tuple[np.ndarray, np.ndarray]:
    """S (k, n) and factors (k, k), for schemes whose matrices are constant."""
    solved, small = np.zeros_like(modes), np.zeros((len(modes), len(modes)))
    _prepare(factors, modes, rates, factor, solved, small)
    return solved, small
