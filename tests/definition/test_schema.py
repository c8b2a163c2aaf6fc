"""The JSON Schema of definitions, held against an independent validator."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings

from halfreal.definition.load import to_toml
from halfreal.definition.schema import json_schema

from .stand_in import GOOD, UNHURRIED, Definition, complaints, definitions

SCHEMA = json_schema(Definition)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_the_schema_is_valid_and_can_be_printed() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == jsonschema.Draft202012Validator.META_SCHEMA["$id"]
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA
    assert "null" not in json.dumps(SCHEMA), "TOML has no null"


@settings(UNHURRIED, max_examples=50)
@given(definitions())
def test_every_written_definition_is_valid(definition: Definition) -> None:
    VALIDATOR.validate(tomllib.loads(to_toml(definition)))


CASES = [
    ("", "", True),
    ('"2.2 kg"', '[["2.2 kg"]]', True),
    ('"2.2 kg"', '{ unit = "kg", values = [[2]] }', True),
    ('"1 ms"', '"1e-3 s"', True),
    ("[timing]", 'ratio = "5 %"\n[timing]', True),
    ("[timing]", "ratio = 0.05\n[timing]", True),
    ("[timing]", 'window = "2 s"\n[timing]', True),
    ('"2.2 kg"', "2.2", False),
    ('"2.2 kg"', '"kg"', False),
    ('"2.2 kg"', "[[2.2]]", False),
    ('"2.2 kg"', '["2.2 kg"]', False),
    ('"2.2 kg"', "[[]]", False),
    ('"2.2 kg"', '{ unit = "kg" }', False),
    ('"2.2 kg"', "{ values = [[1]] }", False),
    ('"2.2 kg"', '{ unit = "kg", values = [[1]], file = "x" }', False),
    ('"1 ms"', '"1"', False),
    ('"1 ms"', "0.001", False),
    ("step", "stp", False),
    ('"linear"', '"liner"', False),
    ('kind = "linear"', "", False),
    ("[timing]", "quiet = 1\n[timing]", False),
    ("[timing]", "colour = 1\n[timing]", False),
    ("[timing]", 'scheme = "x"\n[timing]', False),
]


@pytest.mark.parametrize(("old", "new", "valid"), CASES)
def test_schema_and_reader_agree_on_forms(old: str, new: str, valid: bool) -> None:
    text = GOOD.replace(old, new, 1)
    assert VALIDATOR.is_valid(tomllib.loads(text)) is valid
    assert (complaints(text) == []) is valid


def test_quantities_tell_their_unit_and_defaults_carry_it() -> None:
    timing: dict[str, Any] = SCHEMA["$defs"]["Timing"]["properties"]
    assert timing["step"]["description"].endswith("Quantity in s, above 0 s.")
    assert timing["rate"]["default"] == "1.5 Hz"
    assert SCHEMA["properties"]["times"]["default"] == ["100 ms", "250 ms"]
    assert SCHEMA["$defs"]["Linear"]["properties"]["start"]["default"] == "0 m"


def test_every_default_is_valid_where_it_stands() -> None:
    def check(node: Any) -> int:
        if isinstance(node, list):
            return sum(map(check, node))
        if not isinstance(node, dict):
            return 0
        if "default" in node and node is not SCHEMA["properties"]:
            jsonschema.Draft202012Validator({**node, "$defs": SCHEMA["$defs"]}).validate(node["default"])
        return ("default" in node) + sum(map(check, node.values()))

    assert check(SCHEMA) == 12
