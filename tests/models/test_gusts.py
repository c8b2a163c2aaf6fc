"""Gust trains, stepped sines and random excitation, against their formulas."""

import numpy as np
import pytest

from halfreal.kernels.loop import Loop
from halfreal.models.excitations import Gust, Random, SteppedSine


def values(excitation, seconds=6.0, dt=1e-3):
    log = Loop([excitation.block("e")], dt=dt).run(round(seconds / dt), record=["e", "e.rate"]).log
    return log.T


def test_a_gust_train_is_half_of_one_minus_a_cosine():
    t, e, _ = values(Gust(force=20.0, frequencies=[2.0]))
    np.testing.assert_allclose(e, 10.0 * (1.0 - np.cos(4.0 * np.pi * t)), atol=1e-10)


def test_a_single_gust_ends_after_one_period():
    t, e, _ = values(Gust(force=20.0, frequencies=[2.0], gusts=1))
    assert e.max() == pytest.approx(20.0, rel=1e-9)
    assert np.abs(e[t > 0.5005]).max() == 0.0


@pytest.mark.parametrize("kind", [Gust, SteppedSine])
def test_steps_go_on_without_a_jump_and_rates_are_derivatives(kind):
    t, e, rate = values(kind(force=3.0, frequencies=[1.3, 2.7], dwell=2.0, ramp=1.0))
    assert np.abs(np.diff(e)).max() < 3.0 * 2 * np.pi * 2.7 * 1e-3 * 1.1
    smooth = (t[1:-1] % 2.0 > 2e-3) & (t[1:-1] % 2.0 < 1.998) & (np.abs(t[1:-1] - 1.0) > 2e-3)
    bound = 3.0 * (2 * np.pi * 2.7) ** 3 * 1e-6 / 6  # of a central difference
    np.testing.assert_allclose(((e[2:] - e[:-2]) / 2e-3)[smooth], rate[1:-1][smooth], atol=1.01 * bound)
    late = t > 4.0
    wave = 3.0 * np.sin(2 * np.pi * (1.3 * 2.0 + 2.7 * (t - 2.0)))
    if kind is SteppedSine:
        np.testing.assert_allclose(e[late], wave[late], atol=1e-9)


def test_random_noise_has_its_rms_stays_in_its_band_and_repeats():
    t, e, _ = values(Random(displacement=2e-3, frequency=1.0, to=10.0, period=2.0, seed=3))
    period = np.round(t / 1e-3).astype(int) % 2000
    np.testing.assert_allclose(e[4000:6000], e[:2000], atol=1e-12)
    assert period.max() == 1999
    spectrum = np.abs(np.fft.rfft(e[:2000])) / 1000
    hz = np.fft.rfftfreq(2000, 1e-3)
    assert np.std(e[:2000]) == pytest.approx(2e-3, rel=1e-9)
    assert spectrum[(hz < 0.9) | (hz > 10.1)].max() < 1e-15


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Gust(force=1.0, frequencies=[1.0, 2.0]), "without a dwell"),
        (lambda: Random(force=1.0, frequency=5.0, to=4.0, period=1.0), "0 lines"),
    ],
)
def test_what_is_not_whole_is_refused(make, told):
    with pytest.raises(ValueError, match=told):
        make()


@pytest.mark.parametrize("force", [20.0, -20.0])
def test_what_is_left_out_after_the_last_gust_is_zero_with_the_sign_of_its_formula(force):
    t, e, rate = values(Gust(force=force, frequencies=[2.0], gusts=1), seconds=1.0)
    after, phase = t > 0.5005, 4.0 * np.pi * t
    expected = force * 0.0 * 0.5 * (1.0 - np.cos(phase))
    np.testing.assert_array_equal(np.signbit(e[after]), np.signbit(expected[after]))
    expected = force * (0.0 * 0.5 * (1.0 - np.cos(phase)) + 0.0 * 2.0 * np.pi * np.sin(phase))
    np.testing.assert_array_equal(np.signbit(rate[after]), np.signbit(expected[after]))
