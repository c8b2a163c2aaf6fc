"""How much of its trip limits, and of the ranges of its sensors, a test uses, with the noise of several rehearsals.

What one rehearsal uses of a limit depends on its noise.  With noise there are several (``runs/peaks.py``): the largest
share counts, and the probability of a trip is stated.  A sensor at the end of its range measures another force or place
than that of the specimen, and the loop has another gain there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding, Severity, verdict
from ....definition.acceptance import OFF
from ..examined import Examined
from ..excitation_factor import rounded_down
from ..nonlinear import scaled

LIKELY = 0.5
"""Probability of a trip from which on a test is a NO-GO."""
SMALLEST = 1e-4
"""Probability that is stated."""


def limits(examined: Examined) -> Iterable[Finding]:
    run, peaks = examined.rehearsal, examined.peaks
    if run.outcome != "completed" or not run.limits_used:
        return
    name, high = max(run.limits_used.items(), key=lambda one: one[1])
    low, trips, noise = high, 0.0, ""
    if peaks is not None and peaks.limits and peaks.count > 1:
        other, low_of, high_of = peaks.closest_limit()
        if high_of >= high:
            name, low, high = other, low_of, high_of
        trips = peaks.trips()
        noise = (
            f" ({spread(low, high)} in {peaks.count} rehearsals with other noise; a trip in {percent(trips)} of tests)"
        )
    judged, most = of_share(examined, high, trips)
    used = f"{share_text(high)} of its trip limit used{noise}"
    text = f"the rehearsal stays within its limits; closest: {name}, {used}"
    if judged == "marginal":
        text = f"{name}: {used}; required is a reserve of {100 * (1.0 - most):g} %"
    elif judged == "no-go":
        text = f"{name}: {used}: the test probably trips"
    mend = examined.remedies(lambda: smaller(examined, high, most)) if judged != "note" else ()
    yield Finding(judged, text, high, most, remedies=mend, name=f"limit of {name}", room=max(1.0 - high, 0.0))


def ranges(examined: Examined) -> Iterable[Finding]:
    peaks = examined.peaks
    if peaks is None or not peaks.ranges:
        return
    name, low, high = peaks.closest_range()
    noise = f" ({spread(low, high)} in {peaks.count} rehearsals with other noise)" if peaks.count > 1 else ""
    judged, most = of_share(examined, high, float((peaks.of_ranges.max(axis=1) >= 1.0).mean()))
    text = f"{share_text(high)} of the range of the sensor of {name} is used{noise}"
    if high >= 1.0:
        text += "; beyond it the loop receives another value than that of the specimen"
    elif judged == "marginal":
        text += f"; required is a reserve of {100 * (1.0 - most):g} %"
    mend = (f"a sensor of {name} with {high / most:.3g} times the range, or a smaller excitation",)
    yield Finding(
        judged,
        text,
        high,
        most,
        remedies=mend if judged != "note" else (),
        name=f"range of {name}",
        room=max(1.0 - high, 0.0),
    )


def of_share(examined: Examined, high: float, trips: float) -> tuple[Severity, float]:
    """How a share is judged, and the most that is accepted."""
    asked = examined.definition.acceptance
    most = 1.0 - asked.least("limit_reserve")
    if trips >= LIKELY:
        return "no-go", most
    return "marginal" if high > most and asked.limit_reserve != OFF else "note", most


def smaller(examined: Examined, high: float, most: float) -> Iterator[str]:
    """How much smaller the excitation must be, tried."""
    factor = rounded_down(0.97 * most / high) if most > 0.0 else 0.0
    variant = scaled(examined.definition, factor) if factor > 0.0 and examined.definition.excitation.virtual else None
    if variant is not None and verdict(limits(Examined(variant, tries_remedies=False))) == "GO":
        yield f"a smaller excitation: {factor:g} times this one leaves the reserve; or a wider limit, or less noise"
    else:
        yield "a wider limit if rig and specimen permit it, a smaller excitation, or less noise"


def share_text(share: float) -> str:
    """A share, never rounded up to the whole that it is below."""
    return f"{float(f'{100 * share:.3g}'):,g} %" if share >= 1.0 else f"{min(round(100 * share, 1), 99.9):.3g} %"


def spread(low: float, high: float) -> str:
    """Between which shares rehearsals are."""
    one, other = f"{100 * low:.3g}", f"{100 * high:.3g}"
    return f"{other} %" if one == other else f"{one} to {other} %"


def percent(probability: float) -> str:
    """A probability, for people."""
    return f"fewer than {100 * SMALLEST:g} %" if probability < SMALLEST else f"about {100 * probability:.2g} %"
