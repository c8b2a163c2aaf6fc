"""Runs of a loop from perturbed states: one compiled call for many of them.

Each run is a call of the compiled loop (``tick.py``) with a row of arguments that is packed once.  Called from Python,
one by one, most of the time of a short run went into the call.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir

from .compile import cgutils, intrinsic, types
from .entry import entry
from .tick import FAULT, LOST

FAILED = -1
"""In place of how a run ended: the compiled loop itself raised an exception."""


@intrinsic
def call_entry(typingctx, function, words):  # type: ignore[no-untyped-def]
    """Call the compiled function at an address (``entry.py``) with its row of arguments: its value, or ``FAILED``."""
    signature = types.int64(types.intp, types.intp)

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        word, code = ir.IntType(64), ir.IntType(32)
        place = word.as_pointer()
        prototype = ir.FunctionType(code, [place, place, word])
        value, raised = cgutils.alloca_once(builder, word), cgutils.alloca_once(builder, word)
        ended = builder.call(builder.inttoptr(args[0], prototype.as_pointer()), [value, raised, args[1]])
        return builder.select(builder.icmp_signed("==", ended, code(0)), builder.load(value), word(FAILED))

    return signature, codegen


@entry("i8", "i8[]", "i8[]", "f8[]", "f8[]", "i8", "u8[]", "f8[]", "u8[]", "f8[,]")
def run_perturbed(run, words, control, vector, base, mode, columns, by, rows, found):  # type: ignore[no-untyped-def]
    """Run the loop from ``base`` with one entry changed, for each change: ``rows`` of its vector, a row each.

    NaN after a fault, or where the entry ``mode`` has changed.  Returns 0, with ``base`` in the vector again, or how
    the run ended that did not come to an end.
    """
    for i in range(columns.size):
        for k in range(vector.size):
            vector[k] = base[k]
        for k in range(control.size):
            control[k] = 0
        vector[columns[i]] += by[i]
        ended = call_entry(run, words.ctypes.data)
        if ended in (FAILED, LOST):
            return ended
        well = vector[FAULT] == base[FAULT] and vector[mode] == base[mode]
        for k in range(rows.size):
            found[i, k] = vector[rows[k]] if well else np.nan
    for k in range(vector.size):
        vector[k] = base[k]
    return 0
