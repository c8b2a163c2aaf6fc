"""Whether the rig can make the motion at all: what the emulated system asks of it against stroke, speed and limits."""

from __future__ import annotations

import numpy as np

from ... import units
from ...definition.definition import Definition
from ...rigs.shaking_table import ShakingTable
from ...runs.reference import EmulationError, emulate
from ...runs.run import Run


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
    told = []
    for name, needed, most, unit in bounds(definition, due):
        place = int(np.argmax(needed / most))
        if needed[place] > most[place]:
            has, needs = (units.text(float(values[place]), unit[place]) for values in (most, needed))
            told.append(
                f"the rig cannot make the motion: {name[place]} is {has}, and the emulated system needs {needs}; use a "
                "smaller excitation, or a larger rig"
            )
    return told


Bound = tuple[list[str], np.ndarray, np.ndarray, list[str]]
"""Names, what the motion needs, what there is, and units, of each axis or actuator."""


def bounds(definition: Definition, due: np.ndarray) -> list[Bound]:
    """What bounds the motion ``due``: the rig's actuators, and limits of displacement and velocity."""
    rig, limits, axes = definition.rig, definition.limits, definition.interface
    places, speeds = peaks(due, definition.timing.step)
    actuator, converter = (getattr(rig, name, None) for name in ("actuator", "converter"))
    found = [
        ("the actuator's stroke", places, getattr(actuator, "stroke", None), "m"),
        ("the actuator's speed", speeds, getattr(actuator, "speed", None), "m/s"),
        ("the converter's range", places, getattr(converter, "range", None), "m"),
        ("limits.displacement.trip", places, limits.values("displacement", "trip", axes), "m"),
        ("limits.velocity.trip", speeds, limits.values("velocity", "trip", axes), "m/s"),
    ]
    of = [""] if len(axes) == 1 else [f" of axis {name}" for name in axes.names]
    listed: list[Bound] = []
    for name, needed, bound, unit in found:
        if bound is not None:
            keys = [name.replace("limits.", "limits.rotation.") if turns else name for turns in axes.rotations]
            called = [f"{key}{one}" for key, one in zip(keys, of, strict=True)]
            listed.append((called, needed, np.broadcast_to(bound, needed.shape), list(axes.units(unit))))
    if isinstance(rig, ShakingTable):
        stroke, speed = peaks(strokes(rig, due), definition.timing.step)
        for name, needed, bound, unit in (
            ("stroke", stroke, [one.stroke for one in rig.actuators], "m"),
            ("speed", speed, [one.speed for one in rig.actuators], "m/s"),
        ):
            which = [f"the {name} of the table's actuator {i + 1}" for i in range(len(rig.actuators))]
            listed.append((which, needed, np.array(bound), [unit] * len(which)))
    return listed


def peaks(motion: np.ndarray, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Largest displacement and speed of each column."""
    return np.abs(motion).max(axis=0), np.abs(np.diff(motion, axis=0)).max(axis=0) / step


def strokes(rig: ShakingTable, due: np.ndarray) -> np.ndarray:
    """Of the table's actuators for a motion of its commanded axes, (ticks, actuators), as for small motions."""
    return np.asarray(due @ rig.kinematics.modal[:, rig.index()].T)


def whole_reference(definition: Definition, run: Run) -> np.ndarray | None:
    """The emulated system's motion as a rehearsal has recorded it; None if that is not all of it."""
    found = run.vector("reference")
    if found is None or definition.record.every != 1 or run.outcome != "completed":
        return None
    return found[np.all(np.isfinite(found), axis=1)]
