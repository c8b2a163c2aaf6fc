"""The ways of a datagram for compiled code: a connected UDP socket, a line of bytes, or two mailboxes in shared memory
(docs/link.md).

``way`` is an array: [medium, file, inbox address, outbox address]; the file is a socket or a serial port, whose inbox
and outbox hold what ``stream.py`` keeps.  ``taken`` holds the counter of the mailbox content last read.
"""

from __future__ import annotations

import errno
import select
import socket
from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from .atomic import fence, load_word, store_word
from .bytes import load64, store64
from .clock import external, now, sleep_until
from .compile import cgutils, intrinsic, kernel, types
from .stream import DATAGRAM, GONE, stream_receive, stream_send

UDP, MAILBOX, STREAM = 0.0, 1.0, 2.0
MEDIUM, SOCKET, INBOX, OUTBOX = 0, 1, 2, 3
COUNTER, LENGTH, CONTENT = 0, 8, 16
"""Offsets in a mailbox."""
NAP = 20_000
"""Nanoseconds between two looks into a mailbox, after some time of watching it, or at a port that was unplugged."""

_word, _int, _short = ir.IntType(64), ir.IntType(32), ir.IntType(16)
_pollfd = ir.LiteralStructType([_int, _short, _short])
_timespec = ir.LiteralStructType([_word, _word])
NOTHING, FAILED = -1, -2
"""Instead of a length: no datagram is there, or no room for one; the system reports an error, of its own or by ICMP."""
TRIES = 8
"""A socket keeps one error at a time, so that the next try meets another only if a further message has come between."""
MOST = 1024
"""Datagrams looked at in one tick: a flood does not hold up a loop."""
_SEND_FLAGS = int(socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
_RECEIVE_FLAGS = int(socket.MSG_DONTWAIT | socket.MSG_TRUNC)


def _or_why_not(builder: Any, length: Any) -> Any:
    reason = builder.load(builder.call(external(builder, "__errno_location", _int.as_pointer(), []), []))
    none = builder.select(builder.icmp_signed("==", reason, _int(errno.EAGAIN)), _word(NOTHING), _word(FAILED))
    return builder.select(builder.icmp_signed("<", length, _word(0)), none, length)


def _on_socket(builder: Any, name: str, args: Sequence[Any], flags: int) -> Any:
    """send(2) or recv(2) of a socket, a buffer and a length."""
    handle, buffer, length = args
    call = external(builder, name, _word, [_int, _word, _word, _int])
    return _or_why_not(builder, builder.call(call, [builder.trunc(handle, _int), buffer, length, _int(flags)]))


@intrinsic
def socket_send(typingctx, handle, buffer, length):  # type: ignore[no-untyped-def]
    """send(2) without waiting: bytes sent, or NOTHING or FAILED."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return _on_socket(builder, "send", args, _SEND_FLAGS)

    return types.int64(types.int64, types.intp, types.int64), codegen


@intrinsic
def socket_receive(typingctx, handle, buffer, room):  # type: ignore[no-untyped-def]
    """recv(2) without waiting: the length the datagram had, also if it found no room, or NOTHING or FAILED."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return _on_socket(builder, "recv", args, _RECEIVE_FLAGS)

    return types.int64(types.int64, types.intp, types.int64), codegen


@intrinsic
def socket_wait(typingctx, handle, nanoseconds):  # type: ignore[no-untyped-def]
    """ppoll(2): whether something can be received within so many nanoseconds."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        watched = cgutils.alloca_once(builder, _pollfd)
        builder.store(builder.trunc(args[0], _int), cgutils.gep_inbounds(builder, watched, 0, 0))
        builder.store(_short(select.POLLIN), cgutils.gep_inbounds(builder, watched, 0, 1))
        builder.store(_short(0), cgutils.gep_inbounds(builder, watched, 0, 2))
        time = cgutils.alloca_once(builder, _timespec)
        second = _word(1_000_000_000)
        builder.store(builder.sdiv(args[1], second), cgutils.gep_inbounds(builder, time, 0, 0))
        builder.store(builder.srem(args[1], second), cgutils.gep_inbounds(builder, time, 0, 1))
        call = external(
            builder, "ppoll", _int, [_pollfd.as_pointer(), _word, _timespec.as_pointer(), ir.IntType(8).as_pointer()]
        )
        code = builder.call(call, [watched, _word(1), time, ir.IntType(8).as_pointer()(None)])
        return builder.sext(code, _word)

    return types.int64(types.int64, types.int64), codegen


@kernel
def socket_send_heeding_nobody(handle, buffer, length):  # type: ignore[no-untyped-def]
    """Anyone can send ICMP messages (a port is closed, a host is down, …): the system then fails once for each."""
    for _ in range(TRIES):
        sent = socket_send(handle, buffer, length)
        if sent != FAILED:
            return sent
    return NOTHING


@kernel
def socket_receive_heeding_nobody(handle, buffer, room):  # type: ignore[no-untyped-def]
    """What was really sent is behind such messages; an end that has closed is recognised by its silence."""
    for _ in range(TRIES):
        length = socket_receive(handle, buffer, room)
        if length != FAILED:
            return length
    return NOTHING


@kernel
def copy_words(source, target, length):  # type: ignore[no-untyped-def]
    for i in range(0, length, 8):
        store64(target + i, load64(source + i))


@kernel
def wire_send(way, buffer, length):  # type: ignore[no-untyped-def]
    if way[MEDIUM] == UDP:
        return socket_send_heeding_nobody(int(way[SOCKET]), buffer, length)
    if way[MEDIUM] == STREAM:
        return length if stream_send(int(way[SOCKET]), int(way[OUTBOX]), buffer, length) else NOTHING
    box = int(way[OUTBOX])
    counter = load_word(box + COUNTER)
    store_word(box + COUNTER, counter | 1)
    fence()
    store_word(box + LENGTH, length)
    copy_words(buffer, box + CONTENT, length)
    store_word(box + COUNTER, (counter | 1) + 1)
    return length


@kernel
def wire_receive(way, taken, buffer, room):  # type: ignore[no-untyped-def]
    """Length of the next datagram, now in the buffer (as much of it as finds room), or NOTHING."""
    if way[MEDIUM] == UDP:
        return socket_receive_heeding_nobody(int(way[SOCKET]), buffer, room)
    if way[MEDIUM] == STREAM:
        whole = stream_receive(int(way[SOCKET]), int(way[INBOX]))
        copy_words(int(way[INBOX]) + DATAGRAM, buffer, min(whole, room))
        return whole
    box = int(way[INBOX])
    counter = load_word(box + COUNTER)
    if counter & 1 or float(counter) == taken[0]:
        return NOTHING
    length = load_word(box + LENGTH)
    copy_words(box + CONTENT, buffer, min(max(length, 0), room))
    fence()
    if load_word(box + COUNTER) != counter:  # it is being replaced: the new one will be there soon
        return NOTHING
    taken[0] = float(counter)
    return length


@kernel
def wire_wait(way, taken, deadline, spin, start):  # type: ignore[no-untyped-def]
    """Until a datagram may be there or the monotonic clock shows ``deadline`` [ns]; return what it shows then.

    ``start`` is since when a datagram is awaited [ns]: for ``spin`` ns from then on it is watched for, then slept until
    one comes.  A socket is watched by receiving, so that a datagram is taken by the call that finds it.
    """
    time = now()
    if way[MEDIUM] != MAILBOX:
        if time - start >= spin and time < deadline:
            ready = socket_wait(int(way[SOCKET]), deadline - time) > 0
            if ready and way[MEDIUM] == STREAM and load64(int(way[INBOX]) + GONE) != 0:  # ready for ever
                sleep_until(min(time + NAP, deadline))
            time = now()
        return time
    while time < deadline:
        counter = load_word(int(way[INBOX]) + COUNTER)
        if counter & 1 == 0 and float(counter) != taken[0]:
            break
        if time - start >= spin:
            sleep_until(min(time + NAP, deadline))
        time = now()
    return time
