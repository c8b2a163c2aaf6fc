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

What held the loop up at an overrun is found out from the account of its thread (``causes.py``), which is read before
the thread sleeps, in time that is left, and at the overrun.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Literal

import numpy as np

from ..kernels.block import Block, Channel, Value
from ..kernels.clock import now, sleep_before, watch_until
from ..kernels.compile import kernel
from ..kernels.modes import RUNNING
from ..kernels.thread_account import BUFFER, DELAYED, ENTRIES, MADE_TO_WAIT, RAN, WAITED, read_account
from ..safety.limits import UNLIMITED
from .causes import CAUSES, KEPT, cause_of, note_stall

BINS = 512
PER_OCTAVE = 16
"""Bins of a histogram for each doubling, from one nanosecond on."""
MISSED, TOO_LATE = 1, 2
READING = 5e3
"""Nanoseconds that must be left in a tick in which the account of the thread is read, which takes 1 to 3 µs."""
SELDOM = 10.0
"""A loop that is paced by its rig leaves no time after a tick: the account is read after waits that are so many times
longer than a reading.  It is read after so many periods in any case."""


@kernel
def note(histogram, nanoseconds):  # type: ignore[no-untyped-def]
    place = int(PER_OCTAVE * math.log2(max(nanoseconds, 1.0)))
    histogram[min(place, BINS - 1)] += 1.0


def pace_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    origin = int(p.origin)
    called = float(now() - origin)
    status, execution, waited = 0, 0.0, 0.0
    if s.ticks == 0.0:
        s.deadline = s.woke = called
    else:
        for i in range(int(p.idle)):
            waited += 1e9 * u[i]
        execution = called - s.woke - waited
        s.execution_sum += execution
        s.execution_max = max(s.execution_max, execution)
        note(s.execution_histogram, execution)
        y[1] = 1e-9 * execution
    late = called - s.deadline - p.period
    if p.waits != 0.0:
        overrun, allowed, lost = late > 0.0, p.period, p.period * math.ceil(late / p.period)
        s.deadline += p.period + (lost if overrun else 0.0)
        left = s.deadline - called
    else:
        overrun, allowed, lost = s.ticks > 0.0 and late > p.period, 2.0 * p.period, late
        s.deadline = called
        left = waited / SELDOM
    of_test = u.size == int(p.idle) or u[u.size - 1] == RUNNING
    if of_test:
        s.of_test += 1.0
    if p.accounts != 0.0 and (overrun or left > READING or called - s.accounted > SELDOM * p.period):
        s.accounted = called
        read_account(int(p.schedstat), s.buffer.ctypes.data, s.account)
        if overrun and of_test:
            passed = late + p.period - (waited if p.waits != 0.0 else 0.0)
            # the waits of this loop are no pauses: its sleep, a command's turn, and where the rig sets the pace any
            sleeps = s.slept + (1.0 if waited > 0.0 else 0.0) if p.waits != 0.0 else UNLIMITED
            cause = cause_of(
                passed,
                allowed,
                execution,
                s.account[RAN] - s.before[RAN] - s.spent,
                s.account[DELAYED] - s.before[DELAYED] if s.account[DELAYED] >= 0.0 else -1.0,
                0.0 if p.waits != 0.0 else waited,
                s.account[MADE_TO_WAIT] - s.before[MADE_TO_WAIT],
                s.account[WAITED] - s.before[WAITED] - sleeps,
            )
            note_stall(s, cause, lost, t)
        for i in range(ENTRIES):
            s.before[i] = s.account[i]
        s.spent = s.slept = 0.0
    else:
        s.spent += execution
    if p.waits != 0.0:
        deadline, spin = origin + int(s.deadline), int(p.spin)
        slept = left > p.spin
        awake = sleep_before(deadline, spin)
        woke = float(watch_until(deadline, awake) - origin)
        s.slept += 1.0 if slept else 0.0
        s.spent += woke - float(awake - origin)
        lateness = late if overrun else woke - s.deadline
        if p.trips != 0.0 and lateness > p.period:  # already: the next tick's command would be late too
            status = MISSED
    else:
        woke = called
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
    mode: str = "",
) -> Block:
    """Block "pace".

    ``lateness`` is the trip limit [s]; ``idle`` names channels with times that other blocks have spent waiting [s], and
    ``mode`` that of the guard's mode: with it only ticks of the test are counted as such.

    Where the fields "accounts" (1) and "schedstat" (a handle, or -1) are set, what held the loop up is found out.
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
        "of_test": 0.0,
        "buffer": np.zeros(BUFFER),
        "account": np.zeros(ENTRIES),
        "before": np.zeros(ENTRIES),
        "accounted": -UNLIMITED,
        "spent": 0.0,
        "slept": 0.0,
        **dict.fromkeys(("stalls", "stalled", "longest"), np.zeros(len(CAUSES))),
        **dict.fromkeys(("kept_stall", "kept_cause", "kept_time"), np.zeros(KEPT)),
    }
    return Block(
        name="pace",
        step=pace_step,
        inputs=(*idle, *filter(None, [mode])),
        outputs=(Channel("pace.lateness", "s"), Channel("pace.execution", "s"), Channel("pace.overruns", "1")),
        parameters={
            # nanoseconds as a float are whole numbers, and differences from them exact, whatever the clock shows
            "origin": float(time.monotonic_ns()),
            "period": 1e9 * period,
            "spin": 1e9 * min(spin, 0.5 * period),  # a loop that never sleeps is throttled
            "trips": float(overrun == "trip"),
            "waits": float(waits),
            "limit": limit,
            "idle": float(len(idle)),
            "accounts": 0.0,
            "schedstat": -1.0,
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
