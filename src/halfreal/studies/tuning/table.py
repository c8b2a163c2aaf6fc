"""A shaking table made ready for a test: controllers for a bandwidth, inverse filters, and prediction, axis by axis.

The chain of the paper of the DLR Institute of Aeroelasticity on its six-axis table (section 4, Fig. 8):

1. gains of the actuators' controllers that keep the amplitude flat up to a bandwidth f_b, if one is required
   (``rigs/table_tuning.py``); else the table stays as it is, and f_b is where its amplitude leaves ±10 % or its phase a
   fifth of a turn, beyond which no prediction holds;
2. every axis is measured with a random target, through the loop of the test (``identification/experiment.py``), and
   fitted by a rational function of three poles up to 2 f_b (``vector_fitting.py``), a delay of its own being separated
   if the inverse would be unstable else;
3. the target is filtered with the inverse of that behind a low-pass at 3.6 f_b (``feed_forward.py``), and
4. predicted by the delay τ that is left: the slope of the phase up to f_b.

A prediction by a polynomial of high order through few points errs less within the band, and amplifies more beyond it,
where that may cost the loop of the test its stability.  Of several, the one counts that leaves the least

    e = max |P(f) W(f) H(f) − 1|        over all axes and f ≤ f_b; P prediction, W inverse with low-pass, H axis

among those with which the loop keeps the gain margin of [acceptance] and tolerates one more tick of delay, the inverse
without any prediction being one of them. Errors up to 5 % count as alike: among these, the one with the largest gain
margin counts. All predict by the whole of τ: with less, e and the margin may be better for an order, but slow motion
comes late, and the damping of low modes is wrong. If the loop is stable with none, the one with which it grows least
comes first.

What comes out is the definition with that coupling, "feed-forward filters", and every axis as it follows through it,
measured again.  All on the definition's simulated table: on a real one, the programmes of step 2 run with
``halfreal.run``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ... import units
from ...couplings.axis_filters import AxisFilters
from ...couplings.direct import Direct
from ...couplings.transfer_function import Sections
from ...definition.definition import Definition
from ...errors import HalfrealError
from ...identification.experiment import programme
from ...identification.feed_forward import delay_from_phase, inverse_filter
from ...identification.frf import Estimate, estimate
from ...identification.vector_fitting import RationalFit, vector_fit
from ...models.excitations import Random
from ...rigs.shaking_table import ShakingTable
from ...rigs.table_parts import Pid
from ...rigs.table_tuning import FLAT, axis_response, slow_lag, tune_controller
from ...runs.build import build
from ...runs.events import how_it_ended
from ...runs.loop_stability import linearised, margin_of
from ...stability.linearise import Linearisation
from ...stability.margins import DelayMargin

RMS = 0.2e-3
"""Of the random target [m, or rad]."""
LOWEST_HZ, PERIOD, PERIODS, RAMP = 0.5, 8.0, 3, 0.5
"""Of the random target; its first period is left out."""
POLES = 3
FITTED, FILTERED = 2.0, 3.6
"""Times the bandwidth up to which an axis is fitted, and at which the low-pass of its inverse is."""
MEASURED = 1.2
"""Times the highest line of the fit up to which the random target goes."""
SHARE = 0.2
"""Of the sampling rate that the low-pass may reach."""
TURN = 0.2
"""Turns of the phase up to which a table is compensated if no bandwidth is required."""
SHAPES = (
    *((2, 4), (2, 6), (2, 12)),
    *((3, 4), (3, 5), (3, 8), (3, 12), (3, 16)),
    *((4, 5), (4, 6), (4, 8), (4, 12), (4, 16)),
)
"""Orders and points of the predictions that are tried; fewer points than 12 err less, more of them suit short steps."""
ALIKE = 0.05
"""Errors e up to which predictions count as alike."""
LEAST_COHERENCE = 0.8
"""Of an axis's measurement, in the median over the lines of its fit: less, and noise is fitted instead of the axis."""
LEAST_BAND = 4.0
"""Times the lowest frequency measured."""
DIGITS = 6
"""Of what is written into the definition."""


