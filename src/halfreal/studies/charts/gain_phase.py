"""Stability of a loop whose gain and phase are both changed: L → g e^{jφ} L.

The phase is turned by φ at positive frequencies (by −φ at negative ones): φ < 0 is a lag, as a delay makes it, φ > 0 a
lead, as over-compensation makes it.  A root is on the imaginary axis at ω where

    det(I + g e^{jφ} L(jω)) = 0,    that is  g e^{jφ} = −1/μ(jω)

for an eigenvalue μ of L: the boundary is the inverse Nyquist curve in the plane of gain and phase.  At φ = 0 the
unstable poles are those of the closed loop; on the way to φ a pair more, or less, becomes unstable at each crossing
(``halfreal.studies.charts.batch_crossings``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...contracts.state_space import StateSpace
from ...errors import HalfrealError
from ...figures import new_figure, styled
from ...summaries import Summarised
from .batch_crossings import Crossings, crossings_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CURVE = 4000
"""Frequencies along the inverse Nyquist curve."""


@dataclass(frozen=True, repr=False)
class GainPhaseChart(Summarised):
    """Stability over a factor on the gain and a turn of the phase."""

    gains: np.ndarray
    phases_deg: np.ndarray
    """Additional phase [deg], negative for a lag."""
    margin: np.ndarray
    """Phase to the boundary [deg], (gains, phases), positive where stable; ±∞ if there is none within ±180°."""
    boundary: list[np.ndarray]
    """−1/μ(jω) as curves (k, 2) of phase [deg] and gain, along each of which ω rises."""

    @property
    def operating_margin(self) -> float:
        """Margin [deg] of the loop as it is; NaN if g = 1 or φ = 0 is not on the chart."""
        if not (self.gains[0] <= 1.0 <= self.gains[-1] and self.phases_deg[0] <= 0.0 <= self.phases_deg[-1]):
            return np.nan
        return float(self.margin[np.argmin(np.abs(self.gains - 1.0)), np.argmin(np.abs(self.phases_deg))])

    def summary(self) -> str:
        margin = self.operating_margin
        state = "not on the chart" if np.isnan(margin) else "stable" if margin > 0.0 else "unstable"
        far = f", {abs(margin):.3g}° from the boundary" if np.isfinite(margin) else ""
        return f"{100 * np.mean(self.margin > 0.0):.3g} % of the chart is stable; the loop as it is is {state}{far}"

    @styled
    def plot(self) -> Figure:
        from .plot import INK, fill, mark, name_regions

        figure = new_figure(6.6, 4.6)
        axes = figure.subplots()
        fill(figure, axes, self.phases_deg, self.gains, self.margin, "margin: phase to the boundary [°]")
        for curve in self.boundary:
            axes.plot(curve[:, 0], curve[:, 1], color=INK, linewidth=1.6)
        mark(axes, 0.0, 1.0)
        axes.set(
            xlabel="additional phase [°]   (lag < 0 < lead)",
            ylabel="factor on the gain",
            xlim=(self.phases_deg[0], self.phases_deg[-1]),
            ylim=(self.gains[0], self.gains[-1]),
            title="stability in gain and phase",
        )
        name_regions(axes, self.phases_deg, self.gains, self.margin)
        return figure


def gain_phase_chart(loop: StateSpace, gains: np.ndarray, phases_deg: np.ndarray) -> GainPhaseChart:
    """Which factors on the gain (> 0) and additional phases (within ±180°) leave the loop stable; both must rise."""
    gains, phases = np.asarray(gains, dtype=float), np.asarray(phases_deg, dtype=float)
    if gains.size < 2 or phases.size < 2 or np.any(np.diff(gains) <= 0.0) or np.any(np.diff(phases) <= 0.0):
        raise HalfrealError("gains and phases must increase, with at least two of each")
    if gains[0] <= 0.0:
        raise HalfrealError(f"the gain {gains[0]:g} is not positive; turn the phase by 180° instead")
    if phases[0] < -180.0 or phases[-1] > 180.0:
        raise HalfrealError(f"phases go from {phases[0]:g}° to {phases[-1]:g}°; give those within ±180°")
    rows = crossings_of([StateSpace(loop.a, loop.b, g * loop.c, g * loop.d, loop.dt) for g in gains])
    margin = np.degrees([_signed_distance(row, np.radians(phases)) for row in rows])
    return GainPhaseChart(gains, phases, margin, _inverse_nyquist(loop, gains))


def _signed_distance(crossings: Crossings, phases: np.ndarray) -> np.ndarray:
    """Distance [rad] of each phase to the nearest at which stability changes, positive where stable."""
    # as lags: a crossing at ψ₀ is met going up from 0 and, as ψ₀ − 2π with the other direction, going down from it
    at = np.concatenate([crossings.lag - 2.0 * np.pi, crossings.lag])
    direction = np.concatenate([crossings.direction, crossings.direction])
    order = np.argsort(at)
    at, direction = at[order], direction[order]
    below = int(np.sum(at <= 0.0))
    count = np.concatenate([[0], 2 * np.cumsum(direction)])
    stable = crossings.unstable + count - count[below] <= 0
    lags = -phases
    limits = np.concatenate([[-np.inf], at[stable[1:] != stable[:-1]], [np.inf]])
    after = np.searchsorted(limits, lags)
    distance = np.minimum(lags - limits[after - 1], limits[after] - lags)
    return np.asarray(np.where(stable[np.searchsorted(at, lags)], distance, -distance))


def _inverse_nyquist(loop: StateSpace, gains: np.ndarray) -> list[np.ndarray]:
    """−1/μ(jω) where its modulus is on the chart, as phase [deg] and gain."""
    sizes = np.abs(loop.poles())
    if loop.dt is None:
        scale = sizes[sizes > 1e-9 * sizes.max()]
        omega = np.geomspace(1e-3 * scale.min(), 1e3 * scale.max(), CURVE)
    else:
        omega = np.geomspace(1e-5, 1.0, CURVE) * np.pi / loop.dt
    ends = crossings_of([StateSpace(loop.a, loop.b, g * loop.c, g * loop.d, loop.dt) for g in gains[[0, -1]]])
    resonances = np.abs(loop.poles().imag) if loop.dt is None else np.abs(np.angle(loop.poles())) / loop.dt
    near = [w * (1.0 + np.linspace(-0.05, 0.05, 400)) for w in np.unique(resonances) if w > 0.0]
    omega = np.unique(np.concatenate([omega, *near, *(end.omega for end in ends)]))
    if loop.dt is not None:
        omega = omega[omega <= np.pi / loop.dt]
    values = np.linalg.eigvals(loop.response(omega))
    if values.shape[1] > 1:  # follow each eigenvalue from one frequency to the next
        for k in range(1, len(values)):
            values[k] = values[k, _nearest(values[k - 1], values[k])]
    curves = []
    for column in values.T:
        inverse = -1.0 / np.where(column == 0.0, np.nan, column)
        on = (np.abs(inverse) >= 0.9999999 * gains[0]) & (np.abs(inverse) <= 1.0000001 * gains[-1])
        phase = np.degrees(np.angle(inverse))
        cuts = np.flatnonzero((np.diff(on.astype(int)) != 0) | (np.abs(np.diff(phase)) > 180.0)) + 1
        for piece in np.split(np.arange(len(omega)), cuts):
            if on[piece[0]] and len(piece) > 1:
                curves.append(np.column_stack([phase[piece], np.abs(inverse[piece])]))
    return curves


def _nearest(before: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The order of ``values`` that continues ``before`` with the least change."""
    from scipy.optimize import linear_sum_assignment

    return np.asarray(linear_sum_assignment(np.abs(before[:, None] - values[None, :]))[1])
