"""How the loop of a run kept time: what held it up, how often and for how long, as the loop itself has counted it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from .. import units
from ..definition.definition import Definition
from ..kernels.loop import Loop
from ..kernels.thread_account import open_account
from ..links.causes import CAUSES
from ..runs.run import Event, Stalls

CAUSE_TEXT = {
    "own work": "the test's own work",
    "scheduler": "other programs",
    "computer": "the computer",
    "rig": "the rig, whose measurement was late",
}
EXPLAINED = {
    "own work": "its computation, or a call in it that waited",
    "scheduler": "the scheduler ran them in place of the loop",
    "computer": "its host, interrupts or firmware: nothing else ran",
}


@dataclass(frozen=True)
class TimeKept:
    """The overruns of the ticks of a test, by their causes."""

    period: float
    """Of a tick [s]."""
    ticks: float
    stalls: tuple[Stalls, ...] = ()
    """Those that there were; together they are all overruns of these ticks."""
    trip: float = np.inf
    """Latency of a tick at which the test trips [s]."""


@contextmanager
def account_kept(loop: Loop) -> Iterator[dict[str, str]]:
    """Let a loop that this thread runs read what the system does to the thread; give what is missing, as text."""
    parameters, handle = loop.parameter("pace"), open_account()
    parameters["accounts"], parameters["schedstat"] = 1.0, float(handle)
    try:
        told = "no run delay: this kernel does not count it; stalls are classified by involuntary switches"
        yield {} if handle >= 0 else {"realtime account": told}
    finally:
        parameters["accounts"], parameters["schedstat"] = 0.0, -1.0
        if handle >= 0:
            os.close(handle)


def time_kept(definition: Definition, loop: Loop) -> TimeKept:
    """What a loop has counted in the ticks of its test."""
    state, trip = loop.state("pace"), definition.limits.lateness.trip
    numbers = zip(CAUSES, state["stalls"], state["longest"], state["stalled"], strict=True)
    stalls = [
        Stalls(cause, round(float(count)), 1e-9 * float(longest), 1e-9 * float(lost))
        for cause, count, longest, lost in numbers
        if count > 0.0
    ]
    latest = np.inf if trip is None else trip
    return TimeKept(definition.period, float(state["of_test"]), tuple(stalls), latest)


def stall_events(state: np.ndarray) -> tuple[Event, ...]:
    """The longest stalls in the order in which they happened, and how many more there were; of the clock's state."""
    kept = sorted(
        (float(time), CAUSES[int(cause)], 1e-9 * float(stall))
        for time, cause, stall in zip(state["kept_time"], state["kept_cause"], state["kept_stall"], strict=True)
        if stall > 0.0
    )
    found = [Event(time, "pace", f"held up for {_time(stall)} by {CAUSE_TEXT[cause]}") for time, cause, stall in kept]
    further = round(float(np.sum(state["stalls"]))) - len(kept)
    if further > 0:
        most = _time(min(stall for _, _, stall in kept))
        found.append(Event(kept[-1][0], "pace", f"held up {further} further times in the test, for {most} at most"))
    return tuple(found)


def _time(seconds: float) -> str:
    return units.text(seconds, "s", 3)
