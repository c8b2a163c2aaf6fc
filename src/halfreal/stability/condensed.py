"""A sampled loop with a large part condensed to what the rest of the loop sees of it.

Structures of a thousand degrees of freedom meet the rest of the loop in a few forces and displacements.  Where a large
block offers its Jacobian in parts that do not act on each other (``pieces.py``), the loop is

    small part    x⁺ = A x + E v + B w,    u = F x + H w,    y = C x + J v + D w
    large part    v = G(z) u,              G(z) = Σ_i c_i b_iᵀ / (z − λ_i)

with w the probe if the loop is cut, and none if it is closed.  Nothing is left out: G(z) is the dynamic flexibility at
the interface, with every pole λ_i and its residue.  The response of the loop is then

    y = [W + T G (I − P G)⁻¹ Q] w,      P = F R E,  Q = F R B + H,  T = C R E + J,  W = C R B + D,   R = (zI − A)⁻¹

and its poles are the roots of det(zI − A) Π(z − λ_i) det(I − P G) (``condensed_poles.py``).  States of the large block
that only keep what it has read, and parts of it with poles that coincide, as free motion has, go to the small part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from ..contracts.state_space import SINGULAR, StateSpace
from ..kernels.entry import entry
from .pieces import Pieces

Side = Callable[[np.ndarray], np.ndarray]
WIDEST = 6
"""States of the parts that there may be many of; of larger ones there may be one, and its eigenvalues take longer."""
SKEWED = 1e7
"""Condition number of a part's eigenvectors from which on its poles count as coinciding."""
FEWEST = 100
"""States of the large part below which there is nothing to gain."""
MOST_SMALL = 600
"""States of the small part up to which condensing pays."""


@entry("c16[]", "c16[,]", "c16[]", "c16[]", "f8[]", "c16[,]", "c16[,]", "f8[,]", fastmath=("contract",))
def _sums(poles, residues, z, shift, reach, value, slope, curve):  # type: ignore[no-untyped-def]
    """Σ c b/(z − λ), its derivative, and unless reach < 0 a bound of its second one within ``reach``, of each entry.

    The point is z + shift, of which z may be one of the poles.
    """
    entries = residues.shape[1]
    for k in range(z.size):
        for i in range(poles.size):
            apart = (z[k] - poles[i]) + shift[k]
            square = apart.real * apart.real + apart.imag * apart.imag
            scale = 1.0 / max(square, 1e-290)
            over = complex(apart.real * scale, -apart.imag * scale)
            for e in range(entries):
                term = residues[i, e] * over
                value[k, e] += term
                slope[k, e] -= term * over
            if reach[k] >= 0.0:
                near = max(np.sqrt(square) - reach[k], 1e-100)
                cube = 2.0 / (near * near * near)
                for e in range(entries):
                    term = residues[i, e]
                    curve[k, e] += np.sqrt(term.real * term.real + term.imag * term.imag) * cube
    return 0


