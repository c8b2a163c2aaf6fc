"""Which pole is which: poles at one value of a parameter matched to those expected from the values before.

The match is the one with the least sum of distances (the assignment problem), so that two poles that pass close by each
other are distinguished by where they were heading, not by their order in a list.
"""

from __future__ import annotations

import numpy as np


def extrapolated(values: np.ndarray, track: np.ndarray) -> complex:
    """Where a track is expected at ``values[-1]`` from its points at the values before; NaN if it has ended."""
    if np.isnan(track[-1]):
        return complex(np.nan)
    if len(track) < 2 or np.isnan(track[-2]):
        return complex(track[-1])
    slope = (track[-1] - track[-2]) / (values[-2] - values[-3])
    return complex(track[-1] + slope * (values[-1] - values[-2]))


def assigned(cost: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the pairs whose costs have the least sum."""
    rows, columns = cost.shape
    if 0 < rows <= columns:
        nearest = np.argmin(cost, axis=1)
        least = cost[np.arange(rows), nearest, None]
        if len(set(nearest.tolist())) == rows and np.count_nonzero(cost == least) == rows:
            return np.arange(rows), nearest  # no sum is less than that of the least of each row
    from scipy.optimize import linear_sum_assignment  # takes long to import

    found: tuple[np.ndarray, np.ndarray] = linear_sum_assignment(cost)
    return found


def matched(expected: np.ndarray, found: np.ndarray, farthest: np.ndarray | float = np.inf) -> dict[int, int]:
    """Pairs expected → found, none farther apart than ``farthest`` (one for each found pole); NaN is never matched."""
    alive = np.flatnonzero(~np.isnan(expected))
    apart = np.abs(expected[alive, None] - found)
    limit = np.broadcast_to(farthest, apart.shape)
    rows, columns = assigned(np.minimum(apart, limit))  # a pair too far apart costs as much as none
    return {int(alive[r]): int(c) for r, c in zip(rows, columns, strict=True) if apart[r, c] <= limit[r, c]}
