"""How long a step of integration is, where it has several exchanges with the rig."""

from __future__ import annotations

from collections.abc import Iterable

from .... import units
from ....contracts.finding import Finding
from ..examined import Examined


def exchanges(examined: Examined) -> Iterable[Finding]:
    ticks, tick = examined.definition.virtual.ticks_per_step, examined.definition.timing.step
    if ticks > 1:
        text = f"{units.text(ticks * tick, 's')}: {ticks} exchanges of timing.step = {units.text(tick, 's')}"
        yield Finding("note", f"the integration step is {text}", ticks * tick, unit="s")
