"""What the page keeps of a test: lowest and highest value of every channel in short bins, and the newest rows.

A bin holds the rows of ``BIN`` seconds, one row if steps are longer.  It keeps the lowest and the highest value, so
that no peak is lost however far a plot is zoomed out.  All sizes are bounded: memory does not grow with the test.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

BIN = 5e-3
"""Seconds that a bin covers."""
MOST_BINS = 60_000
"""Bins kept: the last five minutes."""
MOST_VALUES = 8_000_000
"""Bins times channels that are kept at most."""
RECENT = 8192
"""Newest rows kept as they are, for plots of one channel over another and for spectra."""
LATENESS = "pace.lateness"
EDGES = 1e-6 * 2.0 ** np.arange(-1, 19)
"""Of the histogram of lateness [s]."""


class History:
    """The last minutes of the channels ``names``, recorded every ``step`` seconds.

    Of a test whose number of rows is known, bins are made long enough to hold them all.
    """

    def __init__(self, names: Sequence[str], step: float, rows: int = 0) -> None:
        self.names, self.step = tuple(names), step
        self.index = {name: i for i, name in enumerate(names)}
        size = max(1, min(MOST_BINS, MOST_VALUES // max(len(self.names), 1)))
        self.per_bin = max(1, round(BIN / step), -(-rows // size))
        self._time = np.zeros(size)
        self._low = np.zeros((len(self.names), size), dtype=np.float32)
        self._high = np.zeros((len(self.names), size), dtype=np.float32)
        self.bins = 0
        """Bins so far; bin b is at b modulo the size."""
        self.rows = 0
        self._rest = np.zeros((1 + len(self.names), 0))
        self.recent = np.zeros((1 + len(self.names), 0))
        self.lateness = np.zeros(EDGES.size + 1, dtype=np.int64)
        """Rows in each bin of the histogram; the first and the last hold what is outside of EDGES."""

    def add(self, columns: np.ndarray) -> None:
        """Take in new rows, as columns: the time, then every channel."""
        if columns.shape[1] == 0:
            return
        self.rows += columns.shape[1]
        self.recent = np.concatenate([self.recent, columns], axis=1)[:, -RECENT:]
        if LATENESS in self.index:
            places = np.searchsorted(EDGES, columns[1 + self.index[LATENESS]])
            self.lateness += np.bincount(places, minlength=self.lateness.size)
        rows = np.concatenate([self._rest, columns], axis=1)
        bins = rows.shape[1] // self.per_bin
        self._rest = rows[:, bins * self.per_bin :].copy()
        if bins == 0:
            return
        whole = rows[:, : bins * self.per_bin].reshape(rows.shape[0], bins, self.per_bin)
        self._put(whole[0, :, 0], np.fmin.reduce(whole[1:], axis=2), np.fmax.reduce(whole[1:], axis=2))

    def flush(self) -> None:
        """At the end of a test: make a bin of the last rows, however few they are."""
        if self._rest.shape[1]:
            low, high = np.fmin.reduce(self._rest[1:], axis=1), np.fmax.reduce(self._rest[1:], axis=1)
            self._put(self._rest[0, :1], low[:, None], high[:, None])
            self._rest = self._rest[:, :0]

    def _put(self, time: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
        size = self._time.size
        places = np.arange(self.bins, self.bins + time.size)[-size:] % size
        self._time[places] = time[-size:]
        with np.errstate(over="ignore"):
            self._low[:, places] = low[:, -size:]
            self._high[:, places] = high[:, -size:]
        self.bins += time.size

    def since(self, first: int, names: Sequence[str]) -> tuple[int, np.ndarray, np.ndarray]:
        """Bins from number ``first`` on: where they begin, their times, and (2 × names, bins): low, high, low, …"""
        size = self._time.size
        first = min(max(first, self.bins - size, 0), self.bins)
        places = np.arange(first, self.bins) % size
        chosen = [self.index[name] for name in names]
        values = np.empty((2 * len(chosen), places.size), dtype=np.float32)
        values[0::2], values[1::2] = self._low[chosen][:, places], self._high[chosen][:, places]
        return first, self._time[places], values

    def pairs(self, x: str, y: str, most: int = 500) -> np.ndarray:
        """One channel over another in the newest rows, (2, n): about ``most`` true points, the extremes among them."""
        both = self.recent[[1 + self.index[x], 1 + self.index[y]]]
        return both[:, extremes(both, most)]

    def spectrum(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Frequencies [Hz] and amplitudes of the newest rows of a channel, with a Hann window."""
        values = self.recent[1 + self.index[name]]
        values = values[-(1 << (values.size.bit_length() - 1)) :] if values.size else values
        if values.size < 16 or not np.isfinite(values).all():
            return np.zeros(0), np.zeros(0)
        window = np.hanning(values.size)
        amplitudes = 2.0 * np.abs(np.fft.rfft((values - values.mean()) * window)) / window.sum()
        return np.fft.rfftfreq(values.size, self.step), amplitudes

    def highest(self, name: str) -> float | None:
        """The highest value of a channel in all bins that are kept; None if there is none."""
        kept = self._high[self.index[name], : self.bins] if name in self.index else np.zeros(0)
        return float(np.nanmax(kept)) if kept.size and np.isfinite(kept).any() else None

    def newest(self, name: str) -> float | None:
        """The last value of a channel; None if there is none."""
        if name not in self.index or self.recent.shape[1] == 0:
            return None
        return float(self.recent[1 + self.index[name], -1])


def extremes(values: np.ndarray, most: int) -> np.ndarray:
    """Columns to keep of ``values`` (signals, n), about ``most``: where in a stretch any signal is lowest or highest.

    The last column is always among them.
    """
    count = values.shape[1]
    length = max(1, -(-count * 2 * values.shape[0] // most))
    if length <= 2:
        return np.arange(count)
    stretches = count // length
    whole = np.nan_to_num(values[:, : stretches * length].reshape(values.shape[0], stretches, length))
    starts = np.arange(stretches) * length
    kept = [(find(whole, axis=2) + starts).ravel() for find in (np.argmin, np.argmax)]
    rest = np.nan_to_num(values[:, stretches * length :])
    if rest.shape[1]:
        kept += [find(rest, axis=1) + stretches * length for find in (np.argmin, np.argmax)]
    return np.unique(np.concatenate([*kept, [count - 1]]).astype(np.intp))
