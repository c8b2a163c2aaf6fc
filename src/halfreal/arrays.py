"""Vectors and matrices with a unit in a test definition.

They may be written as

- one quantity, ``"2.2 kg"``, for a single entry;
- lists of quantities, ``[["2.2 kg", "0 kg"], ["0 kg", "3 kg"]]``;
- a table of numbers in one unit, ``{ unit = "kN/mm", values = [[2, -1], [-1, 1]] }``;
- a table that names a file, ``{ unit = "kg", file = "mass.csv" }``: text with columns separated by commas, semicolons
  or blanks (a heading starts with ``#``), or a ``.npy`` file;
- in Python, and in run files, an array or lists of SI floats.

What is read is a read-only float64 array in SI units.

In a matrix of masses, dampings or stiffnesses a degree of freedom may be a rotation.  Where its entries are written as
quantities they may have the units that these have then, ``"0.6 kg m^2"`` on the diagonal and ``"2 kg m"`` next to a
displacement, and must have them all through its row and column.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import ValidationInfo
from pydantic_core import PydanticCustomError

from . import units
from .values import Number, Place, existing, fault, faults, shown

SYMMETRIC = 1e-9
"""Difference of mirrored entries, as a part of the largest entry, up to which a matrix passes for symmetric."""
SEMIDEFINITE = 1e-9
"""Negative eigenvalue, as a part of the largest, up to which a matrix passes for positive semidefinite: rounded digits
make the zero eigenvalues of a free structure slightly negative."""
MOST_TOLD = 10
"""Entries of one array whose faults are reported one by one."""

OF_ROTATIONS = {"kg": ("kg m", "kg m^2"), "N/m": ("N", "N m"), "N s/m": ("N s", "N m s")}
"""Units of a matrix's entries between a displacement and a rotation, and of a rotation."""

Definite = Literal["positive", "semi"] | None


def Vector(unit: str, *, above: float | None = None, least: float | None = None, most: float | None = None) -> Array:
    """Annotation of a vector of quantities in ``unit``, each optionally bounded (``above`` is exclusive)."""
    return Array(unit, above, least, most, dimensions=1)


def Matrix(unit: str, *, symmetric: bool = False, definite: Definite = None) -> Array:
    """Annotation of a matrix of quantities in ``unit``.

    A ``symmetric`` or ``definite`` matrix must be square; ``definite`` looks at its symmetric part: "positive" wants
    every eigenvalue of it above zero, "semi" none below.
    """
    return Array(unit, dimensions=2, symmetric=symmetric, definite=definite)


def PerAxis(
    unit: str,
    *,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
    of_rotations: str = "",
) -> Array:
    """Annotation of a quantity that is one number (a float) for all axes, or one for each (a vector).

    ``of_rotations`` is the unit in which one of a rotation may be written, where there is one for each axis.
    """
    return OneOrEach(unit, above, least, most, dimensions=0, of_rotations=of_rotations)


def RowPerAxis(unit: str) -> Array:
    """Annotation of numbers in ``unit`` that are one vector for all axes, or one for each (the rows of a matrix)."""
    return OneOrEach(unit, dimensions=1)


def WholePerAxis(*, least: int, most: int) -> Number:
    """Annotation of a whole number for all axes, or one for each (a tuple)."""
    return WholeOrEach("1", None, least, most)


