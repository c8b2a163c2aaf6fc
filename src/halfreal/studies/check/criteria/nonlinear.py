"""Whether a nonlinear loop keeps its stability, and its rig its reach, at the excitation as it is defined."""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ..examined import Examined


def nonlinear(examined: Examined) -> Iterable[Finding]:
    found = examined.nonlinear
    if found is None:
        return
    lost = found.factor is not None and found.factor <= 1.0
    saturates = found.saturated is not None and found.saturated <= 1.0
    mend = examined.remedies(lambda: remedies(examined, lost, saturates))
    yield Finding(
        "no-go" if lost or saturates else "note",
        found.summary(),
        found.factor,
        None if found.factor is None else 1.0,
        remedies=mend,
        name="reach of the rig",
        room=None if found.saturated is None else max(1.0 - 1.0 / found.saturated, 0.0),
    )


def remedies(examined: Examined, lost: bool, saturates: bool) -> Iterable[str]:
    found = examined.nonlinear
    assert found is not None
    if lost and examined.sound:
        yield f"a smaller excitation: below {found.factor:.3g} times this one the rehearsal keeps its stability"
    if saturates:
        yield (
            f"a smaller excitation, below {found.saturated:.3g} times this one, or a table whose actuators do not "
            "saturate"
        )
