"""Fields of blocks with elements, each a law along a direction.

``law`` (e,) and ``parameters`` (e, ·) are those of ``halfreal.contracts.system.Elements``.  Of a direction, which has
few entries that are not zero, blocks store these alone (``terms``): a row of their number, and of the degree of freedom
and the weight of each.  Sums over them equal those over the whole direction to the bit.  ``memory`` (e, ·) are the
committed states of the laws, ``tried`` (e, ·) is room for those on trial.

No law is imported here: a block without elements needs none.
"""

from __future__ import annotations

import numpy as np

from ...contracts.system import Elements
from ...kernels.block import Value
from ...kernels.compile import kernel

FEWEST = 2
"""Terms in a row: those of a spring between two masses, so that springs to ground alone need no other block."""


def terms(direction: np.ndarray) -> np.ndarray:
    """Directions (e, n) in the layout of this file, (e, 1 + 2 · the most terms of one)."""
    widest = max([FEWEST, *np.count_nonzero(direction, axis=1)])
    found = np.zeros((len(direction), 1 + 2 * widest))
    for row, b in zip(found, direction, strict=True):
        places = np.flatnonzero(b)
        row[0] = places.size
        row[1 : 1 + 2 * places.size : 2] = places
        row[2 : 2 + 2 * places.size : 2] = b[places]
    return found


@kernel
def along(terms, x):  # type: ignore[no-untyped-def]
    """bᵀx of one element."""
    total = 0.0
    for k in range(int(terms[0])):
        total += terms[2 + 2 * k] * x[np.uint64(int(terms[1 + 2 * k]))]
    return total


@kernel
def add_along(terms, force, total):  # type: ignore[no-untyped-def]
    """total += b force of one element."""
    for k in range(int(terms[0])):
        total[np.uint64(int(terms[1 + 2 * k]))] += terms[2 + 2 * k] * force


@kernel
def keep(memory, tried):  # type: ignore[no-untyped-def]
    """Commit what was tried last."""
    for e in range(memory.shape[0]):
        for i in range(memory.shape[1]):
            memory[e, i] = tried[e, i]


def loaded(elements: Elements, displacement: np.ndarray, velocity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Forces (e,), and states (e, ·), once unloaded elements have been brought to a displacement, where they move."""
    forces, states = np.zeros(elements.count), elements.start.copy()
    moved = zip(elements.direction @ displacement, elements.direction @ velocity, strict=True)
    for e, (deformation, rate) in enumerate(moved):
        if deformation != 0.0 or rate != 0.0:  # else nothing has changed, and nothing need be compiled to know it
            from .uniaxial import responses

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
