"""Whether the loop is stable at rest."""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding, note, warning
from ....runs.loop_stability import LoopStability
from ....runs.validity import IN_ANY_MOTION
from ..examined import Examined
from ..remedies import stabilising
from .measured_force import is_wrong_in_loop

LEARNS = (
    "tried in motion and after a small disturbance from rest, with each change that [acceptance] promises to tolerate, "
    "the coupling adapts in time, and is stable with what it learns"
)


def where(stability: LoopStability) -> str:
    """Where poles and margins hold, for people; nothing where they hold in any motion."""
    return "" if stability.holds == IN_ANY_MOTION else f" ({stability.holds})"


def stability(examined: Examined) -> Iterable[Finding]:
    found = examined.stability.linearisation
    text, radius = found.summary(), found.spectral_radius
    if examined.stability.untried:
        untried = f"{text}; no trial in motion can be made either: nothing shows that this loop is stable"
        yield Finding("no-go", untried, name="stability", room=0.0)
    elif examined.stability.poles_unknown:
        yield note(f"{text}; only trials in motion count")
    elif not found.stable and examined.learns:
        yield warning(f"with the coefficients of t = 0 the loop is {text}; {LEARNS}")
    elif found.stable:
        yield Finding("note", text + where(examined.stability), radius, 1.0)
    elif examined.stability.rig_fault is not None:  # the rig's own fault, which binds and is fixed first
        yield Finding("no-go", text, radius, 1.0)
    else:  # no coupling makes up for a force that is not the specimen's: what helps there is tried with that finding
        mend = examined.remedies(lambda: [] if is_wrong_in_loop(examined) else stabilising(examined))
        yield Finding("no-go", text, radius, 1.0, remedies=mend, name="stability", room=0.0)
