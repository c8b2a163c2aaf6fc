"""Whether motion of a nonlinear loop stays bounded: what becomes of it beyond rest, by the loop's limit cycles.

A loop that is unstable at rest is a NO-GO, and a cycle on which it settles shows how far it goes by itself.  One that
is stable at rest and diverges from beyond an unstable cycle needs that cycle well away from the motion that is
expected: below ``acceptance.amplitude_margin`` times it, the test is MARGINAL.  So is one whose motion persists below
that amplitude, if no cycle is found there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .... import units
from ....contracts.finding import Finding, note
from ....runs.validity import ADAPTS
from ..examined import Examined
from .acceptance import below

if TYPE_CHECKING:
    from ..free_motion import FreeMotion

CONTINUE = "'halfreal continue' shows how the limit depends on any number of the definition"


def free_motion(examined: Examined) -> Iterable[Finding]:
    found = examined.cycles
    if found is None:
        return
    if found.untold:
        yield unknown(examined, found)
    elif not examined.stable:
        yield note(unstable_at_rest(examined, found))
    elif found.border is not None:
        yield from of_border(examined, found)
    elif found.bounded is not None:
        cycle = found.bounded
        share = 100 * cycle.amplitude / found.expected
        yield note(
            f"free motion does not decay, but settles on a limit cycle of {cycle.amplitude_text()} at "
            f"{cycle.frequency_hz:.4g} Hz, {share:.2g} % of the largest expected motion"
        )
    elif found.searched_less:
        unit = examined.definition.interface.units("m")[0]
        times = found.searched_to / found.expected
        yield note(
            f"free motion decays at all amplitudes tested, up to {units.text(found.searched_to, unit, 3)}, "
            f"{times:.3g} times the largest expected motion"
        )


def unknown(examined: Examined, found: FreeMotion) -> Finding:
    """No limit cycle is known; motion that persists below the amplitude required leaves no GO."""
    text, least = (
        f"limit cycles were not computed: {found.untold}",
        examined.definition.acceptance.least("amplitude_margin"),
    )
    adapts = examined.stability.holds == ADAPTS  # what it has learnt is no part of a free motion
    if adapts or found.persists is None or not examined.stable or found.persists >= least * found.expected:
        return note(text)
    ratio = found.persists / found.expected
    text += f"; whether motion grows beyond it, {below(ratio, least)} times the largest expected motion, is not known"
    mend = examined.remedies(lambda: remedies(ratio, least))
    return Finding("marginal", text, ratio, least, name="accepted amplitude margin", room=0.0, remedies=mend)


def unstable_at_rest(examined: Examined, found: FreeMotion) -> str:
    """What motion that grows from rest comes to."""
    cycle, unit = found.bounded, examined.definition.interface.units("m")[0]
    if cycle is None:
        most = units.text(found.searched_to, unit, 3)
        return f"motion growing from rest settles on no limit cycle: none was found up to {most}"
    return (
        f"motion growing from rest stays bounded: it settles on a limit cycle of {cycle.amplitude_text()} at "
        f"{cycle.frequency_hz:.4g} Hz"
    )


def of_border(examined: Examined, found: FreeMotion) -> Iterable[Finding]:
    """A loop that is stable at rest, and not beyond some amplitude."""
    cycle, after, ratio = found.border, found.beyond, found.ratio
    assert cycle is not None and ratio is not None
    least = examined.definition.acceptance.least("amplitude_margin")
    ends = (
        "diverges"
        if after is None
        else f"settles on a limit cycle of {after.amplitude_text()} at {after.frequency_hz:.4g} Hz"
    )
    text = (
        f"free motion beyond {cycle.amplitude_text()} at {cycle.frequency_hz:.4g} Hz {ends}: "
        f"{below(ratio, least)} times the largest expected motion, "
        f"{units.text(found.expected, cycle.units[cycle.axis], 3)}"
    )
    room = max(1.0 - 1.0 / ratio, 0.0)
    if ratio >= least:
        yield Finding("note", text, ratio, least, name="amplitude of free motion", room=room)
        return
    mend = examined.remedies(lambda: remedies(ratio, least))
    text += f"; required: {least:g} times"
    yield Finding("marginal", text, ratio, least, name="accepted amplitude margin", room=0.0, remedies=mend)


def remedies(ratio: float, least: float) -> Iterable[str]:
    yield (
        f"a smaller excitation: about {ratio / least:.2g} times this one keeps this distance from "
        "the amplitude where motion grows"
    )
    yield f"less lag of the rig, or a coupling that compensates for it; {CONTINUE}"
