"""The operator's view of a test in the terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..links.pace import percentiles
from ..runs.build import interface
from .session import Session

KEYS = "space or Ctrl-C: emergency stop    s: stop smoothly"


@dataclass(frozen=True)
class Status:
    """What is worth looking at while a test runs."""

    state: str
    time: float
    """Of the test [s]; negative before it begins."""
    left: float
    """Seconds until its end, without a soft stop."""
    rate: float
    """Ticks a second that are asked for."""
    mean_execution: float
    max_execution: float
    p99_lateness: float
    max_lateness: float
    overruns: int
    tracking_error: float
    """Largest gap of now, of any axis [m]."""
    age: float
    """Of the newest measurement [s]."""
    limits_used: dict[str, float]
    waiting_rows: int
    """Rows that the recorder has still to write."""


def status(session: Session) -> Status:
    """The test as it is now, read from the loop's memory without disturbing it."""
    loop, definition = session.loop, session.definition
    assert loop is not None
    seen = loop.vector.copy()
    timing = definition.timing
    paced = loop.state("pace")
    ticks = max(float(paced["ticks"]), 1.0)
    now = float(seen[0]) * timing.step
    gaps = [abs(seen[loop.index[name]]) for name in interface("gap", definition.virtual.axes)]
    return Status(
        state=session.state,
        time=now,
        left=max(timing.duration - now, 0.0),
        rate=1.0 / timing.step,
        mean_execution=1e-9 * float(paced["execution_sum"]) / ticks,
        max_execution=1e-9 * float(paced["execution_max"]),
        p99_lateness=float(percentiles(np.array(paced["lateness_histogram"]), [0.99])[0]),
        max_lateness=1e-9 * float(paced["lateness_max"]),
        overruns=int(seen[loop.index["pace.overruns"]]),
        tracking_error=float(max(gaps)),
        age=float(seen[loop.index["link.age"]]),
        limits_used=definition.limits.used(loop.state("guard")["peaks"].copy(), definition.commands),
        waiting_rows=session.waiting_rows,
    )


def table(now: Status, title: str) -> Any:
    """The status as a table for the terminal."""
    from rich.table import Table

    colours = {"running": "green", "tripped": "bold red", "tripped, at rest": "bold red", "armed": "yellow"}
    shown = Table(title=title, caption=KEYS, show_header=False, min_width=60)
    shown.add_row("state", f"[{colours.get(now.state, 'cyan')}]{now.state}[/]")
    shown.add_row("time", f"{now.time:.2f} s, {now.left:.1f} s left")
    shown.add_row(
        "rate",
        f"{now.rate:g} Hz; a tick takes {1e6 * now.mean_execution:.1f} µs, at most {1e6 * now.max_execution:.1f} µs",
    )
    shown.add_row(
        "lateness",
        f"99 % below {1e6 * now.p99_lateness:.0f} µs, at most {1e6 * now.max_lateness:.0f} µs; {now.overruns} overruns",
    )
    shown.add_row("gap", f"{1e3 * now.tracking_error:.4f} mm; measurement {1e3 * now.age:.2f} ms old")
    for name, share in sorted(now.limits_used.items(), key=lambda item: -item[1]):
        colour = "red" if share > 0.9 else "yellow" if share > 0.7 else "green"
        bar = "█" * round(20 * min(share, 1.0))
        shown.add_row(f"limit of {name}", f"[{colour}]{bar:<20}[/] {100 * share:.0f} %")
    shown.add_row("record", f"{now.waiting_rows} rows on their way to the file")
    return shown
