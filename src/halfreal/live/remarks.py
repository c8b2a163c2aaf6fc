"""Remarks on a test while it continues: notes of the operator, and what else is to stand in the record."""

from __future__ import annotations

import datetime

from ..kernels.loop import Loop
from ..runs.run import Event
from .slow_operator import RefusedError

LONGEST = 1000
"""Characters of a note."""


class Remarks:
    """The part of a session that keeps remarks until the record is closed."""

    loop: Loop | None

    def __init__(self) -> None:
        self._remarks: list[Event] = []
        self._finished = False
        """Whether the record is closed."""

    @property
    def remarks(self) -> tuple[Event, ...]:
        """Notes of the operator, and what happened to the recorder, so far."""
        return tuple(self._remarks)

    def note(self, text: str) -> None:
        """Keep a note of the operator's in the record, with the time of the test and of the day."""
        text = printable_line(text)
        if self._finished:
            raise RefusedError("the test is finished and its record closed; notes are accepted during the test only")
        at = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M:%S")
        self.remark("operator", f"note at {at} UTC: {text}")

    def remark(self, channel: str, text: str) -> None:
        """Keep a text as an event of now."""
        at = 0.0 if self.loop is None else float(self.loop.vector[0]) * self.loop.dt
        self._remarks.append(Event(at, channel, text))


def printable_line(text: str) -> str:
    """The text on one line, or a refusal: empty, too long, or with control characters."""
    text = " ".join(text.split())
    if not text:
        raise RefusedError("the note is empty")
    if len(text) > LONGEST:
        raise RefusedError(f"the note has {len(text)} characters; the limit is {LONGEST}: shorten it")
    strange = [c for c in text if not c.isprintable()]
    if strange:
        raise RefusedError(f"the note contains the control character {strange[0]!r}; write plain text")
    return text
