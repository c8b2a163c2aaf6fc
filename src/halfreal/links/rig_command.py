"""The guard of a rig's loop: block "link.command", which gives the commands of a session to the rig.

Armed, it follows the newest valid command, no faster than its own rate limit, in wall time: in a step the command
applied changes by at most the rate times the time since the last step, a step's at most.  A command beyond its own
limit, or further from the one applied than its longest step, is not followed: the rig makes itself safe.  So it does
when none has come for the lease, one of its own blocks has a fault (a sensor, an interlock, its driver), or its own
operator stops it.  Safe, it holds, or returns along a half cosine to where
it was when armed, no faster than its rate limit, and obeys no further command of the session.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from ..kernels.block import Block, Channel, Value, channels
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
AFTER = 0.05
"""Seconds for which a rig that is safe and at rest continues reporting it."""
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

    @classmethod
    def none(cls, axes: int) -> OwnLimits:
        return cls(*(np.full(axes, UNLIMITED) for _ in range(4)))

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
        "returns_for": 0.0,
        "slowed": 0.0,
        "any": 0.0,
        "turn": FIRST_TURN,
        "wanted": np.array(stands, dtype=float),
        "command": np.array(stands, dtype=float),
        "held": np.array(stands, dtype=float),
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
            "returns": float(returns),
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
def make_safe(p, s, code):  # type: ignore[no-untyped-def]
    """Follow no further command: hold, or return no faster than a command may be; on a stop or fault hold."""
    s.state, s.code, s.elapsed = SAFE, code, 0.0
    s.returns_for = p.return_time if p.returns != 0.0 and code != OWN_STOP and code != OWN_FAULT else 0.0
    for i in range(s.command.size):
        s.held[i] = s.command[i]
        if s.returns_for > 0.0:
            s.returns_for = max(s.returns_for, 0.5 * math.pi * abs(s.held[i] - p.home[i]) / p.fastest[i])


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
def follow(p, s, seconds):  # type: ignore[no-untyped-def]
    """Go towards the command wanted, as far as the rate limit allows in so many seconds."""
    slowed = False
    for i in range(s.command.size):
        way, most = s.wanted[i] - s.command[i], p.fastest[i] * seconds
        if abs(way) <= most * FOLLOWED:
            s.command[i] = s.wanted[i]
        else:
            s.command[i] += math.copysign(most, way)
            slowed = True
    if slowed:
        s.slowed += 1.0


def command_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n = s.command.size
    buffer, origin = s.buffer.ctypes.data, int(p.origin)
    called = float(now() - origin)
    if s.arrived == 0.0:
        s.arrived = called
    if s.state == ARMED_RIG and u[0] == EMERGENCY_STOP:
        make_safe(p, s, OWN_STOP)
    elif s.state == ARMED_RIG and u[1] != 0.0:
        make_safe(p, s, OWN_FAULT)
    elif s.state == ARMED_RIG and called - s.arrived >= p.lease:
        # before anything else: what has queued up while this process was held up does not renew the lease
        make_safe(p, s, LEASE_OVER)
    elif s.state == SAFE:
        s.elapsed += p.dt
        if u[0] == EMERGENCY_STOP and s.elapsed < s.returns_for:  # on its way: then it goes no further
            s.returns_for, s.code = s.elapsed, OWN_STOP
        elif u[1] != 0.0 and s.elapsed < s.returns_for:
            s.returns_for, s.code = s.elapsed, OWN_FAULT
        elif s.returns_for > 0.0 and s.code != OWN_STOP and s.code != OWN_FAULT:
            share = 0.5 * (1.0 + math.cos(math.pi * min(s.elapsed / s.returns_for, 1.0)))
            for i in range(n):
                s.command[i] = p.home[i] + share * (s.held[i] - p.home[i])
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
                        make_safe(p, s, OWN_LIMIT)
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
    if s.state == ARMED_RIG or (s.state == IDLE and fresh):  # STOP may have come with it
        follow(p, s, 1e-9 * since)
    age = time - s.arrived
    rested = s.state == SAFE and s.elapsed >= s.returns_for + AFTER
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
