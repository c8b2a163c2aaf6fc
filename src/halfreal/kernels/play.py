"""Play: the moved part rests at a reversal until the gap has been crossed."""

from __future__ import annotations

from .compile import kernel


@kernel
def through_play(half, h, at, speed, x, v, a):  # type: ignore[no-untyped-def]
    """Position, velocity and acceleration of what is moved through a gap of ± ``half`` by a motion x, v, a.

    ``at`` and ``speed`` are where it was, and how fast, a step h ago.  Standing still, it stays where it is left; met
    by the flank, it has the flank's velocity at once.
    """
    if half == 0.0:
        return x, v, a
    now = min(max(at, x - half), x + half)
    if now == at:
        return at, 0.0, -speed / h
    return now, v, a if speed * (now - at) > 0.0 else (v - speed) / h
