"""How fast motions that begin next to each other separate: the largest exponent along a motion of the loop that runs.

Three copies of the loop run side by side: the motion itself, and two neighbours that deviate from it by d₁ and d₂.
After every few ticks the deviations are made orthogonal, and as long as they were, and the logarithms of the factors
are summed up (G. Benettin, L. Galgani, A. Giorgilli, J.-M. Strelcyn, Meccanica 15 (1980) 9–20):

    S₁(t) = Σ ln r₁₁        S₂(t) = Σ ln r₂₂

S₁ grows as the largest exponent σ₁, S₁ + S₂ as the sum of the two largest.  Where these are a pair of complex poles d₁
turns, and S₁ oscillates about its line, as different units are mixed in the norm; the area that d₁ and d₂ span does
not, and grows as 2σ₁ exactly.  So σ is the larger one of the slopes of S₁ and of ½(S₁ + S₂), fitted by least squares.

Deviations are measured in the sizes that they take on the way, in the signals that a tick hands to the next and in the
states of the controller that act on the loop: not in those of the guard and of the energy error, and not in those of
the rig, which follow.  Deviations of all states are kept when neighbours are brought back, those of the memory of
hysteretic laws included: else each return to the motion would wipe out a permanent set.  A deviation of finite size
crosses a clearance that a smaller one does not.  A block that keeps its state to itself, such as an FMU, cannot be set
back, and what an adaptive coupling has learnt must not be multiplied with a deviation: there one neighbour runs freely,
and is set off again where it has come back to the motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..kernels.control import WORDS
from ..kernels.loop import Loop
from ..kernels.neighbours import NOT_ENDED, run_neighbours
from ..kernels.prepared import RanAwayError
from ..kernels.tick import FAULT, compiled_run

WATCHING = ("guard", "energy", "plant", "trial.delay")
"""Blocks whose states do not count in the norm: they watch the loop, or hold what has left it."""
FEWEST = 9
"""Samples of a line."""
ALONE, ROUNDING = 0.1, 1e-6
"""Share of the largest entry of a field that the others are perturbed by at least, and measured in at least."""
GREW, SCATTERS = 0.05, 3.0
"""Growth of deviations over a trial, as a logarithm, up to which it is none; and in times the scatter about its line:
deviations grow and shrink with a motion that is not stationary."""
LEAST, MOST = 1e-10, 0.5
"""Deviations relative to the motion between which a neighbour that runs freely is followed."""


@dataclass(frozen=True)
class Exponent:
    """Rate at which deviations grow, as exp(rate · t)."""

    rate: float
    """σ [1/s]; -inf where all deviations have vanished, NaN if nothing is known."""
    scatter: float = 0.0
    """Of the logarithms about their line (RMS)."""
    grows: bool = False
    """Whether it is growth: larger than chance, and not slower and slower.  Free oscillations without damping whose
    frequency depends on their amplitude separate in proportion to time, and not exponentially: there a + b ln t is
    closer than a + σ t."""


@dataclass(frozen=True)
class Separation:
    """Logarithms of deviations along a motion, at times [s]."""

    time: np.ndarray
    one: np.ndarray
    """S₁."""
    both: np.ndarray
    """½(S₁ + S₂); NaN where there is no second deviation."""

    def exponent(self, begin: float, least: float = GREW) -> Exponent:
        """σ after a time; deviations grow if either line does, beyond its own scatter and by ``least``, a logarithm."""
        inside = self.time >= begin
        found = [_line(self.time[inside], values[inside], least) for values in (self.one, self.both)]
        known = [line for line in found if not np.isnan(line.rate)]
        if not known:
            return Exponent(float("nan"))
        return replace(max(known, key=lambda line: line.rate), grows=any(line.grows for line in known))

    def largest_growth(self, begin: float) -> tuple[float, float, float]:
        """The largest factor by which deviations grow between any two times after ``begin``, and these times [s]."""
        inside = (self.time >= begin) & np.isfinite(self.both)
        time, values = self.time[inside], self.both[inside]
        if time.size < 2:
            return 1.0, 0.0, 0.0
        lowest = np.minimum.accumulate(values)
        last = int(np.argmax(values - lowest))
        first = int(np.argmin(values[: last + 1]))
        return float(np.exp(min(values[last] - values[first], 700.0))), float(time[first]), float(time[last])


def _line(time: np.ndarray, values: np.ndarray, least: float) -> Exponent:
    if values.size and values[-1] == -np.inf:
        return Exponent(-np.inf)
    if time.size < FEWEST or not np.all(np.isfinite(values)):
        return Exponent(float("nan"))
    line = np.polyfit(time - time.mean(), values, 1)
    scatter = float(np.std(values - np.polyval(line, time - time.mean())))
    slower = np.log(np.maximum(time, 1e-3 * time[-1]))
    fades = float(np.std(values - np.polyval(np.polyfit(slower, values, 1), slower))) < scatter
    span = float(time[-1] - time[0])
    return Exponent(float(line[0]), scatter, bool(line[0] * span > max(least, SCATTERS * scatter) and not fades))


class Neighbours:
    """A loop and copies of it that deviate from it: two, or one that runs freely if a block cannot be set back."""

    def __init__(self, loop: Loop, copies: Sequence[Loop], size: float, *, free: bool = False, seed: int = 0) -> None:
        self.loop, self.size, self.free = loop, size, free
        self.copies = tuple(copies)[:1] if free else tuple(copies)
        first = loop.state_begin(loop.blocks[0].name)
        states = np.arange(first, loop.vector.size - len(loop.watched))
        self.carried = np.concatenate([np.setdiff1d(loop.dynamic_indices(), states), states])
        """Entries of the vector in which deviations live."""
        counted = [-1, *(loop.row(block.name) for block in loop.controller if block.name not in WATCHING)]
        owned = np.isin(loop.owners_of(self.carried), counted)
        self.counted = owned & np.isin(self.carried, loop.dynamic_indices())
        """Which of them are perturbed, and count in the norm."""
        self.scale = np.ones(self.carried.size)
        self._random, self._fields = np.random.default_rng(seed), _fields(loop, self.carried)
        self._squares, self._samples, self._last = np.zeros(loop.vector.size), 0, size

    def begin(self, peaks: np.ndarray, seen: np.ndarray | None = None) -> None:
        """Set the neighbours off the loop.

        Deviations are in proportion to the ``peaks`` of the entries of the loop's vector; if it is known, to what
        deviations were ``seen`` to be before, and then at most ``size`` of the peaks.
        """
        sizes = self._at_least(peaks[self.carried], ALONE)
        known = np.zeros(sizes.size, dtype=bool) if seen is None else self.counted & (sizes > 0.0) & (seen > 0.0)
        if seen is not None and known.any():
            seen = self._at_least(seen, ROUNDING)
            sizes = seen / float(np.max(seen[known] / sizes[known]))
        elif not np.any(sizes[self.counted] > 0.0):
            sizes = np.ones(sizes.size)
        self.scale = np.where(sizes > np.finfo(float).tiny, sizes, np.inf)
        self._squares[:], self._samples = 0.0, 0
        for copy in self.copies:
            copy.vector[:] = self.loop.vector
            self._deviate(copy)

    @property
    def seen(self) -> np.ndarray:
        """Root mean squares of the first neighbour's deviations so far."""
        seen: np.ndarray = np.sqrt(self._squares[self.carried] / max(self._samples, 1))
        return seen

    def _at_least(self, sizes: np.ndarray, share: float) -> np.ndarray:
        """Sizes of entries, not below a share of the largest in the same field."""
        largest = np.zeros(int(self._fields.max()) + 1)
        np.maximum.at(largest, self._fields, sizes)
        least: np.ndarray = np.maximum(sizes, share * largest[self._fields])
        return least

    def _deviate(self, copy: Loop) -> None:
        """Add a random deviation to a copy."""
        sizes = np.where(self.counted & np.isfinite(self.scale), self.scale, 0.0)
        copy.vector[self.carried] += self.size * sizes * self._random.standard_normal(sizes.size)
        self._last = self.size

    def follow(self, samples: int, ticks: int, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Run on for so many samples of so many ticks each, or until deviations are not known any more.

        Returns
        -------
        Logarithms of the growth of both deviations in each sample, and the magnitudes of ``places`` of the loop.
        """
        return (self._follow_freely if self.free else self._follow_back)(samples, ticks, places)

    def _follow_back(self, samples: int, ticks: int, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bring the neighbours back to where they were set off, after each sample."""
        loops = (self.loop, *self.copies)
        control = np.zeros((len(loops), WORDS), dtype=np.int64)
        times = samples * len(loops)
        stretches = [one.prepared(ticks, control=row, times=times) for one, row in zip(loops, control, strict=True)]
        carried, weights = np.zeros(self.loop.vector.size), np.zeros(self.loop.vector.size)
        carried[self.carried] = 1.0
        weights[self.carried] = np.where(self.counted, 1.0 / self.scale, 0.0)
        factors, motion = np.zeros((samples, 2)), np.zeros((samples, len(places)))
        done = run_neighbours(
            compiled_run.native.address,
            np.array([stretch.words for stretch in stretches]),
            control,
            *(one.vector for one in loops),
            carried,
            weights,
            self.size * float(np.sqrt(self.counted.sum())),
            self._squares,
            places.astype(np.uint64),
            factors,
            motion,
        )
        if done == NOT_ENDED:
            raise RanAwayError(self.loop.ran_away())
        done = max(done, 0)
        self._samples += done
        with np.errstate(divide="ignore"):
            logs = np.log(factors[:done])
        logs[np.isinf(logs[:, 1]), 1] = np.nan
        return logs, motion[: done + 1]

    def _follow_freely(self, samples: int, ticks: int, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Follow one neighbour; set it off again where it has come back, and leave it where it is lost."""
        logs, motion, base, copy = [], [], self.loop.vector, self.copies[0]
        for _ in range(samples):
            for one in (self.loop, copy):
                one.settle(1, ticks)
            motion.append(np.abs(base[places]))
            with np.errstate(invalid="ignore", over="ignore"):  # a frame that a camera has lost is no number in both
                deviation = copy.vector[self.carried] - base[self.carried]
                weighed = np.where(self.counted & ~np.isnan(base[self.carried]), deviation / self.scale, 0.0)
            size = float(np.sqrt(np.mean(weighed[self.counted] ** 2)))
            if base[FAULT] != 0.0 or not np.isfinite(size) or (size > MOST and self.loop.opaque):
                break
            if size > MOST:
                logs.append(float(np.log(size / self._last)))
                copy.vector[:] = base
                self._deviate(copy)
            elif size < LEAST:
                logs.append(float(np.log(LEAST / self._last)))
                self._deviate(copy)
            else:
                logs.append(float(np.log(size / self._last)))
                self._last = size
        return np.column_stack([logs, np.full(len(logs), np.nan)]), np.array(motion)


def _fields(loop: Loop, indices: np.ndarray) -> np.ndarray:
    """A number for each entry of the vector, the same for those of one field of a state, or of one signal."""
    numbers: dict[str, int] = {}
    of_entry: dict[int, int] = {}
    for channel in loop.channels:
        of_entry[loop.index[channel.name]] = numbers.setdefault(channel.signal or channel.name, len(numbers))
    for block in loop.blocks:
        for name in block.state:
            number = numbers.setdefault(f"{block.name}.{name}", len(numbers))
            of_entry |= dict.fromkeys((int(i) for i in loop.state_indices(block.name, name)), number)
    return np.array([of_entry.get(int(index), len(numbers)) for index in indices])
