"""The rig's end of a link: the handshake, and the blocks that give a rig's loop its commands and send its answers.

"link.command" is the guard of a rig's loop.  Armed, it follows the newest valid command, no faster than its own rate
limit, in wall time: in a step the command applied changes by at most the rate times the time since the last step, a
step's at most.  A command beyond its own limit, or further from the one applied than its longest step, is not followed:
the rig makes itself safe.  So it does when none has come for the lease, or its own operator stops it.  Safe, it holds,
or returns along a half cosine to where it stood when armed, no faster than its rate limit, and obeys no further command
of the session.
"""

from __future__ import annotations

import contextlib
import math
import secrets
import select
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..kernels.block import Block, Channel, Value, channels
from ..kernels.clock import now
from ..kernels.compile import kernel
from ..kernels.control import EMERGENCY_STOP
from ..kernels.datagram import (
    ARM,
    ARMED_RIG,
    BUFFER,
    COMMAND,
    COUNTERS,
    DUPLICATED,
    HEADER,
    HELLO,
    IDLE,
    LATE,
    LEASE_OVER,
    LONGEST,
    MEASUREMENT,
    NEW,
    OFFER,
    OWN_LIMIT,
    OWN_STOP,
    REFUSAL,
    ROOM,
    SAFE,
    STOP,
    WINDOW,
    furthest_ahead,
    judge,
    load8,
    load64,
    load_double,
    seal,
    store_double,
    write_header,
)
from ..kernels.loop import REQUEST_CHANNEL
from ..kernels.spacing import FIRST_TURN, await_turn, take_turn
from ..kernels.tick import FINISHED, RUNNING
from ..kernels.wire import MOST, wire_receive, wire_send, wire_wait
from ..safety.limits import UNLIMITED
from .controller_end import halves
from .datagram import Datagram, decode
from .settings import Link, Udp
from .wires import LinkError, MailboxWire, UdpWire, Wire, reason, roomy

