"""How a run kept time: lateness and execution of its ticks, overruns, and what came over the link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .. import units
from ..runs.run import Computer, Run
from .spreads import Numbers
from .wording import NONE, number, percent

PERCENTILES = (50.0, 99.0, 99.9)
PACES = {
    "pace.lateness": ("latency", "from a tick's deadline to its wake-up"),
    "pace.execution": ("execution", "execution of a tick, including recording and sending"),
}
"""Channels of times within a tick: name and meaning."""
COUNTERS = {
    "pace.overruns": ("overruns", "ticks not finished when the next one was due"),
    "link.late": ("late", "ticks without a new measurement"),
    "link.lost": ("lost", "datagrams never received"),
    "link.duplicated": ("duplicated", "datagrams received before"),
    "link.reordered": ("reordered", "datagrams older than the last accepted one"),
    "link.corrupted": ("corrupted", "datagrams with a wrong checksum"),
    "link.truncated": ("truncated", "datagrams of a wrong length"),
    "link.foreign": ("foreign", "datagrams of another sender or session"),
    "link.replayed": ("replayed", "datagrams from much earlier"),
}
"""Channels that count: name and meaning."""
LAG = "link.lag"
PRIVILEGES = "realtime"
"""How the keys of the host begin under which a run says what the system let it do."""


@dataclass(frozen=True)
class RealTime:
    """What the page says about a run's time keeping, as text; a part is empty if nothing was recorded of it."""

    spreads: list[tuple[str, ...]]
    """Name, meaning, percentiles 50, 99 and 99.9, largest, and the largest as a share of a tick."""
    ticks: int
    """Ticks the spreads are of."""
    counters: list[tuple[str, str, str]]
    """Name, value, meaning."""
    privileges: list[tuple[str, str]]
    computer: Computer | None = None
    """The judgement on the computer."""
    alarm: bool = False
    """Whether it counts: with a simulated rig nothing real was held up."""
    stalls: Sequence[tuple[str, int, str, str]] = ()
    """Cause, number, the longest, and time lost."""


def real_time(run: Run) -> RealTime | None:
    """The time keeping of a run; None of a rehearsal, which keeps none."""
    if run.kind != "run":
        return None
    spreads, ticks = [], 0
    # a slow test records only the last period of each tick: its spreads would mean nothing
    for channel, (name, meaning) in PACES.items() if run.definition.get("slow") is None else ():
        values = recorded(run, channel)
        if name == "latency" and run.definition.get("real_time", {}).get("pacing") == "rig":
            meaning = "beyond one step after the previous tick: the rig sets the pace"
        if len(values):
            figures = list(spread(values).values())
            spreads.append((name, meaning, *map(in_tick, figures), percent(figures[-1] / run.step)))
            ticks = max(ticks, len(values))
    counters = []
    for channel, (name, meaning) in COUNTERS.items():
        values = recorded(run, channel)
        if len(values):
            counters.append((name, f"{values.last:.0f}", meaning))
    computer = None if run.accepted is None else run.accepted.computer
    stalls = () if computer is None else computer.stalls
    lag = recorded(run, LAG)
    if len(lag):
        counters.append(
            ("lag", number(lag.mean, 3), f"ticks of the rig behind the loop (mean); maximum {lag.largest:g}")
        )
    return RealTime(
        spreads=spreads,
        ticks=ticks,
        counters=counters,
        privileges=[(key, text) for key, text in run.host.items() if key.startswith(PRIVILEGES)],
        computer=computer,
        alarm=computer is not None and computer.fit is False and run.rests_on_a_model,
        stalls=[(one.cause, one.count, in_tick(one.longest), in_tick(one.lost)) for one in stalls],
    )


def recorded(run: Run, channel: str) -> Numbers:
    """The numbers of a channel that can be used; none if it was not recorded.

    The execution of a first tick, which is only known later, is at 0.
    """
    signal = run.signals.get(channel)
    return Numbers(np.zeros(0) if signal is None else signal.values, positive=channel == "pace.execution")


def spread(values: Numbers) -> dict[str, float]:
    """Percentiles and the largest of times, by their names: table and plot both show these."""
    found = values.percentiles(PERCENTILES)
    return {f"{p:g} %": value for p, value in zip(PERCENTILES, found, strict=True)} | {"max": float(values.largest)}


def in_tick(value: float) -> str:
    """A short time [s], down to nanoseconds."""
    return units.text(value, "s", digits=3).replace("-", "−") if np.isfinite(value) else NONE
