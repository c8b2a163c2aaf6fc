"""The guard: the last block before the rig.  Every command passes it, in the loop, at every tick.

Watched are, for every interface axis, the asked command, its rate, the target, the measured displacement and force, the
gap (target − measured displacement, or force where that is the target), the measured velocity and acceleration
(backward differences, smoothed if wished), the energy error, and how long each sensor has repeated itself
(``kernels/repeats.py``); and any other channel of the loop that has a limit (``safety/watched.py``).  A value beyond
its ``warn`` limit is an event; beyond its ``trip`` limit, or not a number, or a fault reported by any block, is a trip:
within the same tick the rig begins to brake, and then holds or returns smoothly to the safe position, no faster than
the command's rate limit.  Never does an offending command reach the rig.  A trip ends the test after ``after_trip``, so
that the record shows what came of it.  Where a command takes several ticks to be reached, such as the ramp of a slow
test, its goal is compared with the limits as well, in the tick in which it arrives.

The guard's mode is the state of the test::

    ARMED → RAMPING → RUNNING → RAMP_DOWN → STOPPED_AT_REST          and from each of them TRIPPED → FINISHED

ARMED holds the rig in place for as long as the operator wants.  RAMPING brings it, within the soft start, along
a half cosine to where the test begins (t < 0).  RUNNING is the test.  RAMP_DOWN, at its end or when the operator asks
for it, brings it to the safe position within the soft stop; without a soft stop, or before anything has moved, it holds
where it is.  No mode leads out of FINISHED: a new test is a new loop.

Stops, holds and returns leave with the present velocity of the command (``kernels/braking.py``): with no larger
acceleration than the test has had until then, and, after a trip, within BRAKING.  An emergency stop is immediate; with
``limits.braking``, which is the largest acceleration of all of them, it is as short as that allows.  So is a trip with
a fault of the rig or a value that is not a number, which may not wait.

An emergency stop holds, regardless of ``on_trip``, and so does every trip before the test has set out; a rig commanded
in force lets go smoothly instead, as on every trip: a force that is held is not safe.  A return after a trip is watched
by every limit, and holds where it is on an emergency stop, a fault of the rig, or a value beyond its limit; one that
was beyond its limit at the trip may exceed what it was then by MORE of the limit.  On the ways home the gap is that
between command and measured displacement, and its limit is wider by the largest lag of the test; where commands are
no displacements of axes there is none.

The guard counts the time of the test.  While measurements are missing (``GuardPlan.stale``) nothing moves, in any mode,
but for what brakes: that comes to rest.
That commands are no closer together in wall time is seen to where they leave
(``links/controller_end.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..contracts.axes import Axes
from ..contracts.quantities import UNLIMITED, Commands
from ..kernels.block import Block, Channel, Value, channels
from ..kernels.braking import BRAKING, note_acceleration, time_to_brake, while_braking
from ..kernels.compile import kernel
from ..kernels.control import EMERGENCY_STOP, RECORD_FAILS, STOP
from ..kernels.memory import FAULT_CHANNEL, REQUEST_CHANNEL, RIG_FAULT_CHANNEL
from ..kernels.modes import ARMED, FINISHED, RAMP_DOWN, RAMPING, RUNNING, STOPPED_AT_REST, TRIPPED
from ..kernels.repeats import repeated_for
from ..kernels.tick import WAITING
from .limits import Limits
from .watched import COMMAND, COMMAND_RATE, Watch

MORE = 0.1
"""Share of a limit by which a value that has tripped the test may still grow while the rig returns."""
ROUNDING = 1e-6
"""By so much a way home is longer than its rate limit requires, so that rounding does not trip it."""
BLOCK_FAULT, BY_OPERATOR, BY_RECORDER = 999.0, 998.0, 997.0
"""Causes of a trip other than a limit: a block's own fault, the emergency stop, a record that fails."""


class Seen(NamedTuple):
    """Channels that the guard reads: of each actuator, of each axis that is commanded, and of each axis."""

    asked: tuple[str, ...]
    target: tuple[str, ...]
    displacement: tuple[str, ...]
    force: tuple[str, ...]
    energy: tuple[str, ...]
    goals: tuple[Goal, ...] = ()


class Goal(NamedTuple):
    """A channel with a value that a watched quantity is on its way to."""

    channel: str
    quantity: str
    number: int
    """Of the actuator or axis."""


