"""``halfreal doctor``: whether this computer suits a real-time loop, by measurement, and what to change."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import NO, AsJson, read, stop

if TYPE_CHECKING:
    from ..live.wake_up import WakeUp

USUAL_STEP = 1e-3
LONGEST = 3600.0


def doctor(
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="TEST.toml", help="A test definition; its step, processor and rig are used.", show_default=False
        ),
    ] = None,
    step: Annotated[
        str, typer.Option(metavar="TIME", help="Step of the loop, e.g. '0.2 ms'; default: the test's, or 1 ms.")
    ] = "",
    duration: Annotated[str, typer.Option(metavar="TIME", help="How long to measure.")] = "5 s",
    as_json: AsJson = False,
) -> None:
    """Examine this computer and measure its wake-up latency; exit code 1 if it is too late for the step."""
    from .. import units
    from ..definition.sections import RealTime
    from ..live import machine, network
    from ..live.wake_up import measure

    test = None if path is None else read(path)[0]
    real_time = RealTime() if test is None else test.real_time
    period = _time(step, "--step") if step else USUAL_STEP if test is None else test.timing.step
    seconds = _time(duration, "--duration")
    if seconds > LONGEST:
        stop(f"--duration: {units.text(seconds, 's')} is too long; use {units.text(LONGEST, 's')} at most")
    if period > 0.1 * seconds:
        stop(
            f"--duration: {units.text(seconds, 's')} is shorter than ten steps of "
            f"{units.text(period, 's')}; use a longer one"
        )
    remarks = machine.examine(period, real_time.cpu)
    host = None if test is None or test.link is None else test.link.host
    remarks += network.cards(period) if host is None else network.examine(host, period)
    if not as_json:
        for one in remarks:
            typer.echo(f"{'ok    ' if not one.remedy else 'change'}  {one.topic}: {one.found}")
            if one.remedy:
                typer.echo(f"        → {one.remedy}")
        typer.echo(f"Measuring for {units.text(seconds, 's')} at a step of {units.text(period, 's')} …")
    found = measure(period, real_time.spin, seconds, real_time.priority, real_time.cpu)
    if as_json:
        answer = {"remarks": [{**asdict(one), "level": one.level} for one in remarks], "wake_up": asdict(found)}
        typer.echo(json.dumps({**answer, "fits": found.fits}, indent=1))
    else:
        for line in measured(found):
            typer.echo(line)
    raise typer.Exit(0 if found.fits else NO)


def _time(given: str, option: str) -> float:
    from .. import units

    try:
        value = units.parse(given, "s")
    except ValueError as error:
        stop(f"{option}: {error}")
    if not value > 0.0:
        stop(f"{option}: {given} is not a time above zero")
    return value


def measured(found: WakeUp) -> list[str]:
    """The measurement as text."""
    from .. import units

    half, most, nearly_all = (units.text(one, "s", 3) for one in found.lateness)
    lines = [f"  {topic}: {text}" for topic, text in found.rights.items()]
    lines.append(
        f"  latency of {found.ticks} ticks: 50 % below {half}, 99 % below {most}, 99.9 % below {nearly_all}, "
        f"largest {units.text(found.latest, 's', 3)}"
    )
    lines.append(
        f"  {found.overruns} tick(s) missed; the thread had {found.page_faults} page fault(s) and was preempted "
        f"{found.switched_away} time(s)"
    )
    step = units.text(found.step, "s")
    if found.fits:
        lines.append(f"This computer wakes a loop with a step of {step} in time.")
    else:
        lines.append(
            f"This computer does not wake a loop with a step of {step} in time: no tick may be "
            "missed, and 99.9 % must wake "
            f"within a tenth of the step, {units.text(0.1 * found.step, 's', 3)}. Make the changes above, close other "
            "programs, or lengthen timing.step."
        )
    return lines
