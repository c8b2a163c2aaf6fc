"""The rig's end of a link: the handshake, and the blocks of a session.  The rig's guard is in ``rig_command.py``."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..contracts.link import Link
from ..kernels.block import Block, Channel, channels
from ..kernels.clock import now
from ..kernels.datagram import (
    ARM,
    ARMED_RIG,
    BUFFER,
    COUNTERS,
    HEADER,
    HELLO,
    IDLE,
    MEASUREMENT,
    OFFER,
    REFUSAL,
    halves,
    seal,
    store_double,
    write_header,
)
from ..kernels.wire import MOST, wire_send
from .datagram import Datagram, decode
from .identity import ASKS_WHO, Identity
from .rig_command import OwnLimits, command_block
from .wires import Listener, Wire

BUSY, OTHER_STEP, OTHER_AXES, LEASE_TOO_LONG, OTHER_AUXILIARY = 1, 2, 3, 4, 5
Measured = Callable[[], tuple[np.ndarray, ...]]
"""Displacements, forces, and the values of auxiliary channels."""


@dataclass(frozen=True)
class RigSession:
    """A session that was opened by ARM."""

    key: int
    lease: float
    wire: Wire


class RigEnd:
    """Listens for controllers, one session at a time; grants leases up to ``lease`` [s].

    ``identity`` is what it tells those who ask who it is: whether it is simulated or real, and its name and version.
    ``auxiliary`` channels are measured with displacement and force.
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
    ) -> None:
        self.auxiliary = tuple(auxiliary)
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
        listener = link.listen()
        return cls(axes, step, listener, listener.address, link.lease, limits, identity, auxiliary)

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
                    refusal = Datagram(REFUSAL, answers=asked.sequence, state=self._state, code=code)
                    self._answer(replace(refusal, channels=self._own))
                    continue
                key, lease, asker = secrets.randbits(64) | 1, asked.channels[2], self._listener.speaker
                self._measured = tuple(float(x) for part in measured() for x in part)
                offer = Datagram(OFFER, key, 0, asked.sequence, state=self._state, code=self._code)
                who = self.identity.channels() if asked.code == ASKS_WHO else ()
                self._answer(replace(offer, channels=(*self._measured, *self.limits.offered(), *who)))
            elif self._opens(asked, key) and self._listener.speaker == asker:
                self._session = RigSession(key, lease, self._listener.private())
                return self._session
        return None

    def _opens(self, asked: Datagram, key: int) -> bool:
        """Whether this is the ARM that follows the newest offer."""
        finite = len(asked.channels) == self.axes and all(map(math.isfinite, asked.channels))
        return asked.kind == ARM and key != 0 and asked.key == key and asked.sequence == 1 and finite

    def _against(self, asked: Datagram) -> int:
        if len(asked.channels) != 4 or not math.isclose(asked.channels[0], self.step, rel_tol=1e-9):
            return OTHER_STEP
        if asked.channels[1] != self.axes:
            return OTHER_AXES
        if asked.channels[3] != len(self.auxiliary):
            return OTHER_AUXILIARY
        return 0 if 0.0 < asked.channels[2] <= self.lease else LEASE_TOO_LONG

    def _answer(self, datagram: Datagram) -> None:
        self._listener.send(datagram.encode())

    def turn_away(self) -> None:
        """Tell others who say HELLO during a session that the rig is busy; to be called now and then."""
        if not self._listener.hears_others:
            return
        for _ in range(MOST):
            data = self._listener.receive(0.0)
            if data is None:
                return
            asked = decode(data)
            if asked is not None and asked.kind == HELLO:
                refusal = Datagram(REFUSAL, answers=asked.sequence, state=int(ARMED_RIG), code=BUSY)
                self._answer(replace(refusal, channels=self._own))

    def ready(self, session: RigSession, measured: tuple[np.ndarray, ...]) -> None:
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

    def command_block(self, session: RigSession, stands: np.ndarray, **how: Any) -> Block:
        """Block "link.command" of a session; ``how`` as ``rig_command.command_block`` has it."""
        first, wire = self._first(session), session.wire
        return command_block(self.limits, wire, session.key, session.lease, self.step, first, stands, **how)

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
            parameters={"way": session.wire.way(), "key": halves(session.key)},
            state={"buffer": np.zeros(BUFFER), "sequence": 1.0},  # ``ready`` had the first
            frozen=("buffer", "sequence"),
        )


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