@dataclass(frozen=True)
class Array(Number):
    """What an array must be: the annotation behind ``Vector`` and ``Matrix``."""

    dimensions: int = 2
    symmetric: bool = False
    definite: Definite = None

    def read(self, value: Any, info: ValidationInfo) -> np.ndarray:
        array = np.array(self._array(value, info), dtype=np.float64, order="C")
        if array.size == 0:
            raise fault(f"{shown(value)} is empty; give at least one entry{self.suffix}")
        wrong = self._wrong_entries(array)
        if wrong:
            raise faults(wrong)
        if self.symmetric or self.definite:
            self._check_form(array, value)
        array.flags.writeable = False
        return array

    # --- forms ------------------------------------------------------------------------------------------------------

    def _array(self, value: Any, info: ValidationInfo) -> np.ndarray:
        if isinstance(value, dict):
            return self._table(value, info)
        if isinstance(value, np.ndarray) and value.dtype.kind in "iuf":
            return self._shaped(value, shown(value))
        if isinstance(value, np.ndarray):
            value = value.tolist()
        of_rotations: dict[Place, int] = {}
        numbers = self._lists(value, lambda entry, at: self._entry(entry, at, info, of_rotations))
        if any(of_rotations.values()):
            self._check_rotations(numbers, of_rotations)
        return numbers

    def _entry(self, entry: Any, at: Place, info: ValidationInfo, of_rotations: dict[Place, int]) -> float:
        """An entry, noting for one with a unit how many rotations it belongs to."""
        try:
            number = self.number(entry, info)
            if isinstance(entry, str):
                of_rotations[at or (0, 0)] = 0
            return number
        except PydanticCustomError:
            for count, unit in enumerate(OF_ROTATIONS.get(self.unit, ()) if self.dimensions == 2 else (), start=1):
                try:
                    number = units.parse(entry, unit)
                except (units.UnitError, TypeError):
                    continue
                of_rotations[at or (0, 0)] = count
                return number
            raise

    def _check_rotations(self, numbers: np.ndarray, of_rotations: dict[Place, int]) -> None:
        """Refuse units that no choice of rotations among the degrees of freedom explains."""
        known = (self.unit, *OF_ROTATIONS[self.unit])
        entries = {(int(i), int(j)): count for (i, j), count in of_rotations.items()}
        turns = {i: count / 2 for (i, j), count in entries.items() if i == j}
        wrong: list[tuple[Place, str]] = []
        for (i, j), count in entries.items():
            due = turns.get(i, 0) + turns.get(j, 0)
            if i == j and count == 1:
                wrong.append(
                    ((i, j), f"is in {known[1]}; give {known[0]} on the diagonal, or of a rotation {known[2]}")
                )
            elif i != j and count != due and numbers[i, j] != 0.0 and due == int(due):
                of = ("displacements", "a displacement and a rotation", "rotations")[int(due)]
                told = f"is in {known[count]}, and by the diagonal it is one of {of}; give it in {known[int(due)]}"
                wrong.append(((i, j), told))
        if wrong:
            raise faults(wrong[:MOST_TOLD])

    def _table(self, table: dict[Any, Any], info: ValidationInfo) -> np.ndarray:
        unknown = [key for key in table if key not in ("unit", "values", "file")]
        if unknown:
            raise faults([((str(key),), _unknown(str(key))) for key in unknown])
        if ("values" in table) == ("file" in table):
            form = f"{{ unit = '{self.unit}', values = […] }}"
            raise fault(f"a table for an array needs unit and either values or file; write {form}")
        unit = table.get("unit", self.unit if self.unit == "1" else None)
        if not isinstance(unit, str):
            raise fault(f"{shown(unit)} where a unit is expected; write unit = '{self.unit}'", "unit")
        key = "values" if "values" in table else "file"
        try:
            if key == "values":
                numbers = self._lists(table["values"], lambda entry, at: _bare(entry))
            else:
                path = existing(table["file"], info)
                numbers = self._shaped(read_numbers(path), f"the file {path}")
        except PydanticCustomError as error:
            raise faults([((key, *at), message) for at, message in (error.context or {})["items"]]) from error
        try:
            return units.scale(numbers, unit, self.unit)
        except units.UnitError as error:
            raise fault(str(error), "unit") from error

    def _lists(self, value: Any, entry: Callable[[Any, Place], float]) -> np.ndarray:
        """Lists of entries as an array; every entry that cannot be read is reported."""
        wrong: list[tuple[Place, str]] = []

        def read(item: Any, at: Place) -> float:
            try:
                return entry(item, at)
            except PydanticCustomError as error:
                wrong.extend((at, message) for _, message in (error.context or {})["items"])
                return 0.0

        if not isinstance(value, list | tuple):
            numbers: Any = np.full((1,) * self.dimensions, read(value, ()))
        elif self.dimensions == 1:
            numbers = [read(item, (i,)) for i, item in enumerate(value)]
        elif value and not any(isinstance(row, list | tuple | np.ndarray) for row in value):
            wrong.append(((), f"{shown(value)} is a single list; write a matrix as rows, [[…], […]]"))
            numbers = []
        else:
            numbers = []
            for i, row in enumerate(value):
                if isinstance(row, np.ndarray):
                    row = row.tolist()
                if not isinstance(row, list | tuple):
                    wrong.append(((i,), f"{shown(row)} where a row is expected; write a matrix as rows, [[…], […]]"))
                    continue
                numbers.append([read(item, (i, j)) for j, item in enumerate(row)])
                if len(row) != len(numbers[0]):
                    wrong.append(((i,), f"row {i + 1} has {len(row)} entries where row 1 has {len(numbers[0])}"))
        if len(wrong) > MOST_TOLD:
            wrong[MOST_TOLD:] = [((), f"{len(wrong) - MOST_TOLD} more entries are invalid")]
        if wrong:
            raise faults(wrong)
        return np.array(numbers, dtype=np.float64)

    def _shaped(self, array: np.ndarray, given: str) -> np.ndarray:
        """The array with as many dimensions as expected; a row or a column may stand for a vector."""
        if array.ndim == self.dimensions:
            return array
        if array.size == 1 or (self.dimensions == 1 and array.ndim == 2 and 1 in array.shape):
            return array.reshape((-1,) * self.dimensions if self.dimensions == 1 else (1, 1))
        expected = "a vector" if self.dimensions == 1 else "a matrix (rows and columns)"
        raise fault(f"{given} has the shape {_times(array.shape)} where {expected} is expected")

    # --- checks -----------------------------------------------------------------------------------------------------

    @property
    def positive(self) -> bool:
        return super().positive or self.definite == "positive"

    def _wrong_entries(self, array: np.ndarray) -> list[tuple[Place, str]]:
        wrong: list[tuple[Place, str]] = []
        for at in zip(*np.nonzero(~np.isfinite(array)), strict=True):
            wrong.append(((), f"entry {_entry(at)} is {array[at]}; give finite numbers{self.suffix}"))
        for at, number in np.ndenumerate(array) if (self.above, self.least, self.most) != (None, None, None) else ():
            message = self.out_of_bounds(number, f"entry {_entry(at)}")
            if message:
                wrong.append(((), message))
        if not wrong and array.size:
            at = np.unravel_index(np.argmax(np.abs(array)), array.shape)
            message = self.implausible(float(array[at]), f"entry {_entry(at)}")
            wrong += [((), message)] if message else []
        return wrong[:MOST_TOLD]

    def _check_form(self, array: np.ndarray, value: Any) -> None:
        if array.shape[0] != array.shape[1]:
            raise fault(f"the matrix is {_times(array.shape)} where a square matrix is expected")
        given = "the matrix" if isinstance(value, dict) else shown(value)
        largest = float(np.max(np.abs(array)))
        scaled = array / largest if largest > 0 else array
        if self.symmetric:
            difference = np.abs(scaled - scaled.T)
            i, j = sorted(int(index) for index in np.unravel_index(np.argmax(difference), array.shape))
            if difference[i, j] > SYMMETRIC:
                raise fault(
                    f"the matrix is not symmetric: entry {_entry((i, j))} is {units.text(array[i, j], self.unit)} and "
                    f"entry {_entry((j, i))} is {units.text(array[j, i], self.unit)}; make them equal"
                )
        if self.definite:
            self._check_definite(np.linalg.eigvalsh((scaled + scaled.T) / 2), largest, given)

    def _check_definite(self, eigenvalues: np.ndarray, largest: float, given: str) -> None:
        smallest, top = float(eigenvalues[0]), float(np.max(np.abs(eigenvalues)))
        told = f"its smallest eigenvalue is {units.text(smallest * largest, self.unit)}"
        rounding = len(eigenvalues) * np.finfo(np.float64).eps * top
        if self.definite == "positive" and abs(smallest) <= rounding:
            raise fault(
                f"{given} is singular: {told}; every degree of freedom needs a value: give one or omit the matrix"
            )
        if smallest < -(SEMIDEFINITE if self.definite == "semi" else 0.0) * top:
            raise fault(
                f"{given} is not positive {'semi' if self.definite == 'semi' else ''}definite: {told}; check the signs"
            )

    # --- JSON Schema ------------------------------------------------------------------------------------------------

    @property
    def schema(self) -> dict[str, Any]:
        entry = Number(self.unit, self.above, self.least, self.most).schema
        noun = ("vector", "matrix")[self.dimensions - 1]
        quantities: dict[str, Any] = entry
        numbers: dict[str, Any] = {"type": "number"}
        for _ in range(self.dimensions):
            quantities = {"type": "array", "items": quantities, "minItems": 1}
            numbers = {"type": "array", "items": numbers, "minItems": 1}
        unit = {"type": "string", "description": f"unit of the numbers, such as {self.unit}"}
        required = [] if self.unit == "1" else ["unit"]
        forms = [entry, quantities]
        for key, form in (("values", numbers), ("file", {"type": "string", "minLength": 1})):
            forms.append(
                {
                    "type": "object",
                    "properties": {"unit": unit, key: form},
                    "required": [*required, key],
                    "additionalProperties": False,
                }
            )
        return {"description": f"{noun}{self.suffix}", "anyOf": forms}