@dataclass(frozen=True)
class GuardPlan:
    """The test that is guarded."""

    period: float
    """Of the rig [s]."""
    seen: Seen
    initial: np.ndarray
    """Where the test begins, and where the rig is taken to stand; whoever knows better writes the state fields
    ``applied``, ``held`` and ``before``."""
    commands: Commands = "displacement"
    """A rig commanded in force ends with none, also on a trip."""
    targets: Commands = "displacement"
    begin: np.ndarray | None = None
    """The force with which a rig commanded in force begins; none if left out."""
    step: float | None = None
    """Of the test [s], where it is not the period."""
    duration: float = UNLIMITED
    """Of the test [s]."""
    soft_start: float = 0.0
    soft_stop: float = 0.0
    axes: Axes | None = None
    """Displacements if left out."""
    to_commands: Callable[[np.ndarray], np.ndarray] | None = None
    """The commands that bring the commanded axes into a pose, where these are not the pose itself."""
    noisy: np.ndarray | None = None
    """Of each sensor, displacements first, whether it is known to vary."""
    channels: Sequence[Channel] = ()
    """All others of the loop, which limits may name."""
    stale: str = ""
    """Channel that is not zero while measurements are missing, if there is one."""


def guard(limits: Limits, plan: GuardPlan) -> Block:
    """Block "guard"."""
    seen, by_force, to_force = plan.seen, plan.commands == "force", plan.targets == "force"
    m, n = len(seen.asked), len(seen.displacement)
    axes = Axes.numbered(n) if plan.axes is None else plan.axes
    mode = RAMPING if plan.soft_start > 0.0 else RUNNING
    initial = np.asarray(plan.initial, dtype=float)
    at, gaps = np.array(axes.commanded_at), np.zeros(len(seen.target))
    safe, begin = limits.safe(axes, initial)[at], initial[at]
    if plan.to_commands is not None:
        safe, begin = plan.to_commands(safe), plan.to_commands(begin)
    if by_force:
        safe = np.zeros(m)
        begin = np.zeros(m) if plan.begin is None else np.asarray(plan.begin, dtype=float)
    watch = limits.watched(axes, plan.commands, plan.targets, plan.channels)
    trip, warn = watch.trip, watch.warn
    state: dict[str, Value] = {
        "mode": mode,
        "cause": 0.0,
        "value": 0.0,
        "elapsed": 0.0,
        "ended": UNLIMITED,
        "return_time": 0.0,
        "moved": 0.0,
        "returns": 0.0,
        "halted": 0.0,
        "braking": 0.0,
        "hurried": 0.0,
        "paused": 0.0,
        "applied": begin,
        "held": begin,
        "next": begin,
        **dict.fromkeys(("way", "sharpest", "leaving"), np.zeros(m)),
        "before": initial,
        "velocity": np.zeros(n),
        "lag": gaps,
        "watched": np.zeros(trip.size),
        "peaks": np.zeros(trip.size),
        "bound": trip,
        "last": np.full(2 * n, np.nan),
        "repeats": np.zeros(2 * n),
        "longest": np.zeros(2 * n),
        "rested": np.zeros(2 * n),
        "varies": np.zeros(2 * n) if plan.noisy is None else np.asarray(plan.noisy, dtype=float),
    }
    smoothing, half_step = limits.smoothing, 0.5 * (plan.period if plan.step is None else plan.step)
    return Block(
        name="guard",
        step=guard_step,
        inputs=(
            *(channel.name for channel in (FAULT_CHANNEL, REQUEST_CHANNEL, RIG_FAULT_CHANNEL)),
            *seen.asked,
            *seen.target,
            *seen.displacement,
            *seen.force,
            *seen.energy,
            *watch.others,
            *(goal.channel for goal in seen.goals),
            *filter(None, [plan.stale]),
        ),
        outputs=(
            *channels("command", "N" if by_force else "m", m, of="actuator"),
            *channels("gap", "N" if to_force else "m", len(gaps), of="commanded"),
            Channel("guard.mode", "1"),
            Channel("guard.cause", "1"),
            Channel("guard.value", "1"),
            Channel("guard.warning", "1"),
            Channel("guard.halted", "1"),
        ),
        parameters={
            "dt": plan.period,
            "trip": trip,
            "warn": warn,
            "first": np.minimum(trip, warn),
            "at_home": watch.which("at_home"),
            "sensor": watch.which("sensor"),
            "gap_at": float(watch.starts["gap"]),
            "rate": watch[COMMAND_RATE].trip,
            "smoothing": 1.0 if smoothing == 0.0 else 1.0 - math.exp(-plan.period / smoothing),
            "returns": float(limits.on_trip == "return" or by_force),
            "return_time": limits.return_time,
            "after": limits.after_trip,
            "begin": begin,
            "safe": safe,
            "soft_start": plan.soft_start,
            "soft_stop": plan.soft_stop,
            "duration": plan.duration,
            "half_step": half_step,
            "to_force": float(to_force),
            "apart": float(plan.commands != plan.targets or plan.to_commands is not None),
            "mapped": float(plan.to_commands is not None),
            "axis": at.astype(float),
            "by_force": float(by_force),
            "braking": limits.braking_of(axes, plan.commands),
            "reach": _reach(watch, plan, axes),
            "goals": float(len(seen.goals)),
            "goal_at": np.array([0.0, *(float(watch.starts[one.quantity] + one.number) for one in seen.goals)]),
            "stale": float(plan.stale != ""),
        },
        state=state,
        frozen=tuple(state),
        watched=("guard.mode", "guard.cause", "guard.warning", "guard.halted"),
        initial=(*begin, *gaps, mode),
    )


