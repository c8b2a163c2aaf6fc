"""What bias and drift of the sensors do to the motion: the rehearsal with them against the same without.

A bias b of the force moves a virtual part of stiffness k, with a specimen of stiffness k_s, by −b/(k + k_s); one
without stiffness drifts away with it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .... import units
from ....contracts.finding import Finding
from ....definition.acceptance import OFF
from ....rigs.sensors import WITHOUT_OFFSET
from ....runs.lean import lean_rehearsal
from ....safety.limits import Limits
from ..examined import Examined

PERIOD = 0.1
"""Share of the test, at its end and in its middle, over which the offset is averaged."""
GROWS = 1.1
"""Ratio of the offset at the end to that in the middle from which on it still grows."""


def offsets(examined: Examined) -> Iterable[Finding]:
    definition = examined.definition
    sensors, axes = definition.rig.known_sensors, definition.interface
    if sensors is None or not sensors.offsets or examined.rehearsal.outcome != "completed":
        return
    rig = definition.rig.with_sensors(sensors.changed(WITHOUT_OFFSET, WITHOUT_OFFSET))
    if rig is None:
        return
    names = axes.channels("target")
    test = definition.unchecked_copy({"limits": Limits(after_trip=0.0), "rig": definition.rig.without_resolution()})
    runs = [lean_rehearsal(one, names) for one in (test, test.unchecked_copy({"rig": rig}))]
    (moved, still), time = (run.vector("target") for run in runs), runs[0].time
    if moved is None or still is None or len(moved) != len(still):
        return
    during = (time >= 0.0) & (time <= definition.timing.duration)
    offset, due = (moved - still)[during], still[during]
    share = np.sqrt(np.mean(offset**2, axis=0)) / np.maximum(np.sqrt(np.mean(due**2, axis=0)), 1e-300)
    axis, count = int(np.argmax(share)), max(int(PERIOD * len(offset)), 1)
    last = len(offset) - count
    middle, end = (float(offset[at : at + count, axis].mean()) for at in (last // 2, last))
    unit = axes.units("N" if definition.targets == "force" else "m")[axis]
    on = f" on axis {axes.names[axis]}" if len(axes) > 1 else ""
    grows = abs(end) > GROWS * abs(middle)
    text = (
        f"bias and drift of the sensors move the target by {units.text(end, unit)} at the end of the test{on}"
        + (f", {units.text(middle, unit)} in its middle: it still grows" if grows else "")
        + f"; {100 * share[axis]:.3g} % of the motion without them, RMS"
    )
    accepted = definition.acceptance
    most = accepted.most("fidelity")
    if share[axis] > most and accepted.fidelity != OFF:
        mend = (
            "zero the sensors before the test, use sensors with less bias and drift, or a virtual part with more "
            "stiffness",
        )
        text += f", accepted {100 * most:g} % (fidelity)"
        yield Finding("marginal", text, float(share[axis]), most, "1", mend, "offset of the sensors", 0.0)
    else:
        yield Finding("note", text, end, None, unit)
