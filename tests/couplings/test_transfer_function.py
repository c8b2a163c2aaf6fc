"""Sections in discrete form, against Tustin's rule in closed form and scipy.signal."""

import numpy as np
import pytest
import scipy.signal

from halfreal.couplings.transfer_function import Polynomials, tustin

DT = 1e-3


@pytest.mark.parametrize("poles", [1, 2, 3, 5])
def test_the_response_is_that_of_the_mapped_frequency(poles):
    rng = np.random.default_rng(poles)
    z = np.exp(1j * np.array([0.01, 0.1, 0.5, 1.0, 2.0, 3.0]))
    s = 2.0 / DT * (z - 1.0) / (z + 1.0)
    for zeros in range(poles + 1):
        numerator, denominator = (np.atleast_1d(np.poly(-rng.uniform(10.0, 2e3, n))) for n in (zeros, poles))
        a, b, c, d = tustin((Polynomials(numerator=numerator, denominator=3.0 * denominator),), DT)
        found = [(c @ np.linalg.solve(one * np.eye(poles) - a, b) + d)[0, 0] for one in z]
        np.testing.assert_allclose(found, np.polyval(numerator, s) / np.polyval(3.0 * denominator, s), rtol=1e-9)


def test_the_state_space_is_scipys():
    numerator, denominator = [1.0, 0.2], [2.0, 0.7, 0.3, 0.1]
    theirs = scipy.signal.cont2discrete(scipy.signal.tf2ss(numerator, denominator), 1.0, "bilinear")
    ours = tustin((Polynomials(numerator=numerator, denominator=denominator),), 1.0)
    for one, other in zip(ours, theirs, strict=False):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-15)