def _reach(watch: Watch, plan: GuardPlan, axes: Axes) -> np.ndarray:
    """How far each command may go while the rig brakes."""
    found = watch[COMMAND].trip.copy()
    if plan.commands == plan.targets == "displacement" and plan.to_commands is None:
        within = watch["measured.displacement"].trip[np.array(axes.commanded_at)]
        found = np.minimum(found, np.minimum(watch["target"].trip, within))
    return np.asarray(found)


@kernel
def set_out(p, s, time, longest, emergency):  # type: ignore[no-untyped-def]
    """Begin the way to rest, and from there, within ``time``, to the safe position, no faster than a command may be."""
    gap = int(p.gap_at)
    s.elapsed, s.hurried = 0.0, 1.0 if emergency and time == 0.0 else 0.0
    for i in range(s.bound.size):
        s.bound[i] = p.trip[i]
    for i in range(s.lag.size):
        s.bound[gap + i] += s.lag[i]
    for i in range(s.applied.size):  # a force has no velocity to lose
        s.leaving[i] = 0.0 if p.by_force != 0.0 else s.way[i] / p.dt
    s.braking = time_to_brake(s.applied, s.leaving, s.sharpest, p.braking, p.reach, longest, emergency)
    home = time
    for i in range(s.applied.size):
        s.held[i] = s.applied[i] + 0.5 * s.leaving[i] * s.braking
        if time > 0.0:
            way = abs(s.held[i] - p.safe[i])
            home = max(home, (0.5 + ROUNDING) * math.pi * way / p.rate[i])
            home = max(home, (1.0 + ROUNDING) * math.pi * math.sqrt(0.5 * way / p.braking[i]))
    s.return_time = s.braking + home


@kernel
def allow_what_tripped(p, s):  # type: ignore[no-untyped-def]
    """On the way home after a trip, what is beyond its limit already may be so, but not by much more."""
    for i in range(s.bound.size):
        value = abs(s.watched[i])
        if math.isfinite(value):
            s.bound[i] = max(s.bound[i], value + MORE * p.trip[i])


@kernel
def on_the_way(elapsed, i, p, s):  # type: ignore[no-untyped-def]
    """Where the command is after a time: braking, and then on the half cosine to the safe position, if it returns."""
    if elapsed < s.braking:
        return while_braking(s.held[i], s.leaving[i], s.braking, s.braking - elapsed)
    if s.return_time <= s.braking:
        return s.held[i]
    share = (elapsed - s.braking) / (s.return_time - s.braking)
    return p.safe[i] + 0.5 * (1.0 + math.cos(math.pi * min(share, 1.0))) * (s.held[i] - p.safe[i])


@kernel
def begin_to_brake(p, s, ahead):  # type: ignore[no-untyped-def]
    """Take the first step, ``ahead`` long, of the way set out on in this tick; what is at rest stays there for it."""
    for i in range(s.applied.size):
        before = s.applied[i]
        if s.braking > 0.0:
            s.applied[i] = on_the_way(s.elapsed + ahead, i, p, s)
        s.way[i] = s.applied[i] - before
    if s.braking > 0.0:
        s.elapsed += ahead


