"""Inverse filters from fitted responses."""

import numpy as np
import pytest

from halfreal.couplings.axis_filters import AxisFilters
from halfreal.errors import HalfrealError
from halfreal.identification.feed_forward import delay_from_phase, inverse_filter
from halfreal.identification.vector_fitting import RationalFit, vector_fit

HZ = np.linspace(0.5, 60.0, 120)
S = 2j * np.pi * HZ
DELAY = 2e-3


def follower():
    """A second-order follower of 25 Hz, 60 %, with a lag of 80 Hz behind it and a delay."""
    omega, corner = 2 * np.pi * 25.0, 2 * np.pi * 80.0
    return np.exp(-S * DELAY) * omega**2 / (S**2 + 1.2 * omega * S + omega**2) / (1 + S / corner)


def test_delay_of_a_delay_is_itself():
    assert delay_from_phase(HZ, 0.7 * np.exp(-S * 9e-3)) == pytest.approx(9e-3)
    assert delay_from_phase(HZ[:4], np.exp(-S[:4] * 50e-3)) == pytest.approx(50e-3)
    assert delay_from_phase(HZ[60:], np.exp(-S[60:] * 50e-3)) == pytest.approx(50e-3)  # 1.5 turns at the first line


@pytest.mark.parametrize(
    ("lines", "values", "told"),
    [(HZ, -np.exp(-S * 9e-3), "turns past the origin"), (HZ[:1], np.ones(1), r"at 1 line\(s\)")],
)
def test_a_phase_that_is_no_delays_is_refused(lines, values, told):
    with pytest.raises(HalfrealError, match=told):
        delay_from_phase(lines, values)


def test_inverse_leaves_the_delay_and_that_of_the_low_pass():
    fit = vector_fit(HZ, follower(), 3, constant=False, longest_delay=5e-3)
    assert fit.delay == pytest.approx(DELAY, abs=1e-6)
    filters = inverse_filter(fit, 60.0, 100.0)
    coupling = AxisFilters(kind="feed-forward filters", filters=(filters,))
    through = coupling.response(0, 1e-5, HZ) * follower()
    cut = 2 * np.pi * 100.0
    low_pass = 1.0 / ((1 + S / cut) * (1 + S / cut + (S / cut) ** 2))  # Butterworth's third
    np.testing.assert_allclose(through, np.exp(-S * DELAY) * low_pass, rtol=1e-3)
    in_band = HZ <= 30.0
    left = delay_from_phase(HZ[in_band], through[in_band])
    assert left == pytest.approx(DELAY + 2 / cut, rel=0.05)
    assert delay_from_phase(HZ[in_band], follower()[in_band]) > 1.8 * left
    assert np.abs(np.abs(through[in_band]) - 1).max() < 1e-3


def test_a_zero_in_the_right_half_plane_within_the_band_is_refused():
    """(1 − s/100)/((1 + s/200)(1 + s/300))."""
    poles = np.array([-200.0, -300.0], dtype=complex)
    residues = np.array([1 + 200 / 100, 1 + 300 / 100]) * 200 * 300 / np.array([100.0, -100.0])
    with pytest.raises(HalfrealError, match="a zero at 100 ± 0i rad/s in the right half plane"):
        inverse_filter(RationalFit(poles, residues.astype(complex), 0.0, 0.0, 0.0, 0.0), 60.0, 100.0)


def test_a_zero_in_the_right_half_plane_far_above_the_band_is_left_out():
    poles = np.array([-200.0, -300.0], dtype=complex)
    residues = np.array([1 + 200 / 5000, 1 + 300 / 5000]) * 200 * 300 / np.array([100.0, -100.0])
    (section,) = inverse_filter(RationalFit(poles, residues.astype(complex), 0.0, 0.0, 0.0, 0.0), 60.0, 100.0)
    numerator, denominator = section.ratio()
    assert numerator[-1] / denominator[-1] == pytest.approx(1.0)
    np.testing.assert_allclose(np.sort(np.roots(numerator)), [-300.0, -200.0])


def test_a_fit_that_turns_the_motion_round_is_refused():
    fit = RationalFit(np.array([-200.0 + 0j]), np.array([-200.0 + 0j]), 0.0, 0.0, 0.0, 0.0)
    with pytest.raises(HalfrealError, match="gain of -1 at zero frequency"):
        inverse_filter(fit, 60.0, 100.0)
