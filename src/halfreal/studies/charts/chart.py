"""Stability charts: the stable region in any two numbers of a definition, with the operating point in it.

If one of them is the rig's delay the boundary is traced exactly (``chart_delay``) and the margin is the
distance in delay [s] to it.  Otherwise the loop that runs is linearised where the boundary is (``chart_grid``) and the
margin is the decay rate −ln|λ|/Δt [1/s] of the slowest pole.  Margins are positive where the loop is stable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ... import units
from ...contracts.context import AT_REST
from ...data_frames import data_frame
from ...definition.definition import Definition
from ...definition.faults import DefinitionError
from ...definition.paths import value_at
from ...definition.uncertainty import quantity_at
from ...errors import HalfrealError
from ...figures import new_figure, styled
from ...runs.build import build
from ...runs.in_motion import Trials
from ...runs.loop_stability import DELAY, linearised
from ...runs.opaque_models import check_known
from ...runs.rehearse import Progress
from ...runs.validity import IN_ANY_MOTION, where_it_holds
from ...summaries import Summarised
from ..uncertainty.variation import Variation, growth_rate
from .delay import trace
from .grid import COARSE, LEVELS, zero_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Wanted = str | tuple[str, float, float]
MARGIN_UNITS = {"delay": "s", "decay": "1/s", "motion": "1/s"}
TRIED = (10, 1)
"""Cells along each axis of a chart in motion to begin with, and how often it is quartered: corners are rehearsed."""
LEAST, FASTEST = 1e-9, 1e6
"""Decay rates [1/s] that represent loops that keep their motion, and that forget everything at once."""


@dataclass(frozen=True)
class Axis:
    """A number of the definition along an axis of the chart."""

    place: str
    unit: str
    values: np.ndarray
    """SI."""
    operating: float

    @property
    def scale(self) -> tuple[float, str]:
        """Factor and unit for people."""
        return units.of_axis(self.values, self.unit)

    def text(self) -> str:
        return f"{self.place} = {units.text(self.operating, self.unit)}"


@dataclass(frozen=True, repr=False)
class Chart(Summarised):
    """Stability over two numbers."""

    x: Axis
    y: Axis
    margin: np.ndarray
    """Margin at each point, (y, x), positive where stable: a delay [s] or a decay rate [1/s], see ``measure``; NaN
    where the definition would not be valid, ±∞ where there is no boundary."""
    measure: Literal["delay", "decay", "motion"]
    boundary: list[np.ndarray]
    """Curves that bound the stable region, each (k, 2) in SI units of x and y."""
    branches: list[np.ndarray]
    """All curves on which some root crosses, also between unstable regions (charts with a delay only)."""
    evaluations: int
    """Loops built."""

    operating_margin: float
    """Margin at the operating point itself; NaN if that is not on the chart."""
    holds: str = IN_ANY_MOTION
    """Where the margins hold."""

    def summary(self) -> str:
        valid = ~np.isnan(self.margin)
        part = float(np.mean(self.margin[valid] > 0.0)) if np.any(valid) else np.nan
        text = f"{100 * part:.3g} % of the chart is stable; "
        point = f"{self.x.text()}, {self.y.text()}"
        margin = self.operating_margin
        if np.isnan(margin):
            return text + f"the operating point ({point}) is outside it"
        where = "" if self.holds == IN_ANY_MOTION else f"; this is the chart {self.holds}"
        return text + f"the operating point ({point}) is {self._as_text(margin)}{where}"

    def _as_text(self, margin: float) -> str:
        state = "stable" if margin > 0.0 else "unstable"
        if not np.isfinite(margin):
            return f"{state} for every delay shown"
        if self.measure == "delay":
            return f"{state}, {units.text(abs(margin), 's', digits=3)} of delay from the boundary"
        rate = f"exp({-margin:.3g} t/s)"
        if self.measure == "motion":
            return f"{state}: deviations from its motion {'decay' if margin > 0.0 else 'grow'} as {rate}"
        return f"{state}: its slowest pole {'decays' if margin > 0.0 else 'grows'} as {rate}"

    def to_dataframe(self) -> Any:
        """The margin at every point as a pandas data frame: rows of y, columns of x, in SI units."""
        units_used = {self.x.place: self.x.unit, self.y.place: self.y.unit, "margin": MARGIN_UNITS[self.measure]}
        columns = {value: self.margin[:, k] for k, value in enumerate(self.x.values)}
        frame = data_frame({self.y.place: self.y.values, **columns}, units_used, index=self.y.place)
        frame.columns.name = self.x.place
        return frame

    @styled
    def plot(self) -> Figure:
        """Filled contours of the margin, the boundary and the operating point."""
        from .plot import draw

        figure = new_figure(6.6, 4.6)
        draw(figure, self)
        return figure


def chart(
    definition: Definition,
    x: Wanted,
    y: Wanted,
    points: tuple[int, int] = (400, 400),
    continuous: bool = False,
    *,
    in_motion: bool = False,
    on_progress: Progress | None = None,
) -> Chart:
    """Compute a stability chart over two parameters.

    Parameters
    ----------
    definition
        The test.
    x
        Key of the horizontal parameter, or (key, low, high) in SI units.
    y
        The same for the vertical parameter.
    points
        Resolution in both directions.
    continuous
        Whether to use the continuous limit of the loop instead of the code that runs.
    in_motion
        Whether to rehearse the test at each point instead of linearising its loop at rest.
    on_progress
        Callback with (done, total), called while it works.

    Returns
    -------
    Chart
        ``plot()`` and ``to_dataframe()``.
    """
    axes = axis_of(definition, x, points[0]), axis_of(definition, y, points[1])
    check_known(definition)
    places = [axis.place for axis in axes]
    if places[0] == places[1]:
        raise HalfrealError(f"both axes are '{places[0]}'; give two different keys")
    if in_motion and continuous:
        raise HalfrealError("a chart in motion is one of the code that runs; use in_motion or continuous, not both")
    if in_motion:
        found = _with_grid(definition, axes, decay_in_motion, "motion", TRIED, on_progress)
        return replace(found, holds="in motion")
    holds = where_it_holds(definition, build(definition, AT_REST), False)
    return replace(_at_rest(definition, axes, continuous, on_progress), holds=holds)


def _at_rest(definition: Definition, axes: tuple[Axis, Axis], continuous: bool, on_progress: Progress | None) -> Chart:
    if DELAY in [axis.place for axis in axes]:
        return _with_delay(definition, axes, continuous, on_progress)
    if continuous:
        raise HalfrealError(f"a continuous chart needs '{DELAY}' on one axis; use it, or continuous=False")
    return _with_grid(definition, axes, decay_at_rest, "decay", (COARSE, LEVELS), on_progress)


def axis_of(definition: Definition, wanted: Wanted, count: int) -> Axis:
    """The axis of a number of the definition; up to twice its value if no range is given."""
    place = wanted if isinstance(wanted, str) else wanted[0]
    value = value_at(definition, place)
    quantity = quantity_at(definition, place)
    unit = "1" if quantity is None else quantity.number.unit
    if isinstance(wanted, str):
        if value == 0.0:
            raise HalfrealError(f"'{place}' is 0, so there is no default range; give ('{place}', low, high)")
        low, high = sorted((0.0 if place == DELAY else 0.05 * value, 2.0 * value))
    else:
        low, high = float(wanted[1]), float(wanted[2])
    if not low < high:
        ends = f"from {units.text(low, unit)} to {units.text(high, unit)}"
        raise HalfrealError(f"the range of '{place}' goes {ends}; it must increase")
    if count < 2:
        raise HalfrealError(f"{count} point(s) along '{place}'; at least 2 are needed")
    return Axis(place, unit, np.linspace(low, high, count), value)


def _with_delay(
    definition: Definition, axes: tuple[Axis, Axis], continuous: bool, on_progress: Progress | None
) -> Chart:
    first = 0 if axes[0].place == DELAY else 1
    delay, other = axes[first], axes[1 - first]
    variation = Variation(definition, [delay.place, other.place])
    for value in (other.values[0], other.values[-1]):  # those between are then taken as valid too
        for late in (delay.values[0], delay.values[-1]):
            variation.at([late, value])
    found = trace(variation, delay.values, other.values, continuous, on_progress)
    turn = slice(None) if first == 0 else slice(None, None, -1)
    return Chart(
        x=axes[0],
        y=axes[1],
        margin=found.margin if first == 0 else found.margin.T,
        measure="delay",
        boundary=[curve[:, turn] for curve in found.boundary],
        branches=[curve[:, turn] for curve in found.branches],
        evaluations=found.loops,
        operating_margin=float(found.margin_at(delay.operating, other.operating)) if on_chart(axes) else np.nan,
    )


def _with_grid(
    definition: Definition,
    axes: tuple[Axis, Axis],
    decay_of: Callable[[Definition], float],
    measure: Literal["decay", "motion"],
    coarse: tuple[int, int],
    on_progress: Progress | None,
) -> Chart:
    variation = Variation(definition, [axis.place for axis in axes])
    low = np.array([axis.values[0] for axis in axes])
    width = np.array([axis.values[-1] for axis in axes]) - low

    def decay(u: float, v: float) -> float:
        try:
            return float(np.clip(decay_of(variation.at(low + width * (u, v))), -FASTEST, FASTEST))
        except DefinitionError:
            return np.nan

    points = (len(axes[0].values), len(axes[1].values))
    found = zero_line(decay, points, coarse=coarse[0], levels=coarse[1], on_progress=on_progress)
    if np.all(np.isnan(found.values)):
        variation.at(low + 0.5 * width)  # shows why
        raise HalfrealError("no point of this chart is a valid definition; use other ranges")
    lines = [low + width * line for line in found.lines]
    here = decay_of(variation.at([axis.operating for axis in axes])) if on_chart(axes) else np.nan
    return Chart(axes[0], axes[1], found.values, measure, lines, [], found.evaluations, here)


def decay_at_rest(definition: Definition) -> float:
    """Decay rate [1/s] of the slowest pole."""
    return -growth_rate(definition)


def decay_in_motion(definition: Definition) -> float:
    """Decay rate [1/s] of deviations from the motion of a test; negative where it is unstable in any way."""
    poles = linearised(definition).continuous
    trial = Trials(definition, complex(poles[0]) if poles.size else 0.0).attempt()
    if not trial.unstable:
        return max(-trial.exponent, LEAST)
    growth = trial.exponent if trial.ran_away is None else 1.0 / max(trial.ran_away, definition.timing.step)
    return -max(growth, LEAST)


def on_chart(axes: tuple[Axis, Axis]) -> bool:
    return all(axis.values[0] <= axis.operating <= axis.values[-1] for axis in axes)
