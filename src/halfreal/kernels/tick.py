"""The compiled loop: one tick after another through a table of blocks.

    measure → start-up → virtual substructure → coupling → guard → record → rig → measure of the next tick

A row of ``table`` is a block: address of its function, of its parameters, of its state, where its input indices begin
in ``wires``, how many they are, where its outputs begin in ``vector``, and the address of the sizes of its fields.  The
rows come in three groups: the controller's (the last of them is the guard), the rig's inner rows, run ``substeps``
times a tick on the rig's own finer step, and the rig's outer rows, run once (sensors, or the link to a rig elsewhere).

``vector`` is everything that changes: ``[tick, fault, request, rig's fault, input scratch | bus | states | last values
of watched channels]``.  The fault is the first one that any row has returned, and stays; the rig's is 1 if one of the
rig's rows has returned any in the tick before.

A test begins at tick 0 and has ``end`` ticks.  Before and after them, while the guard brings the rig to where the test
begins and home again, and after a trip, the rows before the guard rest: the virtual substructure is at rest.

A slow test stays at a tick for as long as the rig takes to answer its command: while the channel ``hold`` is not zero,
only the rows from ``mover`` on run, and the tick is recorded when it is done.  So does any test while the measurements
of a rig elsewhere are missing, also on the way to its beginning.

``control`` holds the words of ``kernels/control.py``, and ``log`` is a ring of rows: in a rehearsal one that holds them
all, in a run one that a recorder empties.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, get_type_hints

import numpy as np
from llvmlite import ir

from .atomic import load_word, store_word
from .block import LARGEST_FAULT, OUT_OF_PASSES
from .bytes import copy_bytes, store_double
from .compile import OPTIONS, cgutils, helper, intrinsic, types
from .control import EVENTS, EVENTS_LOST, REQUEST, ROWS, ROWS_DROPPED, ROWS_READ, TICKS, WAIT
from .entry import Entry
from .fused import FAULT_AT, LAST, call_group
from .fused import RAISED as RAISED
from .modes import ARMED, FINISHED, RAMPING, RUNNING, STOPPED_AT_REST

TICK, FAULT, REQUESTED, RIG_FAULT = 0, FAULT_AT, 2, 3
SCRATCH = 4
RAN_AWAY = 998
"""Fault codes of a block whose loops did not come to an end, and of one that raised an exception."""
RING_FULL = 1
"""Fault of the loop itself: a row found no room."""

COMPLETED, STOPPED, GUARD_FAILED, LOST = 0, 1, 2, 3
"""How a stretch of ticks ended: all run; the guard has ended the test; the guard itself failed; a block that would be
called again and again does not come to an end."""

AWAY = -1
"""Status of a block whose loops did not come to an end, in place of its own status plus one."""
WAITING = 4.0
"""Request of the loop to its guard, next to those of ``kernels/control.py``: hold the rig where it is."""

ROW_FUNCTION, ROW_PARAMETERS, ROW_STATE, ROW_WIRES, ROW_INPUTS, ROW_OUTPUTS, ROW_SIZES, ROW_LENGTH = range(8)


@intrinsic
def call_block(typingctx, function, p, s, t, u, y, sizes):  # type: ignore[no-untyped-def]
    """Call the block whose compiled function is at an address: its status plus one, 0 if it raised, or ``AWAY``.

    Numba's own calling convention: places for the value and for what was raised, then the arguments; what is returned
    is 0 if all is well.  A raising block costs as little time as any other, and never waits for the interpreter.
    """
    signature = types.int64(types.intp, types.intp, types.intp, types.float64, types.intp, types.intp, types.intp)

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        word, real, code = ir.IntType(64), ir.DoubleType(), ir.IntType(32)
        place = word.as_pointer()
        prototype = ir.FunctionType(code, [place, place, word, word, real, word, word, word])
        status, raised = cgutils.alloca_once(builder, word), cgutils.alloca_once(builder, word)
        function = builder.inttoptr(args[0], prototype.as_pointer())
        ended = builder.call(function, [status, raised, *args[1:]])
        away = builder.select(builder.icmp_signed("==", ended, code(OUT_OF_PASSES)), word(AWAY), word(0))
        return builder.select(builder.icmp_signed("==", ended, code(0)), builder.load(status), away)

    return signature, codegen


def _call_row(table, wires, vector, base, row, t):  # type: ignore[no-untyped-def]
    first = table[row, ROW_WIRES]
    for i in range(table[row, ROW_INPUTS]):
        vector[SCRATCH + i] = vector[wires[first + i]]
    status = call_block(
        table[row, ROW_FUNCTION],
        table[row, ROW_PARAMETERS],
        table[row, ROW_STATE],
        t,
        base + 8 * SCRATCH,
        base + 8 * table[row, ROW_OUTPUTS],
        table[row, ROW_SIZES],
    )
    if status != 1 and vector[FAULT] == 0.0:  # the first fault stays until the operator clears it
        code = RAN_AWAY if status == AWAY else RAISED
        if 0 < status <= 1 + LARGEST_FAULT:
            code = status - 1
        vector[FAULT] = 1000.0 * (row + 1) + code
    return status


# Indices are unsigned: of a signed one Numba asks at every use whether it counts from the end.
COUNTS, INDICES, NUMBERS = "i8[]", "u8[]", "f8[]"
COUNTS_IN_ROWS, INDICES_IN_ROWS, NUMBERS_IN_ROWS = "i8[,]", "u8[,]", "f8[,]"
COUNT, NUMBER, ADDRESS = "i8", "f8", "i8"


class Given(NamedTuple):
    """All that the compiled loop is given, each with its kind there (``entry.py``)."""

    table: Annotated[np.ndarray, COUNTS_IN_ROWS]
    """A row for each block."""
    wires: Annotated[np.ndarray, INDICES]
    """Where in ``vector`` the inputs of all blocks stand."""
    vector: Annotated[np.ndarray, NUMBERS]
    dt: Annotated[float, NUMBER]
    ticks: Annotated[int, COUNT]
    """To be run."""
    groups: Annotated[np.ndarray, COUNTS]
    """Numbers of controller, inner and outer rows."""
    substeps: Annotated[int, COUNT]
    mode: Annotated[int, COUNT]
    """Bus index of the guard's mode, -1 if there is none."""
    end: Annotated[int, COUNT]
    """Ticks of the test, -1 if the rows before the guard never rest."""
    follow: Annotated[int, COUNT]
    """Bus index of the tick that a rig's loop takes from the test it serves, -1 if it counts its own."""
    hold: Annotated[int, COUNT]
    """Bus index of the channel that keeps the loop at its tick, -1 if there is none."""
    mover: Annotated[int, COUNT]
    """Row of the block that writes it."""
    watched: Annotated[np.ndarray, INDICES]
    """Channels whose changes are events."""
    seen: Annotated[int, ADDRESS]
    """Where in ``vector`` their last values stand."""
    log: Annotated[np.ndarray, NUMBERS_IN_ROWS]
    """A ring of rows."""
    logged: Annotated[np.ndarray, INDICES_IN_ROWS]
    """Channels of a row, after the time: runs of entries of ``vector``, as the first and their number."""
    every: Annotated[float, NUMBER]
    """Of so many ticks one is logged."""
    events: Annotated[np.ndarray, NUMBERS_IN_ROWS]
    """Room for rows (tick, which of the watched channels, value)."""
    controller: Annotated[int, ADDRESS]
    inner: Annotated[int, ADDRESS]
    outer: Annotated[int, ADDRESS]
    """Addresses of the groups of rows as functions (``fused.py``), all zero if there are none."""
    parameters: Annotated[int, ADDRESS]
    """Address of all parameters, for these."""
    control: Annotated[np.ndarray, COUNTS]
    """The words of ``kernels/control.py``."""


