"""Values of a definition by their place, such as ``rig.actuator.delay``: to read, to change, to vary.

A place is the keys that lead to a value, joined by dots; entries of lists count from 1 in brackets, as in
``rig.specimen.elements[1].law.stiffness``, and a key with dots is in quotes, as in
``uncertainty."rig.actuator.delay".low``.  A 1 × 1 matrix counts as a number.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from ..errors import HalfrealError
from .definition import Definition
from .faults import key_path, under
from .load import from_json


class PlaceError(HalfrealError):
    """A place that the definition does not have, or that holds no number."""


def numbers(definition: Definition) -> dict[str, float]:
    """Every number of a definition by its place, in SI units, and so every parameter that can be varied."""
    return numbers_in(definition.model_dump(mode="json"))


def numbers_in(data: Mapping[str, Any]) -> dict[str, float]:
    """The same of a definition as JSON, such as a run file holds."""
    found: dict[str, float] = {}

    def walk(value: Any, place: str) -> None:
        if isinstance(value, Mapping):
            for key, item in value.items():
                walk(item, under(place, str(key)))
        elif isinstance(value, list):
            if _lone(value) is not None:
                found[place] = float(_lone(value))
            else:
                for i, item in enumerate(value):
                    walk(item, f"{place}[{i + 1}]")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found[place] = float(value)

    walk(data, "")
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
        raise PlaceError(f"'{place}' is not a number of this definition; " + _hint(near))
    return known[place]


def _hint(near: list[str]) -> str:
    return f"did you mean {' or '.join(repr(name) for name in near)}?" if near else "write keys joined by dots"


def keys_of(place: str) -> list[Any]:
    """Keys and 0-based positions that lead to a place."""
    key, index = r'(?:"[^"]*"|[^.\[\]"]+)', r"(?:\[\d+\])"
    if not re.fullmatch(rf"{key}{index}*(?:\.{key}{index}*)*", place):
        raise PlaceError(f"'{place}' is not a key; write keys joined by dots, e.g. 'rig.actuator.delay'")
    parts = re.findall(rf"{key}|{index}", place)
    return [int(part[1:-1]) - 1 if part.startswith("[") else part.strip('"') for part in parts]


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


def with_values(definition: Definition, values: Mapping[str, Any]) -> Definition:
    """The definition with the values at some places replaced; validated again, as from a file.

    Values are numbers in SI units or texts with a unit, names, arrays, tables, or whole parts.
    """
    data = definition.model_dump(mode="json")
    only_numbers = True
    for place, value in values.items():
        holder, key = _holder(data, place)
        old = holder.get(key) if isinstance(holder, dict) else holder[key]
        new = _as_json(value)
        only_numbers &= isinstance(new, int | float) or (isinstance(new, str) and _lone(old) is not None)
        if isinstance(new, int | float) and isinstance(old, list) and _lone(old) is not None:
            while isinstance(holder[key], list):
                holder, key = holder[key], 0
            old = holder[key]
        if isinstance(new, float) and isinstance(old, int) and new.is_integer():
            new = int(new)
        holder[key] = new
    # Files that a definition out of a run file names may be gone, and new numbers name none.
    return from_json(Definition, data, "with the values given:", stored=only_numbers)


def _holder(data: dict[str, Any], place: str) -> tuple[Any, Any]:
    """The table or list that holds a place, and its key there; the last key of a table need not be there yet."""
    keys = keys_of(place)
    holder: Any = data
    for i, key in enumerate(keys):
        last = i == len(keys) - 1
        if isinstance(holder, dict) and isinstance(key, str) and (last or key in holder):
            there = True
        else:
            there = isinstance(holder, list) and isinstance(key, int) and 0 <= key < len(holder)
        if not there:
            known = [str(one) for one in holder] if isinstance(holder, dict) else []
            near = difflib.get_close_matches(str(key), known, n=3, cutoff=0.6)
            raise PlaceError(f"'{place}' is not in this definition; {_missing(keys[:i], holder, near)}")
        if last:
            return holder, key
        holder = holder[key]
    raise PlaceError(f"{place!r} is not a key; write keys joined by dots")


def _missing(before: list[Any], holder: Any, near: list[str]) -> str:
    """What there is where a place leads nowhere."""
    where = key_path(tuple(before)) or "it"
    if isinstance(holder, list):
        return f"{where} is a list of {len(holder)}, counted from 1 in brackets"
    if isinstance(holder, dict):
        return _hint(near) if near else f"{where} has the keys {', '.join(map(str, holder))}"
    return f"{where} is {'not given' if holder is None else 'a single value'}; set it as a whole"


def _as_json(value: Any) -> Any:
    """A value as ``model_dump(mode="json")`` would give it."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: _as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    return str(value) if isinstance(value, Path) else value
