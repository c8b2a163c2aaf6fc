"""What a check tells of a definition that is allowed and yet hardly meant: excitation and step, limits and strokes."""

from __future__ import annotations

import numpy as np

from ... import units
from ...definition.definition import Definition
from ...models.excitations.excitation import Chirp, Gust, Random, Sine, Square, SteppedSine
from ...rigs.shaking_table import ShakingTable
from ...safety.limits import UNLIMITED

WHOLE = 1e-9
"""Departure of a period from whole steps, as a part of it, with which ``halfreal modes`` still takes it."""


def sampling(definition: Definition) -> list[str]:
    """Warnings for excitations that the step does not carry, or that do not repeat on it."""
    step, told = definition.timing.step, []
    for name in ("virtual", "specimen"):
        excitation = getattr(definition.excitation, name)
        if excitation is None:
            continue
        highest, half = top_hz(excitation), 0.5 / step
        if highest >= half:
            told.append(
                f"warning: excitation.{name} goes up to {highest:.6g} Hz, and a step of {units.text(step, 's')} "
                f"carries less than {half:.6g} Hz, half its sampling rate: what is above acts as a lower frequency; "
                "choose a lower one, or a shorter timing.step"
            )
        if isinstance(excitation, Random):
            count = round(excitation.period / step)
            if abs(count * step / excitation.period - 1.0) > WHOLE:
                near = units.text(max(count, 1) * step, "s", 9)
                told.append(
                    f"warning: excitation.{name} repeats every {units.text(excitation.period, 's', 9)}, which is "
                    f"{excitation.period / step:.9g} steps: 'halfreal modes' refuses a record of it, as periods cannot "
                    f"be averaged; choose whole steps, such as {near}"
                )
    return told


def top_hz(excitation: object) -> float:
    """Highest frequency that an excitation names; 0 if it names none."""
    if isinstance(excitation, Random | Chirp):
        return max(excitation.frequency, excitation.to)
    if isinstance(excitation, SteppedSine | Gust):
        return float(np.max(excitation.frequencies))
    if isinstance(excitation, Square):
        return excitation.frequency * (2 * (excitation.terms or 1) - 1)
    return excitation.frequency if isinstance(excitation, Sine) else 0.0


def strokes(definition: Definition) -> list[str]:
    """A warning if the limit of a commanded axis lets an actuator of a table come to its end stop."""
    rig, axes = definition.rig, definition.interface
    if not isinstance(rig, ShakingTable):
        return []
    trips = definition.limits.values("command", "trip", axes)
    used = np.abs(rig.kinematics.modal[:, rig.index()]) * np.where(trips < UNLIMITED, trips, 0.0)
    share = used / np.array([[one.stroke] for one in rig.actuators])
    actuator, axis = np.unravel_index(np.argmax(share), share.shape)
    worst = float(share[actuator, axis])
    if worst <= 1.0:
        return []
    key = "limits.rotation.command.trip" if axes.rotations[axis] else "limits.command.trip"
    unit = axes.units("m")[axis]
    has, may = (units.text(float(value), unit) for value in (trips[axis], trips[axis] / worst))
    stroke = units.text(rig.actuators[actuator].stroke, "m")
    return [
        f"warning: {key} lets axis {axes.names[axis]} go to {has}, and the table's actuator {actuator + 1} meets its "
        f"end stop ({stroke}) at {may}; set the limit below that"
    ]
