"""Types of the values in a test definition: numbers with a unit and files, and how a fault in one is reported.

A validation context says where values come from: ``{"folder": path}`` for a file in that folder, ``{"stored": True}``
for the JSON of a run file, none for Python.  From a file a quantity must be text with a unit; otherwise it may also be
a float in SI units.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic_core import PydanticCustomError, core_schema

from . import units

Place = tuple[str | int, ...]
"""Keys and 0-based positions that lead to a value."""


# --- faults and contexts ----------------------------------------------------------------------------------------------


def fault(message: str, *at: str | int) -> PydanticCustomError:
    """A validation fault with a message that names the value, what is allowed and what to do.

    ``at`` are the keys that lead from where it is raised to the value at fault: a part that finds its stiffness at
    odds with its mass raises ``fault("…", "stiffness")``.
    """
    return faults([(at, message)])


def faults(found: Iterable[tuple[Place, str]]) -> PydanticCustomError:
    """Several faults at once, each with the keys that lead to it."""
    items = list(found)
    return PydanticCustomError("halfreal", "{message}", {"message": "; ".join(m for _, m in items), "items": items})


def found_in(error: PydanticCustomError) -> list[tuple[Place, str]]:
    """The faults that ``fault`` or ``faults`` put into an error."""
    items: list[tuple[Place, str]] = (error.context or {})["items"]
    return items


def folder(info: ValidationInfo) -> Path:
    """The folder of the definition, to which file names in it are relative."""
    return Path((info.context or {}).get("folder") or ".")


def stored(info: ValidationInfo) -> bool:
    """Whether the definition comes out of a run file: numbers are SI, and files it names may be gone."""
    return bool((info.context or {}).get("stored"))


def from_file(info: ValidationInfo) -> bool:
    return bool((info.context or {}).get("folder"))


def shown(value: Any) -> str:
    """A value in a message: in quotes if it is text, as TOML would spell it, and never long."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, dict):
        return "a table"
    try:
        text = f"'{value}'" if isinstance(value, str | Path) else repr(value)
    except (ValueError, RecursionError):  # a whole number of thousands of digits, lists in lists in lists
        text = f"a very long {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "…"


def existing(name: Any, info: ValidationInfo, at: Place = ()) -> Path:
    if not isinstance(name, str | Path) or not str(name):
        raise fault(f"{shown(name)} where the name of a file is expected; write it as text in quotes", *at)
    try:
        path = (folder(info) / name).resolve()
        exists = stored(info) or path.is_file()
    except (OSError, ValueError, RuntimeError) as error:
        raise fault(f"{shown(name)} cannot be the name of a file ({error})", *at) from error
    if not exists:
        what = "is a folder" if path.is_dir() else "does not exist"
        raise fault(f"{shown(name)}: the file {path} {what}; name one relative to the definition's folder", *at)
    return path


# --- types of values --------------------------------------------------------------------------------------------------

_DECIMAL = r"[+\-−]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+\-]?[0-9]+)?"


LARGEST, SMALLEST, LARGEST_PURE = 1e30, 1e-30, 1e100
"""Of a quantity in SI units, of one that must be positive, and of a number without unit: beyond, products and powers
would be infinite or vanish, and no laboratory has such."""


@dataclass(frozen=True)
class Number:
    """What a number must be, ``above`` being exclusive: ``mass: Annotated[float, Number("kg", above=0)]``."""

    unit: str
    above: float | None = None
    least: float | None = None
    most: float | None = None

    def number(self, value: Any, info: ValidationInfo) -> float:
        """A finite SI float, not yet held against the bounds."""
        unit = self.unit
        if isinstance(value, str):
            try:
                return units.parse(value, unit)
            except units.UnitError as error:
                raise fault(str(error)) from error
        if isinstance(value, bool) or not isinstance(value, int | float | np.floating | np.integer):
            raise fault(f"{shown(value)} where a quantity{self.suffix} is expected; write {self.example}")
        if unit != "1" and from_file(info):
            raise fault(
                f"{shown(value)} has no unit where {unit} is expected; write '{shown(value)} {unit}' if that is meant"
            )
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise fault(f"{shown(value)} is not finite; give a finite number{self.suffix}")
        return number

    def out_of_bounds(self, number: float, given: str) -> str | None:
        """What is wrong with a number that is not within the bounds."""
        for limit, kept, must in (
            (self.above, operator.gt, "greater than"),
            (self.least, operator.ge, "at least"),
            (self.most, operator.le, "at most"),
        ):
            if limit is not None and not kept(number, limit):
                value = units.text(number, self.unit)
                same = given.strip("'") in (value, f"{number:g}", repr(number))
                return f"{given if same else f'{given} is {value}; it'} must be {must} {units.text(limit, self.unit)}"
        return None

    @property
    def positive(self) -> bool:
        """Whether it must be: something is divided by it."""
        return self.above is not None and self.above >= 0.0

    def implausible(self, number: float, given: str) -> str | None:
        """What is wrong with a number that is too large or too small for any calculation with it."""
        largest = LARGEST_PURE if self.unit == "1" else LARGEST
        smallest = SMALLEST if self.unit != "1" and self.positive else 0.0
        if number == 0.0 or smallest <= abs(number) <= largest:
            return None
        what, limit = ("larger", largest) if abs(number) > largest else ("smaller", smallest)
        return f"{given} is {what} than {limit:g}{self.suffix}, which no test needs; check the number and its unit"

    def read(self, value: Any, info: ValidationInfo) -> Any:
        number = self.number(value, info)
        wrong = self.out_of_bounds(number, shown(value)) or self.implausible(number, shown(value))
        if wrong:
            raise fault(wrong)
        return number

    @property
    def suffix(self) -> str:
        return "" if self.unit == "1" else f" in {self.unit}"

    @property
    def example(self) -> str:
        return "0.05 or '5 %'" if self.unit == "1" else f"it as text, such as '1.5 {self.unit}'"

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of one number."""
        limits = [("above", self.above), ("at least", self.least), ("at most", self.most)]
        bounds = "".join(f", {word} {units.text(x, self.unit)}" for word, x in limits if x is not None)
        if self.unit == "1":
            forms = [{"type": "number"}, {"type": "string", "pattern": rf"^\s*{_DECIMAL}\s*%?\s*$"}]
            return {"description": f"number{bounds}", "anyOf": forms}
        pattern = rf"^\s*{_DECIMAL}\s*[A-Za-zµμΩ°%_1].*$"
        return {"type": "string", "description": f"quantity in {self.unit}{bounds}", "pattern": pattern}

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.with_info_plain_validator_function(
            self.read,
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda value: value.tolist() if isinstance(value, np.ndarray) else value, when_used="json"
            ),
        )

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return self.schema


@dataclass(frozen=True)
class _File:
    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.with_info_plain_validator_function(
            existing, serialization=core_schema.to_string_ser_schema(when_used="json")
        )

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"type": "string", "minLength": 1, "description": "name of a file, from the definition's folder"}


ExistingFile = Annotated[Path, _File()]
"""Type of a file that must be there: an absolute path, relative to the folder of the definition."""
