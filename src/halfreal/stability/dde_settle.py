"""Roots that Newton's method reaches, each enclosed in a circle in which their number is counted (``dde_matrix``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.entry import entry
from .dde_matrix import DATA, EPS, FASTMATH, NOISE, QUOTIENT, copy, gain, inner, look, room


@entry("c16[]", "i8[]", "i8", "f8", "f8")
def known(centres, times, count, sigma, top):  # type: ignore[no-untyped-def]
    """How many of the ``count`` roots settled lie right of σ and below top, both of a pair."""
    total = 0
    for j in range(count):
        if centres[j].real > sigma and centres[j].imag < top:
            total += times[j] * (2 if centres[j].imag > 0.0 else 1)
    return total


def upper(raw: np.ndarray, left: float, slack: float, top: float) -> np.ndarray:
    """Guesses of the upper half plane below top and right of ``left``, give or take a share of |s|, rightmost first."""
    chosen = raw[(raw.imag >= 0.0) & (raw.imag <= top) & (raw.real > left - slack * np.abs(raw))]
    return np.asarray(chosen[np.argsort(-chosen.real, kind="stable")])


@inner
def around(data: Any, centre: Any, radius: Any, most: Any, room: Any, order: Any) -> Any:
    """Roots inside a polygon whose corners lie on a circle, −1 if they cannot be counted.

    The real part falls on half of it: steps are short against the delays, by which the bounds grow 1.65 times at most.
    """
    lam = data[5]
    y, inverse, slope, before, held = room[0], room[1], room[2], room[3], room[4]
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
        copy(y, before)
        copy(inverse, held)
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


@inner
def newton(data: Any, start: Any, unit: Any, room: Any, order: Any) -> Any:
    """A root near ``start`` and the last step; the steps are lengthened where it is a multiple one."""
    y, inverse, slope = room[0], room[1], room[2]
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


@inner
def mean(data: Any, centre: Any, radius: Any, multiplicity: Any, room: Any, order: Any) -> Any:
    """Mean of the roots inside a circle: the first moment of the logarithmic derivative."""
    y, inverse, slope = room[0], room[1], room[2]
    total = 0.0 + 0.0j
    for j in range(32):
        w = radius * np.exp(2j * np.pi * (j + 0.5) / 32)
        total += w * w * look(data, centre + w, y, inverse, slope, order)[6]
    return centre + total / (32 * multiplicity)


def settle(
    data: Any,
    guesses: np.ndarray,
    unit: float,
    enough: float,
    centres: np.ndarray,
    radii: np.ndarray,
    times: np.ndarray,
    count: int,
) -> int:
    """Roots that Newton's method reaches from the guesses, each enclosed in a circle in which their number is counted.

    Those of the upper half plane; a pair that cannot be distinguished from a double real root is one.  They are put
    behind the ``count`` that are known already, until ``enough`` lie right of the next guess.  Returns how many there
    are then.
    """
    places, order = room(data, 5)
    return _settle(data, np.ascontiguousarray(guesses), unit, enough, centres, radii, times, count, places, order)


@entry(DATA, "c16[]", "f8", "f8", "c16[]", "f8[]", "i8[]", "i8", "c16[,,]", "i8[]", fastmath=FASTMATH)
def _settle(data, guesses, unit, enough, centres, radii, times, count, room, order):  # type: ignore[no-untyped-def]
    for start in guesses:
        if count >= len(centres):
            break
        right = 0
        for j in range(count):
            if centres[j].real > start.real + 0.02 * unit:
                right += times[j] * (2 if centres[j].imag > 0.0 else 1)
        if right >= enough:
            break
        s, last = newton(data, start, unit, room, order)
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
                if around(data, centres[met], both, 4000, room, order) == times[met]:
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
            number = around(data, s, size, 4000, room, order)
            if number > 0:
                while around(data, s, 0.7 * size, 4000, room, order) == number and size > 1e-8 * scale:
                    size *= 0.7
                radii[count], times[count] = size, number
                if number > 1:
                    better = mean(data, s, size, number, room, order)
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
