"""The guard of a rig's loop: block "link.command", which gives the commands of a session to the rig.

Armed, it follows the newest valid command, no faster than its own rate limit, in wall time: in a step the command
applied changes by at most the rate times the time since the last step, a step's at most.  This holds in every state:
one function moves the rig (``go``).  A command beyond its own limit, or further from the one applied
than its longest step, is not followed: the rig makes itself safe.  So it does when none has come for the lease, one of
its own blocks has a fault (a sensor, an interlock, its driver), or its own operator stops it.  Safe, it brakes, and
then holds, or returns to where it was when armed::

    x = from + q(e / T) (home − from),      q(x) = 10 x³ − 15 x⁴ + 6 x⁵

and obeys no further command of the session.  The rules are those of docs/link/halfreal_rig.c: a table in docs/link.md.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from ..kernels.block import Block, Channel, Value, channels
from ..kernels.braking import BRAKING, note_acceleration, time_to_brake, while_braking
from ..kernels.bytes import load8, load32, load64, load_double
from ..kernels.clock import now
from ..kernels.compile import kernel
from ..kernels.control import EMERGENCY_STOP
from ..kernels.datagram import (
    ARMED_RIG,
    BUFFER,
    COMMAND,
    COUNTERS,
    DUPLICATED,
    HEADER,
    IDLE,
    LATE,
    LEASE_OVER,
    NEW,
    OWN_FAULT,
    OWN_LIMIT,
    OWN_STOP,
    ROOM,
    SAFE,
    STOP,
    WINDOW,
    furthest_ahead,
    judge,
)
from ..kernels.memory import REQUEST_CHANNEL, RIG_FAULT_CHANNEL
from ..kernels.modes import ARMED, FINISHED, RUNNING
from ..kernels.spacing import FIRST_TURN, await_turn, take_turn
from ..kernels.wire import MOST, wire_receive, wire_send, wire_wait
from ..safety.limits import UNLIMITED
from .wires import Wire

SPIN = 30_000.0
"""Nanoseconds of watching for a command before sleeping."""
AFTER = 0.1
"""Seconds for which a rig that is safe and at rest continues reporting it."""
FASTEST, SHARPEST = 1.875, 10.0 / math.sqrt(3.0)
"""Of the way home: its largest velocity as a multiple of distance / time, its largest acceleration of distance / time².
"""
FOLLOWED = 1.0 + 1e-9
"""A command within its rate limit but for rounding is followed as it is."""


@dataclass(frozen=True)
class OwnLimits:
    """What a rig allows a command, on each axis: its magnitude, its rate, and its distance from the one applied."""

    largest: np.ndarray
    fastest: np.ndarray
    furthest: np.ndarray
    first: np.ndarray
    """Distance of a session's first command from where the rig stands."""
    braking: np.ndarray
    """Acceleration with which it stops and returns."""

    @classmethod
    def none(cls, axes: int) -> OwnLimits:
        return cls(*(np.full(axes, UNLIMITED) for _ in range(5)))

    def offered(self) -> tuple[float, ...]:
        """The channels of an OFFER: infinite where there is no limit."""
        return tuple(open_ended(np.concatenate([self.largest, self.fastest, self.furthest])).tolist())


def open_ended(limit: np.ndarray) -> np.ndarray:
    """A limit that is infinite where there is none."""
    return np.where(limit < UNLIMITED, limit, np.inf)


