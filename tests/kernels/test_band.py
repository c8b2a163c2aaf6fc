"""Banded products and solutions against dense ones."""

import numpy as np
import pytest

from halfreal.kernels.band import band_factor, band_multiply_add, band_solve, banded

SIZES = [(1, 0), (3, 5), (9, 0), (12, 1), (13, 2), (14, 3), (15, 4), (17, 5), (30, 7), (25, 24)]


@pytest.mark.parametrize(("n", "width"), SIZES)
def test_band_is_as_dense(n, width):
    random = np.random.default_rng(n + width)
    matrix = np.tril(np.triu(random.standard_normal((n, n)), -width))
    matrix = matrix + matrix.T
    matrix += np.diag(np.abs(matrix).sum(axis=1) + 1.0)  # positive definite
    x = random.standard_normal(n)
    band = banded(matrix, width)
    y = np.ones(n)
    band_multiply_add(band, 0.5, x, y)
    np.testing.assert_allclose(y, 1.0 + 0.5 * matrix @ x, rtol=1e-13)
    assert band_factor(band)
    found = x.copy()
    band_solve(band, found)
    np.testing.assert_allclose(found, np.linalg.solve(matrix, x), rtol=1e-11)


@pytest.mark.parametrize("first", [0, 1, 11, 29])
def test_factors_may_be_renewed_from_the_first_changed_column_on(first):
    width, n = 6, 30
    matrix = np.tril(np.triu(np.random.default_rng(2).standard_normal((n, n)), -width))
    matrix = matrix + matrix.T + 40.0 * np.eye(n)
    factors = banded(matrix, width)
    band_factor(factors)
    matrix[first:, first:] *= 1.5
    factors[first:] = banded(matrix, width)[first:]
    assert band_factor(factors, first)
    wanted = banded(matrix, width)
    band_factor(wanted)
    np.testing.assert_allclose(factors, wanted, rtol=1e-12, atol=1e-15)


def test_a_pivot_that_is_not_positive_is_told():
    assert not band_factor(banded(np.array([[1.0, 2.0], [2.0, 1.0]]), 1))