@dataclass(frozen=True)
class OneOrEach(Array):
    """What is one for all axes, or one for each; ``dimensions`` are those of one."""

    of_rotations: str = ""

    def read(self, value: Any, info: ValidationInfo) -> Any:
        several = _depth(value) > self.dimensions
        if not several and self.dimensions == 0:
            return Number.read(self, value, info)
        if several and self.of_rotations and isinstance(value, list | tuple):
            value = [self._turned(one) for one in value]
        array = self._of(self.dimensions + several).read(value, info)
        return array if not several or len(array) > 1 else array[0] if self.dimensions else float(array[0])

    @property
    def schema(self) -> dict[str, Any]:
        each = self._of(self.dimensions + 1).schema
        if self.dimensions == 0:
            one = Number(self.unit, self.above, self.least, self.most).schema
            return {"description": f"{one['description']}, or one for each axis", "anyOf": each["anyOf"]}
        one = self._of(self.dimensions).schema
        forms = [*one["anyOf"], *(form for form in each["anyOf"] if form not in one["anyOf"])]
        return {"description": f"{one['description']}, or one for each axis", "anyOf": forms}

    def _of(self, dimensions: int) -> Array:
        return Array(self.unit, self.above, self.least, self.most, dimensions)

    def _turned(self, one: Any) -> Any:
        """One of a rotation as text in the unit in which it is counted; any other as it is."""
        try:
            return f"{units.parse(one, self.of_rotations)!r} {self.unit}" if isinstance(one, str) else one
        except units.UnitError:
            return one


