"""Spread of many numbers, read piece by piece: count, extremes, mean and exact percentiles in a fixed memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..runs.columns import Column, pieces
from .series import drawable

DIGIT = 16
"""Bits of a number that one pass over a record determines."""


class Numbers:
    """The numbers of a column that can be used, or of these the positive ones."""

    def __init__(self, column: Column, positive: bool = False) -> None:
        self._column, self._positive = column, positive
        self.count, self.least, self.largest, self.last, total = 0, np.inf, -np.inf, np.nan, 0.0
        for values in self:
            self.count += len(values)
            self.least, self.largest = min(self.least, values.min()), max(self.largest, values.max())
            self.last, total = float(values[-1]), total + values.sum()
        self.mean = total / self.count if self.count else np.nan

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[np.ndarray]:
        for (values,) in pieces(drawable(self._column)):
            kept = values[np.isfinite(values) & ((values > 0) | (not self._positive))].astype(float, copy=False)
            if len(kept):
                yield kept

    def percentiles(self, shares: Sequence[float]) -> list[float]:
        """Percentiles as of ``numpy.percentile``."""
        places = [(self.count - 1) * share / 100 for share in shares]
        low = self._in_order([int(place) for place in places])
        high = self._in_order([min(int(place) + 1, self.count - 1) for place in places])
        return [a + (b - a) * (place % 1) for a, b, place in zip(low, high, places, strict=True)]

    def _in_order(self, places: list[int]) -> list[float]:
        """The numbers at these places of all in order: digit by digit, by counting those that begin as they do."""
        found = [(0, place) for place in places]
        for shift in range(64 - DIGIT, -1, -DIGIT):
            counts = {begin: np.zeros(1 << DIGIT, dtype=int) for begin, _ in found}
            for values in self:
                known = _ordered_bits(values) >> np.uint64(shift)
                for begin, count in counts.items():
                    same = known[known >> np.uint64(DIGIT) == begin] & np.uint64((1 << DIGIT) - 1)
                    count += np.bincount(same.astype(int), minlength=1 << DIGIT)
            narrowed = []
            for begin, place in found:
                up_to = np.cumsum(counts[begin])
                digit = int(np.searchsorted(up_to, place, side="right"))
                narrowed.append((begin << DIGIT | digit, place - (int(up_to[digit - 1]) if digit else 0)))
            found = narrowed
        return [_number(bits) for bits, _ in found]


SIGN = 1 << 63


def _ordered_bits(values: np.ndarray) -> np.ndarray:
    """Whole numbers in the same order as the values: IEEE 754 orders positive numbers by their bits."""
    bits = np.ascontiguousarray(values).view(np.uint64)
    return np.where(bits >= SIGN, ~bits, bits | np.uint64(SIGN))


def _number(bits: int) -> float:
    whole = np.array([bits], dtype=np.uint64)
    return float(np.where(whole >= SIGN, whole ^ np.uint64(SIGN), ~whole).view(np.float64)[0])
