"""Poles from free decays (LSCE) and from frequency responses (LSCF)."""

import numpy as np
import pytest
from scipy.signal import lfilter

from halfreal.identification.complex_exponential import lsce, lsce_supported
from halfreal.identification.complex_frequency import lscf
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
    np.testing.assert_allclose(found.residues, SHAPES[:, :2] * np.exp(0.4j), rtol=1e-4)
    assert found.nearest(15.0) == 1


def test_noise_scatters_what_is_found_by_little():
    """One per cent of noise, twenty records: mean within its scatter, scatter below 2 % of the damping."""
    found = np.array([lsce(decays(noise=0.01, seed=i), DT, 3, highest_hz=30.0).damping for i in range(20)])
    scatter = found.std(axis=0)
    assert np.all(scatter < 0.02 * ZETA)
    assert np.all(np.abs(found.mean(axis=0) - ZETA) < 3 * scatter)


def any_decays(seed, modes, channels, noise, colour=0.0):
    """Free motions of modes 1 Hz or more apart, 0.5 to 4 % damped, every second one with offsets; 4 s at 1 kHz."""
    random = np.random.default_rng(seed)
    hz = 3.0 + np.cumsum(random.uniform(1.0, 7.0, modes))
    ratios = random.uniform(0.005, 0.04, modes)
    poles = 2 * np.pi * hz * (-ratios + 1j * np.sqrt(1 - ratios**2))
    shapes = random.uniform(0.2, 1.0, (channels, modes)) * np.exp(2j * np.pi * random.random((channels, modes)))
    motion = np.real(shapes @ np.exp(np.outer(poles, DT * np.arange(4000))))
    disturbance = lfilter([1.0], [1.0, -colour], random.standard_normal(motion.shape))
    offsets = (seed % 2) * 2.0 * random.standard_normal((channels, 1))
    return poles, motion + noise * disturbance / disturbance.std() + offsets


@pytest.mark.parametrize(("noise", "colour"), [(0.0, 0.0), (1e-4, 0.0), (0.01, 0.0), (0.01, 0.9), (0.01, 1.0)])
@pytest.mark.parametrize("channels", [1, 3])
def test_modes_that_a_decay_holds_are_found_and_no_others(noise, colour, channels):
    """Any decay, with noise from none to 1 % that is white, low-passed or a random walk, and with offsets."""
    held = 0
    for seed in range(12):
        modes = 1 + seed % 3
        poles, records = any_decays(seed, modes, channels, noise, colour)
        for more in (1, 2):
            with pytest.raises(ModalError, match=f"too noisy for {modes + more} mode.*, or holds fewer: it supports "):
                lsce(records, DT, modes + more, highest_hz=30.0)
        try:
            found = lsce(records, DT, modes, highest_hz=30.0)
        except ModalError:
            continue
        held += bool(np.all(np.abs(found.poles - poles) < 0.02 * np.abs(poles)))
    assert held >= (11 if colour else 12)  # noise of a colour may hide a weak mode


@pytest.mark.parametrize("channels", [1, 3])
def test_what_is_supported_is_told_and_taken(channels):
    """Of five modes asked for, as many as there are: by number and value."""
    for seed in range(6):
        poles, records = any_decays(seed, 2, channels, 1e-3)
        with pytest.raises(ModalError, match=r"it supports 2\. .* times the energy of the noise .* 100 .* ask for 2 "):
            lsce(records, DT, 3, highest_hz=30.0)
        found = lsce_supported(records, DT, 5, highest_hz=30.0)
        np.testing.assert_allclose(found.poles, poles, rtol=2e-3)


@pytest.mark.parametrize("order", [6, 20])
def test_offsets_of_channels_leave_poles_shapes_and_misfit_as_they_are(order):
    """Exactly, even where the order has no root to spare; a channel that does not move at all tells nothing."""
    plain, more = decays(seconds=6.0), np.array([[5.0], [-70.0]])
    expected, found = (lsce(one, DT, 3, order=order) for one in (plain, np.vstack([plain + more, np.full(6000, 3.0)])))
    np.testing.assert_allclose(found.poles, POLES, rtol=1e-5)
    np.testing.assert_allclose(found.residues[:2], expected.residues, atol=1e-4)
    assert found.misfit < 1e-4


def test_noise_alone_holds_no_mode():
    for seed in range(6):
        noise = np.random.default_rng(seed).standard_normal((2, 4000))
        with pytest.raises(ModalError, match=r"too noisy for 1 mode.* it supports 0"):
            lsce(noise, DT, 1, highest_hz=30.0)


def test_fewer_modes_than_a_decay_holds_are_refused_if_they_explain_too_little():
    with pytest.raises(ModalError, match=r"unexplained by 1 mode\(s\), more than 30 %.* request more modes"):
        lsce(decays(), DT, 1, highest_hz=30.0)


