"""Periodic motion of a compiled loop by shooting over a period that need be no whole number of ticks.

A limit cycle of a sampled loop is a closed curve x(φ) that its tick carries along, F(x(φ)) = x(φ + ω Δt).  Its period
T = (N + θ) Δt seldom ends at a tick, so the state there is that of the polynomial through the six ticks around it,

    x(T) = Σ_j w_j(θ) F^{N−2+j}(x),   j = 0 … 5

whose error is of the sixth order in 2π/N.  The slopes of x(T) by the state are measured on the loop that runs, each at
a size that suits the state: a part of how far it moves along the motion.

Which entries of the loop's vector count is found out by experiment.  All that move are tried: those that the loop's
linearisation leaves out (held adaptions, a permanent set, room for intermediate results) count if what they are makes a
difference to the loop's signals, and those that continue from period to period, as counters do, if it does not are left
out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..errors import HalfrealError
from ..kernels.loop import GUARD_MODE, Loop
from ..kernels.prepared import Prepared
from ..kernels.tick import FAULT, SCRATCH, TICK

BEFORE, NODES = 2, 6
"""Ticks of the polynomial before the end of the period, and in all."""
FEWEST_TICKS = 12
"""In a period."""
PART = 1e-5
"""Of how far a state moves, by which it is moved for a slope."""
MOVES = 1e-9
"""Part of its size from which on a state counts as moving."""
DRIFTS = 0.2
"""Part of its way along a period that is left at the end, from which on a state may be a counter."""

NUDGE, READ = 1e-3, 1e-10
"""An entry counts if a change by this part of how far it moves changes a signal by that part of how far that moves."""
EARLY = 16
"""Part of two periods after which most changes show."""
TOUCH, ROUNDING = 1e-9, 1e-2
"""Part of their motion that all states are moved by, and change, as a part of its motion, from which on an entry holds
rounding errors alone."""

DIVERGES = "the motion grows until the loop fails, or a block has a fault"


class DivergedError(HalfrealError):
    """A motion that the loop could not continue with: it trips, has a fault or is no number."""


@dataclass
class Work:
    """Ticks that all motions of a search may still take."""

    ticks: float = np.inf


@dataclass(frozen=True)
class End:
    """What a motion of so many ticks comes to."""

    state: np.ndarray
    """At its end, (entries,)."""
    rate: np.ndarray
    """Its change with each further tick, in the same way."""
    signals: np.ndarray
    """Of all ticks up to the last whole one, (ticks + 1, channels)."""
    part: float
    """Of a tick that the motion ends after the last whole one."""


class Shooting:
    """A loop at a state of some motion, of which ``entries`` of its vector are looked at, every ``step`` ticks.

    Time counts in steps here.  ``channels`` are the signals that are recorded; ``scale`` is how far each entry moves.
    """

    def __init__(
        self,
        loop: Loop,
        base: np.ndarray,
        entries: np.ndarray,
        scale: np.ndarray,
        channels: Sequence[str],
        step: int,
        work: Work | None = None,
    ) -> None:
        self.work = work or Work()
        self.loop, self.base, self.entries, self.scale = loop, base.copy(), entries, scale
        self.channels, self.step = tuple(channels), step
        self._mode = loop.index.get(GUARD_MODE, FAULT)
        self._stretches: dict[int, Prepared] = {}

    @property
    def start(self) -> np.ndarray:
        """The entries at the beginning."""
        return np.asarray(self.base[self.entries])

    def on(self, loop: Loop) -> Shooting:
        """The same motion of another loop with the same layout, such as one with another number."""
        other = Shooting(loop, loop.vector, self.entries, self.scale, self.channels, self.step, self.work)
        kept = np.concatenate([[TICK], loop.dynamic_indices(), loop.memory_indices(), self.entries])
        other.base[kept] = self.base[kept]
        return other

    def run(self, start: np.ndarray, ticks: float) -> End:
        """The motion from a state on, of a number of steps that need not be whole."""
        whole = int(np.floor(ticks))
        if whole < NODES:
            raise DivergedError(unresolved_text(ticks))
        vector = self.loop.vector
        vector[:] = self.base
        vector[self.entries] = start
        logs, nodes = [], []
        for steps in (whole - BEFORE, *(1,) * (NODES - 1)):
            logs.append(self._go(steps))
            nodes.append(vector.take(self.entries))
        states, signals = np.array(nodes), np.concatenate(logs)[: whole + 1]
        if not np.isfinite(states).all() or not np.isfinite(signals).all():
            raise DivergedError(DIVERGES)
        values, rates = _last_weights(ticks - (whole - BEFORE))
        return End(values @ states, rates @ states, signals, ticks - whole)

    def _go(self, steps: int) -> np.ndarray:
        """So many steps on; the recorded channels at each of them."""
        self.work.ticks -= steps * self.step
        if steps not in self._stretches:
            self._stretches[steps] = self.loop.prepared(steps * self.step, self.channels)
        log = self._stretches[steps]()[:: self.step, 1:].copy()
        vector = self.loop.vector
        if vector[self._mode] != self.base[self._mode] or vector[FAULT] != 0.0:
            raise DivergedError(DIVERGES)
        return log

    def along(self, start: np.ndarray, ticks: float, direction: np.ndarray, part: float = PART) -> End:
        """How the motion changes with its beginning along ``direction``, per unit of it."""
        ahead, behind = (self.run(start + by * direction, ticks) for by in (part, -part))
        return difference(ahead, behind, 2.0 * part)

    def image(self, start: np.ndarray, ticks: float, v: np.ndarray, part: float = PART) -> np.ndarray:
        """∂x(T)/∂x v, of entries as parts of their ``scale``."""
        size = float(np.abs(v).max())
        return size * self.along(start, ticks, v / size * self.scale, part).state / self.scale if size > 0.0 else v


def difference(ahead: End, behind: End, by: float) -> End:
    """(ahead − behind) / by."""
    return End(
        (ahead.state - behind.state) / by,
        (ahead.rate - behind.rate) / by,
        (ahead.signals - behind.signals) / by,
        ahead.part,
    )


def weights(nodes: np.ndarray, at: float) -> tuple[np.ndarray, np.ndarray]:
    """Weights that give the polynomial through values at whole ``nodes``, and its derivative, at a place."""
    powers = np.linalg.inv(np.vander(nodes - at, increasing=True))
    return powers[0], powers[1]


@lru_cache(maxsize=4)
def _last_weights(at: float) -> tuple[np.ndarray, np.ndarray]:
    """Of the ticks at the end of a period, which is the same for all states that are tried."""
    return weights(np.arange(NODES), at)


def unresolved_text(ticks: float) -> str:
    return (
        f"the step cannot resolve this motion: it has {ticks:.3g} ticks per period; at least {FEWEST_TICKS} are "
        "needed; give a shorter timing.step"
    )


def shooting_of(loop: Loop, ticks: float, channels: Sequence[str], step: int = 1, work: Work | None = None) -> Shooting:
    """Shooting from the loop's present state, which moves with a period of about so many steps.

    The loop is left as it was.
    """
    if ticks < FEWEST_TICKS:
        raise HalfrealError(unresolved_text(ticks))
    base, period = loop.vector.copy(), int(np.ceil(ticks))
    visited, one_step = [base], loop.prepared(step)
    for _ in range(period):
        one_step()
        visited.append(loop.vector.copy())
    loop.vector[:] = base
    way = np.array(visited)
    if not np.all(np.isfinite(way)):
        raise DivergedError(DIVERGES)
    low, high = way.min(axis=0), way.max(axis=0)
    moved, size = high - low, np.maximum(np.abs(low), np.abs(high))
    end = base.size - len(loop.watched)
    carried = np.concatenate([loop.dynamic_indices(), loop.memory_indices()])
    moving = np.zeros(base.size, dtype=bool)
    moving[SCRATCH:end] = moved[SCRATCH:end] > MOVES * size[SCRATCH:end]
    scale = 0.5 * moved
    moving &= ~is_rounding(loop, way, scale, carried, step)
    sure = np.zeros(base.size, dtype=bool)
    sure[carried] = np.abs(way[-1] - way[0])[carried] < DRIFTS * moved[carried]
    asked = np.flatnonzero(moving & ~sure)
    read = are_read(loop, asked, scale[asked], 2 * period * step, channels)
    entries = np.union1d(np.flatnonzero(moving & sure), read)
    return Shooting(loop, base, entries, scale[entries], channels, step, work)


def is_rounding(loop: Loop, way: np.ndarray, scale: np.ndarray, carried: np.ndarray, step: int) -> np.ndarray:
    """Which entries of the vector hold rounding errors alone, such as what an iteration leaves: most of what they are
    changes where the loop's states are moved by next to nothing.  ``way`` is the motion, (ticks + 1, entries).
    """
    loop.vector[:] = way[0]
    loop.vector[carried] += TOUCH * scale[carried]
    differs = np.zeros(way.shape[1])
    for before in way[1:]:
        loop.run(step, event_room=0)
        differs += np.abs(loop.vector - before) > ROUNDING * scale
    loop.vector[:] = way[0]
    # a law with a corner differs at few ticks
    return np.asarray((differs > 0.5 * (len(way) - 1)) & (scale > 0.0))


def are_read(loop: Loop, entries: np.ndarray, sizes: np.ndarray, ticks: int, channels: Sequence[str]) -> np.ndarray:
    """Those of some entries of the loop's vector on which its channels depend, beyond rounding."""
    if not entries.size:
        return np.zeros(0, dtype=int)
    base, first = loop.vector.copy(), max(ticks // EARLY, 1)
    parts = [loop.prepared(some, channels) for some in (first, max(ticks - first, 1))]

    def motion(entry: int, by: float) -> Iterator[np.ndarray]:
        loop.vector[:] = base
        loop.vector[entry] += by
        for stretch in parts:
            yield stretch()[:, 1:]

    usual = [part.copy() for part in motion(int(entries[0]), 0.0)]
    least = READ * np.ptp(np.concatenate(usual), axis=0)

    def is_read(entry: int, by: float) -> bool:
        return any(
            one.shape != other.shape or not np.all(np.abs(one - other) <= least)
            for one, other in zip(motion(entry, by), usual, strict=True)
        )

    found = [int(i) for i, size in zip(entries, sizes, strict=True) if is_read(int(i), NUDGE * size)]
    loop.vector[:] = base
    return np.array(found, dtype=int)
