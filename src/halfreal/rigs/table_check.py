"""What a check asks of a shaking table: the strokes that a motion or a limit needs, and which actuators saturate."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from .. import units
from ..contracts.finding import Finding
from ..contracts.reach import Bound, peaks
from ..kernels.block import channels, names
from ..safety.limits import UNLIMITED

if TYPE_CHECKING:
    from ..definition.definition import Definition
    from .shaking_table import ShakingTable


def limits_beyond_strokes(table: ShakingTable, test: Definition) -> Iterable[Finding]:
    """A warning if the limit of a commanded axis lets an actuator come to its end stop."""
    axes = test.interface
    trips = test.limits.values("command", "trip", axes)
    used = np.abs(table.kinematics.modal[:, table.index()]) * np.where(trips < UNLIMITED, trips, 0.0)
    share = used / np.array([[one.stroke] for one in table.actuators])
    actuator, axis = np.unravel_index(np.argmax(share), share.shape)
    worst = float(share[actuator, axis])
    if worst <= 1.0:
        return
    key = "limits.rotation.command.trip" if axes.rotations[axis] else "limits.command.trip"
    unit = axes.units("m")[axis]
    has, may = float(trips[axis]), float(trips[axis]) / worst
    stroke = units.text(table.actuators[actuator].stroke, "m")
    text = (
        f"{key} allows axis {axes.names[axis]} to reach {units.text(has, unit)}, but the table's "
        f"actuator {actuator + 1} "
        f"meets its end stop ({stroke}) at {units.text(may, unit)}; set the limit below that"
    )
    yield Finding("warning", text, has, may, unit)


def bounds_on_motion(table: ShakingTable, motion: np.ndarray, step: float) -> list[Bound]:
    """Strokes and speeds of the actuators for a motion of the commanded axes, as for small motions."""
    stroke, speed = peaks(motion @ table.kinematics.modal[:, table.index()].T, step)
    listed = []
    for name, needed, most, unit in (
        ("stroke", stroke, [one.stroke for one in table.actuators], "m"),
        ("speed", speed, [one.speed for one in table.actuators], "m/s"),
    ):
        which = [f"the {name} of the table's actuator {i + 1}" for i in range(len(table.actuators))]
        listed.append(Bound(which, needed, np.array(most), [unit] * len(which)))
    return listed


def end_channels(table: ShakingTable) -> tuple[str, ...]:
    m = len(table.actuators)
    return (*names(channels("rig.stroke", "m", m)), *names(channels("rig.actuator_force", "N", m)), "rig.saturated")


def end_reached(table: ShakingTable, log: np.ndarray) -> str:
    """What of the actuators comes to its end in rows of ``end_channels``; empty if nothing does."""
    saturated = np.abs(log[log[:, -1] > 0.0])
    if not len(saturated):
        return ""
    m = len(table.actuators)
    found = {
        "stroke": np.any(saturated[:, :m] > [one.stroke for one in table.actuators]),
        "force": np.any(saturated[:, m : 2 * m] >= [one.force for one in table.actuators]),
    }
    return " and ".join(name for name, met in found.items() if met) or "speed"
