"""What a linearisation at rest does not tell of a nonlinear loop.

Along a rehearsal the loop is linearised at the operating points it reaches (with ideal sensors: a resolution has no
derivative).  An eigenvalue beyond one there says that small deviations grow while the loop dwells at that point, not
that the test must diverge; that is tried: the excitation is raised, with the limits lifted, until the rehearsal loses
stability.  A shaking table is judged up to the excitation from which on its actuators are at an end of their strokes,
forces or speeds: beyond it, its motion is no more what was asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...definition.acceptance import OFF
from ...definition.definition import Definition
from ...definition.user_code import remembered
from ...errors import HalfrealError
from ...kernels.loop import Loop
from ...kernels.tick import FAULT
from ...runs.build import build
from ...runs.equivalent import UNDISTURBED
from ...runs.rehearse import check_log
from ...safety.limits import Limits
from ...stability.linearise import matrix_of, slopes, without_memory
from ...summaries import Summarised

POINTS = 60
MANY_STATES = 500
"""From which on fewer operating points are taken: the time of each grows with the third power of the states."""
FEWEST_POINTS = 3
MOST_STATES = 3000
"""Beyond which none are taken."""
LARGEST_FACTOR = 1024.0
GROWN = 3.0
"""The gap has lost its stability when its peak in the last quarter is this many times that of the quarter before …"""
RESTING = 1e-6
SHARE = 0.1
"""… and at least this share of the target's."""
SMALL = 1e-6
"""Times the excitation, where the loop moves as it does at rest."""


@dataclass(frozen=True, repr=False)
class Nonlinear(Summarised):
    """Operating points along the rehearsal, and the amplitude at which the rehearsal loses stability."""

    time: np.ndarray
    spectral_radius: np.ndarray
    factor: float | None
    """Of the excitation as defined, at which stability is lost; None if it is not up to ``LARGEST_FACTOR``."""

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

    def summary(self) -> str:
        text = "nonlinear: the rehearsal was too short for operating points"
        if self.opaque:
            text = (
                f"perhaps nonlinear, and not linearised along the rehearsal: {self.opaque[0]} keeps its state to itself"
            )
        if self.states > MOST_STATES:
            text = (
                f"nonlinear, and not linearised along the rehearsal: it has {self.states} states with memory, and up "
                f"to {MOST_STATES} are linearised"
            )
        if self.time.size:
            worst = int(np.argmax(self.spectral_radius))
            text = (
                f"nonlinear: linearised at {self.time.size} operating points of the rehearsal, largest spectral radius "
                f"{self.spectral_radius[worst]:.6f} at {self.time[worst]:.3g} s"
            )
            grows = int(np.sum(self.spectral_radius > 1.0))
            if grows and self.searched and (self.factor is None or self.factor > 1.0):
                text += (
                    ", where small deviations grow for the ticks that the loop spends there; above 1 at "
                    f"{grows} of the points"
                )
        if not self.searched:
            return text
        if self.factor is None and self.saturated is not None:
            return f"{text}; from {self.saturated:.3g} times the excitation on the table saturates in {self.of}"
        if self.factor is None:
            return f"{text}; no growth up to {LARGEST_FACTOR:g} times the excitation"
        return f"{text}; loses stability at {self.factor:.3g} times the excitation"


def is_nonlinear(definition: Definition) -> bool:
    """Whether anything in the loop may be nonlinear, as its parts say."""
    return any(part.nonlinearities for part in (definition.virtual, definition.coupling, definition.rig))


