"""What a rehearsal cannot know of an excitation that the operator releases."""

from __future__ import annotations

from collections.abc import Iterable

from .... import units
from ....contracts.finding import Finding, note
from ..examined import Examined


def release(examined: Examined) -> Iterable[Finding]:
    at = examined.definition.excitation.release_at
    if at is not None:
        times = ", ".join(units.text(float(time), "s") for time in at)
        yield note(
            f"the excitation is released by the operator, and was rehearsed with releases at {times}; released while "
            "the structure still moves from an earlier release, it may move more than it did in the rehearsal"
        )
