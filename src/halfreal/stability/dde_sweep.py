"""Characteristic roots of a delay system while a parameter changes, followed from value to value.

The dominant roots against the delay or against the prediction are Figs. 4 and 5 of M. I. Wallace, J. Sieber, S. A.
Neild, D. J. Wagg, B. Krauskopf, Earthquake Engng Struct. Dyn. 34 (2005) 1817–1832 (doi 10.1002/eqe.513).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..figures import BAD, QUIET, REFERENCE, new_figure, styled
from ..summaries import Summarised
from .dde import DelayError, DelaySystem, roots
from .matching import extrapolated, matched

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MORE = 6
"""Roots computed beyond those requested: what is about to become a leading root is followed before it does."""
JUMP = 0.4
"""A root is not taken for one that is farther away than this share of |s| + 1/τ."""


@dataclass(frozen=True, repr=False)
class Sweep(Summarised):
    """Roots (values, tracks) [1/s], NaN where a track was not followed, and the abscissa [1/s] at each value.

    The abscissa is NaN where it could not be certified.
    """

    values: np.ndarray
    roots: np.ndarray
    abscissa: np.ndarray

    @property
    def limits(self) -> np.ndarray:
        """Values at which the abscissa changes sign, interpolated linearly; ``limit`` gives one exactly."""
        a, v = self.abscissa, self.values
        at = np.flatnonzero(a[:-1] * a[1:] < 0.0)
        return np.asarray(v[at] - a[at] * (v[at + 1] - v[at]) / (a[at + 1] - a[at]))

    def summary(self) -> str:
        """One sentence for people."""
        first, last = f"{self.values[0]:.4g}", f"{self.values[-1]:.4g}"
        unknown = int(np.isnan(self.abscissa).sum())
        if unknown:
            return f"not certified at {unknown} of {len(self.values)} values from {first} to {last}"
        begins = "stable" if self.abscissa[0] < 0.0 else "unstable"
        if not self.limits.size:
            return f"{begins} from {first} to {last}"
        return f"{begins} at {first}, stability changes at {', '.join(f'{v:.4g}' for v in self.limits)} (until {last})"

    @styled
    def plot(self, label: str = "parameter") -> Figure:
        """Real parts of the leading roots against the parameter."""
        figure = new_figure(6.0, 3.4)
        axes = figure.subplots()
        upper = np.where(self.roots.imag >= 0.0, self.roots, np.nan)
        axes.plot(self.values, upper.real, color=QUIET, linewidth=0.9)
        axes.plot(self.values, self.abscissa, color=REFERENCE, linewidth=1.6, label="rightmost")
        axes.axhline(0.0, color=QUIET, linewidth=0.9)
        for value in self.limits:
            axes.axvline(value, color=BAD, linestyle="--", linewidth=0.9)
        # roots that the delay brings in come from far left: what matters is near the axis
        ends = np.append(self.abscissa[np.isfinite(self.abscissa)], 0.0)
        axes.set_ylim(ends.min() - 2 * np.ptp(ends), ends.max() + 0.2 * np.ptp(ends))
        axes.set(xlabel=label, ylabel="real part [1/s]", title="Leading characteristic roots")
        axes.legend()
        return figure


def sweep(
    family: Callable[[float], DelaySystem], values: np.ndarray, *, most: int = 6, below_hz: float | None = None
) -> Sweep:
    """Follow the ``most`` rightmost roots of ``family(value)`` over the values."""
    values = np.asarray(values, dtype=float)
    tracks: list[np.ndarray] = []
    leading: set[int] = set()
    abscissae = np.empty(len(values))
    for i, value in enumerate(values):
        system = family(float(value))
        spectrum = roots(system, most=most + MORE, below_hz=below_hz)
        abscissae[i] = spectrum.abscissa
        now = spectrum.roots
        guesses = np.array([extrapolated(values[: i + 1], track[:i]) for track in tracks], dtype=complex)
        scale = np.abs(now) + (1.0 / system.longest if system.longest else 0.0)
        taken = matched(guesses, now, JUMP * scale)
        for column in range(len(now)):
            if column not in taken.values():
                tracks.append(np.full(len(values), np.nan, dtype=complex))
                taken[len(tracks) - 1] = column
        for track, column in taken.items():
            tracks[track][i] = now[column]
            if column < most:
                leading.add(track)
    kept = [tracks[t] for t in sorted(leading)]
    return Sweep(values, np.array(kept).T.reshape(len(values), len(kept)), abscissae)


def limit(family: Callable[[float], DelaySystem], low: float, high: float) -> float:
    """The value between ``low`` and ``high`` at which the rightmost root of ``family(value)`` crosses the axis."""
    from scipy.optimize import brentq

    def rate(value: float) -> float:
        found = roots(family(value), most=1)
        if np.isnan(found.abscissa):
            raise DelayError(
                f"no limit can be computed, because at {value:.6g} the rightmost root is {found.summary()}"
            )
        return found.abscissa

    ends = rate(low), rate(high)
    if np.sign(ends[0]) == np.sign(ends[1]):
        words = "stable" if ends[0] < 0.0 else "unstable"
        raise DelayError(f"it is {words} at both {low:g} and {high:g}; give two values between which stability changes")
    return float(brentq(rate, low, high, xtol=1e-12 * abs(high)))
