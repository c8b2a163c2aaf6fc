"""Numbers of a definition that are not known exactly: each an interval or a distribution, by its place.

    [uncertainty]
    "rig.actuator.delay" = { low = "8 ms", high = "11 ms" }     # anywhere between
    "rig.specimen.stiffness" = { deviation = "100 N/m" }        # normal about the value in the file, cut at ± 4 σ
    "virtual.damping" = { relative = 0.2 }                      # anywhere within ± 20 % of the value

Which unit a quantity must have depends on its place, so that it is kept as the text it was written as (a float from
Python as such a text in SI units) and read against the field that is there.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import BaseModel, ValidationInfo
from pydantic_core import PydanticCustomError

from .. import units
from ..settings import Number, Settings, faults
from ..values import Place, found_in, shown
from .faults import under
from .write import quantities_in

CUT = 4.0
"""Standard deviations at which a normal distribution is cut."""
PLAIN = Number("1")
FORMS = "write { low = …, high = … }, or { deviation = … }, or { relative = … }"


class Uncertain(Settings):
    """An uncertain number: ``low`` and ``high``, or a standard ``deviation``, or a ``relative`` part of the value."""

    low: str | float | None = None
    high: str | float | None = None
    deviation: str | float | None = None
    relative: str | float | None = None

    def given(self) -> dict[str, Any]:
        return {key: value for key in type(self).model_fields if (value := getattr(self, key)) is not None}


@dataclass(frozen=True)
class Quantity:
    """A number of a definition: its SI value and what it must be."""

    value: float
    number: Number


@dataclass(frozen=True)
class Parameter:
    """An uncertain number in SI units: uniform between ``low`` and ``high``, or normal and cut there."""

    place: str
    unit: str
    value: float
    low: float
    high: float
    deviation: float | None = None

    def quantile(self, probability: np.ndarray) -> np.ndarray:
        if self.deviation is None:
            return np.asarray(self.low + (self.high - self.low) * np.asarray(probability))
        from scipy.special import ndtr, ndtri

        below, above = ndtr(-CUT), ndtr(CUT)
        return np.asarray(self.value + self.deviation * ndtri(below + (above - below) * np.asarray(probability)))

    def text(self) -> str:
        if self.deviation is None:
            return f"{units.text(self.low, self.unit)} to {units.text(self.high, self.unit)}"
        return f"{units.text(self.value, self.unit)} ± {units.text(self.deviation, self.unit)} (σ)"


# --- places and what is there -------------------------------------------------------------------------------------


def quantities(sections: Mapping[str, Any]) -> dict[str, Quantity]:
    """Every number in some sections of a definition by its place (``halfreal.definition.paths``), with its unit."""
    found: dict[str, Quantity] = {}

    def walk(value: Any, place: str, number: Number) -> None:
        if isinstance(value, BaseModel):
            for name, field in type(value).model_fields.items():
                inner = quantities_in((field.annotation, *field.metadata))
                walk(getattr(value, name), f"{place}.{name}", inner[0] if inner else PLAIN)
        elif isinstance(value, Mapping):
            for key, item in value.items():
                walk(item, under(place, str(key)), number)
        elif isinstance(value, list | tuple | np.ndarray):
            only = value
            while isinstance(only, list | tuple | np.ndarray) and len(only) == 1:
                only = only[0]
            if isinstance(only, int | float):  # a 1 × 1 matrix counts as a number
                walk(only, place, number)
            else:
                for i, item in enumerate(value):
                    walk(item, f"{place}[{i + 1}]", number)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found[place] = Quantity(float(value), number)

    for name, section in sections.items():
        if name != "uncertainty":
            walk(section, name, PLAIN)
    return found


def quantity_at(definition: BaseModel, place: str) -> Quantity | None:
    """The number at a place; None if there is none."""
    return quantities({name: getattr(definition, name) for name in type(definition).model_fields}).get(place)


# --- reading ----------------------------------------------------------------------------------------------------------


def checked(uncertain: Any, sections: Mapping[str, Any], known: Iterable[str], info: ValidationInfo) -> Any:
    """The section as it was given, held against the others: every place must be there, every quantity fit it.

    ``sections`` are those without a fault, ``known`` the names of all: a place in a section that has faults of its own
    cannot be judged.  Everything is checked here, before pydantic looks at it, so that all faults come at once.
    """
    if not isinstance(uncertain, Mapping) or not uncertain:
        return uncertain
    there, wrong = quantities(sections), list[tuple[Place, str]]()
    result: dict[str, dict[str, str]] = {}
    for place, entry in uncertain.items():
        section = str(place).split(".")[0]
        if place in there:
            result[place], faulty = _read(entry, there[place], info)
            wrong += [((place, *at), message) for at, message in faulty]
        elif section in sections or section not in known:
            near = difflib.get_close_matches(str(place), there, n=1, cutoff=0.6)
            hint = f"did you mean '{near[0]}'?" if near else "write keys joined by dots, as in 'rig.actuator.delay'"
            wrong.append(((place,), f"is not a number of this definition; {hint}"))
    if wrong:
        raise faults(wrong)
    return result


def _read(entry: Any, there: Quantity, info: ValidationInfo) -> tuple[dict[str, str], list[tuple[Place, str]]]:
    """An entry's quantities as texts, and what is wrong with it."""
    given = entry.given() if isinstance(entry, Uncertain) else entry
    if not isinstance(given, Mapping):
        return {}, [((), f"{shown(given)} where a table is expected; {FORMS}")]
    given = {key: value for key, value in given.items() if value is not None}
    if set(given) not in ({"low", "high"}, {"deviation"}, {"relative"}):
        return {}, [((), f"{' and '.join(map(str, given)) or 'nothing'} given; {FORMS}")]
    wrong: list[tuple[Place, str]] = []
    texts: dict[str, str] = {}
    numbers: dict[str, float] = {}
    for key in sorted(given, reverse=True):  # low before high
        value = given[key]
        field = PLAIN if key == "relative" else Number(there.number.unit)
        try:
            numbers[key] = field.number(value, info)
        except PydanticCustomError as error:
            wrong += [((key,), message) for _, message in found_in(error)]
            continue
        texts[key] = value if isinstance(value, str) else units.text(float(value), field.unit, digits=None)
        told = _out_of_range(key, numbers, there, shown(value))
        if told:
            wrong.append(((key,), told))
    return texts, wrong


