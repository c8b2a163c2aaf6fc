"""Every setting as text: what it is, its unit and bounds, its default and what it means.

All of it is in the parts' own files: the words under a class and under its fields, and the types of the fields.
The JSON Schema, ``halfreal kinds``, ``halfreal info KEY`` and the pages on kinds are made of it.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo

from ..couplings.per_axis import EachAxis
from ..settings import Number, OneAt, Settings
from .kinds import OneOf, kind_of, kinds
from .settings_text import SHARED
from .write import plain, quantities_in

WORDS: dict[Any, str] = {int: "whole number", float: "number", bool: "true or false", str: "text", Path: "file"}
BOUNDS = ((Ge, "ge", "at least"), (Gt, "gt", "above"), (Le, "le", "at most"), (Lt, "lt", "below"))


@dataclass(frozen=True)
class Setting:
    """One key of a part's table."""

    name: str
    form: str
    default: str
    meaning: str
    """Empty if no one says what it means."""


def settings_of(part: type[Settings]) -> list[Setting]:
    """The settings of a part but its kind; the words under a field come before those that many parts share."""
    own = {name: f"{part.__name__}.{name}" for name in part.model_fields}
    words = {name: SHARED.get(key) or SHARED.get(name, "") for name, key in own.items()} | words_under_fields(part)
    return [
        Setting(name, _form(field.annotation, field.metadata), _default(field), words[name])
        for name, field in part.model_fields.items()
        if name != "kind" or not kind_of(part)
    ]


def is_documented(part: type[Settings], setting: Setting) -> bool:
    """Whether there are words on a setting: under its field, or by its name in ``…`` under the class or its file's."""
    texts = f"{part.__doc__ or ''} {module_text(part)}"
    return bool(setting.meaning) or f"``{setting.name}``" in texts


@cache
def words_under_fields(part: type[Settings]) -> dict[str, str]:
    """The text that is under each field of a class, or of those that it is made from."""
    found: dict[str, str] = {}
    for one in reversed(part.__mro__):
        if issubclass(one, Settings) and one is not Settings:
            body = ast.parse(textwrap.dedent(inspect.getsource(one))).body[0]
            assert isinstance(body, ast.ClassDef)
            for field, below in zip(body.body, body.body[1:], strict=False):
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                    match below:
                        case ast.Expr(value=ast.Constant(value=str(text))):
                            found[field.target.id] = " ".join(text.split())
    return found


def parts_of(part: type[Settings]) -> list[type[Settings]]:
    """The parts that stand in a part's table, and in theirs, each once."""
    found: dict[type[Settings], None] = {}

    def look(one: type[Settings]) -> None:
        for field in one.model_fields.values():
            for inner in (*_models(field.annotation), *_choices(field.metadata)):
                if inner not in found and inner is not part:
                    found[inner] = None
                    look(inner)

    look(part)
    return list(found)


def module_text(part: type[Settings]) -> str:
    """The text at the head of a part's file."""
    return inspect.cleandoc(sys.modules[part.__module__].__doc__ or "")


def is_open(part: type[Settings]) -> bool:
    """Whether a part is a contract that others keep, of no kind itself."""
    return "kind" in part.model_fields and part.model_fields["kind"].annotation is str


def _models(annotation: Any) -> Iterator[type[Settings]]:
    is_part = isinstance(annotation, type) and issubclass(annotation, Settings) and annotation is not Settings
    if is_part and not is_open(annotation):
        yield annotation
    if isinstance(annotation, OneAt):
        yield from annotation.parts
    for inner in get_args(annotation):
        yield from _models(inner)


def _choices(metadata: Iterable[Any]) -> tuple[type[Settings], ...]:
    """The parts of which one is in a field that has a list of them."""
    return tuple(part for one in metadata if isinstance(one, OneAt) for part in one.parts)


def _form(annotation: Any, metadata: Iterable[Any] = ()) -> str:
    """What a value must be."""
    metadata = list(metadata)
    if choices := _choices(metadata):
        return "table of kind " + ", ".join(f'"{kind_of(one)}"' for one in choices)
    if any(isinstance(one, EachAxis) for one in metadata):
        return f"{_form(get_args(annotation)[0])}, or one such list for each axis"
    for quantity in metadata:
        if isinstance(quantity, Number):
            return str(quantity.schema.get("description", "number or text"))
        if isinstance(quantity, FieldInfo):
            metadata = [*metadata, *quantity.metadata]
    origin, inner = get_origin(annotation), [one for one in get_args(annotation) if one is not type(None)]
    models = list(dict.fromkeys(_models(annotation)))
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        return f"table `{annotation.__name__}`"
    if hasattr(annotation, "__metadata__"):
        return _form(inner[0], (*annotation.__metadata__, *metadata))
    if origin is Literal:
        return " or ".join(f'"{one}"' for one in inner)
    if origin is dict:
        return f"table of names, each: {_form(inner[1])}"
    if origin in (tuple, list):
        return f"list of {_form(inner[0])}"
    if len(models) > 1 and all(kind_of(one) for one in models):
        return "table of kind " + ", ".join(f'"{kind_of(one)}"' for one in models)
    if inner:
        return " or ".join(dict.fromkeys(_form(one, metadata) for one in inner))
    limits = [
        f", {words} {getattr(one, key):g}" for one in metadata for is_, key, words in BOUNDS if isinstance(one, is_)
    ]
    return WORDS.get(annotation, "anything") + "".join(limits)


def _default(field: FieldInfo) -> str:
    """What represents a setting that is left out."""
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is None:
        return ""
    if isinstance(value, Settings):
        kind = kind_of(type(value))
        return f'kind "{kind}"' if kind else "its own defaults"
    shown = plain(value, quantities_in((field.annotation, *field.metadata)))
    if isinstance(shown, dict) and "unit" in shown:
        return f"{shown['values']} {shown['unit']}"
    return f'"{shown}"' if isinstance(shown, str) else "none" if shown in ([], {}) else str(shown).lower()


def inner_parts(part: type[Settings], name: str) -> list[type[Settings]]:
    """The parts that are possible under a key of a part, of any kind."""
    field = part.model_fields[name]
    families = [one.family for one in _metadata(field) if isinstance(one, OneOf)]
    found = [*_models(field.annotation), *_choices(field.metadata)]
    return [*found, *(one for family in families for one in kinds(family).values())]


def _metadata(field: FieldInfo) -> list[Any]:
    """Of a field, and of a type that may also be left out."""
    inner = [one for option in get_args(field.annotation) for one in getattr(option, "__metadata__", ())]
    return [*field.metadata, *inner]
