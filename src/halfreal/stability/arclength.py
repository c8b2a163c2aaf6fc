"""A family of limit cycles over a number, followed through folds by pseudo-arclength.

H. B. Keller, "Numerical solution of bifurcation and nonlinear eigenvalue problems", in Applications of Bifurcation
Theory, Academic Press 1977, 359–384.  The length is that of the curve of amplitude over number, each in a scale of its
own: the states of a loop may change on the way, these two never.  From the last two cycles a next one is guessed on
the line through them, and found where the perpendicular to it meets the family (``Pin``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ..errors import HalfrealError
from ..kernels.loop import Loop
from .carry_over import carried_over
from .limit_cycle import Cycle, NoCycleError, Pin, amplitude_of, refine
from .shooting import Shooting

FIRST, SHORTEST, LONGEST = 0.02, 1e-4, 0.05
"""Lengths of a step, in the scales of number and amplitude."""
LONGER, SHORTER = 1.4, 0.5
TURN, SOFT_TURN = np.cos(np.deg2rad(75.0)), np.cos(np.deg2rad(30.0))
"""Cosines of the largest turn between two steps, and between two that are no shorter than ``FINE``."""
FINE = 4e-3


@dataclass(frozen=True)
class Frame:
    """The part of the plane in which a family is followed, and how its loops are built."""

    low: float
    high: float
    smallest: float
    """Amplitude below which a family has come down to rest."""
    largest: float
    loop_at: Callable[[float], Loop]
    channel: int = 0

    def place(self, cycle: Cycle) -> np.ndarray:
        """Number and amplitude of a cycle, in their scales."""
        assert cycle.number is not None
        return np.array([cycle.number / (self.high - self.low), amplitude_of(cycle.end, self.channel) / self.largest])

    def holds(self, cycle: Cycle) -> bool:
        assert cycle.number is not None
        amplitude = amplitude_of(cycle.end, self.channel)
        return self.low <= cycle.number <= self.high and self.smallest <= amplitude <= self.largest


def pinned(frame: Frame, shooting: Shooting, ticks: float, number: float, at: np.ndarray, along: np.ndarray) -> Cycle:
    """The cycle of a family on the line through ``at`` that is perpendicular to ``along``, from a guess on."""
    scale = frame.high - frame.low
    pin = Pin(
        at[0] * scale,
        at[1] * frame.largest,
        scale,
        frame.largest,
        float(along[0]),
        float(along[1]),
    )
    return refine(shooting, ticks, channel=frame.channel, number=number, pin=pin, loop_at=frame.loop_at)


def followed(frame: Frame, first: Cycle, direction: np.ndarray, rest: Callable[[Loop], np.ndarray]) -> Iterator[Cycle]:
    """The cycles of a family from one on, to where it leaves the frame; ``rest`` gives a loop's vector at rest.

    Ends early where no step is short enough.
    """
    length, along = FIRST, direction / np.linalg.norm(direction)
    last, here = first, frame.place(first)
    before: Cycle | None = None
    while True:
        aim = here + length * along
        try:
            found = _next(frame, last, before, aim, along, rest)
            there = frame.place(found)
            way = there - here
            least = SOFT_TURN if length > FINE else TURN
            if way @ along < least * np.linalg.norm(way):
                raise NoCycleError("the family turns too sharply for this step")
        except HalfrealError:
            length *= SHORTER
            if length < SHORTEST:
                return
            continue
        if not frame.holds(found):
            yield from _at_border(frame, last, found)
            return
        yield found
        along, before, last, here = way / np.linalg.norm(way), last, found, there
        length = min(LONGER * length, LONGEST)


def _at_border(frame: Frame, inside: Cycle, outside: Cycle) -> Iterator[Cycle]:
    """The cycle where a family leaves the frame, if it can be found."""
    here, there = frame.place(inside), frame.place(outside)
    scale = frame.high - frame.low
    low = np.array([frame.low / scale, frame.smallest / frame.largest])
    high = np.array([frame.high / scale, 1.0])
    way = there - here
    with np.errstate(all="ignore"):
        shares = np.where(way > 0.0, (high - here) / way, np.where(way < 0.0, (low - here) / way, np.inf))
    which = int(np.argmin(shares))
    at = here + max(float(shares[which]), 0.0) * way
    number = float(np.clip(at[0] * scale, frame.low, frame.high))
    try:
        shooting = carried_over(inside.shooting, inside.start, inside.ticks, frame.loop_at(number))
        yield pinned(frame, shooting, inside.ticks, number, at, np.eye(2)[which])
    except HalfrealError:
        return


def _next(
    frame: Frame,
    last: Cycle,
    before: Cycle | None,
    aim: np.ndarray,
    along: np.ndarray,
    rest: Callable[[Loop], np.ndarray],
) -> Cycle:
    """The cycle near a place: guessed from the last one with its amplitude stretched, or from the last two."""
    scale = frame.high - frame.low
    number = float(np.clip(aim[0] * scale, frame.low, frame.high))
    shooting = carried_over(last.shooting, last.start, last.ticks, frame.loop_at(number))
    centre = rest(shooting.loop)[shooting.entries]
    amplitude = amplitude_of(last.end, frame.channel)
    stretch = max(aim[1] * frame.largest / amplitude, 0.1)
    start, ticks = centre + stretch * (shooting.start - centre), last.ticks
    if before is not None and np.array_equal(before.shooting.entries, shooting.entries) and _aligned(before, last):
        was, here = frame.place(before), frame.place(last)
        share = float((aim - here) @ along) / max(float((here - was) @ along), 1e-12)
        start = last.start + share * (last.start - before.start)
        ticks = last.ticks + share * (last.ticks - before.ticks)
    shooting.base[shooting.entries] = start
    return pinned(frame, shooting, ticks, number, aim, along)


def _aligned(one: Cycle, other: Cycle) -> bool:
    """Whether two cycles begin at about the same phase, so that a line through their states means something."""
    a, b = (cycle.end.rate / other.shooting.scale for cycle in (one, other))
    return bool(a @ b > 0.99 * np.linalg.norm(a) * np.linalg.norm(b))
