"""Turns of a characteristic determinant along a path, each step proven: the compiled kernels of ``dde_count``.

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

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from ..kernels.compile import identity
from ..kernels.disk_cache import keep

QUOTIENT = 0.75
NOISE = 0.03
EPS = float(np.finfo(float).eps)
FINE, CLOSE, LONG = 0, 1, 2
"""How a walk ended: at its end, too close to a root for the rounding, after too many steps."""


def compiled(function: Callable[..., Any]) -> Any:
    """Kernels call nothing from other files: what is kept on disk would not follow a change there."""
    options = {"nogil": True, "error_model": "numpy", "fastmath": {"contract", "reassoc", "nsz"}}
    return keep(njit(**options)(function), identity(function))


@compiled
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


@compiled
def norm(a: Any) -> Any:
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total += a[i, j].real ** 2 + a[i, j].imag ** 2
    return np.sqrt(total)


@compiled
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
    inverse[:] = y
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


@compiled
def far(data: Any, s: Any) -> Any:
    """M and the argument of the powers of s with Y = I − M at s, but for these powers."""
    n = data[2].shape[-1]
    y, inverse, slope = np.empty((3, n, n), np.complex128)
    look(data, s, y, inverse, slope, np.empty(n, np.int64))
    powers = 0.0
    if not data[0]:
        y[: data[1]] /= s
        powers = data[1] * np.arctan2(s.imag, s.real)
    M = -y
    for p in range(n):
        M[p, p] += 1.0
    return M, powers


@compiled
def known(centres: Any, times: Any, count: Any, sigma: Any, top: Any) -> Any:
    """How many of the ``count`` roots settled lie right of σ and below top, both of a pair."""
    total = 0
    for j in range(count):
        if centres[j].real > sigma and centres[j].imag < top:
            total += times[j] * (2 if centres[j].imag > 0.0 else 1)
    return total


@compiled
def upper(raw: Any, left: Any, slack: Any, top: Any) -> Any:
    """Guesses of the upper half plane below top and right of ``left``, give or take a share of |s|, rightmost first."""
    chosen = np.empty(len(raw), np.complex128)
    count = 0
    for z in raw:
        if 0.0 <= z.imag <= top and z.real > left - slack * abs(z):
            chosen[count] = z
            count += 1
    chosen = chosen[:count]
    return chosen[np.argsort(-chosen.real, kind="mergesort")]


@compiled
def gain(held: Any, before: Any, y: Any, turn: Any, now: Any) -> Any:
    """Argument gained by a step: as Im tr X lets expect, up to whole turns."""
    expected = 0.0
    for p in range(len(y)):
        for q in range(len(y)):
            v = held[p, q] * (y[q, p] - before[q, p])
            expected += v.imag
    gained = now - turn - expected
    return expected + gained - 2.0 * np.pi * np.round(gained / (2.0 * np.pi))


@compiled
def walk(data: Any, start: Any, end: Any, most: Any, seeds: Any) -> Any:
    """Argument of det Y gained from start to end, how the walk ended, its steps; where it went slowly, in ``seeds``.

    The real part must not fall on the way.
    """
    n = data[2].shape[-1]
    y, inverse, slope = np.empty((3, n, n), np.complex128)
    before, held = np.empty((2, n, n), np.complex128)
    order = np.empty(n, np.int64)
    whole = abs(end - start)
    if whole == 0.0:
        return 0.0, FINE, 0, 0
    u = (end - start) / whole
    gone, total, steps, marks = 0.0, 0.0, 0, 0
    s = start
    last, previous = np.inf, np.inf
    turn, first, bend, longest, safe, noise, _ = look(data, s, y, inverse, slope, order)
    while True:
        if not noise <= NOISE:
            return total, CLOSE, steps, marks
        h = 2.0 * QUOTIENT / (first + np.sqrt(first * first + 2.0 * QUOTIENT * bend) + 1e-300)
        h = max(min(h, longest), safe)
        if last <= previous and last < h and marks < len(seeds):  # a step shorter than both its neighbours
            seeds[marks] = s - last * u
            marks += 1
        previous, last = last, h
        rest = whole - gone
        arrived = h >= rest
        h = min(h, rest)
        if h <= 4.0 * EPS * abs(s) and not arrived:
            return total, CLOSE, steps, marks
        before[:] = y
        held[:] = inverse
        gone += h
        s = end if arrived else start + gone * u
        now, first, bend, longest, safe, noise, _ = look(data, s, y, inverse, slope, order)
        steps += 1
        if np.isnan(now):
            return total, CLOSE, steps, marks
        total += gain(held, before, y, turn, now)
        turn = now
        if arrived:
            return total, FINE if noise <= NOISE else CLOSE, steps, marks
        if steps >= most:
            return total, LONG, steps, marks


@compiled
def around(data: Any, centre: Any, radius: Any, most: Any) -> Any:
    """Roots inside a polygon whose corners lie on a circle, −1 if they cannot be counted.

    The real part falls on half of it: steps are short against the delays, by which the bounds grow 1.65 times at most.
    """
    n, lam = data[2].shape[-1], data[5]
    y, inverse, slope = np.empty((3, n, n), np.complex128)
    before, held = np.empty((2, n, n), np.complex128)
    order = np.empty(n, np.int64)
    longest = radius
    for tau in data[3]:
        longest = min(longest, 0.5 / tau)
    z, angle, total = centre + radius, 0.0, 0.0
    turn, first, bend, limit, _, noise, _ = look(data, z, y, inverse, slope, order)
    for _ in range(most):
        if not noise <= NOISE:
            return -1
        h = 2.0 * QUOTIENT / (first + np.sqrt(first * first + 3.3 * QUOTIENT * bend) + 1e-300)
        angle += 2.0 * np.arcsin(0.5 * min(h, longest, limit) / radius)
        last = angle >= 2.0 * np.pi
        corner = centre + radius if last else centre + radius * np.exp(1j * angle)
        before[:] = y
        held[:] = inverse
        now, first, bend, limit, _, noise, _ = look(data, corner, y, inverse, slope, order)
        total += gain(held, before, y, turn, now)
        for i in range(len(lam)):
            if abs(lam[i] - centre) < 2.0 * radius and z != lam[i]:
                ratio = (corner - lam[i]) / (z - lam[i])
                total += np.arctan2(ratio.imag, ratio.real)
        z, turn = corner, now
        if last:
            turns = total / (2.0 * np.pi)
            return int(np.round(turns)) if noise <= NOISE and abs(turns - np.round(turns)) < 0.05 else -1
    return -1


@compiled
def newton(data: Any, start: Any, unit: Any) -> Any:
    """A root near ``start`` and the last step; the steps are lengthened where it is a multiple one."""
    n = data[2].shape[-1]
    y, inverse, slope = np.empty((3, n, n), np.complex128)
    order = np.empty(n, np.int64)
    s, last, times, rate = start, np.inf, 1.0, 0.0
    for _ in range(40):
        found = look(data, s, y, inverse, slope, order)
        if np.isnan(found[0]):
            if not data[0]:
                return s, 0.0
            s += 1e-6 * (abs(s) + unit)  # on an eigenvalue of the states alone
            continue
        if found[6] == 0.0:
            return s, np.inf
        step = -times / found[6]
        size = abs(step)
        if not np.isfinite(size):
            return s, np.inf
        now = size / last
        if times == 1.0 and 0.45 < now < 0.9 and abs(now - rate) < 0.03 and size < 1e-2 * (abs(s) + unit):
            times = np.round(1.0 / (1.0 - now))  # steps shrink at the rate 1 − 1/multiplicity
            step *= times
            size *= times
        rate = now
        limit = 0.5 * (abs(s) + unit)
        if size > limit:
            step *= limit / size
            size = limit
        s += step
        if size <= 4.0 * EPS * abs(s) or (size >= last and times == 1.0 and size < 1e-7 * (abs(s) + unit)):
            return s, size
        if size >= 0.5 * last:
            times = 1.0
        last = size
    return s, last


@compiled
def mean(data: Any, centre: Any, radius: Any, multiplicity: Any) -> Any:
    """Mean of the roots inside a circle: the first moment of the logarithmic derivative."""
    n = data[2].shape[-1]
    y, inverse, slope = np.empty((3, n, n), np.complex128)
    order = np.empty(n, np.int64)
    total = 0.0 + 0.0j
    for j in range(32):
        w = radius * np.exp(2j * np.pi * (j + 0.5) / 32)
        total += w * w * look(data, centre + w, y, inverse, slope, order)[6]
    return centre + total / (32 * multiplicity)


@compiled
def settle(data: Any, guesses: Any, unit: Any, enough: Any, centres: Any, radii: Any, times: Any, count: Any) -> Any:
    """Roots that Newton's method reaches from the guesses, each enclosed in a circle in which their number is counted.

    Those of the upper half plane; a pair that cannot be told from a double real root is one.  They are put behind the
    ``count`` that are known already, until ``enough`` lie right of the next guess.  Returns how many there are then.
    """
    for start in guesses:
        if count >= len(centres):
            break
        right = 0
        for j in range(count):
            if centres[j].real > start.real + 0.02 * unit:
                right += times[j] * (2 if centres[j].imag > 0.0 else 1)
        if right >= enough:
            break
        s, last = newton(data, start, unit)
        if not (np.isfinite(s.real) and np.isfinite(s.imag)):
            continue
        scale = abs(s) + unit
        if not last < 0.02 * unit:
            continue
        if s.imag < 0.0:
            s = s.conjugate()
        if s.imag <= 1e-9 * scale:
            s = complex(s.real, 0.0)
        size = max(1e-9 * scale, 4.0 * last)
        for _ in range(20):
            if size > 0.5 * unit:
                break
            # one circle with those that it would meet, and with its own mirror image
            known, met = False, -1
            for j in range(count):
                if abs(s - centres[j]) <= 1.01 * radii[j]:
                    known = True
                elif abs(s - centres[j]) <= 1.2 * (radii[j] + size):
                    met = j
            if known:
                break
            if met >= 0:
                both = abs(s - centres[met]) + radii[met] + size
                if around(data, centres[met], both, 4000) == times[met]:
                    break  # the same root again
                s = 0.5 * (s + centres[met])
                size = both
                count -= 1
                centres[met], radii[met], times[met] = centres[count], radii[count], times[count]
                continue
            if 0.0 < s.imag <= 1.2 * size:
                size += s.imag
                s = complex(s.real, 0.0)
                continue
            number = around(data, s, size, 4000)
            if number > 0:
                while around(data, s, 0.7 * size, 4000) == number and size > 1e-8 * scale:
                    size *= 0.7
                radii[count], times[count] = size, number
                if number > 1:
                    better = mean(data, s, size, number)
                    if s.imag == 0.0:
                        better = complex(better.real, 0.0)
                    if abs(better - s) < size:
                        radii[count] = size + abs(better - s)
                        s = better
                centres[count] = s
                count += 1
                break
            size *= 4.0
    return count
