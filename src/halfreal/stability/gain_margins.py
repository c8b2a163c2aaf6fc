"""How much gain a loop tolerates that is cut at its feedback: the specimen's force, in force control its displacement.

A slow test waits for its rig, and a step with several exchanges is later in each of them: neither has an open loop at
its command whose margins of delay say something of the rig.  A factor k on the feedback, which is a stiffer or heavier
specimen or one that is softer or lighter, means the same in any loop.

With one exchange a step, L is a transfer function, and margins are those of ``margins.py``.  Over the N ticks of a step
with several

    x_{j+1} = A_j x_j + B_j u_j,   y_j = −C_j x_j − D_j u_j,   u_j = −k y_j

and the poles are the eigenvalues of the product of N closed maps.  The loop may be stable again for larger k, so k is
taken up and down in small steps to ``REACH``, and the first loss of stability is closed in on.

A rig that stops short of its targets makes the feedback lag behind the motion, regardless of how fast it is.  The lag φ
at which the loop is no longer stable is its phase margin; with several exchanges the poles show it, with the feedback
times e^{−jφ}, where those with a positive frequency count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from ..contracts.state_space import StateSpace
from .condensed import Condensed
from .lifted_margins import closed
from .linearise import MARGINAL
from .margins import delay_margin, describe_gain
from .periodic import TickMap

REACH, STEPS = 10.0, 200
"""Factor up and down up to which the poles of a step with several exchanges are computed, and steps up to there."""
FIRST_LAG, MOST_LAG = 1e-6, 0.5 * np.pi
"""Lags of the feedback between which its limit is searched [rad]."""
HALVINGS = 40


@dataclass(frozen=True)
class GainMargins:
    """Margins of a stable loop that is cut at its feedback."""

    gains: np.ndarray
    """Factors k > 0 on the feedback that put a pole on the limit."""
    gain_omega: np.ndarray
    """Frequencies of ``gains`` [rad/s]."""
    lag: float
    """Lag of the feedback [rad] up to which the loop is stable; inf if there is no limit up to a quarter of a turn."""

    @property
    def gain_margin_db(self) -> float:
        """Increase of the feedback up to instability; inf if there is none."""
        return float(20.0 * np.log10(np.min(self.gains[self.gains > 1.0], initial=np.inf)))

    @property
    def gain_reduction_db(self) -> float:
        """Decrease (negative) of the feedback down to instability; -inf if there is none."""
        below = self.gains[(self.gains < 1.0) & (self.gains > 0.0)]
        return float(20.0 * np.log10(np.max(below))) if below.size else -np.inf

    def as_text(self) -> str:
        return describe_gain(self.gain_margin_db, self.gain_reduction_db)


def gain_margins(loop: StateSpace | Condensed | list[TickMap], dt: float) -> GainMargins:
    """Margins of a stable loop, cut at its feedback, with ticks of ``dt`` [s]; a list has the maps of a step."""
    if not isinstance(loop, list):
        margin = delay_margin(loop)
        return GainMargins(margin.gains, margin.gain_omega, float(np.radians(margin.phase_margin_deg)))
    ticks = tuple(loop)
    logarithms = np.linspace(0.0, np.log(REACH), STEPS + 1)

    def is_stable(change: complex) -> bool:
        return stable_with(ticks, np.exp(change))

    found = [edge(lambda size: is_stable(size), logarithms), -edge(lambda size: is_stable(-size), logarithms)]
    gains = np.exp([one for one in found if np.isfinite(one)])
    doubled = [0.0, *np.geomspace(FIRST_LAG, MOST_LAG, STEPS // 10)]
    lag = edge(lambda size: is_stable(-1j * size), doubled)
    return GainMargins(gains, np.array([critical_omega(ticks, gain, dt) for gain in gains]), lag)


def edge(is_stable: Callable[[float], bool], sizes: Iterable[float]) -> float:
    """The size at which stability is lost, between the first of ``sizes`` at which it is and the one before; inf if at
    none."""
    stable = 0.0
    for unstable in sizes:
        if not is_stable(unstable):
            break
        stable = unstable
    else:
        return np.inf
    for _ in range(HALVINGS):
        middle = 0.5 * (stable + unstable)
        stable, unstable = (middle, unstable) if is_stable(middle) else (stable, middle)
    return float(stable)


def stable_with(ticks: tuple[TickMap, ...], factor: complex) -> bool:
    """Whether the loop is stable with a factor on its feedback; of a complex one, poles of positive frequency count."""
    poles = np.linalg.eigvals(closed(ticks, factor))
    counted = poles if np.imag(factor) == 0.0 else poles[np.angle(poles) > 0.0]
    return bool(np.abs(counted).max(initial=0.0) ** (1.0 / len(ticks)) < 1.0 - MARGINAL)


def critical_omega(ticks: tuple[TickMap, ...], gain: float, dt: float) -> float:
    """Frequency of the largest pole with a factor on the feedback [rad/s]."""
    poles = np.linalg.eigvals(closed(ticks, gain))
    return float(abs(np.angle(poles[np.argmax(np.abs(poles))])) / (len(ticks) * dt))
