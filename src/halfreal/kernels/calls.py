"""One block called many times in compiled code, alone: to learn what it does with other states and inputs."""

from __future__ import annotations

from .entry import entry
from .tick import call_block

WELL = 1
"""What ``call_block`` returns of a call without a fault."""


@entry("i8", "i8", "i8", "f8[,]", "f8[,]", "f8[,]", "i8[]", "f8", "f8", "i8")
def call_often(function, parameters, sizes, states, inputs, outputs, ended, tick, dt, carried):  # type: ignore[no-untyped-def]
    """Call a block with each row of states and inputs, in place, and note how each call ended.

    If ``carried``, each call but the first has the state that the one before has left and comes a tick later, and none
    follows a fault.
    """
    s, u, y = states.ctypes.data, inputs.ctypes.data, outputs.ctypes.data
    for k in range(states.shape[0]):
        t = (tick + k) * dt if carried else tick * dt
        if carried and k > 0:
            for i in range(states.shape[1]):
                states[k, i] = states[k - 1, i]
        state, read, written = 8 * k * states.shape[1], 8 * k * inputs.shape[1], 8 * k * outputs.shape[1]
        ended[k] = call_block(function, parameters, s + state, t, u + read, y + written, sizes)
        if carried and ended[k] != WELL:
            return k
    return states.shape[0]
