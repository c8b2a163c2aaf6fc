"""The loop of a test with the rig behind its link, beginning where the rig stands."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .. import units
from ..contracts.context import numbered
from ..contracts.quantities import UNLIMITED
from ..definition.definition import Definition
from ..kernels.loop import GUARD_MODE, Loop
from ..links.controller_end import ControllerEnd, Offer
from ..links.driver import DriverEnd
from ..links.pace import pace
from ..links.wires import LinkError
from ..runs.build import build, watch
from ..safety.limits import Commands
from ..safety.slow_motion import SHARE_OF_RATE
from ..safety.watched import COMMAND, COMMAND_RATE
from .resumption import Resumption

ROUNDING = 1e-9
STEADY = 6.0
"""A rig within so many times its sensors' noise of where the test begins is there."""


def prepare(
    definition: Definition, end: ControllerEnd | DriverEnd, offer: Offer, resumption: Resumption | None
) -> Loop:
    """The loop that was checked, with the rig behind its link; of a test that is resumed, as it was interrupted."""
    n = definition.virtual.axes
    timing, limits, real_time = definition.timing, definition.limits, definition.real_time
    rig_paced = real_time.pacing == "rig"
    stands = where_it_stands(definition, offer.displacement, offer.force)
    # without a limit of the test's, the rig's own bounds the ways to it and home
    rate = np.minimum(watch(definition)[COMMAND_RATE].trip, offer.fastest)
    send, receive = end.blocks(
        numbered("command", n),
        definition.period,
        step=timing.step,
        rate=rate,
        stands=stands,
        spin=real_time.spin,
        waits=rig_paced,
        stale_warn=limits.stale.warn,
        stale_trip=limits.stale.trip,
        offer=offer,
        auxiliary=definition.auxiliary_channels,
    )
    paced = pace(
        definition.period,
        real_time.spin,
        real_time.overrun,
        waits=not rig_paced,
        lateness=limits.lateness.trip,
        idle=("link.held", "link.idle") if rig_paced else ("link.held",),
        mode=GUARD_MODE,
    )
    sends, receives = (list(part) if isinstance(part, Sequence) else [part] for part in (send, receive))
    blocks = [*sends, *receives, paced] if rig_paced else [*sends, paced, *receives]
    begins = initial_command(definition)
    loop = build(definition, link=blocks, ticks_before=ticks_before(definition, stands - begins, rate))
    loop.parameter("guard")["rate"][:] = rate
    guard = loop.state("guard")
    guard["before"][:] = offer.displacement
    for field in ("applied", "held"):
        guard[field][:] = stands
    if definition.slow is not None:
        loop.parameter("motion")["rate"][:] = SHARE_OF_RATE * rate
        motion = loop.state("motion")
        motion["displacement"][:] = offer.displacement
        for field in ("start", "goal", "now"):
            motion[field][:] = stands
        if resumption is not None:
            resumption.into(loop, watch(definition, loop))
    return loop


def check_own_limits(definition: Definition, offer: Offer) -> None:
    """Refuse a test whose limits on the command are wider than those that the rig itself has."""
    moved, watched = definition.interface.actuators, watch(definition)
    for ours, own in ((watched[COMMAND], offer.largest), (watched[COMMAND_RATE], offer.fastest)):
        for i in np.flatnonzero((ours.trip < UNLIMITED) & (ours.trip > (1.0 + ROUNDING) * own)):
            unit, place = ours.units[i], f"limits.{'rotation.' if moved.rotations[i] else ''}{ours.key}.trip"
            raise LinkError(
                f"{place} is {units.text(float(ours.trip[i]), unit)} on axis {moved.names[i]}, but the rig's own limit "
                f"is {units.text(float(own[i]), unit)}: the rig would stop before the test trips; tighten {place}"
            )


def where_it_stands(definition: Definition, displacement: np.ndarray, force: np.ndarray) -> np.ndarray:
    """The command under which a rig stands that measures these: held, it does not move.

    A rig that follows a force may hold one, which is what it measures.  Of one that is driven by a force, such as a
    shaker, what is measured is no drive: it is at rest with none.
    """
    if definition.commands == "displacement":
        return displacement
    follows = definition.slow is not None or definition.targets == "force"
    return force if follows else np.zeros_like(force)


def initial_command(definition: Definition) -> np.ndarray:
    """Where the test begins [m or N]."""
    return definition.rig.rest_command(definition.virtual.initial_target())


def sensor_noise(definition: Definition, quantity: Commands) -> np.ndarray:
    """How far apart two measurements of a quantity at rest may be on each axis, by the definition's sensors."""
    sensors, axes = definition.rig.known_sensors, definition.interface
    if sensors is None:
        return np.zeros(len(axes))
    moved, felt = np.split(sensors.scatter(axes, STEADY), 2)
    return moved if quantity == "displacement" else felt


def ticks_before(definition: Definition, distance: np.ndarray, rate: np.ndarray) -> int:
    """Ticks in which the rig can come smoothly, no faster than ``rate``, to where the test begins."""
    timing, limits = definition.timing, definition.limits
    if definition.slow is not None:  # its own motion brings it there
        return 0
    if np.all(np.abs(distance) <= sensor_noise(definition, definition.commands)):
        return timing.ticks_before
    shortest = float((0.5 * math.pi * np.abs(distance) / rate).max()) * 1.01
    wished = timing.soft_start or limits.return_time
    return math.ceil(max(wished, shortest) / timing.step - 1e-9)
