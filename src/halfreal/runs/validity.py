"""Where poles and margins of a loop hold: in any motion if the loop is proven linear, else where they were computed.

A loop is proven linear if none of its parts has a nonlinearity, all its blocks come with halfreal and show their state,
no coupling adapts, no sensor has a range, no time is held, and no block had to be replaced by an equivalent linear one.
"""

from __future__ import annotations

from ..contracts.context import AT_REST as RESTING
from ..definition.definition import Definition
from ..kernels.loop import Loop
from ..kernels.native import is_own
from .build import build

IN_ANY_MOTION, AT_REST = "in any motion, as the loop is linear", "at rest"
NOWHERE = "not known"
ADAPTS = "at rest, with the coefficients that the coupling has at the start"


def is_nonlinear(definition: Definition) -> bool:
    """Whether anything in the loop may be nonlinear, as its parts state."""
    return any(part.nonlinearities for part in (definition.virtual, definition.coupling, definition.rig))


def has_ranges(definition: Definition) -> bool:
    """Whether a sensor of the rig has a range."""
    sensors = definition.rig.known_sensors
    return sensors is not None and any(part.range is not None for part in sensors.all_of(definition.interface))


def where_it_holds(definition: Definition, loop: Loop, equivalent: bool) -> str:
    """Where poles and margins of a loop at rest hold; ``equivalent``: blocks without a slope there were replaced."""
    if any(block.held and not block.by_experiment for block in loop.blocks):
        return ADAPTS
    own = all(is_own(block.step) for block in loop.blocks)
    special = (
        equivalent
        or bool(loop.opaque)
        or any(block.by_experiment for block in loop.blocks)
        or definition.slow is not None
        or not own
    )
    return AT_REST if special or is_nonlinear(definition) or has_ranges(definition) else IN_ANY_MOTION


def where_of(definition: Definition, what: str) -> str:
    """A note on where ``what`` was computed; nothing if it holds in any motion."""
    holds = where_it_holds(definition, build(definition, RESTING), False)
    return "" if holds == IN_ANY_MOTION else f"{what} {holds}; 'halfreal check' tries the test in motion"
