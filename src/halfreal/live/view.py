"""The operator's view of a test in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import units
from ..kernels.modes import RUNNING
from ..kernels.tick import TICK
from ..links.causes import CAUSES
from ..links.pace import percentiles
from ..models.excitations import RELEASES
from ..runs.build import guarded_targets
from ..runs.events import STATES, limits_used
from ..safety.slow_motion import ADVANCE, AVERAGE, RAMP, SETTLE
from .session import Session

KEYS = "space or Ctrl-C: emergency stop    s: stop smoothly"
RELEASE_KEY = "e: release the excitation"
SLOW_KEYS = "p: pause    r: resume    n: one tick    + −: speed"
PHASES = {ADVANCE: "measured", RAMP: "moving", SETTLE: "settling", AVERAGE: "averaging"}


@dataclass(frozen=True)
class Status:
    """What is worth looking at while a test runs."""

    state: str
    time: float
    """Of the test [s]; negative before it begins."""
    left: float
    """Seconds until its end, without a soft stop."""
    rate: float
    """Ticks a second that are requested."""
    mean_execution: float
    max_execution: float
    p99_lateness: float
    max_lateness: float
    overruns: int
    stalls: str
    """Causes of those in the test so far, with their numbers."""
    gap: dict[str, float]
    """Largest of now, for each unit that axes have."""
    age: float
    """Of the newest measurement [s]."""
    limits_used: dict[str, float]
    waiting_rows: int
    """Rows that the recorder has still to write."""
    motion: Motion | None = None
    """Of a slow test."""
    releases: int | None = None
    """Of the excitation so far, if the operator releases it."""
    auxiliary: Sequence[tuple[str, str]] = ()
    """Names and values of the rig's auxiliary channels."""


@dataclass(frozen=True)
class Motion:
    """How a slow test is getting on."""

    tick: int
    ticks: int
    phase: str
    speed: float
    clock: float
    """Seconds that the rig has been moved and measured."""
    goal: list[float]
    """Command of this tick [m or N]."""
    units: tuple[str, ...]


def status(session: Session) -> Status:
    """The test as it is now, read from the loop's memory without disturbing it."""
    loop, definition = session.loop, session.definition
    assert loop is not None
    seen = loop.vector.copy()
    timing = definition.timing
    paced = loop.state("pace")
    stalls, ticks = paced["stalls"].copy(), max(float(paced["ticks"]), 1.0)
    now = float(seen[0]) * timing.step
    found = definition.interface.commanded.units("N" if guarded_targets(definition) == "force" else "m")
    gaps = [abs(float(seen[loop.index[name]])) for name in definition.interface.commanded.channels("gap")]
    return Status(
        state=session.state,
        time=now,
        left=max(timing.duration - now, 0.0),
        rate=1.0 / definition.period,
        mean_execution=1e-9 * float(paced["execution_sum"]) / ticks,
        max_execution=1e-9 * float(paced["execution_max"]),
        p99_lateness=float(percentiles(np.array(paced["lateness_histogram"]), [0.99])[0]),
        max_lateness=1e-9 * float(paced["lateness_max"]),
        overruns=int(seen[loop.index["pace.overruns"]]),
        stalls=", ".join(f"{count:.0f} {cause}" for cause, count in zip(CAUSES, stalls, strict=True) if count > 0.0),
        gap={unit: max(gap for gap, of in zip(gaps, found, strict=True) if of == unit) for unit in found},
        age=float(seen[loop.index["link.age"]]),
        limits_used=limits_used(definition, loop),
        waiting_rows=session.waiting_rows,
        motion=None if definition.slow is None else motion(session),
        releases=int(seen[loop.index[RELEASES]]) if definition.excitation.waits else None,
        auxiliary=[
            (channel.name, units.text(float(seen[loop.index[channel.name]]), channel.unit))
            for channel in definition.auxiliary_channels
        ],
    )


def motion(session: Session) -> Motion:
    """A slow test as it is now."""
    loop, definition = session.loop, session.definition
    assert loop is not None
    now = loop.state("motion").copy()
    return Motion(
        tick=int(loop.vector[TICK]),
        ticks=definition.timing.ticks,
        phase=PHASES[float(now["phase"])],
        speed=session.speed,
        clock=float(now["clock"]),
        goal=[float(x) for x in now["goal"]],
        units=definition.interface.actuators.units("N" if definition.commands == "force" else "m"),
    )


def table(now: Status, title: str, question: str = "") -> Any:
    """The status as a table for the terminal; ``question`` is put to the operator.

    All of it is plain text with a style: in text of users rich would take brackets for markup.
    """
    from rich.table import Table
    from rich.text import Text

    colours = {"running": "green", "tripped": "bold red", "tripped, at rest": "bold red", "armed": "yellow"}
    keys = KEYS if now.motion is None else f"{KEYS}\n{SLOW_KEYS}"
    if now.releases is not None:
        keys += f"\n{RELEASE_KEY}"
    heading = Text(title, style="table.title")
    if question:
        heading.append(f"\n{question}", style="yellow")
    shown = Table(title=heading, caption=keys, show_header=False, min_width=60)
    shown.add_row("state", Text(now.state, style=colours.get(now.state, "cyan")))
    shown.add_row("time", f"{now.time:.2f} s, {now.left:.1f} s left")
    if now.releases is not None:
        shown.add_row("excitation", f"released {now.releases} times" if now.releases else "waiting for release")
    if now.motion is not None:
        way = now.motion
        about = ""
        if way.tick > 0 and now.state == STATES[RUNNING]:  # while it is held no one knows
            left = (way.ticks - way.tick) * way.clock / way.tick
            about = f"; about {left / 60:.0f} min left at the present pace"
        shown.add_row("tick", f"{way.tick} of {way.ticks}: {way.phase}{about}")
        goal = ", ".join(units.text(x, unit, digits=4) for x, unit in zip(way.goal, way.units, strict=True))
        shown.add_row("command", f"{goal}, at {way.speed:g} times the speed of the definition")
    round_ = "tick" if now.motion is None else "period"
    takes = f"takes {1e6 * now.mean_execution:.1f} µs (mean), {1e6 * now.max_execution:.1f} µs (maximum)"
    shown.add_row("rate", f"{now.rate:g} Hz; a {round_} {takes}")
    shown.add_row(
        "lateness",
        f"99 % below {1e6 * now.p99_lateness:.0f} µs, at most {1e6 * now.max_lateness:.0f} µs; {now.overruns} overruns"
        + (f" ({now.stalls})" if now.stalls else ""),
    )
    gap = ", ".join(units.text(value, unit) for unit, value in now.gap.items())
    shown.add_row("gap", f"{gap}; measurement {1e3 * now.age:.2f} ms old")
    for name, value in now.auxiliary:
        shown.add_row(Text(name), Text(value))
    for name, share in sorted(now.limits_used.items(), key=lambda item: -item[1]):
        colour = "red" if share > 0.9 else "yellow" if share > 0.7 else "green"
        bar = "█" * round(20 * min(share, 1.0))
        shown.add_row(Text(f"limit of {name}"), Text.assemble((f"{bar:<20}", colour), f" {100 * share:.0f} %"))
    shown.add_row("record", f"{now.waiting_rows} rows not yet written")
    return shown
