"""Turns of a characteristic determinant along a path, each step proven (``dde_matrix``): the walk of ``dde_count``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.entry import entry
from .dde_matrix import DATA, EPS, FASTMATH, NOISE, QUOTIENT, copy, gain, look, room

FINE, CLOSE, LONG = 0, 1, 2
"""How a walk ended: at its end, too close to a root for the rounding, after too many steps."""


def far(data: Any, s: complex) -> tuple[np.ndarray, float]:
    """M and the argument of the powers of s with Y = I − M at s, but for these powers."""
    places, order = room(data, 3)
    _far(data, s, places, order)
    M, powers = -places[0], 0.0
    if not data[0]:
        M[: data[1]] /= s
        powers = data[1] * float(np.arctan2(s.imag, s.real))
    M[np.diag_indices(len(M))] += 1.0
    return M, powers


@entry(DATA, "c16", "c16[,,]", "i8[]", fastmath=FASTMATH)
def _far(data, s, room, order):  # type: ignore[no-untyped-def]
    look(data, s, room[0], room[1], room[2], order)
    return 0


def walk(data: Any, start: complex, end: complex, most: int, seeds: np.ndarray) -> tuple[float, int, int, int]:
    """Argument of det Y gained from start to end, how the walk ended, its steps; where it went slowly, in ``seeds``.

    The real part must not fall on the way.
    """
    places, order = room(data, 5)
    out = np.empty(3)
    how = _walk(data, start, end, most, seeds, places, order, out)
    return float(out[0]), how, int(out[1]), int(out[2])


@entry(DATA, "c16", "c16", "i8", "c16[]", "c16[,,]", "i8[]", "f8[]", fastmath=FASTMATH)
def _walk(data, start, end, most, seeds, room, order, out):  # type: ignore[no-untyped-def]
    y, inverse, slope, before, held = room[0], room[1], room[2], room[3], room[4]
    whole = abs(end - start)
    if whole == 0.0:
        out[0], out[1], out[2] = 0.0, 0, 0
        return FINE
    u = (end - start) / whole
    gone, total, steps, marks = 0.0, 0.0, 0, 0
    s = start
    last, previous = np.inf, np.inf
    turn, first, bend, longest, safe, noise, _ = look(data, s, y, inverse, slope, order)
    while True:
        if not noise <= NOISE:
            out[0], out[1], out[2] = total, steps, marks
            return CLOSE
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
            out[0], out[1], out[2] = total, steps, marks
            return CLOSE
        copy(y, before)
        copy(inverse, held)
        gone += h
        s = end if arrived else start + gone * u
        now, first, bend, longest, safe, noise, _ = look(data, s, y, inverse, slope, order)
        steps += 1
        if np.isnan(now):
            out[0], out[1], out[2] = total, steps, marks
            return CLOSE
        total += gain(held, before, y, turn, now)
        turn = now
        if arrived:
            out[0], out[1], out[2] = total, steps, marks
            return FINE if noise <= NOISE else CLOSE
        if steps >= most:
            out[0], out[1], out[2] = total, steps, marks
            return LONG
