"""Lines of keys in TOML texts."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from halfreal.definition.locate import line_of, lines_of

from .stand_in import UNHURRIED, Writer, toml_data

TEXT = '''\
# a comment
title = "[virtual]"

[virtual]            # 4
kind = "linear"
"odd key".'b' = 1    # 6
text = """
mass = 3
"""
mass = [             # 10
  ["1 kg", # [
   "2 kg"],
  ["3 kg", "4 kg"],
]
point = { x = 1, y = { z = [
  1,
  2 ] } }

[[sensor]]           # 19
name = 'a'
[sensor.range]       # 21
low = -1
[[sensor]]           # 23
name = """a""\\""""
[a.b.c]              # 25
d.e = 1979-05-27 07:32:00
[a]                  # 27
f = """b"""""
g = QQQbQQQQ
h = [ "]", ']' ]
'''.replace("Q", "'")


def test_every_form_of_key_is_found_on_its_line() -> None:
    tomllib.loads(TEXT)
    expected = {
        ("title",): 2,
        ("virtual",): 4,
        ("virtual", "odd key"): 6,
        ("virtual", "odd key", "b"): 6,
        ("virtual", "text"): 7,
        ("virtual", "mass"): 10,
        ("virtual", "mass", 0, 1): 12,
        ("virtual", "mass", 1): 13,
        ("virtual", "point", "y", "z", 1): 17,
        ("sensor", 0, "name"): 20,
        ("sensor", 0, "range", "low"): 22,
        ("sensor", 1): 23,
        ("sensor", 1, "name"): 24,
        ("a", "b"): 25,
        ("a", "b", "c", "d", "e"): 26,
        ("a",): 27,
        ("a", "f"): 28,
        ("a", "g"): 29,
        ("a", "h", 1): 30,
    }
    lines = lines_of(TEXT)
    assert {place: lines[place] for place in expected} == expected


def test_a_missing_key_stands_where_its_table_stands() -> None:
    assert line_of(TEXT, ("virtual", "stiffness")) == 4
    assert line_of(TEXT, ("sensor", 1, "range", "low")) == 23
    assert line_of(TEXT, ("timing", "step")) == 1
    assert line_of("", ()) == 1


def places(value: Any, place: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = {place}
    for key, item in items:
        found |= places(item, (*place, key))
    return found


@settings(UNHURRIED, max_examples=200)
@given(st.data(), toml_data())
def test_lines_agree_with_those_noted_while_writing(data: st.DataObject, document: dict[str, Any]) -> None:
    writer = Writer(data.draw)
    text = writer.document(document)
    assert tomllib.loads(text) == document, "the writer of this test is wrong"
    assert lines_of(text) == writer.lines
    assert set(writer.lines) | {()} == places(document)


@settings(UNHURRIED, max_examples=50)
@given(st.data(), toml_data())
def test_windows_line_ends_do_not_matter(data: st.DataObject, document: dict[str, Any]) -> None:
    text = Writer(data.draw).document(document)
    assert lines_of(text.replace("\n", "\r\n")) == lines_of(text)
