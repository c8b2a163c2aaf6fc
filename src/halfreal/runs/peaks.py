"""How much of its limits, and of the ranges of its sensors, a test uses with other noise.

The noise of a rehearsal is one of many.  Here the test is rehearsed with other seeds, with its limits lifted so that
all of the motion counts, and of each rehearsal the largest share m of a limit is kept.  Of such peaks the distribution
is taken to be one of extreme values (E. J. Gumbel, Statistics of Extremes, Columbia University Press, 1958),

    P(m > x) = 1 − exp(−exp(−(x − μ)/β)),    β = s √6/π,    μ = m̄ − 0.5772 β

with mean and standard deviation of the peaks; P(m > 1) is the probability of a trip.  The tail of Gaussian noise is
shorter: far from the limit it is overestimated.  Four rehearsals do where the limits are far, then there are more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..contracts.quantities import UNLIMITED
from ..definition.definition import Definition
from ..kernels.loop import Loop
from ..rigs.sensors import ranges_used
from .build import build, watch

FEWEST, MOST = 4, 16
"""Rehearsals: where limits are far, and near them."""
MOST_TICKS = 2_000_000
"""Of all of them together, beyond the second."""
RARE = 1e-4
"""Probability of a trip below which limits are far."""
EULER = 0.5772156649015329
LARGEST = 2.0
"""Share beyond which a peak counts as one of this size: what comes of a trip is of no interest."""


@dataclass(frozen=True)
class Peaks:
    """Largest shares of limits and ranges, of each rehearsal: (rehearsals, names)."""

    limits: tuple[str, ...]
    of_limits: np.ndarray
    ranges: tuple[str, ...]
    of_ranges: np.ndarray
    faults: np.ndarray
    """Whether a rehearsal was ended by a fault."""
    largest: tuple[dict[str, np.ndarray], ...] = ()
    """Of all that the guard watches, limited or not, in each rehearsal."""

    @property
    def count(self) -> int:
        """Of rehearsals."""
        return len(self.of_limits)

    @cached_property
    def worst(self) -> np.ndarray:
        """The largest share of any limit, in each rehearsal; infinite after a fault."""
        return np.where(self.faults, np.inf, self.of_limits.max(axis=1, initial=0.0))

    def closest_limit(self) -> tuple[str, float, float]:
        """The limit of which most is used, with its smallest and its largest share; "" if there is none."""
        return _closest(self.limits, self.of_limits)

    def closest_range(self) -> tuple[str, float, float]:
        """The same of ranges."""
        return _closest(self.ranges, self.of_ranges)

    def largest_limits(self) -> dict[str, float]:
        """Of each limit the largest share in any rehearsal."""
        return dict(zip(self.limits, self.of_limits.max(axis=0, initial=0.0).tolist(), strict=True))

    def largest_ranges(self) -> dict[str, float]:
        """The same of ranges."""
        return dict(zip(self.ranges, self.of_ranges.max(axis=0, initial=0.0).tolist(), strict=True))

    def trips(self, share: float = 1.0) -> float:
        """Probability that a test uses more than this share of a limit."""
        return probability(self.worst, share)


def _closest(names: tuple[str, ...], shares: np.ndarray) -> tuple[str, float, float]:
    if not names:
        return "", 0.0, 0.0
    place = int(np.argmax(shares.max(axis=0)))
    return names[place], float(shares[:, place].min()), float(shares[:, place].max())


def probability(peaks: np.ndarray, bound: float) -> float:
    """Probability that a further peak is above a bound, by a distribution of extreme values."""
    kept = np.minimum(np.where(np.isfinite(peaks), peaks, LARGEST), LARGEST * bound)
    spread = float(kept.std(ddof=1)) if kept.size > 1 else 0.0
    scale = spread * math.sqrt(6.0) / math.pi
    if scale <= 1e-12 * abs(float(kept.mean())):
        return float(kept.mean() > bound)
    away = (bound - (float(kept.mean()) - EULER * scale)) / scale
    return float(-math.expm1(-math.exp(-away))) if away > -700.0 else 1.0


def peaks_of(definition: Definition, far: float = 1.0) -> Peaks | None:
    """Rehearse a test with other noise; None if it has no noise, and no sensor a range.

    ``far`` is the share of limits that a test should not use: near it there are more rehearsals.
    """
    timing = definition.timing
    ticks = timing.ticks_before + timing.ticks
    loop = build(definition)
    noisy = has_noise(loop)
    if not noisy and not ranges_used(loop):
        return None
    found: list[Loop] = []
    affordable = max(MOST_TICKS // max(ticks, 1), 2)
    for seed in range(MOST if noisy else 1):
        other = definition.unchecked_copy({"timing": timing.unchecked_copy({"seed": timing.seed + seed})})
        found.append(rehearsed(other, ticks))
        peaks = collected(definition, found)
        if len(found) >= affordable or (len(found) >= FEWEST and peaks.trips(far) < RARE):
            break
    return collected(definition, found)


def has_noise(loop: Loop) -> bool:
    """Whether anything of the simulated rig is random."""
    return any(np.any(block.parameters.get("noise", 0.0)) for block in (*loop.inner, *loop.outer))


def rehearsed(definition: Definition, ticks: int) -> Loop:
    """The loop of a test without trip limits, after so many ticks."""
    loop = build(definition)
    guard = loop.blocks[loop.row("guard")]
    none = np.full(np.shape(guard.parameters["trip"]), UNLIMITED)
    lifted = replace(
        guard,
        parameters={**guard.parameters, "trip": none, "first": none},
        state={**guard.state, "bound": none},
    )
    free = loop.refilled([lifted if block is guard else block for block in loop.blocks])
    assert free is not None  # the guard is laid out as before
    free.run(ticks)
    return free


def collected(definition: Definition, loops: list[Loop]) -> Peaks:
    """Shares of limits and ranges of loops that were rehearsed."""
    watched = watch(definition, loops[0])
    limits, ranges, largest = [], [], []
    for loop in loops:
        peaks = np.where(np.isfinite(one := loop.state("guard")["peaks"].copy()), one, np.inf)
        limits.append(watched.used(peaks))
        ranges.append(ranges_used(loop))
        starts = watched.starts
        largest.append({one.name: peaks[starts[one.name] : starts[one.name] + len(one)] for one in watched})
    names = tuple(name for name in limits[0] if all(name in one for one in limits))
    return Peaks(
        names,
        np.array([[one[name] for name in names] for one in limits]),
        tuple(ranges[0]),
        np.array([list(one.values()) for one in ranges]),
        np.array([loop.state("guard")["cause"] != 0.0 for loop in loops]),
        tuple(largest),
    )
