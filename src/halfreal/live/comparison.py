"""Whether a rig is where the record of an interrupted slow test ends.

It was interrupted between the last completed tick and the next.  What the rig is commanded in, displacement or force,
must therefore lie between the last measurement and the next command, widened by a tolerance.  The other quantity must
be the last measurement within its tolerance, and within what it may have changed since: the share of the way to the
next command that the rig has covered, times the largest change within a tick of the record.

Tolerances are those of [slow.resume].  Where one is left out, it is the largest of

    slow.settle                                      of what the rig is commanded in
    6 times the sensor's noise plus its resolution
    1 %, or 10 % of the other quantity               of the largest magnitude in the record

The other quantity has more because specimens relax.
"""

from __future__ import annotations

import numpy as np

from .. import units
from ..definition.definition import Definition
from ..links.controller_end import Offer
from ..runs.run import Event
from ..safety.limits import Commands
from ..safety.slow_motion import TOLERANCES, on_axes
from .preparation import sensor_noise
from .resumption import RESUMED, Resumption
from .slow_operator import RefusedError

OF_COMMANDED, OF_OTHER = 0.01, 0.1
"""Shares of the largest magnitude in the record that are tolerated."""


def compare(definition: Definition, resumption: Resumption, offer: Offer, reason: str) -> tuple[Event, ...]:
    """Refuse a rig that is not where the record ends; if a reason is given to continue all the same, the event of
    it."""
    found = differences(definition, resumption, offer)
    if not found:
        return ()
    if not reason:
        raise RefusedError(
            f"the rig is not where the record ends: {'; '.join(found)}. The rig is not armed. Check rig and specimen, "
            "and bring it back there; or, if the test may continue from here, give the reason with "
            "--rig-has-moved REASON (it is recorded). The tolerances are those of slow.resume"
        )
    text = f"resumed although the rig is not where the record ends ({reason}): {'; '.join(found)}"
    return (Event(resumption.ticks * resumption.run.step, RESUMED, text),)


def differences(definition: Definition, resumption: Resumption, offer: Offer) -> list[str]:
    """What is beyond its tolerance, on each axis, for people."""
    commanded = definition.commands
    other: Commands = "force" if commanded == "displacement" else "displacement"
    stands = {"displacement": offer.displacement, "force": offer.force}

    last, goal = resumption.measured(commanded)[-1], resumption.next_command
    tolerance = tolerances(definition, resumption, commanded)
    found = _beyond(definition, commanded, stands[commanded], (last, goal), tolerance, "next command")

    moved = np.maximum(np.abs(stands[commanded] - last) - tolerance, 0.0)
    way = np.abs(goal - last)
    share = float(np.minimum(np.divide(moved, way, out=np.zeros_like(way), where=way > 0.0), 1.0).max())
    record = resumption.measured(other)
    change = share * np.abs(np.diff(record, axis=0)).max(axis=0, initial=0.0)
    tolerance = change + tolerances(definition, resumption, other)
    return [*found, *_beyond(definition, other, stands[other], (record[-1],), tolerance)]


def tolerances(definition: Definition, resumption: Resumption, quantity: Commands) -> np.ndarray:
    """The tolerance on each axis."""
    slow, axes = definition.slow, definition.interface
    assert slow is not None, "only slow tests are resumed"
    largest = np.abs(resumption.measured(quantity)).max(axis=0)
    commanded = quantity == definition.commands
    default = np.maximum(sensor_noise(definition, quantity), (OF_COMMANDED if commanded else OF_OTHER) * largest)
    if commanded:
        default = np.maximum(default, on_axes(slow.settle, quantity, axes, np.zeros(len(axes))))
    return on_axes(slow.resume, quantity, axes, default)


def _beyond(
    definition: Definition,
    quantity: Commands,
    stands: np.ndarray,
    between: tuple[np.ndarray, ...],
    tolerance: np.ndarray,
    *names: str,
) -> list[str]:
    """What does not lie between these values, widened by the tolerance; written so that NaN does not."""
    axes, found = definition.interface, []
    for i, unit in enumerate(axes.units("m" if quantity == "displacement" else "N")):
        ends = [float(values[i]) for values in between]
        if not min(ends) - tolerance[i] <= stands[i] <= max(ends) + tolerance[i]:
            where = f"axis {axes.names[i]}: " if len(axes) > 1 else ""
            name = TOLERANCES[quantity][int(axes.rotations[i])]
            further = "".join(f", {end} {units.text(value, unit)}" for end, value in zip(names, ends[1:], strict=True))
            found.append(
                f"{where}{name} {units.text(float(stands[i]), unit)}, in the record "
                f"{units.text(ends[0], unit)}{further}, tolerance {units.text(float(tolerance[i]), unit)}"
            )
    return found
