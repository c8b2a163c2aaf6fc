"""The loop of a test with the rig behind its link, beginning where the rig stands."""

from __future__ import annotations

import math

import numpy as np

from ..definition.definition import Definition, SimulatedRig
from ..kernels.loop import Loop
from ..links.controller_end import ControllerEnd, Offer
from ..links.pace import pace
from ..runs.build import build, initial_displacement, interface
from .resumption import Resumption

STEADY = 6.0
"""A rig within so many times its sensors' noise of where the test begins stands there."""


def prepare(definition: Definition, end: ControllerEnd, offer: Offer, resumption: Resumption | None) -> Loop:
    """The loop that was checked, with the rig behind its link; of a test that is resumed, as it was interrupted."""
    n = definition.virtual.axes
    timing, limits, real_time = definition.timing, definition.limits, definition.real_time
    rig_paced = real_time.pacing == "rig"
    send, receive = end.blocks(
        interface("command", n),
        definition.period,
        step=timing.step,
        waits=rig_paced,
        stale_warn=limits.stale.warn,
        stale_trip=limits.stale.trip,
        offer=offer,
    )
    paced = pace(
        definition.period,
        real_time.spin,
        real_time.overrun,
        waits=not rig_paced,
        lateness=limits.lateness.trip,
        idle=("link.idle",) if rig_paced else (),
    )
    blocks = [send, receive, paced] if rig_paced else [send, paced, receive]
    begins = initial_displacement(definition.virtual)
    loop = build(definition, link=blocks, ticks_before=ticks_before(definition, offer.displacement - begins))
    guard = loop.state("guard")
    for field in ("before",) if definition.commands == "force" else ("applied", "held", "before"):
        guard[field][:] = offer.displacement
    if definition.slow is not None:
        motion = loop.state("motion")
        motion["displacement"][:] = offer.displacement
        stands = offer.displacement if definition.commands == "displacement" else np.zeros(n)
        for field in ("start", "goal", "now"):
            motion[field][:] = stands
        if resumption is not None:
            resumption.into(loop)
    return loop


def ticks_before(definition: Definition, distance: np.ndarray) -> int:
    """Ticks in which the rig can come smoothly to where the test begins."""
    timing, limits, rig = definition.timing, definition.limits, definition.rig
    if definition.slow is not None:  # its own motion brings it there
        return 0
    if definition.commands == "force":  # it begins without force, wherever the rig stands
        return timing.ticks_before
    noise = 0.0
    if isinstance(rig, SimulatedRig):
        noise = STEADY * rig.sensors.displacement.noise + rig.sensors.displacement.resolution
    if np.all(np.abs(distance) <= noise):
        return timing.ticks_before
    rate = limits.command_rate.values("trip", distance.size)
    shortest = float((0.5 * math.pi * np.abs(distance) / rate).max()) * 1.01
    wished = timing.soft_start or limits.return_time
    return math.ceil(max(wished, shortest) / timing.step - 1e-9)
