"""Poles from free decays (LSCE) and from frequency responses (LSCF)."""

import numpy as np
import pytest

from halfreal.identification.lsce import lsce
from halfreal.identification.lscf import lscf
from halfreal.identification.poles import ModalError, stabilised

HZ, ZETA = np.array([3.6, 11.0, 18.3]), np.array([0.024, 0.039, 0.01])
OMEGA = 2 * np.pi * HZ
POLES = OMEGA * (-ZETA + 1j * np.sqrt(1 - ZETA**2))
SHAPES = np.array([[1.0, 1.0, 1.0], [0.5, -0.3, 0.8]])
DT = 1e-3


def decays(poles=POLES, seconds=4.0, noise=0.0, seed=1):
    time = DT * np.arange(round(seconds / DT))
    motion = np.real(SHAPES[:, : len(poles)] @ np.exp(np.outer(poles, time) + 0.4j))
    return motion + noise * np.random.default_rng(seed).standard_normal(motion.shape)


def test_poles_and_shapes_of_a_sum_of_exponentials_are_found_to_rounding():
    found = lsce(decays(), DT, 3, order=6)
    np.testing.assert_allclose(found.frequency_hz, HZ, rtol=1e-6)
    np.testing.assert_allclose(found.damping, ZETA, rtol=1e-4)
    np.testing.assert_allclose(found.residues[1] / found.residues[0], SHAPES[1], rtol=1e-4)


def test_a_growing_motion_has_negative_damping():
    growing = np.array([POLES[0], 2j * np.pi * 14.8 + 0.7])
    found = lsce(decays(growing), DT, 2, order=4)
    assert found.damping[1] == pytest.approx(-0.7 / abs(growing[1]), rel=1e-4)
    assert found.nearest(15.0) == 1


def test_noise_scatters_what_is_found_by_little():
    """One per cent of noise, twenty records: mean within its scatter, scatter below 2 % of the damping."""
    found = np.array([lsce(decays(noise=0.01, seed=i), DT, 3, highest_hz=30.0).damping for i in range(20)])
    scatter = found.std(axis=0)
    assert np.all(scatter < 0.02 * ZETA)
    assert np.all(np.abs(found.mean(axis=0) - ZETA) < 3 * scatter)


def test_filtering_leaves_poles_as_they_are():
    found = lsce(decays(seconds=6.0), DT, 3, highest_hz=30.0)
    np.testing.assert_allclose(found.poles, POLES, rtol=1e-6)


@pytest.mark.parametrize(
    ("record", "modes", "more", "told"),
    [
        (decays(seconds=0.02), 3, {}, "too short: 20 samples of 1 ms for order 20, which takes at least 40"),
        (decays(POLES[:1], seconds=0.15), 1, {"order": 2}, "hold 0.54 cycle"),
        (decays(noise=3.0), 3, {"highest_hz": 30.0}, "too noisy for 3 mode"),
        (decays(), 3, {"order": 5}, "order 5 for 3 mode"),
        (decays(), 3, {"dt": 0.0}, "sampling step of 0.0 s"),
        (decays(), 3, {"highest_hz": 0.0}, "highest frequency of 0.0 Hz"),
        (decays(), 3, {"highest_hz": np.nan}, "highest frequency of nan Hz"),
        (np.zeros(100), 1, {}, "nothing but zeros"),
        (np.exp(-np.arange(200) / 50.0), 1, {"order": 2}, r"0 oscillation\(s\) found where 1"),
        (decays(seconds=0.3), 1, {"highest_hz": 10.0}, "too short to be filtered at 10 Hz"),
    ],
)
def test_decays_that_cannot_tell_are_refused(record, modes, more, told):
    with pytest.raises(ModalError, match=told):
        lsce(record[0] if record.ndim == 2 and modes == 1 else record, modes=modes, **{"dt": DT, **more})


def test_poles_that_stay_are_kept_and_those_that_wander_are_not():
    orders = [np.array([1j - 0.01, (2.0 + 0.1 * i) * 1j - 0.3 + 0.05 * i]) for i in range(6)]
    np.testing.assert_allclose(stabilised(orders), [1j - 0.01])
    assert stabilised([]).size == 0


# --- frequency responses ----------------------------------------------------------------------------------------------

LINES = np.arange(0.0, 40.01, 0.1)


def responses(noise=0.0, seed=1):
    s = 2j * np.pi * LINES
    modes = 1.0 / (s**2 + 2 * (ZETA * OMEGA)[:, None] * s + OMEGA[:, None] ** 2)
    values = (SHAPES * SHAPES[0]) @ modes
    random = np.random.default_rng(seed)
    return values * (1 + noise * (random.standard_normal(values.shape) + 1j * random.standard_normal(values.shape)))


def band(values, order=15, highest=35.0, lowest=1.0, lines=LINES):
    return lscf(lines, values, lowest_hz=lowest, highest_hz=highest, order=order)


def test_poles_and_shapes_of_responses_are_found():
    found = band(responses())
    np.testing.assert_allclose(found.frequency_hz, HZ, rtol=1e-6)
    np.testing.assert_allclose(found.damping, ZETA, rtol=1e-4)
    np.testing.assert_allclose(found.residues[1] / found.residues[0], SHAPES[1], atol=1e-4)
    assert found.misfit < 1e-5


def test_noisy_responses_give_three_modes_and_no_other():
    found = band(responses(noise=0.01))
    np.testing.assert_allclose(found.frequency_hz, HZ, rtol=1e-3)
    np.testing.assert_allclose(found.damping, ZETA, rtol=0.03)


def test_modes_outside_the_band_are_left_to_the_residual_terms():
    found = band(responses(), highest=14.0, order=10)
    np.testing.assert_allclose(found.frequency_hz, HZ[:2], rtol=2e-3)


@pytest.mark.parametrize(
    ("values", "more", "told"),
    [
        (responses(), {"order": 100}, "341 lines from 1 to 35 Hz for order 100, which takes 400"),
        (responses(), {"order": 4}, "order 4; .* 5 orders or more"),
        (responses(), {"lowest": 0.0}, "a band from 0 Hz; begin at the first line after 0, 0.1 Hz"),
        (responses(), {"lines": LINES + 0.05}, "lines from 0.05 Hz, 0.1 Hz apart, are no multiples"),
        (responses()[:, :-1], {}, "401 lines for responses of shape"),
        (np.where(LINES == 5.0, np.nan, responses()), {}, "not finite"),
        (np.random.default_rng(1).standard_normal((2, LINES.size)) + 0j, {}, "no pole stays where it is"),
    ],
)
def test_responses_that_cannot_tell_are_refused(values, more, told):
    with pytest.raises(ModalError, match=told):
        band(values, **more)
