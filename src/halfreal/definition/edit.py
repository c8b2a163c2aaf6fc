"""Changing a definition in the text that a person wrote: all that is not changed stays as it is there.

What a study changes is the difference of two definitions.  It is found value by value and put into the text by tomlkit,
which keeps comments, blank lines, order and spelling of the others; a quantity that is changed keeps its unit.  A key
that is new is behind the last one of its table, if it has not its usual value; a section that is new, at the end.

A text that is written to another folder names its files from there: names that were relative still are.

What comes out is read again.  Should it not be the definition that is meant, which may happen where values are written
in an unusual way, the definition is written again as a whole (``write.to_toml``), and the result states this.
"""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable, Table, Whitespace

from .. import units
from ..errors import HalfrealError
from .definition import Definition
from .load import from_toml
from .write import Inline, Quantity, plain, quantity, to_toml, value_text, write_table

SAME = 1e-14
"""Relative difference of numbers that count as the same: another unit may round otherwise."""


def edited(text: str, before: Definition, after: Definition, source: Path, target: Path) -> tuple[str, bool]:
    """The text of ``before``, a file in the folder ``source``, as that of ``after`` in the folder ``target``.

    Also whether the person's text was kept; False if all had to be written again.
    """
    windows = "\r\n" in text and text.count("\r\n") == text.count("\n")
    text = text.replace("\r\n", "\n") if windows else text
    try:
        document = tomlkit.parse(text)
        change(document, plain(before), plain(after), plain(after, brief=True))
        if source.resolve() != target.resolve():
            _rename(document, plain(after), source.resolve(), target.resolve())
        found = document.as_string()
        read = from_toml(found, Definition, folder=target)
    except (HalfrealError, TOMLKitError):
        return to_toml(after), False
    if not _alike(read.model_dump(mode="json"), after.model_dump(mode="json")):
        return to_toml(after), False
    return found.replace("\n", "\r\n") if windows else found, True


def change(standing: Any, before: dict[str, Any], after: dict[str, Any], brief: dict[str, Any]) -> None:
    """Change what differs in a table of the text."""
    for key in {**before, **after}:
        if key not in after or (after[key] == {} and key not in brief):
            _remove(standing, key)
        elif key in standing:
            _put(standing, key, before.get(key), after[key], brief.get(key, after[key]))
        elif key in brief and not _alike(before.get(key), after[key]):
            _add(standing, key, brief[key])


def _put(holder: Any, key: Any, old: Any, new: Any, brief: Any, unit: str = "") -> None:
    """Change a value where it stands: of tables and arrays only what differs, of quantities only the number."""
    standing = holder[key]
    if _alike(old, new):
        return
    if isinstance(new, Inline | Quantity) and isinstance(standing, dict) and "values" in standing:
        old, new = (_quantities(one) for one in (old, new))
        _put(standing, "values", old, new, new, standing.get("unit", "1"))
    elif isinstance(new, Inline) and isinstance(standing, list):
        old, new = (_quantities(one) for one in (old, new))
        _put(holder, key, old, new, new)
    elif isinstance(new, Quantity) and isinstance(standing, list) and len(standing) == 1:
        _put(standing, 0, old, new, new, unit)
    elif isinstance(standing, list) and isinstance(old, list) and isinstance(new, list) and _fits(standing, old, new):
        for i, (one, other) in enumerate(zip(old, new, strict=True)):
            _put(standing, i, one, other, brief[i], unit)
    elif isinstance(standing, dict) and isinstance(old, dict) and isinstance(new, dict) and _stays(standing, old, new):
        change(standing, old, new, brief)
    elif isinstance(new, Quantity) and isinstance(standing, str):
        holder[key] = tomlkit.value(value_text(_in_unit_of(standing, new)))
    elif unit:
        holder[key] = tomlkit.value(_numbers(new, unit))
    else:
        holder[key] = tomlkit.value(value_text(brief, len(str(key)) + 3))


def _fits(*lists: list[Any]) -> bool:
    return len({len(one) for one in lists}) == 1


