"""Which numbers of a definition's rig are sought in records, between which bounds, and where the search begins.

A rig says in which of its sections they are (``Rig.identified``): every quantity there that has a value, and of its
specimen also a mass, damping or stiffness that the definition leaves out.  A symmetric matrix has one number for each
pair of axes.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .. import units
from ..definition.definition import Definition
from ..definition.uncertainty import PLAIN, Quantity, quantities
from ..errors import HalfrealError
from .rig_record import RigRecord

REACH = 50.0
"""Times its given value, and a part of it, within which a number is sought."""
LONGEST_DELAY = 0.25
"""Seconds, and as much of the shortest record, at most."""
ENTRY = re.compile(r"(.*)\[(\d+)\]\[(\d+)\]$")


@dataclass(frozen=True)
class Sought:
    """A number of the rig, in SI units."""

    name: str
    """Its place in the definition."""
    unit: str
    given: float
    """As the definition has it; 0 if it leaves it out."""
    start: float
    least: float
    most: float
    scale: float
    """Size of a change that matters."""
    smallest: float = 0.0
    """So well it is always known well enough: a delay to within a step."""
    places: tuple[str, ...] = ()
    """Further places with the same number, of a symmetric matrix."""

    @property
    def is_delay(self) -> bool:
        return self.name.endswith(".delay")

    def at(self, value: float) -> dict[str, float]:
        """The values of a definition with this one; a number that is left out stays so where it is 0."""
        return {} if value == 0.0 and self.given == 0.0 else dict.fromkeys((self.name, *self.places), value)

    def text(self, value: float) -> str:
        return units.text(value, self.unit, digits=4)


def sought_in(
    definition: Definition, records: Sequence[RigRecord], wanted: Sequence[tuple[str, float | None, float | None]] = ()
) -> tuple[Sought, ...]:
    """What is sought: what the rig says, or what is ``wanted``, places each with bounds or None."""
    there = quantities({"rig": definition.rig})
    sizes = _sizes(records)
    if wanted:
        return tuple(_wanted(definition, records, sizes, *one) for one in wanted)
    found = []
    for part in definition.rig.identified:
        inside = {place: one for place, one in there.items() if place.startswith(f"rig.{part}.")}
        for place, one in inside.items():
            entry = ENTRY.match(place)
            lower = entry is not None and int(entry[2]) > int(entry[3])
            if one.number is not PLAIN and not lower and (one.value != 0.0 or place.endswith(".delay")):
                found.append(_sought(definition, place, one, records, sizes))
        if part == "specimen" and len(definition.interface) == 1:
            found += _left_out(definition, inside, sizes)
    return tuple(found)


def _left_out(definition: Definition, inside: dict[str, Quantity], sizes: dict[str, float]) -> list[Sought]:
    """Mass, damping and stiffness of the specimen that the definition does not give."""
    known, found = definition.rig.known_specimen, []
    fields = {} if known is None else type(known).model_fields  # type: ignore[attr-defined]
    for key, size in sizes.items():
        place = f"rig.specimen.{key}"
        if key in fields and (place not in inside or inside[place].value == 0.0):
            found.append(Sought(place, UNITS[key], 0.0, 0.0, 0.0, np.inf, size))
    return found


UNITS = {"stiffness": "N/m", "damping": "N s/m", "mass": "kg"}


def _sizes(records: Sequence[RigRecord]) -> dict[str, float]:
    """Stiffness, damping and mass whose force on the motion would be all that was measured, on the first axis."""
    force = np.concatenate([one.force[one.kept, 0] - one.force[one.kept, 0].mean() for one in records])
    size = float(np.sqrt(np.mean(force**2)))
    motion = np.zeros(3)
    for order in range(3):
        rates = [np.diff(one.commands[one.kept, 0], order) / one.step**order for one in records]
        motion[order] = float(np.std(np.concatenate(rates)))
    return {key: size / max(motion[i], 1e-300) for i, key in enumerate(UNITS)}


def _sought(
    definition: Definition, place: str, one: Quantity, records: Sequence[RigRecord], sizes: dict[str, float]
) -> Sought:
    number, value = one.number, one.value
    least = max(-np.inf if number.least is None else number.least, -np.inf if number.above is None else number.above)
    most = np.inf if number.most is None else number.most
    smallest = 0.0
    if place.endswith(".delay"):
        step = definition.timing.step
        shortest = min(float(one.time[one.kept][-1] - one.time[one.kept][0]) for one in records)
        least, most, smallest = 0.0, min(max(4.0 * value, LONGEST_DELAY), 0.25 * shortest, 1900 * step), step
        scale = max(value, step)
    elif place.split(".")[-1] in sizes:  # linear in the force: any start will do
        least, scale = (0.0 if value > 0.0 else -np.inf), abs(value)
    else:
        least, most = max(least, min(value / REACH, value * REACH)), min(most, max(value / REACH, value * REACH))
        scale = abs(value)
    entry = ENTRY.match(place)
    mirrored = () if entry is None or entry[2] == entry[3] else (f"{entry[1]}[{entry[3]}][{entry[2]}]",)
    if entry is not None:
        least = 0.0 if entry[2] == entry[3] else -np.inf
    return Sought(place, number.unit, value, value, least, most, scale, smallest, mirrored)


def quantity_of_rig(definition: Definition, place: str) -> Quantity:
    """A quantity of the definition's rig; refused if there is none at this place."""
    there = {key: one for key, one in quantities({"rig": definition.rig}).items() if one.number is not PLAIN}
    if place not in there:
        near = difflib.get_close_matches(place, there, n=3, cutoff=0.5)
        raise HalfrealError(f"'{place}' is no quantity of the definition's rig; there are {', '.join(near or there)}")
    return there[place]


def _wanted(
    definition: Definition,
    records: Sequence[RigRecord],
    sizes: dict[str, float],
    place: str,
    least: float | None,
    most: float | None,
) -> Sought:
    found = _sought(definition, place, quantity_of_rig(definition, place), records, sizes)
    if least is None or most is None:
        return found
    if not least < most:
        raise HalfrealError(
            f"the bounds of {place} are {found.text(least)} and {found.text(most)}; write the least first"
        )
    start = float(np.clip(found.start, least, most))
    scale = found.scale or max(abs(least), abs(most))
    return Sought(place, found.unit, found.given, start, least, most, scale, found.smallest, found.places)


def shifted_delay(model: np.ndarray, measured: np.ndarray, longest: int) -> int:
    """Samples by which the measured motion is later than the model's, at the peak of their correlation."""
    from scipy.signal import correlate, correlation_lags

    total = sum(
        correlate(measured[:, i], model[:, i], method="fft") / max(float(np.std(model[:, i])), 1e-300) ** 2
        for i in range(model.shape[1])
        if np.ptp(model[:, i]) > 0.0
    )
    if isinstance(total, int):
        return 0
    lags = correlation_lags(len(measured), len(model))
    near = np.abs(lags) <= longest
    return int(lags[near][np.argmax(total[near])])
