"""The characteristic matrix of a delay system at a point, and how far a step from there may go: compiled.

A delay system in loop form (``dde_loop``) is walked in one of two matrices Y(s) that are singular at its roots:

    dense   Y = diag(s I, 0) − A_0 − Σ A_k e^{−s τ_k}             A_0 = [a, 0; c, −I], A_k = [0, b_k; 0, d_k], if d ≠ 0
    modal   Y = I − Σ e^{−s τ_k} (D_k + Σ_i c_i b_kiᵀ/(s − λ_i))   det Y = det Δ / Π (s − λ_i)

A step from s to z = s + h u is allowed if q = ‖X‖_F ≤ 3/4 on all of it, where Y(z) = Y(s)(I + X).  det Y has then no
zero on it, and its argument grows by Im tr X up to q²/(2 − 2q) ≤ 1.13, so that arg det Y(z), which is known up to whole
turns, is known.  With Taylor's formula

    q ≤ h ‖Y⁻¹Y'‖ + h²/2 ‖Y⁻¹‖ sup ‖Y''‖,         or, for long delays of little effect, from the sizes of all terms.

What rounding may have done to Y is bounded as well (``noise``: its size times ‖Y⁻¹‖); beyond ``NOISE`` the walk ends.
``data`` of a system is a tuple: modal or not, number of states, A or (D_k), delays, ‖A_k‖ or ‖D_k‖, and of the modal
form λ, c, b, ‖c_i‖‖b_ki‖, the bound of the rounding of λ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.compile import OPTIONS, helper

QUOTIENT = 0.75
NOISE = 0.03
EPS = float(np.finfo(float).eps)
FASTMATH = ("contract", "reassoc", "nsz")
DATA = ("i8", "i8", "c16[,,]", "f8[]", "f8[]", "c16[]", "c16[,]", "c16[,,]", "f8[,]", "f8")
"""Kinds of ``data`` (``kernels/entry.py``)."""

inner = helper(**OPTIONS, _nrt=False, fastmath=set(FASTMATH))
"""Decorator of what these kernels call."""


def room(data: Any, matrices: int) -> tuple[np.ndarray, np.ndarray]:
    """So many matrices of the size of Y, and room for the order of its rows."""
    n = data[2].shape[-1]
    return np.empty((matrices, n, n), complex), np.empty(n, np.int64)


@inner
def invert(a: Any, order: Any) -> Any:
    """Invert in place (Gauss–Jordan, row pivots); the argument of the determinant, NaN if it is zero."""
    n = a.shape[0]
    turn = 1.0 + 0.0j
    for k in range(n):
        p, big = k, -1.0
        for i in range(k, n):
            size = abs(a[i, k].real) + abs(a[i, k].imag)
            if size > big:
                p, big = i, size
        if not big > 0.0:
            return np.nan
        order[k] = p
        if p != k:
            turn = -turn
            for j in range(n):
                a[k, j], a[p, j] = a[p, j], a[k, j]
        pivot = a[k, k]
        turn *= pivot / abs(pivot)
        a[k, k] = 1.0
        scale = 1.0 / pivot
        for j in range(n):
            a[k, j] *= scale
        for i in range(n):
            if i != k:
                factor = a[i, k]
                if factor != 0.0:
                    a[i, k] = 0.0
                    for j in range(n):
                        a[i, j] -= factor * a[k, j]
    for k in range(n - 1, -1, -1):
        p = order[k]
        if p != k:
            for i in range(n):
                a[i, k], a[i, p] = a[i, p], a[i, k]
    return np.arctan2(turn.imag, turn.real)


@inner
def copy(a: Any, b: Any) -> Any:
    """b = a."""
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            b[i, j] = a[i, j]


@inner
def norm(a: Any) -> Any:
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total += a[i, j].real ** 2 + a[i, j].imag ** 2
    return np.sqrt(total)


@inner
def look(data: Any, s: Any, y: Any, inverse: Any, slope: Any, order: Any) -> Any:
    """Y, Y⁻¹ and Y' at s; arg det Y and what bounds a step: ‖Y⁻¹Y'‖, ‖Y⁻¹‖ sup ‖Y''‖, its longest, a safe one, noise.

    Also tr Y⁻¹Y', to which the modal form adds Σ 1/(s − λ_i): the logarithmic derivative of det Δ.
    """
    modal, states, A, delays, sizes, lam, c, b, g, rounding = data
    n, late = y.shape[0], len(delays)
    size, bend, longest, noise, extra = 0.0, 0.0, np.inf, 0.0, 0.0 + 0.0j
    absolute = abs(s)
    slope[:] = 0.0
    if modal:
        y[:] = 0.0
        for i in range(n):
            y[i, i] = 1.0
        near = np.inf
        for i in range(len(lam)):
            near = min(near, abs(s - lam[i]))
        if near == 0.0:
            return np.nan, 0.0, 0.0, 0.0, 0.0, np.inf, extra
        for i in range(len(lam)):
            extra += 1.0 / (s - lam[i])
        own = 0.0
        for k in range(late):
            e = np.exp(-s * delays[k])
            small = abs(e)
            first = second = third = 0.0
            for p in range(n):
                for q in range(n):
                    y[p, q] -= e * A[k, p, q]
                    slope[p, q] += e * delays[k] * A[k, p, q]
            for i in range(len(lam)):
                if g[k, i] == 0.0:
                    continue
                r = 1.0 / (s - lam[i])
                d = abs(r)
                first += g[k, i] * d
                second += g[k, i] * d * d
                third += g[k, i] * d * d * d
                w = e * r
                v = w * (delays[k] + r)
                for p in range(n):
                    cw, cv = c[p, i] * w, c[p, i] * v
                    for q in range(n):
                        y[p, q] -= cw * b[k, i, q]
                        slope[p, q] += cv * b[k, i, q]
            # h at most a quarter of the distance to λ: 1/d grows by 4/3 at most
            bend += small * (
                delays[k] ** 2 * (sizes[k] + 4 / 3 * first) + 2 * delays[k] * 16 / 9 * second + 2 * 64 / 27 * third
            )
            size += small * (sizes[k] + 4 / 3 * first)
            noise += small * (sizes[k] + first) * (8.0 + absolute * delays[k]) * EPS
            own += small * second
        longest = 0.25 * near
        noise += 8.0 * EPS + own * rounding / max(1e-3, 1.0 - rounding / near)
        if rounding > 0.1 * near:
            noise = np.inf
    else:
        for p in range(n):
            for q in range(n):
                y[p, q] = -A[0, p, q]
        for p in range(states):
            y[p, p] += s
            slope[p, p] = 1.0
        noise = (absolute * np.sqrt(states) + sizes[0]) * EPS * 4
        for k in range(late):
            e = np.exp(-s * delays[k])
            small = abs(e)
            for p in range(n):
                for q in range(n):
                    w = e * A[k + 1, p, q]
                    y[p, q] -= w
                    slope[p, q] += delays[k] * w
            bend += small * delays[k] ** 2 * sizes[k + 1]
            size += small * sizes[k + 1]
            noise += small * sizes[k + 1] * (8.0 + absolute * delays[k]) * EPS
    copy(y, inverse)
    turn = invert(inverse, order)
    if np.isnan(turn):
        return np.nan, 0.0, 0.0, 0.0, 0.0, np.inf, extra
    whole = norm(inverse)
    first = 0.0
    trace = 0.0 + 0.0j
    for p in range(n):
        for q in range(n):
            v = 0.0 + 0.0j
            for j in range(n):
                v += inverse[p, j] * slope[j, q]
            first += v.real**2 + v.imag**2
            if p == q:
                trace += v
    safe = 0.0
    if modal:
        if 2.0 * whole * size < QUOTIENT:
            safe = longest
    else:
        left = QUOTIENT - 2.0 * whole * size
        if left > 0.0:
            own = 0.0
            for p in range(n):
                for q in range(states):
                    own += inverse[p, q].real ** 2 + inverse[p, q].imag ** 2
            safe = left / max(np.sqrt(own), 1e-300)
    return turn, np.sqrt(first), whole * bend, longest, safe, whole * noise, trace + extra


@inner
def gain(held: Any, before: Any, y: Any, turn: Any, now: Any) -> Any:
    """Argument gained by a step: as Im tr X lets expect, up to whole turns."""
    expected = 0.0
    for p in range(len(y)):
        for q in range(len(y)):
            v = held[p, q] * (y[q, p] - before[q, p])
            expected += v.imag
    gained = now - turn - expected
    return expected + gained - 2.0 * np.pi * np.round(gained / (2.0 * np.pi))
