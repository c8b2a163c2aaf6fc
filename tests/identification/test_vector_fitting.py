"""Rational fits: exact on rational data, stable on noise, and with the delay apart."""

import numpy as np
import pytest

from halfreal.errors import HalfrealError
from halfreal.identification.vector_fitting import vector_fit

POLES = np.array([-5 + 90j, -5 - 90j, -3 + 40j, -3 - 40j, -60.0])
RESIDUES = np.array([-10 + 30j, -10 - 30j, 20 + 5j, 20 - 5j, 50.0])
HZ = np.linspace(0.5, 30.0, 150)
OMEGA = 2 * np.pi * HZ


def response(delay=0.0):
    s = 1j * OMEGA
    return ((RESIDUES / (s[:, None] - POLES)).sum(axis=1) + 0.3) * np.exp(-s * delay)


def test_a_rational_response_is_found_exactly():
    found = vector_fit(HZ, response(), 5)
    order, wanted = np.argsort(found.poles), np.argsort(POLES)
    np.testing.assert_allclose(found.poles[order], POLES[wanted], rtol=1e-9)
    np.testing.assert_allclose(found.residues[order], RESIDUES[wanted], rtol=1e-8)
    assert found.constant == pytest.approx(0.3, rel=1e-9)
    assert found.error < 1e-12


def test_a_delay_is_told_from_the_poles():
    found = vector_fit(HZ, response(0.0123), 5, longest_delay=0.05)
    assert found.delay == pytest.approx(0.0123, rel=1e-6)
    np.testing.assert_allclose(np.sort(found.poles), np.sort(POLES), rtol=1e-5)
    assert vector_fit(HZ, response(0.0123), 5).error > 0.01


def test_its_models_are_the_same():
    found = vector_fit(HZ, response(0.0123), 5, longest_delay=0.05)
    late = np.exp(-1j * OMEGA * found.delay)
    np.testing.assert_allclose(found.state_space().response(OMEGA)[:, 0, 0] * late, found.response(OMEGA), rtol=1e-9)
    np.testing.assert_allclose(found.ratio().response(OMEGA), found.response(OMEGA), rtol=1e-8)


def test_poles_are_stable_whatever_the_noise():
    rng = np.random.default_rng(0)
    for _ in range(20):
        noise = rng.normal(size=HZ.size) + 1j * rng.normal(size=HZ.size)
        found = vector_fit(HZ, response() * (1.0 + 0.3 * noise), 8)
        assert np.all(found.poles.real < 0.0)


def test_an_improper_response_has_its_slope():
    s = 1j * OMEGA
    found = vector_fit(HZ, 5.0 / (s + 20.0) + 0.5 + 0.01 * s, 1, slope=True)
    assert (found.slope, found.constant, found.poles[0].real) == pytest.approx((0.01, 0.5, -20.0), rel=1e-6)
    with pytest.raises(HalfrealError, match="slope=False"):
        found.state_space()


@pytest.mark.parametrize(
    ("lines", "poles", "told"), [(6, 5, "6 lines are too few for 5 poles.*at least 11 lines"), (50, -1, "at least 1")]
)
def test_too_little_data_are_refused(lines, poles, told):
    with pytest.raises(HalfrealError, match=told):
        vector_fit(HZ[:lines], response()[:lines], poles)
