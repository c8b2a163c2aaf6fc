"""The guard: the last block before the rig.  Every command passes it, in the loop, at every tick.

Watched are, for every interface axis, the asked command, its rate, the target, the measured displacement and force, the
gap (target − measured displacement, or force where that is the target), the measured velocity and acceleration
(backward differences, smoothed if wished), the energy error, and how long each sensor has repeated itself
(``kernels/repeats.py``).  A value beyond its ``warn`` limit is an event; beyond its ``trip`` limit, or not a number, or
a fault reported by any block, is a trip: within the same tick the command stays at the last one applied, and then holds
there or returns smoothly to the safe position, no faster than the command's rate limit.  Never does an offending
command reach the rig.  A trip ends the test after ``after_trip``, so that the record shows what came of it.

The guard's mode is the state of the test::

    ARMED → RAMPING → RUNNING → RAMP_DOWN → STOPPED_AT_REST          and from each of them TRIPPED → FINISHED

ARMED holds the rig where it stands for as long as the operator wants.  RAMPING brings it, within the soft start, along
a half cosine to where the test begins (t < 0).  RUNNING is the test.  RAMP_DOWN, at its end or when the operator asks
for it, brings it to the safe position within the soft stop; without a soft stop, or before anything has moved, it holds
where it is.  No mode leads out of FINISHED: a new test is a new loop.

An emergency stop holds, whatever ``on_trip`` says, and so does every trip before the test has set out; a rig commanded
in force lets go smoothly instead, as on every trip: a force that is held is not safe.  A return after a trip is watched
by every limit, and holds where it is on an emergency stop, a fault of the rig, or a value beyond its limit; one that
was beyond its limit at the trip may exceed what it was then by MORE of the limit.  On the ways home the gap is that
between command and measured displacement, and its limit is wider by the largest lag of the test.

The guard counts the time of the test.  That commands are no closer together in wall time is seen to where they leave
(``links/controller_end.py``).
"""

from __future__ import annotations

import math

import numpy as np

from ..contracts.axes import Axes
from ..kernels.block import Block, Channel, Value, channels
from ..kernels.compile import kernel
from ..kernels.control import EMERGENCY_STOP, RECORD_FAILS, STOP
from ..kernels.loop import FAULT_CHANNEL, REQUEST_CHANNEL, RIG_FAULT_CHANNEL
from ..kernels.repeats import repeated_for
from ..kernels.tick import ARMED, FINISHED, RAMP_DOWN, RAMPING, RUNNING, STOPPED_AT_REST, TRIPPED, WAITING
from .limits import UNLIMITED, Commands, Limits

KINDS = 11
"""Signals watched on each axis."""
GAP = 5
"""Which of them is the gap."""
MORE = 0.1
"""Share of a limit by which a value that has tripped the test may still grow while the rig returns."""
ROUNDING = 1e-6
"""By so much a way home is longer than its rate limit asks for, so that rounding does not trip it."""
BLOCK_FAULT, BY_OPERATOR, BY_RECORDER = 999.0, 998.0, 997.0
"""Causes of a trip other than a limit: a block's own fault, the emergency stop, a record that fails."""


