"""The compiled loop: one tick after another through a table of blocks.

    measure → start-up → virtual substructure → coupling → guard → record → rig → measure of the next tick

A row of ``table`` is a block: address of its function, of its parameters, of its state, where its input indices begin
in ``wires``, how many they are, and where its outputs begin in ``vector``.  The rows come in three groups: the
controller's (the last of them is the guard), the rig's inner rows, run ``substeps`` times a tick on the rig's own finer
step, and the rig's outer rows, run once (sensors, or the link to a rig elsewhere).

``vector`` is everything that changes: ``[tick, fault, input scratch | bus | states | last values of watched
channels]``.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from llvmlite import ir
from numba import float64, int64, intp, njit, types, uint64
from numba.extending import intrinsic

from .compile import INSIDE, OPTIONS, cacheable

TICK, FAULT = 0, 1
SCRATCH = 2
RAISED = 999
"""Fault code of a block that raised an exception."""

COMPLETED, STOPPED, GUARD_FAILED = 0, 1, 2
"""How a stretch of ticks ended: all run; the guard has finished its trip; the guard itself failed."""

RUNNING, TRIPPED, FINISHED = 0.0, 1.0, 2.0
"""Values of the guard's mode."""

ROW_FUNCTION, ROW_PARAMETERS, ROW_STATE, ROW_WIRES, ROW_INPUTS, ROW_OUTPUTS, ROW_LENGTH = 0, 1, 2, 3, 4, 5, 6


@intrinsic
def call_block(typingctx, function, p, s, t, u, y):  # type: ignore[no-untyped-def]
    """Call the block whose compiled function stands at an address."""
    signature = types.int64(types.intp, types.intp, types.intp, types.float64, types.intp, types.intp)

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        word, real = ir.IntType(64), ir.DoubleType()
        prototype = ir.FunctionType(word, [word, word, real, word, word])
        return builder.call(builder.inttoptr(args[0], prototype.as_pointer()), args[1:])

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
    )
    if status != 1 and vector[FAULT] == 0.0:  # the first fault stays until the operator clears it
        vector[FAULT] = 1000.0 * (row + 1) + (status - 1 if status > 0 else RAISED)
    return status


def _run(table, wires, vector, dt, ticks, groups, substeps, mode, watched, seen, log, logged, every, events, counts):  # type: ignore[no-untyped-def]
    """Run up to ``ticks`` ticks; return COMPLETED, STOPPED (the guard has finished) or GUARD_FAILED.

    ``groups`` holds the numbers of controller, inner and outer rows; ``mode`` the bus index of the guard's mode;
    ``watched``/``seen`` the channels whose changes are events and where their last values stand; ``counts`` the numbers
    of ticks run, rows logged, events written and events that found no room.
    """
    base = vector.ctypes.data
    guard = groups[0] - 1
    inner_end = groups[0] + groups[1]
    rows = inner_end + groups[2]
    fine = dt / substeps
    for _ in range(ticks):
        tick = vector[TICK]
        t = tick * dt
        for row in range(groups[0]):
            if call_row(table, wires, vector, base, row, t) != 1 and row == guard:
                return GUARD_FAILED
        for i in range(watched.size):
            value = vector[watched[i]]
            if value != vector[seen + i]:
                vector[seen + i] = value
                if counts[2] < events.shape[0]:
                    events[counts[2], 0] = tick
                    events[counts[2], 1] = i
                    events[counts[2], 2] = value
                    counts[2] += 1
                else:
                    counts[3] += 1
        if (every == 1.0 or tick % every == 0.0) and counts[1] < log.shape[0]:
            row = counts[1]
            log[row, 0] = t
            for i in range(logged.size):
                log[row, 1 + i] = vector[logged[i]]
            counts[1] += 1
        for i in range(substeps):
            for row in range(groups[0], inner_end):
                call_row(table, wires, vector, base, row, t + (i + 1) * fine)
        for row in range(inner_end, rows):
            call_row(table, wires, vector, base, row, t + dt)
        vector[TICK] = tick + 1.0
        counts[0] += 1
        if mode >= 0 and vector[mode] == FINISHED:
            return STOPPED
    return COMPLETED


call_row = njit(inline="always", **OPTIONS)(_call_row)

# Indices are unsigned: of a signed one Numba asks at every use whether it counts from the end.
_SIGNATURE = int64(
    int64[:, ::1],
    uint64[::1],
    float64[::1],
    float64,
    int64,
    int64[::1],
    int64,
    int64,
    uint64[::1],
    intp,
    float64[:, ::1],
    uint64[::1],
    float64,
    float64[:, ::1],
    int64[::1],
)


@cache
def compiled_run() -> Any:
    """The loop, compiled for good (first call) or read from the disk cache."""
    function = cacheable(_run, INSIDE)

    @njit(_SIGNATURE, cache=hasattr(function, "_set_uuid"), **OPTIONS)
    def run(  # type: ignore[no-untyped-def]
        table, wires, vector, dt, ticks, groups, substeps, mode, watched, seen, log, logged, every, events, counts
    ):
        return function(
            table, wires, vector, dt, ticks, groups, substeps, mode, watched, seen, log, logged, every, events, counts
        )

    return run