@dataclass(frozen=True)
class AxisFollowing:
    """An axis as it follows, and what makes up for it."""

    name: str
    band_hz: float
    before: Estimate
    """Without a coupling, over the lines of the fit."""
    fit: RationalFit
    filters: Sections
    inverted: Estimate
    """Behind the inverse filter alone."""
    after: Estimate
    """Through the coupling that is written down, measured again."""

    @cached_property
    def delays(self) -> tuple[float, float, float]:
        """[s] without a coupling, behind the inverse filter, and with prediction."""
        before, inverted, after = (delay(one, self.band_hz) for one in (self.before, self.inverted, self.after))
        return before, inverted, after

    @property
    def bands(self) -> tuple[float, float]:
        """[Hz] up to which the amplitude is within ±10 %, before and after; endless if it is on all lines."""
        before, after = (flat_band(one.frequency_hz, one.response) for one in (self.before, self.after))
        return before, after

    @property
    def amplitudes(self) -> tuple[float, float]:
        """Least and largest amplitude within the bandwidth, through the coupling."""
        size = np.abs(self.after.between(LOWEST_HZ, self.band_hz).response)
        return float(size.min()), float(size.max())


@dataclass(frozen=True)
class Tried:
    """A prediction: what it leaves within the bandwidth, and the loop of the test with it."""

    coupling: AxisFilters
    left: float
    """e, a part of the target."""
    linearisation: Linearisation
    margin: DelayMargin | None = None
    """Of the loop; None if it is unstable, or was not looked for."""

    def keeps(self, test: Definition) -> bool:
        """Whether the loop tolerates one more step and has the gain margin that the test requires."""
        margin, least = self.margin, test.acceptance.least("gain_margin")
        return margin is not None and margin.critical_delay >= test.timing.step and margin.gain_margin_db >= least


@dataclass(frozen=True)
class TableTuning:
    """The answer: every axis, the controllers, the predictions tried, the definition to run, and its loop."""

    axes: tuple[AxisFollowing, ...]
    band_hz: float
    controller: Pid
    tuned: bool
    """Whether the gains were found; else those of the definition stay."""
    tried: tuple[Tried, ...]
    """The one that counts comes first."""
    best: Definition

    @property
    def coupling(self) -> AxisFilters:
        return self.tried[0].coupling

    @property
    def stable(self) -> bool:
        """Whether the loop of the test is stable with the best of the predictions."""
        return self.tried[0].linearisation.stable


def tune_table(
    definition: Definition,
    *,
    bandwidth_hz: float | None = None,
    shapes: Sequence[tuple[int, int]] = SHAPES,
    rms: float = RMS,
    on_progress: Callable[[str], None] = lambda text: None,
) -> TableTuning:
    """Find controller gains, filters and predictions for a shaking table.

    Parameters
    ----------
    definition
        The test.
    bandwidth_hz
        Bandwidth for which the controllers are tuned; default: they are kept.
    shapes
        Orders and numbers of points of the predictions to evaluate.
    rms
        Rms of the random target with which an axis is measured [m or rad].
    on_progress
        Callback that receives progress messages.

    Returns
    -------
    TableTuning
        The tuned definition and the measured axes.
    """
    rig = definition.rig.as_table
    if rig is None:
        raise HalfrealError(f"a rig of kind '{definition.rig.kind}' is not a shaking table; give a definition with one")
    if definition.slow is not None:
        raise HalfrealError("a slow test waits until its table has settled: there is nothing to tune")
    controller = rig.controller
    if bandwidth_hz is not None:
        _check(definition, bandwidth_hz)
        on_progress(f"controllers for {bandwidth_hz:g} Hz")
        controller = _rounded(tune_controller(rig, bandwidth_hz))
    table = rig.unchecked_copy({"controller": controller})
    tuned = definition.unchecked_copy({"coupling": Direct(), "rig": table})
    band = own_band(table) if bandwidth_hz is None else bandwidth_hz
    _check(definition, band)

    step, names = definition.timing.step, table.axes
    measured = []
    for number, name in enumerate(names, start=1):
        on_progress(f"axis {name}")
        measured.append(follows(tuned, number, FITTED * band, rms))
        _check_coherence(measured[-1], name, units.text(rms, definition.interface.units("m")[number - 1]))
    fits, filters = zip(*(inverse(one, band) for one in measured), strict=True)
    plain = AxisFilters(kind="feed-forward filters", filters=filters)
    inverted = [_through(plain, i, one, step) for i, one in enumerate(measured)]
    on_progress("predictions")
    late = np.array([delay(one, band) for one in inverted])
    tried = predictions(tuned, plain, measured, late, band, shapes)
    title = f"{definition.title}, table tuned up to {units.text(band, 'Hz', 3)}"
    best = tuned.unchecked_copy({"coupling": tried[0].coupling, "title": title})
    axes = []
    for i, name in enumerate(names):
        on_progress(f"axis {name}, compensated")
        after = follows(best, i + 1, FITTED * band, rms)
        axes.append(AxisFollowing(name, band, measured[i], fits[i], filters[i], inverted[i], after))
    return TableTuning(tuple(axes), band, controller, bandwidth_hz is not None, tried, best)


