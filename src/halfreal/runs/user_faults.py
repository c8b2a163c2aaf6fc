"""What a user's function did wrong in the middle of a rehearsal: its line, out of the same tick in plain Python."""

from __future__ import annotations

from ..definition.definition import Definition
from ..kernels.loop import Loop
from ..kernels.native import is_own, place_of
from ..kernels.tick import FAULT, RAISED, TICK
from ..kernels.user import in_plain_python
from .build import build


def raised_by_user(definition: Definition, ran: Loop) -> str:
    """Which user's block ended a rehearsal, and what it raised, with its line; empty if none did, or it cannot be
    determined.

    The rehearsal is run once more up to the tick before, as compiled code does not say where it raised.
    """
    row, code = divmod(int(ran.vector[FAULT]), 1000)
    if code != RAISED or is_own(ran.blocks[row - 1].step):
        return ""
    loop, name, step = build(definition), ran.blocks[row - 1].name, ran.blocks[row - 1].step
    block = loop.blocks[loop.row(name)]
    last = int(ran.vector[TICK])
    while loop.vector[FAULT] == 0.0 and loop.vector[TICK] <= last:
        ahead = min(1000, last - int(loop.vector[TICK]))
        before = loop.vector.copy()
        loop.run(max(ahead, 1), event_room=0)
        if loop.vector[FAULT] != 0.0 and ahead > 1:  # once more, tick by tick
            loop.vector[:] = before
            while loop.vector[FAULT] == 0.0:
                before = loop.vector.copy()
                loop.run(1, event_room=0)
    begin = loop.state_begin(name)
    state = before[begin : begin + loop.state_of(name).size]
    t, inputs = float(before[TICK]) * loop.dt, loop.inputs_of(name)
    found = in_plain_python(block, state, [(t, inputs), *[(t + loop.dt, inputs)] * loop.substeps])
    did = "" if found.startswith("returned") else "raised "
    return f"block '{name}': {place_of(step)} {did}{found}" if found else ""
