"""A run's definition for people: as tables, and what distinguishes it from another."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .wording import NONE, number

IN_THE_HEAD = ("title", "description")


def with_units(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    """The normalised definition with its quantities as text; as it is, in SI units, if this version cannot read it."""
    return _as_written(definition) or definition


def definition_sections(definition: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """The normalised definition as tables: one for the plain values on top, one for each part."""
    top = {key: value for key, value in definition.items() if not _nested(value) and key not in IN_THE_HEAD}
    sections = [("test", _entries(top))]
    sections += [(key, _entries(value)) for key, value in definition.items() if _nested(value)]
    return [section for section in sections if section[1]]


@dataclass(frozen=True)
class Difference:
    """A value that two definitions do not share; a dash where one has none."""

    place: str
    here: str
    there: str


def differences(here: Mapping[str, Any], there: Mapping[str, Any]) -> list[Difference]:
    """Where two normalised definitions differ, value by value.

    Values are shown with their units, unless this version cannot read one of the two definitions.
    """
    written = _as_written(here), _as_written(there)
    mine, yours = (dict(_leaves(one)) for one in (written if all(written) else (here, there)))
    return [
        Difference(place, *(_value(one[place], None) if place in one else NONE for one in (mine, yours)))
        for place in dict.fromkeys((*mine, *yours))
        if place not in mine or place not in yours or mine[place] != yours[place]
    ]


def _as_written(definition: Mapping[str, Any]) -> dict[str, Any]:
    """As in a file, quantities with units; empty if this version cannot read it."""
    from ..definition.definition import Definition
    from ..definition.faults import DefinitionError
    from ..definition.load import from_json, to_toml

    try:
        return tomllib.loads(to_toml(from_json(Definition, definition)))
    except DefinitionError:
        return {}


def _leaves(value: Any, place: str = "") -> list[tuple[str, Any]]:
    """All values that have no further parts, by their places; entries of lists count from 1."""
    if isinstance(value, Mapping) and set(value) == {"unit", "values"}:  # an array
        return [(inner, f"{_value(leaf, None)} {value['unit']}") for inner, leaf in _leaves(value["values"], place)]
    if isinstance(value, Mapping):
        pairs = [(f"{place}.{key}" if place else str(key), inner) for key, inner in value.items()]
    elif isinstance(value, list | tuple | np.ndarray):
        pairs = [(f"{place}[{i + 1}]", inner) for i, inner in enumerate(value)]
    else:
        return [] if value is None else [(place, value)]
    return [leaf for name, inner in pairs for leaf in _leaves(inner, name)]


def _nested(value: Any) -> bool:
    return isinstance(value, Mapping) or (
        isinstance(value, list | tuple) and any(isinstance(v, Mapping) for v in value)
    )


def _entries(value: Any, path: str = "") -> list[tuple[str, str]]:
    if isinstance(value, Mapping):
        pairs = [(f"{path}.{key}" if path else str(key), inner) for key, inner in value.items()]
    elif _nested(value):
        pairs = [(f"{path}[{i + 1}]", inner) for i, inner in enumerate(value)]
    else:
        return [(path, _value(value))]
    return [entry for name, inner in pairs if not _absent(inner) for entry in _entries(inner, name)]


def _absent(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, list | tuple) and not value)


def _value(value: Any, digits: int | None = 8) -> str:
    """A value as text; with all its digits if ``digits`` is None."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return repr(value).replace("-", "−") if digits is None else number(value, digits)
    if isinstance(value, list | tuple | np.ndarray):
        size = np.shape(value) if len({np.shape(item) for item in value}) <= 1 else (len(value),)
        if int(np.prod(size)) == 1:
            return _value(value[0], digits)
        if int(np.prod(size)) > 16:
            return f"{' × '.join(map(str, size))} values"
        return "[" + ", ".join(_value(item, digits) for item in value) + "]"
    return str(value)
