"""Eigenvalue loci of an open loop, with its margins on them: what is drawn of a loop, and kept in a run file.

A loop of negative feedback with the open loop L has a pole on the stability limit where an eigenvalue μ of L(jω) is −1.
The loci are the μ along ω, each followed from line to line.  Of a loop of one channel the only one is L itself.  Where
|μ| = 1 a further lag takes the loop to the limit, where μ is real and negative a factor on its gain does: both are
exact for a model (``margins.py``) and interpolated for measured lines (``frf.py``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Loci:
    """Eigenvalues of L(jω), (lines, channels), and where they come to the stability limit."""

    frequency_hz: np.ndarray
    values: np.ndarray
    crossing_hz: np.ndarray
    """Where an eigenvalue has modulus one, one entry for each that has."""
    lag_deg: np.ndarray
    """Further phase lag that takes it to −1: 0 to 360°, or of a loop that is unstable −180 to 180°."""
    harmful: np.ndarray
    """Whether a pole becomes unstable there as a delay grows; else it becomes stable."""
    gain_hz: np.ndarray
    """Where a factor on the gain alone takes an eigenvalue to −1."""
    gain_db: np.ndarray
    """That factor: positive where more gain does, negative where less does."""
    text: str
    """The margins in one sentence."""

    @property
    def channels(self) -> int:
        return int(self.values.shape[1])

    @property
    def magnitude_db(self) -> np.ndarray:
        return np.asarray(20.0 * np.log10(np.maximum(np.abs(self.values), 1e-300)))

    @property
    def phase_deg(self) -> np.ndarray:
        """Unwrapped along the frequency, from within ±180° on."""
        return np.asarray(np.degrees(np.unwrap(np.angle(self.values), axis=0)))

    @property
    def delay_s(self) -> np.ndarray:
        """Further delay at each crossing; negative where less of it is needed."""
        return np.asarray(self.lag_deg / 360.0 / self.crossing_hz)

    @property
    def nearest_lag(self) -> int | None:
        """The crossing that is nearest to the limit in phase; None if there is none."""
        return int(np.argmin(np.abs(self.lag_deg))) if self.lag_deg.size else None

    @property
    def nearest_delay(self) -> int | None:
        """The crossing that a further delay takes to the limit first."""
        delays = np.where(self.harmful & (self.lag_deg > 0.0), self.delay_s, np.inf)
        return int(np.argmin(delays)) if np.isfinite(delays).any() else None

    @property
    def nearest(self) -> list[int]:
        """Both, once each."""
        return [one for one in dict.fromkeys((self.nearest_lag, self.nearest_delay)) if one is not None]

    @property
    def nearest_gains(self) -> list[int]:
        """Where more gain, and where less gain, first takes the loop to the limit."""
        found = []
        for side in (self.gain_db > 0.0, self.gain_db < 0.0):
            if side.any():
                found.append(int(np.argmin(np.where(side, np.abs(self.gain_db), np.inf))))
        return found
