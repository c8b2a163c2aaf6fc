"""Discrete Fourier transforms of columns of any length, in a fixed memory.

The record of N = P Q values is folded to P values for each k = 0 … Q/2, whose transform has every Q-th frequency of the
whole (decimation in frequency; J. W. Cooley, J. W. Tukey, Math. Comput. 19 (1965) 297–301)::

    X[k + Q m] = Σ_p e^(−2πi p m / P) · e^(−2πi p k / N) Σ_q x[P q + p] e^(−2πi q k / Q)

Several k are folded in one pass over the record.  A record of up to ``MOST`` values is transformed as a whole, Q = 1.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .columns import PIECE, Column, RowNumbers, computed, part, total

MOST = 1 << 17
"""Values that are transformed together."""
AT_ONCE = 8
"""Values of k that one pass over a record folds."""


def whole_parts(count: int) -> tuple[int, int]:
    """Q and P of the longest record of at most ``count`` values that can be transformed.

    Of the possible Q the one that leaves out the fewest values is taken: mostly none, always fewer than Q.
    """
    fewest = max(1, -(-count // MOST))
    parts = min(range(fewest, 2 * fewest), key=lambda q: count % q)
    return parts, count // parts


def transforms(*columns: Column) -> Iterator[tuple[np.ndarray, list[np.ndarray]]]:
    """Numbers of frequencies, and there the transforms of real columns; each frequency from 0 to half the rate once.

    The columns have a length that ``whole_parts`` leaves as it is.
    """
    count = len(columns[0])
    parts, length = whole_parts(count)
    every = np.arange(parts // 2 + 1)
    for first in range(0, len(every), AT_ONCE):
        chosen = every[first : first + AT_ONCE]
        folded = [_folded(column, chosen, parts, length) for column in columns]
        for i, k in enumerate(chosen):
            if k == 0:
                spectra = [np.fft.rfft(one[i].real) for one in folded]
                yield parts * np.arange(len(spectra[0])), spectra
                continue
            spectra = [np.fft.fft(one[i]) for one in folded]
            numbers = k + parts * np.arange(length)
            upper = 2 * numbers > count
            if 2 * k == parts:  # the upper half repeats the lower one
                yield numbers[~upper], [one[~upper] for one in spectra]
                continue
            # those of Q − k: at negative frequencies a real signal has the conjugate values
            yield np.where(upper, count - numbers, numbers), [np.where(upper, one.conj(), one) for one in spectra]
        del folded, spectra  # before the next ones are made: they are most of what is held


def _folded(column: Column, chosen: np.ndarray, parts: int, length: int) -> np.ndarray:
    """The values of which the transforms have the frequencies k + Q m, a row for each chosen k."""
    found = np.zeros((len(chosen), length), dtype=complex)
    for q in range(parts):
        turned = np.exp(-2j * np.pi * (q * chosen % parts) / parts)
        for first in range(0, length, PIECE):
            last = min(first + PIECE, length)
            found[:, first:last] += np.outer(turned, column[length * q + first : length * q + last])
    at = np.arange(length)
    for row, k in zip(found, chosen, strict=True):
        if k:
            row *= np.exp(-2j * np.pi * (at * k % (parts * length)) / (parts * length))
    return found


def hann_window(count: int) -> Column:
    """Hann window, as ``numpy.hanning``."""
    return computed(
        lambda row: 0.5 + 0.5 * np.cos(np.pi * (1.0 - count + 2.0 * row) / (count - 1.0)), RowNumbers(count)
    )


def without_mean(column: Column, window: Column | None = None) -> Column:
    """A column less its mean; with a window both are weighted by it."""
    if window is None:
        mean = total(np.sum, column) / len(column)
        return computed(lambda values: values - mean, column)
    mean = total(lambda values, weights: (weights * values).sum(), column, window) / total(np.sum, window)
    return computed(lambda values, weights: (values - mean) * weights, column, window)


def windowed(column: Column) -> Column:
    """The last values of a column that can be transformed, without their mean and then with a Hann window."""
    parts, length = whole_parts(len(column))
    chosen = without_mean(part(column, slice(len(column) - parts * length, None)))
    return computed(np.multiply, chosen, hann_window(parts * length))


def size_at(column: Column, number: int) -> float:
    """Magnitude of the transform at one frequency."""
    count = len(column)

    def turned(values: np.ndarray, rows: np.ndarray) -> complex:
        return complex(values @ np.exp(-2j * np.pi * (rows * number % count) / count))

    return float(abs(total(turned, column, RowNumbers(count))))