def run_ticks(given):  # type: ignore[no-untyped-def]
    """Run up to so many ticks; return COMPLETED, STOPPED (the guard has ended the test), GUARD_FAILED or LOST."""
    vector, control, watched, logged = given.vector, given.control, given.watched, given.logged
    dt, end = given.dt, given.end
    guarded, holds, follows = given.mode >= 0, given.hold >= 0, given.follow >= 0
    mode, hold = np.uint64(max(given.mode, 0)), np.uint64(max(given.hold, 0))
    follow, seen = np.uint64(max(given.follow, 0)), np.uint64(given.seen)
    base, words = vector.ctypes.data, control.ctypes.data
    guard = given.groups[0] - 1
    inner_end = given.groups[0] + given.groups[1]
    rows = inner_end + given.groups[2]
    fine = dt / given.substeps
    room, width = given.log.shape[0], 8 * given.log.shape[1]
    beginning = given.log.ctypes.data
    ending = beginning + room * width
    place = beginning + (control[ROWS] % room if room > 0 else 0) * width  # of the next row
    whole = given.controller != 0
    done = 0
    while done < given.ticks:
        tick = vector[TICK]
        request = load_word(words + 8 * REQUEST)
        waiting = request == 0 and load_word(words + 8 * WAIT) == 1
        vector[REQUESTED] = WAITING if waiting else float(request)
        first = given.mover if holds and vector[hold] != 0.0 else 0
        if end >= 0:
            going = vector[mode] in (RUNNING, ARMED) or (tick == 0.0 and vector[mode] == RAMPING)
            if waiting or not going or tick < 0.0 or tick >= end:
                first = guard
        if whole:
            if call_group(given.controller, first, base, given.parameters, tick * dt) & LAST:
                return GUARD_FAILED
        else:
            lost = False
            for row in range(first, given.groups[0]):
                status = call_row(given.table, given.wires, vector, base, row, tick * dt)
                if status != 1 and row == guard:
                    return GUARD_FAILED
                lost = lost or status == AWAY
            if lost and end < 0:  # else the guard has tripped, and the row rests
                return LOST
        if follows:
            tick = vector[follow]
        t = tick * dt
        waiting = waiting and guarded and vector[mode] == ARMED
        at_it = not guarded or vector[mode] == RUNNING or vector[mode] == RAMPING
        done_with_it = not waiting and (not holds or vector[hold] == 0.0 or not at_it)
        for i in range(watched.size):
            value = vector[watched[i]]
            if value != vector[seen + np.uint64(i)]:
                vector[seen + np.uint64(i)] = value
                event = control[EVENTS]
                if event < given.events.shape[0]:
                    given.events[event, 0] = tick
                    given.events[event, 1] = i
                    given.events[event, 2] = value
                    control[EVENTS] = event + 1
                else:
                    control[EVENTS_LOST] += 1
        if room > 0 and done_with_it and (given.every == 1.0 or tick % given.every == 0.0):
            written = control[ROWS]
            if written - load_word(words + 8 * ROWS_READ) < room:
                store_double(place, t)
                at = place + 8
                for i in range(logged.shape[0]):
                    length = 8 * np.int64(logged[i, 1])
                    copy_bytes(at, base + 8 * np.int64(logged[i, 0]), length)
                    at += length
                place += width
                if place == ending:
                    place = beginning
                store_word(words + 8 * ROWS, written + 1)
            else:
                control[ROWS_DROPPED] += 1
                if vector[FAULT] == 0.0:
                    vector[FAULT] = RING_FULL
        vector[RIG_FAULT] = 0.0
        for i in range(given.substeps):
            if whole:
                if call_group(given.inner, given.groups[0], base, given.parameters, t + (i + 1) * fine):
                    vector[RIG_FAULT] = 1.0
            else:
                for row in range(given.groups[0], inner_end):
                    status = call_row(given.table, given.wires, vector, base, row, t + (i + 1) * fine)
                    if status == AWAY:
                        return LOST
                    if status != 1:
                        vector[RIG_FAULT] = 1.0
        if whole:
            if call_group(given.outer, inner_end, base, given.parameters, t + dt):
                vector[RIG_FAULT] = 1.0
        else:
            for row in range(inner_end, rows):
                status = call_row(given.table, given.wires, vector, base, row, t + dt)
                if status == AWAY:
                    return LOST
                if status != 1:
                    vector[RIG_FAULT] = 1.0
        if done_with_it:
            vector[TICK] = tick + 1.0
            done += 1
            control[TICKS] += 1
        if guarded and (vector[mode] == FINISHED or vector[mode] == STOPPED_AT_REST):
            return STOPPED
    return COMPLETED


call_row = helper(inline="always", **OPTIONS)(_call_row)
compiled_run = Entry(
    run_ticks,
    tuple(hint.__metadata__[0] for hint in get_type_hints(Given, include_extras=True).values()),
    gather=Given,
)
"""The loop, compiled for good."""
