"""The loop of a definition left to itself, without excitation, noise and limits; its modes at rest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...contracts.context import AT_REST
from ...definition.definition import Definition
from ...errors import HalfrealError
from ...kernels.loop import Loop
from ...kernels.tick import FAULT
from ...runs import equivalent
from ...runs.build import SETTLING_TICKS, build, ticks_alike
from ...safety.limits import Limits
from ...stability.amplitude_sweep import Mode
from ...stability.linearise import NoSlopeError, derivative
from ...stability.shooting import FEWEST_TICKS

MODES = 2
"""The slowest modes, of those that oscillate if there are any, in which motion is begun."""
FADED = 0.9
"""Size of an eigenvalue below which a mode is none to begin in: it dies out within a few ticks."""
RESTS = 1e-6
"""Part of the motion expected that a loop at rest may move by itself."""
WATCHED = 200
"""Ticks for which it is watched."""


def free_loop(definition: Definition) -> Loop:
    """The loop that runs, with nothing that drives or stops it, past its first ticks."""
    if definition.slow is not None:
        raise HalfrealError("a slow test has no limit cycles: its time is paused until the rig has settled")
    loop = build(definition.unchecked_copy({"limits": Limits(after_trip=0.0)}), AT_REST)
    loop.run(SETTLING_TICKS * ticks_alike(definition, loop))
    return loop


def check_rest(definition: Definition, loop: Loop, expected: float) -> None:
    """Raise an error if a loop does not rest, or is driven by its own clock; it is left as it was."""
    base = loop.vector.copy()
    log = targets_of(definition, loop, WATCHED)
    loop.vector[:] = base
    moved = np.abs(log - log[0]).max()
    if moved > RESTS * expected:
        raise HalfrealError(
            f"the loop has no steady state: without excitation its target moves by {moved:.3g} m or rad in "
            f"{WATCHED} ticks; give the virtual part a state of rest (stiffness to the ground, no steady load or "
            "drift) to compute cycles around it"
        )


def targets_of(definition: Definition, loop: Loop, ticks: int) -> np.ndarray:
    """The target over some ticks; an error that says why if the loop cannot continue for so long."""
    log = loop.run(ticks, record=definition.interface.channels("target"), event_room=0).log[:, 1:]
    if len(log) < ticks or loop.vector[FAULT] != 0.0 or not np.all(np.isfinite(log)):
        fault = loop.describe(float(loop.vector[FAULT])) or "its motion is not finite"
        raise HalfrealError(f"the free loop fails: {fault}")
    return log


def modes(definition: Definition, loop: Loop) -> list[tuple[Mode, int]]:
    """The slowest modes of a loop at rest, each with the axis that moves most in it, of which an
    amplitude of one is.

    A law without a slope at rest is replaced by its equivalent at the amplitudes of the rehearsal.
    """
    targets, step = definition.interface.channels("target"), ticks_alike(definition, loop)
    base = loop.vector.copy()
    try:
        linear, both = loop, moved_by_states(loop, targets, step)
    except NoSlopeError:
        linear = equivalent.settled(definition, AT_REST)
        both = moved_by_states(linear, targets, step)
    indices = linear.dynamic_indices()
    values, vectors = np.linalg.eig(both[: indices.size])
    sizes = np.abs(values) ** (1.0 / step)
    shown = both[indices.size :] @ vectors
    place = {loop.name_of(int(i)): int(i) for i in loop.dynamic_indices()}
    here = [place.get(linear.name_of(int(i))) for i in indices]
    loop.vector[:] = base
    swings, creeps = list[tuple[Mode, int]](), list[tuple[Mode, int]]()
    for i in np.argsort(-np.abs(values)):
        # what only creeps, as friction makes a structure do in small motion, may swing in large motion
        angle = (float(np.angle(values[i])) or float(abs(np.log(abs(values[i]) + 1e-300)))) / step
        axis = int(np.argmax(np.abs(shown[:, i])))
        if angle <= 0.0 or sizes[i] < FADED or 2 * np.pi / angle < FEWEST_TICKS or shown[axis, i] == 0.0:
            continue
        direction = np.zeros(base.size, dtype=complex)
        for k, to in enumerate(here):
            if to is not None:
                direction[to] = vectors[k, i] / shown[axis, i]
        kind = swings if np.iscomplex(values[i]) else creeps
        kind.append((Mode(base, direction, 2 * np.pi / angle), axis))
    return (swings or creeps)[:MODES]


def moved_by_states(loop: Loop, channels: Sequence[str], step: int) -> np.ndarray:
    """Derivative of a loop's states, and of channels below them, after a step by its states."""
    indices = loop.dynamic_indices()
    rows = np.array([loop.index[name] for name in channels], dtype=int)
    return derivative(loop, indices, np.concatenate([indices, rows]), step)
