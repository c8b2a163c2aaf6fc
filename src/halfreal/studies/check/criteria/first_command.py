"""Whether a test begins where its rig is: the way of the soft start, and the first command behind it."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from .... import units
from ....contracts.finding import Finding, note
from ....contracts.quantities import UNLIMITED
from ....runs.build import build, watch
from ....safety.watched import COMMAND, COMMAND_RATE
from ..examined import Examined

SETTLED = 20
"""Ticks after which a coupling has a history of its own: steps of the command before are not those of the test."""
JUMPS = 3.0
"""Times the largest step of the command later in the test, from which on the first one is a step."""
NOTHING = 1e-9
"""Of the largest command: a way that is none."""


def first_command(examined: Examined) -> Iterable[Finding]:
    definition = examined.definition
    if definition.slow is not None:
        return
    yield from of_way(examined)
    yield from of_step(examined)


def of_step(examined: Examined) -> Iterable[Finding]:
    """A first command that is not where the soft start ends."""
    definition, run = examined.definition, examined.rehearsal
    step, commands = definition.timing.step, run.vector("command.asked")
    if commands is None or definition.record.every != 1:
        return
    commands = commands[np.searchsorted(run.time, -0.5 * step) :]
    if len(commands) <= 2 * SETTLED:
        return
    loop = build(definition)
    begin, units_of = np.atleast_1d(loop.parameter("guard")["begin"]), watch(definition, loop)[COMMAND].units
    steps, first = np.abs(np.diff(commands[SETTLED:], axis=0)).max(axis=0), np.abs(commands[0] - begin)
    place = int(np.argmax(first - JUMPS * steps))
    if first[place] > max(JUMPS * steps[place], NOTHING * float(np.nanmax(np.abs(commands), initial=0.0))):
        size, unit = float(first[place]), units_of[place]
        text = (
            f"the first command is {units.text(size, unit)} away from where the test begins: the rig is to move that "
            f"within {units.text(step, 's')}, later at most {units.text(float(steps[place]), unit)}; the soft start "
            "ends where the test begins and does not bridge it"
        )
        mend = ("an excitation with a ramp, or an initial displacement that is the first target",)
        yield Finding("marginal", text, size, JUMPS * float(steps[place]), unit, mend, "first command", 0.0)


def of_way(examined: Examined) -> Iterable[Finding]:
    """From the safe position, or from zero if none is given, to where the test begins."""
    definition, axes = examined.definition, examined.definition.interface
    if definition.commands != "displacement":
        return
    start = np.asarray(definition.virtual.initial_target(), dtype=float)
    ways = np.abs(start - definition.limits.safe(axes, np.zeros(len(axes))))
    place, soft = int(np.argmax(ways)), definition.timing.soft_start
    way, unit = float(ways[place]), axes.units("m")[place]
    if way == 0.0:
        return
    given = definition.limits.safe_position is not None or definition.limits.rotation.safe_position is not None
    text = f"the test begins {units.text(way, unit)} away from {'the safe position' if given else 'zero'}"
    if soft == 0.0:
        yield note(f"{text}; without timing.soft_start the rig must be there before the test is started")
        return
    fastest = 0.5 * math.pi * way / soft
    speed = units.text(fastest, f"{unit}/s")
    text += f"; the soft start moves the rig there in {units.text(soft, 's')}, at up to {speed}"
    rates = definition.limits.watched(axes, definition.commands)[COMMAND_RATE].trip
    rate = float(rates[place]) if definition.kinematics is None and len(rates) == len(axes) else UNLIMITED
    if fastest <= rate:
        yield note(text)
        return
    least = f'timing.soft_start = "{units.text(float(f"{1.1 * soft * fastest / rate:.2g}"), "s")}" or longer'
    text += f", above the limit of {units.text(rate, f'{unit}/s')}"
    yield Finding("marginal", text, fastest, rate, f"{unit}/s", (least,), "soft start", 0.0)
