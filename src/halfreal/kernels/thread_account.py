"""What the system has done to the calling thread, for compiled code: time on a processor, time kept waiting, switches.

The time for which a thread was ready and others ran in its place, the run delay, is the second number of
``/proc/thread-self/schedstat`` [ns], a file that the thread itself opens before it begins.  The numbers of switches are
those of getrusage(2): involuntary ones, in which the thread had to give way, and voluntary ones, in which it waited.

A reading takes 1 to 3 µs, so a loop takes it in time that is left.
"""

from __future__ import annotations

import os

from llvmlite import ir

from .bytes import load8, load64
from .clock import external, thread_time
from .compile import intrinsic, kernel, types

PLACE = "/proc/thread-self/schedstat"
RUSAGE_THREAD = 1
VOLUNTARY, INVOLUNTARY = 128, 136
"""Places in a ``struct rusage``, on every Linux of 64 bits."""
BUFFER = 18
"""Doubles of a buffer for one, and for the line of ``PLACE``."""
READ_TO = 8 * BUFFER - 8
SPACE, ZERO, NINE = 32, 48, 57
RAN, DELAYED, MADE_TO_WAIT, WAITED = 0, 1, 2, 3
"""Entries of an account: nanoseconds on a processor, and of run delay (-1: not known); involuntary and voluntary
switches."""
ENTRIES = 4

_word, _int = ir.IntType(64), ir.IntType(32)


@intrinsic
def read_again(typingctx, handle, buffer, room):  # type: ignore[no-untyped-def]
    """pread(2) from the beginning of a file: bytes read; less than 0: it cannot be read."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        call = external(builder, "pread", _word, [_int, _word, _word, _word])
        return builder.call(call, [builder.trunc(args[0], _int), args[1], args[2], _word(0)])

    return types.int64(types.int64, types.intp, types.int64), codegen


@intrinsic
def read_usage(typingctx, buffer):  # type: ignore[no-untyped-def]
    """getrusage(2) of the calling thread; 0 if it was read."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        call = external(builder, "getrusage", _int, [_int, _word])
        return builder.sext(builder.call(call, [_int(RUSAGE_THREAD), args[0]]), _word)

    return types.int64(types.intp), codegen


@kernel
def second_number(buffer, length):  # type: ignore[no-untyped-def]
    """The second of the whole numbers in a text of so many bytes; -1 if there is none."""
    at, value = 0, -1
    while at < length and load8(buffer + at) != SPACE:
        at += 1
    at += 1
    while at < length and ZERO <= load8(buffer + at) <= NINE:
        value = 10 * max(value, 0) + load8(buffer + at) - ZERO
        at += 1
    return value


@kernel
def read_account(handle, buffer, account):  # type: ignore[no-untyped-def]
    """Read the account of the calling thread; ``handle`` is that of ``PLACE``, or -1 where there is none."""
    account[RAN] = float(thread_time())
    account[DELAYED] = -1.0
    if handle >= 0:
        account[DELAYED] = float(second_number(buffer, read_again(handle, buffer, READ_TO)))
    if read_usage(buffer) == 0:
        account[MADE_TO_WAIT] = float(load64(buffer + INVOLUNTARY))
        account[WAITED] = float(load64(buffer + VOLUNTARY))


def open_account() -> int:
    """Open the account of the calling thread: a handle, or -1 where this kernel keeps no run delay."""
    try:
        handle = os.open(PLACE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1
    numbers = os.pread(handle, READ_TO, 0).split()
    if len(numbers) == 3 and int(numbers[2]) > 0:  # the times that it began to run: 0 where nothing is counted
        return handle
    os.close(handle)
    return -1
