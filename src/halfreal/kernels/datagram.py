"""The datagram of docs/link.md for compiled code: written, sealed and judged in a buffer given by its address."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .compile import kernel

MAGIC, VERSION = 0x4C524648, 3
HELLO, OFFER, REFUSAL, ARM, COMMAND, MEASUREMENT, STOP = 1, 2, 3, 4, 5, 6, 7
IDLE, ARMED_RIG, SAFE = 1.0, 2.0, 3.0
"""States of the rig."""
LEASE_OVER, OWN_LIMIT, OWN_STOP = 1.0, 2.0, 3.0
"""Why a rig has made itself safe."""

HEADER, CRC = 56, 4
IDENTITY_CHANNELS = 13
"""Of an OFFER, in which the rig says who it is."""
MOST_AXES, MOST_AUXILIARY = 64, 64
MOST_CHANNELS = 5 * MOST_AXES + MOST_AUXILIARY + IDENTITY_CHANNELS
LONGEST = HEADER + 8 * MOST_CHANNELS + CRC
"""Bytes of the longest datagram, an OFFER of all axes and auxiliary channels."""
ROOM = HEADER + 8 * (2 * MOST_AXES + MOST_AUXILIARY) + CRC
"""Bytes of the longest datagram within a session, a MEASUREMENT of all of them."""
BUFFER = (ROOM + 7) // 8 + 2
"""Doubles of a buffer that holds any datagram within a session."""
WINDOW = 64
"""Sequences behind the newest for which it is known whether they came."""


def furthest_ahead(lease: float, step: float) -> float:
    """How far a sequence may be ahead of the newest accepted: within a lease no more datagrams can have been lost."""
    return float(2 * math.ceil(lease / step) + WINDOW)


NEW, TRUNCATED, FOREIGN, CORRUPTED, REPLAYED, DUPLICATED, REORDERED = -1, 0, 1, 2, 3, 4, 5
"""What a datagram turns out to be; from 0 on its place among the counters."""
LOST, LATE = 6, 7
COUNTERS = ("truncated", "foreign", "corrupted", "replayed", "duplicated", "reordered", "lost", "late")


def halves(key: int) -> np.ndarray:
    """A 64-bit key as two numbers that are exact as floats."""
    return np.array([float(key >> 32), float(key & 0xFFFFFFFF)])


def _load(bits: int) -> Any:
    @intrinsic
    def load(typingctx, address):  # type: ignore[no-untyped-def]
        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            part = ir.IntType(bits)
            value = builder.load(builder.inttoptr(args[0], part.as_pointer()))
            value.align = 1  # the bytes of a datagram stand where they stand
            return value if bits == 64 else builder.zext(value, ir.IntType(64))

        return types.int64(types.intp), codegen

    return load


def _store(bits: int) -> Any:
    @intrinsic
    def store(typingctx, address, value):  # type: ignore[no-untyped-def]
        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            part = ir.IntType(bits)
            value = args[1] if bits == 64 else builder.trunc(args[1], part)
            builder.store(value, builder.inttoptr(args[0], part.as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(types.intp, types.int64), codegen

    return store


load8, load16, load32, load64 = _load(8), _load(16), _load(32), _load(64)
store8, store16, store32, store64 = _store(8), _store(16), _store(32), _store(64)


@intrinsic
def load_double(typingctx, address):  # type: ignore[no-untyped-def]
    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        value = builder.load(builder.inttoptr(args[0], ir.DoubleType().as_pointer()))
        value.align = 1
        return value

    return types.float64(types.intp), codegen


@intrinsic
def store_double(typingctx, address, value):  # type: ignore[no-untyped-def]
    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        builder.store(args[1], builder.inttoptr(args[0], ir.DoubleType().as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(types.intp, types.float64), codegen


def _crc_table() -> np.ndarray:
    """Of CRC-32 (IEEE 802.3), one byte at a time."""
    table = np.arange(256, dtype=np.int64)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ 0xEDB88320, table >> 1)
    return table


_TABLE = _crc_table()


@kernel
def crc32(address, length):  # type: ignore[no-untyped-def]
    value = 0xFFFFFFFF
    for i in range(length):
        value = _TABLE[(value ^ load8(address + i)) & 0xFF] ^ (value >> 8)
    return value ^ 0xFFFFFFFF


@kernel
def write_header(buffer, kind, count, key, sequence, answers, tick, timestamp, state, code):  # type: ignore[no-untyped-def]
    """Everything before the channels; ``key`` is its upper and lower 32 bits."""
    store32(buffer, MAGIC)
    store8(buffer + 4, VERSION)
    store8(buffer + 5, kind)
    store16(buffer + 6, count)
    store32(buffer + 8, int(key[1]))
    store32(buffer + 12, int(key[0]))
    store64(buffer + 16, int(sequence))
    store64(buffer + 24, int(answers))
    store64(buffer + 32, int(tick))
    store64(buffer + 40, timestamp)
    store32(buffer + 48, int(state))
    store32(buffer + 52, int(code))


@kernel
def seal(buffer, count):  # type: ignore[no-untyped-def]
    """Append the CRC; return the datagram's length."""
    end = HEADER + 8 * count
    store32(buffer + end, crc32(buffer, end))
    return end + CRC


