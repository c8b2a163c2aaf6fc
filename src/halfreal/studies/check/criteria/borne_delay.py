"""The whole delay that a loop bears, beside that of its rig.

It is told of an unstable loop.  Where the rig has dynamics of its own it is told of a stable one too, and without the
coupling: a pure delay in place of the rig, and its lag in slow motion.
"""

from __future__ import annotations

from collections.abc import Iterable

from .... import units
from ....contracts.finding import Finding, note
from ....runs.loop_stability import finite, linearised
from ....runs.pure_delay import with_pure_delay
from ..examined import Examined


def borne_delay(examined: Examined) -> Iterable[Finding]:
    stability, dynamic = examined.stability, examined.definition.rig.is_dynamic
    has, margin = stability.rig_delay, stability.margin
    if stability.rig_fault is not None or margin is None or has is None:
        return
    if examined.stable and not (dynamic and finite(margin.critical_delay) is not None):
        return
    if not dynamic:
        yield of_delay(stability.critical_delay, has)
    elif examined.definition.rig.ideal_but_late(has) is not None:
        yield of_lag(examined, has)


def of_delay(critical: float | None, has: float) -> Finding:
    """For a rig whose lag is the number of a delay."""
    if critical is None:
        return note("it is unstable with the shortest delay the rig can have too")
    text = f"the loop bears a delay of {units.text(critical, 's')}, and the rig has {units.text(has, 's')}"
    return Finding("note", text, has, critical, "s")


def of_lag(examined: Examined, has: float) -> Finding:
    """For a rig with dynamics of its own."""
    definition, critical = examined.definition, examined.stability.critical_delay
    lags = f"the rig lags by {units.text(has, 's')} in slow motion"
    if critical is not None:
        text = f"without coupling, a pure delay in place of the rig is borne up to {units.text(critical, 's')}; {lags}"
        faster = not examined.stable and has < critical
        why = ", which is less: the coupling, or how the rig follows faster motion, makes the loop unstable"
        return Finding("note", text + (why if faster else ""), has, critical, "s")
    if linearised(with_pure_delay(definition, definition.timing.step)).stable:
        return note(f"without coupling, any pure delay in place of the rig is borne; {lags}")
    return note("without coupling it is unstable with the shortest pure delay in place of the rig too")
