"""How much delay, phase lag and gain a loop bears: exact margins, from eigenvalues instead of a frequency grid.

A loop of negative feedback with the extra delay τ in every channel has the characteristic equation

    det(I + L(s) e^{−sτ}) = 0

A root can only pass the imaginary axis at s = jω where an eigenvalue μ of L(jω) has modulus one, and does so at the
delays with ωτ = arg μ + π + 2πn.  With d ln μ/dω taken along the axis, Re(dτ/ds) = −(1/ω) d ln|μ|/dω there: a root
moves to the right as the delay grows if |μ| falls with ω and to the left if it rises, whichever n (the direct method:
Walton, Marshall, IEE Proc. D 134 (1987) 101–107, doi 10.1049/ip-d.1987.0018).  Starting from the poles without delay
and stepping through these crossings counts the unstable roots at any delay.

*Crossings.*  μ is unimodular if μ(jω) μ̄(jω) = 1, and L(−s) has at s = jω the eigenvalues μ̄.  The frequencies are hence
among the imaginary roots of

    det(I − L(s) ⊗ L(−s)) = 0                                            (a)

which, with L = C (sI − A)⁻¹B + D twice, is a generalised eigenvalue problem of size 2nm + m² (n states, m channels).
For m = 1 it is the Hamiltonian problem of level one.  Kept as a pencil it neither inverts I − D⊗D nor minds a
singular A; it is the matrix-pencil method of Chen, Gu, Nett (Syst. Control Lett. 26 (1995) 107–117,
doi 10.1016/0167-6911(94)00108-9) written in s instead of e^{−sτ}, whose size is 2n² and which has no room for D.  A
sampled loop has L(1/z) for L(−s) and z = e^{jωT}: no bilinear map, so no trouble with a pole at z = −1.

No eigenvalue is judged by its distance from the axis alone: the frequencies of all those near it only split the axis
into pieces, and the sign of ln|μ| in each, μ ordered by modulus (each ordered modulus is continuous), tells where it
passes zero.  The root is then closed in on by Brent's method on L itself.  A pair of crossings closer than rounding can
tell shows as one frequency where |μ| = 1 touches.

*Large loops* (2nm + m² above ``LARGEST_PENCIL``).  |μ| = 1 needs σ_min ≤ 1 ≤ σ_max; the frequencies where a singular
value is one come from a pencil of size 2n + m and bracket the search, inside which the axis is split adaptively.

*Gain.*  det(I + kL(jω)) = 0 with real k > 0 needs a real μ = −1/k: imaginary roots of det(L(s)⊗I − I⊗L(−s)) = 0, and
ω = 0 and ∞ (half the sampling rate), where L is real.

*Fixed delays* in single channels are put into the pencil as Chebyshev models (``state_space.transport``) whose order
covers the highest frequency with σ_max ≥ 1; all decisions are then taken on the exact response.

Symbols: L loop transfer function, μ its eigenvalues, σ its singular values, τ delay, ω frequency [rad/s], n states,
m channels, D direct term.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import eigvals, matrix_balance
from scipy.optimize import brentq

from ..errors import HalfrealError
from ..figures import BAD, GOOD, styled
from .state_space import Delayed, StateSpace, check_channel, check_square, nearly_singular

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LARGEST_PENCIL = 400
NOISE = 1e-11
"""|ln|μ|| up to which its sign is not trusted."""
NEAR_AXIS = 0.05
"""|Re s|/|s| up to which an eigenvalue splits the axis; far more than any rounding moves it."""
ZERO_LAG = 1e-7
"""Lag [rad] up to which a crossing counts as one without delay."""
LIMIT = 1e-11
"""Growth rate, as a part of the fastest pole, up to which a pole counts as lying on the stability limit."""

TINY = 1e-10
"""Modulus up to which a loop gain counts as none."""

Response = Callable[[np.ndarray], np.ndarray]
Loop = StateSpace | Delayed


@dataclass(frozen=True)
class DelayMargin:
    """Crossings of a loop, one entry per crossing eigenvalue, and what follows for a delay added to the loop."""

    omega: np.ndarray
    """Frequencies [rad/s] at which an eigenvalue of L has modulus one."""
    lag: np.ndarray
    """Phase lag [rad], 0 to 2π, that takes that eigenvalue to −1."""
    direction: np.ndarray
    """1: a pair of poles becomes unstable there as the delay grows; −1: stable; 0: it touches the axis."""
    unstable_without_delay: int
    """Unstable closed-loop poles without (additional) delay."""
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
        return np.where(self.lag > 0, self.lag, 2 * np.pi) / self.omega

    @property
    def phases_deg(self) -> np.ndarray:
        """Phase lag [deg] that each crossing bears."""
        return np.degrees(self.lag)

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
        """Increase of the gain, the same in all channels, up to instability; NaN if the loop is not stable."""
        return self._gain(self.gains[self.gains > 1.0], np.min, np.inf)

    @property
    def gain_reduction_db(self) -> float:
        """Decrease (negative) of the gain down to instability, −inf if there is none; NaN if the loop is not stable."""
        return self._gain(self.gains[self.gains < 1.0], np.max, -np.inf)

    def _gain(self, gains: np.ndarray, nearest: Callable[[np.ndarray], Any], without: float) -> float:
        if not self.stable_without_delay or np.any(np.isnan(self.gains)):
            return np.nan
        return float(20 * np.log10(nearest(gains))) if gains.size else without

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
            stable = np.array([self.unstable_poles(delay) == 0 for delay in delays])
            stable[0] &= self.stable_without_delay
            edges = np.flatnonzero(np.diff(np.concatenate([[False], stable, [False]]).astype(int)))
            return delays[edges.reshape(-1, 2) - [0, 1]]
        if not self.stable_for_small_delay:
            return np.zeros((0, 2))
        turns = [lag / w + np.arange(int(w * longest / (2 * np.pi)) + 1) * 2 * np.pi / w for w, lag in self._waves()]
        events = np.unique(np.concatenate([[0.0], *turns, [longest]]))
        events = events[events <= longest]
        stable_rows: list[list[float]] = []
        for low, high in pairwise(events):
            if self.unstable_poles((low + high) / 2) == 0 and not self._always_on_limit():
                touching = np.any(self.direction == 0)
                if stable_rows and stable_rows[-1][1] == low and not touching:
                    stable_rows[-1][1] = high
                else:
                    stable_rows.append([low, high])
        return np.array(stable_rows).reshape(-1, 2)

    def _waves(self) -> zip[tuple[float, float]]:
        return zip(self.omega, self.lag, strict=True)

    def _always_on_limit(self) -> bool:
        """The pole on the limit stays there: no crossing without delay moves it."""
        return self.on_limit and not np.any((self.lag == 0.0) | (self.lag == 2 * np.pi))

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
            return f"{start}, and a delay does not stabilise it"
        if not self.stable_for_small_delay:
            return (
                f"stable without delay but unstable for every delay, however small: at high frequency the loop gain is "
                f"{gain:.3g}, not below 1, and any delay turns the phase through −180° there; lower the direct term "
                f"(less specimen mass, fewer modes kept, a low-pass filter)"
            )
        delay, hz = self.critical_delay, self.critical_frequency_hz
        margins = f"phase margin {self.phase_margin_deg:.4g}°, gain margin {self.gain_margin_db:.3g} dB"
        if np.isinf(delay):
            return f"stable for every delay: no loop gain reaches 1 ({margins})"
        if self.beyond_one and self.dt is not None:
            return (
                f"unstable from a delay of {round(delay / self.dt)} samples ({1e3 * delay:.4g} ms) on: the loop gain "
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


def crossings(loop: Loop) -> np.ndarray:
    """Frequencies [rad/s] at which an eigenvalue of L(jω) has modulus one, each as often as eigenvalues do."""
    return delay_margin(loop).omega


def delay_margin(loop: Loop, channel: int | None = None) -> DelayMargin:
    """Margins of ``loop`` against a delay common to all channels, or in one ``channel`` with the others as they are."""
    check_square(loop)
    if channel is not None:
        check_channel(loop, channel)
    if isinstance(loop, Delayed) and loop.model.dt is not None:
        loop = loop.realised(0)  # exact
    response, model, fastest = _problem(loop, channel)
    top = np.inf if model.dt is None else np.pi / model.dt
    exact = 2 * model.states * model.channels + model.channels**2 <= LARGEST_PENCIL
    split = _split(_shared_eigenvalues(model, real=False), top) if exact else _bracketed(response, model, fastest, top)
    omega, lag, direction = _unit_moduli(response, split)
    at_zero = np.minimum(lag, 2 * np.pi - lag) < ZERO_LAG
    lag[at_zero] = np.where(direction[at_zero] > 0, 0.0, 2 * np.pi)
    if isinstance(loop, Delayed):
        unstable, on_limit = _with_fixed_delays(loop), bool(np.any(at_zero))
        gain = _bound_of_direct_gain(loop, channel)
    else:
        unstable, on_limit = _count_unstable(loop, omega[at_zero])
        gain = float(np.max(np.abs(_at_top(model)), initial=0.0))
    unknown = np.array([np.nan])
    computed = exact and isinstance(loop, StateSpace)
    gains, gain_omega = _gain_crossings(model, top) if computed else (unknown, unknown)
    beyond = 0 if model.dt is None else int(np.sum(np.abs(_at_top(model)) > 1.0))
    return DelayMargin(omega, lag, direction, unstable, on_limit, gain, gains, gain_omega, response, model.dt, beyond)


# --- the loop to look at ----------------------------------------------------------------------------------------------


def _problem(loop: Loop, channel: int | None) -> tuple[Response, StateSpace, float]:
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
        balanced, unit = _balanced(model)
        reach = unit * np.max(_unit_singular_values(balanced), initial=0.0) * kept.max()
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


def _with_fixed_delays(loop: Delayed) -> int:
    """Unstable roots with the fixed delays, put in one channel after the other."""
    late = np.flatnonzero(loop.delays)
    if late.size == 0:
        return _count_unstable(loop.model, np.zeros(0))[0]
    before = np.array(loop.delays)
    before[late[-1]] = 0.0
    count = delay_margin(Delayed(loop.model, before), int(late[-1])).unstable_poles(loop.delays[late[-1]])
    if np.isinf(count):
        raise HalfrealError(
            f"with the delay {loop.delays[late[-1]]:.4g} s in channel {late[-1]} alone the loop has a gain ≥ 1 at high "
            f"frequency and endlessly many unstable poles; no margin is left to compute"
        )
    return int(count)


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


def _count_unstable(model: StateSpace, at_zero: np.ndarray) -> tuple[int, bool]:
    """Unstable closed-loop poles without those that cross at ``at_zero`` [rad/s]; if any is on the limit."""
    poles = _rates(np.linalg.eigvals(model.closed()), model.dt)
    limit = LIMIT * np.max(np.abs(poles), initial=0.0)
    growth = poles.real.copy()
    for omega in at_zero:
        for sign in (1, -1):
            growth[np.argmin(np.abs(poles - sign * 1j * omega))] = 0.0
    return int(np.sum(growth > limit)), bool(np.any(np.abs(growth) <= limit))


def _rates(values: np.ndarray, dt: float | None) -> np.ndarray:
    """s of eigenvalues, ln z / T if sampled; poles at z = 0 are left out."""
    return values if dt is None else np.log(values[np.abs(values) > 1e-14].astype(complex)) / dt


def _at_top(model: StateSpace) -> np.ndarray:
    """Eigenvalues of L for ω → ∞ or at half the sampling rate."""
    if model.dt is None:
        return np.asarray(np.linalg.eigvals(model.d))
    return _eigenvalues(model.response, np.array([np.pi / model.dt]))[0]


# --- frequencies at which an eigenvalue of L is unimodular or real ----------------------------------------------------


def _balanced(model: StateSpace) -> tuple[StateSpace, float]:
    """The same eigenvalues of L with states and channels scaled alike, in a time unit of its own; that unit."""
    n = model.states
    matrix = matrix_balance(np.block([[model.a, model.b], [model.c, model.d]]), permute=False)[0]
    size = np.abs(model.poles())
    size = size[size > 0]
    unit = 1.0 if model.dt is not None or size.size == 0 else float(np.exp(np.mean(np.log(size))))
    root = np.sqrt(unit)
    return StateSpace(
        matrix[:n, :n] / unit, matrix[:n, n:] / root, matrix[n:, :n] / root, matrix[n:, n:], model.dt
    ), unit


def _independent(model: StateSpace) -> StateSpace:
    """The same non-zero eigenvalues of L without channels that combine others, which would make the pencil singular."""
    a, b, c, d = model.a, model.b, model.c, model.d
    for _ in range(2):
        # L = U L' has the non-zero eigenvalues of L' U; then the same for the transposed loop.
        basis, singular, _rest = np.linalg.svd(np.hstack([c, d]), full_matrices=False)
        basis = basis[:, singular > 1e-13 * np.max(singular, initial=0.0)]
        b, c, d = b @ basis, basis.T @ c, basis.T @ d @ basis
        a, b, c, d = a.T, c.T, b.T, d.T
    return StateSpace(a, b, c, d, model.dt)


def _shared_eigenvalues(model: StateSpace, real: bool) -> np.ndarray:
    """Frequencies [rad/s] near which an eigenvalue of L is unimodular, or ``real``."""
    model, unit = _balanced(model)
    model = _independent(model)
    one = np.eye(model.channels)
    a1, b1, c1, d1 = (np.kron(x, one) for x in (model.a, model.b, model.c, model.d))
    a2, b2, c2, d2 = (np.kron(one, x) for x in (model.a, model.b, model.c, model.d))
    if real:
        first, last = [a1, np.zeros_like(a1), b1], [c1, -c2, d1 - d2]
    else:
        first, last = [a1, b1 @ c2, b1 @ d2], [c1, d1 @ c2, d1 @ d2 - np.eye(len(d1))]
    return unit * _near_axis(first, [np.zeros_like(a2), a2, b2], last, model.dt)


def _unit_singular_values(model: StateSpace) -> np.ndarray:
    """Frequencies near which a singular value of L is one."""
    a, b, c, d = model.a, model.b, model.c, model.d
    first, last = [a, np.zeros_like(a), b], [d.T @ c, b.T, d.T @ d - np.eye(len(d))]
    return _near_axis(first, [c.T @ c, a.T, c.T @ d], last, model.dt)


def _near_axis(first: list[Any], second: list[Any], last: list[Any], dt: float | None) -> np.ndarray:
    """Frequencies of the roots of s x₁ = first, −s x₂ = second (or z · second = x₂), 0 = last, each in (x₁, x₂, u)."""
    n, m = np.shape(first[2])
    eye, none, side = np.eye(n), np.zeros((n, n)), np.zeros((n, m))
    left, right = ([-block for block in second], [none, eye, side]) if dt is None else ([none, eye, side], second)
    matrix = np.block([first, left, last])
    weight = np.block([[eye, none, side], right, [np.zeros((m, n)), np.zeros((m, n)), np.zeros((m, m))]])
    alpha, beta = eigvals(matrix, weight, homogeneous_eigvals=True)
    finite = (np.abs(beta) > 1e-14 * np.abs(alpha)) & (np.abs(alpha) > (0.0 if dt is None else 1e-14 * np.abs(beta)))
    rates = _rates(alpha[finite] / beta[finite], dt)
    size = np.abs(rates)
    close = np.abs(rates.real) <= NEAR_AXIS * size + 1e-5 * (np.median(size) if size.size else 0.0)
    return np.asarray(np.unique(np.abs(rates.imag[close])))


def _split(frequencies: np.ndarray, top: float) -> np.ndarray:
    """The frequencies and points between, below and above them, up to ``top``."""
    inside = np.unique(frequencies[(frequencies > 0) & (frequencies < top)])
    if inside.size == 0:
        return inside
    above = 2 * inside[-1] if np.isinf(top) else (inside[-1] + top) / 2
    return np.unique(np.concatenate([inside, (inside[1:] + inside[:-1]) / 2, [inside[0] / 2, above]]))


def _bracketed(response: Response, model: StateSpace, fastest: float, top: float) -> np.ndarray:
    """Points that split the axis finely enough, where the singular values leave room for |μ| = 1."""
    balanced, unit = _balanced(model)
    ones, poles = _unit_singular_values(balanced), _rates(balanced.poles(), model.dt)
    known = np.concatenate([ones, np.abs(poles)])
    known = known[known > 0] if np.isinf(top) else top * np.array([1e-3, 1e-2])
    lowest, highest = 1e-3 * np.min(known, initial=1.0), min(100 * np.max(known, initial=1.0), top * (1 - 1e-9))
    edges = np.unique(np.concatenate([[lowest], ones[(ones > lowest) & (ones < highest)], [highest]]))
    seeds = np.add.outer(
        np.array([-3, -1, -0.3, 0, 0.3, 1, 3]) * np.abs(poles.real)[:, None], np.abs(poles.imag)
    ).ravel()
    points = [unit * _split(ones, top / unit)]  # a normal L has |μ| = σ, and crosses at the edges themselves
    for low, high in pairwise(edges):
        singular = np.linalg.svd(balanced.response(np.array([(low + high) / 2])), compute_uv=False)
        if singular.max() >= 1.0 >= singular.min():
            steps = int((high - low) * unit * fastest) + 2
            start = [np.geomspace(low, high, 40), np.linspace(low, high, steps), seeds[(seeds > low) & (seeds < high)]]
            points.append(refined(lambda w: _log_moduli(response, w), unit * np.unique(np.concatenate(start))))
    return np.unique(np.concatenate(points))


def refined(function: Response, points: np.ndarray) -> np.ndarray:
    """Points added until no zero or touch of the functions (columns) can hide between two of them."""
    values = function(points)
    done = np.zeros(len(points) - 1, dtype=bool)
    for _ in range(40):
        todo = np.flatnonzero(~done)
        if todo.size == 0:
            break
        middle = (points[todo] + points[todo + 1]) / 2
        found = function(middle)
        bend = np.abs(found - (values[todo] + values[todo + 1]) / 2)
        least = np.minimum(np.minimum(np.abs(found), np.abs(values[todo])), np.abs(values[todo + 1]))
        good = np.all((bend <= 0.25 * least) | (bend < 1e-7), axis=1)
        points, values = np.insert(points, todo + 1, middle), np.insert(values, todo + 1, found, axis=0)
        done = np.insert(done, todo, False)
        fresh = todo + np.arange(todo.size)
        done[fresh] = done[fresh + 1] = good
    return points


def _eigenvalues(response: Response, omega: np.ndarray) -> np.ndarray:
    """Eigenvalues of L(jω), largest modulus first; (len(ω), m)."""
    try:
        matrices = response(omega)
    except np.linalg.LinAlgError:  # exactly on a pole
        matrices = response(omega * (1 + 1e-9) + 1e-300)
    values = np.linalg.eigvals(matrices)
    return np.asarray(np.take_along_axis(values, np.argsort(-np.abs(values), axis=1, kind="stable"), axis=1))


def _log_moduli(response: Response, omega: np.ndarray) -> np.ndarray:
    return np.asarray(np.log(np.maximum(np.abs(_eigenvalues(response, np.atleast_1d(omega))), 1e-300)))


def _one_modulus(response: Response, which: int, omega: float) -> float:
    return float(_log_moduli(response, np.array([omega]))[0, which])


def _unit_moduli(response: Response, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """ω, lag and direction of every crossing that the ``points`` separate."""
    rows: list[tuple[float, int, int]] = []
    values = _log_moduli(response, points) if points.size else np.zeros((0, 0))
    for which, column in enumerate(values.T):
        for a, b in pairwise(np.flatnonzero(np.abs(column) > NOISE)):
            if column[a] * column[b] < 0:
                root = _root(partial(_one_modulus, response, which), points[a], points[b])
                rows.append((root, which, int(np.sign(column[a]))))
            elif b > a + 1:
                rows.append((points[a + 1 + np.argmin(np.abs(column[a + 1 : b]))], which, 0))
    rows.sort()
    omega = np.array([row[0] for row in rows], dtype=float)
    for i in range(1, len(omega)):  # equal ones exactly equal, so that they pick different eigenvalues
        if omega[i] - omega[i - 1] <= 1e-12 * omega[i]:
            omega[i] = omega[i - 1]
    values = _eigenvalues(response, omega) if rows else np.zeros((0, 1))
    at = np.array([values[i, which] for i, (_, which, _) in enumerate(rows)], dtype=complex)
    lag = np.mod(np.angle(at) + np.pi, 2 * np.pi)
    return omega, lag, np.array([row[2] for row in rows], dtype=int)


def _gain_crossings(model: StateSpace, top: float) -> tuple[np.ndarray, np.ndarray]:
    """Factors k > 0 with det(I + kL(jω)) = 0 and their ω."""
    found = [(value, top) for value in _at_top(model)]
    if not nearly_singular(model.a if model.dt is None else model.a - np.eye(model.states)):
        found += [(value, 0.0) for value in _eigenvalues(model.response, np.zeros(1))[0]]
    frequencies = _shared_eigenvalues(model, real=True)
    if model.channels == 1:
        points = _split(frequencies, top)
        values = _eigenvalues(model.response, points)[:, 0] if points.size else points
        sine = values.imag / np.maximum(np.abs(values), 1e-300)
        for a, b in pairwise(np.flatnonzero(np.abs(sine) > 1e-9)):
            if sine[a] * sine[b] < 0:
                root = _root(lambda w: float(model.response(np.array([w]))[0, 0, 0].imag), points[a], points[b])
                found.append((model.response(np.array([root]))[0, 0, 0], root))
    else:
        for start in frequencies[(frequencies > 0) & (frequencies < top)]:
            for value in _eigenvalues(model.response, np.array([start]))[0]:
                if value.real < 0 and abs(value.imag) < NEAR_AXIS * abs(value):
                    found.append(_to_real(model, start, value))
    rows = {(float(-1.0 / v.real), float(w)) for v, w in found if v.real < -TINY and abs(v.imag) < 1e-8 * abs(v)}
    ordered = np.array(sorted(rows)).reshape(-1, 2)
    if len(ordered):  # the same one found from several starts
        same = np.isclose(ordered[1:], ordered[:-1], rtol=1e-9, atol=0.0).all(axis=1)
        ordered = ordered[np.append(True, ~same)]
    return ordered[:, 0], ordered[:, 1]


def _to_real(model: StateSpace, omega: float, value: complex) -> tuple[complex, float]:
    """Newton's method from a frequency at which the eigenvalue ``value`` of L is nearly real to where it is."""
    start = omega
    for _ in range(30):
        step = 1e-6 * omega
        values = _eigenvalues(model.response, omega + np.array([-step, 0.0, step]))
        below, value, above = (row[np.argmin(np.abs(row - value))] for row in values)
        slope = (above.imag - below.imag) / (2 * step)
        change = -value.imag / slope if slope else 0.0
        if abs(change) < 1e-14 * omega or abs(omega + change - start) > NEAR_AXIS * start:
            break
        omega += change
    return value, omega


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    return float(brentq(function, low, high, xtol=1e-300, rtol=4 * np.finfo(float).eps, maxiter=500))