@dataclass(frozen=True)
class WholeOrEach(Number):
    """A whole number for all axes, or one for each."""

    def read(self, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if not isinstance(value, list | tuple):
            return self._whole(value)
        if not value:
            raise fault("[] is empty; give a whole number, or one for each axis")
        found = tuple(self._whole(one) for one in value)
        return found if len(found) > 1 else found[0]

    def _whole(self, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise fault(f"{shown(value)} where a whole number (such as 3) is expected")
        wrong = self.out_of_bounds(int(value), shown(value))
        if wrong:
            raise fault(wrong)
        return int(value)

    @property
    def schema(self) -> dict[str, Any]:
        one = {"type": "integer", "minimum": self.least, "maximum": self.most}
        told = f"whole number, at least {self.least:g}, at most {self.most:g}, or one for each axis"
        return {"description": told, "anyOf": [one, {"type": "array", "items": one, "minItems": 1}]}


def _depth(value: Any) -> int:
    """Dimensions of what is given for an array, as its first rows show; a file is taken for a vector."""
    if isinstance(value, np.ndarray):
        return value.ndim
    if isinstance(value, dict):
        return max(_depth(value.get("values")), 1)
    if not isinstance(value, list | tuple):
        return 0
    return 2 if any(isinstance(row, list | tuple | np.ndarray) for row in value) else 1


def _bare(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating | np.integer):
        raise fault(f"{shown(value)} where a number is expected; the unit is given once, for all values")
    try:
        return float(value)
    except OverflowError:
        raise fault(f"{shown(value)} is not finite; give a finite number") from None


def _unknown(key: str) -> str:
    near = difflib.get_close_matches(key, ("unit", "values", "file"), n=1)
    hint = f"; did you mean '{near[0]}'?" if near else "."
    return f"{shown(key)} is not a key of an array{hint} Its keys are unit and either values or file"


def _entry(at: Any) -> str:
    return f"({', '.join(str(int(i) + 1) for i in at)})" if len(at) > 1 else str(int(at[0]) + 1)


def _times(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) or "of a single number"


def read_numbers(path: Path) -> np.ndarray:
    """Numbers from a ``.npy`` file or from text in rows and columns; nothing in the file is executed."""
    try:
        if path.suffix.lower() == ".npy":
            array = np.load(path, allow_pickle=False)
            if not isinstance(array, np.ndarray) or array.dtype.kind not in "iuf":
                raise fault(f"the file {path} does not hold an array of real numbers")
            return array
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, ValueError, EOFError, MemoryError) as error:
        raise fault(f"the file {path} cannot be read ({error}); it must be text in UTF-8 or a .npy file") from error
    rows: list[list[float]] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        words = line.split(";") if ";" in line else line.split(",") if "," in line else line.split()
        row = []
        for word in words:
            if not re.fullmatch(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*", word):
                raise fault(
                    f"line {number} of {path} has {shown(word.strip())} where a number is expected; write decimals "
                    "with a point, and # before a heading"
                )
            row.append(float(word))
        if rows and len(row) != len(rows[0]):
            raise fault(f"line {number} of {path} has {len(row)} numbers where the first has {len(rows[0])}")
        rows.append(row)
    return np.array(rows, dtype=np.float64).reshape(len(rows), -1 if rows else 0)
