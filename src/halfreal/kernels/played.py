"""One block driven alone from its beginning by a history of inputs, in compiled code."""

from __future__ import annotations

import numpy as np

from .block import Block, flatten
from .calls import WELL, call_often
from .native import compiled_block

STRETCH = 500
"""Ticks at once: states of all of them are in memory."""
SETTLING = 4
"""Ticks after which a block is past its first calls."""


class PlayedError(Exception):
    """A block that had a fault on the way."""

    def __init__(self, message: str, status: int = -1, *, wrote: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.wrote = wrote
        """Whether it is that the block writes to its parameters."""


def played(block: Block, inputs: np.ndarray, dt: float, *, held: bool = False) -> np.ndarray:
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
        Whether its frozen fields stay as they are after a few ticks, as where the loop is linearised.

    Raises
    ------
    PlayedError
        If a call has a fault or raises, or changes the parameters.
    """
    compiled, outputs = compiled_block(block), len(block.outputs)
    given, p, state = flatten(block.parameters), flatten(block.parameters), flatten(block.state)
    frozen, found = _frozen(block), np.empty((len(inputs), outputs))
    kept, length = state[frozen], 1 if held else STRETCH
    for first in range(0, len(inputs), length):
        u = np.ascontiguousarray(np.pad(inputs[first : first + length], ((0, 0), (0, 1))))
        states, y = np.tile(state, (len(u), 1)), np.zeros((len(u), outputs + 1))
        ended = np.zeros(len(u), dtype=np.int64)
        call_often(
            compiled.address, p.ctypes.data, compiled.sizes.ctypes.data, states, u, y, ended, float(first), dt, 1
        )
        if np.any(ended != WELL):
            tick = int(np.argmax(ended != WELL))
            status = int(ended[tick]) - 1
            raise PlayedError(f"returned {status} ({block.faults.get(status, 'a fault')})", status)
        found[first : first + len(u)] = y[:, :-1]
        state = states[-1].copy()
        if held and first < SETTLING:
            kept = state[frozen]
        elif held:
            state[frozen] = kept
    if not np.array_equal(p, given, equal_nan=True):
        raise PlayedError("writes to its parameters; keep what it remembers in its state", wrote=True)
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