def inverse(response: Estimate, band_hz: float) -> tuple[RationalFit, Sections]:
    """The fit of a measured axis, and its inverse behind a low-pass as it is written down."""
    fitted, refused = response.between(LOWEST_HZ, FITTED * band_hz), None
    for longest in (0.0, 0.5 / band_hz):
        fit = vector_fit(fitted.frequency_hz, fitted.response, POLES, constant=False, longest_delay=longest)
        try:
            return fit, _written(inverse_filter(fit, FITTED * band_hz, FILTERED * band_hz))
        except HalfrealError as error:
            refused = error
    raise HalfrealError(f"{refused}; or tune for less bandwidth")


def predictions(
    definition: Definition,
    plain: AxisFilters,
    measured: Sequence[Estimate],
    late: np.ndarray,
    band_hz: float,
    shapes: Sequence[tuple[int, int]],
) -> tuple[Tried, ...]:
    """Inverse filters with predictions by ``late`` [s], and without: that which counts, then by what they leave.

    Those with which the loop is unstable come last, by how fast it grows.
    """
    found = []
    for shape in (*shapes, None):
        changes: dict[str, Any] = {"prediction": np.zeros(1)}
        if shape is not None:
            changes = {"prediction": np.maximum(late, 0.0).round(5), "order": shape[0], "points": shape[1]}
        coupling = plain.unchecked_copy(changes)
        behind = [_through(coupling, i, one, definition.timing.step) for i, one in enumerate(measured)]
        left = max(float(np.abs(one.between(LOWEST_HZ, band_hz).response - 1.0).max()) for one in behind)
        found.append(Tried(coupling, left, linearised(definition.unchecked_copy({"coupling": coupling}))))
    stable = sorted((one for one in found if one.linearisation.stable), key=lambda one: one.left)
    unstable = sorted((one for one in found if not one.linearisation.stable), key=_radius)
    kept: list[int] = []
    for i, one in enumerate(stable):
        if kept and one.left > ALIKE:
            break
        with suppress(HalfrealError):  # margins that are not known are not kept
            stable[i] = replace(one, margin=margin_of(definition.unchecked_copy({"coupling": one.coupling})))
        if stable[i].keeps(definition):
            kept.append(i)
    if kept:
        stable.insert(0, stable.pop(max(kept, key=lambda i: _gain(stable[i]))))
    return (*stable, *unstable)


def _radius(one: Tried) -> float:
    return one.linearisation.spectral_radius


def _gain(one: Tried) -> float:
    return -np.inf if one.margin is None else one.margin.gain_margin_db


