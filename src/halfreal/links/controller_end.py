"""The controller's end of a link: the handshake, and the blocks that stand for the rig in the loop."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..contracts.link import Link
from ..kernels.atomic import load_word
from ..kernels.block import Block, Channel, Value, channels
from ..kernels.bytes import load32, load64, load_double, store_double
from ..kernels.clock import now
from ..kernels.datagram import (
    ARM,
    ARMED_RIG,
    BUFFER,
    COMMAND,
    COUNTERS,
    HEADER,
    HELLO,
    IDENTITY_CHANNELS,
    IDLE,
    LATE,
    MEASUREMENT,
    NEW,
    OFFER,
    OPEN,
    OWN_FAULT,
    OWN_LIMIT,
    OWN_STOP,
    REFUSAL,
    ROOM,
    SAFE,
    STOP,
    VERSION,
    WINDOW,
    credentials,
    furthest_ahead,
    judge,
    seal,
    write_header,
)
from ..kernels.loop import Loop
from ..kernels.modes import FINISHED, STOPPED_AT_REST, TRIPPED
from ..kernels.spacing import FIRST_TURN, await_turn, take_turn
from ..kernels.wire import MOST, wire_receive, wire_send, wire_wait
from ..safety.limits import UNLIMITED
from .datagram import Datagram, decode, version_of
from .identity import ASKS_WHO, UNKNOWN, Identity
from .secret import handshake_key, session_key
from .wires import LinkError, Wire

REPEAT = 0.1
"""Seconds after which a request is sent again."""
SPIN = 30_000.0
"""Nanoseconds of watching for a measurement before sleeping."""
SLICE = 5e6
"""Nanoseconds of waiting for a measurement between two looks at what the operator asks."""
MISSING = 3.0
"""Periods without a measurement after which the time of the test is held: two clocks that are not synchronised never
differ by so many."""
HELD, OLD = 1.0, 2.0
"""Values of "link.stale": the test's time is held for want of a measurement; the last is older than its warning limit.
"""
STALE, RIG_LEASE, RIG_LIMIT, RIG_STOP, RIG_IDLE, RIG_SILENT, RIG_UNKNOWN, RIG_FAULT = 1, 2, 3, 4, 5, 6, 7, 8
REFUSALS = {
    1: "it is busy with another session",
    2: "its step is {step:g} s and the definition's {wanted_step:g} s; give both the same",
    3: "it has {axes:.0f} axis(es) and the definition {wanted_axes}; give both the same",
    4: "it does not grant a lease of {lease:g} s; shorten link.lease",
    5: "it measures {auxiliary:.0f} auxiliary channel(s) and the definition {wanted_auxiliary}; give both the same",
}


@dataclass(frozen=True)
class Offer:
    """A rig that is ready, and what it measures now."""

    session: int
    displacement: np.ndarray
    force: np.ndarray
    largest: np.ndarray
    """Its own limits on a command: magnitude, rate and distance from the one before; infinite where it has none."""
    fastest: np.ndarray
    furthest: np.ndarray
    auxiliary: np.ndarray = field(default_factory=lambda: np.zeros(0))
    identity: Identity = UNKNOWN
    key: bytes = field(default=OPEN, repr=False)
    """With which the datagrams of the session are tagged."""


class ControllerEnd:
    """The handshake of one session; ``secret`` is what both ends of an authenticated link know."""

    def __init__(self, wire: Wire, secret: bytes = OPEN) -> None:
        self.wire, self._secret, self._handshake = wire, secret, handshake_key(secret)
        self._nonce, self._session, self._key, self._lease = 0, 0, OPEN, 1.0
        self._asked: tuple[float, ...] = ()
        self._other_version: int | None = None

    @classmethod
    def connect(cls, link: Link) -> ControllerEnd:
        secret = link.secret()  # first: an open socket would be left behind
        return cls(link.to_rig(), secret)

    def hello(self, axes: int, step: float, lease: float, patience: float, auxiliary: int = 0) -> Offer:
        """Ask the rig whether it is ready; it does not move.  ``auxiliary`` channels are to be measured with others."""
        deadline, pause = time.monotonic() + patience, REPEAT
        offered, wanted = 0, 5 * axes + auxiliary
        self._asked = (step, float(axes), lease, float(auxiliary))
        while time.monotonic() < deadline:
            nonce = secrets.randbits(63) | 1
            asked = Datagram(HELLO, sequence=nonce, code=ASKS_WHO, channels=self._asked)
            self.wire.send(asked.encode(self._handshake))
            answer_by = min(deadline, time.monotonic() + pause)
            pause *= 2.0  # only the answer to the newest counts: a slow rig must have the time for it
            while time.monotonic() < answer_by:
                data = self.wire.receive(max(answer_by - time.monotonic(), 0.0))
                answer = None if data is None else decode(data, self._handshake)
                if data is not None and answer is None:
                    self._note_version(data)
                if answer is None or answer.answers != nonce:
                    continue
                if answer.kind == REFUSAL:
                    own = (*answer.channels, 0.0, 0.0, 0.0)
                    reason = REFUSALS.get(answer.code, f"its code is {answer.code}").format(
                        step=own[0],
                        axes=own[1],
                        auxiliary=own[2],
                        wanted_step=step,
                        wanted_axes=axes,
                        wanted_auxiliary=auxiliary,
                        lease=lease,
                    )
                    raise LinkError(f"the rig at {self.wire.address} refuses: {reason}")
                if answer.kind != OFFER or answer.session == 0:
                    continue
                offered = len(answer.channels)
                if offered - wanted in (0, IDENTITY_CHANNELS):  # a rig that does not know the question says less
                    self._nonce, self._session, self._lease = nonce, answer.session, lease
                    self._key = session_key(self._secret, nonce, answer.session)
                    values, who = np.array(answer.channels[:wanted]), Identity.read(answer.channels[wanted:])
                    return self._offer(axes, values, who)
        if offered:
            raise LinkError(
                f"the rig at {self.wire.address} offers {offered} channels where {wanted} are expected, or "
                f"{IDENTITY_CHANNELS} more for who it is: 5 for each of {axes} axis(es), and {auxiliary} auxiliary; "
                "give both ends the same axes and auxiliary channels"
            )
        raise LinkError(self._no_answer(patience))

    def _no_answer(self, patience: float) -> str:
        """Why there is no answer.  What is not tagged with our key may be anyone's: it is reported, and not acted
        upon."""
        text = f"no response from a rig at {self.wire.address} within {patience:g} s; is it switched on and connected? "
        text += "Start the simulated one with 'halfreal rig'"
        if self._other_version is not None:
            text += (
                f". A program there uses version {self._other_version} of the protocol, this program version "
                f"{VERSION} (docs/link.md); update the older one"
            )
        elif self._secret == OPEN:
            text += ". A rig with a key file does not respond to a controller without one: set link.key"
        else:
            text += (
                ". A rig without a key file, or with another one, does not respond: compare the two files (link.key)"
            )
        remark = self.wire.remark()
        return f"{text}. {remark}" if remark else text

    def _note_version(self, data: bytes) -> None:
        version = version_of(data)
        if version not in (None, VERSION):
            self._other_version = version

    def _offer(self, axes: int, values: np.ndarray, identity: Identity) -> Offer:
        measured, limits = np.split(values, [values.size - 3 * axes])
        if not np.all(np.isfinite(measured)):
            read = ", ".join(f"{x:g}" for x in measured)
            raise LinkError(
                f"the rig at {self.wire.address} measures {read} (displacements [m], then forces [N], then auxiliary "
                "channels); they must be finite: check its sensors"
            )
        if not np.all(limits > 0.0):  # written so that NaN is refused too
            read = ", ".join(f"{x:g}" for x in limits)
            raise LinkError(
                f"the rig at {self.wire.address} offers {read} as its own limits (largest command, rate and step); "
                "they must be greater than 0: check its settings"
            )
        displacement, force, auxiliary = np.split(measured, [axes, 2 * axes])
        largest, fastest, furthest = limits.reshape(3, axes)
        return Offer(self._session, displacement, force, largest, fastest, furthest, auxiliary, identity, self._key)

    def arm(self, patience: float) -> int:
        """Take the rig over, to hold where it stands; return the sequence of its first measurement."""
        while self.wire.receive(0.0) is not None:  # further answers to HELLO
            pass
        arm = Datagram(ARM, self._session, 1, self._nonce, channels=self._asked)  # all that the rig must know
        question, (_, axes, _, auxiliary) = arm.encode(self._key), self._asked
        deadline, ask = time.monotonic() + patience, 0.0
        while (now := time.monotonic()) < deadline:
            if now >= ask:
                self.wire.send(question)
                ask = now + min(REPEAT, 0.3 * self._lease)
            data = self.wire.receive(min(ask, deadline) - now)
            answer = None if data is None else decode(data, self._key)
            if answer is None or answer.kind != MEASUREMENT or answer.session != self._session:
                continue
            if answer.state != int(ARMED_RIG):
                raise LinkError(
                    f"the rig at {self.wire.address} was armed and no longer is (state {answer.state}, code "
                    f"{answer.code} of docs/link.md); check the rig, then try again"
                )
            if len(answer.channels) == 2 * axes + auxiliary:
                return answer.sequence
        raise LinkError(
            f"the rig at {self.wire.address} did not confirm within {patience:g} s that it is armed; it will go to its "
            "safe state when its lease ends. Try again"
        )

    def begin(self, loop: Loop, first: int) -> None:
        """Let a loop continue from the measurement that answered ARM."""
        begin(loop, first, self.wire)

    def if_lost(self, command: Sequence[str]) -> None:
        """No operator attends a controller: its rig has a lease, and a record of its own."""

    def stuck(self) -> str:
        """Why the loop cannot come to its end, if it cannot: it never waits for a rig for long."""
        return ""

    def stop(self, sent: float) -> None:
        """Let the rig go; ``sent`` is the sequence of the last command.  If this is lost, its lease ends."""
        for i in range(3):
            stop = Datagram(STOP, self._session, max(int(sent), 1) + 1 + i)  # ARM had the first
            self.wire.send(stop.encode(self._key))
            deadline = time.monotonic() + REPEAT
            while time.monotonic() < deadline:
                data = self.wire.receive(REPEAT)
                answer = None if data is None else decode(data, self._key)
                if answer is not None and answer.session == self._session and answer.state != int(ARMED_RIG):
                    return

    def close(self) -> None:
        self.wire.close()

    def blocks(
        self,
        commands: tuple[str, ...],
        period: float,
        *,
        step: float | None = None,
        rate: np.ndarray | None = None,
        stands: np.ndarray | None = None,
        spin: float = 0.0,
        waits: bool,
        stale_warn: float | None,
        stale_trip: float | None,
        offer: Offer,
        auxiliary: Sequence[Channel] = (),
    ) -> tuple[Block, Block]:
        """Blocks "link.send" and "link.receive", which ``waits`` for a measurement if the rig sets the pace.

        ``period`` is that of the commands; ``step`` that of the test, which is another in a slow one.  ``rate`` is the
        limit of the command's rate, which holds in wall time: "link.send" waits until a command may go, and watches the
        clock for the last ``spin`` [s] of it.  ``stands`` is the command under which the rig stands.  ``auxiliary``
        are the channels that are measured with displacement and force.

        Once the rig is armed, ``begin`` must show "link.receive" where its measurements start.
        """
        n = len(commands)
        session, way = credentials(offer.session, offer.key), self.wire.way()
        send = Block(
            name="link.send",
            step=send_step,
            inputs=(*commands, "guard.mode", "link.newest"),
            outputs=(Channel("link.sent", "1"), Channel("link.held", "s")),
            parameters={
                "way": way,
                "session": session,
                "dt": period if step is None else step,
                "period": 1e9 * period,
                "rate": np.full(n, UNLIMITED) if rate is None else rate,
                "spin": 1e9 * min(spin, 0.5 * period),
                "origin": float(time.monotonic_ns()),
            },
            state={
                "buffer": np.zeros(BUFFER),
                "sequence": 1.0,
                "turn": FIRST_TURN,
                "last": np.zeros(n) if stands is None else stands,
            },
            frozen=("buffer", "sequence", "turn", "last"),
        )
        trip, silent = (self._lease, RIG_SILENT) if stale_trip is None else (stale_trip, STALE)
        state: dict[str, Value] = {
            "buffer": np.zeros(BUFFER),
            "taken": np.array([self.wire.taken()]),
            "newest": np.zeros(1),
            "seen": np.zeros(WINDOW),
            "counts": np.zeros(len(COUNTERS)),
            "arrived": 0.0,
            "answers": 0.0,
            "rig": ARMED_RIG,
            "code": 0.0,
            "heard": 0.0,
            "measured": np.concatenate([offer.displacement, offer.force, offer.auxiliary]),
        }
        receive = Block(
            name="link.receive",
            step=receive_step,
            inputs=("link.sent", "guard.mode"),
            outputs=(
                *channels("measured.displacement", "m", n, of="axis"),
                *channels("measured.force", "N", n, of="axis"),
                *auxiliary,
                Channel("link.age", "s"),
                Channel("link.idle", "s"),
                Channel("link.lag", "1"),
                Channel("link.stale", "1"),
                Channel("rig.state", "1"),
                Channel("link.newest", "1"),
                *(Channel(f"link.{name}", "1") for name in COUNTERS),
            ),
            parameters={
                "way": way,
                "session": session,
                "period": 1e9 * period,
                "waits": float(waits),
                "held": 1e9 * MISSING * period,
                "warn": UNLIMITED if stale_warn is None else 1e9 * stale_warn,
                "trip": min(1e9 * trip, UNLIMITED),
                "silent": float(silent),
                "lease": 1e9 * self._lease,
                "ahead": furthest_ahead(self._lease, period),
                "request": 0.0,  # address of the word with the operator's request, where there is one
                "origin": float(time.monotonic_ns()),
            },
            state=state,
            frozen=tuple(state),
            faults={
                STALE: f"no new measurement for {1e3 * trip:g} ms (limits.stale.trip)",
                RIG_LEASE: "the rig went to its safe state: no valid command within its lease",
                RIG_LIMIT: "the rig went to its safe state: a rig-side limit",
                RIG_STOP: "the rig went to its safe state: its emergency stop",
                RIG_FAULT: "the rig went to its safe state: a rig fault (sensor, interlock or driver)",
                RIG_IDLE: "the rig has ended the session",
                RIG_SILENT: f"no new measurement for the lease of {1e3 * trip:g} ms: the rig is considered lost",
                RIG_UNKNOWN: "the rig reports a state that docs/link.md does not define: it is not considered armed",
            },
            watched=("link.stale", "rig.state"),
            initial=(*offer.displacement, *offer.force, *offer.auxiliary),
        )
        return send, receive


def begin(loop: Loop, first: int, wire: Wire) -> None:
    """Let a loop's "link.receive" continue from the measurement that answered ARM."""
    state = loop.state("link.receive")
    state["newest"][:], state["seen"][first % WINDOW], state["taken"][:] = first, first, wire.taken()


