"""How many characteristic roots lie right of a line: the argument principle, with every step of the path proven.

Roots of a delay system right of Re s = σ have |s| ≤ R, where R follows from Perron's and Frobenius' bound of the
spectral radius (``dde_far``).  From the real axis up to |s| = R the argument of the characteristic determinant is
followed (``dde_walk``); what it gains less than on the way round through infinity, in half turns, is their number,
as those of the lower half plane are mirror images.  For steps that are proven to miss no turn compare X. Ying,
I. N. Katz, "A reliable argument principle algorithm to find the number of zeros of an analytic function in a bounded
domain", Numer. Math. 53 (1988) 143–163.

A neutral system has a finite R right of its essential spectrum, where the difference operator is bounded below 1.

Small systems are walked as they are.  Large ones with few late variables are walked in those alone, with the states
in their modes: det Δ(s) = Π (s − λ_i) · det(I − Σ e^{−s τ_k}(D_k + Σ_i c_i b_kiᵀ/(s − λ_i))); the rounding of the modes
(eigenvectors V, W = V⁻¹) is bounded by ε n ‖|W||A||V|‖.  If that is too much, they too are walked as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .dde_far import radius, unwound
from .dde_matrix import EPS
from .dde_system import DelaySystem
from .dde_walk import CLOSE, FINE, LONG, far, walk

STEPS = 200_000
"""Steps of one walk at most; a quarter of a second for a small system."""
WORK = 2e9
"""Of a walk: steps times the cube of the number of variables, at most."""
LARGE = 64
"""States of the largest system that is also tried as it is where its modal form fails."""
HUGE = 1e100
"""Entries whose squares still are numbers."""
SEEDS = 400
NO_END = "the delayed accelerations are not proven to vanish right of {sigma:.4g} 1/s"
REASONS = {
    CLOSE: "a root is too close to the line Re s = {sigma:.4g} 1/s for double precision",
    LONG: "the count right of {sigma:.4g} 1/s needs more than {steps} steps",
}


@dataclass(frozen=True)
class Count:
    """Number of roots, None if it could not be proven; where the walk passed close to roots; why it failed."""

    number: int | None
    seeds: np.ndarray
    reason: str = ""


class Characteristic:
    """The characteristic function of a delay system, ready to be walked."""

    def __init__(self, system: DelaySystem) -> None:
        self.system = system
        self.loop = system.loop
        self.unit = 1.0 / (system.longest or 1.0)

    @cached_property
    def dense(self) -> tuple[Any, ...]:
        """``data`` of dde_walk for the system as it is, late variables solved for unless they come back at once."""
        loop, n = self.loop, len(self.loop.a)
        if loop.d.any():
            A = np.zeros((1 + len(loop.b), n + len(loop.c), n + len(loop.c)), complex)
            A[0, :n, :n], A[0, n:, :n], A[0, n:, n:] = loop.a, loop.c, -np.eye(len(loop.c))
            A[1:, :n, n:], A[1:, n:, n:] = loop.b, loop.d
        else:
            A = np.empty((1 + len(loop.b), n, n), complex)
            A[0], A[1:] = loop.a, loop.b @ loop.c
        sizes = np.sqrt((np.abs(A) ** 2).sum(axis=(1, 2)))
        none, two, three = np.zeros(0, complex), np.zeros((0, 0), complex), np.zeros((0, 0, 0), complex)
        return False, n, A, self.system.delays, sizes, none, two, three, np.zeros((0, 0)), 0.0

    @cached_property
    def modal(self) -> tuple[Any, ...] | None:
        """The same in late variables and modes; None if it is no less work, or if the modes are too uncertain."""
        loop, late = self.loop, len(self.system.delays)
        n, m = len(loop.a), len(loop.c)
        if n < 2 or not m or (m > 1 and late * n * m**2 + m**3 > 0.5 * n**3):
            return None
        lam, V = np.linalg.eig(loop.a)
        try:
            W = np.linalg.inv(V)
        except np.linalg.LinAlgError:
            return None
        if not np.abs(W).max() < HUGE:  # a free mass: two modes that are one
            return None
        scale = np.sqrt(np.linalg.norm(W, axis=1) / np.linalg.norm(V, axis=0))
        V, W = V * scale, W / scale[:, None]
        rounding = n * EPS * float(np.linalg.norm(np.abs(W) @ np.abs(loop.a) @ np.abs(V)))
        if not rounding < 1e-3 * self.unit + 1e-4 * np.abs(lam).max():
            return None
        c, b = np.ascontiguousarray(loop.c @ V, dtype=complex), np.ascontiguousarray(W @ loop.b, dtype=complex)
        g = np.linalg.norm(c, axis=0) * np.linalg.norm(b, axis=2)
        d = np.ascontiguousarray(loop.d, dtype=complex)
        sizes = np.sqrt((np.abs(d) ** 2).sum(axis=(1, 2)))
        return True, len(lam), d, self.system.delays, sizes, lam.astype(complex), c, b, g, rounding

    def ways(self) -> Iterator[tuple[Any, ...]]:
        """``data`` of both forms, the one that is less work first."""
        n = len(self.loop.a)
        if n <= 2:
            yield self.dense
        if self.modal is not None:
            yield self.modal
        if n > 2 and (n <= LARGE or self.modal is None):
            yield self.dense

    def count(self, sigma: float, top: float = np.inf) -> Count:
        """Number of roots with Re s > σ and |Im s| < top."""
        for data in self.ways():
            found = self._count(data, sigma, top)
            if found.number is not None:
                break
        return found

    def _count(self, data: tuple[Any, ...], sigma: float, top: float) -> Count:
        most = int(min(STEPS, max(100.0, WORK / data[2].shape[-1] ** 3)))
        seeds = np.empty(SEEDS, complex)
        corners = self._corners(data, sigma, top)
        if corners is None:
            return Count(None, seeds[:0], NO_END.format(sigma=sigma))
        total, marks, at = 0.0, 0, complex(sigma)
        for corner in corners:
            gained, ended, steps, more = walk(data, at, corner, most, seeds[marks:])
            total, marks, most, at = total + gained, marks + more, most - steps, corner
            if ended != FINE:
                return Count(None, seeds[:marks], REASONS[ended].format(sigma=sigma, steps=STEPS))
        turns = np.nan
        if at != 0.0:
            M, powers = far(data, at)
            turns = (powers + unwound(M) - total) / np.pi
        if data[0]:
            lam = data[5]
            turns += int(((lam.real > sigma) & (np.abs(lam.imag) < top)).sum())
        if not (np.isfinite(turns) and abs(turns - round(turns)) < 0.05):
            return Count(None, seeds[:marks], REASONS[CLOSE].format(sigma=sigma))
        return Count(round(turns), seeds[:marks])

    def _corners(self, data: tuple[Any, ...], sigma: float, top: float) -> list[complex] | None:
        """The path's end on Re s = σ, or its corner at Im s = top and its end right of that; None if it has none."""
        reach = radius(data, sigma)
        if reach < np.inf and reach * reach - sigma * sigma <= top * top:
            return [complex(sigma, np.sqrt(max(reach * reach - sigma * sigma, 0.0)))]
        if top == np.inf:
            return None
        x, step = sigma, self.unit
        while np.hypot(x, top) < (reach := radius(data, x)):
            x, step = x + step, 2.0 * step
            if step > 1e6 * self.unit + 1e3 * abs(reach if reach < np.inf else 0.0):
                return None
        return [complex(sigma, top), complex(x, top)]
