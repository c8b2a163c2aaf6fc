"""A motion of a test's loop that repeats, with what people want to know of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ... import units
from ...definition.definition import Definition
from ...figures import new_figure, styled
from ...stability.limit_cycle import Cycle
from ...summaries import Summarised

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIGNALS = ("target", "measured.displacement", "measured.force")


@dataclass(frozen=True, repr=False)
class PeriodicMotion(Summarised):
    """A motion that repeats: a limit cycle, which a loop keeps up by itself, or the response to an excitation."""

    cycle: Cycle
    axis: int
    """The axis of the interface that moves most in it, by its mode at rest."""
    channels: tuple[str, ...]
    units: tuple[str, ...]
    step: float
    """Of the cycle's ticks [s]."""

    @property
    def period(self) -> float:
        """[s]"""
        return self.cycle.ticks * self.step

    @property
    def frequency_hz(self) -> float:
        return 1.0 / self.period

    @property
    def amplitude(self) -> float:
        """Half the way of the target between its extremes, on the axis that moves most [m or rad]."""
        return float(self.cycle.amplitudes[self.axis])

    @property
    def amplitudes(self) -> dict[str, float]:
        """The same of every channel that is kept, by its name."""
        return dict(zip(self.channels, self.cycle.amplitudes.tolist(), strict=True))

    @property
    def peaks(self) -> dict[str, float]:
        """Largest absolute value of every channel that is kept, by its name."""
        return dict(zip(self.channels, self.cycle.peaks.tolist(), strict=True))

    @property
    def multipliers(self) -> np.ndarray:
        """Floquet multipliers, largest first, without the one at 1 of a limit cycle."""
        return self.cycle.multipliers

    @property
    def largest_multiplier(self) -> float:
        """Largest |μ|: the factor on deviations in a period."""
        return self.cycle.largest_multiplier

    @property
    def stable(self) -> bool:
        return self.cycle.stable

    @property
    def time(self) -> np.ndarray:
        """Of the samples of one period [s]."""
        return np.arange(len(self.cycle.end.signals)) * self.step

    def signal(self, channel: str) -> np.ndarray:
        """A channel over one period."""
        return np.asarray(self.cycle.end.signals[:, self.channels.index(channel)])

    def amplitude_text(self) -> str:
        return units.text(self.amplitude, self.units[self.axis], 3)

    def summary(self) -> str:
        """One sentence for people."""
        kind = "stable" if self.stable else "unstable"
        what = "limit cycle" if self.cycle.free else "periodic response"
        return (
            f"{kind} {what} of {self.amplitude_text()} at {self.frequency_hz:.4g} Hz on {self.channels[self.axis]}"
            f"; deviations {'decay' if self.stable else 'grow'} by a factor of {self.largest_multiplier:.3g} per period"
        )

    @styled
    def plot(self) -> Figure:
        """The motion over one period, and force against displacement."""
        from .plot import draw_cycle

        figure = new_figure(7.2, 3.2)
        draw_cycle(figure, self)
        return figure


def kept(definition: Definition) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Channels of a cycle that are kept, the targets first, and their units."""
    axes = definition.interface
    names = [name for signal in SIGNALS for name in axes.channels(signal)]
    of: list[str] = [*axes.units("m"), *axes.units("m"), *axes.units("N")]
    return tuple(names), tuple(of)
