"""The machine's clock for compiled code: nanoseconds since it started, and sleeping until one of them.

CLOCK_MONOTONIC never jumps.  The functions of the C library are called directly: no interpreter, no allocation.
"""

from __future__ import annotations

import time
from typing import Any

from llvmlite import ir

from .compile import cgutils, intrinsic, kernel, types

CLOCK_MONOTONIC, CLOCK_THREAD = time.CLOCK_MONOTONIC, time.CLOCK_THREAD_CPUTIME_ID
TIMER_ABSTIME = 1
NANO = 1_000_000_000

_word, _int = ir.IntType(64), ir.IntType(32)
_timespec = ir.LiteralStructType([_word, _word])


def external(builder: Any, name: str, result: ir.Type, arguments: list[ir.Type]) -> Any:
    """A function of the C library, declared for the code being built."""
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(result, arguments), name)


def _reading(clock: int) -> Any:
    @intrinsic
    def reading(typingctx):  # type: ignore[no-untyped-def]
        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            stamp = cgutils.alloca_once(builder, _timespec)
            read = external(builder, "clock_gettime", _int, [_int, _timespec.as_pointer()])
            builder.call(read, [_int(clock), stamp])
            seconds = builder.load(cgutils.gep_inbounds(builder, stamp, 0, 0))
            rest = builder.load(cgutils.gep_inbounds(builder, stamp, 0, 1))
            return builder.add(builder.mul(seconds, _word(NANO)), rest)

        return types.int64(), codegen

    return reading


now = _reading(CLOCK_MONOTONIC)
"""Nanoseconds of the monotonic clock, as an int64."""
thread_time = _reading(CLOCK_THREAD)
"""Nanoseconds for which the calling thread has run on a processor, as an int64; where the kernel counts them, without
those that interrupts or the host of a virtual machine have taken."""


@intrinsic
def sleep_until(typingctx, deadline):  # type: ignore[no-untyped-def]
    """Sleep until the monotonic clock shows ``deadline`` [ns, int64]; return 0, or the error if woken early."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        stamp = cgutils.alloca_once(builder, _timespec)
        builder.store(builder.sdiv(args[0], _word(NANO)), cgutils.gep_inbounds(builder, stamp, 0, 0))
        builder.store(builder.srem(args[0], _word(NANO)), cgutils.gep_inbounds(builder, stamp, 0, 1))
        pointer = _timespec.as_pointer()
        sleep = external(builder, "clock_nanosleep", _int, [_int, _int, pointer, pointer])
        code = builder.call(sleep, [_int(CLOCK_MONOTONIC), _int(TIMER_ABSTIME), stamp, pointer(None)])
        return builder.sext(code, _word)

    return types.int64(types.int64), codegen


@kernel
def sleep_before(deadline, spin):  # type: ignore[no-untyped-def]
    """Sleep until ``spin`` [ns] before the deadline, if it is further away; return the time after it [ns]."""
    time = now()
    if deadline - time > spin:
        sleep_until(deadline - spin)
        time = now()
    return time


@kernel
def watch_until(deadline, time):  # type: ignore[no-untyped-def]
    """Watch the clock, which shows ``time`` [ns], until the deadline; return the time after it [ns]."""
    while time < deadline:
        time = now()
    return time


@kernel
def wait_until(deadline, spin):  # type: ignore[no-untyped-def]
    """Sleep until ``spin`` [ns] before the deadline, and watch the clock from there; return the time after it [ns]."""
    return watch_until(deadline, sleep_before(deadline, spin))
