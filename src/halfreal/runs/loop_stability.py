"""Stability of a definition's loop, from the loop that will run.

The loop is linearised at rest, and cut at the command to measure its open loop, whose margins of delay, phase and gain
are exact.  An unstable loop is asked once more with the shortest delay its rig can have, one step, to learn how long a
delay it would bear.  A coupling that is tuned to several frequencies is judged at the worst (``worst_frequency.py``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..definition.definition import Definition, SimulatedRig
from ..definition.paths import with_values
from ..errors import HalfrealError
from ..kernels.loop import Loop
from ..models.constrained import Constrained
from ..stability.linearise import Linearisation, linearise
from ..stability.margins import DelayMargin, delay_margin
from ..stability.open_loop import open_loop
from .build import SETTLING_TICKS, build
from .pure_delay import is_dynamic, with_pure_delay
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


def linearised(definition: Definition, loop: Loop | None = None) -> Linearisation:
    """The quiet loop of a definition, settled at rest and linearised there, over one step of its integration."""
    loop = build(definition, quiet=True) if loop is None else loop
    ticks = getattr(definition.virtual, "ticks_per_step", 1)
    loop.run(SETTLING_TICKS * ticks)
    return linearise(loop, ticks)


def margin_of(definition: Definition) -> DelayMargin:
    """Exact margins of the open loop that runs."""
    loop = build(definition, quiet=True, cut=True)
    loop.run(SETTLING_TICKS)
    return delay_margin(open_loop(loop))


def loop_stability(definition: Definition) -> LoopStability:
    """Poles and margins of the loop that the definition describes, at rest."""
    definition, tuned = at_worst(definition, lambda one: linearised(one).spectral_radius)
    loop = build(definition, quiet=True)
    linearisation = linearised(definition, loop)
    caveats = [block.held for block in loop.blocks if block.held] + ([tuned] if tuned else [])
    if (of_rig := getattr(definition.rig, "caveat", None)) is not None:
        caveats.append(of_rig)
    margin, critical = None, None
    virtual = definition.virtual
    if isinstance(virtual, Constrained) and any(element.law.kind != "linear" for element in virtual.elements):
        caveats.append("nonlinear elements are taken at their initial stiffness; the rehearsal has them as they are")
    if definition.slow is not None or getattr(virtual, "ticks_per_step", 1) > 1:
        caveats.append(SLOW if definition.slow is not None else SEVERAL)
        return LoopStability(linearisation, margin, critical, tuple(caveats))
    try:
        margin = margin_of(definition)
        critical = critical_delay(definition, linearisation.stable, margin)
    except HalfrealError as error:
        caveats.append(f"margins are not known: {error}")
    return LoopStability(linearisation, margin, critical, tuple(caveats))


def critical_delay(definition: Definition, stable: bool, margin: DelayMargin) -> float | None:
    """Delay of the rig at which the loop loses stability [s]; None if it is never stable, or always, or not known."""
    rig, step = definition.rig, definition.timing.step
    if is_dynamic(definition):
        margin = margin_of(with_pure_delay(definition, step))
        further = finite(margin.critical_delay)
        return None if further is None or not margin.stable_without_delay else step + further
    if not isinstance(rig, SimulatedRig):
        return None
    held = rig.actuator.reconstruction == "hold"  # a staircase: late by whole steps, whatever the delay
    own = max(rig.actuator.delay, step)
    if held:
        own = step * float(np.ceil(own / step - 1e-9))
    if not stable:
        if own <= step:
            return None
        own, margin = step, margin_of(with_values(definition, {DELAY: step}))
    further = finite(margin.critical_delay)
    if further is None or not margin.stable_without_delay:
        return None
    return step * float(np.floor((own + further) / step + 1e-9)) if held else own + further


def finite(value: float) -> float | None:
    """A margin as people and JSON know it: None if it is unlimited or undefined."""
    return float(value) if np.isfinite(value) else None


def as_adapted(definition: Definition, ran: Loop) -> Linearisation | None:
    """The loop linearised with what its adaptive blocks have come to in ``ran``; None if it has none."""
    loop = build(definition, quiet=True)
    adaptive = [block for block in loop.blocks if block.held]
    if not adaptive:
        return None
    for block in adaptive:
        mine, theirs = loop.state(block.name), ran.state(block.name)
        for name in block.frozen:
            mine[name] = theirs[name]
    return linearised(definition, loop)
