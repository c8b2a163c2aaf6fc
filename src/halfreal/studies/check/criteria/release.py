"""What a rehearsal cannot know of an excitation that the operator releases."""

from __future__ import annotations

from collections.abc import Iterable

from .... import units
from ....contracts.finding import Finding, note
from ..examined import Examined


def release(examined: Examined) -> Iterable[Finding]:
    excitation = examined.definition.excitation
    driven, by = excitation.virtual, excitation.release_by
    if excitation.waits:
        at = () if excitation.release_at is None else excitation.release_at
        times = ", ".join(units.text(float(time), "s") for time in at)
        button = "" if by is None else f"when the simulated auxiliary.{by.channel} rises to {by.threshold}"
        yield note(
            f"the excitation is released {'by the operator' if by is None else f'by auxiliary.{by.channel}'}; it was "
            "rehearsed with releases "
            f"{' and '.join(filter(None, (button, times and f'at {times}')))}; if released while "
            "the structure still moves from an earlier release, motion may be larger than in the rehearsal"
        )
    if driven is not None and driven.reads is not None:
        yield note(
            f"the excitation is what auxiliary.{driven.reads} measures, and was rehearsed with its simulated signal; "
            f"another signal of the same magnitude, up to {driven.trip}, may cause larger motion"
        )
