"""Whether the loop is stable for all that its uncertain numbers may be."""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ..examined import Examined
from ..remedies import WORST_CASE


def uncertainty(examined: Examined) -> Iterable[Finding]:
    study = examined.uncertainty
    if examined.definition.uncertainty and examined.stability.poles_unknown:
        text = "the stated uncertainty was not examined: the poles of this loop are not known"
        yield Finding("marginal", text, name="uncertainty", room=0.0)
    if study is None:
        return
    growth, text = study.worst_growth, study.summary()
    if growth < 0.0:
        yield Finding("note", text, growth, 0.0, "1/s")
        return
    mended = examined.sound and examined.rehearsal.outcome == "completed"
    yield Finding(
        "no-go",
        f"not stable over the stated uncertainty: {text}",
        growth,
        0.0,
        "1/s",
        remedies=examined.remedies(lambda: [WORST_CASE] if mended else []),
        name="uncertainty",
        room=0.0,
    )