def follows(definition: Definition, axis: int, highest_hz: float, rms: float = RMS) -> Estimate:
    """How one axis (from 1) of a table follows a random target through the definition's coupling."""
    top = MEASURED * highest_hz
    period = min(PERIOD, 900.0 / top)
    noise = Random.model_validate(
        {"kind": "random", "displacement": rms, "frequency": LOWEST_HZ, "to": top, "period": period, "ramp": RAMP}
    )
    plan = programme(definition, noise, PERIODS * period, axis)
    timing = plan.timing.unchecked_copy({"soft_start": 0.0, "soft_stop": 0.0})
    plan = plan.unchecked_copy({"coupling": definition.coupling, "timing": timing})
    names = [plan.interface.channels(signal)[axis - 1] for signal in ("target", "measured.displacement")]
    loop = build(plan)
    stretch = loop.run(timing.ticks, record=names)
    outcome, reason = how_it_ended(plan, loop, stretch.ended)
    if outcome != "completed":
        amplitude = units.text(rms, definition.interface.units("m")[axis - 1])
        raise HalfrealError(
            f"the measurement of axis {definition.interface.names[axis - 1]} with {amplitude} rms up to {top:.3g} Hz "
            f"{outcome}: {reason}; choose a smaller amplitude, or a wider limit if table and specimen permit it"
        )
    _, target, moved = stretch.log[round(period / timing.step) :].T
    return estimate(target, moved, timing.step, window=period).between(LOWEST_HZ, highest_hz)


def delay(response: Estimate, band_hz: float) -> float:
    """Slope of the phase up to the bandwidth [s]."""
    within = response.between(LOWEST_HZ, band_hz)
    return delay_from_phase(within.frequency_hz, within.response)


def flat_band(frequency_hz: np.ndarray, response: np.ndarray) -> float:
    """Frequency at which the amplitude leaves ±10 % first; endless if it does not."""
    beyond = np.flatnonzero(np.abs(np.abs(response) - 1.0) > FLAT)
    return float(frequency_hz[beyond[0]]) if beyond.size else np.inf


def own_band(rig: ShakingTable) -> float:
    """Up to which all commanded axes keep amplitude within ±10 % and phase within a fifth of a turn [Hz]."""
    highest = TURN / slow_lag(rig)
    hz = np.geomspace(LOWEST_HZ, max(highest, 2.0 * LOWEST_HZ), 400)
    edge = min(flat_band(hz, axis_response(rig, axis, hz)) for axis in rig.axes)
    return float(f"{min(edge, highest):.2g}")


def _check(definition: Definition, band_hz: float) -> None:
    step = definition.timing.step
    least, most = LEAST_BAND * LOWEST_HZ, SHARE / step / FILTERED
    if not least <= band_hz:
        raise HalfrealError(
            f"a bandwidth of {band_hz:.3g} Hz; axes are measured from {LOWEST_HZ:g} Hz; use {least:g} Hz or more"
        )
    if band_hz > most:
        raise HalfrealError(
            f"a bandwidth of {band_hz:.3g} Hz with a step of {units.text(step, 's')}: the filters' low-pass at "
            f"{FILTERED:g} times that would be above {SHARE:g} of the sampling rate; use {most:.3g} Hz or less, or "
            "a shorter timing.step"
        )


def _check_coherence(response: Estimate, name: str, amplitude: str) -> None:
    """Refuse a measurement that noise hides."""
    seen = float(np.median(response.coherence))
    if seen < LEAST_COHERENCE:
        raise HalfrealError(
            f"axis {name} is hidden by noise: measured with {amplitude} rms, the coherence of target and motion is "
            f"{seen:.2f} (median), but {LEAST_COHERENCE:g} is needed; measure with a larger --amplitude (rms), as "
            "large as table and limits permit, or with quieter sensors"
        )


def _through(coupling: AxisFilters, axis: int, before: Estimate, step: float) -> Estimate:
    """A measured axis behind a filter."""
    response = before.response * coupling.response(axis, step, before.frequency_hz)
    return Estimate(before.frequency_hz, response, before.coherence, before.averages, before.unit)


def _rounded(gains: Pid) -> Pid:
    values = {key: float(f"{getattr(gains, key):.4g}") for key in ("proportional", "integral", "derivative")}
    return Pid(**values)


def _written(sections: Sections) -> Sections:
    """Filters as they are written down."""

    def short(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return np.array([float(f"{item:.{DIGITS}g}") for item in value.ravel()]).reshape(value.shape)
        return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value

    return tuple(
        type(one).model_validate({key: short(getattr(one, key)) for key in type(one).model_fields}) for one in sections
    )
