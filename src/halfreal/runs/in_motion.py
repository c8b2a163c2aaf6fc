"""Stability of a test in motion: rehearsals of the loop that runs, with a changed rig, and what becomes of deviations.

A margin at rest says nothing of a loop whose stiffness, friction or range of sensors is another where the test is.
Here the test itself is tried: as defined, and with its rig later by a delay or its specimen's force times a gain
(``trial_loop.py``).  A trial is unstable

- if its motion runs away (``run_away.py``), or comes to what is no number;
- if deviations from it grow (``stability/separation.py``): small ones, and those that cross a clearance as well;
- if it grows from one fifth of the trial to the next, although the excitation repeats, or is over.

An excitation that repeats is continued until the slowest pole at rest would be seen, unless the coupling adapts; one
that does not repeat is taken as it is, and what follows it if that is short.  Margins in motion are the smallest
changes with which a trial is unstable, found by bisection (``margins_in_motion.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from .. import units
from ..definition.definition import Definition
from ..kernels.loop import Loop
from ..kernels.tick import FAULT, TICK
from ..stability.separation import GREW, MOST, Exponent, Neighbours, Separation
from .build import ticks_alike
from .loop_stability import LoopStability
from .run_away import most
from .trial_loop import change, trial_loop

SMALL, LARGE, FREE, HIDDEN = 1e-6, 0.03, 1e-4, 1e-2
"""Deviations relative to the motion: one that sees slopes alone, one that crosses a clearance, one that runs freely,
and one that runs freely next to a part that keeps its state to itself, which may round what it reads and gives."""
TENFOLD = float(np.log(10.0))
"""Growth of deviations over a test that ends, as a logarithm, up to which it is none: free motion without damping
separates in proportion to time, which cannot be distinguished from slow exponential growth."""
SAMPLES, FEWEST_TICKS = 400, 5
"""Of a trial, and the least interval between two of them."""
WARM_UP = 0.25
"""Share of a trial in which the proportions of deviations are found, and which is left out of slopes."""
CYCLES, DECAYS = 40.0, 6.0
"""Periods of the slowest pole for which a trial is continued, and of an excitation that repeats; then time constants of
that pole, too."""
MOST_TICKS, MOST_PERIODS = 60_000, 1e7
"""Up to which it is; in a slow test periods of the rig's clock, too, of which a tick takes many."""
FIRST_TICKS = 10
"""Of a slow test, in which its periods are counted."""
NEAR, LONGER = 1.0, 3
"""Growth or decay of deviations over a stationary trial, as a logarithm, below which it is repeated so much longer; so
is a trial whose growth may be chance."""
RESTING = 20
"""Samples after a trial in which memory is seen to rest."""
QUIET = 0.01
"""Share of its peak up to which an excitation counts as over."""
GROWS, STEADY = 1.02, 0.7
"""Ratio of peaks of successive fifths of a stationary motion above which it grows, if the last increase is at least
this share of the one before."""


@dataclass(frozen=True)
class Trial:
    """What became of a test with a changed rig."""

    delay: float
    """Additional [s]."""
    gain: float
    """Factor on the specimen's force; in force control on its displacement."""
    small: Exponent
    """Of small deviations."""
    large: Exponent | None = None
    """Of larger ones, where small ones grow."""
    duration: float = 0.0
    """Over which exponents are taken [s]."""
    ran_away: float | None = None
    """When the motion had run away [s]."""
    fault: str = ""
    """Of a block, which has ended it before anything else did."""
    grows: bool = False
    """Whether the motion grows, although the excitation repeats or is over."""
    parted: bool = False
    """Whether a neighbour that runs freely has come too far from the motion to be followed."""
    episode: tuple[float, float, float] = (1.0, 0.0, 0.0)
    """Largest growth of deviations between two times, as a factor, and these times [s]."""
    peak: float = 0.0
    """Of the target [m or rad, in force control N]."""
    rests: bool = False
    """Where deviations neither grow nor decay: whether memory rests at the end, in which they may stay."""

    @property
    def exponent(self) -> float:
        """Rate at which deviations grow [1/s], NaN if it is not known: where small ones do and larger ones do not, the
        motion is bounded."""
        return self.small.rate if self.large is None else min(self.small.rate, self.large.rate)

    @property
    def separates(self) -> bool:
        """Whether deviations grow over the whole of it."""
        return self.small.grows and (self.large is None or self.large.grows)

    @property
    def unstable(self) -> bool:
        return self.ran_away is not None or bool(self.fault) or self.grows or self.parted or self.separates

    def summary(self, unit: str) -> str:
        """What became of it, for people; ``unit`` is that of the target."""
        if self.ran_away is not None:
            after = units.text(self.ran_away, "s", 3)
            return f"the motion runs away, beyond {units.text(most(unit), unit)} after {after}"
        if self.fault:
            return f"a fault ends the test: {self.fault}"
        if self.parted:
            return f"deviations from the motion grow to more than {100 * MOST:g} % of it"
        if self.separates:
            return f"small deviations from the motion grow as exp({self.exponent:+.3g} t/s)"
        if self.grows:
            return f"the motion grows from cycle to cycle, up to {units.text(self.peak, unit, 3)}"
        if np.isnan(self.exponent):
            return f"the motion stays bounded, up to {units.text(self.peak, unit, 3)}"
        if np.isneginf(self.exponent):
            return "small deviations from the motion vanish"
        if self.exponent > 0.0:
            return (
                f"small deviations from the motion neither grow nor decay beyond chance (exp({self.exponent:+.3g} t/s))"
            )
        return f"small deviations from the motion decay as exp({self.exponent:+.3g} t/s)"


