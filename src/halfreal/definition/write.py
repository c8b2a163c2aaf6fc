"""Writing a test definition as TOML that people can read, with units, and that reads back as the same definition."""

from __future__ import annotations

import json
import re
from enum import Enum
from pathlib import Path
from typing import Any, get_args

import numpy as np
from pydantic import BaseModel

from .. import units
from ..values import Number

WIDTH = 110
"""Characters of a line above which an array gets a line for each of its rows."""


class Inline(dict[str, Any]):
    """A table that is written in one line."""


class Quantity(str):
    """A quantity as text, with its number in the unit that the definition computes in."""

    number: float
    unit: str


def quantity(number: float, unit: str) -> Quantity:
    """Text that reads back as the same number."""
    found = Quantity(units.text(number, unit, digits=None))
    found.number, found.unit = number, unit
    return found


def to_toml(instance: BaseModel) -> str:
    """The definition as TOML text; every value is written, also those left at their defaults."""
    lines: list[str] = []
    write_table(plain(instance), (), lines)
    return "\n".join(lines).strip("\n") + "\n"


def plain(value: Any, quantities: tuple[Number, ...] = (), brief: bool = False) -> Any:
    """A value as TOML knows it: tables, lists, texts and numbers; quantities are texts with their unit.

    ``brief`` leaves out what has the value that it has when it is left out.
    """
    if isinstance(value, BaseModel):
        return _fields(value, brief)
    if isinstance(value, np.ndarray):
        return _array(value, _unit(quantities))
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, dict):
        return {str(key): plain(item, quantities, brief) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, quantities, brief) for item in value]
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int | float | np.number):
        unit = _unit(quantities)
        if unit == "1":
            return int(value) if isinstance(value, int | np.integer) else float(value)
        return quantity(float(value), unit)
    raise TypeError(f"{value!r} cannot be written as TOML; give tables, lists, texts and numbers")


def _fields(instance: BaseModel, brief: bool) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for name, field in type(instance).model_fields.items():
        value, quantities = getattr(instance, name), quantities_in((field.annotation, *field.metadata))
        if brief and name != "kind" and not field.is_required():
            default = field.get_default(call_default_factory=True, validated_data={})
            if default is not None and value is not None and plain(default, quantities) == plain(value, quantities):
                continue
        if value is not None:
            table[name] = plain(value, quantities, brief)
        elif field.is_required() or field.default is not None:
            raise ValueError(f"{name} is None, which TOML cannot represent; give it a value")
    return table


def quantities_in(annotations: tuple[Any, ...]) -> tuple[Number, ...]:
    """Every quantity named in a type, however deep."""
    found: list[Number] = []
    for annotation in annotations:
        found += [annotation] if isinstance(annotation, Number) else quantities_in(get_args(annotation))
    return tuple(found)


def _unit(quantities: tuple[Number, ...]) -> str:
    return quantities[0].unit if quantities else "1"


def _array(array: np.ndarray, unit: str) -> Any:
    if unit == "1":
        return array.tolist()
    if array.size == 1:
        return quantity(array.item(), unit)
    return Inline(unit=unit, values=array.tolist())


# --- TOML -------------------------------------------------------------------------------------------------------------


def write_table(table: dict[str, Any], path: tuple[str, ...], lines: list[str]) -> None:
    """Append the lines of a table whose header stands already."""
    later: list[tuple[str, Any]] = []
    for key, value in table.items():
        if _is_table(value) or (isinstance(value, list) and value and all(map(_is_table, value))):
            later.append((key, value))
        else:
            lines.append(f"{key_text(key)} = {value_text(value, len(key) + 3)}")
    for key, value in later:
        name = ".".join(map(key_text, (*path, key)))
        for item in value if isinstance(value, list) else [value]:
            lines += ["", f"[[{name}]]" if isinstance(value, list) else f"[{name}]"]
            write_table(item, (*path, key), lines)


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) and not isinstance(value, Inline)


def key_text(key: str) -> str:
    """A key as TOML spells it."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _string(key)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def value_text(value: Any, column: int = 0) -> str:
    """A value as TOML spells it, beginning at a column."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key_text(key)} = {value_text(item, column)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        if all(type(item) is float for item in value):  # many numbers in a matrix
            return repr(value)
        items = [value_text(item) for item in value]
        line = f"[{', '.join(items)}]"
        if column + len(line) > WIDTH and any(isinstance(item, list) for item in value):
            return "[\n" + "".join(f"  {item},\n" for item in items) + "]"
        return line
    return repr(value)
