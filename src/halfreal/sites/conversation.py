"""From a client's message to its answer: what is known is answered at once, forces once the rig has been there.

The protocol has no way to say no.  A client that is refused, or whose test is over, gets answers that are not numbers:
its analysis fails and it ends, where a closed connection would let it wait for ever.
"""

from __future__ import annotations

import math
import os
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .generic_client import Action, Header, ProtocolError
from .mailbox import CLIENT, COMMITS, CONNECTED, GARBLED, GOODBYE, LOST, MESSAGES, NOBODY, NOT_FINITE, OVER, Mailbox

FIRST = struct.Struct("=d")
TRIAL, FORCE, COMMIT = (float(one) for one in (Action.SET_TRIAL, Action.GET_FORCE, Action.COMMIT))
UNCHANGED = float(np.finfo(float).eps)
"""Displacements [m] that differ by less are the same: clients repeat themselves."""
SHORT, LONG = 2e-4, 1e-3
"""Seconds between two looks for an answer: in the first 0.1 s, and after that."""
LOOK = 0.02
"""Seconds between two looks whether a client that waits is still there."""

Message = bytes | bytearray | memoryview
Reply = bytes | bytearray
Say = Callable[[str], None]
StillThere = Callable[[], bool]


class Site(Protocol):
    """Where displacements go, and forces come from."""

    axes: int

    def enter(self) -> bool:
        """Whether a client may come in: one may, in a test."""
        ...

    def ask(self, displacement: tuple[float, ...], time: float) -> None:
        """Have the rig brought there."""
        ...

    def measured(self, still_there: StillThere) -> Sequence[float] | None:
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
    """What a client receives about the specimen."""

    stiffness: np.ndarray
    damping: np.ndarray
    mass: np.ndarray


class Conversation:
    """One client at a site."""

    def __init__(self, site: Site, matrices: Matrices, say: Say, who: str) -> None:
        self._site, self._matrices, self._say, self._who = site, matrices, say, who
        self.header: Header | None = None
        self.over = False
        """Nothing more is to be received or sent."""
        self._served = False
        self._size = -1
        """Of the messages of a client that is served."""
        self._last: tuple[float, ...] = ()
        self._trial = b""
        """The displacements requested last, and their bytes: most messages repeat them."""
        self._known: dict[float, bytes] = {}
        """Answers that need no rig, by their action."""

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
            self._say(
                f"{self._who} was refused: this test already had its client; start a new session for another test"
            )
            return
        self._served = True
        self._size, self._force = header.size, bytearray(header.size)
        self._numbers, self._time = struct.Struct(f"={header.sent[0]}d"), 8 * (1 + sum(header.sent[:4]))
        self._end_of_trial = 8 + self._numbers.size
        known = {
            Action.GET_INITIAL_STIFFNESS: self._matrices.stiffness,
            Action.GET_TANGENT: self._matrices.stiffness,
            Action.GET_DAMPING: self._matrices.damping,
            Action.GET_MASS: self._matrices.mass,
        }
        for action, matrix in known.items():
            values = np.zeros(header.numbers)
            values[: matrix.size] = matrix.ravel(order="F")
            self._known[float(action)] = values.tobytes()
        self._say(f"{self._who} connected: {header.sent[0]} degree(s) of freedom, {header.numbers} numbers per message")

    def answer(self, data: Message, still_there: StillThere) -> Reply | None:
        """What is to be sent in answer to a message; None if nothing is."""
        if len(data) != self._size:
            return self._answer_to_others(data, still_there)
        code = FIRST.unpack_from(data)[0]
        self._site.heard()
        if code == TRIAL:
            if data[8 : self._end_of_trial] != self._trial:
                self._take(bytes(data[8 : self._end_of_trial]), self._time_in(data))
            return None
        if code in self._known:
            return self._known[code]
        if code == FORCE:
            found = self._site.measured(still_there)
            if found is None:
                return self._send_home()
            self._numbers.pack_into(self._force, 0, *found[self._site.axes :])
            return self._force
        if code == COMMIT:
            self._site.committed()
            return None
        return self._answer_to_others(data, still_there)

    def _answer_to_others(self, data: Message, still_there: StillThere) -> Reply | None:
        """The answer to messages that are rare, and to those of clients that are not served."""
        assert self.header is not None
        try:
            message = self.header.message(data)
        except ProtocolError as error:
            self._end(GARBLED, f"{self._who}: {error}")
            self.over = True
            return None
        if message.action is Action.DIE:
            self._end(GOODBYE, f"{self._who} has ended the test")
            self.over = True
            return None
        if not message.action.answered:
            return None
        if not self._served:
            return self._nothing
        return self._measured(message.action, message.time, still_there)

    def _time_in(self, data: Message) -> float:
        assert self.header is not None
        return float(FIRST.unpack_from(data, self._time)[0]) if self.header.sent[4] else 0.0

    def _take(self, trial: bytes, time: float) -> None:
        displacement = self._numbers.unpack(trial)
        if not all(map(math.isfinite, displacement)):
            asked = ", ".join(f"{one:g}" for one in displacement)
            self._end(NOT_FINITE, f"{self._who} requested {asked} m, which is not finite")
            return
        same = len(self._last) > 0
        for one, other in zip(displacement, self._last, strict=False):
            same = same and abs(one - other) <= UNCHANGED
        if not same:
            self._last, self._trial = displacement, trial
            self._site.ask(displacement, time)

    def _measured(self, action: Action, time: float, still_there: StillThere) -> Reply:
        """What the rig measures; of velocities and accelerations nothing is known."""
        found = self._site.measured(still_there)
        if found is None:
            return self._send_home()
        assert self.header is not None
        n = self._site.axes
        displacement, force, unknown = found[:n], found[n:], [0.0] * n
        parts = {
            Action.GET_DISPLACEMENT: [*displacement],
            Action.GET_TIME: [time],
            Action.GET_DAQ: [
                value
                for part, size in zip((displacement, unknown, unknown, force, [time]), self.header.wanted, strict=True)
                for value in part[:size]
            ],
        }
        answer = np.zeros(self.header.numbers)
        values = parts.get(action, unknown)
        answer[: len(values)] = values
        return answer.tobytes()

    def _send_home(self) -> Reply:
        """The test is over."""
        self._leave()
        return self._nothing

    def _leave(self) -> None:
        self._served, self._size = False, -1

    def gone(self) -> None:
        """The connection has ended without a word."""
        self._end(LOST, f"{self._who} disconnected without ending the test")
        self.over = True

    def _end(self, how: int, text: str) -> None:
        self._say(text)
        if self._served:
            self._site.ends(how)
        self._leave()


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

    def ask(self, displacement: tuple[float, ...], time: float) -> None:
        self._mailbox.ask(displacement, time)

    def measured(self, still_there: StillThere) -> list[float] | None:
        mailbox, began, looked = self._mailbox, time.monotonic(), 0.0
        while self.over or not mailbox.answered() or (found := mailbox.measured()) is None:
            waited = time.monotonic() - began
            if self.over:
                return None
            if waited - looked > LOOK:
                looked = waited
                if not still_there():
                    raise ConnectionError("the client disconnected while waiting")
            time.sleep(SHORT if waited < 0.1 else LONG)
        return [float(value) for value in found]

    def heard(self) -> None:
        self._mailbox.words[MESSAGES] += 1

    def committed(self) -> None:
        self._mailbox.words[COMMITS] += 1

    def ends(self, how: int) -> None:
        self._mailbox.words[CLIENT] = how
