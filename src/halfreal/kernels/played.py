"""One block driven alone from its beginning by a history of inputs, in compiled code."""

from __future__ import annotations

import numpy as np

from .block import Block, flatten, layout
from .calls import WELL, call_often
from .native import compile_block

STRETCH = 500
"""Ticks at once: states of all of them are in memory."""


class PlayedError(Exception):
    """A block that had a fault on the way."""

    def __init__(self, tick: int, status: int) -> None:
        super().__init__(f"fault {status} in tick {tick}")
        self.tick, self.status = tick, status


def played(block: Block, inputs: np.ndarray, dt: float, *, held: bool = False, fresh: bool = True) -> np.ndarray:
    """Outputs of a block for inputs (ticks, inputs), one row for each tick.

    Parameters
    ----------
    block
        The block, from its initial state on.
    inputs
        What it reads in each tick.
    dt
        Period of its ticks [s].
    held
        Whether its frozen fields are what they were at the beginning of each tick, as where the loop is linearised.
    fresh
        Whether it is given copies of its parameters: what it writes to them is then lost.

    Raises
    ------
    PlayedError
        If a call has a fault or raises.
    """
    sizes = len(block.inputs), len(block.outputs)
    address = compile_block(block.step, layout(block.parameters), layout(block.state), *sizes)
    p, state = flatten(block.parameters), flatten(block.state)
    kept, found = state[_frozen(block)], np.empty((len(inputs), sizes[1]))
    length = 1 if held else STRETCH
    for first in range(0, len(inputs), length):
        u = np.ascontiguousarray(np.pad(inputs[first : first + length], ((0, 0), (0, 1))))
        states, y = np.tile(state, (len(u), 1)), np.zeros((len(u), sizes[1] + 1))
        ended = np.zeros(len(u), dtype=np.int64)
        call_often(address, p.ctypes.data, states, u, y, ended, float(first), dt, 1)
        if np.any(ended != WELL):
            tick = int(np.argmax(ended != WELL))
            raise PlayedError(first + tick, int(ended[tick]) - 1)
        found[first : first + len(u)] = y[:, :-1]
        state = states[-1].copy()
        if held:
            state[_frozen(block)] = kept
    return found


def _frozen(block: Block) -> np.ndarray:
    """Places in its state of fields that are held where the loop is linearised."""
    found, at = [], 0
    for name, value in block.state.items():
        size = int(np.size(value))
        if name in block.frozen:
            found.append(at + np.delete(np.arange(size), block.moving.get(name, [])))
        at += size
    return np.concatenate([np.zeros(0, dtype=int), *found])
