"""Limit cycles of a test over one number of its definition: a bifurcation diagram.

Cycles branch off where the loop at rest loses its stability with a pole pair on the unit circle (Hopf points, of the
sampled loop Neimark–Sacker points), and from those that exist at the operating point and at both ends of the range;
each family is followed to where it leaves the diagram (``stability/arclength.py``).  Along it, Floquet multipliers show
which cycles are stable and where folds, period doublings and tori are.  A Hopf point is supercritical if the cycles
next to it are stable, subcritical if they are not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize_scalar

from ... import units
from ...definition.definition import Definition
from ...definition.faults import DefinitionError
from ...definition.paths import value_at
from ...definition.uncertainty import quantity_at
from ...errors import HalfrealError
from ...figures import new_figure, styled
from ...runs.validity import is_nonlinear
from ...stability.arclength import Frame, followed, pinned
from ...stability.carry_over import carried_over
from ...stability.limit_cycle import Cycle, NoCycleError
from ...stability.shooting import shooting_of
from ...summaries import Summarised
from .family import Family
from .hopf import Hopf, hopf_points
from .limit_cycles import expected_motion, limit_cycles
from .periodic_motion import PeriodicMotion, kept
from .specials import NEUTRAL, Special, folds_of, specials_of, stability_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SMALLEST = 5e-3
"""Amplitude, as a part of the largest on the diagram, at which families begin at a Hopf point."""
REACH = 3.0
"""Largest amplitude on the diagram, in those of the motion expected and of the cycles at the operating point."""
MOST_CYCLES = 400
"""Of one family."""
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Branch:
    """A family of limit cycles, in its order."""

    cycles: tuple[PeriodicMotion, ...]
    specials: tuple[Special, ...] = ()

    @property
    def numbers(self) -> np.ndarray:
        return np.array([float(one.cycle.number or 0.0) for one in self.cycles])

    @property
    def amplitudes(self) -> np.ndarray:
        return np.array([one.amplitude for one in self.cycles])

    @property
    def frequencies_hz(self) -> np.ndarray:
        return np.array([one.frequency_hz for one in self.cycles])

    @property
    def sizes(self) -> np.ndarray:
        """Largest |μ| of each."""
        return np.array([one.largest_multiplier for one in self.cycles])


@dataclass(frozen=True, repr=False)
class Continuation(Summarised):
    """Limit cycles over a number of the definition."""

    place: str
    unit: str
    low: float
    high: float
    operating: float
    amplitude_unit: str
    hopf: tuple[Hopf, ...]
    branches: tuple[Branch, ...]
    largest: float
    """Amplitude up to which cycles were looked for."""
    growth: np.ndarray = field(repr=False)
    """Numbers, and the growth rate [1/s] of the loop at rest there, (k, 2)."""

    def text(self, number: float) -> str:
        return units.text(number, self.unit)

    def summary(self) -> str:
        """A line for each thing that was found."""
        lines = [f"{self.place} from {self.text(self.low)} to {self.text(self.high)}"]
        lines += [one.text(self.text(one.number), self.amplitude_unit) for one in self.hopf]
        for branch in self.branches:
            lines.append(self._of_branch(branch))
            for one in branch.specials:
                at = f"{self.text(one.number)}, {units.text(one.amplitude, self.amplitude_unit, 3)}"
                lines.append(f"{one.kind} at {at}")
        if not self.branches:
            lines.append("no limit cycles were found")
        return "\n".join(lines)

    def _of_branch(self, branch: Branch) -> str:
        number, size, hz = branch.numbers, branch.amplitudes, branch.frequencies_hz
        low, high = (units.text(float(one), self.amplitude_unit, 3) for one in (size.min(), size.max()))
        kinds = {kind for kind in map(stability_of, branch.sizes) if kind != "neutral"}
        return (
            f"{' and '.join(sorted(kinds)) or 'neutral'} limit cycles of {low} to {high}, {hz.min():.4g} to "
            f"{hz.max():.4g} Hz, from {self.text(float(number.min()))} to {self.text(float(number.max()))}"
        )

    @styled
    def plot(self) -> Figure:
        """Amplitude over the number, stable and unstable apart."""
        from .plot import draw_diagram

        figure = new_figure(6.6, 4.6)
        draw_diagram(figure, self)
        return figure


def continuation(
    definition: Definition,
    place: str,
    low: float | None = None,
    high: float | None = None,
    *,
    largest: float | None = None,
    on_progress: Progress | None = None,
) -> Continuation:
    """Follow the limit cycles of a test over a parameter.

    Parameters
    ----------
    definition
        The test.
    place
        Key of the parameter.
    low
        Start of the range, SI units; default: 0.
    high
        End of the range, SI units; default: twice the present value.
    largest
        Largest amplitude [m or rad] that is followed.
    on_progress
        Callback with (done, total), called while it works.

    Returns
    -------
    Continuation
        Branches with folds and Hopf points; ``plot()``.
    """
    value_at(definition, place)
    if not is_nonlinear(definition):
        raise HalfrealError(
            "this loop is linear: its motion grows or decays at the same rate at every amplitude, so it has no "
            "limit cycles; 'halfreal chart' shows where it is stable"
        )
    family = Family(definition, place)
    low, high, unit = checked_range(definition, family, place, low, high)
    value, expected = value_at(definition, place), expected_motion(definition)
    tell = on_progress or (lambda done, total: None)
    tell(0, 100)
    hopf, growth = hopf_points(family, low, high)
    tell(20, 100)
    seeds = [
        one for number in dict.fromkeys((value, low, high)) for one in found_at(family, number, low, high, expected)
    ]
    axis = hopf[0].axis if hopf else seeds[0][1].axis if seeds else 0
    if largest is None:
        largest = REACH * max([expected, *(one.amplitude for number, one in seeds if number == value)])
    frame = Frame(low, high, 0.5 * SMALLEST * largest, largest, family.loop_at, axis)
    names, of = kept(definition)
    step = family.step * definition.timing.step
    branches: list[Branch] = []
    judged: list[Hopf] = []

    def known(cycle: Cycle) -> bool:
        return any(near(frame, branch, cycle) for branch in branches)

    def wrapped(cycles: list[Cycle]) -> Branch:
        listed = [PeriodicMotion(one, axis, names, of, step) for one in cycles]
        for i in folds_of(listed):
            extra = PeriodicMotion(at_fold(frame, cycles[i - 1 : i + 2]), axis, names, of, step)
            listed[i] = extra if folds_of([listed[i - 1], extra, listed[i + 1]]) else listed[i]
        return Branch(tuple(listed), specials_of(listed))

    for i, point in enumerate(hopf):
        tell(20 + 60 * i // len(hopf), 100)
        first = from_hopf(frame, family, point, names)
        if first is None:
            judged.append(point)
            continue
        if not known(first):
            branches.append(wrapped([first, *taken(frame, family, first, np.array([0.0, 1.0]))]))
        beginning = next(branch for branch in branches if near(frame, branch, first))
        judged.append(point.judged(beginning.numbers, beginning.amplitudes, beginning.sizes, high - low, NEUTRAL))
    for number, seed in seeds:
        tell(85, 100)
        cycle = Cycle(seed.cycle.shooting, seed.cycle.start, seed.cycle.ticks, seed.cycle.end, number)
        if seed.axis != axis or not frame.holds(cycle) or known(cycle):
            continue
        ahead = taken(frame, family, cycle, np.array([1.0, 0.0]))
        behind = taken(frame, family, cycle, np.array([-1.0, 0.0]))
        branches.append(wrapped([*reversed(behind), cycle, *ahead]))
    tell(100, 100)
    return Continuation(place, unit, low, high, value, of[axis], tuple(judged), tuple(branches), largest, growth)


def checked_range(
    definition: Definition, family: Family, place: str, low: float | None, high: float | None
) -> tuple[float, float, str]:
    """The range of a number and its unit; both ends must be valid."""
    value, quantity = value_at(definition, place), quantity_at(definition, place)
    if family.whole:
        raise HalfrealError(f"'{place}' is an integer and cannot vary continuously; use another key")
    if value == 0.0 and (low is None or high is None):
        raise HalfrealError(f"'{place}' is 0, so there is no default range; give both ends")
    ends = sorted((0.05 * value, 2.0 * value))
    low, high = ends[0] if low is None else float(low), ends[1] if high is None else float(high)
    if not low < high:
        raise HalfrealError(f"the range of '{place}' goes from {low:g} to {high:g}; it must increase")
    for end in (low, high):
        try:
            family.loop_at(end)
        except DefinitionError as error:
            raise HalfrealError(
                f"the range of '{place}' contains invalid values: {error}; use a narrower range"
            ) from error
    return low, high, "1" if quantity is None else quantity.number.unit


def found_at(
    family: Family, number: float, low: float, high: float, expected: float
) -> list[tuple[float, PeriodicMotion]]:
    """Cycles of the loop at a number, if it is in the range."""
    if not low <= number <= high:
        return []
    try:
        return [(number, one) for one in limit_cycles(family.at(number), expected=expected, lowest=1e-2, highest=1e2)]
    except NoCycleError:  # others may be found elsewhere on the range
        return []


def from_hopf(frame: Frame, family: Family, point: Hopf, channels: tuple[str, ...]) -> Cycle | None:
    """The smallest cycle of the family that begins at a Hopf point; None if there is none to be found."""
    loop, amplitude, step = family.loop_at(point.number), SMALLEST * frame.largest, family.step
    loop.vector[:] = loop.vector + amplitude * point.mode.direction.real
    ticks = point.mode.ticks / step
    try:
        shooting = shooting_of(loop, ticks, channels, step)
        at = np.array([point.number / (frame.high - frame.low), SMALLEST])
        return pinned(frame, shooting, ticks, point.number, at, np.array([0.0, 1.0]))
    except HalfrealError:
        return None


def taken(frame: Frame, family: Family, first: Cycle, direction: np.ndarray) -> list[Cycle]:
    """The cycles of a family from one on."""
    found: list[Cycle] = []
    for cycle in followed(frame, first, direction, family.rest):
        found.append(cycle)
        if len(found) >= MOST_CYCLES or (len(found) > 10 and closes(frame, first, found)):
            break
    return found


def at_fold(frame: Frame, cycles: list[Cycle]) -> Cycle:
    """The cycle at which the number turns, of three of which it turns at the middle one."""
    places = np.array([frame.place(one) for one in cycles])
    turns = np.sign(places[1, 0] - 0.5 * (places[0, 0] + places[2, 0]))
    tried = {float(places[1, 1]): cycles[1]}

    def beyond(amplitude: float) -> float:
        near = min(tried.values(), key=lambda one: abs(frame.place(one)[1] - amplitude))
        shooting = carried_over(near.shooting, near.start, near.ticks, near.shooting.loop)
        at = np.array([frame.place(near)[0], amplitude])
        try:
            found = pinned(frame, shooting, near.ticks, float(near.number or 0.0), at, np.array([0.0, 1.0]))
        except HalfrealError:
            return np.inf
        tried[amplitude] = found
        return float(-turns * frame.place(found)[0])

    low, high = sorted((float(places[0, 1]), float(places[2, 1])))
    minimize_scalar(beyond, bounds=(low, high), method="bounded", options={"maxiter": 12, "xatol": 1e-4 * high})
    return max(tried.values(), key=lambda one: turns * frame.place(one)[0])


def closes(frame: Frame, first: Cycle, found: list[Cycle]) -> bool:
    """Whether a family has come back to its beginning."""
    steps = frame.place(found[-1]) - frame.place(found[-2])
    return bool(np.linalg.norm(frame.place(found[-1]) - frame.place(first)) < np.linalg.norm(steps))


def near(frame: Frame, branch: Branch, cycle: Cycle) -> bool:
    """Whether a cycle lies on a family that is known: on a line between two of its neighbours."""
    at = frame.place(cycle)
    places = np.array([frame.place(one.cycle) for one in branch.cycles])
    if len(places) == 1:
        return bool(np.linalg.norm(at - places[0]) < 1e-2)
    begin, way = places[:-1], np.diff(places, axis=0)
    share = np.clip(np.sum((at - begin) * way, axis=1) / np.maximum(np.sum(way**2, axis=1), 1e-30), 0.0, 1.0)
    return bool(np.linalg.norm(begin + share[:, None] * way - at, axis=1).min() < 3e-3)
