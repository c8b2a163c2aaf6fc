"""Which numbers of a definition the binding margin depends on: each is changed by 1 % and the margin computed again.

    influence = (margin(1.01 p) − margin(p)) / (0.01 |margin(p)|)

relative to the margin, for a relative change of the number.  Margins at rest are those of the loop cut at its command;
those in motion are extrapolated from two trials within them, and for a test that is unstable as it is defined the
exponent is taken.  What only records, limits or paces the test is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...contracts.finding import Finding, binding_finding
from ...definition.definition import Definition
from ...definition.paths import numbers
from ...errors import HalfrealError
from ...runs.in_motion import Trials
from ...runs.loop_stability import margin_of
from ..uncertainty.variation import Variation
from .examined import Examined
from .motion import Promise

PARTS = ("virtual", "coupling", "rig", "timing.step")
"""Sections whose numbers are part of the loop."""
MOTION = ("excitation",)
"""And those that decide where a nonlinear test is."""
CHANGE = 0.01
WITHIN = 0.6, 0.9
"""Shares of a margin in motion at which trials are made: beyond the margin the motion may run away."""
MOST_NUMBERS = 80
"""Numbers of a definition up to which each is changed: a frame has thousands."""
SHOWN, LEAST = 8, 0.01
"""Influences that are shown, and the size below which one is none."""

Measure = Callable[[Definition], float]


@dataclass(frozen=True)
class Influence:
    """What a number of the definition does to the binding margin."""

    place: str
    share: float
    """Relative change of the margin for a relative change of the number."""

    def __str__(self) -> str:
        return f"{self.place}: {float(f'{self.share:.2g}'):+g} % for 1 %"


def influences(examined: Examined, findings: Sequence[Finding]) -> tuple[Influence, ...]:
    """The numbers with the largest influence on the binding margin, largest first; none if it is no margin."""
    finding = binding_finding(findings)
    measure = None if finding is None else measure_of(examined, finding.name)
    if measure is None:
        return ()
    definition = examined.definition
    moving = finding is not None and "motion" in finding.name
    parts = (*PARTS, *MOTION) if moving else PARTS
    places = [place for place, value in numbers(definition).items() if value != 0.0 and place.startswith(parts)]
    now = measure(definition)
    if len(places) > MOST_NUMBERS or not np.isfinite(now) or now == 0.0:
        return ()
    found = []
    for place in places:
        share = influence_of(definition, place, measure, now)
        if np.isfinite(share) and abs(share) >= LEAST:
            found.append(Influence(place, share))
    return tuple(sorted(found, key=lambda one: -abs(one.share))[:SHOWN])


def influence_of(definition: Definition, place: str, measure: Measure, now: float) -> float:
    """The influence of one number; NaN where it cannot be changed so little, or is a whole one."""
    try:
        variation = Variation(definition, [place])
        if variation.whole[0]:
            return float("nan")
        after = measure(variation.at([numbers(definition)[place] * (1.0 + CHANGE)]))
    except HalfrealError:
        return float("nan")
    return float((after - now) / (CHANGE * abs(now)))


def measure_of(examined: Examined, name: str) -> Measure | None:
    """How a binding margin is computed for a variant; None if it is none, or not known."""
    if name in ("gain of the loop", "accepted gain margin") and examined.stability.margin is not None:
        margin = examined.stability.margin
        lower = -margin.gain_reduction_db < margin.gain_margin_db
        return lambda variant: -margin_of(variant).gain_reduction_db if lower else margin_of(variant).gain_margin_db
    if name == "accepted phase margin":
        return lambda variant: margin_of(variant).phase_margin_deg
    if name in ("lag of the rig", "accepted delay margin", "clocks"):
        return lambda variant: margin_of(variant).critical_delay
    if name.endswith("in motion") and examined.motion is not None:
        found, slowest = examined.motion, examined.motion.trials.slowest
        broken = next((one for one in found.promises if not one.kept), None)
        if broken is None:
            return lambda variant: Trials(variant, slowest).attempt().exponent
        return lambda variant: margin_by_extrapolation(Trials(variant, slowest), broken)
    return None


def margin_by_extrapolation(trials: Trials, promise: Promise) -> float:
    """The share of a margin in motion at which the exponent is zero, from two trials within it."""
    rates = []
    for share in WITHIN:
        delay, gain = promise.within(share)
        rates.append(trials.attempt(delay=delay, gain=gain).exponent)
    (near, far), (low, high) = WITHIN, rates
    return far - high * (far - near) / (high - low) if high > low else float("nan")
