"""JSON Schema (draft 2020-12) of the test definition, for editors that complete and check TOML.

In Taplo, and in VS Code with Even Better TOML, the first line ``#:schema halfreal.schema.json`` of a definition names
it.  The schema knows the keys, the kinds and the forms of values; dimensions of units and what two values must be to
each other are checked only when halfreal reads the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from ..settings import Settings, with_kind
from ..values import Number
from .described import settings_of
from .write import plain

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The schema of a TOML file that holds a ``model``."""
    return {"$schema": DIALECT, **model.model_json_schema(schema_generator=_Generator)}


class _Generator(GenerateJsonSchema):
    """pydantic's generator, for TOML without null and defaults with units."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False  # 'Step' says no more than 'step'

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        inner = self.generate_inner(schema["schema"])
        default = schema.get("default")
        return inner if default is None else {**inner, "default": plain(default, tuple(_quantities(schema["schema"])))}

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        found = super().model_schema(schema)
        part = schema["cls"]
        if issubclass(part, Settings) and "properties" in found:
            for setting in settings_of(part):
                shown = found["properties"].get(setting.name)
                if shown is not None and setting.meaning:
                    shown["description"] = " ".join(filter(None, [setting.meaning, _unit(shown)]))
        return found

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchemaValue:
        inner = super().tagged_union_schema(schema)
        # where one kind is the usual one, a table without 'kind' may fit several
        return {"anyOf": inner["oneOf"], "required": ["kind"]} if "oneOf" in inner else inner

    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> JsonSchemaValue:
        found = super().function_before_schema(schema)
        if getattr(schema["function"]["function"], "func", None) is with_kind:
            found.pop("required", None)
        return found


def _unit(shown: JsonSchemaValue) -> str:
    """What the schema of a quantity says of its unit, as a sentence."""
    said = str(shown.get("description", ""))
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def _quantities(node: Any) -> Iterator[Number]:
    """The quantities that a value's schema speaks of, leaving out those inside its parts."""
    if node["type"] == "function-plain":
        quantity = getattr(node["function"]["function"], "__self__", None)
        if isinstance(quantity, Number):
            yield quantity
    inner = [node[key] for key in ("schema", "items_schema", "values_schema") if key in node]
    for item in [] if node["type"] == "model" else inner:
        for part in item if isinstance(item, list) else [item]:
            yield from _quantities(part)