def examine(definition: Definition, stable_at_rest: bool = True) -> Nonlinear:
    """Linearise along a rehearsal and, if the loop is stable at rest, look for the amplitude at which it no more is."""
    loop = build(definition, UNDISTURBED)
    states = loop.dynamic_indices().size + loop.memory_indices().size
    points = 0 if loop.blind else points_for(states)
    stretch = max(definition.timing.ticks // max(points, 1), 1)
    time, radius = [], []
    for _ in range(points):
        loop.run(stretch)
        if loop.state("guard")["mode"] != 0.0:
            break
        try:
            radius.append(moving_radius(loop.transparent()))
        except HalfrealError:  # where no slope is finite: the next tick has a fault, which the rehearsal tells
            continue
        time.append(loop.vector[0] * loop.dt)
    found = np.array(time), np.array(radius)
    if not stable_at_rest or scaled(definition, 1.0) is None or tried(definition, 1.0).faulty:
        return Nonlinear(*found, factor=None, searched=False, opaque=loop.blind, states=states)
    saturation = saturation_factors(definition)
    if saturation is None:
        return Nonlinear(*found, factor=critical_factor(definition), opaque=loop.blind, states=states)
    below, saturated = saturation
    end = tried(definition, saturated).end
    return Nonlinear(*found, critical_factor(definition, below), True, saturated, end, loop.blind, states)


def points_for(states: int) -> int:
    """How many operating points are taken of a loop with so many states."""
    if states > MOST_STATES:
        return 0
    return max(FEWEST_POINTS, int(POINTS * min(1.0, (MANY_STATES / max(states, 1)) ** 3)))


def moving_radius(loop: Loop) -> float:
    """Spectral radius at the loop's present state, hysteretic memory included.

    A specimen that does not yield at the moment keeps its permanent set: a pole at λ = 1 that says nothing.  As many as
    there are memories may be left out.
    """
    memories = loop.memory_indices()
    indices = np.concatenate([loop.dynamic_indices(), memories])
    matrix = matrix_of(slopes(loop, indices, indices, loop.period), indices.size)
    values = without_memory(loop, matrix, indices, loop.period).eigenvalues
    kept = np.argsort(np.abs(values - 1.0))
    resting = [i for i in kept[: memories.size] if abs(values[i] - 1.0) < RESTING]
    return float(np.abs(np.delete(values, resting)).max() ** (1.0 / loop.period))


def least_factor(definition: Definition) -> float:
    """Factor on the excitation up to which a test is asked to keep its stability; 0 if it is not."""
    asked = definition.acceptance
    return 0.0 if asked.gain_margin == OFF else float(10.0 ** (asked.least("gain_margin") / 20.0))


def keeps_stability(definition: Definition) -> bool:
    """Whether the rehearsal of a loop, if that is nonlinear, keeps its stability at that factor."""
    factor, excitation = least_factor(definition), definition.excitation
    judged = is_nonlinear(definition) and definition.targets == "displacement" and factor > 0.0
    if not judged or (excitation.virtual or excitation.specimen) is None or scaled(definition, 1.0) is None:
        return True
    return not diverges(definition, factor)


def critical_factor(definition: Definition, largest: float = LARGEST_FACTOR) -> float | None:
    """Factor on the excitation, up to ``largest``, at which the rehearsal, without limits, loses stability."""
    found = onset(lambda factor: diverges(definition, factor), definition, largest)
    return None if found is None else found[1]


def saturation_factors(definition: Definition) -> tuple[float, float] | None:
    """Factors on the excitation between which the rig's actuators come to saturate; None if they do not."""
    if not definition.rig.end_channels:
        return None
    return onset(lambda factor: bool(tried(definition, factor).end), definition, LARGEST_FACTOR, bisections=4)


def onset(
    happens: Callable[[float], bool], definition: Definition, largest: float, bisections: int = 10
) -> tuple[float, float] | None:
    """Factors on the excitation, up to ``largest``, between which something comes to happen; None if it does not.

    They are found by doubling and bisection: at the first it does not happen, at the second it does.
    """
    if definition.excitation.virtual is None and definition.excitation.specimen is None:
        return None
    low, high = 0.0, min(1.0, largest)
    while not happens(high):
        if high >= largest:
            return None
        low, high = high, min(2.0 * high, largest)
    for _ in range(bisections):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if happens(middle) else (middle, high)
    return low, high


def diverges(definition: Definition, factor: float) -> bool:
    """Whether the rehearsal at ``factor`` times the excitation, without limits, loses stability.

    A gap that grows as it does in small motion, where the loop is stable, grows with the excitation.
    """
    run = tried(definition, factor)
    if run.peaks is None or run.end:
        return run.peaks is None
    small, n = tried(definition, SMALL).peaks, len(definition.interface.commanded)
    (before, last), usual = run.peaks[2:], np.ones(n)
    if small is not None:
        usual = np.maximum(small[3][:n] / np.maximum(small[2][:n], np.finfo(float).tiny), 1.0)
    return bool(np.any((last[:n] > GROWN * usual * before[:n]) & (last[:n] > SHARE * last[n:])))


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