def command_block(
    limits: OwnLimits,
    wire: Wire,
    session: np.ndarray,
    lease: float,
    step: float,
    first: bytes,
    stands: np.ndarray,
    *,
    waits: bool,
    returns: bool,
    return_time: float,
    unit: str = "m",
    home: np.ndarray | None = None,
) -> Block:
    """Block "link.command"; it ``waits`` for each command if the rig works in step with the test's loop.

    ``session`` is its number and key for compiled code; ``first`` the MEASUREMENT that answers ARM; ``stands`` the
    command under which the rig stands, and ``home`` that to which it ``returns``: the same if left out.
    """
    n = len(stands)
    seen = np.zeros(WINDOW)
    seen[1] = 1.0
    state: dict[str, Value] = {
        "buffer": np.zeros(BUFFER),
        "taken": np.array([wire.taken()]),
        "newest": np.ones(1),  # ARM had the first sequence
        "seen": seen,
        "counts": np.zeros(len(COUNTERS)),
        "arrived": 0.0,
        "tick": 0.0,
        "mode": ARMED,
        "state": ARMED_RIG,
        "code": 0.0,
        "elapsed": 0.0,
        "brakes_for": 0.0,
        "returns_for": 0.0,
        "slowed": 0.0,
        "any": 0.0,
        "turn": FIRST_TURN,
        "wanted": np.array(stands, dtype=float),
        "command": np.array(stands, dtype=float),
        "rest": np.array(stands, dtype=float),
        **{name: np.zeros(n) for name in ("moved", "sharpest", "velocity")},
    }
    return Block(
        name="link.command",
        step=command_step,
        inputs=(REQUEST_CHANNEL.name, RIG_FAULT_CHANNEL.name),
        outputs=(
            *channels("command", unit, n, of="actuator"),
            Channel("guard.mode", "1"),
            Channel("rig.state", "1"),
            Channel("rig.code", "1"),
            Channel("link.age", "s"),
            Channel("link.tick", "1"),
            Channel("link.newest", "1"),
            *(Channel(f"link.{name}", "1") for name in COUNTERS),
            Channel("rig.slowed", "1"),
            Channel("rig.clock", "s"),
            Channel("link.mode", "1"),
        ),
        parameters={
            "way": wire.way(),
            "session": session,
            "dt": step,
            "waits": float(waits),
            "lease": 1e9 * lease,
            "ahead": furthest_ahead(lease, step),
            "largest": open_ended(limits.largest),
            "fastest": open_ended(limits.fastest),
            "furthest": open_ended(limits.furthest),
            "first_step": open_ended(limits.first),
            "braking": open_ended(limits.braking),
            "returns": float(returns),
            "by_force": float(unit == "N"),
            "return_time": return_time,
            "home": np.array(stands if home is None else home, dtype=float),
            "first": np.frombuffer(first.ljust(8 * BUFFER, b"\0")),
            "first_length": float(len(first)),
            "origin": float(time.monotonic_ns()),
        },
        state=state,
        frozen=tuple(state),
        watched=("rig.state",),
        initial=tuple(stands),
    )


@kernel
def make_safe(p, s, code, time):  # type: ignore[no-untyped-def]
    """Follow no further command: brake, and then hold or return.

    After its own stop or a fault the rig holds: what it knows of itself is not to be relied on.  A rig commanded in
    force lets go in any case, and at once: it has no velocity of its own, and a force that is held is not safe.
    """
    emergency = code in (OWN_STOP, OWN_FAULT)
    s.state, s.code, s.elapsed = SAFE, code, 0.0
    # with the present velocity, which a command that has not changed for long no longer has
    since = max(1e-9 * (time - s.turn[0]), p.dt)
    for i in range(s.command.size):
        s.velocity[i] = 0.0 if p.by_force != 0.0 else s.moved[i] / since
    s.brakes_for = time_to_brake(s.command, s.velocity, s.sharpest, p.braking, p.largest, BRAKING, emergency)
    for i in range(s.command.size):
        s.rest[i] = s.command[i] + 0.5 * s.velocity[i] * s.brakes_for
    s.returns_for = 0.0
    if p.returns != 0.0 and (not emergency or p.by_force != 0.0):
        s.returns_for = p.return_time
        for i in range(s.command.size):
            distance = abs(s.rest[i] - p.home[i])
            s.returns_for = max(s.returns_for, FASTEST * distance / p.fastest[i])
            s.returns_for = max(s.returns_for, math.sqrt(SHARPEST * distance / p.braking[i]))


@kernel
def advance_to_safety(p, s, seconds):  # type: ignore[no-untyped-def]
    """The next point of the way to safety.  Its time is that of the steps: one in which the rig was held up makes the
    way longer, but never makes it faster."""
    s.elapsed += seconds
    left = s.brakes_for - s.elapsed
    share = min(max(-left, 0.0) / s.returns_for, 1.0) if s.returns_for > 0.0 else 0.0
    done = share * share * share * (10.0 + share * (6.0 * share - 15.0))
    for i in range(s.command.size):
        if left > 0.0:
            s.wanted[i] = while_braking(s.rest[i], s.velocity[i], s.brakes_for, left)
        elif share == 1.0:
            s.wanted[i] = p.home[i]
        else:
            s.wanted[i] = s.rest[i] + done * (p.home[i] - s.rest[i])


@kernel
def allowed(p, s):  # type: ignore[no-untyped-def]
    """Whether the rig may follow the command that has come."""
    for i in range(s.wanted.size):
        furthest = p.furthest[i] if s.any != 0.0 else min(p.first_step[i], p.furthest[i])
        # written so that a value that is not a number is not allowed
        if not (abs(s.wanted[i]) <= p.largest[i] and abs(s.wanted[i] - s.command[i]) <= furthest):
            return False
    return True


