"""How much delay, phase lag and gain a loop tolerates: exact margins, from eigenvalues instead of a frequency grid.

A loop of negative feedback with the extra delay τ in every channel has the characteristic equation

    det(I + L(s) e^{−sτ}) = 0

A root can only pass the imaginary axis at s = jω where an eigenvalue μ of L(jω) has modulus one, and does so at the
delays with ωτ = arg μ + π + 2πn.  With d ln μ/dω taken along the axis, Re(dτ/ds) = −(1/ω) d ln|μ|/dω there: a root
moves to the right as the delay grows if |μ| falls with ω and to the left if it rises, whichever n (the direct method:
Walton, Marshall, IEE Proc. D 134 (1987) 101–107, doi 10.1049/ip-d.1987.0018).  Starting from the poles without delay
and stepping through these crossings counts the unstable roots at any delay.

How the crossings are found without a frequency grid is described in ``crossings``; the factors on the gain of a large
loop come from ``gain_search``; loops with a large structure are treated in ``condensed_margins``.

*Loops sampled at two rates*: what the mean response gives is refined on all their frequencies (``lifted_margins``).

*Fixed delays* in single channels are put into the pencil as Chebyshev models (``state_space.transport``) whose order
covers the highest frequency with σ_max ≥ 1; all decisions are then taken on the exact response.

Symbols: L loop transfer function, μ its eigenvalues, σ its singular values, τ delay, ω frequency [rad/s], n states,
m channels, D direct term.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import matrix_balance

from ..contracts.state_space import Delayed, StateSpace, check_channel, check_square
from ..errors import HalfrealError
from ..figures import BAD, GOOD, styled
from ..summaries import Summarised
from .condensed import Condensed
from .condensed_margins import crossings_and_gains
from .crossings import (
    LARGEST_PENCIL,
    Response,
    at_top,
    bracketed,
    gain_crossings,
    growth_rates,
    shared_eigenvalues,
    split_axis,
    unit_moduli,
    unit_singular_values,
    well_scaled,
)
from .gain_search import searched_gains
from .lifted_margins import lifted
from .periodic import PeriodicModel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ZERO_LAG = 1e-7
"""Lag [rad] up to which a crossing counts as one without delay."""
LIMIT = 1e-11
"""Growth rate, as a part of the fastest pole, up to which a pole counts as lying on the stability limit."""

Loop = StateSpace | Delayed | Condensed


@dataclass(frozen=True, repr=False)
class DelayMargin(Summarised):
    """Crossings of a loop, one entry per crossing eigenvalue, and what follows for a delay added to the loop."""

    omega: np.ndarray
    """Frequencies [rad/s] at which an eigenvalue of L has modulus one."""
    lag: np.ndarray
    """Phase lag [rad], 0 to 2π, that takes that eigenvalue to −1."""
    direction: np.ndarray
    """1: a pair of poles becomes unstable there as the delay grows; −1: stable; 0: it touches the axis."""
    unstable_without_delay: int
    """Unstable closed-loop poles without (additional) delay."""
    stuck: bool
    """A closed-loop pole lies on the stability limit regardless of the delay (at the origin, or hidden from the
    loop)."""
    on_limit: bool
    """A closed-loop pole lies on the stability limit without delay."""
    high_frequency_gain: float
    """Spectral radius of L for ω → ∞, or at half the sampling rate."""
    gains: np.ndarray
    """Factors k > 0 on L that put a pole on the limit (no delay); NaN if not computed (fixed delays)."""
    gain_omega: np.ndarray
    """Frequencies [rad/s] of ``gains``."""
    response: Response
    """L(jω)."""
    dt: float | None = None
    beyond_one: int = 0
    """Sampled loop: eigenvalues of modulus above one at half the sampling rate; each adds a root per sample."""

    @property
    def frequency_hz(self) -> np.ndarray:
        return self.omega / (2 * np.pi)

    @property
    def delays(self) -> np.ndarray:
        """The smallest delay > 0 [s] of each crossing."""
        return np.asarray(np.where(self.lag > 0, self.lag, 2 * np.pi) / self.omega)

    @property
    def phases_deg(self) -> np.ndarray:
        """Phase lag [deg] that each crossing tolerates."""
        return np.asarray(np.degrees(self.lag))

    @property
    def stable_without_delay(self) -> bool:
        return self.unstable_without_delay == 0 and not self.on_limit

    @property
    def stable_for_small_delay(self) -> bool:
        """A delay, however small, does not make it unstable at high frequency."""
        return self.dt is not None or self.high_frequency_gain < 1.0 - LIMIT

    @property
    def critical_delay(self) -> float:
        """The loop is stable for all delays from 0 up to this one [s]; 0 if it is not stable without, inf if ever."""
        if not (self.stable_without_delay and self.stable_for_small_delay):
            return 0.0
        if self.beyond_one and self.dt is not None:
            samples = 1
            while self.unstable_poles(samples * self.dt) == 0:
                samples += 1
            return samples * self.dt
        harmful = self.delays[self.direction >= 0]
        return float(harmful.min()) if harmful.size else np.inf

    @property
    def critical_frequency_hz(self) -> float:
        """Where the critical delay bites; NaN if nowhere."""
        hit = np.flatnonzero((self.delays == self.critical_delay) & (self.direction >= 0))
        return float(self.frequency_hz[hit[0]]) if hit.size else np.nan

    @property
    def phase_margin_deg(self) -> float:
        """Smallest additional phase lag that makes the loop unstable; NaN if it is not stable, inf if none does."""
        if not self.stable_without_delay:
            return np.nan
        return float(self.phases_deg.min()) if self.omega.size else np.inf

    @property
    def gain_margin_db(self) -> float:
        """Increase of the gain, the same in all channels, up to instability; inf if there is none.

        NaN if the loop is not stable, or has fixed delays.
        """
        return self._gain(self.gains[self.gains > 1.0], np.min, np.inf)

    @property
    def gain_reduction_db(self) -> float:
        """Decrease (negative) of the gain down to instability, −inf if there is none; NaN if the loop is not stable."""
        return self._gain(self.gains[self.gains < 1.0], np.max, -np.inf)

    def _gain(self, gains: np.ndarray, nearest: Callable[[np.ndarray], Any], without: float) -> float:
        if not self.stable_without_delay or np.any(np.isnan(self.gains)):
            return np.nan
        return float(20 * np.log10(nearest(gains))) if gains.size else without

    def as_text(self) -> str:
        """Phase and gain margin as far as they are known; where the least lag is not where the least delay bites."""
        phase, gain, less = self.phase_margin_deg, self.gain_margin_db, self.gain_reduction_db
        told = ["unlimited phase margin"] if np.isinf(phase) else []
        if np.isfinite(phase):
            critical, at = (f"{hz:.4g}" for hz in (self.critical_frequency_hz, self.frequency_hz[np.argmin(self.lag)]))
            told.append(f"phase margin {phase:.4g}°" + ("" if critical in (at, "nan") else f" at {at} Hz"))
        if not np.isnan(gain):
            told.append(describe_gain(gain, less))
        return ", ".join(told)

    def unstable_poles(self, delay: float) -> float:
        """Number of unstable closed-loop poles with the delay [s] added; inf if the high-frequency gain is ≥ 1."""
        if delay < 0:
            raise HalfrealError(f"the delay {delay} s is negative")
        if delay > 0 and not self.stable_for_small_delay:
            return np.inf
        count = self.unstable_without_delay
        if self.dt is not None:
            samples = delay / self.dt
            if abs(samples - round(samples)) > 1e-6:
                raise HalfrealError(f"the delay {delay} s of a sampled loop must be a multiple of its step {self.dt} s")
            count += self.beyond_one * round(samples)
        if delay > 0:
            passes = np.floor((self.omega * delay - self.lag) / (2 * np.pi) + 1e-12) + 1
            count += int(2 * self.direction @ np.maximum(passes, 0).astype(int))
        return count

    def stable_intervals(self, longest: float) -> np.ndarray:
        """Delays up to ``longest`` [s] for which the loop is stable, rows (from, to).

        Of a continuous loop the ends are limits, not stable themselves (except 0); of a sampled one they are the
        first and last stable delays of whole samples.
        """
        if self.dt is not None:
            delays = np.arange(int(longest / self.dt + 1e-9) + 1) * self.dt
            stable = np.array([self.unstable_poles(delay) == 0 and not self.stuck for delay in delays])
            stable[0] &= self.stable_without_delay
            edges = np.flatnonzero(np.diff(np.concatenate([[False], stable, [False]]).astype(int)))
            return np.asarray(delays[edges.reshape(-1, 2) - [0, 1]])
        if not self.stable_for_small_delay:
            return np.zeros((0, 2))
        turns = [lag / w + np.arange(int(w * longest / (2 * np.pi)) + 1) * 2 * np.pi / w for w, lag in self._waves()]
        events = np.unique(np.concatenate([[0.0], *turns, [longest]]))
        events = events[events <= longest]
        stable_rows: list[list[float]] = []
        for low, high in pairwise(events):
            if self.unstable_poles((low + high) / 2) == 0 and not self.stuck:
                touching = np.any(self.direction == 0)
                if stable_rows and stable_rows[-1][1] == low and not touching:
                    stable_rows[-1][1] = high
                else:
                    stable_rows.append([low, high])
        return np.array(stable_rows).reshape(-1, 2)

    def _waves(self) -> zip[tuple[float, float]]:
        return zip(self.omega, self.lag, strict=True)

    def summary(self) -> str:
        """One line for people."""
        gain = self.high_frequency_gain
        if not self.stable_without_delay:
            count = self.unstable_without_delay
            start = (
                f"unstable without delay ({count} unstable poles)" if count else "on the stability limit without delay"
            )
            longest = 2 * float(self.delays.max()) if self.omega.size else 0.0
            rows = self.stable_intervals(longest)
            if len(rows):
                return f"{start}; stable for delays of " + ", ".join(
                    f"{1e3 * low:.4g} to {1e3 * high:.4g} ms" for low, high in rows
                )
            return f"{start}, and no delay stabilises it"
        if not self.stable_for_small_delay:
            return (
                f"stable without delay but unstable for every delay, however small: at high frequency the loop gain is "
                f"{gain:.3g}, not below 1, and any delay turns the phase through −180° there; lower the direct term "
                f"(less specimen mass, fewer modes kept, a low-pass filter)"
            )
        delay, hz = self.critical_delay, self.critical_frequency_hz
        margins = self.as_text()
        if np.isinf(delay):
            return f"stable for every delay: the loop gain never reaches 1 ({margins})"
        if self.beyond_one and self.dt is not None:
            return (
                f"unstable from a delay of {round(delay / self.dt)} samples ({1e3 * delay:.4g} ms): the loop gain "
                f"is {gain:.3g} at half the sampling rate, and each sample of delay turns the phase by 180° there"
            )
        return f"stable up to a delay of {1e3 * delay:.4g} ms, critical at {hz:.4g} Hz ({margins})"

    @styled
    def plot(self) -> Figure:
        """Nyquist plot of the eigenvalues of L and their moduli, with the crossings marked."""
        from .nyquist import eigenvalue_plot

        figure = eigenvalue_plot(self.response, self.omega if self.omega.size else np.ones(1), self.dt)
        circle, moduli = figure.axes
        points = -np.exp(1j * self.lag)
        circle.plot(points.real, points.imag, "o", color=BAD, markersize=4)
        for hz, delay, direction in zip(self.frequency_hz, self.delays, self.direction, strict=True):
            word, marker, colour = ("stabilises", "v", GOOD) if direction < 0 else ("destabilises", "^", BAD)
            label = f"{hz:.4g} Hz: {1e3 * delay:.4g} ms {word}"
            moduli.plot(hz, 1.0, marker, color=colour, markersize=5, linestyle="none", label=label)
        if self.omega.size:
            moduli.legend(fontsize=6.5)
        circle.set_title(self.summary(), fontsize=7, wrap=True)
        return figure


def describe_gain(up: float, down: float) -> str:
    """Gain margin upwards and, where it is limited, downwards [dB]."""
    if np.isfinite(up):
        return f"gain margin {up:.3g} dB" + (f" up and {-down:.3g} dB down" if np.isfinite(down) else "")
    return "unlimited gain margin upwards" + (f", {-down:.3g} dB downwards" if np.isfinite(down) else "")


def crossings(loop: Loop) -> np.ndarray:
    """Frequencies [rad/s] at which an eigenvalue of L(jω) has modulus one, each as often as eigenvalues do."""
    return delay_margin(loop).omega


def delay_margin(loop: Loop, channel: int | None = None) -> DelayMargin:
    """Margins of ``loop`` against a delay common to all channels, or in one ``channel`` with the others as they are."""
    if isinstance(loop, Condensed):
        found = _of_condensed(loop) if channel is None else None
        return delay_margin(loop.dense(), channel) if found is None else found
    check_square(loop)
    if channel is not None:
        check_channel(loop, channel)
    if isinstance(loop, Delayed) and (loop.model.dt is not None or not np.any(loop.delays)):
        loop = loop.realised(0)  # exact
    response, model, fastest = _problem(loop, channel)
    top = np.inf if model.dt is None else np.pi / model.dt
    exact = 2 * model.states * model.channels + model.channels**2 <= LARGEST_PENCIL
    if exact:
        omega, lag, direction = unit_moduli(response, split_axis(shared_eigenvalues(model, real=False), top))
    else:
        known = _remembered(response)
        omega, lag, direction = unit_moduli(known, bracketed(known, model, fastest, top))
    at_zero = _without_lag(lag, direction)
    if isinstance(loop, Delayed):
        unstable, stuck = _with_fixed_delays(loop)
        gain = _bound_of_direct_gain(loop, channel)
    else:
        unstable, stuck = _count_unstable(loop.closed_poles(), loop.dt, omega[at_zero])
        gain = float(np.max(np.abs(at_top(model)), initial=0.0))
    gains = gain_omega = np.array([np.nan])
    if isinstance(loop, StateSpace) and not isinstance(loop, PeriodicModel):
        gains, gain_omega = gain_crossings(model, top) if exact else searched_gains(model, top)
    beyond = 0 if model.dt is None else int(np.sum(np.abs(at_top(model)) > 1.0))
    found = DelayMargin(
        omega,
        lag,
        direction,
        unstable_without_delay=unstable,
        stuck=stuck,
        on_limit=stuck or bool(np.any(at_zero)),
        high_frequency_gain=gain,
        gains=gains,
        gain_omega=gain_omega,
        response=response,
        dt=model.dt,
        beyond_one=beyond,
    )
    return lifted(loop, found) if isinstance(loop, PeriodicModel) and channel is None else found


# --- the loop to look at ----------------------------------------------------------------------------------------------


def _problem(loop: StateSpace | Delayed, channel: int | None) -> tuple[Response, StateSpace, float]:
    """Exact response, a model of the same size of eigenvalues (approximate for fixed delays), longest delay in it."""
    if isinstance(loop, StateSpace):
        model = loop if channel is None else loop.seen_from(channel)
        return model.response, model, 0.0
    kept = np.array(loop.delays)
    if channel is None:
        kept -= kept.min()  # a common delay turns the eigenvalues but leaves their moduli
    else:
        kept[channel] = 0.0
    model = loop.model
    if np.any(kept > 0):
        balanced, unit = well_scaled(model)
        reach = unit * np.max(unit_singular_values(balanced), initial=0.0) * kept.max()
        model = Delayed(model, kept).realised(int(1.2 * reach) + 24)
    if channel is None:
        return loop.response, model, kept.max()
    others = [i for i in range(loop.channels) if i != channel]

    def seen(omega: np.ndarray) -> np.ndarray:
        full = loop.response(omega)
        inner = np.eye(len(others)) + full[:, others][:, :, others]
        feed = np.linalg.solve(inner, full[:, others][:, :, [channel]])
        return np.asarray(full[:, [channel]][:, :, [channel]] - full[:, [channel]][:, :, others] @ feed)

    return seen, model.seen_from(channel), kept.max()


def _remembered(response: Response) -> Response:
    """The same response, computed once for each frequency: that of a large loop takes time."""
    known: dict[float, np.ndarray] = {}

    def recalled(omega: np.ndarray) -> np.ndarray:
        points = np.atleast_1d(omega).tolist()
        new = [w for w in dict.fromkeys(points) if w not in known]
        known.update(zip(new, response(np.array(new)) if new else (), strict=True))
        return np.array([known[w] for w in points])

    return recalled


def _with_fixed_delays(loop: Delayed) -> tuple[int, bool]:
    """Unstable roots with the fixed delays, one channel after the other, and if any is stuck on the limit."""
    channel = int(np.flatnonzero(loop.delays)[-1])
    before = np.array(loop.delays)
    before[channel] = 0.0
    margin = delay_margin(Delayed(loop.model, before), channel)
    count = margin.unstable_poles(loop.delays[channel])
    if np.isinf(count):
        raise HalfrealError(
            f"with the delay {loop.delays[channel]:.4g} s in channel {channel} the loop gain is ≥ 1 at high frequency "
            f"and infinitely many poles are unstable; there is no margin: lower D"
        )
    return int(count), margin.stuck


def _bound_of_direct_gain(loop: Delayed, channel: int | None) -> float:
    """Largest spectral radius of D over all phases of the channels, or a bound of it."""
    direct = loop.model.d
    kept = np.delete(loop.delays, channel) if channel is not None else loop.delays - loop.delays.min()
    if not np.any(kept):
        model = loop.model if channel is None else loop.model.seen_from(channel)
        return float(np.max(np.abs(np.linalg.eigvals(model.d))))
    bound = float(np.linalg.norm(matrix_balance(direct, permute=False)[0], 2))
    if bound >= 1.0:
        raise HalfrealError(
            f"with different delays in its channels the loop has a gain of up to {bound:.3g} at high frequency; "
            f"unless it is below 1, arbitrarily small changes of the delays may make the loop unstable: lower D"
        )
    return bound


def _of_condensed(loop: Condensed) -> DelayMargin | None:
    """Margins of a loop with a large part; None if they are to be asked of the whole model."""
    response = _remembered(loop.response)
    found = crossings_and_gains(loop, response)
    if found is None:
        return None
    (omega, lag, direction), gains, gain_omega, poles = found
    at_zero = _without_lag(lag, direction)
    unstable, stuck = _count_unstable(poles, loop.dt, omega[at_zero])
    last = np.abs(at_top(loop))
    return DelayMargin(
        omega,
        lag,
        direction,
        unstable_without_delay=unstable,
        stuck=stuck,
        on_limit=stuck or bool(np.any(at_zero)),
        high_frequency_gain=float(np.max(last, initial=0.0)),
        gains=gains,
        gain_omega=gain_omega,
        response=loop.response,
        dt=loop.dt,
        beyond_one=int(np.sum(last > 1.0)),
    )


def _without_lag(lag: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Which crossings need no delay; their lags become 0, or a full turn."""
    at_zero = np.minimum(lag, 2 * np.pi - lag) < ZERO_LAG
    lag[at_zero] = np.where(direction[at_zero] > 0, 0.0, 2 * np.pi)
    return np.asarray(at_zero)


def _count_unstable(closed: np.ndarray, dt: float | None, at_zero: np.ndarray) -> tuple[int, bool]:
    """How many of the ``closed`` loop's poles are unstable, and if any is on the limit, without those that cross at
    ``at_zero`` [rad/s]."""
    poles = growth_rates(closed, dt)
    limit = LIMIT * np.max(np.abs(poles), initial=0.0)
    growth = poles.real.copy()
    for omega in at_zero:
        for sign in (1, -1):
            growth[np.argmin(np.abs(poles - sign * 1j * omega))] = -np.inf
    return int(np.sum(growth > limit)), bool(np.any(np.abs(growth) <= limit))
