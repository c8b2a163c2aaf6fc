"""Delays over time, of signals whose delay is known."""

import numpy as np
import pytest

from halfreal.errors import HalfrealError
from halfreal.identification.delay_tracking import track_delay

DT = 1e-3
T = np.arange(40_000) * DT


def signal(t):
    return np.sin(7.0 * t) + 0.5 * np.sin(23.0 * t + 1.0)


def test_a_delay_that_wanders_is_followed():
    delay = 0.010 + 0.004 * np.sin(0.2 * T)
    found = track_delay(signal(T), 0.9 * signal(T - delay), DT, window=0.5, longest=0.05)
    # over a window it moves by up to ± 0.2 ms
    np.testing.assert_allclose(found.delay, np.interp(found.time, T, delay), atol=1e-4)
    np.testing.assert_allclose(found.amplitude, 0.9, rtol=0.2e-3 * 23.0)


@pytest.mark.parametrize("delay", [-0.0123, 0.0, 0.00941, 0.03])
def test_any_part_of_a_sample_is_found_and_leads_are_negative(delay):
    found = track_delay(signal(T), signal(T - delay), DT, window=2.0, longest=0.05)
    np.testing.assert_allclose(found.delay, delay, atol=1e-6)


def test_quiet_and_unrelated_windows_tell_nothing():
    x = np.where(T < 20.0, signal(T), 0.0)
    y = np.where(T < 10.0, signal(T - 0.01), np.random.default_rng(1).normal(size=T.size))
    found = track_delay(x, y, DT, window=1.0, longest=0.05)
    assert np.all(np.isfinite(found.delay[found.time < 9.0]))
    assert np.all(np.isnan(found.delay[found.time > 11.5]))
    assert "10 ms" in found.summary()


def test_a_record_that_is_too_short_is_refused():
    with pytest.raises(HalfrealError, match="100 samples do not hold a window of 1 s"):
        track_delay(T[:100], T[:100], DT, window=1.0, longest=0.05)
    with pytest.raises(HalfrealError, match="sample 2 of the output is nan; remove gaps"):
        track_delay(T, np.where(T == DT, np.nan, T), DT, window=1.0, longest=0.05)
