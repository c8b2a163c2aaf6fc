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
from dataclasses import dataclass

import numpy as np

from ..kernels.loop import Loop
from ..kernels.tick import FAULT

WATCHING = ("guard", "energy", "plant", "trial.delay")
"""Blocks whose states do not count in the norm: they watch the loop, or hold what has left it."""
FEWEST, FADES = 9, 0.6
"""Samples of a line, and the share of its slope in the first third that is left in the last where growth fades."""
ALONE, ROUNDING = 0.1, 1e-6
"""Share of the largest entry of a field that the others are perturbed by at least, and measured in at least."""
LEAST, MOST = 1e-10, 0.1
"""Deviations relative to the motion between which a neighbour that runs freely is followed."""


@dataclass(frozen=True)
class Exponent:
    """Rate at which deviations grow, as exp(rate · t)."""

    rate: float
    """σ [1/s]; -inf where all deviations have vanished, NaN if nothing is known."""
    scatter: float = 0.0
    """Of the logarithms about their line (RMS)."""
    fades: bool = False
    """Whether the growth becomes slower and slower: free oscillations without damping whose frequency depends on their
    amplitude separate in proportion to time, and not exponentially."""


@dataclass(frozen=True)
class Separation:
    """Logarithms of deviations along a motion, at times [s]."""

    time: np.ndarray
    one: np.ndarray
    """S₁."""
    both: np.ndarray
    """½(S₁ + S₂); NaN where there is no second deviation."""

    def exponent(self, begin: float) -> Exponent:
        """σ after a time."""
        inside = self.time >= begin
        found = [_line(self.time[inside], values[inside]) for values in (self.one, self.both)]
        known = [line for line in found if not np.isnan(line.rate)]
        return max(known, key=lambda line: line.rate) if known else Exponent(float("nan"))

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


def _line(time: np.ndarray, values: np.ndarray) -> Exponent:
    if values.size and values[-1] == -np.inf:
        return Exponent(-np.inf)
    if time.size < FEWEST or not np.all(np.isfinite(values)):
        return Exponent(float("nan"))
    line = np.polyfit(time - time.mean(), values, 1)
    scatter = float(np.std(values - np.polyval(line, time - time.mean())))
    first, _, last = (
        np.polyfit(t, v, 1)[0] for t, v in zip(np.array_split(time, 3), np.array_split(values, 3), strict=True)
    )
    return Exponent(float(line[0]), scatter, bool(first > 0.0 and last < FADES * first))


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
        self._squares, self._counts, self._last = np.zeros(self.carried.size), 0, size

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
        self._set_off(sizes)

    @property
    def seen(self) -> np.ndarray:
        """Root mean squares of the first neighbour's deviations so far."""
        return np.sqrt(self._squares / max(self._counts, 1))

    def _at_least(self, sizes: np.ndarray, share: float) -> np.ndarray:
        """Sizes of entries, not below a share of the largest in the same field."""
        largest = np.zeros(int(self._fields.max()) + 1)
        np.maximum.at(largest, self._fields, sizes)
        return np.maximum(sizes, share * largest[self._fields])

    def _set_off(self, sizes: np.ndarray) -> None:
        self.scale = np.where(sizes > 0.0, sizes, np.inf)
        self._squares, self._counts = np.zeros(self.carried.size), 0
        for copy in self.copies:
            copy.vector[:] = self.loop.vector
            self._deviate(copy)

    def _deviate(self, copy: Loop) -> None:
        """Add a random deviation to a copy."""
        sizes = np.where(self.counted & np.isfinite(self.scale), self.scale, 0.0)
        copy.vector[self.carried] += self.size * sizes * self._random.standard_normal(sizes.size)
        self._last = self.size

    def advance(self, ticks: int) -> tuple[float, float] | None:
        """Run on, and return the logarithms of both factors; None where they are not known any more."""
        for one in (self.loop, *self.copies):
            one.settle(1, ticks)
        base = self.loop.vector
        with np.errstate(invalid="ignore", over="ignore"):  # a frame that a camera has lost is no number in both
            deviations = np.array([copy.vector[self.carried] - base[self.carried] for copy in self.copies])
            weighed = np.where(self.counted & ~np.isnan(base[self.carried]), deviations / self.scale, 0.0)
            squares = np.nan_to_num(deviations[0]) ** 2
        if base[FAULT] != 0.0 or not np.all(np.isfinite(weighed)) or not np.all(np.isfinite(squares)):
            return None
        self._squares += squares
        self._counts += 1
        return self._freely(weighed[0]) if self.free else self._back(np.nan_to_num(deviations), weighed)

    def _back(self, deviations: np.ndarray, weighed: np.ndarray) -> tuple[float, float]:
        """Bring the neighbours back to where they were set off."""
        first = float(np.linalg.norm(weighed[0]))
        if first == 0.0:
            return -np.inf, -np.inf
        along = float(weighed[0] @ weighed[1]) / first**2
        second = float(np.linalg.norm(weighed[1] - along * weighed[0]))
        length = self.size * float(np.sqrt(self.counted.sum()))
        self._place(self.copies[0], deviations[0] * (length / first))
        if second == 0.0:
            return float(np.log(first / length)), float("nan")
        self._place(self.copies[1], (deviations[1] - along * deviations[0]) * (length / second))
        return float(np.log(first / length)), float(np.log(second / length))

    def _freely(self, weighed: np.ndarray) -> tuple[float, float] | None:
        """Follow a neighbour; set it off again where it has come back, and leave it where it is lost."""
        size = float(np.linalg.norm(weighed)) / float(np.sqrt(self.counted.sum()))
        if size > MOST:
            return None
        if size < LEAST:
            factor = float(np.log(LEAST / self._last))
            self._deviate(self.copies[0])
            return factor, float("nan")
        before, self._last = self._last, size
        return float(np.log(size / before)), float("nan")

    def _place(self, copy: Loop, deviation: np.ndarray) -> None:
        copy.vector[:] = self.loop.vector
        copy.vector[self.carried] += deviation


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
