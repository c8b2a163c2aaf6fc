"""Slopes of code that can only be run: central differences at sizes that the code itself has found to be right.

    D(h) = (F(x + h) − F(x − h)) / 2h

A first size is a guess, and states may be scaled in any way: 10⁻⁸ is nothing to a displacement in m and far too much
for a state whose whole range is 10⁻⁹.  So every slope is taken at two sizes, h and h/8.  Where they agree, the first is
the answer, exact to rounding for a linear map.  Where they do not, or where the code leaves its domain (not finite, or
a fault), h is shrunk further, until one of these is seen, entry by entry:

- two sizes agree: that is the slope;
- the differences of successive estimates shrink by half or more at each size: what they tend to is the slope (Aitken);
- D follows a power of h, as that of F = c |v|^0.4 or of friction does at v = 0: there is no slope, D has no limit, or
  one that says nothing of any motion that can be seen;
- none of these down to the smallest size, as where an iteration within the code stops early: the two that come closest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

SMALLEST = 1e-8
"""First perturbation of a state that is zero, in its own SI unit: small enough for the laws of real specimens."""
RELATIVE = 6e-6
"""First perturbation of any other state: the cube root of the machine precision, best for a central difference."""
SHRUNK = 8.0
"""By which a perturbation that was too large is divided."""
SIZES = 16
"""That are tried: down to 10⁻¹⁴ of the first."""
ALIKE = 1e-6
"""Relative difference of two estimates that agree."""
CONVERGED = 4
"""Sizes over which differences must have shrunk before their limit is believed."""
POWER, STEADY, LEAST = 5, 1.3, 0.6
"""A power of h is one whose estimates change by the same factor, within this one, at so many sizes in a row; below the
last factor they tend to zero, and that is a slope."""
UNCHANGED = 1.05
"""Mean factor up to which such estimates are one slope and rounding."""
CLEAR = 1e5
"""Times what rounding of the value itself may make of an estimate, which a jump is larger than."""
NOTHING = 1e-15
"""Part of the largest estimate below which another one, in any unit, is rounding."""
DENORMAL = 1e-290
"""Changes of this size are lost in numbers that have no digits left."""
ROUNDING = 64.0 * np.finfo(float).eps

AT_ONCE = 64
"""Directions whose images are held in memory at a time."""

Images = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""F at signed distances along directions, given by their numbers, a row for each pair; NaN where it cannot be run."""


@dataclass(frozen=True)
class Slopes:
    """Slopes of all entries of F, a row for each direction."""

    values: np.ndarray
    """NaN where the code gives no finite one."""
    without: np.ndarray
    """Which entries have finite differences but no slope."""


def first_size(value: Any) -> Any:
    """Of a perturbation of a state that has this value, or of many."""
    return np.maximum(SMALLEST, RELATIVE * np.abs(value))


def slopes_along(images: Images, sizes: np.ndarray, entries: int) -> Slopes:
    """The slopes of all ``entries`` of F along each direction, first tried with perturbations of its size."""
    values, without = np.empty((sizes.size, entries)), np.zeros((sizes.size, entries), dtype=bool)
    for first in range(0, sizes.size, AT_ONCE):
        which = np.arange(first, min(first + AT_ONCE, sizes.size))
        estimates, blurs = _differences(images, which, sizes[which, None] / SHRUNK ** np.arange(2))
        apart = ~_agree(estimates[0], estimates[1], blurs[0] + blurs[1])
        values[which] = estimates[0]
        hard = np.flatnonzero(apart.any(axis=1))  # of nearly all directions two sizes agree
        if hard.size:
            apart, which = apart[hard], which[hard]
            smaller, blurred = _differences(images, which, sizes[which, None] / SHRUNK ** np.arange(2, SIZES))
            every = np.concatenate([estimates[:, hard], smaller])[:, apart]
            found = _settled(every, np.concatenate([blurs[:, hard], blurred])[:, apart])
            size = np.abs(values[which])
            felt = size >= NOTHING * np.nanmax(size, axis=1, initial=0.0, keepdims=True)
            rows, columns = which[np.nonzero(apart)[0]], np.nonzero(apart)[1]
            values[rows, columns], without[rows, columns] = found[0], found[1] & felt[apart]
    return Slopes(values, without)


