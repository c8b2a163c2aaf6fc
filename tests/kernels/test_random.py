import numpy as np
from scipy import stats

from halfreal.kernels.random import normal


def deviates(seed: int, stream: int, count: int) -> np.ndarray:
    return np.array([normal(float(seed), float(stream), float(i)) for i in range(count)])


def test_deviates_are_standard_normal_and_independent():
    values = deviates(1, 0, 20_000)
    assert stats.kstest(values, "norm").pvalue > 1e-3
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 4 / np.sqrt(values.size)
    other = deviates(1, 1, 20_000)
    assert abs(np.corrcoef(values, other)[0, 1]) < 4 / np.sqrt(values.size)


def test_seed_and_stream_change_every_deviate():
    base = deviates(1, 0, 100)
    assert not np.any(base == deviates(2, 0, 100))
    assert not np.any(base == deviates(1, 1, 100))
    np.testing.assert_array_equal(base, deviates(1, 0, 100))
