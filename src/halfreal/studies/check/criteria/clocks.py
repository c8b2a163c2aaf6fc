"""Whether the loop tolerates what two clocks that no one synchronises may add: up to one step."""

from __future__ import annotations

from collections.abc import Iterable

from .... import units
from ....contracts.finding import Finding
from ....runs.loop_stability import finite
from ..examined import Examined

ONE_CLOCK = 'real_time.pacing = "rig": one tick per measurement of the rig, so both share one clock'


def clocks(examined: Examined) -> Iterable[Finding]:
    definition, margin = examined.definition, examined.stability.margin
    if definition.link is None or definition.real_time.pacing == "rig" or margin is None:
        return
    if not examined.stable_at_rest:  # it tolerates nothing, and that is reported
        return
    step, further = definition.timing.step, finite(margin.critical_delay)
    added = f"with separate clocks, loop and rig add up to one step ({units.text(step, 's')}) of delay"
    if further is None or further > step:
        yield Finding("note", f"{added}; the loop tolerates it", step, further, "s")
        return
    mend = examined.remedies(lambda: [ONE_CLOCK] if examined.sound else [])
    yield Finding(
        "no-go", f"{added}, more than the loop tolerates", step, further, "s", remedies=mend, name="clocks", room=0.0
    )
