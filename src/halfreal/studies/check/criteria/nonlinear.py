"""Whether a nonlinear loop keeps its stability, and its rig its reach, at the excitation as it is defined.

What a gain margin is to a linear loop, how much larger the excitation may be is to a nonlinear one: the same is
required.
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ..examined import Examined
from ..excitation_factor import rounded_down
from ..nonlinear import least_factor


def nonlinear(examined: Examined) -> Iterable[Finding]:
    found = examined.nonlinear
    if found is None:
        return
    least = least_factor(examined.definition)
    lost = found.factor is not None and found.factor <= 1.0
    thin = found.factor is not None and found.factor < least
    saturates = found.saturated is not None and found.saturated <= 1.0
    everywhere = found.grows_everywhere
    mend = examined.remedies(lambda: remedies(examined, lost, thin, saturates))
    asked = f"; required: {least:.3g} times (acceptance.gain_margin)" if thin and not lost else ""
    name, room = "reach of the rig", None if found.saturated is None else max(1.0 - 1.0 / found.saturated, 0.0)
    if found.factor is not None:
        name, room = "stability at larger excitation", 0.0 if thin or lost else 1.0 - 1.0 / found.factor
    yield Finding(
        "no-go" if lost or saturates else "marginal" if thin or everywhere else "note",
        found.summary() + asked,
        found.factor,
        None if found.factor is None else max(least, 1.0),
        remedies=mend,
        name=name,
        room=room,
    )


def remedies(examined: Examined, lost: bool, thin: bool, saturates: bool) -> Iterable[str]:
    found = examined.nonlinear
    assert found is not None
    if lost and examined.sound:
        yield f"a smaller excitation: below {found.factor:.3g} times this one the rehearsal stays stable"
    elif thin and found.factor is not None:
        share = rounded_down(found.factor / least_factor(examined.definition))
        yield f"a smaller excitation: {share:g} times this one leaves the required margin"
    if saturates:
        yield (
            f"a smaller excitation, below {found.saturated:.3g} times this one, or a table whose actuators do not "
            "saturate"
        )
