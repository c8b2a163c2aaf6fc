"""The datagram of docs/link.md for compiled code: written, tagged and judged in a buffer given by its address."""

from __future__ import annotations

import math

import numpy as np

from .bytes import load8, load16, load32, load64, load_double, store8, store16, store32, store64
from .compile import kernel
from .siphash import TAG, siphash

MAGIC, VERSION = 0x4C524648, 4
HELLO, OFFER, REFUSAL, ARM, COMMAND, MEASUREMENT, STOP = 1, 2, 3, 4, 5, 6, 7
IDLE, ARMED_RIG, SAFE = 1.0, 2.0, 3.0
"""States of the rig."""
LEASE_OVER, OWN_LIMIT, OWN_STOP, OWN_FAULT = 1.0, 2.0, 3.0, 4.0
"""Why a rig has made itself safe."""

HEADER = 56
ASKED_CHANNELS = 4
"""Of a HELLO, and of an ARM, which requires the same."""
IDENTITY_CHANNELS = 13
"""Of an OFFER, in which the rig says who it is."""
MOST_AXES, MOST_AUXILIARY = 64, 64
MOST_CHANNELS = 5 * MOST_AXES + MOST_AUXILIARY + IDENTITY_CHANNELS
LONGEST = HEADER + 8 * MOST_CHANNELS + TAG
"""Bytes of the longest datagram, an OFFER of all axes and auxiliary channels."""
ROOM = HEADER + 8 * (2 * MOST_AXES + MOST_AUXILIARY) + TAG
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


OPEN = bytes(TAG)
"""The key of a link without a secret: its tags are checksums, which anyone can make."""


def credentials(session: int, key: bytes = OPEN) -> np.ndarray:
    """A session for compiled code: its number and its key, in parts of 32 bits, which are exact as floats."""
    parts = np.frombuffer(session.to_bytes(8, "little") + key, dtype="<u4")
    return parts.astype(float)


@kernel
def word(session, place):  # type: ignore[no-untyped-def]
    """64 bits of what ``credentials`` made."""
    return int(session[place]) | int(session[place + 1]) << 32


@kernel
def write_header(buffer, kind, count, session, sequence, answers, tick, timestamp, state, code):  # type: ignore[no-untyped-def]
    """Everything before the channels."""
    store32(buffer, MAGIC)
    store8(buffer + 4, VERSION)
    store8(buffer + 5, kind)
    store16(buffer + 6, count)
    store64(buffer + 8, word(session, 0))
    store64(buffer + 16, int(sequence))
    store64(buffer + 24, int(answers))
    store64(buffer + 32, int(tick))
    store64(buffer + 40, timestamp)
    store32(buffer + 48, int(state))
    store32(buffer + 52, int(code))


@kernel
def seal(buffer, count, session):  # type: ignore[no-untyped-def]
    """Append the tag; return the datagram's length."""
    end = HEADER + 8 * count
    first, second = siphash(buffer, end, word(session, 2), word(session, 4))
    store64(buffer + end, first)
    store64(buffer + end + 8, second)
    return end + TAG


@kernel
def sealed(buffer, length, session):  # type: ignore[no-untyped-def]
    """Whether the tag at the end is that of all before it; the time this takes does not reveal where it differs."""
    end = length - TAG
    first, second = siphash(buffer, end, word(session, 2), word(session, 4))
    return (load64(buffer + end) ^ first) | (load64(buffer + end + 8) ^ second) == 0


@kernel
def ours(buffer, session, kind, count, other):  # type: ignore[no-untyped-def]
    """Whether a datagram belongs to the session, by its header."""
    if load32(buffer) != MAGIC or load8(buffer + 4) != VERSION:
        return False
    if load64(buffer + 8) != word(session, 0):
        return False
    got, channels = load8(buffer + 5), load16(buffer + 6)
    if other != 0 and got == other:
        return channels == 0
    if kind == COMMAND and got == ARM:  # a copy of the one that opened the session
        return channels == ASKED_CHANNELS and load64(buffer + 16) == 1
    return got == kind and channels == count


@kernel
def judge(buffer, length, session, kind, count, other, ahead, counts, newest, seen):  # type: ignore[no-untyped-def]
    """What a datagram of a session is: NEW, or why it is forgotten; it is counted, and a new one accepted.

    Expected are ``kind`` with ``count`` channels, or ``other`` (0: none) without any, which is STOP and valid
    regardless of its sequence.  ``newest`` holds the newest sequence accepted, ``seen[q % WINDOW]`` the last one
    accepted in that place; one that is more than ``ahead`` of the newest is none of the other end's.
    """
    verdict = NEW
    sequence = 0.0
    if length < HEADER + TAG or length != HEADER + 8 * load16(buffer + 6) + TAG:
        verdict = TRUNCATED
    elif length > ROOM or not ours(buffer, session, kind, count, other):
        verdict = FOREIGN
    else:
        sequence = float(load64(buffer + 16))
        stops = other != 0 and load8(buffer + 5) == other
        beyond = sequence > newest[0] + ahead or sequence < 0.0  # an unsigned number, read as a signed one
        if beyond and not stops:
            verdict = FOREIGN
        elif not sealed(buffer, length, session):
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