@kernel
def go(p, s, seconds):  # type: ignore[no-untyped-def]
    """Go towards the command wanted, as far as the rate limit allows in so many seconds: all that moves the rig."""
    slowed = False
    for i in range(s.command.size):
        way, most, before = s.wanted[i] - s.command[i], p.fastest[i] * seconds, s.moved[i]
        if abs(way) <= most * FOLLOWED:
            s.moved[i] = way
            s.command[i] = s.wanted[i]
        else:
            s.moved[i] = math.copysign(most, way)
            s.command[i] += s.moved[i]
            slowed = True
        if s.state != SAFE:
            note_acceleration(s.sharpest, i, s.moved[i] - before, p.dt)
    if slowed:
        s.slowed += 1.0


def command_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n = s.command.size
    buffer, origin = s.buffer.ctypes.data, int(p.origin)
    called = float(now() - origin)
    if s.arrived == 0.0:
        s.arrived = called
    moves = s.state == ARMED_RIG or (s.state == SAFE and s.elapsed < s.brakes_for + s.returns_for)
    stopped = s.state == SAFE and (s.code == OWN_STOP or s.code == OWN_FAULT)  # already: what comes later adds nothing
    if moves and not stopped and u[0] == EMERGENCY_STOP:
        make_safe(p, s, OWN_STOP, called)
    elif moves and not stopped and u[1] != 0.0:
        make_safe(p, s, OWN_FAULT, called)
    elif s.state == ARMED_RIG and called - s.arrived >= p.lease:
        # before anything else: what has queued up while this process was held up does not renew the lease
        make_safe(p, s, LEASE_OVER, called)
    in_step = p.waits != 0.0 and s.state == ARMED_RIG  # a safe rig has its own clock
    limit = s.arrived + p.lease if s.state == ARMED_RIG else called + 1e9 * p.dt
    fresh = False
    looked = 0
    time = called
    # the clock first: neither being held up in here nor a flood of datagrams outlasts the lease
    while time < limit and (in_step or looked < MOST):
        length = wire_receive(p.way, s.taken, buffer, ROOM)
        if length >= 0:
            looked += 1
            verdict = judge(buffer, length, p.session, COMMAND, n, STOP, p.ahead, s.counts, s.newest, s.seen)
            if verdict == DUPLICATED and s.newest[0] == 1.0 and in_step:
                # ARM once more: the answer to it was lost, and the same is given again
                wire_send(p.way, p.first.ctypes.data, int(p.first_length))
            if verdict == NEW:
                if s.state == ARMED_RIG and load8(buffer + 5) == STOP:
                    s.state = IDLE
                elif s.state == ARMED_RIG:
                    fresh = True
                    s.arrived = time
                    s.tick = float(load64(buffer + 32))
                    s.mode = float(load32(buffer + 48))
                    for i in range(n):
                        s.wanted[i] = load_double(buffer + HEADER + 8 * i)
                    if not allowed(p, s):
                        make_safe(p, s, OWN_LIMIT, time)
                    s.any = 1.0
                if in_step:  # one command, one step
                    break
            time = float(now() - origin)
        elif p.waits == 0.0:
            break
        else:
            time = float(wire_wait(p.way, s.taken, origin + int(limit), int(SPIN), origin + int(called)) - origin)
    if not fresh:
        if s.state != IDLE:  # else it was STOP that came
            s.counts[LATE] += 1.0
        s.tick += 1.0
    period = 1e9 * p.dt
    time = float(await_turn(s.turn, period, 0.0, origin, int(SPIN), now()) - origin)
    since = min(take_turn(s.turn, period, time), period)
    if s.state == SAFE:
        advance_to_safety(p, s, 1e-9 * since)
    if s.state != IDLE or fresh:  # STOP may have come with it
        go(p, s, 1e-9 * since)
    age = time - s.arrived
    rested = s.state == SAFE and s.elapsed >= s.brakes_for + s.returns_for + AFTER
    for i in range(n):
        y[i] = s.command[i]
    y[n] = FINISHED if rested or s.state == IDLE else RUNNING
    y[n + 1], y[n + 2], y[n + 3], y[n + 4] = s.state, s.code, 1e-9 * age, s.tick
    y[n + 5] = s.newest[0]
    for i in range(s.counts.size):
        y[n + 6 + i] = s.counts[i]
    y[n + 6 + s.counts.size], y[n + 7 + s.counts.size] = s.slowed, 1e-9 * s.turn[0]
    y[n + 8 + s.counts.size] = s.mode
    return 0