def _stays(standing: Any, old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether a table is changed key by key; one in a single line is written again if it gets other keys."""
    return old.keys() == new.keys() or not isinstance(standing, InlineTable)


def _quantities(value: Any) -> Any:
    """An array with one unit as lists of quantities."""

    def each(values: Any) -> Any:
        return [each(one) for one in values] if isinstance(values, list) else quantity(values, value["unit"])

    return each(value["values"]) if isinstance(value, Inline) else value


def _add(standing: Any, key: str, new: Any) -> None:
    """Behind the last key of a table; blank lines and comments behind it belong to what follows."""
    lines: list[str] = []
    if isinstance(standing, tomlkit.TOMLDocument):
        write_table({key: new}, (), lines)
        standing.append(key, tomlkit.parse("\n".join([*lines, ""])).item(key))
        return
    behind = _cut_behind(standing)
    standing[key] = tomlkit.value(value_text(new, len(key) + 3))
    if behind:
        standing.value.body.append((None, Whitespace(behind)))


def _remove(standing: Any, key: str) -> None:
    """A key with its line, or a table with its header and all in it; what stands before the next header stays."""
    if key not in standing:
        return
    behind = _cut_behind(standing[key])
    body = standing.body if isinstance(standing, tomlkit.TOMLDocument) else getattr(standing.value, "body", [])
    index = next((i for i, (name, _) in enumerate(body) if name is not None and name.key == key), None)
    del standing[key]
    if behind and index is not None:
        body[index] = (None, Whitespace(behind))


def _cut_behind(table: Any) -> str:
    """Take away the comments and blank lines behind the last key of a table: they belong to what follows."""
    body = table.value.body if isinstance(table, Table) else []
    last = max((i for i, (name, _) in enumerate(body) if name is not None), default=len(body) - 1)
    behind = "".join(item.as_string() for _, item in body[last + 1 :])
    del body[last + 1 :]
    return behind


def _rename(standing: Any, after: Any, source: Path, target: Path) -> None:
    """Name files from another folder where the text names them from its own."""
    for key, value in list(standing.items() if isinstance(standing, dict) else enumerate(standing)):
        inside = after if isinstance(after, list | dict) else {}
        meant = inside.get(key) if isinstance(inside, dict) else inside[key] if key < len(inside) else None
        if isinstance(value, dict | list):
            _rename(value, meant, source, target)
        elif isinstance(value, str) and value and value != meant and not Path(value).is_absolute():
            file = value if (source / value).is_file() else value.rpartition(":")[0]
            if file and (source / file).is_file():
                moved = Path(os.path.relpath((source / file).resolve(), target)).as_posix() + value[len(file) :]
                standing[key] = tomlkit.value(value_text(moved))


_UNIT = re.compile(r"\s*[+\-−]?[0-9._]+(?:[eE][+\-−]?[0-9]+)?\s*(.*?)\s*")


def _in_unit_of(standing: str, new: Quantity) -> str:
    """A quantity in the unit of the one that is there."""
    match = _UNIT.fullmatch(standing)
    try:
        return f"{_number(new, match[1])} {match[1]}" if match and match[1] else new
    except units.UnitError:
        return new


def _number(new: Quantity, unit: str) -> str:
    """The number of a quantity in another unit, as short as it reads back as the same."""
    number = new.number / float(units.factor(unit, new.unit))
    for digits in range(1, 18):
        told = units.text(float(f"{number:.{digits}g}"), "1", digits=None)
        if math.isclose(units.parse(f"{told} {unit}", new.unit), new.number, rel_tol=SAME if digits > 15 else 0.0):
            break
    return told


def _numbers(new: Any, unit: str) -> str:
    """The same of lists of quantities."""
    return f"[{', '.join(_numbers(one, unit) for one in new)}]" if isinstance(new, list) else _number(new, unit)


def _alike(one: Any, other: Any) -> bool:
    """The same, but for the last digits of numbers."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    if isinstance(one, Quantity) and isinstance(other, Quantity):
        return one.number == other.number
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=SAME)
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)
