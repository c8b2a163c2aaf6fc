"""Whether the rehearsal comes to its end; how close it comes to its limits is another criterion (``limits.py``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .... import units
from ....contracts.finding import Finding
from ....runs.run import Run
from ..examined import Examined
from ..excitation_factor import within_limits

OF_USERS = (" raised ", "a user-defined fault", "not a finite number")
"""Words for what ends a rehearsal where a user's function is wrong."""
CORRECTED = "correct the function; or use a smaller excitation, if the function rejects large motion on purpose"


def rehearsal(examined: Examined) -> Iterable[Finding]:
    run = examined.rehearsal
    name, _ = least_room(run.limits_used)
    if run.outcome != "completed":
        text = f"the rehearsal {run.outcome} at {units.text(tripped_at(run), 's')}: {run.reason}"
        mend = examined.remedies(lambda: remedies(examined))
        binds = name if by_limit(run) else "fault that ended the rehearsal"
        yield Finding("no-go", text, remedies=mend, name=binds, room=0.0)


def least_room(used: Mapping[str, float]) -> tuple[str, float | None]:
    """The limit that leaves least room, and its share; None without limits."""
    rooms = {f"limit of {name}": max(1.0 - share, 0.0) for name, share in used.items()}
    if not rooms:
        return "", None
    name = min(rooms, key=lambda key: rooms[key])
    return name, rooms[name]


def tripped_at(run: Run) -> float:
    trips = [event.time for event in run.events if event.text.startswith("trip")]
    return trips[0] if trips else float(run.time[-1])


def by_limit(run: Run) -> bool:
    """Whether a limit ended it, and not a fault of a block."""
    return run.outcome == "tripped" and "beyond its limit" in run.reason


def remedies(examined: Examined) -> list[str]:
    """How much smaller the excitation must be for the limits, where nothing else is wrong."""
    if not examined.sound:
        return []
    if not by_limit(examined.rehearsal):
        own = any(words in examined.rehearsal.reason for words in OF_USERS)
        return [CORRECTED] if own else []  # faults of other blocks tell their own
    found = within_limits(examined.definition, examined.stability)
    if found is None:
        excitation = examined.definition.excitation
        excited = (excitation.virtual or excitation.specimen) is not None
        what = "a smaller excitation" if excited else "a smaller initial displacement or velocity"
        return [f"{what}, or a wider limit if rig and specimen permit it"]
    factor, closest = found
    return [
        f"a smaller excitation: {factor:g} times this one stays within the limits in a rehearsal, {closest} being "
        "closest; or a wider limit if rig and specimen permit it"
    ]
