"""Changing a definition in the text that a person wrote: all that is not changed stays as it stands there.

What a study changes is the difference of two definitions.  It is found value by value and put into the text where the
values stand (``locate.spans_of``); comments, blank lines, order, spelling and units of the others are not touched, and
a quantity that is changed keeps its unit.  A key that is new stands behind the last one of its table, if it has not its
usual value; a section that is new, at the end of the text.

A text that is written to another folder names its files from there: names that were relative still are.

What comes out is read again.  Should it not be the definition that is meant, which may happen where values are written
in an unusual way, the definition is written anew as a whole (``write.to_toml``), and the caller is told.
"""

from __future__ import annotations

import math
import os
import re
import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from .. import units
from ..errors import HalfrealError
from .definition import Definition
from .load import from_toml
from .locate import Place, Spans, spans_of
from .write import Inline, Quantity, key_text, plain, quantity, to_toml, value_text, write_table

SAME = 1e-14
"""Relative difference of numbers that count as the same: another unit may round otherwise."""


def edited(text: str, before: Definition, after: Definition, source: Path, target: Path) -> tuple[str, bool]:
    """The text of ``before``, a file in the folder ``source``, as that of ``after`` in the folder ``target``.

    Also whether the person's text was kept; False if all had to be written anew.
    """
    try:
        found = _Text(text, plain(before), plain(after), usual(after)).changed()
        found = renamed(found, source.resolve(), target.resolve(), plain(after))
        read = from_toml(found, Definition, folder=target)
    except (_CannotEditError, HalfrealError, tomllib.TOMLDecodeError):
        return to_toml(after), False
    if not _alike(read.model_dump(mode="json"), after.model_dump(mode="json")):
        return to_toml(after), False
    return found, True


class _CannotEditError(Exception):
    """A change that has no place in the text."""


def usual(instance: BaseModel, place: Place = ()) -> set[Place]:
    """Places of a model whose values are those they have when they are left out."""
    found: set[Place] = set()
    for name, field in type(instance).model_fields.items():
        value, here = getattr(instance, name), (*place, name)
        if isinstance(value, BaseModel):
            found |= usual(value, here)
        if isinstance(value, list | tuple):
            for i, item in enumerate(value):
                found |= usual(item, (*here, i)) if isinstance(item, BaseModel) else set()
        if name != "kind" and not field.is_required():
            default = field.get_default(call_default_factory=True, validated_data={})
            if default is not None and value is not None and plain(default) == plain(value):
                found.add(here)
    return found


class _Text:
    """A text, and the replacements that are to be made in it."""

    def __init__(self, text: str, before: dict[str, Any], after: dict[str, Any], usual: set[Place]) -> None:
        self.text, self.before, self.after, self.usual = text, before, after, usual
        self.spans: Spans = spans_of(text)
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self.known = {place[:i] for place in (*self.spans.keys, *self.spans.ends) for i in range(len(place) + 1)}
        self.replacements: list[tuple[int, int, str]] = []
        self.sections: list[str] = []

    def changed(self) -> str:
        self.table((), self.before, self.after)
        text = self.text
        for start, end, new in reversed(sorted(self.replacements, key=lambda one: one[:2])):
            text = text[:start] + new + text[end:]
        if self.sections:
            text = text.rstrip() + self.newline + self.newline.join(["", *self.sections, ""])
        return text

    def table(self, place: Place, before: dict[str, Any], after: dict[str, Any]) -> None:
        if place in self.spans.inline and before.keys() != after.keys():
            self.replace(place, value_text(self.short(place, after)))
            return
        for key in (*before, *(key for key in after if key not in before)):
            here = (*place, key)
            if key in before and key in after and _alike(before[key], after[key]):
                continue
            if key not in after or (after[key] == {} and here in self.usual):
                self.remove(here)
            elif here not in self.known:
                self.add(place, key, self.short(here, after[key]))
            else:
                self.value(here, before.get(key), after[key])

    def value(self, place: Place, old: Any, new: Any) -> None:
        """Put a new value where one stands: only what differs, if both are alike."""
        standing = self.standing(place)
        if _is_table(new) and _is_table(old) and (place not in self.spans.values or isinstance(standing, dict)):
            self.table(place, old, new)
        elif _tables(new) and _tables(old) and len(new) == len(old) and (*place, len(new) - 1) in self.known:
            for i, (one, other) in enumerate(zip(old, new, strict=True)):
                if not _alike(one, other):
                    self.value((*place, i), one, other)
        elif place not in self.spans.values:
            raise _CannotEditError
        elif isinstance(new, Quantity) and isinstance(standing, str):
            self.replace(place, value_text(_in_unit_of(standing, new)))
        elif _numbers(new) is not None and isinstance(standing, dict | list):
            self.array(place, standing, old, new)
        else:
            self.replace(place, value_text(self.short(place, new), self.column(place)))

    def array(self, place: Place, standing: Any, old: Any, new: Any) -> None:
        """Only the entries that differ, each in the unit that stands there."""
        unit = new["unit"] if isinstance(new, Inline) else "1"
        inside, values = place, standing
        factor = 1.0
        if isinstance(standing, dict):
            inside, values = (*place, "values"), standing.get("values")
            factor = float(units.factor(standing["unit"], unit)) if "unit" in standing else 1.0
        numbers, before = _numbers(new), _numbers(old)
        if _shape(values) != _shape(numbers) or _shape(before) != _shape(numbers) or _shape(values) is None:
            self.replace(place, value_text(new, self.column(place)))
            return
        for entry, number in _entries(numbers):
            if _at(before, entry) == number:
                continue
            there = _at(values, entry)
            if isinstance(there, str):
                told = value_text(_in_unit_of(there, quantity(number, unit)))
            else:
                told = repr(number / factor if factor != 1.0 else number)
            self.replace((*inside, *entry), told)

    def add(self, place: Place, key: str, new: Any) -> None:
        if (*place, key) in self.usual:
            return
        counted = any(isinstance(step, int) for step in place)
        if (_is_table(new) or _tables(new)) and not counted and place not in self.spans.inline:
            keys = tuple(str(step) for step in (*place, key))
            lines: list[str] = []
            write_table({key: new}, keys[:-1], lines)
            self.sections += [*([""] if self.sections else []), *(lines[1:] if lines and not lines[0] else lines)]
            return
        line = f"{key_text(key)} = {value_text(new, len(key) + 3)}".replace("\n", self.newline)
        if place not in self.spans.ends:
            raise _CannotEditError
        end = self.spans.ends[place]
        if end == 0:  # of a text that begins with a table
            self.replacements.append((0, 0, line + self.newline * 2))
            return
        stop = self.text.find("\n", end)
        at = len(self.text) if stop < 0 else stop - (self.text[stop - 1] == "\r")
        self.replacements.append((at, at, self.newline + line))

    def remove(self, place: Place) -> None:
        """A key with its line, or a table with its header and keys; comments on lines of their own stay."""
        inside = [one for one in self.spans.values if one[: len(place)] == place]
        if any(one[:i] in self.spans.inline for one in inside for i in range(len(place))):
            raise _CannotEditError
        spans = [(self.spans.keys[one], self.spans.values[one][1]) for one in inside]
        spans += [(start, start) for one, start in self.spans.headers.items() if one[: len(place)] == place]
        lines: set[tuple[int, int, str]] = set()
        for start, end in spans:
            begin, stop = self.text.rfind("\n", 0, start) + 1, self.text.find("\n", end)
            lines.add((begin, len(self.text) if stop < 0 else stop + 1, ""))
        for one in lines:  # entries of an array lie within it
            if not any(other != one and other[0] <= one[0] and one[1] <= other[1] for other in lines):
                self.replacements.append(one)

    def replace(self, place: Place, new: str) -> None:
        if place not in self.spans.values:
            raise _CannotEditError
        self.replacements.append((*self.spans.values[place], new.replace("\n", self.newline)))

    def standing(self, place: Place) -> Any:
        """The value that stands at a place."""
        if place not in self.spans.values:
            return None
        start, end = self.spans.values[place]
        return tomllib.loads(f"value = {self.text[start:end]}")["value"]

    def column(self, place: Place) -> int:
        start = self.spans.values[place][0]
        return start - self.text.rfind("\n", 0, start) - 1

    def short(self, place: Place, value: Any) -> Any:
        """A value without what has its usual value in it."""
        if _is_table(value):
            return {k: self.short((*place, k), v) for k, v in value.items() if (*place, k) not in self.usual}
        if _tables(value):
            return [self.short((*place, i), one) for i, one in enumerate(value)]
        return value


