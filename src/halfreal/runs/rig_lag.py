"""How late a rig follows its command, measured on the code that runs, regardless of what the rig consists of.

The loop is cut at the command (``stability/open_loop.py``).  From the command of a tick to what is measured at that
tick's time, the displacement, or the force if that is commanded,

    G(ω) = e^{−jωΔt} [C (e^{jωΔt}I − A)⁻¹B + D]                  lag(ω) = −arg G(ω)/ω        lag(0) = −d arg G/dω

with the phase followed from slow motion on.  Where axes are coupled, or strokes of actuators are commanded, G is taken
relative to G(0): each axis as it follows a command that moves it alone in slow motion.  What is fed back is the other
quantity; where its sensor is known to be later, the loop has that lag too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..contracts.state_space import StateSpace
from ..definition.definition import Definition
from ..kernels.loop import Loop

POINTS = 200
"""Frequencies over which the phase is followed up to the one that is requested."""
SINGULAR = 1e-9
"""Least singular value of G(0), as a part of the largest, of a rig that follows its commands in slow motion."""


@dataclass(frozen=True)
class RigLag:
    """Lags of the axes that are commanded."""

    axes: tuple[str, ...]
    slow: np.ndarray
    """In slow motion [s], of each axis."""
    response: StateSpace
    """From the command to what is measured, relative to slow motion."""
    ahead: float
    """How much later than at the response it is measured [s]."""
    sensed: np.ndarray
    """Further delay of what is fed back [s], of each axis."""

    def at(self, omega: float) -> np.ndarray:
        """At a frequency [rad/s], of each axis."""
        if not omega > 0.0:
            return self.slow
        grid = omega * np.arange(1, POINTS + 1) / POINTS
        turned = np.diagonal(self.response.response(grid), axis1=1, axis2=2)
        phase = np.unwrap(np.angle(turned), axis=0)
        phase -= 2.0 * np.pi * np.round(phase[0] / (2.0 * np.pi))
        return np.asarray(self.ahead + self.sensed - phase[-1] / omega)

    def latest(self, hz: float = 0.0) -> tuple[float, str]:
        """The largest lag [s] at a frequency, or in slow motion, and its axis, named where there are several."""
        lags = self.at(2.0 * np.pi * hz) if np.isfinite(hz) else self.slow
        place = int(np.argmax(lags))
        return float(lags[place]), self.axes[place] if len(self.axes) > 1 else ""


def followed(definition: Definition) -> list[str]:
    """Channels of what is measured of what the rig is commanded in, on the axes that are commanded."""
    names = definition.interface.channels(f"measured.{definition.commands}")
    return [names[i] for i in definition.interface.commanded_at]


def rig_lag(definition: Definition, loop: Loop, answer: StateSpace) -> RigLag | None:
    """Of the rig in a loop that is cut at its command, by its ``answer`` from the probe to what is ``followed``.

    None if it does not follow in slow motion, or is not commanded in what is requested of it.
    """
    axes, names, model = definition.interface, followed(definition), seen(answer)
    if definition.commands != definition.targets:
        return None
    written = next(row for row, block in enumerate(loop.blocks) if any(one.name == names[0] for one in block.outputs))
    ahead = loop.dt if written > loop.row("guard") else 0.0  # what the rig writes at the end of a tick is of the next
    try:
        once = np.linalg.solve(np.eye(model.states) - model.a, model.b)
        twice = np.linalg.solve(np.eye(model.states) - model.a, once)
    except np.linalg.LinAlgError:
        return None
    still = model.c @ once + model.d
    sizes = np.linalg.svd(still, compute_uv=False)
    if still.shape[0] != still.shape[1] or not np.all(np.isfinite(twice)) or not sizes[-1] > SINGULAR * sizes[0]:
        return None
    inverse = np.linalg.inv(still)
    slope = np.diag(model.c @ twice @ inverse)
    sensed = later_feedback(definition)
    relative = StateSpace(model.a, model.b @ inverse, model.c, model.d @ inverse, model.dt)
    moved = tuple(axes.names[i] for i in axes.commanded_at)
    return RigLag(moved, ahead + loop.dt * slope + sensed, relative, ahead, sensed)


def seen(model: StateSpace) -> StateSpace:
    """The model with those states alone that the outputs depend on: the rig's, and none of the virtual part."""
    kept = np.any(model.c != 0.0, axis=0)
    while True:
        more = kept | np.any(model.a[kept] != 0.0, axis=0)
        if np.array_equal(more, kept):
            return StateSpace(model.a[np.ix_(kept, kept)], model.b[kept], model.c[:, kept], model.d, model.dt)
        kept = more


def later_feedback(definition: Definition) -> np.ndarray:
    """By how much the sensors of what is fed back are later than those of what follows the command [s]."""
    axes, sensors = definition.interface, definition.rig.known_sensors
    if sensors is None:
        return np.zeros(len(axes.commanded_at))
    motion, force = ([one.slow_delay for one in some] for some in (sensors.of_motion(axes), sensors.of_force(axes)))
    sign = 1.0 if definition.commands == "displacement" else -1.0
    return np.array([sign * (force[i] - motion[i]) for i in axes.commanded_at])
