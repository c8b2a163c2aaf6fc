"""Numbers of a definition by their place, such as ``rig.actuator.delay``: to read, to change, to vary.

A place is the keys that lead to a value, joined by dots; entries of lists count from 1 in brackets, as in
``rig.specimen.elements[1].law.stiffness``.  A 1 × 1 matrix counts as a number.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any

from ..errors import HalfrealError
from .definition import Definition
from .load import from_json


class PlaceError(HalfrealError):
    """A place that the definition does not have, or that holds no number."""


def numbers(definition: Definition) -> dict[str, float]:
    """Every number of a definition by its place, in SI units, and so every parameter that can be varied."""
    found: dict[str, float] = {}

    def walk(value: Any, place: str) -> None:
        if isinstance(value, Mapping):
            for key, item in value.items():
                walk(item, f"{place}.{key}" if place else str(key))
        elif isinstance(value, list):
            if _lone(value) is not None:
                found[place] = float(_lone(value))
            else:
                for i, item in enumerate(value):
                    walk(item, f"{place}[{i + 1}]")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found[place] = float(value)

    walk(definition.model_dump(mode="json"), "")
    return found


def _lone(value: Any) -> Any:
    """The number of a 1 × 1 matrix or a vector of one entry."""
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def value_at(definition: Definition, place: str) -> float:
    known = numbers(definition)
    if place not in known:
        near = difflib.get_close_matches(place, known, n=3, cutoff=0.6)
        raise PlaceError(f"'{place}' is no number of this definition; " + _hint(near))
    return known[place]


def _hint(near: list[str]) -> str:
    return f"did you mean {' or '.join(repr(name) for name in near)}?" if near else "write keys joined by dots"


def keys_of(place: str) -> list[Any]:
    """Keys and 0-based positions that lead to a place."""
    parts = re.findall(r"[^.\[\]]+|\[\d+\]", place)
    return [int(part[1:-1]) - 1 if part.startswith("[") else part for part in parts]


def slot(definition: Definition, data: dict[str, Any], place: str) -> tuple[Any, Any]:
    """The table or list in ``data``, the definition as JSON, that holds the number at a place, and its key there."""
    value_at(definition, place)
    *outer, key = keys_of(place)
    holder: Any = data
    for step in outer:
        holder = holder[step]
    while isinstance(holder[key], list):
        holder, key = holder[key], 0
    return holder, key


def with_values(definition: Definition, values: Mapping[str, float]) -> Definition:
    """The definition with the numbers at some places replaced (SI units); validated anew."""
    data = definition.model_dump(mode="json")
    for place, value in values.items():
        holder, key = slot(definition, data, place)
        holder[key] = round(value) if isinstance(holder[key], int) else value
    return from_json(Definition, data, "with the values given:")
