"""The kinds of parts for people: what each is and cites, and its settings with units, bounds and defaults.

All of it stands in the kinds' own files: the text at the head of the file, the words under the class and under its
fields, and the types of the fields.  ``docs/kinds.md`` is ``page()``; ``halfreal kinds`` tells the same of all kinds
that are installed.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo

from ..definition.kinds import CONTRACTS, kind_of, kinds
from ..definition.write import plain, quantities_in
from ..settings import Number, OneAt, Settings
from .settings_text import SHARED

FAMILIES = {
    "virtual": ("Virtual substructures", "[virtual]"),
    "excitation": ("Excitations", "[excitation.virtual], [excitation.specimen]"),
    "coupling": ("Couplings", "[coupling]"),
    "rig": ("Rigs", "[rig]"),
    "link": ("Links", "[link]"),
    "criteria": ("Criteria", "[criteria]"),
}
"""Headings, and where definitions have them."""
HEAD = """# Kinds of parts

What can stand in a definition's sections, with every setting.  This page is made of the code
(`python -m halfreal.presentation.reference > docs/kinds.md`); `halfreal kinds` tells the same, and of the kinds that
installed packages add.
"""
WORDS: dict[Any, str] = {int: "whole number", float: "number", bool: "true or false", str: "text", Path: "file"}
BOUNDS = ((Ge, "ge", "at least"), (Gt, "gt", "above"), (Le, "le", "at most"), (Lt, "lt", "below"))


@dataclass(frozen=True)
class Setting:
    """One key of a part's table."""

    name: str
    form: str
    default: str
    meaning: str
    """Empty if nobody says what it means."""


def settings_of(part: type[Settings]) -> list[Setting]:
    """The settings of a part but its kind; the words under a field come before those that many parts share."""
    own = {name: f"{part.__name__}.{name}" for name in part.model_fields}
    told = {name: SHARED.get(key) or SHARED.get(name, "") for name, key in own.items()} | words_under_fields(part)
    return [
        Setting(name, _form(field.annotation, field.metadata), _default(field), told[name])
        for name, field in part.model_fields.items()
        if name != "kind" or not kind_of(part)
    ]


def is_documented(part: type[Settings], setting: Setting) -> bool:
    """Whether there are words on a setting: under its field, or by its name in ``…`` under the class or its file's."""
    texts = f"{part.__doc__ or ''} {_module_text(part)}"
    return bool(setting.meaning) or f"``{setting.name}``" in texts


def words_under_fields(part: type[Settings]) -> dict[str, str]:
    """The text that stands under each field of a class, or of those that it is made from."""
    told: dict[str, str] = {}
    for one in reversed(part.__mro__):
        if issubclass(one, Settings) and one is not Settings:
            body = ast.parse(textwrap.dedent(inspect.getsource(one))).body[0]
            assert isinstance(body, ast.ClassDef)
            for field, below in zip(body.body, body.body[1:], strict=False):
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                    match below:
                        case ast.Expr(value=ast.Constant(value=str(text))):
                            told[field.target.id] = " ".join(text.split())
    return told


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


# --- pages ------------------------------------------------------------------------------------------------------------


def page() -> str:
    """All of halfreal's own kinds, as Markdown."""
    lines, parts = [HEAD], dict[type[Settings], None]()
    for family in CONTRACTS:
        title, tables = FAMILIES[family]
        lines += [f"## {title}", "", f"`{tables}`", ""]
        for kind, part in kinds(family).items():
            if part.__module__.startswith("halfreal."):
                lines += _described(f"### {kind}", part, with_text=True)
                parts |= dict.fromkeys(parts_of(part))
    lines += ["## Parts of parts", "", "Tables that stand in those above.", ""]
    for part in sorted(parts, key=lambda one: (one.__name__, one.__module__)):
        lines += _described(f"### {_name(part)}", part)
    return "\n".join(lines).rstrip("\n") + "\n"


def listed(family: str) -> Iterator[str]:
    """The kinds of a family, a line for each."""
    for kind, part in kinds(family).items():
        package = part.__module__.partition(".")[0]
        origin = "" if package == "halfreal" else f" ({package})"
        yield f"{kind:<28}{_summary(part)}{origin}"


def kind_page(family: str, kind: str) -> str:
    """One kind with its parts, as Markdown."""
    part = kinds(family)[kind]
    lines = _described(f"# {kind}", part, with_text=True)
    for inner in parts_of(part):
        lines += _described(f"## {_name(inner)}", inner)
    return "\n".join(lines).rstrip("\n") + "\n"


def _described(heading: str, part: type[Settings], with_text: bool = False) -> list[str]:
    lines = [heading, "", *_own_text(part).split("\n"), ""]
    if with_text and _module_text(part):
        lines += ["```text", *_module_text(part).split("\n"), "```", ""]
    rows = settings_of(part)
    if not rows:
        return [*lines, "No settings.", ""]
    table = ["| setting | what it is | if left out | meaning |", "|---|---|---|---|"]
    table += [f"| `{row.name}` | {_cell(row.form)} | {_cell(row.default)} | {_cell(row.meaning)} |" for row in rows]
    return [*lines, *table, ""]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("``", "`")


def _own_text(part: type[Settings]) -> str:
    return inspect.cleandoc(part.__dict__.get("__doc__") or "").replace("``", "`")


def _summary(part: type[Settings]) -> str:
    return _own_text(part).split("\n\n")[0].replace("\n", " ")


def _module_text(part: type[Settings]) -> str:
    return inspect.cleandoc(sys.modules[part.__module__].__doc__ or "")


def _name(part: type[Settings]) -> str:
    kind = kind_of(part)
    return f"{part.__name__}, kind '{kind}'" if kind else part.__name__


# --- types for people -------------------------------------------------------------------------------------------------


def is_open(part: type[Settings]) -> bool:
    """Whether a part is a contract that others keep, of no kind itself."""
    return "kind" in part.model_fields and part.model_fields["kind"].annotation is str


def _models(annotation: Any) -> Iterator[type[Settings]]:
    if isinstance(annotation, type) and issubclass(annotation, Settings) and not is_open(annotation):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)


def _choices(metadata: Iterable[Any]) -> tuple[type[Settings], ...]:
    """The parts of which one stands in a field that has a list of them."""
    return tuple(part for one in metadata if isinstance(one, OneAt) for part in one.parts)


def _form(annotation: Any, metadata: Iterable[Any] = ()) -> str:
    """What a value must be."""
    metadata = list(metadata)
    if choices := _choices(metadata):
        return "table of kind " + ", ".join(f'"{kind_of(one)}"' for one in choices)
    for quantity in metadata:
        if isinstance(quantity, Number):
            return str(quantity.schema["description"])
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
    """What stands for a setting that is left out."""
    if field.is_required():
        return "must be given"
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


if __name__ == "__main__":
    print(page(), end="")
