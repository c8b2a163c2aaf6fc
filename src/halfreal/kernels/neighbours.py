"""A loop and two neighbours that deviate from it, run next to each other in one compiled call (``separation.py``).

After every stretch of ticks the deviations are made orthogonal, and as long as they were.  Called from Python, stretch
by stretch, most of the time went into arrays.
"""

from __future__ import annotations

import numpy as np

from .entry import entry
from .perturb import FAILED, call_entry
from .tick import FAULT, LOST

NOT_ENDED = -2
"""In place of the number of stretches: a block's loops did not come to an end (``FAILED``: the loop has raised)."""


@entry("i8", "i8[,]", "i8[,]", "f8[]", "f8[]", "f8[]", "f8[]", "f8[]", "f8", "f8[]", "u8[]", "f8[,]", "f8[,]")
def run_neighbours(run, words, control, base, one, two, carried, weights, length, squares, places, factors, motion):  # type: ignore[no-untyped-def]
    """Run a stretch for each row of ``factors``; return how many, or ``NOT_ENDED`` or ``FAILED``.

    ``words`` and ``control`` have a row for each of the three loops, whose vectors follow.  Entries with ``carried`` 1
    keep their deviations, the others take the value of the loop.  ``weights`` are the inverse sizes of deviations, zero
    for those that do not count; they are brought back to a norm of ``length``.  ``squares`` adds up the squares of the
    first neighbour's deviations, ``factors`` has by how much both have grown, ``motion`` the magnitudes of ``places``.
    It ends early at a fault, or at what is no number.
    """
    for i in range(factors.shape[0]):
        for k in range(3):
            for j in range(control.shape[1]):
                control[k, j] = 0
            ended = call_entry(run, words[k].ctypes.data)
            if ended in (FAILED, LOST):
                return NOT_ENDED if ended == LOST else FAILED
        for j in range(places.size):
            motion[i, j] = abs(base[places[j]])
        first, product = 0.0, 0.0
        for k in range(base.size):
            if weights[k] != 0.0 and not np.isnan(base[k]):
                d = (one[k] - base[k]) * weights[k]
                first += d * d
                product += d * (two[k] - base[k]) * weights[k]
        if base[FAULT] != 0.0 or not np.isfinite(first) or not np.isfinite(product):
            return i
        along = product / first if first > 0.0 else 0.0
        second = 0.0
        for k in range(base.size):
            if weights[k] != 0.0 and not np.isnan(base[k]):
                d = (two[k] - base[k] - along * (one[k] - base[k])) * weights[k]
                second += d * d
        factors[i, 0], factors[i, 1] = np.sqrt(first) / length, np.sqrt(second) / length
        back = length / np.sqrt(first) if first > 0.0 else 0.0
        other = length / np.sqrt(second) if second > 0.0 else 0.0
        for k in range(base.size):
            d, e = (one[k] - base[k]) * carried[k], (two[k] - base[k]) * carried[k]
            if np.isnan(d) or np.isnan(e):
                d, e = 0.0, 0.0
            squares[k] += d * d
            one[k] = base[k] + back * d
            two[k] = base[k] + other * (e - along * d)
    return factors.shape[0]
