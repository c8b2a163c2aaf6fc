"""All poles of a condensed loop (``condensed.py``), found at once and counted.

They are the N roots of the polynomial

    f(z) = det(zI − A) Π_i (z − λ_i) det(I − P(z) G(z)),        N = states of the small part + number of λ_i

which is never formed: with f'/f = Σ_j 1/(z − σ_j) + Σ_i 1/(z − λ_i) − tr[(I − PG)⁻¹ (PG)'], σ_j the eigenvalues of A,
all roots are improved together by

    z_k ← z_k − 1 / (f'/f(z_k) − Σ_{j≠k} 1/(z_k − z_j))

(L. W. Ehrlich, Commun. ACM 10 (1967) 107–108; O. Aberth, Math. Comput. 27 (1973) 339–344), each from the pole λ_i of
the large part that it has moved from.  A root is kept as z = λ_i + δ, so that one that has hardly moved is as exact as
any.
The cost is N² for each of some ten rounds, where eigenvalues of the whole matrix cost 25 N³.

*None is missed.*  Within N |f/f'| of any point there is a root (E. Laguerre, Œuvres I, 1898, 56–63).  Where these discs
about all roots found outside a circle |z| = r are small and apart, each is a root of its own.  How many there are
outside it is counted on the circle,

    roots outside = poles of h outside − turns of h along the circle,        h = det(I − P G)

with r put where neither is near.  If both numbers are the same, none is missing.  Those inside decay at once and need
not be known well: such poles λ_i, of which dissipative schemes have a cluster, stand for the roots they have become.
If the numbers differ, the answer is None, and the whole matrix is used.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import matrix_balance, schur

from ..kernels.entry import entry
from .condensed import Condensed, sums

ROUNDS = 40
SETTLED, INNER_SETTLED = 2e-15, 1e-8
"""Change of a root, as a part of it, at which it has settled: one that matters, and one that decays at once."""
GONE = 1e-3
"""Modulus below which a root is a sample that drops out, and need not be known better."""
INNER = 0.9
"""Modulus up to which a root decays at once: the circle lies within, and such roots need not be known to all digits."""
INNERMOST = 0.45
"""Least radius of the circle."""
KNOWN = 1e-7
"""Radius of a disc up to which a root is known."""
TURN = 0.5
"""Largest turn of h between two points of the circle."""
NEIGHBOURS = 400
"""Roots with nearly the same real part that are compared with each other."""
UNCOUPLED = 1e-18
"""By how much a pole moves that does not affect the rest of the loop."""


@entry("c16[]", "c16[]", "c16[]", "c16[]", "i8[]", "c16[]", fastmath=("contract",))
def _repelled(anchor, shift, others, moved, skip, total):  # type: ignore[no-untyped-def]
    """Σ 1/(z − z_j) over all others but the one at ``skip``, z = anchor + shift."""
    for k in range(anchor.size):
        for j in range(others.size):
            if j != skip[k]:
                apart = (anchor[k] - others[j]) + (shift[k] - moved[j])
                scale = 1.0 / max(apart.real * apart.real + apart.imag * apart.imag, 1e-290)
                total[k] += complex(apart.real * scale, -apart.imag * scale)
    return 0


def all_poles(loop: Condensed) -> np.ndarray | None:
    """Every pole of a loop without inputs; None if they could not be determined for certain."""
    inside = _in_loop(loop)
    alone = np.linalg.eigvals(loop.a[np.ix_(~inside, ~inside)])
    felt = np.any(loop.f[:, inside], axis=1)
    e, f, right = loop.e[inside], loop.f[felt][:, inside], loop.right[:, felt]
    strength = np.linalg.norm(loop.left, axis=0) * np.linalg.norm(right, axis=1)
    moved = strength * np.linalg.norm(e) * np.linalg.norm(f) > UNCOUPLED
    moved &= (np.abs(loop.modes) > GONE) | (strength > 1e-10 * np.max(strength, initial=0.0))
    rest = np.concatenate([alone, loop.modes[~moved], loop.apart])
    if not inside.any() or not moved.any():
        return np.concatenate([rest, np.linalg.eigvals(loop.a[np.ix_(inside, inside)]), loop.modes[moved]])
    roots = _Roots(loop.a[np.ix_(inside, inside)], e, f, loop.modes[moved], loop.left[:, moved], right[moved]).found()
    return None if roots is None else np.concatenate([rest, roots])


def _in_loop(loop: Condensed) -> np.ndarray:
    """States of the small part through which what the large part puts out comes back to it."""
    reached, reaching = np.any(loop.e != 0.0, axis=1), np.any(loop.f != 0.0, axis=0)
    linked = loop.a != 0.0
    for _ in range(len(loop.a)):
        more, back = reached | linked[:, reached].any(axis=1), reaching | linked[reaching].any(axis=0)
        if np.array_equal(more, reached) and np.array_equal(back, reaching):
            break
        reached, reaching = more, back
    return np.asarray(reached & reaching)


def _scales(a, e, f, left, right) -> np.ndarray:  # type: ignore[no-untyped-def]
    """Units of the small part's states in which no entry of the loop is lost in the rounding of others.

    States of a servo-valve and of a delay line differ by 10¹⁴, and a Schur form is exact to rounding of the largest
    entry only.  As states of the small part also act on each other through the large part, that is balanced with it.
    """
    through = np.abs(left) @ np.abs(right)
    whole = np.block([[a, e @ through], [f, np.zeros((len(f), len(f)))]])
    return np.asarray(np.diag(matrix_balance(whole, permute=False)[1])[: len(a)])


def _has_conjugate(z: np.ndarray) -> np.ndarray:
    """Whether the conjugate of each root is another one, or itself, as far as roots are known."""
    order = np.argsort(z.real)
    sorted_z, found = z[order], np.zeros(z.size, dtype=bool)
    first = np.searchsorted(sorted_z.real, z.real - KNOWN)
    beyond = np.searchsorted(sorted_z.real, z.real + KNOWN, side="right")
    left = np.flatnonzero(first < beyond)
    while left.size:
        found[left] = np.abs(sorted_z[first[left]] - z[left].conj()) <= KNOWN
        first[left] += 1
        left = left[~found[left] & (first[left] < beyond[left])]
    return found


class _Roots:
    """The roots of f for a small part A, E, F and a large one."""

    def __init__(self, a, e, f, poles, left, right) -> None:  # type: ignore[no-untyped-def]
        scale = _scales(a, e, f, left, right)
        form, basis = schur(a * scale / scale[:, None], output="complex")
        self.form, self.e, self.f = form, basis.conj().T @ (e / scale[:, None]), (f * scale) @ basis
        self.poles, self.left, self.right = (np.ascontiguousarray(one) for one in (poles, left, right))
        n = len(a)
        turns = np.exp(2j * np.pi * (np.arange(n) + 0.37) / n)
        slow = np.abs(self.poles) > INNERMOST
        self.fast, self.slow = self.poles[~slow], self.poles[slow]
        self.anchor = np.concatenate([self.slow, np.zeros(n)]).astype(complex)
        # to first order a pole moves by b P c
        p = self._small(self.slow)[0]
        first = np.einsum("iu,iuv,vi->i", self.right[slow], p, self.left[:, slow])
        most = 1e-2 * np.abs(self.slow)
        size = np.maximum(np.abs(first), 1e-300)
        first = np.where(np.isfinite(first), first * np.minimum(1.0, most / size), 1e-6 * (1.0 + 0.3j))
        self.shift = np.concatenate([np.where(first == 0.0, 1e-14 * (1.0 + 0.3j), first), 0.7 * turns])

    def _small(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """P and P' at z, (len(z), inputs, outputs of the large part)."""
        once = resolved(self.form, z, self.e[:, None, :])
        twice = resolved(self.form, z, once)
        return np.tensordot(self.f, once, axes=1).transpose(1, 0, 2), -np.tensordot(self.f, twice, axes=1).transpose(
            1, 0, 2
        )

    def _inner(self, anchor: np.ndarray, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """h = det(I − PG) and h'/h at anchor + shift."""
        g, g_slope, _ = sums(self.poles, self.left, self.right, anchor, shift, np.full(anchor.size, -1.0))
        p, p_slope = self._small(anchor + shift)
        inner = np.eye(p.shape[1]) - p @ g
        value = np.linalg.det(inner)
        inner[value == 0.0] = np.eye(p.shape[1])  # exactly at a root
        change = np.trace(np.linalg.solve(inner, p_slope @ g + p @ g_slope), axis1=1, axis2=2)
        return value, np.where(value == 0.0, np.inf, -change)

    def _slopes(self, at: np.ndarray, poles: np.ndarray) -> np.ndarray:
        """f'/f at some of the roots, with some of the large part's poles taken out of f."""
        anchor, shift, known = self.anchor[at], self.shift[at], np.concatenate([poles, np.diag(self.form)])
        plain = np.zeros(at.size, dtype=complex)
        _repelled(anchor, shift, known, np.zeros_like(known), np.full(at.size, -1), plain)
        return np.asarray(plain + self._inner(anchor, shift)[1])

    def _rates(self, at: np.ndarray) -> np.ndarray:
        """f'/f − Σ 1/(z − z_j) at some of the roots, of f without roots and poles that decay at once."""
        pushed = np.zeros(at.size, dtype=complex)
        _repelled(self.anchor[at], self.shift[at], self.anchor, self.shift, at, pushed)
        return np.asarray(self._slopes(at, self.slow) - pushed)

    def found(self) -> np.ndarray | None:
        with np.errstate(all="ignore"):
            self._improve(np.arange(self.anchor.size))
            lost = self._paired()
            if lost.size:
                self._improve(lost)
            return np.concatenate([self.anchor + self.shift, self.fast]) if self._certain() else None

    def _improve(self, active: np.ndarray) -> None:
        for _ in range(ROUNDS):
            step = 1.0 / self._rates(active)
            z = self.anchor[active] + self.shift[active]
            lost = ~np.isfinite(step)
            step[lost] = 0.1 * z[lost] * np.exp(1j * np.arange(int(lost.sum())))
            longest = 0.3 * np.maximum(np.abs(z), 0.05)
            step *= np.minimum(1.0, longest / np.maximum(np.abs(step), 1e-300))
            self.shift[active] -= step
            now = self.anchor[active] + self.shift[active]
            size = np.abs(now)
            settled = np.where(size > INNER, SETTLED, INNER_SETTLED) * size
            active = active[(np.abs(step) > settled) & (size > GONE)]
            if not active.size:
                break

    def _paired(self) -> np.ndarray:
        """Put points that have found no root next to the conjugates of roots that lack them, and show which."""
        z = self.anchor + self.shift
        alone = np.flatnonzero((np.abs(z) > INNERMOST) & ~_has_conjugate(z))
        idle = np.flatnonzero((np.abs(z) < INNERMOST) & (self.anchor == 0.0))
        count = min(alone.size, idle.size)
        self.shift[idle[:count]] = z[alone[:count]].conj() * (1.0 + 1e-9)
        return idle[:count]

    def _certain(self) -> bool:
        """Whether the roots outside a circle are roots of their own, and as many as there are."""
        z, known = self.anchor + self.shift, np.concatenate([self.poles, np.diag(self.form)])
        sizes = np.sort(np.abs(np.concatenate([z, known])))
        sizes = np.concatenate([[INNERMOST], sizes[(sizes > INNERMOST) & (sizes < INNER)], [INNER]])
        widest = int(np.argmax(np.diff(sizes)))
        circle = float(sizes[widest : widest + 2].mean())
        outside = np.flatnonzero(np.abs(z) > circle)
        radius = known.size / np.abs(self._slopes(outside, self.poles))
        order = np.argsort(z[outside].real, kind="stable")
        there, reach = z[outside][order], radius[order]
        # discs that are this small can only touch those of neighbours along the real axis
        apart = True
        for step in range(1, min(NEIGHBOURS, there.size)):
            apart &= bool(np.all(np.abs(there[step:] - there[:-step]) > reach[step:] + reach[:-step]))
            if np.all(there.real[step:] - there.real[:-step] > 2.0 * KNOWN):
                break
        else:
            apart &= there.size <= NEIGHBOURS
        if not apart or not np.all(radius <= KNOWN):
            return False
        turns = self._turns(circle)
        return turns is not None and np.count_nonzero(np.abs(known) > circle) - turns == outside.size

    def _turns(self, circle: float) -> int | None:
        """How often h turns about zero along a circle, of which the upper half shows; None if that is not clear."""
        theta = np.linspace(0.0, np.pi, 257)
        value, rate = self._inner(circle * np.exp(1j * theta), np.zeros(theta.size, dtype=complex))
        for _ in range(20):
            turn = np.angle(value[1:] / value[:-1])
            steps = circle * np.diff(theta) * np.maximum(np.abs(rate[1:]), np.abs(rate[:-1]))
            wide = np.flatnonzero((np.abs(turn) > TURN) | (steps > 2.0 * TURN) | ~np.isfinite(turn))
            if not wide.size:
                total = 2.0 * turn.sum() / (2.0 * np.pi)
                return round(total) if abs(total - round(total)) < 1e-3 else None
            middle = (theta[wide] + theta[wide + 1]) / 2
            more = self._inner(circle * np.exp(1j * middle), np.zeros(middle.size, dtype=complex))
            theta = np.insert(theta, wide + 1, middle)
            value, rate = np.insert(value, wide + 1, more[0]), np.insert(rate, wide + 1, more[1])
        return None


def resolved(form: np.ndarray, z: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(zI − T)⁻¹ times columns, of a triangular T, at all points: (states, points, columns)."""
    n = len(form)
    x = np.empty((n, z.size, right.shape[2]), dtype=complex)
    for i in range(n - 1, -1, -1):
        x[i] = (right[i] + np.tensordot(form[i, i + 1 :], x[i + 1 :], axes=1)) / (z - form[i, i])[:, None]
    return x
