"""Frequencies at which an eigenvalue of a loop's response has modulus one, or is real: no frequency grid.

*Crossings.*  μ is unimodular if μ(jω) μ̄(jω) = 1, and L(−s) has at s = jω the eigenvalues μ̄.  The frequencies are hence
among the imaginary roots of

    det(I − L(s) ⊗ L(−s)) = 0                                            (a)

which, with L = C (sI − A)⁻¹B + D twice, is a generalised eigenvalue problem of size 2nm + m² (n states, m channels).
For m = 1 it is the Hamiltonian problem of level one.  Kept as a pencil it neither inverts I − D⊗D nor minds a
singular A; it is the matrix-pencil method of Chen, Gu, Nett (Syst. Control Lett. 26 (1995) 107–117) written in s
instead of e^{−sτ}, whose size is 2n² and which has no room for D.  A sampled loop has L(1/z) for L(−s) and z = e^{jωT}:
no bilinear map, so no trouble with a pole at z = −1.

No eigenvalue is judged by its distance from the axis alone: the frequencies of all those near it only split the axis
into pieces, and the sign of ln|μ| in each, μ ordered by modulus (each ordered modulus is continuous), shows where it
passes zero.  The root is then closed in on by Brent's method on L itself.  A pair of crossings closer than rounding can
resolve shows as one frequency where |μ| = 1 touches.

*Large loops* (2nm + m² above ``LARGEST_PENCIL``).  |μ| = 1 needs σ_min ≤ 1 ≤ σ_max; the frequencies where a singular
value is one come from a pencil of size 2n + m and bracket the search, inside which the axis is split adaptively.

*Gain.*  det(I + kL(jω)) = 0 with real k > 0 needs a real μ = −1/k: imaginary roots of det(L(s)⊗I − I⊗L(−s)) = 0, and
ω = 0 and ∞ (half the sampling rate), where L is real.

Symbols: L loop transfer function, μ its eigenvalues, σ its singular values, ω frequency [rad/s], n states, m channels,
D direct term.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import eigvals, matrix_balance

from ..contracts.state_space import StateSpace
from .bracket import root_between
from .condensed import Condensed

NOISE = 1e-11
"""|ln|μ|| up to which its sign is not trusted."""
NEAR_AXIS = 0.05
"""|Re s|/|s| up to which an eigenvalue splits the axis; far more than any rounding moves it."""
TINY = 1e-10
"""Modulus up to which a loop gain counts as none."""
LARGEST_PENCIL = 400
"""Size up to which a loop's crossings come from one pencil."""
POLE = 1e9
"""Modulus from which on it is that of a pole on the axis, where L turns by half a circle and crosses nothing."""

Response = Callable[[np.ndarray], np.ndarray]


def well_scaled(model: StateSpace) -> tuple[StateSpace, float]:
    """The same eigenvalues of L with states and channels scaled alike, in a time unit of its own; that unit."""
    n = model.states
    with np.errstate(invalid="ignore"):  # scales of what has decayed over a long tick of a slow test are no integers
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


def shared_eigenvalues(model: StateSpace, real: bool) -> np.ndarray:
    """Frequencies [rad/s] near which an eigenvalue of L is unimodular, or ``real``."""
    model, unit = well_scaled(model)
    model = _independent(model)
    one = np.eye(model.channels)
    a1, b1, c1, d1 = (np.kron(x, one) for x in (model.a, model.b, model.c, model.d))
    a2, b2, c2, d2 = (np.kron(one, x) for x in (model.a, model.b, model.c, model.d))
    if real:
        first, last = [a1, np.zeros_like(a1), b1], [c1, -c2, d1 - d2]
    else:
        first, last = [a1, b1 @ c2, b1 @ d2], [c1, d1 @ c2, d1 @ d2 - np.eye(len(d1))]
    return unit * _near_axis(first, [np.zeros_like(a2), a2, b2], last, model.dt)


