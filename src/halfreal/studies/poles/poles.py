"""Frequency and damping of every pole of the loop that runs, as it is or over any number of its definition.

At each value of the number the definition is validated, its loop built and linearised (``stability/linearise.py``), and
the poles are followed from value to value (``follow.py``).  Where the loop gains or loses stability between two values
the limit is found by Brent's method on the growth rate.  Over these may be laid the characteristic roots of the delay
equation, which the poles tend to as the step goes to zero, and poles identified from recorded tests
(``identified.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import units
from ...data_frames import data_frame
from ...definition.definition import Definition
from ...definition.paths import PlaceError, numbers_in
from ...errors import HalfrealError
from ...figures import new_figure, styled
from ...runs.continuous import delay_system, has_delay_equation
from ...runs.loop_stability import linearised
from ...runs.opaque_models import check_known
from ...runs.rehearse import Progress
from ...runs.run import Run
from ...runs.validity import where_of
from ...runs.worst_frequency import at_worst
from ...stability.dde import roots
from ...stability.dde_sweep import Sweep, sweep
from ...stability.dde_system import DelaySystem
from ...stability.linearise import Linearisation
from ...summaries import Summarised
from ..charts.chart import Axis, Wanted, axis_of
from ..uncertainty.variation import Variation
from .follow import GONE, follow, upper
from .identified import IdentifiedPoles, identified

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = 60
ROOTS = 8
"""Of the delay equation, rightmost."""
LEADING, LEADING_OF_ONE = 4.0, 20.0
"""Poles that decay no faster than this many times the slowest one make the frequencies that are drawn."""
MOST_IDENTIFIED = 4
CLOSE = 1e-3
"""Part of the distance between two values to which a stability limit is found."""


@dataclass(frozen=True, repr=False)
class LoopPoles(Summarised):
    """Poles s [1/s] of the upper half plane, (values, tracks), NaN where a track has none."""

    over: Axis | None
    """The number that is swept, with its values; None of the loop as it is, which is one value."""
    poles: np.ndarray
    growth: np.ndarray
    """ln(spectral radius)/T [1/s] at each value: negative where the loop is stable."""
    limits: np.ndarray
    """Values [SI] at which the loop gains or loses stability."""
    tick: float
    """T [s] over which poles are reported: a step of the integration."""
    below_hz: float
    """Highest frequency that is drawn."""
    equation: Sweep | None = None
    """Roots of the delay equation at the same values."""
    identified: tuple[IdentifiedPoles, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def values(self) -> np.ndarray:
        return np.zeros(1) if self.over is None else self.over.values

    @property
    def frequency_hz(self) -> np.ndarray:
        return np.asarray(np.abs(self.poles) / (2 * np.pi))

    @cached_property
    def damping(self) -> np.ndarray:
        """Damping ratios; NaN for a pole at rest (λ = 1) too."""
        size = np.abs(self.poles)
        return np.asarray(-self.poles.real / np.where(size > 0.0, size, np.nan))

    @property
    def stable(self) -> np.ndarray:
        """At each value."""
        return np.asarray(self.growth < 0.0)

    def summary(self) -> str:
        """One sentence for people."""
        if self.over is None:
            lead = self.poles[0, 0] if self.poles.size else complex(np.nan)
            word = "stable" if self.stable[0] else "unstable"
            hz = abs(lead.imag) / (2 * np.pi)
            count, rate = self.poles.shape[1], f"exp({lead.real:.3g} t/s)"
            return f"{word}: the slowest pole of {count} is at {hz:.4g} Hz and goes as {rate}"
        first, last = (units.text(one, self.over.unit) for one in self.values[[0, -1]])
        begins = "stable" if self.stable[0] else "unstable"
        if not self.limits.size:
            return f"{begins} for {self.over.place} from {first} to {last}"
        changes = ", ".join(f"{units.text(one, self.over.unit)} ({self._at_limit(one)})" for one in self.limits)
        return f"{begins} at {self.over.place} = {first}; changes at {changes}; until {last}"

    def _at_limit(self, value: float) -> str:
        near = self.poles[int(np.argmin(np.abs(self.values - value)))]
        lead = near[int(np.nanargmax(near.real))]
        return f"{abs(lead.imag) / (2 * np.pi):.4g} Hz"

    def to_dataframe(self) -> Any:
        """A row for each pole at each value, as a pandas data frame: frequency in Hz, the damping ratio, its track."""
        value, track = np.nonzero(~np.isnan(self.poles))
        columns: dict[str, Any] = {} if self.over is None else {self.over.place: self.values[value]}
        columns |= {"track": track, "frequency": self.frequency_hz[value, track], "damping": self.damping[value, track]}
        place = {} if self.over is None else {self.over.place: self.over.unit}
        return data_frame(columns, {**place, "track": "1", "frequency": "Hz", "damping": "1"})

    @styled
    def plot(self) -> Figure:
        """Frequency and damping over the number, or against each other."""
        from .plot import draw_map, draw_sweep

        figure = new_figure(7.6, 5.4) if self.over is not None else new_figure(6.4, 4.2)
        if self.over is None:
            draw_map(figure, self)
        else:
            draw_sweep(figure, self, self.over)
        return figure


def poles(
    definition: Definition,
    over: Wanted | None = None,
    *,
    points: int = POINTS,
    delay_equation: bool = False,
    runs: Sequence[Run] = (),
    below_hz: float | None = None,
    modes: int = MOST_IDENTIFIED,
    on_progress: Progress | None = None,
) -> LoopPoles:
    """Compute the poles of the loop that runs, also over a parameter.

    Parameters
    ----------
    definition
        The test.
    over
        Key of a parameter, or (key, low, high) in SI units.
    points
        Number of values of the parameter.
    delay_equation
        Whether to add the characteristic roots of the delay equation.
    runs
        Recorded tests from which poles are identified and added.
    below_hz
        Highest frequency; default: twice that of the slowest poles.
    modes
        Number of poles followed or identified.
    on_progress
        Callback with (done, total), called while it works.

    Returns
    -------
    LoopPoles
        ``plot()``, ``summary()`` and ``to_dataframe()``.
    """
    if delay_equation and not has_delay_equation(definition):
        raise HalfrealError(
            "the delay equation is that of a test in real time whose targets are displacements; leave it out here"
        )
    check_known(definition)
    if below_hz is not None and not below_hz > 0.0:
        raise HalfrealError(f"a highest frequency of {below_hz:g} Hz; give one above 0 Hz")
    for run in runs:
        if over is not None:
            _value_in(run, over if isinstance(over, str) else over[0])
    if over is None:
        axis, family = None, [definition]
    else:
        axis = axis_of(definition, over, points)
        variation = Variation(definition, [axis.place])
        axis, family = _family(variation, axis)
    total = len(family) * (2 if delay_equation else 1)
    loops, note = [], ""
    for i, one in enumerate(family):
        found, note = _linearised(one)
        loops.append(found)
        _tell(on_progress, i + 1, total)
    values = np.zeros(1) if axis is None else axis.values
    tick = loops[0].period * loops[0].dt
    with np.errstate(divide="ignore"):
        tracks = np.log(follow(values, [upper(one.eigenvalues) for one in loops])) / tick
        growth = np.array([np.log(one.spectral_radius) / one.dt for one in loops])
    limits = np.zeros(0)
    if axis is not None and not variation.whole[0]:
        limits = _limits(variation, values, growth)
    elif axis is not None:  # of whole numbers, the first on the other side
        limits = values[1:][(growth[1:] < 0.0) != (growth[:-1] < 0.0)]
    highest = min(below_hz or _band(tracks), 0.5 / tick)
    equation = _roots(family, values, highest, on_progress) if delay_equation else None
    return LoopPoles(
        over=axis,
        poles=tracks,
        growth=growth,
        limits=limits,
        tick=tick,
        below_hz=highest,
        equation=equation,
        identified=tuple(
            identified(run, np.nan if axis is None else _value_in(run, axis.place), definition, modes, highest)
            for run in runs
        ),
        notes=tuple(text for text in (note, _left_out(loops), where_of(definition, "poles are those")) if text),
    )


def _family(variation: Variation, axis: Axis) -> tuple[Axis, list[Definition]]:
    """The axis with the values that are taken, and the definitions there; all are valid, or an error names the one that
    is not."""
    values = axis.values
    if variation.whole[0]:
        values = np.unique(np.round(values))
        if len(values) < 2:
            raise HalfrealError(f"'{axis.place}' is a whole number, and only {values[0]:g} is in the range; widen it")
    return Axis(axis.place, axis.unit, values, axis.operating), [variation.at([value]) for value in values]


def _linearised(definition: Definition) -> tuple[Linearisation, str]:
    """The loop of a definition; of a coupling that changes with the frequency, at the worst one."""
    worst, note = at_worst(definition, lambda one: linearised(one).spectral_radius)
    return linearised(worst), note


def _limits(variation: Variation, values: np.ndarray, growth: np.ndarray) -> np.ndarray:
    from scipy.optimize import brentq

    def rate(value: float) -> float:
        found = _linearised(variation.at([value]))[0]
        return float(np.log(max(found.spectral_radius, 1e-300)) / found.dt)

    found = []
    for i in np.flatnonzero((growth[1:] < 0.0) != (growth[:-1] < 0.0)).tolist():
        low, high = values[i], values[i + 1]
        ends = {low: growth[i], high: growth[i + 1]}
        known = {value: rate_there for value, rate_there in ends.items() if np.isfinite(rate_there)}
        found.append(brentq(lambda v, known=known: known.get(v) or rate(v), low, high, xtol=CLOSE * (high - low)))
    return np.array(found)


def _band(tracks: np.ndarray) -> float:
    """Twice the highest frequency [Hz] among the poles that decay about as slowly as the slowest, at any value."""
    oscillates = np.where(tracks.imag > 0.0, tracks, np.nan)
    if not np.any(np.isfinite(oscillates)):
        return 2.0 * float(np.nanmax(np.abs(tracks), initial=1.0)) / (2 * np.pi)
    with np.errstate(invalid="ignore"):
        lead = np.nanmax(np.where(np.isnan(oscillates), -np.inf, oscillates.real), axis=1, keepdims=True)
        slow = oscillates.real >= (LEADING if len(tracks) > 1 else LEADING_OF_ONE) * np.minimum(lead, 0.0)
    return 2.0 * float(np.nanmax(np.where(slow, np.abs(oscillates), np.nan))) / (2 * np.pi)


def _roots(family: list[Definition], values: np.ndarray, highest: float, on_progress: Progress | None) -> Sweep:
    if len(family) == 1:
        spectrum = roots(delay_system(family[0]), most=2 * ROOTS)
        return Sweep(values, spectrum.roots[None, spectrum.roots.imag >= 0.0], np.array([spectrum.abscissa]))
    at = dict(zip(values.tolist(), enumerate(family), strict=True))

    def system(value: float) -> DelaySystem:
        number, definition = at[value]
        _tell(on_progress, len(family) + number + 1, 2 * len(family))
        return delay_system(definition)

    return sweep(system, values, most=ROOTS, below_hz=2.0 * highest)


def _value_in(run: Run, place: str) -> float:
    """The number at a place of the definition that a run was made with."""
    known = numbers_in(run.definition)
    if place not in known:
        raise PlaceError(f"'{run.title}' has no number '{place}' in its definition; give runs of the same test")
    return known[place]


def _left_out(loops: Sequence[Linearisation]) -> str:
    count = max(int((np.abs(one.eigenvalues) <= GONE).sum()) for one in loops)
    return f"left out: up to {count} poles that fall to {100 * GONE:g} % within one step" if count else ""


def _tell(on_progress: Progress | None, done: int, total: int) -> None:
    if on_progress is not None:
        on_progress(done, total)
