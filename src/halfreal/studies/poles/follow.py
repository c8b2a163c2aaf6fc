"""Which pole is which, from value to value of a swept number, where the number of states may change too.

Poles λ of a tick are matched in the z-plane to where the two values before let expect them (``stability/matching.py``).
A shift register that grows with a delay brings in poles that start at λ = 0, and one that shortens takes them away, so
that tracks begin and end.  Poles that fall to a hundredth within a tick are left out: they are samples on their way,
and their eigenvalues are mostly rounding.
"""

from __future__ import annotations

import numpy as np

from ...stability.matching import extrapolated, matched

GONE = 0.01
"""|λ| up to which a pole is left out."""
JUMP, LEAST_JUMP = 0.4, 0.02
"""A pole is not taken for one farther away than this share of |λ ln λ|, and this much."""


def upper(eigenvalues: np.ndarray) -> np.ndarray:
    """Poles of the upper half plane and the real axis that are not gone within a tick, slowest decay first."""
    kept = eigenvalues[(np.abs(eigenvalues) > GONE) & (eigenvalues.imag >= 0.0)]
    return np.asarray(kept[np.argsort(-np.abs(kept), kind="stable")], dtype=complex)


def follow(values: np.ndarray, poles: list[np.ndarray]) -> np.ndarray:
    """Poles (values, tracks), NaN where a track has none."""
    tracks: list[np.ndarray] = []
    for i, now in enumerate(poles):
        expected = np.array([extrapolated(values[: i + 1], track[:i]) for track in tracks], dtype=complex)
        reach = LEAST_JUMP + JUMP * np.abs(now * np.log(now))
        taken = matched(expected, now, reach) if tracks and now.size else {}
        for column in set(range(len(now))) - set(taken.values()):
            tracks.append(np.full(len(values), np.nan, dtype=complex))
            taken[len(tracks) - 1] = column
        for track, column in taken.items():
            tracks[track][i] = now[column]
    return np.array(tracks).T.reshape(len(values), len(tracks))