@kernel
def ours(buffer, key, kind, count, other):  # type: ignore[no-untyped-def]
    """Whether a datagram belongs to the session, by its header."""
    if load32(buffer) != MAGIC or load8(buffer + 4) != VERSION:
        return False
    if float(load32(buffer + 8)) != key[1] or float(load32(buffer + 12)) != key[0]:
        return False
    got, channels = load8(buffer + 5), load16(buffer + 6)
    if other != 0 and got == other:
        return channels == 0
    if kind == COMMAND and got == ARM:  # a copy of the one that opened the session
        return channels == count and load64(buffer + 16) == 1
    return got == kind and channels == count


@kernel
def judge(buffer, length, key, kind, count, other, ahead, counts, newest, seen):  # type: ignore[no-untyped-def]
    """What a datagram of a session is: NEW, or why it is forgotten; it is counted, and a new one accepted.

    Expected are ``kind`` with ``count`` channels, or ``other`` (0: none) without any, which is STOP and valid whatever
    its sequence.  ``newest`` holds the newest sequence accepted, ``seen[q % WINDOW]`` the last one accepted in that
    place; one that is more than ``ahead`` of the newest is none of the other end's.
    """
    verdict = NEW
    sequence = 0.0
    if length < HEADER + CRC or length != HEADER + 8 * load16(buffer + 6) + CRC:
        verdict = TRUNCATED
    elif length > ROOM or not ours(buffer, key, kind, count, other):
        verdict = FOREIGN
    else:
        sequence = float(load64(buffer + 16))
        stops = other != 0 and load8(buffer + 5) == other
        beyond = sequence > newest[0] + ahead or sequence < 0.0  # an unsigned number, read as a signed one
        if beyond and not stops:
            verdict = FOREIGN
        elif load32(buffer + length - CRC) != crc32(buffer, length - CRC):
            verdict = CORRUPTED
        elif stops and (beyond or sequence <= newest[0]):
            return NEW
        elif load8(buffer + 5) == COMMAND:
            for i in range(count):
                if not np.isfinite(load_double(buffer + HEADER + 8 * i)):
                    verdict = CORRUPTED
    if verdict == NEW and sequence <= newest[0]:
        if sequence <= newest[0] - WINDOW:
            verdict = REPLAYED
        elif seen[int(sequence) % WINDOW] == sequence:
            verdict = DUPLICATED
        else:
            verdict = REORDERED
            seen[int(sequence) % WINDOW] = sequence
            counts[LOST] = max(counts[LOST] - 1.0, 0.0)
    if verdict == NEW:
        counts[LOST] += sequence - newest[0] - 1.0
        newest[0] = sequence
        seen[int(sequence) % WINDOW] = sequence
    else:
        counts[verdict] += 1.0
    return verdict
