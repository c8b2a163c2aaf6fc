"""Linear delay differential equations, algebraic and neutral ones among them, with any number of discrete delays.

    E x˙(t) = A_0 x(t) + Σ_k A_k x(t − τ_k),        Δ(s) = s E − A_0 − Σ_k A_k e^{−s τ_k}

s is a characteristic root if Δ(s) is singular.  E may be singular: an algebraic row has no derivative.  That is how a
neutral term is written, here the acceleration of a specimen with mass that is fed back late: the acceleration is made a
variable of its own, and the equation of motion the algebraic row that ties it to the others.

Let E have null spaces U₂ (of rows) and V₂ (of columns).  At high frequencies all that is left of the equation is its
difference operator (W. Michiels, "Spectrum-based stability analysis and stabilisation of systems described by delay
differential algebraic equations", IET Control Theory Appl. 5 (2011) 1829–1842)

    y(t) + Σ_k D_k y(t − τ_k) = 0,      D_k = (U₂ᵀA_0V₂)⁻¹ U₂ᵀA_kV₂

Infinitely many roots gather at the real part c of its own rightmost roots, so that c ≥ 0, which is a high-frequency
gain of at least 1, makes the system unstable however small the delays are.  As c jumps when delays that are in rational
ratios change by ever so little, the value given is that for delays next to the given ones: the c at which

    γ(c) = max over θ of ρ(Σ_k D_k e^{−c τ_k + jθ_k}) = 1

======== ==================================================================
x        variables: displacements, velocities, accelerations, …
E        weights of the derivatives, (n, n)
A_k      weights of the variables now (k = 0) and τ_k ago, (1 + delays, n, n)
τ_k      delays [s]
Δ(s)     characteristic matrix
D_k      weights of the difference operator
ρ        spectral radius
c        spectral abscissa of the difference operator [1/s] (``essential``)
======== ==================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import HalfrealError
from .dde_loop import SINGULAR, Loop, UnderdeterminedError, loop_form


class DelayError(HalfrealError):
    """A delay system that cannot be analysed, or roots that cannot be had."""


Feedback = Sequence[tuple[float, np.ndarray | None, np.ndarray | None, np.ndarray | None]]


@dataclass(frozen=True)
class DelaySystem:
    """E, the stack A = [A_0, A_1, …] and the delays τ_1, … [s]; terms whose delay is zero are added to A_0."""

    E: np.ndarray
    A: np.ndarray
    delays: np.ndarray

    def __post_init__(self) -> None:
        E, A = np.asarray(self.E, dtype=float), np.asarray(self.A, dtype=float)
        delays = np.asarray(self.delays, dtype=float).reshape(-1)
        n = len(E)
        if E.shape != (n, n) or A.shape != (len(delays) + 1, n, n):
            raise DelayError(
                f"E is {E.shape}, A is {A.shape} for {len(delays)} delay(s); "
                f"give a square E (n, n) and as many A as delays and one more, (1 + delays, n, n)"
            )
        if not (np.isfinite(E).all() and np.isfinite(A).all() and np.isfinite(delays).all()):
            raise DelayError("E, A or the delays contain a value that is not finite")
        if delays.size and delays.min() < 0.0:
            raise DelayError(
                f"a delay is {delays.min():g} s, below 0: the equation would need the future; "
                f"the prediction must not exceed the delay of the loop"
            )
        if delays.size and delays.min() == 0.0:
            now = delays == 0.0
            A = np.concatenate([(A[0] + A[1:][now].sum(axis=0))[None], A[1:][~now]])
            delays = delays[~now]
        object.__setattr__(self, "E", E)
        object.__setattr__(self, "A", A)
        object.__setattr__(self, "delays", delays)

    @classmethod
    def second_order(cls, M: np.ndarray, C: np.ndarray, K: np.ndarray, feedback: Feedback = ()) -> DelaySystem:
        """M q¨ + C q˙ + K q + Σ (K_s q + C_s q˙ + M_s q¨)(t − τ) = 0, a term of ``feedback`` being (τ, K_s, C_s, M_s).

        None represents a matrix of zeros.  The variables are q and q˙, and also q¨ if some M_s is not zero.
        """
        M, C, K = (np.atleast_2d(np.asarray(m, dtype=float)) for m in (M, C, K))
        n = len(M)
        delays = [term[0] for term in feedback]
        late = np.zeros((len(delays), 3, n, n))
        for k, term in enumerate(feedback):
            for part, matrix in enumerate(term[1:]):
                if matrix is not None:
                    late[k, part] = matrix
        neutral = bool(late[:, 2].any())
        size = 3 * n if neutral else 2 * n
        E, A = np.zeros((size, size)), np.zeros((len(delays) + 1, size, size))
        q, v, a = slice(0, n), slice(n, 2 * n), slice(2 * n, 3 * n)
        E[q, q] = A[0, q, v] = np.eye(n)
        motion = a if neutral else v
        if neutral:
            E[v, v] = A[0, v, a] = np.eye(n)
            A[0, a, a] = -M
            A[1:, a, a] = -late[:, 2]
        else:
            E[v, v] = M
        A[0, motion, q], A[0, motion, v] = -K, -C
        A[1:, motion, q], A[1:, motion, v] = -late[:, 0], -late[:, 1]
        return cls(E, A, np.array(delays))

    @property
    def longest(self) -> float:
        """Longest delay [s]; 0 if there is none."""
        return float(self.delays.max()) if self.delays.size else 0.0

    def matrix(self, s: np.ndarray) -> np.ndarray:
        """Δ(s), (len(s), n, n)."""
        s = np.atleast_1d(s)
        late = np.exp(-s[:, None] * self.delays)
        return np.asarray(s[:, None, None] * self.E - self.A[0] - np.tensordot(late, self.A[1:], axes=1))

    def slope(self, s: np.ndarray) -> np.ndarray:
        """dΔ/ds = E + Σ τ_k A_k e^{−s τ_k}, (len(s), n, n)."""
        late = self.delays * np.exp(-np.atleast_1d(s)[:, None] * self.delays)
        return np.asarray(self.E + np.tensordot(late, self.A[1:], axes=1))

    @cached_property
    def loop(self) -> Loop:
        """The loop form (``dde_loop``)."""
        try:
            return loop_form(self.E, self.A, self.longest)
        except UnderdeterminedError as fault:
            raise DelayError(
                f"{fault.args[0]} row(s) have no derivative and do not determine as many variables at time t; "
                f"condense variables without mass or damping out of the equations"
            ) from None

    @property
    def difference(self) -> np.ndarray:
        """−D_k of the difference operator but for zero eigenvalues, (delays, m, m)."""
        return self.loop.d

    @cached_property
    def neutral(self) -> bool:
        """Whether a variable comes back late as undiminished at high frequencies as it is."""
        return bool(self.difference.size and self.difference.any() and self._most(0.0) > SINGULAR)

    def _most(self, c: float) -> float:
        """An upper bound of γ(c): the entries' sizes added up; exact if the D_k are triangular in one basis."""
        late = np.exp(np.minimum(-c * self.delays, 700.0))
        bound = np.tensordot(late, np.abs(self.difference), axes=1)
        return float(np.abs(np.linalg.eigvals(bound)).max())

    def _least(self, c: float) -> float:
        """A lower bound of γ(c): ρ at the worst angles found."""
        late = np.exp(np.minimum(-c * self.delays, 700.0))[:, None, None] * self.difference
        values = np.linalg.eigvals(np.tensordot(np.exp(1j * self._angles), late, axes=1))
        return float(np.abs(values).max())

    @cached_property
    def _angles(self) -> np.ndarray:
        """Angles θ_k at which ρ(Σ D_k e^{jθ_k}) is large, (angles, delays)."""
        count = len(self.delays)
        if count == 1:
            return np.zeros((1, 1))
        angles = 2 * np.pi * np.random.default_rng(1).random((64, count))  # the same each time
        angles[0] = 0.0
        late = self.difference
        entry = late.reshape(count, -1)[:, np.argmax(np.abs(late).sum(axis=0))]
        angles[1] = -np.angle(entry)  # in phase in the largest entry
        for span in 1.5 * 0.6 ** np.arange(12):
            sizes = np.abs(np.linalg.eigvals(np.tensordot(np.exp(1j * angles), late, axes=1))).max(axis=1)
            best = angles[np.argsort(-sizes)[:8]]
            tried = best[:, None] + span * np.random.default_rng(2).standard_normal((7, count))
            angles = np.concatenate([best, tried.reshape(-1, count)])
        return angles

    @cached_property
    def gains(self) -> tuple[float, float]:
        """Bounds γ(0) lies between, the same number twice where it is known; 0 if the system is not neutral."""
        if not self.neutral:
            return 0.0, 0.0
        low, high = self._least(0.0), self._most(0.0)
        return (high, high) if low > high * (1 - 1e-6) else (low, high)

    @property
    def high_frequency_gain(self) -> float:
        """γ(0), or an upper bound of it (``gains``): at 1 and above the system is unstable for any delays."""
        return self.gains[1]

    @cached_property
    def essential(self) -> float:
        """c [1/s], to which the real parts of infinitely many roots tend; −∞ if the system is not neutral.

        If several channels come back through several delays with different weights, an upper bound of it.
        """
        if not self.neutral:
            return -np.inf
        if len(self.delays) == 1:
            return float(np.log(self.gains[1]) / self.longest)
        low = high = 0.0
        reach = 1.0 / self.longest
        while self._most(low) < 1.0:
            high, low, reach = low, low - reach, 2 * reach
        while self._most(high) > 1.0:
            low, high, reach = high, high + reach, 2 * reach
        if low == high:
            return 0.0
        from scipy.optimize import brentq  # takes long to import, and few tests come here

        return float(brentq(lambda c: self._most(c) - 1.0, low, high, xtol=1e-14 * max(-low, high), rtol=1e-14))
