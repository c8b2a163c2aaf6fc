"""How what moves comes to rest: with a velocity that falls to zero in equal parts, on all axes together.

The guard stops a test in this way, and both rig ends theirs (``links/rig_command.py``, docs/link/halfreal_rig.c; the
rules are in docs/link.md).  Of a command at x with the velocity v that brakes in the time T, after e::

    x + v (e − e² / 2T)  =  rest − (v / 2T) (T − e)²,      rest = x + v T / 2

T is the shortest in which no axis has more than its acceleration: in an emergency that of the settings, which is at
once where they have none; otherwise no more than the largest that the motion has had, but within ``longest``.  It is
shorter where an axis would pass its limit: that comes first.
"""

from __future__ import annotations

from .compile import kernel

BRAKING = 0.1
"""The longest that braking takes after a trip, where the settings have no limit of acceleration [s]."""


@kernel
def note_acceleration(sharpest, i, change, step):  # type: ignore[no-untyped-def]
    """Keep the largest acceleration of axis i, whose way in a step has changed by so much."""
    sharpest[i] = max(sharpest[i], abs(change) / (step * step))


@kernel
def time_to_brake(position, velocity, sharpest, most, limit, longest, emergency):  # type: ignore[no-untyped-def]
    """Time in which all axes come to rest together [s].

    ``sharpest`` is the largest acceleration that each axis has had, ``most`` that which it may have, and ``limit`` the
    magnitude of its position.
    """
    time = 0.0
    for i in range(velocity.size):
        speed = abs(velocity[i])
        if speed > 0.0:
            acceleration = most[i]
            if not emergency:
                acceleration = min(acceleration, max(sharpest[i], speed / longest))
            time = max(time, speed / acceleration)
    for i in range(velocity.size):
        speed = abs(velocity[i])
        if speed > 0.0:
            left = limit[i] - (position[i] if velocity[i] > 0.0 else -position[i])
            time = min(time, 2.0 * max(left, 0.0) / speed)
    return time


@kernel
def while_braking(rest, velocity, time, left):  # type: ignore[no-untyped-def]
    """Where an axis is that comes to ``rest`` in the time that is ``left`` of all [s]."""
    return rest - 0.5 * velocity * left * left / time