def renamed(text: str, source: Path, target: Path, after: dict[str, Any]) -> str:
    """The text with its relative names of files reckoned from another folder."""
    if source == target:
        return text
    spans, replacements = spans_of(text), []
    for place, (start, end) in spans.values.items():
        if place in spans.inline or text[start] not in "\"'":
            continue
        name = tomllib.loads(f"value = {text[start:end]}")["value"]
        if _looked_up(after, place) == name or not name or Path(name).is_absolute():
            continue
        file = name if (source / name).is_file() else name.rpartition(":")[0]
        if file and (source / file).is_file():
            moved = Path(os.path.relpath((source / file).resolve(), target)).as_posix() + name[len(file) :]
            replacements.append((start, end, value_text(moved)))
    for start, end, new in sorted(replacements, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _looked_up(value: Any, place: Place) -> Any:
    for step in place:
        if isinstance(value, dict) and step in value:
            value = value[str(step)]
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


_UNIT = re.compile(r"\s*[+\-−]?[0-9._]+(?:[eE][+\-−]?[0-9]+)?\s*(.*?)\s*")


def _in_unit_of(standing: str, new: Quantity) -> str:
    """A quantity in the unit of the one that stands there, as short as it reads back as the same number."""
    match = _UNIT.fullmatch(standing)
    if match is None or not match[1]:
        return new
    try:
        number = new.number / float(units.factor(match[1], new.unit))
        for digits in range(1, 18):
            told = f"{units.text(float(f'{number:.{digits}g}'), '1', digits=None)} {match[1]}"
            if math.isclose(units.parse(told, new.unit), new.number, rel_tol=SAME if digits > 15 else 0.0):
                return told
    except units.UnitError:
        pass
    return new


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) and not isinstance(value, Inline)


def _tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_table, value))


def _numbers(value: Any) -> Any:
    """Lists of numbers of an array, or None if it is none."""
    if isinstance(value, Inline):
        return value["values"]
    return value if isinstance(value, list) and _shape(value) is not None else None


def _shape(value: Any) -> tuple[int, ...] | None:
    """Of lists of numbers or texts; None if they are ragged, or something else."""
    if not isinstance(value, list):
        return () if isinstance(value, int | float | str) and not isinstance(value, bool) else None
    shapes = {_shape(one) for one in value}
    return None if len(shapes) != 1 or None in shapes else (len(value), *(shapes.pop() or ()))


def _entries(value: Any, place: Place = ()) -> list[tuple[Place, Any]]:
    if not isinstance(value, list):
        return [(place, value)]
    return [one for i, item in enumerate(value) for one in _entries(item, (*place, i))]


def _at(value: Any, place: Place) -> Any:
    for step in place:
        value = value[step]
    return value


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