def unit_singular_values(model: StateSpace) -> np.ndarray:
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
    rates = growth_rates(alpha[finite] / beta[finite], dt)
    size = np.abs(rates)
    close = np.abs(rates.real) <= NEAR_AXIS * size + 1e-5 * (np.median(size) if size.size else 0.0)
    return np.asarray(np.unique(np.abs(rates.imag[close])))


def split_axis(frequencies: np.ndarray, top: float) -> np.ndarray:
    """The frequencies and points between, below and above them, up to ``top``."""
    inside = np.unique(frequencies[(frequencies > 0) & (frequencies < top)])
    if inside.size == 0:
        return inside
    above = 2 * inside[-1] if np.isinf(top) else (inside[-1] + top) / 2
    return np.unique(np.concatenate([inside, (inside[1:] + inside[:-1]) / 2, [inside[0] / 2, above]]))


def bracketed(response: Response, model: StateSpace, fastest: float, top: float) -> np.ndarray:
    """Points that split the axis finely enough, where the singular values leave room for |μ| = 1."""
    balanced, unit = well_scaled(model)
    ones, poles = unit_singular_values(balanced), growth_rates(balanced.poles(), model.dt)
    known = np.concatenate([ones, np.abs(poles)])
    known = known[known > 0] if np.isinf(top) else top * np.array([1e-3, 1e-2])
    lowest, highest = 1e-3 * np.min(known, initial=1.0), min(100 * np.max(known, initial=1.0), top * (1 - 1e-9))
    edges = np.unique(np.concatenate([[lowest], ones[(ones > lowest) & (ones < highest)], [highest]]))
    around = np.array([-3, -1, -0.3, 0, 0.3, 1, 3])
    seeds = (np.abs(poles.imag)[:, None] + around * np.abs(poles.real)[:, None]).ravel()
    points = [unit * split_axis(ones, top / unit)]  # a normal L has |μ| = σ, and crosses at the edges themselves
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


def unit_moduli(response: Response, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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


def gain_crossings(model: StateSpace, top: float) -> tuple[np.ndarray, np.ndarray]:
    """Factors k > 0 with det(I + kL(jω)) = 0 and their ω."""
    found = [(value, top) for value in at_top(model)]
    if not model.integrates():
        found += [(value, 0.0) for value in _eigenvalues(model.response, np.zeros(1))[0]]
    frequencies = shared_eigenvalues(model, real=True)
    if model.channels == 1:
        points = split_axis(frequencies, top)
        values = _eigenvalues(model.response, points)[:, 0] if points.size else points
        sine = values.imag / np.maximum(np.abs(values), 1e-300)
        for a, b in pairwise(np.flatnonzero(np.abs(sine) > 1e-9)):
            if sine[a] * sine[b] < 0:
                try:
                    root = _root(lambda w: float(model.response(np.array([w]))[0, 0, 0].imag), points[a], points[b])
                    value = complex(model.response(np.array([root]))[0, 0, 0])
                except np.linalg.LinAlgError:  # exactly on a pole
                    continue
                if abs(value) < POLE:  # real as the sign of its sine says, whatever rounding leaves of that
                    found.append((complex(value.real), root))
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
    """Where the function passes zero between points at which its signs were seen to differ.

    Many points at once are evaluated in another order than one by one.  Where both ends now have one sign, that of the
    end nearer to zero is rounding, and the end is the root as well as can be determined.
    """
    at_low, at_high = function(low), function(high)
    if at_low * at_high >= 0.0:
        return low if abs(at_low) <= abs(at_high) else high
    return root_between(function, low, high)


def growth_rates(values: np.ndarray, dt: float | None) -> np.ndarray:
    """s of eigenvalues, ln z / T if sampled; poles at z = 0 are left out."""
    return values if dt is None else np.log(values[np.abs(values) > 1e-14].astype(complex)) / dt


def at_top(model: StateSpace | Condensed) -> np.ndarray:
    """Eigenvalues of L for ω → ∞ or at half the sampling rate."""
    if model.dt is None:
        return np.asarray(np.linalg.eigvals(model.d))
    return np.asarray(_eigenvalues(model.response, np.array([np.pi / model.dt]))[0])
