"""Slopes of code that can only be run: right whatever the scale, and told where there is none."""

import numpy as np
import pytest

from halfreal.stability.slopes import slopes_along


def taken(function, size=1e-8):
    with np.errstate(all="ignore"):
        found = slopes_along(lambda _, by: np.array([[float(function(h))] for h in by]), np.array([size]), 1)
    return found.values[0, 0], bool(found.without[0, 0])


def power(exponent):
    return lambda v: np.sign(v) * abs(v) ** exponent


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: 3.0 * x, 3.0),
        (lambda x: np.arcsin(1e9 * x), 1e9),  # not finite at the first size
        (lambda x: np.tanh(1e10 * x), 1e10),
        (lambda x: np.clip(1e12 * x, -1.0, 1.0), 1e12),
        (lambda x: x * abs(x), 0.0),
        (lambda x: abs(x), 0.0),
        (power(1.5), 0.0),
        (lambda x: 5.0 + 2.0 * x, 2.0),
        (lambda x: 1e3 * np.sin(x) + 1e-3 * x**3, 1e3),
    ],
)
def test_slope_is_found_at_whatever_size_it_takes(function, expected):
    value, without = taken(function)
    assert not without
    assert value == pytest.approx(expected, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(
    ("exponent", "stiffness"),
    [(0.0, 0.0), (0.0, 1e3), (0.2, 1e3), (0.4, 0.0), (0.4, 1e3), (0.8, 1e3), (0.95, 0.0), (1.05, 0.0)],
)
def test_power_of_the_velocity_has_no_slope_at_rest(exponent, stiffness):
    law = power(exponent)
    assert taken(lambda v: 100.0 * law(v) + stiffness * v)[1]


def test_what_is_never_finite_has_no_number():
    value, without = taken(lambda x: np.nan)
    assert np.isnan(value) and not without


def test_rounding_of_a_large_value_is_no_jump():
    """Digits of 1 + x are lost below 10⁻¹⁶: what is left of differences there looks like steps."""
    value, without = taken(lambda x: ((1.0 + x) - 1.0) * 1e-3)
    assert not without and value == pytest.approx(1e-3, rel=1e-6)


def test_entries_that_are_looked_at_together_are_those_looked_at_alone():
    """Of every sort: linear, with a limit, a power, out of the code's domain, rounding."""
    functions = (
        lambda x: 3.0 * x,
        lambda x: np.tanh(1e10 * x),
        lambda x: np.arcsin(1e9 * x),
        power(0.4),
        power(1.3),
        lambda x: x + 1e-12 * np.sin(1e30 * x),
        lambda x: np.nan,
    )
    count = len(functions)
    with np.errstate(all="ignore"):
        every = slopes_along(
            lambda _, by: np.array([[one(h) for one in functions] for h in by]), np.array([1e-8]), count
        )
        along = slopes_along(
            lambda which, by: np.array([[functions[i](h)] for i, h in zip(which, by, strict=True)]),
            np.full(count, 1e-8),
            1,
        )
    alone = [taken(one) for one in functions]
    for found in (every.values[0], along.values[:, 0]):
        np.testing.assert_array_equal(found, [value for value, _ in alone])
    for found in (every.without[0], along.without[:, 0]):
        np.testing.assert_array_equal(found, [without for _, without in alone])
