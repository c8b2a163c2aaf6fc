"""Limits without which nothing but the rig itself bounds how it is commanded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from .... import units
from ....contracts.finding import Finding
from ....contracts.quantities import UNLIMITED
from ....runs.peaks import collected, rehearsed
from ....safety.watched import COMMAND, COMMAND_RATE, Watched
from ..examined import Examined

ABOVE = 1.5
"""Times the largest value of the rehearsal that a limit is proposed at."""


def missing_limits(examined: Examined) -> Iterable[Finding]:
    """A test on a rig without a limit on the command or on its rate is below acceptance."""
    definition = examined.definition
    if definition.link is None:
        return
    watched = definition.limits.watched(definition.interface, definition.commands)
    missing = [one for one in (watched[COMMAND], watched[COMMAND_RATE]) if (one.trip == UNLIMITED).any()]
    if missing:
        names = " and ".join(f"limits.{one.key}.trip" for one in missing)
        text = f"without {names} only the rig's own limits bound its commands; set the limits of the rig"
        mend = examined.remedies(lambda: proposed(examined, missing))
        yield Finding("marginal", text, remedies=mend, name="limits of the command", room=0.0)


def proposed(examined: Examined, missing: list[Watched]) -> Iterator[str]:
    """Limits with a distance to what the rehearsal commands."""
    definition = examined.definition
    if not examined.sound or examined.rehearsal.outcome != "completed":
        return
    timing = definition.timing
    (largest,) = collected(definition, [rehearsed(definition, timing.ticks_before + timing.ticks)]).largest
    texts = []
    for one in missing:
        peak = float(np.max(largest[one.name], initial=0.0))
        if np.isfinite(peak) and peak > 0.0:
            texts.append(f'limits.{one.key} = {{ trip = "{units.text(float(f"{ABOVE * peak:.2g}"), one.units[0])}" }}')
    if texts:
        yield f"{' and '.join(texts)}: {ABOVE:g} times what the rehearsal commands; no more than the rig permits"
