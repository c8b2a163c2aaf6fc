"""The root between two points, against SciPy's and closed forms."""

import math

import pytest
from scipy.optimize import brentq

from halfreal.stability.bracket import EPSILON, root_between

FUNCTIONS = [
    (math.cos, 0.0, 3.0, math.pi / 2),
    (lambda x: x**3 - 2.0, 0.0, 1e3, 2.0 ** (1 / 3)),
    (lambda x: x**9, -1.0, 4.0, 0.0),
    (lambda x: math.log(x) + 40.0, 1e-30, 1e5, math.exp(-40.0)),
    (lambda x: -1.0 if x < 1 / 3 else 1.0, 0.0, 1.0, 1 / 3),
    (lambda x: math.atan(1e6 * (x - 7.0)), -1e3, 1e4, 7.0),
]


@pytest.mark.parametrize(("function", "low", "high", "root"), FUNCTIONS)
def test_the_root_is_found_as_scipy_finds_it(function, low, high, root):
    found = root_between(function, low, high)
    assert found == pytest.approx(root, rel=8 * EPSILON, abs=1e-30)
    there = brentq(function, low, high, xtol=1e-300, rtol=4 * EPSILON, maxiter=500)
    assert found == pytest.approx(there, rel=16 * EPSILON, abs=1e-30)


def test_an_end_may_be_the_root_and_one_sign_is_refused():
    assert root_between(lambda x: x, 0.0, 1.0) == 0.0
    assert root_between(lambda x: x - 1.0, 0.0, 1.0) == 1.0
    with pytest.raises(ValueError, match="one sign at both ends"):
        root_between(lambda x: 1.0, 0.0, 1.0)
