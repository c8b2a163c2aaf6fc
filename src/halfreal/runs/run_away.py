"""Motion that no rig makes: a rehearsal ends where it is reached, with or without limits.

Without limits an unstable loop would be computed up to the largest number that there is.  A tick of a slow test takes
the longer the farther its command is, within the limit of its rate: there the guard ends it before the tick is over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .. import units
from ..kernels.loop import Loop

MOST_MOTION, MOST_FORCE = 100.0, 1e9
"""Displacement [m] or rotation [rad], and force [N or N m], of an interface beyond which any motion has run away."""
SIGNALS = ("target", "command", "measured.displacement", "measured.force")
"""That are watched, on all axes."""


def most(unit: str) -> float:
    """What a quantity of the interface stays below."""
    return MOST_FORCE if unit.startswith("N") else MOST_MOTION


def with_bounded_commands(loop: Loop) -> Loop:
    """The loop of a slow test, at its beginning, with a guard that trips where a command has run away; others as they
    are."""
    if "motion" not in (block.name for block in loop.controller):
        return loop
    *before, guard = loop.controller
    bounds = np.array([most(channel.unit) for channel in guard.outputs if channel.of == "actuator"])
    limits = {name: np.array(guard.parameters[name], dtype=float) for name in ("trip", "first")}
    for limit in limits.values():
        limit[: bounds.size] = np.minimum(limit[: bounds.size], bounds)
    bounded = replace(guard, parameters={**guard.parameters, **limits})
    return loop.rearranged([*before, bounded], loop.inner, loop.outer)


class RunAway:
    """Watches rows of the named channels, with their units, for a motion that has run away."""

    def __init__(self, names: Sequence[str], units_of: Sequence[str]) -> None:
        kept = [i for i, name in enumerate(names) if any(name == one or name.startswith(f"{one}.") for one in SIGNALS)]
        self._watched = [i for i in kept if units_of[i] in ("m", "rad", "N", "N m") and "asked" not in names[i]]
        self._names, self._units = names, units_of

    def find(self, rows: np.ndarray) -> tuple[int, str] | None:
        """The first row, without its time in front, in which a bound is passed, and why; None if there is none."""
        bounds = np.array([most(self._units[i]) for i in self._watched])
        beyond = np.abs(rows[:, self._watched]) > bounds
        if not beyond.any():
            return None
        row = int(np.argmax(beyond.any(axis=1)))
        channel = self._watched[int(np.argmax(beyond[row]))]
        value, unit = float(rows[row, channel]), self._units[channel]
        return row, (
            f"{self._names[channel]} was {units.text(value, unit, 3)}: the motion has run away, beyond "
            f"{units.text(most(unit), unit)}, where any rehearsal ends"
        )
