"""What the elements of a structure, each a law along a direction, do together; for blocks.

``law`` (e,), ``direction`` (e, n) and ``parameters`` (e, ·) are those of ``halfreal.contracts.system.Elements``;
``memory`` (e, ·) are the committed states of the laws, ``tried`` (e, ·) is room for those on trial.  q and v are
displacements and velocities (n,) on trial, ``elapsed`` the time since the committed state.
"""

from __future__ import annotations

import numpy as np

from ...contracts.system import Elements
from ...kernels.block import Value
from ...kernels.compile import kernel
from ...kernels.linear import dot
from .uniaxial import responses, uniaxial


@kernel
def add_forces(law, direction, parameters, memory, tried, q, v, elapsed, action, factor, total):  # type: ignore[no-untyped-def]
    """total += factor Σ_e action_e r_e(direction_eᵀ q, direction_eᵀ v) over all elements, ``action`` being (e, n)."""
    for e in range(law.shape[0]):
        deformation, rate = dot(direction[e], q), dot(direction[e], v)
        force = factor * uniaxial(law[e], parameters[e], memory[e], deformation, rate, elapsed, tried[e])[0]
        for i in range(total.shape[0]):
            total[i] += action[e, i] * force


@kernel
def keep(memory, tried):  # type: ignore[no-untyped-def]
    """Commit what was tried last."""
    for e in range(memory.shape[0]):
        for i in range(memory.shape[1]):
            memory[e, i] = tried[e, i]


@kernel
def commit(law, direction, parameters, memory, tried, q, v, elapsed):  # type: ignore[no-untyped-def]
    """Bring the states of all elements to displacements q and velocities v."""
    for e in range(law.shape[0]):
        uniaxial(law[e], parameters[e], memory[e], dot(direction[e], q), dot(direction[e], v), elapsed, tried[e])
    keep(memory, tried)


def loaded(elements: Elements, displacement: np.ndarray, velocity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Forces (e,), and states (e, ·), once unloaded elements have been brought to a displacement, where they move."""
    forces, states = np.zeros(elements.count), elements.start.copy()
    moved = zip(elements.direction @ displacement, elements.direction @ velocity, strict=True)
    for e, (deformation, rate) in enumerate(moved):
        if deformation != 0.0 or rate != 0.0:  # else nothing has changed, and nothing need be compiled to know it
            row, start = elements.parameters[e], elements.start[e]
            found, states[e] = responses(elements.law[e], row, start, np.array([deformation]), np.array([rate]))
            forces[e] = found[0, 0]
    return forces, states


HELD = ("tried", "memory")
"""Fields of a block with elements that a linearisation at rest holds, but for what is ``moving``."""


def moving(elements: Elements) -> dict[str, np.ndarray]:
    """Entries of ``memory`` that are not held: those that flow in time."""
    places = np.flatnonzero(elements.flowing)
    return {"memory": places} if places.size else {}


def element_states(states: np.ndarray) -> dict[str, Value]:
    """Fields of a block with elements in these states."""
    return {"memory": states, "tried": states.copy()}