def guard(
    limits: Limits,
    dt: float,
    unit: str,
    asked: tuple[str, ...],
    target: tuple[str, ...],
    displacement: tuple[str, ...],
    force: tuple[str, ...],
    energy: tuple[str, ...],
    initial: np.ndarray,
    soft_start: float = 0.0,
    soft_stop: float = 0.0,
    duration: float = UNLIMITED,
    commands: Commands = "displacement",
    targets: Commands = "displacement",
    step: float | None = None,
    begin: np.ndarray | None = None,
    axes: Axes | None = None,
    noisy: np.ndarray | None = None,
) -> Block:
    """Block "guard".

    ``initial`` is where the test begins, and where the rig is taken to stand; whoever knows better writes the state
    fields ``applied``, ``held`` and ``before``.  ``duration`` is that of the test [s].  A rig commanded in
    force starts with that of ``begin``, none if left out, and ends with none, also on a trip.  ``step`` is that of the
    test, where it is not the period of the rig, ``dt``.  ``axes`` are displacements if left out.  ``noisy`` says of
    each sensor, displacements first, whether it is known to vary.
    """
    n = len(asked)
    axes = Axes.numbered(n) if axes is None else axes
    mode = RAMPING if soft_start > 0.0 else RUNNING
    initial = np.asarray(initial, dtype=float)
    safe, zeros = limits.safe(axes, initial), np.zeros(n)
    if commands == "force":
        safe = zeros
        begin = zeros if begin is None else np.asarray(begin, dtype=float)
    else:
        begin = initial
    watched = limits.watched(axes, commands, targets)
    trip, warn = (np.concatenate([getattr(one, which) for one in watched]) for which in ("trip", "warn"))
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
        "applied": begin,
        "held": begin,
        "before": initial,
        "velocity": zeros,
        "lag": zeros,
        "watched": np.zeros(KINDS * n),
        "peaks": np.zeros(KINDS * n),
        "bound": trip,
        "last": np.full(2 * n, np.nan),
        "repeats": np.zeros(2 * n),
        "longest": np.zeros(2 * n),
        "rested": np.zeros(2 * n),
        "varies": np.zeros(2 * n) if noisy is None else np.asarray(noisy, dtype=float),
    }
    return Block(
        name="guard",
        step=guard_step,
        inputs=(
            *(channel.name for channel in (FAULT_CHANNEL, REQUEST_CHANNEL, RIG_FAULT_CHANNEL)),
            *asked,
            *target,
            *displacement,
            *force,
            *energy,
        ),
        outputs=(
            *channels("command", unit, n),
            *channels("gap", "N" if targets == "force" else "m", n),
            Channel("guard.mode", "1"),
            Channel("guard.cause", "1"),
            Channel("guard.value", "1"),
            Channel("guard.warning", "1"),
            Channel("guard.halted", "1"),
        ),
        parameters={
            "dt": dt,
            "trip": trip,
            "warn": warn,
            "first": np.minimum(trip, warn),
            "rate": watched[1].trip,
            "smoothing": 1.0 if limits.smoothing == 0.0 else 1.0 - math.exp(-dt / limits.smoothing),
            "returns": float(limits.on_trip == "return" or commands == "force"),
            "return_time": limits.return_time,
            "after": limits.after_trip,
            "begin": begin,
            "safe": safe,
            "soft_start": soft_start,
            "soft_stop": soft_stop,
            "duration": duration,
            "half_step": 0.5 * (dt if step is None else step),
            "to_force": float(targets == "force"),
            "apart": float(commands != targets),
            "by_force": float(commands == "force"),
        },
        state=state,
        frozen=tuple(state),
        watched=("guard.mode", "guard.cause", "guard.warning", "guard.halted"),
        initial=(*begin, *zeros, mode),
    )


@kernel
def set_out(p, s, time):  # type: ignore[no-untyped-def]
    """Begin the way from the command applied to the safe position: within ``time``, no faster than a command may be."""
    n = s.applied.size
    s.elapsed, s.return_time = 0.0, time
    for i in range(s.bound.size):
        s.bound[i] = p.trip[i]
    for i in range(n):
        s.held[i] = s.applied[i]
        s.bound[GAP * n + i] += s.lag[i]
        if time > 0.0:
            way = abs(s.held[i] - p.safe[i])
            s.return_time = max(s.return_time, (0.5 + ROUNDING) * math.pi * way / p.rate[i])


@kernel
def allow_what_tripped(p, s):  # type: ignore[no-untyped-def]
    """On the way home after a trip, what is beyond its limit already may be so, but not by much more."""
    for i in range(s.bound.size):
        value = abs(s.watched[i])
        if math.isfinite(value):
            s.bound[i] = max(s.bound[i], value + MORE * p.trip[i])


@kernel
def on_the_way(share, i, p, s):  # type: ignore[no-untyped-def]
    """A point on the half cosine from where the rig was held (share 0) to the safe position (share 1)."""
    return p.safe[i] + 0.5 * (1.0 + math.cos(math.pi * min(share, 1.0))) * (s.held[i] - p.safe[i])


