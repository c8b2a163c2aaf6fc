"""Remarks of the operator, as they may stand in a record."""

from __future__ import annotations

from .slow_operator import RefusedError

LONGEST = 1000
"""Characters of a note."""


def printable_line(text: str) -> str:
    """The text on one line, or a refusal: empty, too long, or with control characters."""
    text = " ".join(text.split())
    if not text:
        raise RefusedError("the note is empty; write what is to be kept")
    if len(text) > LONGEST:
        raise RefusedError(f"the note has {len(text)} characters; the most is {LONGEST}: shorten it")
    strange = [c for c in text if not c.isprintable()]
    if strange:
        raise RefusedError(f"the note holds the control character {strange[0]!r}; write plain text")
    return text
