"""The best of a number between two others, where what is tried may also be rejected.

What is tried has a grade (0: accepted) and among those of a grade an amount; less is better of both.  The search starts
at a place and steps away from it until the best has a worse neighbour on both sides.  From then on the next place is

    the minimum of the parabola through three accepted places, of the amounts' squares as errors are V-shaped
    where a limit is just not exceeded, by the secant from the best to a neighbour beyond that limit
    else the middle of the gap to a rejected neighbour, or of the wider gap

so that a best that is next to a limit is found as well as one that is in the open.  Where the start is rejected and so
are its neighbours, it ends unless their excess falls towards zero.  Places are 0 to 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

FIRST = 0.15
"""Step from the start."""
NEAREST = 0.004
"""Distance of two places that need not be distinguished."""
GAIN = 0.01
"""Part of the least amount by which a parabola promises to lower it, below which the search ends."""
NARROW, CLOSER = 0.08, 0.3
"""Distance of three places of which the parabola is believed to have its minimum where nothing is gained, and the part
of a wider gap at which the next place is."""
HOPELESS = 1.5
"""Times the least amount of another search beyond which a parabola's minimum ends this one."""
AT_LIMIT, AIMED = 0.99, 0.995
"""Share of a limit that is as good as all of it, and the one that a secant aims at."""
REJECTED = 5
"""Places after which a search ends that has not found an accepted one."""
INSIDE = 0.05
"""Part of a gap within which a secant stays away from its ends."""


@dataclass(frozen=True)
class Place:
    """What was tried at a place."""

    at: float
    grade: int
    amount: float
    """Of one that is rejected its excess, which is zero for one that is just accepted."""
    share: float = math.nan
    """Of the limit that leaves least; above 1 it is rejected for it."""

    @property
    def worth(self) -> tuple[int, float]:
        return self.grade, self.amount


def line_search(
    judge: Callable[[float], Place],
    begun: Sequence[Place],
    most: int,
    least: Callable[[], float] = lambda: math.inf,
) -> Place:
    """The best of those ``begun`` with, in their order, and at most so many more; ``least`` gives the amount that
    another search has reached."""
    places, start = list(begun), begun[-1]
    for _ in range(most):
        at = following(places, start, least())
        if at is None:
            break
        places = sorted([*places, judge(at)], key=lambda one: one.at)
    return min(places, key=lambda one: one.worth)


def following(places: Sequence[Place], start: Place, least: float) -> float | None:
    """The next place; None if nothing is to be gained."""
    i = min(range(len(places)), key=lambda k: places[k].worth)
    best = places[i]
    left = places[i - 1] if i else None
    right = places[i + 1] if i + 1 < len(places) else None
    for neighbour, other, towards, end in ((left, right, -1.0, 0.0), (right, left, 1.0, 1.0)):
        if neighbour is None and abs(end - best.at) > NEAREST:
            stride = FIRST if other is None else abs(best.at - other.at) * (1.0 if best is start else 2.0)
            return min(max(best.at + towards * stride, 0.0), 1.0)
    around = [one for one in (left, right) if one is not None]
    walls = [one for one in around if one.grade > best.grade]
    if best.grade == 0 and len(walls) < 2:
        others = around if not walls and len(around) == 2 else nearest(places, best)
        three = sorted([best, *others], key=lambda one: one.at)
        found = vertex(three) if len(three) == 3 else None
        low, high = (left or best).at, (right or best).at
        if found is not None:
            at, amount = found
            if not walls and (not low < at < high or amount > HOPELESS * least):
                return None
            lowered = amount < best.amount - GAIN * abs(best.amount)
            between = low < at < high and min(abs(at - one.at) for one in places) > NEAREST
            if between and lowered and (not walls or three[0].at <= at <= three[2].at):
                return at
            if not walls:  # the bottom is reached, unless the places are too far apart to see it
                side = high if at > best.at else low
                return best.at + CLOSER * (side - best.at) if high - low > NARROW else None
    if best.grade > 0:
        found = vertex([left, best, right]) if left and right and not walls else None
        if len(places) >= REJECTED or (not walls and (found is None or found[1] > 0.0)):
            return None
    gaps = walls or around
    if not gaps:
        return None
    far = max(gaps, key=lambda one: abs(one.at - best.at))
    if abs(far.at - best.at) <= NEAREST:
        return None
    part = 0.5
    if far.share > 1.0 > best.share:
        if best.share > AT_LIMIT:
            return None
        part = min(max((AIMED - best.share) / (far.share - best.share), INSIDE), 1.0 - INSIDE)
    return best.at + part * (far.at - best.at)


def nearest(places: Sequence[Place], best: Place) -> list[Place]:
    """The two nearest accepted places."""
    others = [one for one in places if one is not best and one.grade == best.grade and math.isfinite(one.amount)]
    return sorted(others, key=lambda one: abs(one.at - best.at))[:2]


def vertex(three: Sequence[Place]) -> tuple[float, float] | None:
    """Place and amount of the minimum of the parabola through three places; None if it has none."""
    if not all(math.isfinite(one.amount) for one in three):
        return None
    squares = all(one.amount > 0.0 and one.grade == 0 for one in three)
    (a, b, c), (x, y, z) = (one.at for one in three), (one.amount**2 if squares else one.amount for one in three)
    first, second = (y - x) / (b - a), (z - y) / (c - b)
    curvature = (second - first) / (c - a)
    if not curvature > 0.0:
        return None
    at = 0.5 * (a + b) - 0.5 * first / curvature
    value = x + first * (at - a) + curvature * (at - a) * (at - b)
    return at, math.sqrt(max(value, 0.0)) if squares else value