def _settled(estimates: np.ndarray, blurs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The slopes out of estimates at smaller and smaller sizes, a row each, and where there is none.

    All entries at once: in a loop that runs away, every one of its slopes may have to be looked at here.
    """
    entry, sizes = np.arange(estimates.shape[1]), len(estimates)
    before, after = estimates[:-1], estimates[1:]
    alike = _agree(before, after, blurs[:-1] + blurs[1:])
    with np.errstate(all="ignore"):
        changes = np.abs(after - before)
        shrinking, ratios = changes[1:] <= 0.5 * changes[:-1], after / before
        relative = changes / np.maximum(np.abs(after), np.abs(before))
    # what comes closest, where nothing below holds; the comparisons are written so that NaN is never chosen
    closest = np.argmin(np.where(np.isfinite(changes) & ~np.isnan(relative), relative, np.inf), axis=0)
    values = np.where(np.isfinite(changes).any(axis=0), before[closest, entry], np.nan)

    first, found = _in_a_row(shrinking, CONVERGED)
    last = np.minimum(first + CONVERGED, sizes - 2)  # index of the last of the changes that shrink
    with np.errstate(all="ignore"):
        ahead = changes[last - 1, entry]
        share = np.where(ahead > 0.0, changes[last, entry] / ahead, 0.0)
        step = (after - before)[last, entry]
        values = np.where(found, after[last, entry] + step * share / (1.0 - share), values)

    same = np.argmax(alike, axis=0)
    values = np.where(alike.any(axis=0), np.where(same > 0, after[same, entry], before[0]), values)

    # from the first size on that is known: further down, rounding looks like a power too
    known = np.isfinite(estimates)
    start = np.argmax(known, axis=0)
    window = ratios[np.minimum(start + np.arange(POWER)[:, None], sizes - 2), entry]
    last = np.minimum(start + POWER, sizes - 1)
    early = (alike & (np.arange(sizes - 1)[:, None] < start + POWER)).any(axis=0)
    with np.errstate(all="ignore"):
        clear = np.abs(estimates[last, entry]) > CLEAR * blurs[last, entry]
        steady = (window.min(axis=0) > LEAST) & (window.max(axis=0) <= STEADY * window.min(axis=0))
        power = known.any(axis=0) & ~early & (start + POWER < sizes) & clear & steady
        factor = np.abs(np.log(window).mean(axis=0))
    without = np.asarray(power & (factor > np.log(UNCHANGED)))
    return np.where(power, estimates[start, entry], values), without


def _in_a_row(flags: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Where, in each column, ``count`` flags in a row first begin, and whether they do."""
    rows = np.lib.stride_tricks.sliding_window_view(flags, count, axis=0).all(axis=-1)
    return np.argmax(rows, axis=0), np.asarray(rows.any(axis=0))


def _agree(one: np.ndarray, other: np.ndarray, blur: np.ndarray) -> np.ndarray:
    """Which estimates agree; one that is not finite agrees with none."""
    with np.errstate(all="ignore"):
        return np.asarray(np.abs(one - other) <= ALIKE * np.maximum(np.abs(one), np.abs(other)) + blur)


def _differences(images: Images, which: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Central differences along directions for each of their sizes, (sizes, directions, entries), NaN where one is not
    known; and what rounding may have made of them."""
    both = np.concatenate([sizes, -sizes], axis=1)
    found = images(np.repeat(which, both.shape[1]), both.ravel())
    ahead, behind = np.moveaxis(found.reshape(which.size, 2, sizes.shape[1], -1), 0, 2)
    return _central(ahead, behind, sizes.T[:, :, None])


def _central(ahead: np.ndarray, behind: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    with np.errstate(all="ignore"):
        return (ahead - behind) / (2.0 * size), (ROUNDING * (np.abs(ahead) + np.abs(behind)) + DENORMAL) / size
