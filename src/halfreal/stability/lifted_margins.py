"""Margins of a loop that acts alike only every N ticks, on all its frequencies together.

A closed loop with a period of N ticks moves at the frequencies ω + 2πk/NΔt at once, as each tick of the period answers
in its own way (``periodic.py``).  With u(t_j) = U_j e^{jωt_j}, U_{j+N} = U_j, and likewise x and y,

    X_{j+1} e^{jωΔt} = A_j X_j + B_j U_j,   Y_j = C_j X_j + D_j U_j        Y = T(ω) U,   N·m equations (lifting)

A further delay τ turns each of the frequencies by its own angle, ω_k being the one of ω + 2πk/NΔt below half the
sampling rate, and a factor g on the gain is the same for all:

    det(I + g F diag(e^{−jω_kτ}) F⁻¹ T(ω)) = 0                              F: discrete Fourier transform over j

The mean response L, the part of T from ω to ω, gives where its roots are nearly; each is then closed in on by Newton's
method in ω and τ, or in ω and g.  Where that leads is not taken on trust: the loop closed with a shift register must be
stable one tick before the critical delay and unstable one tick after it, and likewise on both sides of a critical gain.

Symbols: N ticks of the period, m channels, Δt tick, L loop transfer function in the sense of negative feedback.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import HalfrealError
from .periodic import PeriodicModel, TickMap, monodromy

if TYPE_CHECKING:
    from .margins import DelayMargin

CONVERGED = 1e-9
"""|1 + μ| up to which a root is found."""
FAR = 0.2
"""Relative change of frequency, delay or gain beyond which it is another root."""
NEXT = 2.0
"""Times the nearest critical gain, up to which others are looked at too."""
BESIDE = 1e-3
"""Relative distance from a critical gain at which the loop is tried on both sides."""


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


def closed(ticks: tuple[TickMap, ...], gain: float = 1.0, late: int = 0) -> np.ndarray:
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


def lifted(loop: PeriodicModel, mean: DelayMargin) -> DelayMargin:
    """The margins of a loop from those of its mean response."""
    assert loop.dt is not None
    ticks, dt, count = loop.ticks, loop.dt, len(loop.ticks)

    def late(omega: float, lag: float) -> complex:
        return _nearest(delayed(lifted_response(ticks, dt, omega), count, dt, omega, lag / omega), -1.0)

    def louder(omega: float, log_gain: float) -> complex:
        gain = math.exp(log_gain)
        return gain * _nearest(lifted_response(ticks, dt, omega), -1.0 / gain)

    found = [
        _root(late, omega, lag if lag > 0.0 else 2 * np.pi) for omega, lag in zip(mean.omega, mean.lag, strict=True)
    ]
    gains = []
    for omega, gain in _nearest_gains(mean):
        gains.append(_root(louder, omega, math.log(gain), real=omega in (0.0, np.pi / dt)))
    if any(one is None for one in (*found, *gains)):
        raise HalfrealError("a crossover was not found on all frequencies of a loop that is sampled at two rates")
    kept = np.array([(one[0], math.exp(one[1])) for one in gains if one is not None]).reshape(-1, 2)
    values = np.linalg.eigvals(closed(ticks))
    rates = np.log(np.maximum(np.abs(values), 1e-300)) / (count * dt)
    limit = 1e-9 / dt
    result = replace(
        mean,
        omega=np.array([one[0] for one in found if one is not None]),
        lag=np.array([one[1] for one in found if one is not None]),
        unstable_without_delay=int(np.sum(rates > limit)),
        stuck=bool(np.any(np.abs(rates) <= limit)),
        on_limit=bool(np.any(np.abs(rates) <= limit)),
        gains=kept[:, 1],
        gain_omega=kept[:, 0],
    )
    _tried(ticks, dt, result)
    return result


def _tried(ticks: tuple[TickMap, ...], dt: float, margin: DelayMargin) -> None:
    """Raise an error if the closed loop does not change its mind where the margins say so."""
    if not margin.stable_without_delay:
        return
    delay, up = margin.critical_delay, margin.gain_margin_db
    last = math.ceil(delay / dt) - 1 if math.isfinite(delay) else len(ticks)
    right = radius(ticks, late=last) < 1.0
    if math.isfinite(delay):
        right &= radius(ticks, late=last + 2) > 1.0
    if math.isfinite(up):
        gain = 10.0 ** (up / 20.0)
        right &= radius(ticks, gain * (1.0 - BESIDE)) < 1.0 < radius(ticks, gain * (1.0 + BESIDE))
    if not right:
        raise HalfrealError(
            f"the margins of a loop that is sampled at two rates, {1e3 * delay:.4g} ms and {up:.3g} dB, do not agree "
            "with the same loop closed with that delay and gain"
        )


def _nearest_gains(mean: DelayMargin) -> list[tuple[float, float]]:
    """Frequencies and critical gains of the mean response, those nearest to 1 above and below."""
    logs = np.log(mean.gains[np.isfinite(mean.gains)])
    omega = mean.gain_omega[np.isfinite(mean.gains)]
    above, below = np.min(logs[logs > 0.0], initial=np.inf), np.max(logs[logs < 0.0], initial=-np.inf)
    near = (logs <= above + math.log(NEXT)) & (logs >= below - math.log(NEXT))
    return [(float(w), math.exp(log)) for w, log in zip(omega[near], logs[near], strict=True)]


def _nearest(matrix: np.ndarray, value: complex) -> complex:
    """The eigenvalue nearest to a value."""
    values = np.linalg.eigvals(matrix)
    return complex(values[int(np.argmin(np.abs(values - value)))])


def _root(
    function: Callable[[float, float], complex], first: float, second: float, real: bool = False
) -> tuple[float, float] | None:
    """Where a function of two numbers is −1, near given ones; of one number, the second, where it is ``real``."""
    from scipy.optimize import root

    def residual(x: np.ndarray) -> list[float]:
        value = function(first * x[0] if not real else first, second + x[-1]) + 1.0
        return [value.real] if real else [value.real, value.imag]

    start = np.array([0.0]) if real else np.array([1.0, 0.0])
    answer = root(residual, start, tol=1e-13).x
    if max(map(abs, residual(answer))) > CONVERGED or np.abs(answer - start).max() > FAR:
        return None
    return (first if real else first * float(answer[0])), second + float(answer[-1])
