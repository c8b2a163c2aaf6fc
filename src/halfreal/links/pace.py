"""The clock of a loop: a block that waits until the next tick is due, and keeps account of how well that went.

Deadlines are absolute: tick k is due at origin + k · period, so that lateness does not add up.  The thread sleeps until
``spin`` before a deadline and then watches the clock.  Three things are measured at each tick::

    lateness    from the deadline to the wake-up
    execution   from the wake-up until this block is called again: the work of a tick, with recording and sending
    overrun     the work was not done before the next deadline

An overrun is counted, and deadlines move on by the whole periods missed: the test's time is at rest while its command
is held, and ticks that were missed are never run at once, which would move the rig faster than the test does.  With
``overrun = "trip"`` the test ends as well.

A loop that is paced by its rig does not wait here: lateness is then how much longer than a period the last tick was,
and an overrun a tick longer than two.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Literal

import numpy as np

from ..kernels.block import Block, Channel, Value
from ..kernels.clock import now, wait_until
from ..kernels.compile import kernel
from ..safety.limits import UNLIMITED

BINS = 512
PER_OCTAVE = 16
"""Bins of a histogram for each doubling, from one nanosecond on."""
MISSED, TOO_LATE = 1, 2


@kernel
def note(histogram, nanoseconds):  # type: ignore[no-untyped-def]
    place = int(PER_OCTAVE * math.log2(max(nanoseconds, 1.0)))
    histogram[min(place, BINS - 1)] += 1.0


def pace_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    origin = int(p.origin)
    called = float(now() - origin)
    status = 0
    if s.ticks == 0.0:
        s.deadline = s.woke = called
    else:
        execution = called - s.woke
        for i in range(u.size):
            execution -= 1e9 * u[i]
        s.execution_sum += execution
        s.execution_max = max(s.execution_max, execution)
        note(s.execution_histogram, execution)
        y[1] = 1e-9 * execution
    late = called - s.deadline - p.period
    if p.waits != 0.0:
        s.deadline += p.period
        overrun = late > 0.0
        if overrun:
            s.deadline += p.period * math.ceil(late / p.period)
        woke = float(wait_until(origin + int(s.deadline), int(p.spin)) - origin)
        lateness = late if overrun else woke - s.deadline
        if p.trips != 0.0 and lateness > p.period:  # already: the next tick's command would be late too
            status = MISSED
    else:
        overrun = s.ticks > 0.0 and late > p.period
        woke = called
        s.deadline = called
        lateness = late if s.ticks > 0.0 else 0.0
    s.ticks += 1.0
    s.woke = woke
    s.lateness_max = max(s.lateness_max, lateness)
    note(s.lateness_histogram, lateness)
    if overrun:
        y[2] += 1.0
        if p.trips != 0.0:
            status = MISSED
    if lateness > p.limit:
        status = TOO_LATE
    y[0] = 1e-9 * lateness
    return status


def pace(
    period: float,
    spin: float,
    overrun: Literal["hold", "trip"],
    *,
    waits: bool,
    lateness: float | None = None,
    idle: tuple[str, ...] = (),
) -> Block:
    """Block "pace".

    ``lateness`` is the trip limit [s]; ``idle`` names channels with times that other blocks have spent waiting [s].
    """
    limit = UNLIMITED if lateness is None else 1e9 * lateness
    zeros = np.zeros(BINS)
    state: dict[str, Value] = {
        "ticks": 0.0,
        "deadline": 0.0,
        "woke": 0.0,
        "execution_sum": 0.0,
        "execution_max": 0.0,
        "lateness_max": 0.0,
        "lateness_histogram": zeros,
        "execution_histogram": zeros,
    }
    return Block(
        name="pace",
        step=pace_step,
        inputs=idle,
        outputs=(Channel("pace.lateness", "s"), Channel("pace.execution", "s"), Channel("pace.overruns", "1")),
        parameters={
            # nanoseconds as a float are whole numbers, and differences from them exact, whatever the clock shows
            "origin": float(time.monotonic_ns()),
            "period": 1e9 * period,
            "spin": 1e9 * min(spin, 0.5 * period),  # a loop that never sleeps is throttled
            "trips": float(overrun == "trip"),
            "waits": float(waits),
            "limit": limit,
        },
        state=state,
        frozen=tuple(state),
        faults={
            MISSED: f"a tick was not finished before the next was due, {1e3 * period:g} ms later (real_time.overrun)",
            TOO_LATE: f"a tick was later than limits.lateness.trip, {1e-6 * limit:g} ms",
        },
    )


def percentiles(histogram: np.ndarray, shares: Sequence[float]) -> np.ndarray:
    """Times [s] below which these shares of what was noted lie: upper edges of bins, so up to 4 % too long."""
    total = np.cumsum(histogram)
    if total[-1] == 0.0:
        return np.full(len(shares), np.nan)
    places = np.searchsorted(total, np.asarray(shares) * total[-1])
    return np.asarray(1e-9 * 2.0 ** ((np.minimum(places, BINS - 1) + 1.0) / PER_OCTAVE))
