"""``halfreal info KEY``: every key of every definition has a meaning."""

import re

import pytest

from halfreal.definition import described
from halfreal.definition.definition import Definition
from halfreal.definition.kinds import CONTRACTS, kinds
from halfreal.definition.schema import json_schema
from halfreal.errors import HalfrealError
from halfreal.presentation.key_help import MOST_FOUND, explain, search


def test_a_key_is_explained_with_its_unit_default_and_kinds():
    assert explain("rig.actuator.delay").splitlines() == [
        "rig.actuator.delay",
        "  Pure delay of the command.",
        "  value:   quantity in s, at least 0 s",
        '  default: "0 s"',
        "  kinds:   simulated / delay, simulated / first order, simulated / second order",
    ]


def test_a_key_that_means_different_things_gives_each():
    shown = explain("excitation.virtual.frequency")
    assert re.findall(r"kinds: +(.*)", shown) == ["sine, square", "chirp", "random"]


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("timing.stp", r"no 'stp' in \[timing\]; did you mean step"),
        ("timing.step.x", "'timing.step' is a value and has no keys"),
        ("mytst", "is neither a file nor a key: no 'mytst' at the top level of a definition"),
        ("", "name a key"),
    ],
)
def test_a_wrong_key_gives_the_nearest(key, words):
    with pytest.raises(HalfrealError, match=words):
        explain(key)


@pytest.mark.parametrize(
    ("word", "key"),
    [
        ("delay", "rig.actuator.delay"),
        ("seed", "timing.seed"),
        ("stroke", "limits.actuator.stroke"),
        ("record", "halfreal kinds excitation 'record'"),
        ("power damper", 'rig.specimen.elements.law, kind "power damper"'),
    ],
)
def test_a_word_lists_the_keys_and_kinds_that_have_it(word, key):
    head, *lines = explain(word).splitlines() if word != "record" else search(word)
    assert head == f"'{word}' is not a key; keys and kinds with it in name or description:"
    assert any(line.startswith(f"  {key} ") for line in lines)
    assert len(lines) <= MOST_FOUND + 1


def test_every_setting_has_a_meaning():
    parts = {Definition: None} | dict.fromkeys(described.parts_of(Definition))
    for family in CONTRACTS:
        for part in kinds(family).values():
            parts |= {part: None} | dict.fromkeys(described.parts_of(part))
    rows = [(f"{one.__name__}.{row.name}", row.meaning) for one in parts for row in described.settings_of(one)]
    # "k₃." alone is a symbol of an equation that the reader does not see
    silent = [key for key, meaning in rows if len(re.findall(r"\w{3,}", meaning)) < 2 and " of " not in meaning]
    assert not silent, "write a sentence in quotes under the field"
    assert not [one.__name__ for one in parts if not (one.__doc__ or "").strip()]


def test_editors_are_given_the_meaning_of_every_key():
    schema = json_schema(Definition)
    tables = {"": schema, **schema["$defs"]}
    silent = [
        f"{name}.{key}"
        for name, table in tables.items()
        for key, shown in table.get("properties", {}).items()
        if key not in ("kind", "unit", "values", "file") and not shown.get("description")
    ]
    assert not silent
    delay = schema["$defs"]["Delay"]["properties"]["delay"]["description"]
    assert delay == "Pure delay of the command. Quantity in s, at least 0 s."
