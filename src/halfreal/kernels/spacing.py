"""The least time between two commands, on the wall clock.

A loop that has been held up must not make up for it: two commands that are a step of the test apart are as far apart in
time at the actuator, or nearly so.  Whoever passes commands on waits for its turn:

    no sooner than SHORTEST of a period after the last one, nor sooner than the command's rate limit allows
    on average no sooner than SUSTAINED of a period: what a late one has lost may be caught up by one period at most

The second keeps time where nobody else does; it leaves room for the clock of a rig that is a little faster than ours.

    await_turn(turn, …)     wait until the next command may go
    …                       pass it on
    take_turn(turn, …)      it has gone
"""

from __future__ import annotations

import numpy as np

from .clock import wait_until
from .compile import kernel

SHORTEST, SUSTAINED = 0.5, 0.999
FIRST_TURN = np.array([-1.0, -1.0])
"""``turn`` before the first command: when the last one went, and from when on the next may go, ns from the origin."""


@kernel
def await_turn(turn, period, needed, origin, spin, time):  # type: ignore[no-untyped-def]
    """Wait until the next command may go; return what the clock shows then [ns].

    ``period``, and the time ``needed`` for the change of the command at its rate limit, which is a period at most, are
    in ns; ``time`` is what the clock shows [ns].
    """
    if turn[0] >= 0.0:
        earliest = max(turn[0] + max(SHORTEST * period, min(needed, period)), turn[1])
        if float(time - origin) < earliest:
            return wait_until(origin + int(earliest) + 1, spin)
    return time


@kernel
def take_turn(turn, period, time):  # type: ignore[no-untyped-def]
    """A command goes at ``time`` [ns] from the origin; return that since the last one, a period for the first."""
    since = time - turn[0] if turn[0] >= 0.0 else period
    turn[0] = time
    turn[1] = max(turn[1], time - period) + SUSTAINED * period
    return since
