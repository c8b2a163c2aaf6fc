"""Poles found in measurements, with their share in each of them, and which of many candidates to believe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import HalfrealError
from ..summaries import Summarised

ROUNDING = 1e-12
"""Size of rounding errors, as a part of a measurement's."""


class ModalError(HalfrealError):
    """Measurements from which the requested poles cannot be determined."""


@dataclass(frozen=True, repr=False)
class Poles(Summarised):
    """Oscillating poles s [1/s] of the upper half plane, in order of frequency, and their residues."""

    poles: np.ndarray
    residues: np.ndarray
    """Complex, (channels, poles): shapes, up to a factor for each pole."""
    misfit: float
    """RMS of what the poles leave unexplained, as a part of the measurement's, of each channel; RMS over these."""

    @property
    def frequency_hz(self) -> np.ndarray:
        return np.asarray(np.abs(self.poles) / (2 * np.pi))

    @property
    def damping(self) -> np.ndarray:
        """Damping ratios, negative where the motion grows."""
        return np.asarray(-self.poles.real / np.abs(self.poles))

    def nearest(self, frequency_hz: float) -> int:
        """Which of them is nearest to a frequency."""
        return int(np.argmin(np.abs(self.frequency_hz - frequency_hz)))

    def summary(self) -> str:
        told = ", ".join(
            f"{hz:.4g} Hz {100 * zeta:.3g} %" for hz, zeta in zip(self.frequency_hz, self.damping, strict=True)
        )
        return f"{told}; {100 * self.misfit:.3g} % unexplained"


def part_left(left: np.ndarray, moving: np.ndarray, whole: np.ndarray) -> float:
    """RMS over the channels, (channels, samples), of what is left of a channel's motion, so that units do not matter.

    Channels that move no more than ``whole`` is rounded do not count.
    """
    size = np.mean(np.abs(moving) ** 2, axis=1)
    alive = size > (ROUNDING * np.abs(whole).max(axis=1)) ** 2
    return float(np.sqrt(np.mean(np.mean(np.abs(left) ** 2, axis=1)[alive] / size[alive])))


def stabilised(
    orders: Sequence[np.ndarray], frequency_share: float = 0.01, damping_difference: float = 0.005, times: int = 4
) -> np.ndarray:
    """Poles that come again when the order of a model is raised, each as the highest order has it.

    ``orders`` holds the poles of models of rising order.  A pole counts that has one of the order before within
    ``frequency_share`` of its frequency and ``damping_difference`` of its damping ratio, ``times`` times in a row up to
    the highest order.
    """
    chain = [(pole, 0) for pole in orders[0]] if len(orders) else []
    for poles in orders[1:]:
        following = []
        for pole in poles:
            near = [
                count
                for other, count in chain
                if abs(abs(pole) - abs(other)) <= frequency_share * abs(pole)
                and abs(_ratio(pole) - _ratio(other)) <= damping_difference
            ]
            following.append((pole, 1 + max(near) if near else 0))
        chain = following
    found = np.array([pole for pole, count in chain if count >= times], dtype=complex)
    return found[np.argsort(np.abs(found))]


def _ratio(pole: complex) -> float:
    return -pole.real / abs(pole)
