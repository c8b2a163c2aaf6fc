"""The state-transition matrix of the code that runs, taken by perturbing the loop's own state vector.

One tick (or one period of ``period`` ticks, for couplings that change periodically) is a map F of the loop's dynamic
state x.  Its Jacobian at the present state is measured column by column on the compiled loop itself,

    A e_i = (F(x + ε e_i) − F(x − ε e_i)) / 2ε

so that whatever blocks are plugged in, the answer is that of the loop that will run.  At rest the difference for a
linear loop is exact to rounding, elsewhere good to about eight digits.  The eigenvalues λ of A are the loop's
poles: it is stable if all |λ| < 1, and with s = ln λ / T a pole has the frequency |s|/2π and the damping ratio
−Re s/|s|.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import eigvals

from ..kernels.loop import Loop

SMALLEST = 1e-8
"""Perturbation of a state that is zero, in its own SI unit: small enough for the laws of real specimens."""
RELATIVE = 6e-6
"""Perturbation of any other state: the cube root of the machine precision, best for a central difference."""
MARGINAL = 1e-9
HALF_RATE = 0.95
"""Part of half the sampling rate from which on a pole alternates from tick to tick."""
ALTERNATING = (
    "it comes of a degree of freedom too stiff for its mass and the step (one without mass is better given none), or "
    "of a loop gain near 1 there"
)


@dataclass(frozen=True)
class Linearisation:
    """Transition matrix of a loop over ``period`` ticks of ``dt`` seconds, and what follows from it."""

    matrix: np.ndarray
    dt: float
    period: int = 1

    @cached_property
    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues over one period, largest first."""
        values = np.asarray(eigvals(self.matrix))
        return values[np.argsort(-np.abs(values), kind="stable")]

    @property
    def spectral_radius(self) -> float:
        """Largest |λ| per tick."""
        return float(abs(self.eigenvalues[0]) ** (1.0 / self.period)) if self.eigenvalues.size else 0.0

    @property
    def stable(self) -> bool:
        """All poles decay; one on the limit, to rounding, is not stable."""
        return self.spectral_radius < 1.0 - MARGINAL

    @cached_property
    def continuous(self) -> np.ndarray:
        """Poles s = ln λ / T [1/s]; poles at λ = 0 (samples that merely drop out) are left out."""
        alive = self.eigenvalues[np.abs(self.eigenvalues) > 1e-12]
        return np.asarray(np.log(alive.astype(complex)) / (self.period * self.dt))

    @property
    def frequency_hz(self) -> np.ndarray:
        return np.asarray(np.abs(self.continuous) / (2 * np.pi))

    @property
    def damping(self) -> np.ndarray:
        """Damping ratio of each pole; NaN for a pole at rest (λ = 1)."""
        size = np.abs(self.continuous)
        return np.asarray(np.where(size > 0, -self.continuous.real / np.where(size > 0, size, 1.0), np.nan))

    @property
    def at_half_rate(self) -> np.ndarray:
        """Which poles alternate from tick to tick, or nearly so: they are no motion that the step could follow."""
        half = np.pi / (self.period * self.dt)
        return np.asarray(np.abs(self.continuous.imag) > HALF_RATE * half) & (self.period == 1)

    def summary(self) -> str:
        """One sentence for people."""
        radius = self.spectral_radius
        poles, alternating = self.continuous, self.at_half_rate
        worst = poles[0] if poles.size else complex(-np.inf)
        rate, hz = worst.real, abs(worst.imag) / (2 * np.pi)
        besides = f", which is half the sampling rate: {ALTERNATING}" if np.any(alternating[:1]) else ""
        if abs(radius - 1.0) <= MARGINAL:
            return (
                f"on the limit: spectral radius {radius:.9f}, a pole at {hz:.3g} Hz neither grows nor decays{besides}"
            )
        if radius < 1.0 and besides and not alternating.all():
            slowest = poles[~alternating][0]
            return (
                f"stable: spectral radius {radius:.6f}, the slowest pole at {abs(slowest.imag) / (2 * np.pi):.3g} Hz "
                f"decays as exp({slowest.real:.3g} t/s); one at {hz:.3g} Hz decays as exp({rate:.3g} t/s){besides}"
            )
        if radius < 1.0:
            return (
                f"stable: spectral radius {radius:.6f}, the slowest pole at {hz:.3g} Hz decays as exp({rate:.3g} t/s)"
            )
        return f"unstable: spectral radius {radius:.6f}, a pole at {hz:.3g} Hz grows as exp({rate:.3g} t/s)"


def derivative(loop: Loop, columns: np.ndarray, rows: np.ndarray, period: int = 1) -> np.ndarray:
    """Derivative of entries ``rows`` of the loop's vector after ``period`` ticks by its entries ``columns`` before.

    The loop is left as it was.
    """
    base = loop.vector.copy()
    matrix = np.empty((rows.size, columns.size))
    for column, index in enumerate(columns):
        size = max(SMALLEST, RELATIVE * abs(base[index]))
        images = []
        for signed in (size, -size):
            loop.vector[:] = base
            loop.vector[index] += signed
            loop.run(period)
            images.append(loop.vector[rows])
        matrix[:, column] = (images[0] - images[1]) / (2 * size)
    loop.vector[:] = base
    return matrix


def linearise(loop: Loop, period: int = 1) -> Linearisation:
    """Measure the transition matrix of ``loop`` at its present state, which is left as it was."""
    indices = loop.dynamic_indices()
    return Linearisation(derivative(loop, indices, indices, period), loop.dt, period)
