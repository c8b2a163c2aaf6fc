"""Margins of a loop that acts alike only every N ticks, on all its frequencies together.

A closed loop with a period of N ticks moves at the frequencies ω + 2πk/NΔt at once, as each tick of the period answers
in its own way (``periodic.py``).  With u(t_j) = U_j e^{jωt_j}, U_{j+N} = U_j, and in the same way x and y,

    X_{j+1} e^{jωΔt} = A_j X_j + B_j U_j,   Y_j = C_j X_j + D_j U_j        Y = T(ω) U,   N·m equations (lifting)

A further delay τ turns each of the frequencies by its own angle, ω_k being the one of ω + 2πk/NΔt below half the
sampling rate, and a factor g on the gain is the same for all:

    det(I + g F diag(e^{−jω_kτ}) F⁻¹ T(ω)) = 0                              F: discrete Fourier transform over j

Gains need no delay, and are those of a loop with the step NΔt and N·m channels.  Of delays the mean response L, the
part of T from ω to ω, shows nearly where the roots are, and Newton's method in ω and τ closes in on them.  That is not
taken on trust: with a shift register of whole ticks in it the closed loop must be stable before the critical delay and
unstable after it.  If it is not, as where a loop crosses over near half the slower rate, whole ticks of delay are tried
one after another, and the root is sought next to the first at which the loop is unstable.

Symbols: N ticks of the period, m channels, Δt tick, L loop transfer function in the sense of negative feedback.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..contracts.state_space import StateSpace
from ..errors import HalfrealError
from .crossings import LARGEST_PENCIL, gain_crossings, growth_rates
from .gain_search import searched_gains
from .periodic import PeriodicModel, TickMap, monodromy

if TYPE_CHECKING:
    from .margins import DelayMargin

CONVERGED = 1e-9
"""|1 + μ| up to which a root is found."""
FAR = 0.2
"""Relative change of frequency or lag beyond which it is another root."""
MOST_TICKS = 400
"""Of further delay that are tried one by one, where the mean response is no guide."""
LIMIT = 1e-9
"""Distance of |λ| from one, per tick, up to which a pole counts as lying on the stability limit."""
GRID, SLOWEST = 60, 1e-4
"""Frequencies at which the largest gain is looked for, from this part of half the slower rate on."""


def lifted_response(ticks: tuple[TickMap, ...], dt: float, omega: float) -> np.ndarray:
    """T(ω), (N m, N m)."""
    count, (n, m) = len(ticks), ticks[0].b.shape
    turn, inputs = np.exp(-1j * omega * dt), np.eye(count * m).reshape(count, m, count * m)
    state = np.zeros((n, count * m), dtype=complex)
    for tick, one in zip(ticks, inputs, strict=True):
        state = turn * (tick.a @ state + tick.b @ one)
    state = np.linalg.solve(np.eye(n) - turn**count * monodromy(ticks), state)
    outputs = []
    for tick, one in zip(ticks, inputs, strict=True):
        outputs.append(tick.c @ state + tick.d @ one)
        state = turn * (tick.a @ state + tick.b @ one)
    return np.concatenate(outputs)


def delayed(response: np.ndarray, count: int, dt: float, omega: float, delay: float) -> np.ndarray:
    """T(ω) with a delay [s] of all its outputs."""
    top = np.pi / dt
    frequencies = omega + 2 * np.pi * np.arange(count) / (count * dt)
    frequencies = top - np.mod(top - frequencies, 2 * top)  # −top < ω_k ≤ top
    spectrum = np.fft.fft(response.reshape(count, -1), axis=0)
    shifted = np.fft.ifft(np.exp(-1j * frequencies * delay)[:, None] * spectrum, axis=0)
    return np.asarray(shifted.reshape(response.shape))


def closed(ticks: tuple[TickMap, ...], gain: complex = 1.0, late: int = 0) -> np.ndarray:
    """The map of a whole period with the loop closed, with a factor on its gain and a delay of whole ticks."""
    n, m = ticks[0].b.shape
    maps = []
    for tick in ticks:
        if late == 0:
            maps.append(tick.a - tick.b @ np.linalg.solve(np.eye(m) + gain * tick.d, gain * tick.c))
            continue
        whole = np.zeros((n + late * m, n + late * m))
        whole[:n, :n], whole[:n, -m:] = tick.a, -gain * tick.b
        whole[n : n + m, :n], whole[n : n + m, -m:] = tick.c, -gain * tick.d
        whole[n + m :, n:-m] = np.eye((late - 1) * m)
        maps.append(whole)
    product = np.eye(len(maps[0]))
    for one in maps:
        product = one @ product
    return np.asarray(product)


def radius(ticks: tuple[TickMap, ...], gain: float = 1.0, late: int = 0) -> float:
    """Spectral radius of the closed loop over a period."""
    return float(np.abs(np.linalg.eigvals(closed(ticks, gain, late))).max(initial=0.0))


def lifted_model(ticks: tuple[TickMap, ...], dt: float) -> StateSpace:
    """All inputs of a period to all its outputs; ticks at which no one looks at the input are left out."""
    count, (n, m) = len(ticks), ticks[0].b.shape
    by_state, by_input, rows, direct = np.eye(n), np.zeros((n, count * m)), [], []
    for tick, one in zip(ticks, np.eye(count * m).reshape(count, m, count * m), strict=True):
        rows.append(tick.c @ by_state)
        direct.append(tick.c @ by_input + tick.d @ one)
        by_state, by_input = tick.a @ by_state, tick.a @ by_input + tick.b @ one
    c, d = np.concatenate(rows), np.concatenate(direct)
    seen = np.any(by_input != 0.0, axis=0) | np.any(d != 0.0, axis=0)
    return StateSpace(by_state, by_input[:, seen], c[seen], d[np.ix_(seen, seen)], count * dt)


def lifted(loop: PeriodicModel, mean: DelayMargin) -> DelayMargin:
    """The margins of a loop, of whose mean response some are known."""
    assert loop.dt is not None
    ticks, dt = loop.ticks, loop.dt
    model, period = lifted_model(ticks, dt), len(ticks) * dt
    small = 2 * model.states * model.channels + model.channels**2 <= LARGEST_PENCIL
    gains, gain_omega = (gain_crossings if small else searched_gains)(model, np.pi / period)
    rates = growth_rates(np.linalg.eigvals(closed(ticks)), period).real
    limit = LIMIT / dt
    known = replace(
        mean,
        unstable_without_delay=int(np.sum(rates > limit)),
        stuck=bool(np.any(np.abs(rates) <= limit)),
        on_limit=bool(np.any(np.abs(rates) <= limit)),
        gains=gains,
        gain_omega=gain_omega,
        beyond_one=0,
    )
    if not known.stable_without_delay:
        return known
    refined = [_crossover(ticks, dt, omega, lag) for omega, lag in zip(mean.omega, mean.lag, strict=True)]
    if mean.beyond_one == 0 and all(one is not None for one in refined):
        pairs = np.array(refined).reshape(-1, 2)
        found = replace(known, omega=pairs[:, 0], lag=pairs[:, 1])
        if _agrees(ticks, dt, found.critical_delay):
            return found
    return _searched(ticks, dt, known)


def _crossover(ticks: tuple[TickMap, ...], dt: float, omega: float, lag: float) -> tuple[float, float] | None:
    """The frequency [rad/s] and the lag of a delay that brings the loop to its limit, near given ones."""
    from scipy.optimize import root

    def residual(x: np.ndarray) -> list[float]:
        delay = x[1] / x[0]
        matrix = delayed(lifted_response(ticks, dt, omega * x[0]), len(ticks), dt, omega * x[0], delay / omega)
        values = np.linalg.eigvals(matrix) + 1.0
        nearest = values[int(np.argmin(np.abs(values)))]
        return [nearest.real, nearest.imag]

    start = np.array([1.0, lag if lag > 0.0 else 2.0 * np.pi])
    end = root(residual, start, tol=1e-13).x
    if max(map(abs, residual(end))) > CONVERGED or np.abs(end / start - 1.0).max() > FAR:
        return None
    return omega * float(end[0]), float(end[1])


def _agrees(ticks: tuple[TickMap, ...], dt: float, delay: float) -> bool:
    """Whether the loop closed with a shift register loses its stability at this delay [s], and not before."""
    if not math.isfinite(delay):
        return largest_gain(ticks, dt) < 1.0
    last = math.ceil(delay / dt - 1e-6) - 1
    before = {min(late, last) for late in (1, len(ticks), last // 2, last)}
    return all(radius(ticks, late=late) < 1.0 for late in before) and radius(ticks, late=last + 2) > 1.0


def largest_gain(ticks: tuple[TickMap, ...], dt: float) -> float:
    """Bound of |μ| of the loop with any delay, on a grid of frequencies: the spectral radius of |F T F⁻¹|, as a delay
    is diagonal there, with entries of modulus one."""
    count, m = len(ticks), ticks[0].b.shape[1]
    transform = np.kron(np.fft.fft(np.eye(count)), np.eye(m))
    sizes = []
    for omega in np.geomspace(SLOWEST, 1.0, GRID) * np.pi / (count * dt):
        harmonics = transform @ lifted_response(ticks, dt, omega) @ transform.conj().T / count
        sizes.append(float(np.abs(np.linalg.eigvals(np.abs(harmonics))).max()))
    return max(sizes)


def _searched(ticks: tuple[TickMap, ...], dt: float, known: DelayMargin) -> DelayMargin:
    """With the first crossover only, from the first whole tick of delay at which the closed loop is unstable."""
    for late in range(1, MOST_TICKS + 1):
        values = np.linalg.eigvals(closed(ticks, late=late))
        worst = values[int(np.argmax(np.abs(values)))]
        if abs(worst) <= 1.0 + LIMIT:
            continue
        # the eigenvalue tells its frequency up to whole turns in a period: the crossover is at one of them
        base, turn = abs(float(np.angle(worst))) / (len(ticks) * dt), 2 * np.pi / (len(ticks) * dt)
        for omega in (base, *(abs(sign * base + k * turn) for k in range(1, len(ticks) // 2 + 1) for sign in (1, -1))):
            for share in (0.5, 0.0, 1.0):
                one = _crossover(ticks, dt, omega, omega * (late - share) * dt) if omega > 0.0 else None
                if one is not None and late - 1.0 - 1e-6 <= one[1] / one[0] / dt <= late + 1e-6:
                    return replace(known, omega=np.array(one[:1]), lag=np.array(one[1:]), direction=np.ones(1, int))
        break
    else:
        raise HalfrealError(
            f"this loop with two sampling rates is stable up to {MOST_TICKS} ticks of additional delay; beyond that "
            "it is not known"
        )
    raise HalfrealError(
        f"this loop with two sampling rates becomes unstable between {late - 1} and {late} ticks of additional delay; "
        "the exact value was not found"
    )
