"""How long a pure delay a test would bear in place of its rig and without coupling, beside how late the rig is.

It is told of an unstable loop, and of a stable one whose coupling makes up for the rig.
"""

from __future__ import annotations

from collections.abc import Iterable

from .... import units
from ....contracts.finding import Finding, note
from ....runs.loop_stability import finite, linearised
from ....runs.pure_delay import with_pure_delay
from ..examined import Examined

MOST_STEPS = 200
"""Of a pure delay that is tried in place of the rig: each is a state of the loop, and time grows with their cube."""


def borne_delay(examined: Examined) -> Iterable[Finding]:
    definition, stability = examined.definition, examined.stability
    margin, lag, critical = stability.margin, stability.lag, stability.critical_delay
    if stability.rig_fault is not None or margin is None or lag is None:
        return
    if definition.rig.ideal_but_late(definition.timing.step) is None:
        return
    if examined.stable and (not definition.coupling.compensates or finite(margin.critical_delay) is None):
        return
    has, axis = lag.latest()
    lags = f"the rig lags by {units.text(has, 's')}{f' on axis {axis}' if axis else ''} in slow motion"
    if critical is not None:
        text = f"without coupling, a pure delay in place of the rig is borne up to {units.text(critical, 's')}; {lags}"
        faster = not examined.stable and has < critical
        why = ", which is less: the coupling, or how the rig follows faster motion, makes the loop unstable"
        yield Finding("note", text + (why if faster else ""), has, critical, "s")
    elif linearised(with_pure_delay(definition, definition.timing.step)).stable:
        yield note(f"without coupling, any pure delay in place of the rig is borne; {lags}")
    elif has > MOST_STEPS * definition.timing.step:
        yield note(
            f"without coupling it is unstable with a delay of one step in place of the rig; {lags}: longer than "
            f"{MOST_STEPS} steps, so that such a delay was not tried in its place"
        )
    elif linearised(with_pure_delay(definition, max(has, definition.timing.step))).stable:
        yield note(f"without coupling, a pure delay like the rig's is borne, and one of a single step is not; {lags}")
    else:
        yield note(f"without coupling it is unstable with a delay of one step in place of the rig too; {lags}")
