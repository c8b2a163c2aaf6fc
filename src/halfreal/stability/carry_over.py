"""A motion of one loop as the beginning of that of another, which may have other states, such as a longer delay line.

While the first loop moves, all that both have in common is copied to the other one tick by tick: the states of blocks
of the same name and size, and the channels.  What is of another size, as a history of commands, fills by itself.
"""

from __future__ import annotations

import numpy as np

from ..kernels.loop import Loop
from .shooting import Shooting, shooting_of


def carried_over(shooting: Shooting, start: np.ndarray, ticks: float, loop: Loop) -> Shooting:
    """The shooting problem of another loop near a periodic motion of so many steps."""
    if loop.vector.size == shooting.loop.vector.size:
        other = shooting.on(loop)
        other.base[other.entries] = start
        return other
    mine, theirs = in_common(shooting.loop, loop)
    shooting.loop.vector[:] = shooting.base
    shooting.loop.vector[shooting.entries] = start
    for _ in range(int(np.ceil(ticks)) * shooting.step):
        loop.vector[theirs] = shooting.loop.vector[mine]
        shooting.loop.run(1, event_room=0)
        loop.run(1, event_room=0)
    loop.vector[theirs] = shooting.loop.vector[mine]
    return shooting_of(loop, ticks, shooting.channels, shooting.step)


def in_common(one: Loop, other: Loop) -> tuple[np.ndarray, np.ndarray]:
    """Entries of two loops' vectors that mean the same."""
    mine, theirs = [], []
    known = {(block.name, key): np.size(value) for block in other.blocks for key, value in block.state.items()}
    for block in one.blocks:
        for key, value in block.state.items():
            if known.get((block.name, key)) == np.size(value):
                mine.append(one.state_indices(block.name, key))
                theirs.append(other.state_indices(block.name, key))
    names = [name for name in one.index if name in other.index]
    mine.append(np.array([one.index[name] for name in names], dtype=int))
    theirs.append(np.array([other.index[name] for name in names], dtype=int))
    return np.concatenate(mine), np.concatenate(theirs)
