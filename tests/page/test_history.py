"""What the page keeps of a test: bounded, and without losing a peak."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from halfreal.page import history
from halfreal.page.history import BIN, History, extremes

VALUES = st.floats(-1e6, 1e6, width=32)
STEP = 1e-3
PER_BIN = round(BIN / STEP)


def rows(values: np.ndarray) -> np.ndarray:
    """Columns of one channel, from time 0 on."""
    return np.stack([STEP * np.arange(values.size), values])


@given(arrays(np.float64, st.integers(1, 300), elements=VALUES), st.lists(st.integers(1, 40), min_size=1, max_size=12))
def test_no_peak_is_lost_however_the_rows_come(values: np.ndarray, parts: list[int]) -> None:
    kept, columns, at = History(["a"], STEP), rows(values), 0
    for part in [*parts, values.size]:
        kept.add(columns[:, at : at + part])
        at += part
    kept.flush()
    first, times, (low, high) = kept.since(0, ["a"])
    assert first == 0 and times.size == -(-values.size // PER_BIN)
    for i in range(times.size):
        part = values[i * PER_BIN : (i + 1) * PER_BIN]
        assert (low[i], high[i]) == (part.min(), part.max())
        assert times[i] == columns[0, i * PER_BIN]


@given(arrays(np.float64, st.tuples(st.just(2), st.integers(1, 400)), elements=VALUES), st.integers(8, 100))
def test_of_one_channel_over_another_the_extremes_are_kept(values: np.ndarray, most: int) -> None:
    chosen = extremes(values, most)
    assert np.all(np.diff(chosen) > 0) and chosen[-1] == values.shape[1] - 1
    assert chosen.size <= max(2 * most, 16)
    np.testing.assert_array_equal(values[:, chosen].min(axis=1), values.min(axis=1))
    np.testing.assert_array_equal(values[:, chosen].max(axis=1), values.max(axis=1))


def test_memory_is_bounded_and_old_bins_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MOST_BINS", 10)
    kept = History(["a"], BIN)
    for k in range(25):
        kept.add(np.array([[float(k)], [float(-k)]]))
    first, times, values = kept.since(0, ["a"])
    assert (first, kept.bins) == (15, 25)
    np.testing.assert_array_equal(times, np.arange(15, 25))
    np.testing.assert_array_equal(values[0], -np.arange(15, 25))
    first, times, _ = kept.since(23, ["a"])
    assert (first, list(times)) == (23, [23.0, 24.0])


def test_a_value_that_is_no_number_hides_no_peak() -> None:
    kept = History(["a"], STEP)
    kept.add(rows(np.array([np.nan, 3.0, -7.0, np.nan, 1.0, *[np.nan] * PER_BIN])))
    _, _, (low, high) = kept.since(0, ["a"])
    assert (low[0], high[0]) == (-7.0, 3.0)
    assert np.isnan(low[1]) and np.isnan(high[1])


def test_the_spectrum_has_the_amplitude_and_the_frequency_of_a_sine() -> None:
    time = STEP * np.arange(4096)
    kept = History(["a"], STEP)
    kept.add(np.stack([time, 5.0 + 3.0 * np.sin(2.0 * np.pi * 62.5 * time)]))  # a whole number of periods
    frequency, amplitude = kept.spectrum("a")
    place = int(np.argmax(amplitude))
    assert frequency[place] == 62.5
    np.testing.assert_allclose(amplitude[place], 3.0, rtol=1e-3)


def test_lateness_is_counted_row_by_row() -> None:
    kept = History([history.LATENESS], STEP)
    kept.add(rows(np.array([0.0, 0.9e-6, 3e-6, 3e-6, 10.0])))
    counts = kept.lateness
    assert counts.sum() == 5 and counts[0] == 1 and counts[1] == 1 and counts[3] == 2 and counts[-1] == 1
