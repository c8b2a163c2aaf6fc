"""How fast free motion of a loop grows or decays at each amplitude: where cycles are to be looked for.

The loop is started in a mode of its linearisation, at one amplitude after another, and runs on its own.  Once what does
not belong to the slow motion has died out, its amplitude changes as

    da/dt = σ(a) a

and σ is measured on the code that runs.  For one sine and a law without memory this is averaging after Krylov and
Bogoliubov, whose zeros are those of the describing function (A. Gelb, W. E. Vander Velde, Multiple-Input Describing
Functions, McGraw-Hill 1968, chapter 3), here with all harmonics, blocks and memories as they run.  A cycle is where σ
changes its sign: stable where it falls with the amplitude, unstable where it rises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..kernels.loop import GUARD_MODE, Loop
from ..kernels.tick import FAULT

WINDOW = 4
"""Periods over which an amplitude is taken; growth is that between the last two of four."""
PERIODS = 4 * WINDOW
"""Periods for which a motion is followed, where it does not settle."""
LONGER = 16.0
"""Times the period of small motion that one may have."""
SLOW = 0.002
"""Growth over a period at which a motion has settled."""
ALIKE = 1e-2
"""Part of amplitude and period up to which motions that have settled are the same."""
GROWN = 3.0
"""Times the amplitude that a motion begins with, from which on it has grown."""
LONGEST = 120
"""Further windows until a motion has settled, at most."""
GONE, FAR_BELOW = 1e-6, 0.1
"""Parts of the amplitude that a motion begins with, below which it has decayed."""
GROWING_SIDE = 1.02
"""Times the amplitude at which motion was found to grow no more: past a border, motion grows there."""
MANY, LEFT = 400, 0.25
"""Periods for which a motion is followed that seemed to persist, and the part of its amplitude below which it has
decayed."""
BISECTIONS = 12
"""After them, motion stays near an unstable cycle for as long as its growth is measured."""


@dataclass(frozen=True)
class Mode:
    """A motion of a loop at rest: where it begins per unit of amplitude, and its period in ticks."""

    rest: np.ndarray
    """The loop's vector."""
    direction: np.ndarray
    """Added to it for an amplitude of one of the channel that is looked at, complex."""
    ticks: float


@dataclass(frozen=True)
class Free:
    """A free motion: amplitude and growth over a period at its end, and the loop's vector there."""

    started: float
    amplitude: float
    growth: float
    """Natural logarithm of the factor in a period; ∞ if it has diverged."""
    ticks: float
    """Of a period."""
    vector: np.ndarray | None
    fault: float = 0.0
    """Of the block that failed before the motion had grown: such a large motion cannot be started at once."""
    is_border: bool = False
    """Whether smaller motion decays and larger motion grows."""

    @property
    def persists_at(self) -> float:
        """Amplitude that neither grows nor decays: at a border what the motion began with, as it leaves it."""
        return self.started if self.is_border else self.amplitude