def guard_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n = s.applied.size
    request, first = u[1], 3
    tripped = s.mode == TRIPPED or s.mode == FINISHED
    if not tripped and s.mode != RAMP_DOWN and s.mode != STOPPED_AT_REST:
        if request == WAITING:
            s.mode = ARMED
        elif request == STOP or t > p.duration - p.half_step:
            s.mode, s.ended = RAMP_DOWN, t
            # before anything has moved, stopping moves nothing; only a force is let go
            set_out(p, s, p.soft_stop if s.moved != 0.0 or p.by_force != 0.0 else 0.0)
        else:
            s.mode = RUNNING if t > -p.half_step else RAMPING
    home = s.mode == RAMP_DOWN or tripped

    for i in range(n):
        # what is wanted of the rig: by the test, or by the guard itself on the ways to and from it
        asked, target = u[first + i], u[first + n + i]
        measured, force = u[first + 2 * n + i], u[first + 3 * n + i]
        if s.mode == RAMPING:
            share = min(max(1.0 + t / p.soft_start, 0.0), 1.0)
            asked = target = s.held[i] + 0.5 * (1.0 - math.cos(math.pi * share)) * (p.begin[i] - s.held[i])
        elif (s.mode == RAMP_DOWN or s.returns != 0.0) and s.return_time > 0.0:
            asked = target = on_the_way((s.elapsed + p.dt) / s.return_time, i, p, s)
        elif s.mode != RUNNING:
            asked = target = s.applied[i]
        if p.apart != 0.0 and s.mode != RUNNING:  # a drive is no target
            target = measured
        velocity = s.velocity[i] + p.smoothing * ((measured - s.before[i]) / p.dt - s.velocity[i])
        gap = target - (force if p.to_force != 0.0 else measured)
        if not home and p.by_force == 0.0 and abs(s.applied[i] - measured) > s.lag[i]:
            s.lag[i] = abs(s.applied[i] - measured)
        s.watched[i] = asked
        s.watched[n + i] = (asked - s.applied[i]) / p.dt
        s.watched[2 * n + i] = target
        s.watched[3 * n + i] = measured
        s.watched[4 * n + i] = force
        s.watched[GAP * n + i] = 0.0 if home and p.by_force != 0.0 else gap
        s.watched[6 * n + i] = velocity
        s.watched[7 * n + i] = (velocity - s.velocity[i]) / p.dt
        s.watched[8 * n + i] = u[first + 4 * n + i]
        resting = s.mode == ARMED
        s.watched[9 * n + i] = repeated_for(measured, i, p.trip[9 * n + i], p.dt, resting, s)
        s.watched[10 * n + i] = repeated_for(force, n + i, p.trip[10 * n + i], p.dt, resting, s)
        s.before[i], s.velocity[i] = measured, velocity
        y[n + i] = gap

    warning = cause = value = 0.0
    beyond = False
    for i in range(KINDS * n):
        size = abs(s.watched[i])
        if not tripped and not (home and i // n == GAP):
            s.peaks[i] = max(s.peaks[i], size)
        # written so that a value that is not a number is beyond every limit
        beyond |= not (size <= p.first[i])
    if beyond:
        for i in range(KINDS * n - 1, -1, -1):
            size = abs(s.watched[i])
            if not (size <= p.warn[i]) and not tripped and not (home and i // n == GAP):
                warning = i + 1.0
            if not (size <= (s.bound[i] if home else p.trip[i])):
                cause, value = i + 1.0, s.watched[i]
        for i in range(5 * n - 1, 3 * n - 1, -1):
            if not math.isfinite(s.watched[i]):  # a sensor's fault is the cause, not what the loop made of it
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
            set_out(p, s, p.return_time if s.returns != 0.0 else 0.0)
            allow_what_tripped(p, s)
        else:
            for i in range(n):
                s.applied[i] = s.watched[i]
            if s.mode == RAMPING or s.mode == RUNNING:
                s.moved = 1.0
            if s.mode == RAMP_DOWN:
                s.elapsed += p.dt
                if s.elapsed >= s.return_time - 1e-6 * p.dt:
                    s.mode = STOPPED_AT_REST
    else:
        if request == EMERGENCY_STOP:
            cause = BY_OPERATOR
        elif u[2] != 0.0:
            cause = BLOCK_FAULT
        under_way = s.returns != 0.0 and s.elapsed < s.return_time
        s.elapsed += p.dt
        if under_way and cause != 0.0 and p.by_force == 0.0:
            s.halted, s.returns, s.return_time = cause, 0.0, s.elapsed
        elif under_way:
            for i in range(n):
                s.applied[i] = s.watched[i]
        if s.elapsed >= s.return_time + p.after:
            s.mode = FINISHED
    for i in range(n):
        y[i] = s.applied[i]
    y[2 * n], y[2 * n + 1], y[2 * n + 2], y[2 * n + 3], y[2 * n + 4] = s.mode, s.cause, s.value, warning, s.halted
    return 0
