"""Margins of gain of a test that has none at its command: a slow test, or one whose step has several exchanges.

The loop is cut where the sensors receive the specimen's force, in force control its displacement (``trial_loop.py``),
linearised at rest over a whole step, and its margins are computed (``stability/gain_margins.py``).
"""

from __future__ import annotations

from ..contracts.context import AT_REST
from ..contracts.state_space import StateSpace
from ..definition.definition import Definition
from ..kernels.loop import Loop
from ..stability.condensed import Condensed
from ..stability.gain_margins import GainMargins, gain_margins
from ..stability.linearise import NoSlopeError
from ..stability.open_loop import opened
from ..stability.periodic import TickMap
from . import equivalent
from .build import SETTLING_TICKS
from .trial_loop import changeable, cut_feedback, trial_loop


def feedback_margins(definition: Definition) -> GainMargins:
    """Margins of a stable test, cut at its feedback."""
    return gain_margins(feedback_loop(definition), definition.timing.step)


def feedback_loop(definition: Definition) -> StateSpace | Condensed | list[TickMap]:
    """L of the loop at rest, cut at its feedback; the maps of its ticks if a step has several."""
    try:
        return cut(definition, trial_loop(definition, AT_REST))
    except NoSlopeError:
        return cut(definition, changeable(definition, equivalent.settled(definition, AT_REST)))


def cut(definition: Definition, loop: Loop) -> StateSpace | Condensed | list[TickMap]:
    """L of a trial loop, which is settled and cut."""
    ticks = definition.virtual.ticks_per_step
    loop.settle(SETTLING_TICKS, ticks)
    names, places = cut_feedback(loop)
    loop.settle(SETTLING_TICKS, ticks)
    return opened(loop, places, names, ticks)
