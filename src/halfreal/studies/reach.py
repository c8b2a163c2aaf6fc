"""Whether the rig can make the motion at all: what the emulated system asks of it against stroke, speed and limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import units
from ..definition.definition import Definition
from ..runs.reference import EmulationError, emulate
from ..runs.run import Run


def out_of_reach(definition: Definition, due: np.ndarray | None = None) -> list[str]:
    """Each bound that the true motion itself exceeds, with both numbers; ``due`` is that motion (ticks, axes) if known.

    No coupling and no compensation helps there: the excitation is too large, or the rig too small.
    """
    if due is None:
        try:
            due = emulate(definition, definition.timing.ticks, 1)
        except EmulationError:
            return []
    if due is None or len(due) < 2:
        return []
    n = due.shape[1]
    place = np.abs(due).max(axis=0)
    speed = np.abs(np.diff(due, axis=0)).max(axis=0) / definition.timing.step
    actuator, converter = (getattr(definition.rig, name, None) for name in ("actuator", "converter"))
    limits = definition.limits
    bounds: list[tuple[str, np.ndarray, Any, str]] = [
        ("the actuator's stroke", place, getattr(actuator, "stroke", None), "m"),
        ("the actuator's speed", speed, getattr(actuator, "speed", None), "m/s"),
        ("the converter's range", place, getattr(converter, "range", None), "m"),
        ("limits.displacement.trip", place, limits.displacement.trip, "m"),
        ("limits.velocity.trip", speed, limits.velocity.trip, "m/s"),
    ]
    told = []
    for name, needed, bound, unit in bounds:
        if bound is None:
            continue
        most = np.broadcast_to(np.asarray(bound, dtype=float), (n,))
        axis = int(np.argmax(needed / most))
        if needed[axis] > most[axis]:
            at = "" if n == 1 else f" of axis {axis + 1}"
            has, needs = (units.text(float(values[axis]), unit) for values in (most, needed))
            told.append(
                f"the rig cannot make the motion: {name}{at} is {has}, and the emulated system needs {needs}; use a "
                "smaller excitation, or a larger rig"
            )
    return told


def whole_reference(definition: Definition, run: Run) -> np.ndarray | None:
    """The emulated system's motion as a rehearsal has recorded it; None if that is not all of it."""
    found = run.vector("reference")
    if found is None or definition.record.every != 1 or run.outcome != "completed":
        return None
    return found[np.all(np.isfinite(found), axis=1)]