BUSY, OTHER_STEP, OTHER_AXES, LEASE_TOO_LONG = 1, 2, 3, 4
SPIN = 30_000.0
"""Nanoseconds of watching for a command before sleeping."""
AFTER = 0.05
"""Seconds for which a rig that is safe and at rest goes on saying so."""
FOLLOWED = 1.0 + 1e-9
"""A command within its rate limit but for rounding is followed as it is."""
Measured = Callable[[], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class RigSession:
    """A session that was opened by ARM."""

    key: int
    lease: float
    wire: Wire


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


class RigEnd:
    """Listens for controllers, one session at a time; grants leases up to ``lease`` [s]."""

    def __init__(
        self, axes: int, step: float, listener: Wire, address: str, lease: float, limits: OwnLimits | None = None
    ) -> None:
        self.axes, self.step, self.lease = axes, step, lease
        self.limits = OwnLimits.none(axes) if limits is None else limits
        self.address = address
        self.counters = tuple(f"link.{name}" for name in COUNTERS)
        self._listener = listener
        self._session: RigSession | None = None
        self._state, self._code = int(IDLE), 0
        self._measured = (0.0,) * (2 * axes)

    @classmethod
    def listen(cls, link: Link, axes: int, step: float, limits: OwnLimits | None = None) -> RigEnd:
        listener = UdpListener(link.address) if isinstance(link, Udp) else MailboxWire(link.name, rig=True)
        return cls(axes, step, listener, listener.address, link.lease, limits)

    def await_session(self, measured: Measured, stop: Callable[[], bool]) -> RigSession | None:
        """Answer HELLOs until one is followed by ARM; None if told to stop."""
        key, lease, asker = 0, 0.0, None
        while not stop():
            data = self._listener.receive(0.05)
            asked = None if data is None else decode(data)
            if asked is None:
                continue
            if asked.kind == HELLO:
                code = self._against(asked)
                if code:
                    own = (self.step, float(self.axes))
                    self._answer(Datagram(REFUSAL, answers=asked.sequence, state=self._state, code=code, channels=own))
                    continue
                key, lease, asker = secrets.randbits(64) | 1, asked.channels[2], self._listener.speaker
                self._measured = tuple(float(x) for part in measured() for x in part)
                offer = Datagram(OFFER, key, 0, asked.sequence, state=self._state, code=self._code)
                self._answer(replace(offer, channels=(*self._measured, *self.limits.offered())))
            elif self._opens(asked, key) and self._listener.speaker == asker:
                wire = self._listener.private() if isinstance(self._listener, UdpListener) else self._listener
                self._session = RigSession(key, lease, wire)
                return self._session
        return None

    def _opens(self, asked: Datagram, key: int) -> bool:
        """Whether this is the ARM that follows the newest offer."""
        finite = len(asked.channels) == self.axes and all(map(math.isfinite, asked.channels))
        return asked.kind == ARM and key != 0 and asked.key == key and asked.sequence == 1 and finite

    def _against(self, asked: Datagram) -> int:
        if len(asked.channels) != 3 or not math.isclose(asked.channels[0], self.step, rel_tol=1e-9):
            return OTHER_STEP
        if asked.channels[1] != self.axes:
            return OTHER_AXES
        return 0 if 0.0 < asked.channels[2] <= self.lease else LEASE_TOO_LONG

    def _answer(self, datagram: Datagram) -> None:
        self._listener.send(datagram.encode())

    def turn_away(self) -> None:
        """Tell others who say HELLO during a session that the rig is busy; to be called now and then."""
        if not isinstance(self._listener, UdpListener):
            return
        for _ in range(MOST):
            data = self._listener.receive(0.0)
            if data is None:
                return
            asked = decode(data)
            if asked is not None and asked.kind == HELLO:
                own = (self.step, float(self.axes))
                self._answer(Datagram(REFUSAL, answers=asked.sequence, state=int(ARMED_RIG), code=BUSY, channels=own))

    def ready(self, session: RigSession, measured: tuple[np.ndarray, np.ndarray]) -> None:
        """Say that the rig follows commands from now on: the first MEASUREMENT."""
        self._measured = tuple(float(x) for part in measured for x in part)
        session.wire.send(self._first(session))

    def _first(self, session: RigSession) -> bytes:
        first = Datagram(MEASUREMENT, session.key, 1, 1, timestamp=time.monotonic_ns(), state=int(ARMED_RIG))
        return replace(first, channels=self._measured).encode()

    def close_session(self, state: float = IDLE, code: float = 0.0) -> None:
        """The session is over; the rig is idle, or has made itself safe."""
        self._state, self._code = int(state), int(code)
        if self._session is not None and self._session.wire is not self._listener:
            self._session.wire.close()
        self._session = None

    def close(self) -> None:
        self.close_session()
        self._listener.close()

    def command_block(
        self,
        session: RigSession,
        stands: np.ndarray,
        *,
        waits: bool,
        returns: bool,
        return_time: float,
        unit: str = "m",
        home: np.ndarray | None = None,
    ) -> Block:
        """Block "link.command"; it ``waits`` for each command if the rig works in step with the test's loop.

        ``stands`` is the command under which it stands, and ``home`` that to which it ``returns``: the same if left
        out.
        """
        n = self.axes
        seen = np.zeros(WINDOW)
        seen[1] = 1.0
        first = self._first(session)
        state: dict[str, Value] = {
            "buffer": np.zeros(BUFFER),
            "taken": np.array([session.wire.taken()]),
            "newest": np.ones(1),  # ARM had the first sequence
            "seen": seen,
            "counts": np.zeros(len(COUNTERS)),
            "arrived": 0.0,
            "tick": 0.0,
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
            inputs=(REQUEST_CHANNEL.name,),
            outputs=(
                *channels("command", unit, n),
                Channel("guard.mode", "1"),
                Channel("rig.state", "1"),
                Channel("rig.code", "1"),
                Channel("link.age", "s"),
                Channel("link.tick", "1"),
                Channel("link.newest", "1"),
                *(Channel(name, "1") for name in self.counters),
                Channel("rig.slowed", "1"),
                Channel("rig.clock", "s"),
            ),
            parameters={
                "way": session.wire.way(),
                "key": halves(session.key),
                "dt": self.step,
                "waits": float(waits),
                "lease": 1e9 * session.lease,
                "ahead": furthest_ahead(session.lease, self.step),
                "largest": open_ended(self.limits.largest),
                "fastest": open_ended(self.limits.fastest),
                "furthest": open_ended(self.limits.furthest),
                "first_step": open_ended(self.limits.first),
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

    def answer_block(self, session: RigSession) -> Block:
        """Block "link.answer": a MEASUREMENT each step."""
        measured = (*channels("measured.displacement", "m", self.axes), *channels("measured.force", "N", self.axes))
        return Block(
            name="link.answer",
            step=answer_step,
            inputs=(*(channel.name for channel in measured), "rig.state", "rig.code", "link.tick", "link.newest"),
            outputs=(Channel("link.sent", "1"),),
            parameters={"way": session.wire.way(), "key": halves(session.key)},
            state={"buffer": np.zeros(BUFFER), "sequence": 1.0},  # ``ready`` had the first
            frozen=("buffer", "sequence"),
        )


@kernel
def make_safe(p, s, code):  # type: ignore[no-untyped-def]
    """Follow no further command: hold, or return no faster than a command may be; after an emergency stop hold."""
    s.state, s.code, s.elapsed = SAFE, code, 0.0
    s.returns_for = p.return_time if p.returns != 0.0 and code != OWN_STOP else 0.0
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
    elif s.state == ARMED_RIG and called - s.arrived >= p.lease:
        # before anything else: what has queued up while this process was held up does not renew the lease
        make_safe(p, s, LEASE_OVER)
    elif s.state == SAFE:
        s.elapsed += p.dt
        if u[0] == EMERGENCY_STOP and s.elapsed < s.returns_for:  # on its way: then it goes no further
            s.returns_for, s.code = s.elapsed, OWN_STOP
        elif s.returns_for > 0.0 and s.code != OWN_STOP:
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
            verdict = judge(buffer, length, p.key, COMMAND, n, STOP, p.ahead, s.counts, s.newest, s.seen)
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
                    for i in range(n):
                        s.wanted[i] = load_double(buffer + HEADER + 8 * i)
                    if not allowed(p, s):
                        make_safe(p, s, OWN_LIMIT)
                    s.any = 1.0
                if in_step:  # one command, one step
                    break
        elif p.waits == 0.0:
            break
        else:
            wire_wait(p.way, s.taken, origin + int(limit), int(SPIN))
        time = float(now() - origin)
    if not fresh:
        if s.state != IDLE:  # else it was STOP that came
            s.counts[LATE] += 1.0
        s.tick += 1.0
    period = 1e9 * p.dt
    await_turn(s.turn, period, 0.0, origin, int(SPIN))
    since = min(take_turn(s.turn, period, origin), period)
    if s.state == ARMED_RIG or (s.state == IDLE and fresh):  # STOP may have come with it
        follow(p, s, 1e-9 * since)
    time = float(now() - origin)
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
    return 0


def answer_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    m = u.size - 4
    buffer = s.buffer.ctypes.data
    s.sequence += 1.0
    write_header(buffer, MEASUREMENT, m, p.key, s.sequence, u[m + 3], u[m + 2] + 1.0, now(), u[m], u[m + 1])
    for i in range(m):
        store_double(buffer + HEADER + 8 * i, u[i])
    wire_send(p.way, buffer, seal(buffer, m))
    y[0] = s.sequence
    return 0


class UdpListener:
    """The rig's port: hears anyone, answers whoever spoke last; a session gets a socket of its own on the same port."""

    def __init__(self, address: tuple[str, int]) -> None:
        try:
            family, kind, protocol, _, where = socket.getaddrinfo(*address, type=socket.SOCK_DGRAM)[0]
            self._kind = (family, kind, protocol)
            # Asked for without sharing first, so that two rigs cannot listen on one port without knowing.
            with socket.socket(*self._kind) as alone:
                alone.bind(where)
                where = alone.getsockname()
            self._socket = self._bound(where)
        except (OSError, ValueError) as error:  # ValueError: what can be no name of a host
            raise LinkError(
                f"the rig cannot listen on {address[0]}:{address[1]}: {reason(error)}; end what uses it, or choose "
                "another address in link.rig"
            ) from None
        self._where: Any = where
        self.speaker: Any = None
        self.address = f"{where[0]}:{where[1]}"

    def _bound(self, where: tuple[str, int]) -> socket.socket:
        end = socket.socket(*self._kind)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        roomy(end)
        end.bind(where)
        end.setblocking(False)
        return end

    def private(self) -> UdpWire:
        """A socket for the one who spoke last: the system gives it what that one sends."""
        end = self._bound(self._where)
        end.connect(self.speaker)
        return UdpWire(end, str(self.speaker))

    def way(self) -> np.ndarray:
        raise NotImplementedError("a listener is for the handshake; sessions have wires of their own")

    def taken(self) -> float:
        return 0.0

    def send(self, data: bytes) -> None:
        if self.speaker is not None:
            with contextlib.suppress(OSError):
                self._socket.sendto(data, self.speaker)

    def receive(self, seconds: float) -> bytes | None:
        if not select.select([self._socket], [], [], seconds)[0]:
            return None
        try:
            data, self.speaker = self._socket.recvfrom(LONGEST + 1)
        except OSError:
            return None
        return data

    def close(self) -> None:
        self._socket.close()
