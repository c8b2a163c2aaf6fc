"""Products four columns at a time, against sums in their plain order: the same to the bit."""

import numpy as np
import pytest

from halfreal.kernels.linear import FEW, multiply_add, multiply_subtract, stored


@pytest.mark.parametrize("rows", [1, FEW, FEW + 1, 11])
@pytest.mark.parametrize("columns", [0, 3, 4, 10])
def test_products_equal_plain_sums_to_the_bit(rows, columns):
    rng = np.random.default_rng(5)
    a, x, y = rng.standard_normal((rows, columns)), rng.standard_normal(columns), rng.standard_normal(rows)
    for product, sign in ((multiply_add, 1.0), (multiply_subtract, -1.0)):
        found, plain = y.copy(), y.copy()
        product(stored(a), x, found)
        for j in range(columns):
            plain += sign * (a[:, j] * x[j])
        np.testing.assert_array_equal(found, plain)
