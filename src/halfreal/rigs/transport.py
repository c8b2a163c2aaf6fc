"""The way of a command into the rig: a delay of any length, and the reconstruction of a continuous command.

The controller issues one command a tick.  At a time t inside the tick the actuator sees c(t − τ), with c reconstructed
from the commands issued so far:

- ``hold``    the staircase a plain digital-to-analogue converter makes (adds half a step of delay on average),
- ``linear``  straight lines between commands, as a drive with an interpolator makes,
- ``cubic``   the cubic through the four nearest commands: what is closest to the delayed signal itself.

A command cannot act before it is issued: where t − τ lies after the newest command, that one is held.  The actuators of
a simulated rig follow lines and curves through to their end, and are late by one step at least, regardless of τ.

Velocity and acceleration of the delayed command are the derivatives of the cubic at the same time t − τ: exact for
cubics, and in error by O(Δt³) and O(Δt²) otherwise.  Backward differences would be late by Δt/2 and Δt.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..kernels.block import Block, channels
from ..kernels.history import push, weighted

TAPS = 4
ROUNDED = 8
"""Histories are this long, or a multiple: a block is compiled for each length, and delays come in all of them."""
Reconstruction = Literal["hold", "linear", "cubic"]


def taps(lag: float, reconstruction: Reconstruction) -> tuple[int, np.ndarray]:
    """First index (0 is the newest command) and weights that give the command ``lag`` steps before the newest one."""
    if lag <= 0.0 or reconstruction == "hold":
        # a staircase: the newest command issued at or before the time requested
        return max(int(np.ceil(lag - 1e-9)), 0), np.array([1.0, 0.0, 0.0, 0.0])
    whole = int(np.floor(lag + 1e-9))
    part = max(lag - whole, 0.0)
    if reconstruction == "linear":
        return whole, np.array([1.0 - part, part, 0.0, 0.0])
    first = max(whole - 1, 0)
    nodes = np.arange(first, first + TAPS)
    weights = [np.prod([(lag - other) / (node - other) for other in nodes if other != node]) for node in nodes]
    return first, np.array(weights)


def cubic_taps(lag: float) -> tuple[int, np.ndarray]:
    """First index and weights (3, TAPS) that give the cubic through the commands around ``lag``, and its first and
    second derivative by the lag."""
    first = max(int(np.floor(lag + 1e-9)) - 1, 0)
    # coefficients of the cubic through commands at these distances, in powers of the distance
    powers = np.vander(np.arange(first, first + TAPS) - lag, TAPS, increasing=True)
    value, rate, curvature = np.linalg.inv(powers)[:3]
    return first, np.array([value, rate, 2.0 * curvature])


def motion_taps(lag: float, dt: float, reconstruction: Reconstruction) -> tuple[int, np.ndarray]:
    """First index and weights (3, TAPS) that give the command ``lag`` steps of ``dt`` [s] before the newest one, its
    velocity and its acceleration."""
    lag = max(lag, 0.0)
    at = float(np.ceil(lag - 1e-9)) if reconstruction == "hold" else lag  # where the staircase has its value from
    first, weights = cubic_taps(at)
    if reconstruction != "cubic":
        own, value = taps(lag, reconstruction)
        weights[0] = 0.0
        weights[0, own - first :] = value[: TAPS - (own - first)]
    return first, weights * np.array([[1.0], [-1.0 / dt], [1.0 / dt**2]])


def shortest_way(delay: float, dt: float, reconstruction: Reconstruction) -> float:
    """The delay [s] with which commands are reconstructed: lines and curves are late by one step at least."""
    return delay if reconstruction == "hold" else max(delay, dt)


def history_of(commands: np.ndarray, first: np.ndarray) -> np.ndarray:
    """A history of commands that have always been these, long enough for the taps from ``first`` on."""
    length = -(-(int(first.max()) + TAPS) // ROUNDED) * ROUNDED
    return np.tile(commands, (length, 1))


def transport_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n = u.size
    i = int(s.substep)
    if i == 0:
        push(s.history, u)
    first = int(p.first[i])
    for c in range(n):
        y[c] = weighted(p.weights[i], s.history, first, c)
    s.substep = (s.substep + 1.0) % p.first.size
    return 0


def transport(
    commands: tuple[str, ...],
    unit: str,
    dt: float,
    substeps: int,
    delay: float,
    reconstruction: Reconstruction,
    initial: np.ndarray,
    dynamic: bool = False,
) -> Block:
    """Block that turns commands of the tick into the command the actuator sees at each of the rig's own steps."""
    fine = dt / substeps
    # An actuator with dynamics needs what is held over its step, not what a staircase has jumped to at the step's end.
    share = 0.5 if reconstruction == "hold" and dynamic else 1.0
    rows = [taps((delay - (i + share) * fine) / dt, reconstruction) for i in range(substeps)]
    first = np.array([float(index) for index, _ in rows])
    return Block(
        name="transport",
        step=transport_step,
        inputs=commands,
        outputs=channels("rig.command", unit, len(commands), of="actuator"),
        parameters={"first": first, "weights": np.array([weights for _, weights in rows])},
        state={"history": history_of(initial, first), "substep": 0.0},
        frozen=("substep",),
    )