def guard_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    actuators, axes, gaps = s.applied.size, s.before.size, s.lag.size
    request = u[1]
    asked_in = 3
    target_in = asked_in + actuators
    displacement_in = target_in + gaps
    force_in = displacement_in + axes
    energy_in = force_in + axes
    others_in = energy_in + gaps
    # where the entries of each quantity begin, in the order of TABLE: from sizes, which the compiler knows
    asked_at = 0
    rate_at = asked_at + actuators
    target_at = rate_at + actuators
    displacement_at = target_at + gaps
    force_at = displacement_at + axes
    gap_at = force_at + axes
    velocity_at = gap_at + gaps
    acceleration_at = velocity_at + axes
    energy_at = acceleration_at + axes
    still_at = energy_at + gaps
    still_force_at = still_at + axes
    others = s.watched.size - still_force_at - axes
    goals_in = others_in + others
    tripped = s.mode == TRIPPED or s.mode == FINISHED
    # without measurements nothing moves; but what brakes comes to rest, and a force is let go after a trip
    waits = not (tripped or s.mode == RAMP_DOWN) or (s.elapsed >= s.braking and (p.by_force == 0.0 or not tripped))
    missing = p.stale != 0.0 and u[u.size - 1] != 0.0
    stale = missing and waits
    if stale:  # it has stopped already
        for i in range(actuators):
            s.way[i] = 0.0
    if not tripped and s.mode != RAMP_DOWN and s.mode != STOPPED_AT_REST:
        if request == WAITING:
            s.mode = ARMED
        elif request == STOP or t > p.duration - p.half_step:
            s.mode, s.ended = RAMP_DOWN, t
            # before anything has moved, stopping moves nothing; only a force is let go
            time = p.soft_stop if s.moved != 0.0 or p.by_force != 0.0 else 0.0
            set_out(p, s, time, time if time > 0.0 else BRAKING, False)
        else:
            s.mode = RUNNING if t > -p.half_step else RAMPING
    home = s.mode == RAMP_DOWN or tripped
    mode, dt, apart, by_force = s.mode, p.dt, p.apart != 0.0, p.by_force != 0.0
    # braking may end within this step, and without measurements nothing follows it there
    ahead = min(dt, s.braking - s.elapsed) if missing and home and s.elapsed < s.braking else dt

    for i in range(actuators):
        # what is wanted of the rig: by the test, or by the guard itself on the ways to and from it
        asked = u[asked_in + i]
        if stale:
            asked = s.applied[i]
        elif mode == RAMPING:
            share = min(max(1.0 + t / p.soft_start, 0.0), 1.0)
            asked = s.held[i] + 0.5 * (1.0 - math.cos(math.pi * share)) * (p.begin[i] - s.held[i])
        elif home:
            asked = on_the_way(s.elapsed + ahead, i, p, s) if s.elapsed < s.return_time else s.applied[i]
        elif mode != RUNNING:
            asked = s.applied[i]
        s.next[i] = s.watched[asked_at + i] = asked
        s.watched[rate_at + i] = (asked - s.applied[i]) / dt
    for i in range(gaps):
        axis = i if gaps == axes else int(p.axis[i])  # without passive axes they are the same
        measured, target = u[displacement_in + axis], u[target_in + i]
        if mode != RUNNING:
            target = measured if apart else s.next[i]  # a drive, or a stroke, is no target
        gap = target - (u[force_in + axis] if p.to_force != 0.0 else measured)
        if not home and not by_force and p.mapped == 0.0 and abs(s.applied[i] - measured) > s.lag[i]:
            s.lag[i] = abs(s.applied[i] - measured)
        s.watched[target_at + i] = target
        s.watched[gap_at + i] = 0.0 if home and by_force else gap
        s.watched[energy_at + i] = u[energy_in + i]
        y[actuators + i] = gap
    resting = mode == ARMED
    for i in range(axes):
        measured, force = u[displacement_in + i], u[force_in + i]
        velocity = s.velocity[i] + p.smoothing * ((measured - s.before[i]) / dt - s.velocity[i])
        s.watched[displacement_at + i] = measured
        s.watched[force_at + i] = force
        s.watched[velocity_at + i] = velocity
        s.watched[acceleration_at + i] = (velocity - s.velocity[i]) / dt
        s.watched[still_at + i] = repeated_for(measured, i, p.trip[still_at + i], dt, resting, s)
        s.watched[still_force_at + i] = repeated_for(force, axes + i, p.trip[still_force_at + i], dt, resting, s)
        s.before[i], s.velocity[i] = measured, velocity

    for i in range(others):
        s.watched[s.watched.size - others + i] = u[others_in + i]
    if mode == RUNNING:
        for i in range(int(p.goals)):
            entry = int(p.goal_at[1 + i])
            if not (abs(u[goals_in + i]) <= abs(s.watched[entry])):
                s.watched[entry] = u[goals_in + i]

    warning = cause = value = 0.0
    beyond = False
    for i in range(s.watched.size):
        size = abs(s.watched[i])
        if not home or (not tripped and p.at_home[i] != 0.0):
            s.peaks[i] = max(s.peaks[i], size)
        # written so that a value that is not a number is beyond every limit
        beyond |= not (size <= p.first[i])
    if beyond:
        for i in range(s.watched.size - 1, -1, -1):
            size = abs(s.watched[i])
            if not (size <= p.warn[i]) and not tripped and not (home and p.at_home[i] == 0.0):
                warning = i + 1.0
            if not (size <= (s.bound[i] if home else p.trip[i])):
                cause, value = i + 1.0, s.watched[i]
        for i in range(s.watched.size - 1, -1, -1):
            # a sensor's fault is the cause, not what the loop made of it
            if p.sensor[i] != 0.0 and not math.isfinite(s.watched[i]):
                cause, value = i + 1.0, s.watched[i]
    if not tripped:
        if u[0] != 0.0:
            cause, value = BLOCK_FAULT, u[0]
        if request == RECORD_FAILS:
            cause, value = BY_RECORDER, 0.0
        if request == EMERGENCY_STOP:
            cause, value = BY_OPERATOR, 0.0
        if cause != 0.0:
            s.mode, s.cause, s.value = TRIPPED, cause, value
            # nor does a trip move a rig that nobody has set in motion yet
            s.returns = p.by_force if cause == BY_OPERATOR or s.moved == 0.0 else p.returns
            # nor is there time to brake gently if the rig, or what is measured, is not to be relied on
            emergency = cause == BY_OPERATOR or u[2] != 0.0 or not math.isfinite(value)
            set_out(p, s, p.return_time if s.returns != 0.0 else 0.0, BRAKING, emergency)
            allow_what_tripped(p, s)
            begin_to_brake(p, s, min(dt, s.braking) if missing else dt)
        else:
            for i in range(actuators):
                way = s.next[i] - s.applied[i]
                if s.mode != RAMP_DOWN and not stale and s.paused == 0.0:
                    note_acceleration(s.sharpest, i, way - s.way[i], dt)
                s.way[i], s.applied[i] = way, s.next[i]
            s.paused = 1.0 if stale else 0.0
            if s.mode == RAMPING or s.mode == RUNNING:
                s.moved = 1.0
            if s.mode == RAMP_DOWN and not stale:
                s.elapsed += ahead
                if s.elapsed >= s.return_time - 1e-6 * p.dt:
                    s.mode = STOPPED_AT_REST
    else:
        if request == EMERGENCY_STOP:
            cause = BY_OPERATOR
        elif u[2] != 0.0:
            cause = BLOCK_FAULT
        under_way = s.elapsed < s.return_time
        if under_way and cause != 0.0 and p.by_force == 0.0 and s.hurried == 0.0:
            s.halted, s.returns = cause, 0.0
            set_out(p, s, 0.0, BRAKING, True)
            begin_to_brake(p, s, min(dt, s.braking) if missing else dt)
        elif not (under_way and stale):
            s.elapsed += ahead
            if under_way:
                for i in range(actuators):
                    s.way[i], s.applied[i] = s.next[i] - s.applied[i], s.next[i]
        if s.elapsed >= s.return_time + p.after:
            s.mode = FINISHED
    for i in range(actuators):
        y[i] = s.applied[i]
    said = actuators + gaps
    y[said], y[said + 1], y[said + 2], y[said + 3], y[said + 4] = s.mode, s.cause, s.value, warning, s.halted
    return 0
