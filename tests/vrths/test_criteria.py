import numpy as np
import pytest

from halfreal.vrths.criteria import criteria

STEP = 1 / 4096
T = np.arange(40960) * STEP
OMEGA = 2 * np.pi * 2.0


def floors(*sizes):
    return np.outer(np.sin(OMEGA * T), sizes)


def test_a_late_sine_scores_its_lag_and_the_chord_of_its_angle():
    lag = 20
    measured = np.sin(OMEGA * (T - lag * STEP))
    found = criteria(measured, floors(1, 2, 3), floors(1, 2, 3), STEP)
    chord = 200.0 * np.sin(0.5 * OMEGA * lag * STEP)
    assert found[0] == pytest.approx(1e3 * lag * STEP)
    np.testing.assert_allclose(found[1:5], chord, rtol=1e-3)
    np.testing.assert_allclose(found[5:], 0.0, atol=1e-12)


def test_every_criterion_looks_at_its_own_floor():
    """Sizes that differ from the reference by another part on each floor."""
    found = criteria(1.3 * floors(1)[:, 0], floors(1.1, 2.4, 3.9), floors(1, 2, 3), STEP)
    tracking = 100 * 0.2 / 1.1
    np.testing.assert_allclose(found, [0, tracking, tracking, 30, 30, 20, 30, 20, 30], rtol=1e-9)


def test_a_peak_is_told_from_a_mean():
    measured = floors(1)[:, 0].copy()
    measured[1000] += 0.5
    found = criteria(measured, floors(1, 2, 3), floors(1, 2, 3), STEP)
    np.testing.assert_allclose(found[[2, 4]], 50.0, rtol=1e-6)
    np.testing.assert_allclose(found[[1, 3]], 100 * 0.5 / np.sqrt(len(T)) * np.sqrt(2), rtol=1e-3)


def test_the_lag_is_the_one_numpys_correlation_finds():
    rng = np.random.default_rng(3)
    target = np.convolve(rng.normal(size=5000), np.ones(40) / 40, "same")
    measured = 0.3 + np.roll(target, 17) + 0.2 * rng.normal(size=5000)
    lags = [np.corrcoef(measured[k:], target[: 5000 - k])[0, 1] for k in range(50)]
    found = criteria(measured, np.column_stack([target] * 3), np.column_stack([target] * 3), STEP)
    assert found[0] == pytest.approx(1e3 * STEP * np.argmax(lags))


def test_arrays_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="one row for each sample"):
        criteria(T[:-1], floors(1, 2, 3), floors(1, 2, 3), STEP)
    with pytest.raises(ValueError, match="give a longer record"):
        criteria(T[:40], floors(1, 2, 3)[:40], floors(1, 2, 3)[:40], STEP)
