"""Nodes and elements from CSV tables.

The first row names the columns, with their units: ``name, x (m), y (m), mass (kg), fixed``.  Cells that are empty are
left out; several names in a cell are separated by blanks.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

from pydantic import GetJsonSchemaHandler, ValidationInfo
from pydantic_core import CoreSchema

from ...settings import fault
from ...values import existing, stored

COORDINATES = ("x", "y", "z")
WHOLE = {"points"}
"""Columns of whole numbers."""
LISTS = {"nodes", "hinges", "hinges_y", "hinges_z", "orientation", "fixed", "slaves"}


class OrFile:
    """Says in the JSON Schema that a table may be the name of a file."""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [dict(handler(core)), {"type": "string", "description": "CSV file"}]}


def table(value: Any, what: str, info: ValidationInfo) -> Any:
    """Rows by name of the CSV file that ``value`` names, or the value itself."""
    if not isinstance(value, str | Path) or stored(info):
        return value
    path = existing(value, info)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = [row for row in csv.reader(file) if any(cell.strip() for cell in row)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise fault(f"'{value}' cannot be read as a CSV table of {what} ({error})") from error
    if not lines:
        raise fault(f"'{value}' is empty; give a first row with the names of the columns, and a row for each")
    columns = [_column(cell, str(value)) for cell in lines[0]]
    if "name" not in (column for column, _ in columns):
        raise fault(f"'{value}' has no column 'name'; its columns are {', '.join(c for c, _ in columns)}")
    found: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(lines[1:], start=2):
        if len(line) != len(columns):
            raise fault(f"'{value}', row {number}: {len(line)} cells where the first row names {len(columns)} columns")
        row = _row(columns, line)
        name = row.pop("name", "")
        if not name or name in found:
            raise fault(f"'{value}', row {number}: {f'name {name!r} is given twice' if name else 'no name'}")
        found[name] = row
    return found


def _column(cell: str, file: str) -> tuple[str, str]:
    """Name and unit of a column."""
    match = re.fullmatch(r"\s*([\w ]+?)\s*(?:[(\[](.*?)[)\]])?\s*", cell)
    if match is None:
        raise fault(f"'{file}': '{cell}' is not a column name; write it as 'mass (kg)'")
    return match[1].replace(" ", "_"), match[2] or ""


def _row(columns: list[tuple[str, str]], cells: list[str]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    at = []
    for (column, unit), cell in zip(columns, cells, strict=True):
        text = cell.strip()
        if not text:
            continue
        quantity = f"{text} {unit}" if unit else text
        if column in COORDINATES:
            at.append(quantity)
        elif column in LISTS and text not in ("all", "pinned"):
            row[column] = text.split()
        elif column in WHOLE and text.isdigit():
            row[column] = int(text)
        else:
            row[column] = quantity
    return {**row, "at": at} if at else row