def sums(
    poles: np.ndarray, left: np.ndarray, right: np.ndarray, z: np.ndarray, shift: np.ndarray, reach: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """G, G' at z + shift, and a bound of |G''| up to ``reach`` from there, where that is not negative."""
    entries = len(left) * right.shape[1]
    residues = np.ascontiguousarray((left.T[:, :, None] * right[:, None, :]).reshape(poles.size, entries))
    value, slope = np.zeros((z.size, entries), dtype=complex), np.zeros((z.size, entries), dtype=complex)
    curve = np.zeros((z.size, entries))
    _sums(
        np.ascontiguousarray(poles, dtype=complex),
        residues.astype(complex),
        z.astype(complex),
        shift.astype(complex),
        reach,
        value,
        slope,
        curve,
    )
    shape = z.size, len(left), right.shape[1]
    return value.reshape(shape), slope.reshape(shape), curve.reshape(shape)


@dataclass(frozen=True)
class Condensed:
    """See the module for the equations; the small part's matrices are real, the large part's complex."""

    a: np.ndarray
    e: np.ndarray
    f: np.ndarray
    modes: np.ndarray
    """λ, (n,)."""
    left: np.ndarray
    """c, (outputs of the large part, n)."""
    right: np.ndarray
    """b, (n, inputs of the large part)."""
    dt: float
    b: np.ndarray
    h: np.ndarray
    c: np.ndarray
    j: np.ndarray
    d: np.ndarray
    apart: np.ndarray
    """Poles of states of the large part that do not affect the rest of the loop."""

    @property
    def states(self) -> int:
        return len(self.a) + self.modes.size + self.apart.size

    @property
    def channels(self) -> int:
        return int(self.b.shape[1])

    @cached_property
    def small(self) -> StateSpace:
        """From (w, v) to (y, u)."""
        through = np.block([[self.d, self.j], [self.h, np.zeros((len(self.f), self.e.shape[1]))]])
        return StateSpace(self.a, np.hstack([self.b, self.e]), np.vstack([self.c, self.f]), through, self.dt)

    def sums(self, z: np.ndarray, reach: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """G(z), G'(z) and a bound of |G''| up to ``reach`` from z."""
        reach = np.full(z.size, -1.0) if reach is None else reach
        return sums(self.modes, self.left, self.right, z, np.zeros(z.size), reach)

    def response(self, omega: np.ndarray) -> np.ndarray:
        """From w to y at ω [rad/s], (len(ω), outputs, inputs)."""
        omega = np.atleast_1d(omega)
        g = self.sums(np.exp(1j * omega * self.dt))[0]
        return self.joined(self.small.response(omega), g)

    def joined(self, small: np.ndarray, g: np.ndarray) -> np.ndarray:
        """The small part's response and G put together."""
        n, m = self.d.shape
        w, t, q, p = small[:, :n, :m], small[:, :n, m:], small[:, n:, :m], small[:, n:, m:]
        inside = np.eye(g.shape[1]) - g @ p
        return np.asarray(w + t @ np.linalg.solve(inside, g @ q))

    @cached_property
    def cascade(self) -> bool:
        """Whether what the large part puts out never comes back to it."""
        reached = np.any(self.e != 0.0, axis=1)
        while True:
            more = reached | np.any(self.a[:, reached] != 0.0, axis=1)
            if np.array_equal(more, reached):
                return not np.any(self.f[:, reached])
            reached = more

    def poles(self) -> np.ndarray:
        """Of the loop as it is cut."""
        from .condensed_poles import all_poles

        found = all_poles(self)
        return self.dense().poles() if found is None else found

    def closed_poles(self, gain: float = 1.0) -> np.ndarray:
        """Of the loop closed by w = −gain · y."""
        from .condensed_poles import all_poles

        found = all_poles(self.closed(gain))
        return self.dense().closed_poles(gain) if found is None else found

    def integrates(self) -> bool:
        """Whether a pole lies at rest, so that there is no static response."""
        return bool(np.abs(self.poles() - 1.0).min(initial=1.0) < SINGULAR)

    def dense(self) -> StateSpace:
        """The whole loop as one model, its large part in coordinates of which pairs are conjugate."""
        upper = self.modes.imag >= 0.0
        pair = np.where(self.modes.imag > 0.0, 2, 1)[upper]
        values, left, right = self.modes[upper], self.left[:, upper], self.right[upper]
        blocks = [
            np.array([[v.real, v.imag], [-v.imag, v.real]]) if two == 2 else np.array([[v.real]])
            for v, two in zip(values, pair, strict=True)
        ]
        first = np.cumsum(pair) - pair
        second = first[pair == 2] + 1
        n = int(pair.sum())
        b, c = np.zeros((n, right.shape[1])), np.zeros((len(left), n))
        # c b/(z − λ) and its conjugate: in coordinates (Re, Im) of the mode's own motion
        b[first], b[second] = right.real, -right.imag[pair == 2]
        c[:, first] = np.where(pair == 2, 2.0, 1.0) * left.real
        c[:, second] = 2.0 * left.imag[:, pair == 2]
        large = np.asarray(block_diag(*blocks))
        return StateSpace(
            np.block([[self.a, self.e @ c], [b @ self.f, large]]),
            np.vstack([self.b, b @ self.h]),
            np.hstack([self.c, self.j @ c]),
            self.d,
            self.dt,
        )

    def only(self, rows: slice) -> Condensed:
        """With some of the outputs alone."""
        return self._with(c=self.c[rows], j=self.j[rows], d=self.d[rows])

    def as_small(self) -> Condensed | StateSpace:
        """The small part alone, if its outputs show nothing of the large one."""
        shown = np.any(self.c != 0.0, axis=0)
        for _ in range(len(self.a)):
            shown = shown | np.any(self.a[shown] != 0.0, axis=0)
        if np.any(self.j) or np.any(self.e[shown]):
            return self
        return StateSpace(self.a, self.b, self.c, self.d, self.dt)

    def without(self, inner: np.ndarray, outer: np.ndarray) -> Condensed:
        """With other coordinates of the small part: x = inner x', x' = outer x."""
        return self._with(
            a=outer @ self.a @ inner,
            e=outer @ self.e,
            f=self.f @ inner,
            b=outer @ self.b,
            c=self.c @ inner,
        )

    def negative(self) -> Condensed:
        return self._with(c=-self.c, j=-self.j, d=-self.d)

    def closed(self, gain: float = 1.0) -> Condensed:
        """The loop closed by w = −gain · y; D must be zero."""
        none = np.zeros((len(self.a), 0))
        return Condensed(
            a=self.a - gain * self.b @ self.c,
            e=self.e - gain * self.b @ self.j,
            f=self.f - gain * self.h @ self.c,
            modes=self.modes,
            left=self.left,
            right=self.right,
            dt=self.dt,
            b=none,
            h=np.zeros((len(self.f), 0)),
            c=none.T,
            j=np.zeros((0, self.e.shape[1])),
            d=np.zeros((0, 0)),
            apart=self.apart,
        )

    def _with(self, **changes: np.ndarray) -> Condensed:
        return Condensed(**{**{key: getattr(self, key) for key in Condensed.__dataclass_fields__}, **changes})


def condensed(pieces: Pieces, states: int, dt: float) -> Condensed | None:
    """The loop of ``pieces``, whose first ``states`` columns and rows are its states; columns after them are inputs,
    rows after them outputs.  None if it has no large part of the right form."""
    (rest, large, of_large), (_, large_rows, of_rows) = pieces.columns, pieces.rows
    whole = len(pieces.large) == 1 and np.array_equal(of_large, of_rows) and np.array_equal(large, large_rows)
    if not whole or of_large.size < FEWEST or rest.size > MOST_SMALL or np.any(pieces.through):
        return None
    one = pieces.large[0]
    if isinstance(one.a, np.ndarray) or not np.array_equal(of_large, np.arange(one.a.shape[0])):
        return None
    felt = _felt(one.a.tocsr(), one.b, one.c[np.any(pieces.by_outputs, axis=0)])
    apart = _own_poles(one.a.tocsr()[~felt][:, ~felt])
    a, b, c, d = one.a.tocsr()[felt][:, felt], one.b[felt], one.c[:, felt], one.d
    parts = _parts(a)
    if parts is None:
        return None
    kept, poles, left, right = parts
    # the large block in x_k, which joins the small part, and modes m: v = c_m x_m + c_k x_k + d u
    own = a[kept][:, kept].toarray()
    n, m = int(np.sum(rest < states)), int(kept.size)
    r, e, f = pieces.rest, pieces.by_outputs, pieces.inputs
    cols, probes = f[:, :n], f[:, n:]
    # large inputs are (u, x_k)
    small = r + e @ d @ f
    joined = np.block([[small[:n, :n], e[:n] @ c[:, kept]], [b[kept] @ cols, own]])
    inputs = small.shape[1] - n
    found = Condensed(
        a=joined,
        e=np.vstack([e[:n], np.zeros((m, e.shape[1]))]),
        f=np.asarray(block_diag(cols, np.eye(m))),
        modes=poles,
        left=left(c),
        right=right(b),
        dt=dt,
        b=np.vstack([small[:n, n:], b[kept] @ probes]),
        h=np.vstack([probes, np.zeros((m, inputs))]),
        c=np.hstack([small[n:, :n], e[n:] @ c[:, kept]]),
        j=e[n:],
        d=small[n:, n:],
        apart=apart,
    )
    read, shown = np.any(found.f, axis=1) | np.any(found.h, axis=1), np.any(found.e, axis=0) | np.any(found.j, axis=0)
    return found._with(
        f=found.f[read],
        h=found.h[read],
        right=np.ascontiguousarray(found.right[:, read]),
        e=found.e[:, shown],
        j=found.j[:, shown],
        left=np.ascontiguousarray(found.left[shown]),
    )


def _felt(a: Any, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """States of a block that its outputs depend on, now or later, and that something moves."""
    a.eliminate_zeros()
    read = np.any(c, axis=0)
    while True:
        more = read | (np.bincount(a[read].indices, minlength=read.size) > 0)
        if np.array_equal(more, read):
            return np.asarray(read & ((np.diff(a.indptr) > 0) | np.any(b, axis=1)))
        read = more


def _own_poles(a: Any) -> np.ndarray:
    """Eigenvalues, of groups of states that act on each other one after another."""
    from scipy.sparse.csgraph import connected_components

    count, label = connected_components(a, directed=True, connection="strong")
    order, widths = np.argsort(label, kind="stable"), np.bincount(label, minlength=count)
    starts, found = np.concatenate([[0], np.cumsum(widths)])[:-1], [np.zeros(0, dtype=complex)]
    for width in np.unique(widths):
        members = order[starts[widths == width][:, None] + np.arange(width)]
        if width > WIDEST:
            found += [np.linalg.eigvals(a[one][:, one].toarray()) for one in members]
            continue
        blocks = np.zeros((len(members), width, width))
        for i in range(width):
            for j in range(width):
                blocks[:, i, j] = np.asarray(a[members[:, i], members[:, j]]).ravel()
        found.append(np.linalg.eigvals(blocks).ravel())
    return np.concatenate(found)


def _parts(a: Any) -> tuple[np.ndarray, np.ndarray, Side, Side] | None:
    """Which states of a sparse block join the small part; poles of the others, and their residues' two sides.

    None if they do not fall apart.
    """
    from scipy.sparse.csgraph import connected_components

    a.eliminate_zeros()
    register = np.diff(a.indptr) == 0
    moving = np.flatnonzero(~register)
    own = a[moving][:, moving]
    count, label = connected_components(own, directed=True, connection="weak")
    order = np.argsort(label, kind="stable")
    widths = np.bincount(label, minlength=count)
    if np.count_nonzero(widths > WIDEST) > 1:
        return None
    starts = np.concatenate([[0], np.cumsum(widths)])
    dense_rows, joining = own.tocsr(), [np.flatnonzero(register)]
    found = []
    for width in np.unique(widths):
        members = order[starts[:-1][widths == width][:, None] + np.arange(width)]
        if width > WIDEST:
            blocks = dense_rows[members[0]][:, members[0]].toarray()[None]
        else:
            blocks = np.zeros((len(members), width, width))
            for i in range(width):
                for j in range(width):
                    blocks[:, i, j] = np.asarray(dense_rows[members[:, i], members[:, j]]).ravel()
        values, vectors = np.linalg.eig(blocks)
        good = np.linalg.cond(vectors) < SKEWED
        if width > WIDEST and not good.all():
            return None
        joining.append(moving[members[~good]].ravel())
        found.append((moving[members[good]], values[good].astype(complex), vectors[good].astype(complex)))
    kept = np.sort(np.concatenate(joining))
    poles = np.concatenate([np.zeros(0, dtype=complex), *(values.ravel() for _, values, _ in found)])

    def left(c: np.ndarray) -> np.ndarray:
        each = [np.einsum("rmi,mij->rmj", c[:, at], vectors).reshape(len(c), -1) for at, _, vectors in found]
        return np.hstack([np.zeros((len(c), 0)), *each])

    def right(b: np.ndarray) -> np.ndarray:
        each = []
        for at, values, vectors in found:
            driven = a[at.ravel()][:, kept].toarray().reshape(*at.shape, -1)
            both = np.concatenate([b[at], driven], axis=2)
            each.append(np.linalg.solve(vectors, both.astype(complex)).reshape(values.size, -1))
        return np.vstack([np.zeros((0, b.shape[1] + kept.size)), *each])

    return kept, poles, left, right
