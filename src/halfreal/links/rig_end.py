"""The rig's end of a link: the handshake, and the blocks of a session.  The rig's guard is in ``rig_command.py``."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..contracts.link import Link
from ..kernels.block import Block, Channel, channels
from ..kernels.bytes import store_double
from ..kernels.clock import now
from ..kernels.datagram import (
    ARM,
    ARMED_RIG,
    ASKED_CHANNELS,
    BUFFER,
    COUNTERS,
    HEADER,
    HELLO,
    IDLE,
    MEASUREMENT,
    OFFER,
    OPEN,
    REFUSAL,
    credentials,
    seal,
    write_header,
)
from ..kernels.wire import MOST, wire_send
from .datagram import Datagram, decode, is_genuine, kind_of, parse
from .identity import ASKS_WHO, Identity
from .rig_command import OwnLimits, command_block
from .secret import handshake_key, session_key
from .wires import Listener, Wire

BUSY, OTHER_STEP, OTHER_AXES, LEASE_TOO_LONG, OTHER_AUXILIARY = 1, 2, 3, 4, 5
OFFERED = 300.0
"""Seconds after which a new number is offered; the one before it is good for as long again, and then for nothing."""
Measured = Callable[[], tuple[np.ndarray, ...]]
"""Displacements, forces, and the values of auxiliary channels."""


@dataclass(frozen=True)
class RigSession:
    """A session that was opened by ARM."""

    number: int
    lease: float
    wire: Wire
    key: bytes = field(default=OPEN, repr=False)
    """With which its datagrams are tagged."""

    def compiled(self) -> np.ndarray:
        return credentials(self.number, self.key)


class Numbers:
    """The numbers of sessions that a rig offers, known to it alone before.

    What is offered is the same for all who ask, so that asking leaves nothing behind: no one's HELLO, new or recorded,
    spoils the offer that another one has got.  A number is good for one session, and for OFFERED to twice as long.
    """

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        self._made, self._offered, self._before = time.monotonic(), secrets.randbits(64) | 1, 0

    def offered(self) -> int:
        age = time.monotonic() - self._made
        if age >= OFFERED:
            before = self._offered if age < 2.0 * OFFERED else 0
            self.renew()
            self._before = before
        return self._offered

    def __contains__(self, number: int) -> bool:
        return number != 0 and number in (self.offered(), self._before)


class RigEnd:
    """Listens for controllers, one session at a time; grants leases up to ``lease`` [s].

    ``secret`` is what both ends of an authenticated link know; whoever does not know it gets no answer.

    ``identity`` is what it sends to those who request its identity: whether it is simulated or real, and its name and
    version.  ``auxiliary`` channels are measured with displacement and force.
    """

    def __init__(
        self,
        axes: int,
        step: float,
        listener: Listener,
        address: str,
        lease: float,
        limits: OwnLimits | None = None,
        identity: Identity | None = None,
        auxiliary: Sequence[str] = (),
        secret: bytes = OPEN,
    ) -> None:
        self.auxiliary = tuple(auxiliary)
        self._secret, self._handshake, self._numbers = secret, handshake_key(secret), Numbers()
        self.axes, self.step, self.lease = axes, step, lease
        self.identity = Identity() if identity is None else identity
        self.limits = OwnLimits.none(axes) if limits is None else limits
        self.address = address
        self.counters = tuple(f"link.{name}" for name in COUNTERS)
        self._listener = listener
        self._session: RigSession | None = None
        self._state, self._code = int(IDLE), 0
        self._measured = (0.0,) * (2 * axes + len(self.auxiliary))
        self._own = (step, float(axes), float(len(self.auxiliary)))

    @classmethod
    def listen(
        cls,
        link: Link,
        axes: int,
        step: float,
        limits: OwnLimits | None = None,
        identity: Identity | None = None,
        auxiliary: Sequence[str] = (),
    ) -> RigEnd:
        secret, listener = link.secret(), link.listen()
        return cls(axes, step, listener, listener.address, link.lease, limits, identity, auxiliary, secret)

    def await_session(
        self, measured: Measured, stop: Callable[[], bool], told: Callable[[str], None] = lambda text: None
    ) -> RigSession | None:
        """Answer HELLOs until one is followed by ARM; None if it is stopped."""
        strangers = 0
        while not stop():
            data = self._listener.receive(0.05)
            kind = 0 if data is None else kind_of(data)
            if data is None or kind not in (HELLO, ARM):
                continue
            if kind == HELLO and not is_genuine(data, self._handshake):
                strangers += 1
                if strangers == 1:  # not each time: whoever can write here must not fill a disk
                    told("a HELLO without this rig's key was ignored, as are further ones")
                continue
            said = parse(data)
            if said is None:
                continue
            if kind == HELLO:
                self._greet(said, measured)
            elif said.session in self._numbers:
                key = session_key(self._secret, said.answers, said.session)
                if is_genuine(data, key) and said.sequence == 1 and not self._against(said):
                    self._numbers.renew()
                    self._session = RigSession(said.session, said.channels[2], self._listener.private(), key)
                    return self._session
        return None

    def _greet(self, asked: Datagram, measured: Measured) -> None:
        code = self._against(asked)
        if code:
            self._refuse(asked, self._state, code)
            return
        self._measured = tuple(float(x) for part in measured() for x in part)
        offer = Datagram(OFFER, self._numbers.offered(), 0, asked.sequence, state=self._state, code=self._code)
        who = self.identity.channels() if asked.code == ASKS_WHO else ()
        self._answer(replace(offer, channels=(*self._measured, *self.limits.offered(), *who)))

    def _refuse(self, asked: Datagram, state: int, code: int) -> None:
        self._answer(Datagram(REFUSAL, answers=asked.sequence, state=state, code=code, channels=self._own))

    def _against(self, asked: Datagram) -> int:
        if len(asked.channels) != ASKED_CHANNELS or not math.isclose(asked.channels[0], self.step, rel_tol=1e-9):
            return OTHER_STEP
        if asked.channels[1] != self.axes:
            return OTHER_AXES
        if asked.channels[3] != len(self.auxiliary):
            return OTHER_AUXILIARY
        return 0 if 0.0 < asked.channels[2] <= self.lease else LEASE_TOO_LONG

    def _answer(self, datagram: Datagram) -> None:
        self._listener.send(datagram.encode(self._handshake))

    def turn_away(self) -> None:
        """Answer others who send HELLO during a session that the rig is busy; to be called now and then."""
        if not self._listener.hears_others:
            return
        for _ in range(MOST):
            data = self._listener.receive(0.0)
            if data is None:
                return
            asked = decode(data, self._handshake)
            if asked is not None and asked.kind == HELLO:
                self._refuse(asked, int(ARMED_RIG), BUSY)

    def ready(self, session: RigSession, measured: tuple[np.ndarray, ...]) -> None:
        """Say that the rig follows commands from now on: the first MEASUREMENT."""
        self._measured = tuple(float(x) for part in measured for x in part)
        session.wire.send(self._first(session))

    def _first(self, session: RigSession) -> bytes:
        first = Datagram(MEASUREMENT, session.number, 1, 1, timestamp=time.monotonic_ns(), state=int(ARMED_RIG))
        return replace(first, channels=self._measured).encode(session.key)

    def close_session(self, state: float = IDLE, code: float = 0.0) -> None:
        """The session is over; the rig is idle, or has made itself safe."""
        self._state, self._code = int(state), int(code)
        if self._session is not None and self._session.wire is not self._listener:
            self._session.wire.close()
        self._session = None

    def close(self) -> None:
        self.close_session()
        self._listener.close()

    def command_block(self, session: RigSession, stands: np.ndarray, **how: Any) -> Block:
        """Block "link.command" of a session; ``how`` as ``rig_command.command_block`` has it."""
        first, how_tagged = self._first(session), session.compiled()
        return command_block(self.limits, session.wire, how_tagged, session.lease, self.step, first, stands, **how)

    def answer_block(self, session: RigSession) -> Block:
        """Block "link.answer": a MEASUREMENT each step."""
        measured = (*channels("measured.displacement", "m", self.axes), *channels("measured.force", "N", self.axes))
        return Block(
            name="link.answer",
            step=answer_step,
            inputs=(
                *(channel.name for channel in measured),
                *self.auxiliary,
                "rig.state",
                "rig.code",
                "link.tick",
                "link.newest",
            ),
            outputs=(Channel("link.sent", "1"),),
            parameters={"way": session.wire.way(), "session": session.compiled()},
            state={"buffer": np.zeros(BUFFER), "sequence": 1.0},  # ``ready`` had the first
            frozen=("buffer", "sequence"),
        )


def answer_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    m = u.size - 4
    buffer = s.buffer.ctypes.data
    s.sequence += 1.0
    write_header(buffer, MEASUREMENT, m, p.session, s.sequence, u[m + 3], u[m + 2] + 1.0, now(), u[m], u[m + 1])
    for i in range(m):
        store_double(buffer + HEADER + 8 * i, u[i])
    wire_send(p.way, buffer, seal(buffer, m, p.session))
    y[0] = s.sequence
    return 0
