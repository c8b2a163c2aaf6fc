"""Stability of a definition's loop, from the loop that will run.

The loop is linearised at rest, and cut at the command to measure its open loop, whose margins of delay, phase and gain
are exact.  An unstable loop is asked once more with the shortest delay its rig can have, one step, to learn how long a
delay it would bear.  A rig that is unstable on its own is told as such (``rig_alone.py``).  A coupling that is tuned to
several frequencies is judged at the worst (``worst_frequency.py``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..contracts.context import AT_REST, OPEN_LOOP
from ..definition.definition import Definition
from ..errors import HalfrealError
from ..kernels.loop import Loop
from ..stability.linearise import Linearisation, NoSlopeError, linearise
from ..stability.margins import DelayMargin, delay_margin
from ..stability.open_loop import open_loop
from . import equivalent
from .build import SETTLING_TICKS, build
from .pure_delay import with_pure_delay
from .rig_alone import RigFault, rig_fault
from .worst_frequency import at_worst

DELAY = "rig.actuator.delay"
SEVERAL = "margins are not known: a step has several exchanges, each of which a further delay would hit differently"
SLOW = "a slow test bears any delay of its rig: time stands still until it has settled"


@dataclass(frozen=True)
class LoopStability:
    """The loop at rest: its poles, its margins, and the whole delay that it bears."""

    linearisation: Linearisation
    margin: DelayMargin | None
    """Margins of the loop as it is; None if they could not be computed, for the reason in ``caveats``."""
    critical_delay: float | None
    """Delay of the rig [s] at which the loop loses stability; None if there is none, or it is not known.

    Of a rig with dynamics of its own it is the pure delay that would do so in their place, without coupling.
    """
    caveats: tuple[str, ...]
    """What the answer rests on."""
    rig_delay: float | None = None
    """What the rig has of delay [s], or of lag in slow motion if it has dynamics of its own; None if not known."""
    rig_fault: RigFault | None = None
    """Why the rig is unstable on its own, if it is."""

    @property
    def delay_room(self) -> float | None:
        """Share of the rig's delay or lag, as large as the loop bears it, that is left; None if there is no limit.

        Both are of the loop with its coupling: the rig has ``rig_delay``, and bears the margin beyond it.
        """
        further = None if self.margin is None else finite(self.margin.critical_delay)
        if further is None or self.rig_delay is None:
            return None
        return further / (self.rig_delay + further)


def linearised(definition: Definition, loop: Loop | None = None) -> Linearisation:
    """The quiet loop of a definition, settled at rest and linearised there, over one step of its integration."""
    loop = build(definition, AT_REST) if loop is None else loop
    ticks = definition.virtual.ticks_per_step
    loop.run(SETTLING_TICKS * ticks)
    try:
        return linearise(loop, ticks)
    except NoSlopeError:
        return equivalent.at(definition, 1.0)


def margin_of(definition: Definition) -> DelayMargin:
    """Exact margins of the open loop that runs."""
    loop = build(definition, OPEN_LOOP)
    loop.run(SETTLING_TICKS)
    try:
        return delay_margin(open_loop(loop))
    except NoSlopeError:
        return delay_margin(open_loop(equivalent.settled(definition, OPEN_LOOP)))


def loop_stability(definition: Definition) -> LoopStability:
    """Poles and margins of the loop that the definition describes, at rest."""
    definition, tuned = at_worst(definition, lambda one: linearised(one).spectral_radius)
    loop = build(definition, AT_REST)
    linearisation = linearised(definition, loop)
    caveats = [block.held for block in loop.blocks if block.held] + ([tuned] if tuned else [])
    if steep := equivalent.told(definition, linearisation.stable):
        caveats.append(steep)
    if linearisation.memory:
        caveats.append(
            f"memory, which small motion does not change and which is no pole of the loop: "
            f"{', '.join(linearisation.memory)}"
        )
    if definition.rig.caveat is not None:
        caveats.append(definition.rig.caveat)
    margin, critical, own = None, None, rig_delay(definition)
    fault = rig_fault(definition, loop) if definition.slow is None else None
    virtual = definition.virtual
    if virtual.caveat is not None:
        caveats.append(virtual.caveat)
    if definition.slow is not None or virtual.ticks_per_step > 1:
        caveats.append(SLOW if definition.slow is not None else SEVERAL)
        return LoopStability(linearisation, margin, critical, tuple(caveats), own, fault)
    try:
        margin = margin_of(definition)
        critical = critical_delay(definition, linearisation.stable, margin)
    except HalfrealError as error:
        caveats.append(f"margins are not known: {error}")
    return LoopStability(linearisation, margin, critical, tuple(caveats), own, fault)


def rig_delay(definition: Definition) -> float | None:
    """Delay of the rig [s], or its lag in slow motion if it has dynamics of its own; None if it is not known."""
    return definition.rig.lag(definition.timing.step, definition.interface)


def critical_delay(definition: Definition, stable: bool, margin: DelayMargin) -> float | None:
    """Delay of the rig at which the loop loses stability [s]; None if it is never stable, or always, or not known."""
    rig, step = definition.rig, definition.timing.step
    if rig.is_dynamic:
        if rig.ideal_but_late(step) is None:
            return None
        margin = margin_of(with_pure_delay(definition, step))
        further = finite(margin.critical_delay)
        return None if further is None or not margin.stable_without_delay else step + further
    own = rig_delay(definition)
    if own is None:
        return None
    if not stable:
        shortest = None if own <= step else rig.with_delay(step)
        if shortest is None:
            return None
        own, margin = step, margin_of(definition.unchecked_copy({"rig": shortest}))
    further = finite(margin.critical_delay)
    if further is None or not margin.stable_without_delay:
        return None
    return rig.delay_within(own + further, step)


def finite(value: float) -> float | None:
    """A margin as people and JSON know it: None if it is unlimited or undefined."""
    return float(value) if np.isfinite(value) else None


def as_adapted(definition: Definition, ran: Loop) -> Linearisation | None:
    """The loop linearised with what its adaptive blocks have come to in ``ran``; None if it has none."""
    loop = build(definition, AT_REST)
    adaptive = [block for block in loop.blocks if block.held]
    if not adaptive:
        return None
    for block in adaptive:
        mine, theirs = loop.state(block.name), ran.state(block.name)
        for name in block.frozen:
            mine[name] = theirs[name]
    return linearised(definition, loop)
