"""Where the response of a condensed loop may cross something: the unit circle in arcs, each with a proof.

On an arc of half-width h about θ (z = e^{jθ}, θ = ωT) the response L of a loop whose large part is in cascade with the
rest (``condensed.py``), L = W + T G Q, is known up to second order:

    |L(θ + t) − L(θ) − t L'(θ)| ≤ ½ t² K,    K ≥ |L''| all over the arc

K comes from the products' own bounds.  Of G, with its poles λ_i: |G_zz| ≤ Σ_i 2 |c_i b_i| / (|z − λ_i| − h)³.  Of the
small part, with N = |(zI − A)⁻¹|, entry by entry, which makes it independent of units: on all of the arc the entries of
the resolvent are below M = N (I − h N)⁻¹ if that inverse has no negative entry, and |(C R B)_zz| ≤ 2 |C| M³ |B|.  An
arc on which L cannot cross, or crosses at most once because it does not turn back, is done; any other is halved.  So
no crossing is missed, however narrow the resonance between two points.

The question is whether an eigenvalue μ of L has modulus one, and of a single channel whether L is real and negative.
Of several channels the eigenvalues of L(θ + t) lie within κ (|t| |L'| + ½ t² K) of those of L(θ), κ the condition
number of its eigenvectors (F. L. Bauer, C. T. Fike, Numer. Math. 2 (1960) 137–141).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import matrix_balance, schur

from ..contracts.state_space import StateSpace
from .condensed import Condensed
from .condensed_poles import resolved

LOWEST = 1e-6
"""Part of half the sampling rate from which on crossings are looked for."""
FIRST = 400
NARROWEST = 1e-11
"""Half-width [rad] of an arc that is not halved again."""
LOOSEST = 4.0
"""Times the second derivatives at its middle up to which a bound of them is good enough for an arc."""
MOST = 400_000
"""Arcs, beyond which the loop is not one to be treated so."""
AT_ONCE = 2048


@dataclass(frozen=True)
class Crossed:
    """Arcs, by their two ends θ, within which something may be crossed, each once at most or too narrow to decide."""

    circle: np.ndarray
    """|μ| = 1, (arcs, 2)."""
    axis: np.ndarray
    """L real and negative, of one channel, (arcs, 2)."""


class Arcs:
    """A condensed loop's response with its bounds."""

    def __init__(self, loop: Condensed) -> None:
        self.loop = loop
        small = _needed(loop.small)
        balanced, scale = matrix_balance(small.a, permute=False)
        form, basis = schur(balanced, output="complex")
        scales = np.diagonal(scale)
        self.form, self.small = form, small
        self.right = basis.conj().T @ (small.b / scales[:, None])
        self.left = (small.c * scales) @ basis
        self.ends, self.curves = self._small_part()

    def _small_part(self) -> tuple[np.ndarray, np.ndarray]:
        """Upper ends of arcs, and bounds of the small part's second derivatives on each, (arcs, outputs, inputs)."""
        edges = np.concatenate([[LOWEST * np.pi], np.linspace(0.0, np.pi, 65)[1:]])
        todo = np.column_stack([edges[:-1], edges[1:]])
        ends: list[np.ndarray] = []
        curves: list[np.ndarray] = []
        a, before, after = self.small.a, np.abs(self.small.c), np.abs(self.small.b)
        eye = np.eye(len(a))
        while len(todo):
            again = []
            for at in range(0, len(todo), 64):
                arcs = todo[at : at + 64]
                half = 0.5 * np.diff(arcs, axis=1)[:, :, None]
                z = np.exp(1j * arcs.mean(axis=1))[:, None, None]
                size = np.abs(np.linalg.inv(z * eye - a))
                factor = np.linalg.inv(eye - half * size)
                most = size @ factor
                curve, here = (2.0 * (before @ one @ one @ one @ after) for one in (most, size))
                bounded = np.all(factor > -1e-12, axis=(1, 2)) & np.all(curve <= LOOSEST * here, axis=(1, 2))
                good = bounded | (half[:, 0, 0] < NARROWEST)
                curve[~bounded] = np.inf
                ends.append(arcs[good, 1])
                curves.append(curve[good])
                middle = arcs.mean(axis=1)[~good]
                again += [np.column_stack([arcs[~good, 0], middle]), np.column_stack([middle, arcs[~good, 1]])]
            todo = np.concatenate(again)
        order = np.argsort(np.concatenate(ends))
        return np.concatenate(ends)[order], np.concatenate(curves)[order]

    def evaluated(self, theta: np.ndarray, half: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """L, dL/dθ, both (arcs, m, m), and K, (arcs, m, m), entry by entry."""
        z, h = np.exp(1j * theta), half[:, None, None]
        once = resolved(self.form, z, self.right[:, None, :])
        twice = resolved(self.form, z, once)
        n, m = self.loop.d.shape
        small = np.tensordot(self.left, once, axes=1).transpose(1, 0, 2) + self.small.d
        slope = -np.tensordot(self.left, twice, axes=1).transpose(1, 0, 2)
        curve = self._curve(theta, half)
        g, g_slope, g_curve = self.loop.sums(z, half)
        parts = [(w[:, :n, :m], w[:, :n, m:], w[:, n:, :m]) for w in (small, slope, curve)]
        (w0, t0, q0), (w1, t1, q1), (w2, t2, q2) = parts
        value = w0 + t0 @ g @ q0
        first = w1 + t1 @ g @ q0 + t0 @ g_slope @ q0 + t0 @ g @ q1
        # bounds all over the arc, of no, first and second derivatives
        bounds = []
        for zero, one, two in ((t0, t1, t2), (g, g_slope, g_curve), (q0, q1, q2)):
            most = np.abs(one) + h * two
            bounds.append((np.abs(zero) + h * most, most, two))
        (a0, a1, a2), (b0, b1, b2), (c0, c1, c2) = bounds
        second = w2 + a2 @ b0 @ c0 + a0 @ b2 @ c0 + a0 @ b0 @ c2
        second = second + 2.0 * (a1 @ b1 @ c0 + a1 @ b0 @ c1 + a0 @ b1 @ c1)
        # by θ: L' = j z L_z, |L''| ≤ |L_z| + |L_zz|
        return value, 1j * z[:, None, None] * first, second + np.abs(first) + h * second

    def _curve(self, theta: np.ndarray, half: np.ndarray) -> np.ndarray:
        """Bounds of the small part's second derivatives: the largest of all arcs that are touched."""
        first, last = (
            np.clip(np.searchsorted(self.ends, at), 0, len(self.ends) - 1) for at in (theta - half, theta + half)
        )
        most = np.maximum(self.curves[first], self.curves[last])
        for i in np.flatnonzero(last > first + 1):
            most[i] = self.curves[first[i] : last[i] + 1].max(axis=0)
        return np.asarray(most)

    def crossed(self, least: float) -> Crossed | None:
        """Arcs left over; L below ``least`` in modulus is not followed to the real axis.  None if they are too many."""
        top, single = np.pi * (1.0 - 1e-12), self.loop.channels == 1
        near = np.angle(self.loop.modes)
        inside = near[(near > LOWEST * np.pi) & (near < top)]
        edges = np.unique(np.concatenate([np.geomspace(LOWEST * np.pi, top, FIRST), np.linspace(0, top, FIRST)[1:]]))
        edges = np.unique(np.concatenate([edges, inside]))
        todo = np.column_stack([edges[:-1], edges[1:]])
        circle: list[np.ndarray] = []
        axis: list[np.ndarray] = []
        count = 0
        while len(todo):
            count += len(todo)
            if count > MOST:
                return None
            halved = []
            for at in range(0, len(todo), AT_ONCE):
                arcs = todo[at : at + AT_ONCE]
                half = 0.5 * np.diff(arcs, axis=1)[:, 0]
                on_circle, on_axis = self._asked(arcs.mean(axis=1), half, least, single)
                narrow = half < NARROWEST
                for answer, kept in ((on_circle, circle), (on_axis, axis)):
                    kept.append(arcs[(answer == ONCE) | ((answer == UNKNOWN) & narrow)])
                again = arcs[((on_circle == UNKNOWN) | (on_axis == UNKNOWN)) & ~narrow]
                middle = again.mean(axis=1)
                halved += [np.column_stack([again[:, 0], middle]), np.column_stack([middle, again[:, 1]])]
            todo = np.concatenate(halved)
        return Crossed(*(np.concatenate(some)[np.argsort(np.concatenate(some)[:, 0])] for some in (circle, axis)))

    def _asked(self, theta: np.ndarray, half: np.ndarray, least: float, single: bool) -> tuple[np.ndarray, np.ndarray]:
        """Whether the circle, and the negative axis, are crossed on arcs: NEVER, ONCE at most, or UNKNOWN."""
        with np.errstate(over="ignore", invalid="ignore"):  # across a pole nothing is bounded
            return self._answered(*self.evaluated(theta, half), half, least, single)

    def _answered(
        self, value: np.ndarray, first: np.ndarray, second: np.ndarray, half: np.ndarray, least: float, single: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        if not single:
            moves = half * np.linalg.norm(first, axis=(1, 2)) + 0.5 * half**2 * np.linalg.norm(second, axis=(1, 2))
            values, vectors = np.linalg.eig(value)
            apart = np.abs(np.abs(values) - 1.0).min(axis=1)
            never = np.linalg.cond(vectors) * moves < apart
            return np.where(never, NEVER, UNKNOWN), np.full(half.size, NEVER)
        now, d, k = value[:, 0, 0], first[:, 0, 0], second[:, 0, 0]
        size, rest = np.abs(now), 0.5 * half**2 * k
        moves = half * np.abs(d) + rest
        steepest = np.abs(d) + half * k
        turns = 2.0 * half * (steepest**2 + (size + moves) * k)
        once = np.abs(2.0 * (now.conj() * d).real) > turns
        circle = np.where(np.abs(size - 1.0) > moves, NEVER, np.where(once, ONCE, UNKNOWN))
        never = (np.abs(now.imag) > half * np.abs(d.imag) + rest) | (now.real > moves) | (size + moves < least)
        axis = np.where(never, NEVER, np.where(np.abs(d.imag) > half * k, ONCE, UNKNOWN))
        return circle, axis


NEVER, ONCE, UNKNOWN = 0, 1, 2


def _needed(model: StateSpace) -> StateSpace:
    """The same response without states that no input reaches, or no output shows."""
    reached, shown = np.any(model.b != 0.0, axis=1), np.any(model.c != 0.0, axis=0)
    linked = model.a != 0.0
    for _ in range(model.states):
        reached, shown = reached | linked[:, reached].any(axis=1), shown | linked[shown].any(axis=0)
    both = reached & shown
    return StateSpace(model.a[np.ix_(both, both)], model.b[both], model.c[:, both], model.d, model.dt)
