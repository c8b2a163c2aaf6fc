"""Whether the rig can make the motion at all: what the emulated system asks of it against stroke, speed and limits.

Where that system is not known, it is the motion that the rehearsal requests.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from .... import units
from ....contracts.finding import Finding
from ....contracts.reach import Bound, peaks
from ....definition.definition import Definition
from ....runs.reference import EmulationError, emulate, reference_specimen
from ....runs.rehearse import rehearse
from ....runs.run import Run
from ..examined import Examined
from ..excitation_factor import largest_factor
from ..nonlinear import scaled


def reach(examined: Examined) -> Iterable[Finding]:
    definition, run = examined.definition, examined.rehearsal
    if reference_specimen(definition) is None:
        found = out_of_reach(definition, asked_for(definition, run), "the rehearsal needs")
    else:
        found = out_of_reach(definition, whole_reference(definition, run))
    if found:
        found[0] = replace(found[0], remedies=examined.remedies(lambda: remedies(definition)))
    return found


def remedies(definition: Definition) -> Iterable[str]:
    """How much smaller the excitation must be for the rig."""

    def share(factor: float) -> float:
        smaller = scaled(definition, factor)
        return 2.0 if smaller is None else max(shares(smaller), default=0.0)

    factor = largest_factor(share)
    yield (
        "a smaller excitation, or a larger rig"
        if factor is None
        else f"a smaller excitation: {factor:g} times this one is within the rig's reach; or a larger rig"
    )


def shares(definition: Definition) -> list[float]:
    """What the motion of the emulated system, or of a rehearsal, needs of each bound, as a share of it."""
    if reference_specimen(definition) is None:
        due = asked_for(definition, rehearse(definition))
    else:
        due = emulated(definition)
    return [] if due is None else [float(np.max(bound.needed / bound.most)) for bound in bounds(definition, due)]


def emulated(definition: Definition) -> np.ndarray | None:
    """The emulated system's motion; None if it is not known, or cannot be integrated."""
    try:
        return emulate(definition, definition.timing.ticks, 1)
    except EmulationError:
        return None


def out_of_reach(
    definition: Definition, due: np.ndarray | None = None, needs: str = "the emulated system needs"
) -> list[Finding]:
    """Each bound that the true motion itself exceeds, with both numbers; ``due`` is that motion (ticks, axes) if known.

    No coupling and no compensation helps there: the excitation is too large, or the rig too small.
    """
    due = emulated(definition) if due is None else due
    if due is None or len(due) < 2:
        return []
    found = []
    for bound in bounds(definition, due):
        place = int(np.argmax(bound.needed / bound.most))
        needed, most, unit = float(bound.needed[place]), float(bound.most[place]), bound.units[place]
        if needed > most:
            text = (
                f"the rig cannot follow the motion: {bound.names[place]} is {units.text(most, unit)}, but {needs} "
                f"{units.text(needed, unit)}"
            )
            found.append(Finding("no-go", text, needed, most, unit, name="reach of the rig", room=0.0))
    return found


def bounds(definition: Definition, due: np.ndarray) -> list[Bound]:
    """What bounds the motion ``due``: the rig itself, and limits of displacement and velocity."""
    limits, axes, step = definition.limits, definition.interface, definition.timing.step
    places, speeds = peaks(due, step)
    of_limits = [
        Bound.on_axes(axes, name, needed, bound, unit)
        for name, needed, bound, unit in (
            ("limits.displacement.trip", places, limits.values("displacement", "trip", axes), "m"),
            ("limits.velocity.trip", speeds, limits.values("velocity", "trip", axes), "m/s"),
        )
    ]
    return [*definition.rig.bounds_on_motion(due, step, axes), *of_limits]


def whole_reference(definition: Definition, run: Run) -> np.ndarray | None:
    """The emulated system's motion as a rehearsal has recorded it; None if that is not all of it."""
    found = run.vector("reference")
    if found is None or definition.record.every != 1 or run.outcome != "completed":
        return None
    return found[np.all(np.isfinite(found), axis=1)]


def asked_for(definition: Definition, run: Run) -> np.ndarray | None:
    """The target as a rehearsal has recorded it; None if that is not all of it, or no motion."""
    found = run.vector("target")
    if found is None or definition.record.every != 1 or definition.targets != "displacement":
        return None
    return found if run.outcome == "completed" and found.shape[1] == definition.virtual.axes else None
