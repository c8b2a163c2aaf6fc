"""What a linearisation at rest does not give of a nonlinear loop.

Along a rehearsal the loop is linearised at the operating points it reaches (with ideal sensors: a resolution has no
derivative).  An eigenvalue beyond one there says that small deviations grow while the loop dwells at that point, not
that the test must diverge; that is tried (``runs/in_motion.py``): the excitation is raised, with the limits lifted,
until the motion is unstable.  A shaking table is judged up to the excitation from which on its actuators are at an end
of their strokes, forces or speeds: beyond it, its motion is no more what was requested.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...definition.acceptance import OFF
from ...definition.definition import Definition
from ...definition.user_code import remembered
from ...errors import HalfrealError
from ...kernels.loop import Loop
from ...kernels.tick import FAULT
from ...runs.build import build
from ...runs.equivalent import UNDISTURBED
from ...runs.rehearse import Progress, check_log
from ...safety.limits import Limits
from ...stability.linearise import MOST_DENSE, RESTING, in_motion, slopes, without_memory
from ...stability.pieces import is_large
from ...summaries import Summarised

POINTS = 60
MANY_STATES = 250
"""From which on fewer operating points are taken: the time of each grows with the third power of the states."""
FEWEST_POINTS = 3
MOST_STATES = 3000
"""Beyond which none are taken."""
LARGEST_FACTOR, FACTORS = 16.0, (4.0,)
MUCH_WORK, SOME_FACTOR = 4e7, 2.0
"""States times ticks of a rehearsal from which on it is tried only up to this factor, or to what is required."""
GROWING = 1e-6
"""By how much a spectral radius at an operating point must be above 1 to be no rounding of a pole that rests."""


@dataclass(frozen=True, repr=False)
class Nonlinear(Summarised):
    """Operating points along the rehearsal, and the amplitude at which the rehearsal loses stability."""

    time: np.ndarray
    spectral_radius: np.ndarray
    softening: np.ndarray
    """Whether the virtual part alone has a pole beyond one there: its tangent stiffness is not positive."""
    factor: float | None
    """Of the excitation as defined, at which stability is lost; None if it is not up to ``largest``."""

    searched: bool = True
    """Whether that amplitude was looked for; not in a loop that is unstable already at rest, or has a fault."""

    saturated: float | None = None
    """Factor from which on the rig's actuators saturate; None if they do not, or it is not known."""

    of: str = ""
    """What of them: stroke, force or speed."""

    opaque: tuple[str, ...] = ()
    """Blocks that keep a state to themselves, so that there are no operating points."""

    states: int = 0
    """States of the loop, memory included, that are linearised."""
    largest: float = LARGEST_FACTOR
    """Up to which factor stability was tried."""
    unknown: int = 0
    """Operating points that were reached, but at which the poles are not known."""
    own_known: bool = True
    """Whether the poles of the virtual part alone are known at all points, so that it is not the cause of growth."""

    def summary(self) -> str:
        text = "nonlinear: not linearised along the rehearsal, as it has no operating point that would show its poles"
        if self.opaque:
            text = (
                "perhaps nonlinear, and not linearised along the rehearsal: the state of "
                f"{self.opaque[0]} is not accessible"
            )
        if self.states > MOST_STATES:
            text = (
                f"nonlinear, and not linearised along the rehearsal: it has {self.states} states with memory; up "
                f"to {MOST_STATES} are linearised"
            )
        elif self.unknown and not self.time.size:
            text = f"nonlinear, and not linearised along the rehearsal: {self._why_unknown()}"
        if self.time.size:
            worst = int(np.argmax(self.spectral_radius))
            text = (
                f"nonlinear: linearised at {self.time.size} operating point{'s' * (self.time.size > 1)} of the "
                "rehearsal, largest spectral radius "
                f"{self.spectral_radius[worst]:.6f} at {self.time[worst]:.3g} s"
            )
            if self.unknown:
                text += (
                    f"; at {self.unknown} further points the poles are not known (a law has a kink there, or its "
                    "tangent is not exact)"
                )
            grows = self.spectral_radius > 1.0 + GROWING
            if np.any(grows) and self.searched and (self.factor is None or self.factor > 1.0):
                text += f"; above 1 at {int(grows.sum())} of the points: {self._meaning(grows)}"
        if not self.searched:
            return text
        if self.factor is None and self.saturated is not None:
            return f"{text}; above {self.saturated:.3g} times the excitation the table saturates in {self.of}"
        if self.factor is None:
            return f"{text}; no growth up to {self.largest:g} times the excitation"
        return f"{text}; loses stability at {self.factor:.3g} times the excitation"

    @property
    def grows_everywhere(self) -> bool:
        """Whether small deviations grow at every operating point, and not because the virtual part does by itself."""
        return bool(self.time.size and np.all((self.spectral_radius > 1.0 + GROWING) & ~self.softening))

    def _why_unknown(self) -> str:
        """Why no operating point has known poles, and what helps."""
        at = f"at none of {self.unknown} operating points are its poles known"
        if self.states <= MOST_DENSE:
            return f"{at}, as a law has a kink at each, or its tangent is not exact"
        return (
            f"{at}, as its {self.states} states yield and are coupled by damping; up to {MOST_DENSE} are linearised "
            "then: use fewer degrees of freedom (condense the virtual part), or in a frame Rayleigh damping on the "
            "committed stiffness, to have them judged"
        )

    def _meaning(self, grows: np.ndarray) -> str:
        """What poles that grow at some operating points say."""
        own = int(np.sum(grows & self.softening))
        here = "small deviations grow while the loop stays there"
        if own == int(grows.sum()):
            return (
                f"{here}; at all of them the virtual part grows by itself (yielded hinges, softening, P-Δ): this is "
                "the structure, not the coupling"
            )
        if own:
            return f"{here}; at {own} of them the virtual part grows by itself (yielded hinges, softening, P-Δ)"
        if not self.own_known:
            return here
        return f"{here}; the virtual part by itself is stable at all of them: the growth comes from the closed loop"


