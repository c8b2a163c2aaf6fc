"""Descriptions of the faults of a test definition, each with its place, and all of them at once.

pydantic finds the faults; here its error codes become sentences that say what was found, what is allowed and what to
do, and its paths lose the tags of unions so that they are the keys in the file.  Both need to know what was expected
at a place: that is read off the model's core schema, the same tree that pydantic walked.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from ..errors import DefinitionError, Fault
from ..settings import ByKind
from ..values import Number, Place, existing, shown
from .kinds import unusable

__all__ = ["DefinitionError", "Fault", "key_path", "translate"]


def key_path(place: Place) -> str:
    """Keys as TOML writes them, positions in brackets counted from 1: ``excitation[2].amplitude``."""
    path = ""
    for step in place:
        if isinstance(step, int):
            path += f"[{step + 1}]"
        else:
            key = step if re.fullmatch(r"[A-Za-z0-9_-]+", step) else f'"{step}"'
            path += f".{key}" if path else key
    return path


def under(place: str, key: str) -> str:
    """The place of a key in the table at a place; one that holds dots or brackets is in quotes."""
    key = f'"{key}"' if re.search(r"[.\[\]]", key) else key
    return f"{place}.{key}" if place else key


def translate(
    error: ValidationError, model: type[BaseModel], name: str = "", line: Callable[[Place], int] | None = None
) -> list[Fault]:
    """The faults that pydantic found in data for ``model``, in the order of the file.

    ``name`` is what the data is called; ``line`` gives the line of a place in it, if it has lines.
    """
    found: list[tuple[int, Place, str, str]] = []
    alternatives: dict[Place, list[str]] = {}
    for item in error.errors(include_url=False):
        place, expected, union = _follow(model, item["loc"])
        for at, message in _messages(item, place, expected, model):
            if union is None:
                found.append((line((*place, *at)) if line else 0, (*place, *at), message, item["type"]))
            else:
                alternatives.setdefault(union, []).append(message)
    for place, messages in alternatives.items():
        found.append((line(place) if line else 0, place, "; or: ".join(dict.fromkeys(messages)), ""))
    found.sort(key=lambda item: item[0])
    return [
        Fault(f"{name}:{at}" if line else name, key_path(place), message, code) for at, place, message, code in found
    ]


# --- what was expected at a place -------------------------------------------------------------------------------------

Schema = Mapping[str, Any]


def _follow(model: type[BaseModel], steps: Iterable[str | int]) -> tuple[Place, Schema, Place | None]:
    """Key path for pydantic's path ``steps``, what is expected there, and the place of an untagged union on the way."""
    model.model_rebuild()
    root: Schema = model.__pydantic_core_schema__
    definitions: dict[str, Schema] = {}
    node = _unwrap(root, definitions)
    place: Place = ()
    union: Place | None = None
    for step in steps:
        kind = node.get("type")
        inner: Any = {}
        if kind == "tagged-union":
            inner = node["choices"].get(step, {})
        elif kind == "union":
            union = place if union is None else union
            choices = [choice[0] if isinstance(choice, tuple) else choice for choice in node["choices"]]
            names = [getattr(choice.get("cls"), "__name__", choice["type"]) for choice in choices]
            inner = choices[names.index(step)] if step in names else {}
        elif step != "[key]":
            place = (*place, step)
            if kind == "model-fields":
                inner = node["fields"].get(step, {})
            elif kind == "tuple" and isinstance(step, int):
                inner = node["items_schema"][min(step, len(node["items_schema"]) - 1)]
            else:
                inner = node.get("values_schema" if kind == "dict" else "items_schema", {})
        node = _unwrap(inner, definitions)
    return place, node, union


def _unwrap(node: Schema, definitions: dict[str, Schema]) -> Schema:
    """Look through defaults, validators and references at what decides the form of a value."""
    while True:
        if node.get("type") == "function-plain":
            by_kind = getattr(node["function"]["function"], "__self__", None)
            if isinstance(by_kind, ByKind):
                return {"type": "tagged-union", "discriminator": "kind", "choices": by_kind.choices}
        for definition in node.get("definitions", ()):
            definitions[definition["ref"]] = definition
        if node.get("type") == "definition-ref":
            node = definitions.get(node["schema_ref"], {})
        elif node.get("type") == "lax-or-strict":
            node = node["lax_schema"]
        elif node.get("type") == "json-or-python":
            node = node["python_schema"]
        elif isinstance(node.get("schema"), Mapping):
            node = node["schema"]
        else:
            return node


