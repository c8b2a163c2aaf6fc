"""Shares of limits with other noise, and the probability of a trip."""

import numpy as np
import pytest
from scipy.stats import gumbel_r

from halfreal.runs.peaks import LARGEST, MOST, collected, peaks_of, probability, rehearsed
from runs.noisy import near_its_limit


@pytest.mark.parametrize("chance", [0.8, 0.3, 0.02])
def test_the_probability_is_that_of_a_distribution_of_extreme_values(chance):
    """Of many samples of 16, drawn from such a distribution, against its own."""
    drawn = gumbel_r(1.0, 0.05).rvs((400, MOST), random_state=np.random.default_rng(1))
    found = [probability(one, gumbel_r(1.0, 0.05).isf(chance)) for one in drawn]
    assert np.mean(found) == pytest.approx(chance, rel=0.25)


def test_peaks_that_do_not_vary_and_those_without_end():
    assert probability(np.full(4, 0.99), 1.0) == 0.0 and probability(np.full(4, 1.01), 1.0) == 1.0
    assert probability(np.array([0.5, np.inf, np.nan, 0.6]), 1.0) > 0.3
    assert probability(np.array([0.5]), LARGEST) == 0.0


def test_the_estimate_agrees_with_many_seeds():
    """60 further seeds, none of them among those of the estimate: within three of its standard deviations."""
    test = near_its_limit()
    found, ticks = peaks_of(test), test.timing.ticks
    assert found is not None and found.count == MOST
    seeds = [test.unchecked_copy({"timing": test.timing.unchecked_copy({"seed": seed})}) for seed in range(100, 160)]
    worst = collected(test, [rehearsed(one, ticks) for one in seeds]).worst
    for quantile in (0.3, 0.6):
        bound = float(np.quantile(worst, quantile))
        assert found.trips(bound) == pytest.approx(1.0 - quantile, abs=0.3)


def test_far_from_its_limits_a_test_is_rehearsed_four_times_and_without_noise_not_at_all():
    found = peaks_of(near_its_limit(noise=0.3))
    assert found is not None and found.count == 4 and found.trips() < 1e-4
    assert peaks_of(near_its_limit(noise=0.0)) is None