@dataclass
class Trials:
    """A test that is tried in motion with changes of its rig; each trial is made once."""

    definition: Definition
    slowest: complex = 0.0
    """The slowest pole at rest [1/s], which a trial is long enough to see; 0 if it is not known."""
    known: dict[tuple[float, float], Trial] = field(default_factory=dict)
    _rested: bool = field(default=False, init=False)

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        """The loop and its copies; of one with a block that keeps its state to itself, built one by one."""
        loop = trial_loop(self.definition)
        if loop.opaque:
            return loop, trial_loop(self.definition)
        return loop, *(copy for copy in (loop.refilled(loop.blocks), loop.refilled(loop.blocks)) if copy is not None)

    @cached_property
    def free(self) -> bool:
        """Whether a neighbour cannot be brought back to the motion."""
        return bool(self.loops[0].opaque) or self.adapts

    @cached_property
    def adapts(self) -> bool:
        """Whether a block learns while the test runs."""
        return any(block.held for block in self.loops[0].blocks)

    @cached_property
    def repeatable(self) -> bool:
        """Whether the loop can be set back to its beginning: a model in another process may not be."""
        loop = self.loops[0]
        if not loop.opaque:
            return True
        for _ in range(2):
            change(loop)
            loop.settle(1, 2)
        return bool(loop.vector[FAULT] == 0.0)

    @cached_property
    def follows(self) -> bool:
        """Whether deviations are followed: not where a rig settles within a tolerance, as neighbours then take other
        times for a tick."""
        slow = self.definition.slow
        settle = None if slow is None else slow.settle
        given = () if settle is None else (settle.displacement, settle.rotation, settle.force, settle.moment)
        return all(one is None for one in given)

    @cached_property
    def remembers(self) -> bool:
        """Whether deviations that are followed may stay, in memory that rests at times (a permanent set), or as what
        was learnt."""
        if self.follows:
            _ = self._sizes
        return self._rested or self.adapts

    @cached_property
    def frequency(self) -> float:
        """Of an excitation that repeats for ever [Hz], the lowest; 0 if there is none, or it does not."""
        given = [part for part in (self.definition.excitation.virtual, self.definition.excitation.specimen) if part]
        found = [part.harmonics(self.definition.timing.step) for part in given]
        if not found or any(one is None or one.to is not None for one in found):
            return 0.0
        return min(one.frequency for one in found if one is not None)

    @property
    def stationary(self) -> bool:
        """Whether the motion of a trial becomes stationary, and is continued beyond the test."""
        return self.frequency > 0.0 and not self.adapts

    @cached_property
    def ticks(self) -> int:
        """Of a trial."""
        timing, rate, turns = self.definition.timing, abs(self.slowest.real), abs(self.slowest.imag)
        wanted = 0.0 if turns == 0.0 else CYCLES * 2.0 * np.pi / turns
        if self.stationary:
            wanted = max(wanted, CYCLES / self.frequency, DECAYS / rate if rate > 0.0 else 0.0)
        return max(timing.ticks, min(int(wanted / timing.step), MOST_TICKS, int(MOST_PERIODS / self.periods)))

    @cached_property
    def periods(self) -> float:
        """Of the rig's clock in a tick: of a slow test many."""
        loop, slow = self.loops[0], self.definition.slow
        clock = loop.index.get("motion.clock")
        if slow is None or clock is None:
            return 1.0
        change(loop)
        loop.settle(1, FIRST_TICKS)
        begun = max(float(loop.vector[TICK]) - loop.start, 1.0)
        return max(float(loop.vector[clock]) / slow.period / begun, 1.0)

    @property
    def work(self) -> float:
        """Periods of a trial times states of the loop."""
        return self.periods * self.ticks * self.loops[0].dynamic_indices().size

    def attempt(self, *, delay: float = 0.0, gain: float = 1.0) -> Trial:
        """Try the test with its rig later by ``delay`` [s] and the specimen's force times ``gain``."""
        key = (delay, gain)
        if key not in self.known:
            self.known[key] = self._attempt(delay, gain)
        return self.known[key]

    def _attempt(self, delay: float, gain: float) -> Trial:
        if not self.follows:
            return self._alone(delay, gain)
        if self.free:
            return self._separate(delay, gain, HIDDEN if self.loops[0].opaque else FREE)
        small = self._separate(delay, gain, SMALL)
        near = abs(small.exponent) * small.duration < NEAR or (small.exponent > 0.0 and not small.separates)
        if self.stationary and small.ran_away is None and near:
            small = self._separate(delay, gain, SMALL, LONGER)
        if small.ran_away is not None or not small.separates:
            return small
        return replace(small, large=self._separate(delay, gain, LARGE).small)

    def _separate(self, delay: float, gain: float, size: float, times: int = 1) -> Trial:
        (loop, *copies), sizes, places = self.loops, self._sizes, self._places
        for one in self.loops:
            change(one, delay=delay, gain=gain)
        neighbours = Neighbours(loop, copies, size, free=self.free)
        neighbours.begin(*sizes)
        begin, count = np.abs(loop.vector[places]), times * self.samples
        logs, motion = neighbours.follow(count, self.every, places)
        sums = np.vstack([np.zeros(2), np.cumsum(logs, axis=0)])
        found = self._judge(delay, gain, self.every * loop.dt, sums, np.vstack([begin, motion]), len(logs) == count)
        neutral = found.ran_away is None and abs(found.exponent) * found.duration < NEAR
        return replace(found, rests=self._rests()) if neutral else found

    def _rests(self) -> bool:
        """Whether memory stays as it is for a while after a trial: a law that has yielded, and does no longer."""
        loop = self.loops[0]
        memory = loop.memory_indices()
        for _ in range(RESTING):
            before = loop.vector[memory]
            loop.settle(1, self.every)
            if has_rested(before, loop.vector[memory]):
                return True
        return False

    def _alone(self, delay: float, gain: float) -> Trial:
        """A trial without neighbours."""
        loop, places = self.loops[0], self._places
        change(loop, delay=delay, gain=gain)
        motion = [np.abs(loop.vector[places])]
        for _ in range(self.samples):
            loop.settle(1, self.every)
            motion.append(np.abs(loop.vector[places]))
            if loop.vector[FAULT] != 0.0 or (motion[-1][: self._bounds.size] > self._bounds).any():
                break
        unknown = np.full((len(motion), 2), np.nan)
        return self._judge(delay, gain, self.every * loop.dt, unknown, np.array(motion), len(motion) > self.samples)

    def _judge(
        self, delay: float, gain: float, interval: float, sums: np.ndarray, motion: np.ndarray, whole: bool
    ) -> Trial:
        """A trial of which logarithms of deviations and magnitudes of channels are known at intervals [s]."""
        time = interval * np.arange(len(sums))
        separation = Separation(time, sums[:, 0], sums.mean(axis=1))
        beyond = (motion[:, : self._bounds.size] > self._bounds).any(axis=1)
        loop, stays = self.loops[0], not whole and not beyond.any()
        stays = bool(stays and np.all(np.isfinite(motion[:, : self._bounds.size])))
        fault = loop.describe(loop.vector[FAULT]) if stays and loop.vector[FAULT] != 0.0 else ""
        parted = self.free and stays and not fault
        ran_away = None if whole or parted or fault else float(time[-1])
        if beyond.any():
            ran_away = interval * float(np.argmax(beyond))
        begin = WARM_UP * float(time[-1])
        return Trial(
            delay,
            gain,
            separation.exponent(begin, GREW if self.stationary else TENFOLD),
            duration=float(time[-1]) - begin,
            ran_away=ran_away,
            fault=fault,
            parted=parted,
            grows=ran_away is None and not fault and self._grows(motion),
            episode=separation.largest_growth(0.1 * float(time[-1])),
            peak=float(np.nanmax(motion[:, : len(self.definition.interface)], initial=0.0)),
        )

    @cached_property
    def every(self) -> int:
        """Ticks between two samples of a trial."""
        alike = ticks_alike(self.definition, self.loops[0])
        return int(alike * max(round(max(self.ticks // SAMPLES, FEWEST_TICKS) / alike), 1))

    @cached_property
    def samples(self) -> int:
        """Of a trial."""
        return max(self.ticks // self.every, 2 * FEWEST_TICKS)

    @property
    def peaks(self) -> np.ndarray:
        """Largest magnitudes of all entries of the loop's vector in the test as defined."""
        return self._sizes[0]

    @cached_property
    def _sizes(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Largest magnitudes of all entries of the loop's vector in the test as defined, and the proportions that
        deviations take in it; None where they are not followed."""
        loop, *copies = self.loops
        for one in self.loops:
            change(one)
        peaks, memory = np.zeros(loop.vector.size), loop.memory_indices()
        for _ in range(self.samples):
            before = loop.vector[memory]
            loop.settle(1, self.every)
            now = np.abs(loop.vector)
            self._rested |= has_rested(before, loop.vector[memory])
            if np.isinf(now).any() or (now[self._places[: self._bounds.size]] > self._bounds).any():
                break
            np.fmax(peaks, now, out=peaks)
        if self.free or not self.follows:
            return peaks, None
        for one in self.loops:
            one.reset()
        neighbours = Neighbours(loop, copies, SMALL)
        neighbours.begin(peaks)
        neighbours.follow(int(WARM_UP * self.samples), self.every, self._places)
        return peaks, neighbours.seen

    def _grows(self, motion: np.ndarray) -> bool:
        """Whether stationary motion grows, or motion that nothing excites any more."""
        moved, excited = np.split(motion, [self._bounds.size], axis=1)
        late, peak = np.nanmax(excited[2 * len(excited) // 5 :], initial=0.0), np.nanmax(excited, initial=0.0)
        free = not self.adapts and late <= QUIET * peak
        return (self.stationary or free) and grows(moved)

    @cached_property
    def _places(self) -> np.ndarray:
        """Of the channels of the interface in the loop's vector, and of the excitations."""
        loop, axes = self.loops[0], self.definition.interface
        moved = [
            name for signal in ("target", "measured.displacement", "measured.force") for name in axes.channels(signal)
        ]
        excited = [name for name in ("excitation.virtual", "excitation.specimen") if name in loop.index]
        return np.array([loop.index[name] for name in (*moved, *excited)])

    @cached_property
    def _bounds(self) -> np.ndarray:
        """What the channels of the interface must stay below."""
        units_of = {self.loops[0].index[channel.name]: channel.unit for channel in self.loops[0].channels}
        moved = [units_of[int(place)] for place in self._places[: 3 * len(self.definition.interface)]]
        return np.array([most(unit) for unit in moved])


def trials_of(definition: Definition, stability: LoopStability) -> Trials:
    """The trials of a test whose loop at rest is known."""
    poles = stability.linearisation.continuous
    return Trials(definition, complex(poles[0]) if poles.size else 0.0)


def has_rested(before: np.ndarray, after: np.ndarray) -> bool:
    """Whether something of a memory that is not zero has stayed."""
    return bool(np.any((after == before) & (before != 0.0)))


def grows(motion: np.ndarray) -> bool:
    """Whether a stationary motion, (samples, channels), grows over its last three fifths, and continues to grow."""
    before, middle, last = (np.nanmax(part, axis=0, initial=0.0) for part in np.array_split(motion, 5)[2:])
    steady = (last - middle) >= STEADY * (middle - before)
    return bool(np.any((middle > GROWS * before) & (last > GROWS * middle) & steady & (before > 0.0)))
