"""How long a pure delay a test would bear in place of its rig and without coupling, next to how late the rig is.

It is reported of an unstable loop, and of a stable one whose coupling makes up for the rig.
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


def tolerated_delay(examined: Examined) -> Iterable[Finding]:
    definition, stability = examined.definition, examined.stability
    margin, lag, critical = stability.margin, stability.lag, stability.critical_delay
    if stability.rig_fault is not None or margin is None or lag is None:
        return
    if definition.rig.ideal_but_late(definition.timing.step) is None:
        return
    if examined.stable_at_rest and (not definition.coupling.compensates or finite(margin.critical_delay) is None):
        return
    has, axis = lag.latest()
    lags = f"the rig lags by {units.text(has, 's')}{f' on axis {axis}' if axis else ''} at low frequency"
    if critical is not None:
        text = (
            "without coupling, the loop tolerates a pure delay of up to "
            f"{units.text(critical, 's')} in place of the rig; {lags}"
        )
        faster = not examined.stable_at_rest and has < critical
        why = ", which is less: the coupling, or the rig's dynamics at higher frequency, makes the loop unstable"
        yield Finding("note", text + (why if faster else ""), has, critical, "s")
    elif linearised(with_pure_delay(definition, definition.timing.step)).stable:
        yield note(f"without coupling, the loop tolerates any pure delay in place of the rig; {lags}")
    elif has > MOST_STEPS * definition.timing.step:
        yield note(
            f"without coupling, the loop is unstable with a delay of one step in place of the rig; {lags}: longer than "
            f"{MOST_STEPS} steps, so a pure delay of that length was not analysed"
        )
    elif linearised(with_pure_delay(definition, max(has, definition.timing.step))).stable:
        yield note(
            "without coupling, the loop tolerates a pure delay equal to the rig's, but not one of "
            f"a single step; {lags}"
        )
    else:
        yield note(f"without coupling, the loop is unstable with a delay of one step in place of the rig, too; {lags}")