def _example(place: Place, expected: Schema) -> str:
    """What to write for a key that is missing."""
    key, table = key_path(place[-1:]), f"a table [{key_path(place)}]"
    kind = expected.get("type")
    if kind == "model-fields":
        required = [name for name, field in expected["fields"].items() if field["schema"]["type"] != "default"]
        return table + (f" with {', '.join(required)}" if required else "")
    if kind == "tagged-union":
        return f"{table} with {_word(expected['discriminator'])} = {_one_of(expected['choices'])}"
    if kind == "function-plain":
        reader = expected["function"]["function"]
        quantity = getattr(reader, "__self__", None)
        if isinstance(quantity, Number):
            return f"{key} = 0.05" if quantity.unit == "1" else f"{key} = '1.5 {quantity.unit}'"
        return f"{key} = 'data.csv'" if reader is existing else f"{key} = …"
    if kind == "literal":
        return f"{key} = {_one_of(expected['expected'])}"
    values = {"int": "3", "float": "1.5", "bool": "true", "str": "'text'", "list": "[…]", "tuple": "[…]", "dict": "{…}"}
    return f"{key} = {values.get(str(kind), '…')}"


def _one_of(choices: Iterable[Any]) -> str:
    words = [shown(choice) for choice in choices]
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _word(discriminator: Any) -> str:
    return discriminator if isinstance(discriminator, str) else "kind"


# --- messages ---------------------------------------------------------------------------------------------------------

_EXPECTED = {
    "int": "a whole number (such as 3)",
    "float": "a number (such as 1.5)",
    "finite": "a finite number",
    "bool": "true or false",
    "string": "text in quotes",
    "path": "the name of a file in quotes",
    "list": "a list in [ ]",
    "tuple": "a list in [ ]",
    "set": "a list in [ ]",
    "dict": "a table",
    "mapping": "a table",
    "model": "a table",
    "none": "nothing; omit the key",
}
_LIMITS = {
    "greater_than": ("greater than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
    "multiple_of": ("a multiple of", "multiple_of"),
}


def _messages(item: Any, place: Place, expected: Schema, model: type[BaseModel]) -> list[tuple[Place, str]]:
    """Messages for one of pydantic's errors, each with the keys that lead on from ``place``."""
    code, context, value = item["type"], item.get("ctx", {}), item["input"]
    if code == "halfreal":
        return [(tuple(at), message) for at, message in context["items"]]
    if code == "union_tag_not_found":
        key = context["discriminator"].strip("'")
        return [((key,), f"is missing; write {key} = {_one_of(expected.get('choices', ()))}")]
    if code == "union_tag_invalid":
        key = context["discriminator"].strip("'")
        given = value.get(key) if isinstance(value, dict) else getattr(value, key, context["tag"])
        left_out = [str(one) for one in unusable() if one.kind == given]
        return [((key,), "; ".join([*left_out, _not_among(given, expected.get("choices", ()))]))]
    if code == "extra_forbidden":
        parent = _follow(model, item["loc"][:-1])[1]
        return [((), _unknown_key(str(place[-1]), list(parent.get("fields", ()))))]
    if code == "missing":
        if isinstance(place[-1], int):
            return [((), "is missing; the list is too short")]
        return [((), f"is missing; write {_example(place, expected)}")]
    if code == "literal_error" and expected.get("type") == "literal":
        return [((), _not_among(value, expected["expected"]))]
    return [((), _sentence(code, context, value, item["msg"]))]


def _sentence(code: str, context: Mapping[str, Any], value: Any, message: str) -> str:
    given = shown(value)
    if code in ("value_error", "assertion_error"):
        return str(context["error"])
    if code in ("literal_error", "enum"):
        return f"{given} is not allowed; write {context['expected']}"
    if code in _LIMITS:
        words, key = _LIMITS[code]
        return f"{given} must be {words} {context[key]}"
    if code in ("too_short", "too_long", "string_too_short", "string_too_long"):
        if isinstance(value, str | list | tuple) and not value:
            return f"{given} is empty; give it a value"
        bound = f"at least {context['min_length']}" if code.endswith("short") else f"at most {context['max_length']}"
        return f"{given} must have {bound} {'characters' if code.startswith('string') else 'entries'}"
    if code == "string_pattern_mismatch":
        return f"{given} does not have the form {context['pattern']}"
    if code == "json_invalid":
        return f"is not JSON ({context['error']})"
    expected = _EXPECTED.get(code.split("_")[0])
    if expected:
        return f"{given} where {expected} is expected"
    return f"{given} is not accepted: {message[:1].lower()}{message[1:]}"


def _not_among(given: Any, choices: Iterable[Any]) -> str:
    choices = list(choices)
    near = _nearest(given, [choice for choice in choices if isinstance(choice, str)])
    return f"{shown(given)} is not allowed; {f'{near} Allowed: ' if near else 'write '}{_one_of(choices)}"


def _unknown_key(key: str, known: list[str]) -> str:
    hint = _nearest(key, known) or "remove it."
    return f"{shown(key)} is not a key here; {hint} Known keys: {', '.join(known) or 'none'}"


def _nearest(given: Any, known: list[str]) -> str:
    near = difflib.get_close_matches(given[:100].lower(), known, n=1, cutoff=0.7) if isinstance(given, str) else []
    return f"did you mean '{near[0]}'?" if near else ""