def examine(
    definition: Definition,
    stable_at_rest: bool = True,
    on_progress: Progress | None = None,
    slowest: complex = 0.0,
    unstable_as_defined: bool | None = None,
) -> Nonlinear:
    """Linearise along a rehearsal and, if the loop is stable at rest, look for the amplitude at which it no more is.

    ``slowest`` is its slowest pole at rest [1/s], which trials are long enough to see; ``unstable_as_defined`` is what
    such a trial has shown at the excitation itself.
    """
    report = on_progress or (lambda done, total: None)
    loop = build(definition, UNDISTURBED)
    states = work_of(loop)
    points = 0 if loop.blind else points_for(states)
    stretch = max(definition.timing.ticks // max(points, 1), 1)
    time, radius, own, unknown = [], [], [], 0
    for point in range(points):
        report(point, points)
        loop.run(stretch)
        if loop.state("guard")["mode"] != 0.0:
            break
        try:
            one = moving_radius(loop.transparent())
        except HalfrealError:  # where no slope is finite: the next tick has a fault, which the rehearsal tells
            continue
        if one is None:
            unknown += 1
            continue
        radius.append(one[0])
        own.append(one[1])
        time.append(loop.vector[0] * loop.dt)
    found = np.array(time), np.array(radius), np.array([one is True for one in own], dtype=bool)
    known: dict[str, Any] = {"opaque": loop.blind, "states": states, "unknown": unknown, "own_known": None not in own}
    excited = definition.excitation.virtual is not None or definition.excitation.specimen is not None
    if not (excited and stable_at_rest) or scaled(definition, 1.0) is None or tried(definition, 1.0).faulty:
        return Nonlinear(*found, factor=None, searched=False, **known)
    saturation, largest = saturation_factors(definition), largest_factor(definition, loop.vector.size)
    if saturation is None:
        factor = critical_factor(definition, largest, slowest, unstable_as_defined)
        return Nonlinear(*found, factor, largest=largest, **known)
    below, saturated = saturation
    end = tried(definition, saturated).end
    factor = critical_factor(definition, below, slowest, unstable_as_defined)
    return Nonlinear(*found, factor, True, saturated, end, **known)


def work_of(loop: Loop) -> int:
    """States of a loop that are linearised, memory included; of a block that offers its Jacobian half, without memory,
    as these are not perturbed."""
    large = [loop.row(block.name) for block in loop.controller if is_large(block)]
    dynamic = np.isin(loop.owners_of(loop.dynamic_indices()), large)
    memory = ~np.isin(loop.owners_of(loop.memory_indices()), large)
    return int(np.sum(~dynamic) + np.sum(dynamic) // 2 + np.sum(memory))


def points_for(states: int) -> int:
    """How many operating points are taken of a loop with so many states."""
    if states > MOST_STATES:
        return 0
    return max(FEWEST_POINTS, int(POINTS * min(1.0, (MANY_STATES / max(states, 1)) ** 3)))


def moving_radius(loop: Loop) -> tuple[float, bool | None] | None:
    """Spectral radius at the loop's present state, hysteretic memory included, and whether the virtual part alone has
    one above 1, as well, None if that is not known; None if nothing is known there.

    A specimen that does not yield at the moment keeps its permanent set: a pole at λ = 1 that says nothing.  As many as
    there are memories may be left out.
    """
    memories = loop.memory_indices()
    indices = np.concatenate([loop.dynamic_indices(), memories])
    moving = in_motion(loop)
    if moving is not None:
        values = moving.poles
    elif indices.size > MANY_STATES:  # at a kink of a law; perturbing all states takes too long
        return None
    else:
        matrix = slopes(loop, indices, indices, loop.period).values.T
        values = without_memory(loop, matrix, indices, loop.period).eigenvalues
    kept = np.argsort(np.abs(values - 1.0))
    resting = [i for i in kept[: memories.size] if abs(values[i] - 1.0) < RESTING]
    radius = float(np.abs(np.delete(values, resting)).max() ** (1.0 / loop.period))
    if radius <= 1.0 + GROWING:
        return radius, False
    return radius, None if moving is None else moving.own > 1.0 + GROWING


def least_factor(definition: Definition) -> float:
    """Factor on the excitation up to which a test is required to remain stable; 0 if it is not."""
    asked = definition.acceptance
    return 0.0 if asked.gain_margin == OFF else float(10.0 ** (asked.least("gain_margin") / 20.0))


def largest_factor(definition: Definition, states: int) -> float:
    """Up to which factor on the excitation a rehearsal with so many states is tried."""
    long = states * definition.timing.ticks > MUCH_WORK
    return max(SOME_FACTOR, least_factor(definition)) if long else LARGEST_FACTOR


def critical_factor(
    definition: Definition,
    largest: float = LARGEST_FACTOR,
    slowest: complex = 0.0,
    unstable_as_defined: bool | None = None,
) -> float | None:
    """Factor on the excitation, up to ``largest``, at which the motion, without limits, is unstable.

    What is required, 4 and 16 times the excitation are tried; below the first at which the motion is unstable the
    factor is found by bisection.
    """

    from ...runs.in_motion import Trials

    def is_unstable(factor: float) -> bool:
        if factor == 1.0 and unstable_as_defined is not None:
            return unstable_as_defined
        louder = scaled(definition, factor)
        return louder is not None and Trials(louder, slowest).attempt().unstable

    found = onset(is_unstable, definition, (1.0, least_factor(definition), *FACTORS, largest), largest, bisections=8)
    return None if found is None else found[1]


def saturation_factors(definition: Definition) -> tuple[float, float] | None:
    """Factors on the excitation between which the rig's actuators come to saturate; None if they do not."""
    if not definition.rig.end_channels:
        return None
    factors = [2.0**i for i in range(5)]
    return onset(lambda factor: bool(tried(definition, factor).end), definition, factors, LARGEST_FACTOR, bisections=4)


def onset(
    happens: Callable[[float], bool],
    definition: Definition,
    factors: Sequence[float],
    largest: float,
    bisections: int,
) -> tuple[float, float] | None:
    """Factors on the excitation, up to ``largest``, between which something comes to happen; None if it does not.

    ``factors`` are tried in their order, then what is below the first at which it happens by bisection: at the first of
    both results it does not happen, at the second it does.
    """
    if definition.excitation.virtual is None and definition.excitation.specimen is None:
        return None
    low, high = 0.0, 0.0
    for high in sorted({min(factor, largest) for factor in factors if factor > 0.0}):
        if happens(high):
            break
        low = high
    else:
        return None
    for _ in range(bisections):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if happens(middle) else (middle, high)
    return low, high


@dataclass(frozen=True)
class Tried:
    """A rehearsal without limits: peaks of gap and target in its quarters, None if it could not be run on; and what of
    the rig's actuators saturates, where it is not run to its end.
    """

    peaks: list[np.ndarray] | None
    end: str = ""
    faulty: bool = False
    """Whether it could not be run on because a block had a fault, or gave what is no number: no loss of stability."""


@remembered(maxsize=32)
def tried(definition: Definition, factor: float) -> Tried:
    """The rehearsal at ``factor`` times the excitation, without limits."""
    rig, louder = definition.rig, scaled(definition, factor)
    assert louder is not None
    loop = build(louder.unchecked_copy({"limits": Limits(after_trip=0.0)}), UNDISTURBED)
    ticks = max(definition.timing.ticks // 4, 1)
    axes = definition.interface
    watched = [*axes.commanded.channels("gap"), *(axes.channels("target")[i] for i in axes.commanded_at)]
    check_log(ticks, len(watched) + len(rig.end_channels))
    peaks: list[np.ndarray] = []
    for _ in range(4):
        log = loop.run(ticks, record=(*watched, *rig.end_channels)).log[:, 1:]
        if loop.state("guard")["mode"] != 0.0 or not np.all(np.isfinite(log)):
            return Tried(None, faulty=bool(loop.vector[FAULT] != 0.0 or np.isnan(log).any()))
        if rig.end_channels and (end := rig.end_reached(log[:, len(watched) :])):
            return Tried(peaks, end)
        peaks.append(np.abs(log[:, : len(watched)]).max(axis=0))
    return Tried(peaks)


def scaled(definition: Definition, factor: float) -> Definition | None:
    """The definition with its excitations times a factor; None if one of them cannot be scaled."""
    excitation = definition.excitation
    given = {"virtual": excitation.virtual, "specimen": excitation.specimen}
    louder = {side: part.scaled(factor) for side, part in given.items() if part is not None}
    if any(part is None for part in louder.values()):
        return None
    return definition.unchecked_copy({"excitation": excitation.unchecked_copy(louder)})