@pytest.mark.parametrize("times", [1.05, 1.3, 1.6, 2.0, 2.7])
def test_a_mode_above_the_highest_frequency_is_none_as_it_is_or_folded(times):
    """Thinned out, a mode that the filter does not hold back is a pole of the record, at its frequency or another."""
    poles = 2 * np.pi * np.array([8.0, 10.0 * times]) * (-0.01 + 1j)
    record = decays(poles, seconds=6.0)
    with pytest.raises(ModalError, match=r"it supports 1|1 oscillation\(s\) found up to 10 Hz"):
        lsce(record, DT, 2, highest_hz=10.0)
    np.testing.assert_allclose(lsce(record, DT, 1, highest_hz=10.0).poles, poles[:1], rtol=1e-6)


def test_filtering_leaves_poles_as_they_are():
    found = lsce(decays(seconds=6.0), DT, 3, highest_hz=30.0)
    np.testing.assert_allclose(found.poles, POLES, rtol=1e-6)


@pytest.mark.parametrize(
    ("record", "modes", "more", "told"),
    [
        (decays(seconds=0.02), 3, {}, "too short: 20 samples of 1 ms for order 20, which takes at least 48"),
        (decays(POLES[:1], seconds=0.15), 1, {"order": 2}, "hold 0.54 cycle"),
        (decays(noise=3.0), 3, {"highest_hz": 30.0}, "too noisy for 3 mode"),
        (decays(), 3, {"order": 5}, "order 5 for 3 mode"),
        (decays(), 3, {"dt": 0.0}, "sampling step of 0.0 s"),
        (decays(), 3, {"highest_hz": 0.0}, "highest frequency of 0.0 Hz"),
        (decays(), 3, {"highest_hz": np.nan}, "highest frequency of nan Hz"),
        (np.zeros(100), 1, {}, "not finite, or is constant"),
        (np.full(100, 0.1), 1, {}, "not finite, or is constant"),
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


@pytest.mark.parametrize("scale", [1e-8, 1e-4, 1e4])
def test_units_of_channels_do_not_matter(scale):
    """Two channels with a mode each: neither a mode is lost nor what is left unexplained is told otherwise."""
    random, scales = np.random.default_rng(4), np.array([[1.0], [scale]])
    s = 2j * np.pi * LINES
    values = np.array([1.0 / (s**2 + 2 * 0.02 * omega * s + omega**2) for omega in OMEGA[[0, 2]]])
    noise = random.standard_normal((2, 2, LINES.size))
    values += 0.01 * np.sqrt(np.mean(np.abs(values) ** 2, axis=1, keepdims=True)) * (noise[0] + 1j * noise[1])
    records = decays(POLES[:1]) * [[1.0], [0.0]] + decays(POLES[2:]) * [[0.0], [1.0]]
    records += 0.01 * random.standard_normal(records.shape)
    plain, scaled = (band(one) for one in (values, scales * values))
    np.testing.assert_allclose(scaled.poles, plain.poles, rtol=1e-6)
    assert len(plain.poles) == 2 and scaled.misfit == pytest.approx(plain.misfit, rel=1e-6)
    plain, scaled = (lsce(one, DT, 2, highest_hz=30.0) for one in (records, scales * records))
    assert scaled.misfit == pytest.approx(plain.misfit, rel=1e-6)


@pytest.mark.parametrize("first", [4, 13])
@pytest.mark.parametrize("rounding", [-1e-12, 1e-12])
def test_rounding_of_the_lines_does_not_move_poles(first, rounding):
    """A line missed or counted twice below the first one given moves every pole by one, here 0.1 Hz."""
    hz = LINES[first:] * (1 + rounding * np.arange(LINES.size - first)[::-1])
    np.testing.assert_allclose(band(responses()[:, first:], lowest=2.0, lines=hz).frequency_hz, HZ, rtol=1e-4)


def test_modes_outside_the_band_are_left_to_the_residual_terms():
    found = band(responses(), highest=14.0, order=10)
    np.testing.assert_allclose(found.frequency_hz, HZ[:2], rtol=2e-3)


@pytest.mark.parametrize(
    ("values", "more", "told"),
    [
        (responses(), {"order": 100}, "341 lines from 1 to 35 Hz for order 100, which takes 400"),
        (responses(), {"order": 4}, "order 4; .* 5 orders or more"),
        (responses(), {"lowest": 0.0}, "a band from 0 Hz; begin at the first line after 0, 0.1 Hz"),
        (responses(), {"lines": LINES + 0.05}, "lines from 0.05 Hz, 0.1 Hz apart, are not multiples"),
        (responses()[:, :-1], {}, "401 lines for responses of shape"),
        (np.where(LINES == 5.0, np.nan, responses()), {}, "not finite"),
        (np.random.default_rng(1).standard_normal((2, LINES.size)) + 0j, {}, "no pole is stable"),
    ],
)
def test_responses_that_cannot_tell_are_refused(values, more, told):
    with pytest.raises(ModalError, match=told):
        band(values, **more)