def send_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n = u.size - 2
    buffer, origin = s.buffer.ctypes.data, int(p.origin)
    called = now()
    needed = 0.0
    for i in range(n):
        needed = max(needed, 1e9 * abs(u[i] - s.last[i]) / p.rate[i])
        s.last[i] = u[i]
    time = await_turn(s.turn, p.period, needed, origin, int(p.spin), called)
    y[1] = 1e-9 * float(time - called)
    s.sequence += 1.0
    tick = round(t / p.dt) - 1  # a block of the rig is called with the time of the next tick
    write_header(buffer, COMMAND, n, p.session, s.sequence, u[n + 1], tick, time, u[n], 0.0)
    for i in range(n):
        store_double(buffer + HEADER + 8 * i, u[i])
    wire_send(p.way, buffer, seal(buffer, n, p.session))
    take_turn(s.turn, p.period, float(now() - origin))  # read again: sending may have been held up
    y[0] = s.sequence
    return 0


def receive_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    m = s.measured.size
    buffer, origin = s.buffer.ctypes.data, int(p.origin)
    mode = u[1]
    over = mode in (TRIPPED, FINISHED, STOPPED_AT_REST)
    called = float(now() - origin)
    if s.arrived == 0.0:
        s.arrived = called
    # no longer than the lease: then the rig is safe, and the guard must hear the operator
    limit = called + p.period if over else min(s.arrived + p.trip, called + p.lease)
    fresh = False
    looked = 0
    time = called
    while looked < MOST:
        length = wire_receive(p.way, s.taken, buffer, ROOM)
        if length >= 0:
            looked += 1
            if judge(buffer, length, p.session, MEASUREMENT, m, 0, p.ahead, s.counts, s.newest, s.seen) == NEW:
                fresh = True
                for i in range(m):
                    s.measured[i] = load_double(buffer + HEADER + 8 * i)
                s.answers = float(load64(buffer + 24))
                s.rig, s.code = float(load32(buffer + 48)), float(load32(buffer + 52))
                time = float(now() - origin)
                # the answer to the newest command, and no time for another one: nothing newer can be there
                if p.waits != 0.0 and s.answers == u[0] and time - s.arrived < p.period:
                    break
        elif p.waits == 0.0 or fresh or time >= limit:
            break
        else:
            # in slices: a new request of the operator ends the waiting, once, so that every tick is paced
            if p.request != 0.0 and float(load_word(int(p.request))) != s.heard:
                break
            until = origin + int(min(limit, time + SLICE))
            time = float(wire_wait(p.way, s.taken, until, int(SPIN), origin + int(called)) - origin)
    if not fresh:
        time = float(now() - origin)
    if p.request != 0.0:
        s.heard = float(load_word(int(p.request)))
    if fresh:
        s.arrived = time
    else:
        s.counts[LATE] += 1.0
    age = time - s.arrived
    for i in range(m):
        y[i] = s.measured[i]
    y[m] = 1e-9 * age
    y[m + 1] = 1e-9 * (time - called) if p.waits != 0.0 else 0.0
    y[m + 2] = u[0] - s.answers
    y[m + 3] = OLD if age > p.warn else HELD if age > p.held else 0.0
    y[m + 4] = s.rig
    y[m + 5] = s.newest[0]
    for i in range(s.counts.size):
        y[m + 6 + i] = s.counts[i]
    if s.rig == SAFE:
        if s.code == OWN_LIMIT:
            return RIG_LIMIT
        if s.code == OWN_FAULT:
            return RIG_FAULT
        return RIG_STOP if s.code == OWN_STOP else RIG_LEASE
    if s.rig != ARMED_RIG:
        return RIG_IDLE if s.rig == IDLE else RIG_UNKNOWN
    return int(p.silent) if age >= p.trip else 0
