"""Datagrams on a line of bytes, such as a serial port, for compiled code: each between two zeros (docs/link.md).

S. Cheshire and M. Baker, Consistent overhead byte stuffing, IEEE/ACM Transactions on Networking 7(2), 1999: a datagram
is cut at its zeros into blocks, which are sent without them, each after its length + 1.  A block has at most 254 bytes;
behind a full one no zero was left out::

    11 22 00 33   →   00 | 03 11 22 | 02 33 | 00

No byte of a frame is zero but those at its ends: regardless of what was lost, doubled or added on the way, the next
zero ends it, and whoever listens is in step again.  What came between two zeros and is no datagram is reported as one
of a length that none has, so that it is counted; that it is no other datagram is the tag's business.

``line`` is the address of what is kept between two looks (``LINE`` bytes, zeros at first), ``frame`` that of a buffer
of ``FRAME`` bytes.
"""

from __future__ import annotations

from llvmlite import ir

from .bytes import load8, load64, store8, store64
from .clock import external
from .compile import intrinsic, kernel, types
from .datagram import LONGEST

AT, END, LENGTH, BLOCK, LEFT, GONE, HEARD, ENDED = 0, 8, 16, 24, 32, 40, 48, 56
"""Places of numbers in a line: the next byte to be looked at and the end of those read; bytes of the datagram so far;
its block's first byte, and how many of that are to come; whether the port is closed; bytes received in all;
whether a datagram was whole."""
BYTES, READ = 64, 4096
"""Place of bytes that were read, and how many are read at once."""
DATAGRAM = BYTES + READ
OVERLONG = LONGEST + 1
LINE = (DATAGRAM + OVERLONG + 15) // 8 * 8
FRAME = LONGEST + LONGEST // 254 + 3
LOOKS = 16
"""Readings at most for one datagram: a line that is never silent does not hold up a loop."""

_word, _int = ir.IntType(64), ir.IntType(32)


@intrinsic
def stream_read(typingctx, handle, buffer, room):  # type: ignore[no-untyped-def]
    """read(2): bytes read; less than 0: none yet; 0: the port is closed."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        call = external(builder, "read", _word, [_int, _word, _word])
        return builder.call(call, [builder.trunc(args[0], _int), args[1], args[2]])

    return types.int64(types.int64, types.intp, types.int64), codegen


@intrinsic
def stream_write(typingctx, handle, buffer, length):  # type: ignore[no-untyped-def]
    """write(2): bytes written; less than 0: none."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        call = external(builder, "write", _word, [_int, _word, _word])
        return builder.call(call, [builder.trunc(args[0], _int), args[1], args[2]])

    return types.int64(types.int64, types.intp, types.int64), codegen


@kernel
def encode(buffer, length, frame):  # type: ignore[no-untyped-def]
    """A datagram's frame; its length."""
    store8(frame, 0)
    block, at, first = 1, 2, 1
    for i in range(length):
        byte = load8(buffer + i)
        if byte != 0:
            store8(frame + at, byte)
            at += 1
            first += 1
        if byte == 0 or (first == 255 and i + 1 < length):
            store8(frame + block, first)
            block, first = at, 1
            at += 1
    store8(frame + block, first)
    store8(frame + at, 0)
    return at + 1


@kernel
def keep(line, length, byte):  # type: ignore[no-untyped-def]
    """One byte more of the datagram, as far as there is room; its length, which never gets beyond one too long."""
    if length < OVERLONG:
        store8(line + DATAGRAM + length, byte)
    return min(length + 1, OVERLONG)


@kernel
def decode(line, byte):  # type: ignore[no-untyped-def]
    """The next byte of the line: the length of the datagram that is whole with it, or -1."""
    length, block, left = load64(line + LENGTH), load64(line + BLOCK), load64(line + LEFT)
    if load64(line + ENDED) != 0:
        store64(line + ENDED, 0)
        length, block, left = 0, 0, 0
    whole = -1
    if byte == 0:
        if block != 0:  # else nothing stands between two zeros
            whole = length if left == 0 else 1  # cut off: no datagram is so short
            store64(line + ENDED, 1)
    elif left > 0:
        length = keep(line, length, byte)
        left -= 1
    else:
        if block != 0 and block != 255:
            length = keep(line, length, 0)
        block, left = byte, byte - 1
    store64(line + LENGTH, length)
    store64(line + BLOCK, block)
    store64(line + LEFT, left)
    return whole


@kernel
def stream_send(handle, frame, buffer, length):  # type: ignore[no-untyped-def]
    """Whether the line took a datagram; of one that it took in part the rest is lost, and the next begins again."""
    framed = encode(buffer, length, frame)
    return stream_write(handle, frame, framed) == framed


@kernel
def stream_receive(handle, line):  # type: ignore[no-untyped-def]
    """Length of the next datagram, which is at ``line + DATAGRAM`` now; -1: none is whole yet."""
    for _ in range(LOOKS):
        at, end = load64(line + AT), load64(line + END)
        while at < end:
            whole = decode(line, load8(line + BYTES + at))
            at += 1
            if whole >= 0:
                store64(line + AT, at)
                return whole
        store64(line + AT, at)
        got = stream_read(handle, line + BYTES, READ)
        store64(line + GONE, 1 if got == 0 else 0)
        if got <= 0:
            break
        store64(line + AT, 0)
        store64(line + END, got)
        store64(line + HEARD, load64(line + HEARD) + got)
    return -1