def free_motion(
    loop: Loop, mode: Mode, amplitude: float, channel: str, settle: bool = False, quiet: float = 0.0
) -> Free:
    """Free motion from an amplitude on, for four windows, or until it has settled.

    It also ends once it is below ``quiet``, from where motion is known to decay, in the second half of the first window
    or later.
    """
    loop.vector[:] = mode.rest + amplitude * mode.direction.real
    guard = loop.index.get(GUARD_MODE, FAULT)
    lost = Free(amplitude, np.inf, np.inf, mode.ticks, None)
    period, windows, found = mode.ticks, list[tuple[float, float]](), lost
    for turn in range(4 + (LONGEST if settle else 0)):
        ticks = max(round(WINDOW * period), 8)
        halves = (ticks // 2, ticks - ticks // 2) if turn == 0 and quiet > 0.0 else (ticks,)
        parts = [loop.run(some, record=(channel,), event_room=0).log[:, 1] for some in halves]
        values = np.concatenate(parts)
        well = loop.vector[guard] == mode.rest[guard] and loop.vector[FAULT] == 0.0
        if not well or not np.all(np.isfinite(values)) or not np.all(np.isfinite(loop.vector)):
            grown = values.size and not np.abs(values - values[0]).max() <= GROWN * amplitude
            return lost if turn > 0 or grown else replace(lost, fault=float(loop.vector[FAULT]))
        if len(parts) == 2:
            (early, _), (late, seen) = (size_of(part) for part in parts)
            if 0.0 < late < min(quiet, early) and seen is not None and seen < 2.0 * mode.ticks:
                growth = float(np.log(late / early)) / (0.5 * ticks) * period
                return Free(amplitude, late, growth, period, loop.vector.copy())
        size, seen = size_of(values)
        period = min(seen or 2.0 * period, LONGER * mode.ticks)  # large motion may be much slower than small motion
        windows.append((size, float(ticks)))
        if size < GONE * amplitude:
            return Free(amplitude, size, -np.inf, mode.ticks, loop.vector.copy())
        fades = turn > 0 and size < min(quiet, windows[-2][0])
        if turn < 3 and not fades:
            continue
        (before, first), (after, second) = windows[-2:]
        growth = float(np.log(after / before)) / (0.5 * (first + second)) * period
        if size < FAR_BELOW * amplitude and not settle:  # else slower motion that is left looks like growth
            growth = min(growth, float(np.log(size / amplitude)) / sum(length for _, length in windows) * period)
        found = Free(amplitude, size, growth, period, loop.vector.copy())
        if fades or (turn >= 4 and abs(growth) < SLOW):
            break
    return found


def size_of(values: np.ndarray) -> tuple[float, float | None]:
    """Amplitude of a window of samples, weighted so that its ends do not matter; its period in ticks, if it shows."""
    w = np.hanning(values.size)
    w /= w.sum()
    away = values - w @ values
    up = np.flatnonzero((away[:-1] < 0.0) & (away[1:] >= 0.0))
    period = None
    if up.size >= 2:
        exact = up - away[up] / (away[up + 1] - away[up])
        period = float((exact[-1] - exact[0]) / (up.size - 1))
    return float(np.sqrt(2.0 * (w @ away**2))), period


def guesses(
    loop: Loop,
    mode: Mode,
    amplitudes: np.ndarray,
    channel: str,
    *,
    whole: bool = False,
    on_amplitude: Callable[[int], None] = lambda done: None,
    on_fault: Callable[[Free], None] = lambda motion: None,
) -> list[Free]:
    """Free motions close to cycles, in the order of their amplitudes.

    As long as all motions decay, one that has come down to where the one before it began is followed no further, unless
    all of them are to be followed ``whole``.  ``on_amplitude`` receives how many amplitudes are done, ``on_fault`` the
    motion that could not be started, at which the search ends.
    """
    found: list[Free] = []
    before = free_motion(loop, mode, float(amplitudes[0]), channel)
    quiet = 0.0
    for done, amplitude in enumerate(amplitudes[1:], start=1):
        on_amplitude(done)
        if before.growth < 0.0 and not found and not whole:
            quiet = before.started
        after = free_motion(loop, mode, float(amplitude), channel, quiet=quiet)
        if after.fault:
            on_fault(after)
            break
        if before.growth > 0.0 >= after.growth or (alike(before, after) and before.growth * after.growth <= 0.0):
            if not any(alike(after, one) for one in found):
                settled = free_motion(loop, mode, after.started, channel, settle=True)
                if settled.growth > -np.inf and not any(alike(settled, one) for one in found):
                    found.append(settled)
        elif before.growth < 0.0 <= after.growth:
            found.append(edge(loop, mode, before, after, channel))
        before = after
    return [one for one in found if one.vector is not None]


def alike(one: Free, other: Free) -> bool:
    """Whether two motions have settled to the same one, so that the signs of what they grow by mean nothing."""
    return (
        max(abs(one.growth), abs(other.growth)) < SLOW
        and abs(one.amplitude - other.amplitude) < ALIKE * other.amplitude
        and abs(one.ticks - other.ticks) < ALIKE * other.ticks
    )


def edge(loop: Loop, mode: Mode, decays: Free, grows: Free, channel: str) -> Free:
    """A free motion that neither grows nor decays, between one that does and one that does not."""
    for _ in range(BISECTIONS):
        middle = free_motion(loop, mode, float(np.sqrt(decays.started * grows.started)), channel)
        decays, grows = (middle, grows) if middle.growth < 0.0 else (decays, middle)
    return replace(min(decays, grows, key=lambda one: abs(one.growth)), is_border=True)


def decays_after_all(loop: Loop, mode: Mode, guess: Free, channel: str) -> bool:
    """Whether motion decays that seemed to persist: its growth is measured over a few periods, in which modes beat."""
    loop.vector[:] = mode.rest + GROWING_SIDE * guess.started * mode.direction.real
    window = max(round(WINDOW * guess.ticks), 8)
    for _ in range(MANY // WINDOW):
        values = loop.run(window, record=(channel,), event_room=0).log[:, 1]
        if loop.vector[FAULT] != 0.0 or not np.ptp(values) <= 2.0 * GROWN * GROWING_SIDE * guess.started:
            return False
        if size_of(values)[0] < LEFT * guess.amplitude:
            return True
    return False
