"""Rational models of measured frequency responses, with poles that are stable and a delay of their own.

B. Gustavsen, A. Semlyen, "Rational approximation of frequency domain responses by vector fitting", IEEE Trans. Power
Delivery 14 (1999) 1052–1061, doi 10.1109/61.772353.  A response is fitted by

    H(s) ≈ e^{−sτ} (Σ_n r_n/(s − a_n) + d + e s)

Starting from poles a_n spread over the band, each iteration solves the linear least-squares problem

    Σ c_n/(s − a_n) + d + e s − H(s) Σ c̃_n/(s − a_n) = H(s)

and takes the zeros of 1 + Σ c̃_n/(s − a_n), which are the eigenvalues of A − b c̃ᵀ, as poles of the next; those in the
right half plane are mirrored into the left, so that none is ever unstable.  With the poles fixed, residues, d and e are
linear.  Pairs of complex poles are kept real by the basis 1/(s − a) + 1/(s − a*), j/(s − a) − j/(s − a*).

A delay would need many poles.  It is separated: τ is the one from 0 up at which H e^{sτ} is fitted best, searched on a
grid and then refined.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..contracts.device import Device
from ..contracts.state_space import StateSpace
from ..errors import HalfrealError

ITERATIONS = 12
SURPLUS = 2.0
"""Real numbers measured for each one that is fitted, at least."""


@dataclass(frozen=True)
class RationalFit:
    """H(s) = e^{−sτ} (Σ r_n/(s − a_n) + d + e s); poles and residues of pairs side by side."""

    poles: np.ndarray
    residues: np.ndarray
    constant: float
    slope: float
    delay: float
    error: float
    """RMS of the misfit over the RMS of the response, both weighted as they were fitted."""

    def response(self, omega: np.ndarray) -> np.ndarray:
        """At ω [rad/s]."""
        s = 1j * np.atleast_1d(omega)
        value = (self.residues / (s[:, None] - self.poles)).sum(axis=1) + self.constant + self.slope * s
        return np.asarray(value * np.exp(-s * self.delay))

    def state_space(self) -> StateSpace:
        """Without the delay; each complex pair is a real block of two states."""
        if self.slope != 0.0:
            raise HalfrealError("a fit with a term e s has no state-space model; fit with slope=False")
        order = len(self.poles)
        a, b, c = np.zeros((order, order)), np.zeros((order, 1)), np.zeros((1, order))
        i = 0
        while i < order:
            pole, residue = self.poles[i], self.residues[i]
            if pole.imag == 0.0:
                a[i, i], b[i, 0], c[0, i] = pole.real, 1.0, residue.real
                i += 1
                continue
            a[i : i + 2, i : i + 2] = [[pole.real, pole.imag], [-pole.imag, pole.real]]
            b[i, 0], c[0, i : i + 2] = 2.0, (residue.real, residue.imag)
            i += 2
        return StateSpace(a, b, c, np.array([[self.constant]]))

    def ratio(self) -> Device:
        """The same as a ratio of polynomials in s with its delay."""
        below = np.real(np.poly(self.poles))
        above = np.polymul([self.slope, self.constant], below)
        for i, residue in enumerate(self.residues):
            above = np.polyadd(above, residue * np.poly(np.delete(self.poles, i)))
        return Device(np.real(np.trim_zeros(above, "f")), below, self.delay)


def vector_fit(
    frequency_hz: np.ndarray,
    response: np.ndarray,
    poles: int,
    *,
    weight: np.ndarray | None = None,
    constant: bool = True,
    slope: bool = False,
    longest_delay: float = 0.0,
) -> RationalFit:
    """Fit ``poles`` poles to a response.

    Parameters
    ----------
    weight
        Of each line; 1/|H| if left out, which requires the same relative error everywhere.
    constant, slope
        Whether d and e are there; with d and no poles the response is a gain behind a delay.
    longest_delay
        Up to which a delay [s] is looked for; none if 0.
    """
    hz, values = np.asarray(frequency_hz, dtype=float), np.asarray(response, dtype=complex).reshape(-1)
    _check(hz, values, poles, constant, slope)
    weights = 1.0 / np.maximum(np.abs(values), 1e-300) if weight is None else np.asarray(weight, dtype=float)
    s = 2j * np.pi * hz
    scale = float(np.abs(s).max())  # frequencies in units of the highest one: coefficients of like size

    def fit(delay: float) -> RationalFit:
        return _fit(s / scale, values * np.exp(s * delay), weights, poles, constant, slope)

    delay = 0.0
    if longest_delay > 0.0:
        from scipy.optimize import minimize_scalar

        count = max(9, int(np.ceil(longest_delay * hz.max() * 8)) + 1)
        grid = np.linspace(0.0, longest_delay, count)
        errors = [fit(value).error for value in grid]
        best = int(np.argmin(errors))
        around = grid[max(best - 1, 0)], grid[min(best + 1, count - 1)]
        found = minimize_scalar(
            lambda value: fit(value).error, bounds=around, method="bounded", options={"xatol": 1e-7 * longest_delay}
        )
        delay = float(found.x) if found.fun < errors[best] else float(grid[best])
    scaled = fit(delay)
    return RationalFit(
        scaled.poles * scale, scaled.residues * scale, scaled.constant, scaled.slope / scale, delay, scaled.error
    )


def _check(hz: np.ndarray, values: np.ndarray, poles: int, constant: bool, slope: bool) -> None:
    if hz.ndim != 1 or hz.shape != values.shape or not (np.all(np.isfinite(hz)) and np.all(np.isfinite(values))):
        raise HalfrealError(f"{hz.shape} frequencies and {values.shape} values; give finite numbers, one for each line")
    if poles < 0 or not (poles or constant):
        raise HalfrealError(f"{poles} poles; a fit needs at least 1, or none in addition to a constant")
    unknown = 2 * poles + constant + slope
    if 2 * hz.size < SURPLUS * unknown:
        raise HalfrealError(
            f"{hz.size} lines are too few for {poles} poles: {unknown} numbers are sought, and at least "
            f"{int(np.ceil(SURPLUS * unknown / 2))} lines are needed; measure more lines or fit fewer poles"
        )
    if hz.min() <= 0.0 or np.any(np.diff(hz) <= 0.0):
        raise HalfrealError("the frequencies of a fit must be above 0 and rise from line to line")


def _start(lowest: float, highest: float, count: int) -> np.ndarray:
    """Lightly damped pairs spread over the band, and a real pole if the number is odd."""
    pairs = np.geomspace(lowest, highest, count // 2) if count > 1 else np.zeros(0)
    poles = np.column_stack([pairs * (-0.01 + 1j), pairs * (-0.01 - 1j)]).ravel()
    return np.concatenate([poles, [-np.sqrt(lowest * highest)]]) if count % 2 else poles


def _basis(s: np.ndarray, poles: np.ndarray) -> np.ndarray:
    """Columns 1/(s − a), or the two real combinations of a pair."""
    columns = np.empty((s.size, poles.size), dtype=complex)
    i = 0
    while i < poles.size:
        columns[:, i] = 1.0 / (s - poles[i])
        if poles[i].imag != 0.0:
            other = 1.0 / (s - poles[i + 1])
            columns[:, i], columns[:, i + 1] = columns[:, i] + other, 1j * (columns[:, i] - other)
            i += 1
        i += 1
    return columns


def _solve(columns: np.ndarray, right: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Real least squares of complex equations, with columns scaled to one length."""
    real = np.vstack([(weights[:, None] * columns).real, (weights[:, None] * columns).imag])
    size = np.maximum(np.linalg.norm(real, axis=0), 1e-300)
    wanted = np.concatenate([(weights * right).real, (weights * right).imag])
    return np.asarray(np.linalg.lstsq(real / size, wanted, rcond=None)[0] / size)