def _out_of_range(key: str, numbers: Mapping[str, float], there: Quantity, given: str) -> str | None:
    """What is wrong with a quantity that can be read."""
    number, unit = numbers[key], there.number.unit
    if key in ("low", "high"):
        if key == "high" and number <= numbers.get("low", -np.inf):
            return f"{given} is not above low, {units.text(numbers['low'], unit)}; high must be above low"
        limits = there.number
        return Number(unit, limits.above, limits.least, limits.most).out_of_bounds(number, given)
    if number <= 0.0:
        return f"{given} must be greater than 0"
    if key == "relative" and there.value == 0.0:
        return "the value is 0, so a relative interval is empty; give low and high, or a deviation"
    return None


def parameters(definition: BaseModel) -> tuple[Parameter, ...]:
    """The uncertain numbers of a definition, in the order of its file."""
    there = quantities({name: getattr(definition, name) for name in type(definition).model_fields})
    found = []
    for place, entry in getattr(definition, "uncertainty", {}).items():
        value, unit = there[place].value, there[place].number.unit
        read = {key: _si(text, "1" if key == "relative" else unit) for key, text in entry.given().items()}
        deviation = read.get("deviation")
        reach = CUT * deviation if deviation is not None else abs(value) * read.get("relative", 0.0)
        low, high = read.get("low", value - reach), read.get("high", value + reach)
        found.append(Parameter(place, unit, value, low, high, deviation))
    return tuple(found)


def _si(value: str | float, unit: str) -> float:
    return units.parse(value, unit) if isinstance(value, str) else float(value)
