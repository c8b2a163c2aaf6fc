"""From a client's message to its answer: what is known is answered at once, forces once the rig has been there.

The protocol has no way to say no.  A client that is refused, or whose test is over, gets answers that are not numbers:
its analysis fails and it ends, where a closed connection would let it wait for ever.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .generic_client import Action, Header, ProtocolError
from .mailbox import CLIENT, COMMITS, CONNECTED, GARBLED, GOODBYE, LOST, MESSAGES, NOBODY, NOT_FINITE, OVER, Mailbox

UNCHANGED = float(np.finfo(float).eps)
"""Displacements [m] that differ by less are the same: clients repeat themselves."""
SHORT, LONG = 2e-4, 1e-3
"""Seconds between two looks for an answer: in the first 0.1 s, and after that."""
LOOK = 0.02
"""Seconds between two looks whether a client that waits is still there."""

Say = Callable[[str], None]
StillThere = Callable[[], bool]


class Site(Protocol):
    """Where displacements go, and forces come from."""

    axes: int

    def enter(self) -> bool:
        """Whether a client may come in: one may, in a test."""
        ...

    def ask(self, displacement: np.ndarray, time: float) -> None:
        """Have the rig brought there."""
        ...

    def measured(self, still_there: StillThere) -> np.ndarray | None:
        """Displacements and forces where the rig was last asked to be, waited for; None if the test is over."""
        ...

    def heard(self) -> None:
        """A message has come."""
        ...

    def committed(self) -> None:
        """The client has completed a step."""
        ...

    def ends(self, how: int) -> None:
        """The conversation is over: a state of ``mailbox.CLIENT``."""
        ...


@dataclass(frozen=True)
class Matrices:
    """What a client is told of the specimen."""

    stiffness: np.ndarray
    damping: np.ndarray
    mass: np.ndarray


class Conversation:
    """One client at a site."""

    def __init__(self, site: Site, matrices: Matrices, say: Say, who: str) -> None:
        self._site, self._matrices, self._say, self._who = site, matrices, say, who
        self.header: Header | None = None
        self.over = False
        """Nothing more is to be heard or said."""
        self._served = False
        self._last = np.empty(0)
        self._known: dict[Action, bytes] = {}

    def begin(self, data: bytes) -> None:
        """Take the client's header."""
        try:
            self.header = header = Header.read(data)
            self._nothing = np.full(header.numbers, np.nan).tobytes()
            header.check(self._site.axes)
        except ProtocolError as error:
            self._say(f"{self._who} was refused: {error}")
            self.over = self.header is None
            return
        if not self._site.enter():
            self._say(f"{self._who} was refused: this test has or had its client; a new test is a new session")
            return
        self._served = True
        self._answer = np.zeros(header.numbers)
        known = {
            Action.GET_INITIAL_STIFFNESS: self._matrices.stiffness,
            Action.GET_TANGENT: self._matrices.stiffness,
            Action.GET_DAMPING: self._matrices.damping,
            Action.GET_MASS: self._matrices.mass,
        }
        for action, matrix in known.items():
            values = np.zeros(header.numbers)
            values[: matrix.size] = matrix.ravel(order="F")
            self._known[action] = values.tobytes()
        self._say(f"{self._who} is served: {header.sent[0]} degree(s) of freedom, {header.numbers} numbers a message")

    def answer(self, data: bytes | bytearray | memoryview, still_there: StillThere) -> bytes | None:
        """What is to be sent in answer to a message; None if nothing is."""
        assert self.header is not None
        try:
            message = self.header.message(data)
        except ProtocolError as error:
            self._end(GARBLED, f"{self._who}: {error}")
            self.over = True
            return None
        action = message.action
        if action is Action.DIE:
            self._end(GOODBYE, f"{self._who} has ended the test")
            self.over = True
            return None
        if not self._served:
            return self._nothing if action.answered else None
        self._site.heard()
        if action in self._known:
            return self._known[action]
        if action is Action.SET_TRIAL:
            self._take(message.displacement, message.time)
            return None
        if action is Action.COMMIT:
            self._site.committed()
        if not action.answered:
            return None
        return self._measured(action, message.time, still_there)

    def _take(self, displacement: np.ndarray, time: float) -> None:
        if self._last.size and np.abs(displacement - self._last).max() <= UNCHANGED:
            return
        if not np.isfinite(displacement).all():
            self._end(NOT_FINITE, f"{self._who} asked for {displacement} m, which is not a number")
            return
        self._last = displacement.copy()
        self._site.ask(self._last, time)

    def _measured(self, action: Action, time: float, still_there: StillThere) -> bytes:
        """What the rig measures; of velocities and accelerations nothing is known."""
        found = self._site.measured(still_there)
        if found is None:
            self._served = False
            return self._nothing
        assert self.header is not None
        n, answer = self._site.axes, self._answer
        displacement, force = found[:n], found[n:]
        if action is Action.GET_FORCE:
            answer[:n] = force
        elif action is Action.GET_DISPLACEMENT:
            answer[:n] = displacement
        elif action is Action.GET_TIME:
            answer[0] = time
        elif action is Action.GET_DAQ:
            zeros = np.zeros(n)
            parts = (displacement, zeros, zeros, force, np.array([time]))
            sizes = self.header.wanted
            wanted = np.concatenate([part[:size] for part, size in zip(parts, sizes, strict=True)])
            answer[: wanted.size] = wanted
        else:
            answer[:n] = 0.0
        return answer.tobytes()

    def gone(self) -> None:
        """The connection has ended without a word."""
        self._end(LOST, f"{self._who} has gone without ending the test")
        self.over = True

    def _end(self, how: int, text: str) -> None:
        self._say(text)
        if self._served:
            self._site.ends(how)
        self._served = False


class MailboxSite:
    """The site of a session: its loop reads the mailbox."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox, self.axes, self._parent = mailbox, mailbox.axes, os.getppid()

    def enter(self) -> bool:
        words = self._mailbox.words
        if words[CLIENT] != NOBODY or self.over:
            return False
        words[CLIENT] = CONNECTED
        return True

    @property
    def over(self) -> bool:
        return bool(self._mailbox.words[OVER]) or os.getppid() != self._parent

    def ask(self, displacement: np.ndarray, time: float) -> None:
        self._mailbox.ask(displacement, time)

    def measured(self, still_there: StillThere) -> np.ndarray | None:
        mailbox, began, looked = self._mailbox, time.monotonic(), 0.0
        while self.over or not mailbox.answered() or (found := mailbox.measured()) is None:
            waited = time.monotonic() - began
            if self.over:
                return None
            if waited - looked > LOOK:
                looked = waited
                if not still_there():
                    raise ConnectionError("the client has gone while it waited")
            time.sleep(SHORT if waited < 0.1 else LONG)
        return found

    def heard(self) -> None:
        self._mailbox.words[MESSAGES] += 1

    def committed(self) -> None:
        self._mailbox.words[COMMITS] += 1

    def ends(self, how: int) -> None:
        self._mailbox.words[CLIENT] = how
