"""Factors on the gain of a large loop that put a pole on the limit, from its characteristic loci.

    det(I + k L(jω)) = 0,  k > 0,   where an eigenvalue of L(jω) is μ = −1/k

The pencil of ``crossings`` that has these frequencies as eigenvalues grows with states times channels: 3156 for a wing
on a table of six axes.  Here the loci μ_i(ω) are followed over ω instead, on points that are added until no locus left
of the imaginary axis turns or grows by more than ``TURN`` between two of them.  Where one passes the real axis, the
root is closed in on.

A grid may miss something, and is not trusted alone: the poles of the closed loop, eigenvalues of
A − B k (I + kD)⁻¹ C, are counted between every two factors found, from 1 up and from 1 down, until they show that the
loop is unstable.  Where they show it before the loci do, the factor is found by bisection.

Symbols: L loop transfer function, μ its eigenvalues, k factor on all its channels, ω frequency [rad/s].
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..contracts.state_space import StateSpace
from .condensed import Condensed
from .crossings import at_top, growth_rates
from .matching import assigned

TURN = 0.25
"""Largest step of ln μ between neighbouring points of a locus."""
SMALL = 1e-4
"""Part of the largest gain, or of one, below which a locus is not followed: 80 dB."""
MOST_POINTS = 4000
ROUNDS = 12
CLOSE = 1e-12
"""Width of a bracket, as a part of its place, at which a root counts as found."""
REAL = 1e-6
"""Imaginary part of an eigenvalue there, as a part of it, up to which it is real."""
BESIDE = 1e-6
"""How far next to a factor, as a part of it, poles are counted."""


def searched_gains(model: StateSpace | Condensed, top: float) -> tuple[np.ndarray, np.ndarray]:
    """Factors k > 0 with det(I + kL(jω)) = 0 and their ω, up to 80 dB from 1."""
    points, values = loci(model, top)
    least = SMALL * min(1.0, float(np.abs(values).max(initial=0.0)))
    found = [(value, top) for value in at_top(model)]
    if not model.integrates():
        found += [(value, 0.0) for value in _eigenvalues(model, np.zeros(1))[0]]
    for i in range(len(points) - 1):
        for before, after in zip(values[i], values[i + 1], strict=True):
            left = before.real < 0.0 and after.real < 0.0 and min(abs(before), abs(after)) > least
            if left and before.imag * after.imag < 0.0:
                passing = closed_in(model, (points[i], before), (points[i + 1], after))
                found += [] if passing is None else [passing]
    rows = {(float(-1.0 / v.real), float(w)) for v, w in found if v.real < -least and abs(v.imag) < 1e-8 * abs(v)}
    rows |= missed(model, sorted(gain for gain, _ in rows), 1.0 / least if least else 1.0)
    ordered = np.array(sorted(rows)).reshape(-1, 2)
    return ordered[:, 0], ordered[:, 1]


def loci(model: StateSpace | Condensed, top: float) -> tuple[np.ndarray, np.ndarray]:
    """Points ω and the eigenvalues of L(jω) there, (points, channels), each column following one locus."""
    poles = growth_rates(model.poles(), model.dt)
    poles = poles[np.abs(poles) > 0.0]
    size = np.abs(poles)
    high = top * (1 - 1e-9) if np.isfinite(top) else 1e4 * float(size.max(initial=1.0))
    low = 1e-2 * min(float(size.min(initial=1.0)), 1e-2 * high)
    widths = np.array([-3.0, -1.0, -0.3, 0.0, 0.3, 1.0, 3.0])
    around = np.abs(poles.imag)[:, None] + np.abs(poles.real)[:, None] * widths
    seeds = around[(around > low) & (around < high)]
    points = np.unique(np.concatenate([np.geomspace(low, high, 200), np.linspace(low, high, 100), seeds]))
    points = points[np.append(True, np.diff(points) > 1e-6 * points[1:])]
    values = _eigenvalues(model, points)
    for _ in range(ROUNDS):
        values = _followed(values)
        wide = np.flatnonzero((_steps(values) > TURN) & (np.diff(points) > 1e-9 * points[1:]))
        if not wide.size or points.size + wide.size > MOST_POINTS:
            break
        middle = (points[wide] + points[wide + 1]) / 2
        points = np.insert(points, wide + 1, middle)
        values = np.insert(values, wide + 1, _eigenvalues(model, middle), axis=0)
    return points, _followed(values)


def _steps(values: np.ndarray) -> np.ndarray:
    """The largest step of ln μ from point to point, of loci that may pass the negative real axis between them."""
    least = SMALL * min(1.0, float(np.abs(values).max(initial=0.0)))
    safe = np.where(values == 0.0, 1e-300, values)
    step = np.abs(np.log(safe[1:] / safe[:-1]))
    counts = (np.maximum(np.abs(values[1:]), np.abs(values[:-1])) > least) & (
        np.minimum(values[1:].real, values[:-1].real) < 0.0
    )
    return np.asarray(np.where(counts, step, 0.0).max(axis=1))


def _followed(values: np.ndarray) -> np.ndarray:
    """The same eigenvalues in each row, ordered so that each column continues with the nearest, in parts of its
    size."""
    values = values.copy()
    for i in range(1, len(values)):
        before, now = values[i - 1][:, None], values[i][None]
        apart = np.abs(before - now) / np.maximum(np.maximum(np.abs(before), np.abs(now)), 1e-300)
        order = np.argmin(apart, axis=1)
        if len(set(order.tolist())) < order.size:
            order = assigned(apart)[1]
        values[i] = values[i][order]
    return values


def closed_in(
    model: StateSpace | Condensed, low: tuple[float, complex], high: tuple[float, complex]
) -> tuple[complex, float] | None:
    """The eigenvalue and the ω at which a locus passes the real axis, by bisection and the secant in turn.

    None if it jumps there instead, as where two loci were taken for one.
    """
    for turn in range(200):
        (a, before), (b, after) = low, high
        if b - a <= CLOSE * b:
            break
        share = 0.5 if turn % 3 == 2 else before.imag / (before.imag - after.imag)
        omega = a + min(max(share, 1e-3), 1.0 - 1e-3) * (b - a)
        expected = before + (omega - a) / (b - a) * (after - before)
        values = _eigenvalues(model, np.array([omega]))[0]
        value = complex(values[np.argmin(np.abs(values - expected))])
        if value.imag == 0.0:
            return value, omega
        low, high = ((omega, value), high) if value.imag * before.imag > 0.0 else (low, (omega, value))
    omega, value = low if abs(low[1].imag) < abs(high[1].imag) else high
    return (complex(value.real), omega) if abs(value.imag) <= REAL * abs(value) else None


def missed(model: StateSpace | Condensed, gains: list[float], farthest: float) -> set[tuple[float, float]]:
    """Factors, with their ω, at which the loop becomes unstable on the way from 1 and none of ``gains`` gives it."""
    found: set[tuple[float, float]] = set()
    if _growth(model, 1.0)[0] >= 0.0:
        return found
    for end in (farthest, 1.0 / farthest):
        outward = sorted([gain for gain in gains if (gain > 1.0) == (end > 1.0)], reverse=end < 1.0)
        beside = BESIDE * np.sign(end - 1.0)
        for near, far in pairwise([1.0, *outward, end]):
            tried = (float(np.sqrt(near * far)), far * (1.0 - beside))
            unstable = next((gain for gain in tried if _growth(model, gain)[0] >= 0.0), None)
            if unstable is None:
                continue
            stable = near if near == 1.0 else near * (1.0 + beside)
            if _growth(model, stable)[0] < 0.0:
                while abs(unstable / stable - 1.0) > 1e-10:
                    middle = float(np.sqrt(stable * unstable))
                    stable, unstable = (middle, unstable) if _growth(model, middle)[0] < 0.0 else (stable, middle)
                found.add((unstable, _growth(model, unstable)[1]))
            break
    return found


def _growth(model: StateSpace | Condensed, gain: float) -> tuple[float, float]:
    """Growth rate and frequency [rad/s] of the fastest growing pole of the loop closed with ``gain`` times L."""
    rates = growth_rates(model.closed_poles(gain), model.dt)
    fastest = rates[np.argmax(rates.real)]
    return float(fastest.real), abs(float(fastest.imag))


def _eigenvalues(model: StateSpace | Condensed, omega: np.ndarray) -> np.ndarray:
    try:
        matrices = model.response(omega)
    except np.linalg.LinAlgError:  # exactly on a pole
        matrices = model.response(omega * (1 + 1e-9) + 1e-300)
    return np.asarray(np.linalg.eigvals(matrices))
