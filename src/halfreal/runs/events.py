"""What happens in a loop, as text: events, causes of trips, how a test ended."""

from __future__ import annotations

import numpy as np

from .. import units
from ..contracts.quantities import UNLIMITED
from ..definition.definition import Definition
from ..kernels.loop import Loop
from ..kernels.modes import ARMED, FINISHED, RAMP_DOWN, RAMPING, RUNNING, STOPPED_AT_REST, TRIPPED
from ..kernels.tick import GUARD_FAILED
from ..models.excitations import RELEASES
from ..safety.guard import BLOCK_FAULT, BY_OPERATOR, BY_RECORDER
from ..safety.limits import RotationLimits
from ..safety.slow_motion import STATES as MOTION_STATES
from .build import watch
from .run import Event, Outcome

STATES = {
    RUNNING: "running",
    TRIPPED: "tripped",
    FINISHED: "tripped, at rest",
    ARMED: "armed",
    RAMPING: "ramping",
    RAMP_DOWN: "ramp-down",
    STOPPED_AT_REST: "stopped",
}
"""The guard's modes for people."""
RIG_STATES = {1.0: "the rig is idle", 2.0: "the rig is armed", 3.0: "the rig is in its safe state"}
STALE_TEXT = {
    0.0: "measurements are up to date again",
    1.0: "no new measurement: the time of the test is held",
    2.0: "warning: no new measurement for longer than limits.stale.warn",
}
MOST_RELEASES = 100
"""That have words of their own."""
ROTATIONAL = ("rad", "rad/s", "rad/s^2", "N m", "N m/s")
"""Units of what limits of rotations are for."""
STOPPED_AT_ONCE = "emergency stop"
OF_LOOP = {
    BY_OPERATOR: f"{STOPPED_AT_ONCE} by the operator",
    BY_RECORDER: "the record can no longer be written",
}


def describe(definition: Definition, loop: Loop, tick: int, channel: str, value: float) -> Event | None:
    """A watched channel's new value as text; None where the change says nothing new."""
    time = tick * definition.timing.step
    if channel == "guard.cause":
        return Event(time, channel, f"trip: {cause_text(definition, loop, value)}") if value != 0.0 else None
    if channel == "loop.fault":
        return Event(time, channel, loop.describe(value)) if value != 0.0 else None
    text = texts(definition, loop).get(channel, {}).get(value, f"{channel} is now {value:g}")
    return Event(time, channel, text) if text else None


def texts(definition: Definition, loop: Loop) -> dict[str, dict[float, str]]:
    """Words for the values of watched channels; an empty one for a change that says nothing new."""
    names = {float(cause): entry.name for cause, entry in enumerate(watch(definition, loop).entries, start=1)}
    causes = {cause: f"{name} beyond its limit" for cause, name in names.items()}
    warnings = {cause: f"warning: {name} beyond its warning limit" for cause, name in names.items()}
    stops = {**causes, BLOCK_FAULT: "a fault of the rig", BY_OPERATOR: STOPPED_AT_ONCE}
    # who has stopped it, the session adds at the end: until then the record says that it happened
    of_loop = {**OF_LOOP, BY_OPERATOR: STOPPED_AT_ONCE}
    return {
        "guard.mode": {**STATES, TRIPPED: "", FINISHED: ""},
        "guard.cause": {0.0: "", **{code: f"trip: {text}" for code, text in {**causes, **of_loop}.items()}},
        "guard.warning": {0.0: "", **warnings},
        "guard.halted": {0.0: "", **{code: f"return stopped and held: {text}" for code, text in stops.items()}},
        RELEASES: {float(i): f"excitation released, number {i}" for i in range(1, MOST_RELEASES)},
        "link.stale": dict(STALE_TEXT),
        "rig.state": dict(RIG_STATES),
        "motion.state": dict(MOTION_STATES),
        "loop.fault": {float(code): text for code, text in loop.faults().items()},
        **{name: dict(words) for block in loop.blocks for name, words in block.texts.items()},
    }


def cause_text(definition: Definition, loop: Loop, cause: float) -> str:
    """Why the loop has tripped, with value and limit."""
    value = float(loop.state("guard")["value"])
    if cause == BLOCK_FAULT:
        return loop.describe(value)
    if cause in OF_LOOP:
        return OF_LOOP[cause]
    entry = watch(definition, loop).entries[int(cause) - 1]
    if entry.trip == UNLIMITED or np.isnan(value):
        return f"{entry.name} was {value}, not a finite number"
    was, limit = units.text(value, entry.unit, digits=7), units.text(entry.trip, entry.unit)
    return f"{entry.name} was {was}, beyond its limit of {limit}"


def limits_used(definition: Definition, loop: Loop) -> dict[str, float]:
    """Largest value of each limited signal so far, as a share of its trip limit."""
    return watch(definition, loop).used(loop.state("guard")["peaks"].copy())


def limit_exceeded(definition: Definition, loop: Loop) -> tuple[str, str, float] | None:
    """The limit of a definition that its loop has exceeded most: its key, the value and the limit for people, and the
    share of it; None if all were kept."""
    peaks, worst = loop.state("guard")["peaks"], (1.0, "", "")
    watched = watch(definition, loop)
    for one, start in zip(watched, watched.starts.values(), strict=True):
        for peak, trip, unit in zip(peaks[start : start + len(one)], one.trip, one.units, strict=True):
            if peak / trip > worst[0]:
                turns = unit in ROTATIONAL and one.key in RotationLimits.model_fields
                key = f"limits.{'rotation.' if turns else ''}{one.key}"
                values = f"{units.text(float(peak), unit)}, limit {units.text(float(trip), unit)}"
                worst = float(peak / trip), key, values
    return (worst[1], worst[2], worst[0]) if worst[1] else None


def how_it_ended(definition: Definition, loop: Loop, ended: int) -> tuple[Outcome, str]:
    """Outcome of a test whose loop has returned, and why it was not completed."""
    if ended == GUARD_FAILED:
        return "failed", "the guard itself failed; the rig received no further command"
    guard = loop.state("guard")
    if guard["mode"] in (TRIPPED, FINISHED):
        return "tripped", cause_text(definition, loop, float(guard["cause"]))
    if guard["ended"] < (definition.timing.ticks - 0.5) * loop.dt:
        return "stopped", f"by the operator at {units.text(float(guard['ended']), 's')}"
    return "completed", ""
