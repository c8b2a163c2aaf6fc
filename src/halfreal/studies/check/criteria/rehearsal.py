"""Whether the rehearsal comes to its end, and how close it comes to its limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .... import units
from ....contracts.finding import Finding
from ....runs.run import Run
from ..examined import Examined


def rehearsal(examined: Examined) -> Iterable[Finding]:
    run = examined.rehearsal
    name, room = least_room(run.limits_used)
    if run.outcome != "completed":
        text = f"the rehearsal {run.outcome} at {units.text(tripped_at(run), 's')}: {run.reason}"
        mend = examined.remedies(lambda: remedies(examined))
        yield Finding("no-go", text, remedies=mend, name=name, room=room)
    elif run.limits_used:
        closest, share = max(run.limits_used.items(), key=lambda one: one[1])
        used = f"{100 * share:.0f} % of its trip limit"
        text = f"the rehearsal stays within its limits; closest is {closest} with {used} used"
        yield Finding("note", text, share, 1.0, name=name, room=room)


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


def remedies(examined: Examined) -> list[str]:
    run = examined.rehearsal
    limited = run.outcome == "tripped" and "beyond its limit" in run.reason  # a block's fault tells its own remedy
    if not (examined.sound and limited):
        return []
    return ["a smaller excitation, or a wider limit if rig and specimen bear it"]