def _relocated(poles: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Zeros of 1 + Σ c̃/(s − a), mirrored into the left half plane, pairs side by side."""
    order = poles.size
    a, b = np.zeros((order, order)), np.zeros(order)
    i = 0
    while i < order:
        if poles[i].imag != 0.0:
            real, imaginary = poles[i].real, poles[i].imag
            a[i : i + 2, i : i + 2] = [[real, imaginary], [-imaginary, real]]
            b[i] = 2.0
            i += 2
        else:
            a[i, i], b[i] = poles[i].real, 1.0
            i += 1
    zeros = np.linalg.eigvals(a - np.outer(b, weights)).astype(complex)
    zeros = -np.maximum(np.abs(zeros.real), 1e-9 * np.abs(zeros)) + 1j * zeros.imag
    upper, real_ones = zeros[zeros.imag > 0.0], zeros[zeros.imag == 0.0]
    return np.concatenate([np.column_stack([upper, upper.conj()]).ravel(), real_ones])


def _fit(
    s: np.ndarray, values: np.ndarray, weights: np.ndarray, order: int, constant: bool, slope: bool
) -> RationalFit:
    ends = [part for part, there in ((np.ones_like(s), constant), (s, slope)) if there]
    end = np.column_stack(ends) if ends else np.zeros((s.size, 0), dtype=complex)
    poles = _start(float(np.abs(s).min()), float(np.abs(s).max()), order)
    best: RationalFit | None = None
    power = float(np.sqrt(np.mean(np.abs(weights * values) ** 2)))
    for _ in range(ITERATIONS):
        basis = _basis(s, poles)
        found = _solve(np.hstack([basis, end, -values[:, None] * basis]), values, weights)
        poles = _relocated(poles, found[-order:])
        basis = np.hstack([_basis(s, poles), end])
        linear = _solve(basis, values, weights)
        error = float(np.sqrt(np.mean(np.abs(weights * (values - basis @ linear)) ** 2))) / max(power, 1e-300)
        if best is None or error < best.error:
            tail = list(linear[order:])
            d = float(tail.pop(0)) if constant else 0.0
            e = float(tail.pop(0)) if slope else 0.0
            best = RationalFit(poles, _residues(poles, linear[:order]), d, e, 0.0, error)
    assert best is not None
    return best


def _residues(poles: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Complex residues from the weights of the real basis."""
    residues = weights.astype(complex)
    i = 0
    while i < poles.size:
        if poles[i].imag != 0.0:
            residues[i] = weights[i] + 1j * weights[i + 1]
            residues[i + 1] = np.conj(residues[i])
            i += 1
        i += 1
    return residues
