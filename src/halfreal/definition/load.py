"""Reading test definitions: from a TOML file, and from the JSON kept in run files."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from .faults import DefinitionError, Fault, translate
from .locate import lines_of, nearest
from .write import to_toml

__all__ = ["from_json", "from_toml", "read", "to_toml"]

Model = TypeVar("Model", bound=BaseModel)

LARGEST = 20_000_000
"""Bytes of a definition."""


def read(path: Path | str, model: type[Model]) -> tuple[Model, str]:
    """Read a TOML file as a ``model``; return it with the file's text.

    File names in the definition are computed from the file's folder.  Raises ``DefinitionError`` with all faults.
    """
    path = Path(path)
    text = _text(path)
    return from_toml(text, model, folder=path.parent, name=path.name), text


def from_toml(text: str, model: type[Model], *, folder: Path, name: str = "definition") -> Model:
    """Read the text of a TOML file that is, or would be, in ``folder``; ``name`` is what faults call it."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DefinitionError([_syntax(str(error), text, name)]) from error
    except (ValueError, RecursionError) as error:  # a number with thousands of digits, lists in lists in lists
        raise DefinitionError([Fault(name, "", f"cannot be read as TOML ({error})")]) from error

    try:
        lines = lines_of(text)
    except RecursionError:
        lines = {}
    try:
        return _validated(model, data, {"folder": folder})
    except ValidationError as error:
        raise DefinitionError(translate(error, model, name, lambda place: nearest(lines, place))) from None
    except OSError as error:  # a file that was there when its name was checked
        raise DefinitionError([Fault(name, "", f"names a file that cannot be read ({error})")]) from error


def from_json(
    model: type[Model], data: Mapping[str, Any] | str | bytes, name: str = "stored definition", *, stored: bool = True
) -> Model:
    """A definition from what ``model_dump(mode="json")`` gave, or its JSON text: numbers are in SI units.

    Files that a ``stored`` one names need not exist any more.
    """
    try:
        values = json.loads(data) if isinstance(data, str | bytes) else data
    except (ValueError, RecursionError) as error:
        raise DefinitionError([Fault(name, "", f"is not JSON ({error})")]) from error
    try:
        return _validated(model, values, {"stored": stored})
    except ValidationError as error:
        raise DefinitionError(translate(error, model, name)) from None


def _validated(model: type[Model], data: Any, context: dict[str, Any]) -> Model:
    """As ``model_validate``, with pydantic's error, which has the places that lines are found by."""
    return model.__pydantic_validator__.validate_python(data, context=context)  # type: ignore[no-any-return]


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)  # a device may have no end
        if len(data) > LARGEST:
            raise ValueError(f"it has more than {LARGEST / 1e6:.0f} MB, which no definition has")
        return data.decode("utf-8-sig")
    except FileNotFoundError:
        message = "the file does not exist; check its name and the folder you are in"
    except IsADirectoryError:
        message = "is a folder; name the TOML file in it"
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise DefinitionError([Fault(f"{path}:{line}", "", "is not text in UTF-8; save the file as UTF-8")]) from error
    except (OSError, ValueError) as error:
        message = f"cannot be read ({error})"
    raise DefinitionError([Fault(str(path), "", message)])


def _syntax(message: str, text: str, name: str) -> Fault:
    match = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", message)
    if match is None:
        return Fault(name, "", message)
    rows = text.rstrip().split("\n")
    line = int(match[1]) if match[1] else len(rows)
    row = rows[line - 1].strip() if line <= len(rows) else ""
    reason = message[: match.start()]
    hint = ""
    if re.search(r"=\s*[+-]?[0-9.]+([eE][+-]?[0-9]+)?\s*[A-Za-zµ%]", row):
        hint = '; write a quantity as text in quotes, as in mass = "2.2 kg"'
    return Fault(f"{name}:{line}", "", f"{reason[:1].lower()}{reason[1:]} in '{row[:60]}'{hint}")
