"""For how long a sensor has repeated itself bit for bit: a frozen one does, one with noise hardly ever.

Only a sensor that is known to vary is judged: its noise was given, or it has been seen to vary while the rig was at
rest and nothing else could make it vary.
"""

from __future__ import annotations

from .compile import kernel

LEARN = 0.5
"""Seconds at rest after which it is known whether a sensor varies."""
PLAUSIBLE = 0.1
"""Share of the limit that its longest repetition at rest may take."""


@kernel
def repeated_for(value, j, limit, dt, resting, s):  # type: ignore[no-untyped-def]
    """Seconds for which sensor ``j`` has repeated ``value``; 0 for one that is not known to vary.

    The state ``s`` has the fields last, repeats, longest, rested and varies, one entry for each sensor.
    """
    s.repeats[j] = s.repeats[j] + 1.0 if value == s.last[j] else 0.0
    s.last[j] = value
    if resting:
        s.rested[j] += dt
        s.longest[j] = max(s.longest[j], s.repeats[j] * dt)
        if s.rested[j] >= LEARN and s.longest[j] <= PLAUSIBLE * limit:
            s.varies[j] = 1.0
    return s.repeats[j] * dt if s.varies[j] != 0.0 else 0.0
