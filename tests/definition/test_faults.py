"""Faults in people's words, all at once, each with its line and key path."""

from __future__ import annotations

import json
import pickle
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from halfreal.definition.faults import DefinitionError, Fault, key_path
from halfreal.definition.load import from_json

from .stand_in import GOOD, Definition, complaints


def test_a_good_definition_has_no_faults() -> None:
    assert complaints(GOOD) == []


def test_all_faults_come_at_once_in_the_order_of_the_file() -> None:
    text = """\
title = 3
scheme = "newmrk"
colour = "red"
[timing]
step = "0 ms"
delay = "-3 ms"
rate = "2.2 kg"
[virtual]
kind = "linear"
mas = "2.2 kg"
stiffness = [
  ["2 N/m", "1 N/m"],
  ["1 N/m", "2 kg"],
]
[[sensors]]
name = "a"
noise = 5
[[sensors]]
nome = "b"
"""
    assert complaints(text) == [
        "test.toml:1  title: 3 where text in quotes is expected",
        "test.toml:2  scheme: 'newmrk' is not allowed; did you mean 'newmark'? Allowed: 'newmark' or 'exact'",
        "test.toml:3  colour: 'colour' is not a key here; remove it. Known keys: title, timing, virtual, sensors, "
        "gains, times, scheme, window, ratio, quiet",
        "test.toml:5  timing.step: '0 ms' is 0 s; it must be greater than 0 s",
        "test.toml:6  timing.delay: '-3 ms' must be at least 0 s",
        "test.toml:7  timing.rate: '2.2 kg' is in kg where Hz is expected; give a quantity in Hz, such as '1.5 Hz'",
        "test.toml:8  virtual.mass: is missing; write mass = '1.5 kg'",
        "test.toml:10  virtual.mas: 'mas' is not a key here; did you mean 'mass'? Known keys: kind, mass, stiffness, "
        "damping, start",
        "test.toml:13  virtual.stiffness[2][2]: '2 kg' is in kg where N/m is expected; give a quantity in N/m, such as "
        "'1.5 N/m'",
        "test.toml:17  sensors[1].noise: 5 has no unit where N is expected; write '5 N' if that is meant",
        "test.toml:18  sensors[2].name: is missing; write name = 'text'",
        "test.toml:19  sensors[2].nome: 'nome' is not a key here; did you mean 'name'? Known keys: name, noise, part",
    ]


VIRTUAL = '[virtual]\nkind = "linear"\nmass = "2.2 kg"\nstiffness = "2.25 kN/m"\n'


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (VIRTUAL, "", "1  virtual: is missing; write a table [virtual] with kind = 'linear' or 'file'"),
        (VIRTUAL, "[virtual]\n", "4  virtual.kind: is missing; write kind = 'linear' or 'file'"),
        ('"linear"', '"liner"', "5  virtual.kind: 'liner' is not allowed; did you mean 'linear'? Allowed: "),
        ('"linear"', "3", "5  virtual.kind: 3 is not allowed; write 'linear' or 'file'"),
        ('kind = "linear"', 'kind = "file"', "4  virtual.file: is missing; write file = 'data.csv'"),
        ('[timing]\nstep = "1 ms"', "timing = 3", "2  timing: 3 where a table is expected"),
        ('[timing]\nstep = "1 ms"\n', "", "1  timing: is missing; write a table [timing] with step"),
        ('step = "1 ms"', "", "2  timing.step: is missing; write step = '1.5 s'"),
        ('title = "oscillator"\n', "\n", "1  title: is missing; write title = 'text'"),
        ('"2.2 kg"', '"0 kg"', "6  virtual.mass: '0 kg' is singular"),
        (
            '"2.2 kg"',
            '"2.2 kg"\nstart = { unit = "mm", values = [1,\n"x"] }',
            "8  virtual.start.values[2]: 'x' where a",
        ),
        (
            '"2.2 kg"',
            '"2.2 kg"\ndamping = { unit = "kg", values = [[1]] }',
            "7  virtual.damping.unit: 'kg' is in kg where",
        ),
        ('"2.25 kN/m"', "[[]]", "7  virtual.stiffness: [[]] is empty"),
        ("[timing]", "quiet = 3\n[timing]", "2  quiet: 3 where true or false is expected"),
        ("[timing]", "quiet = 1\n[timing]", "2  quiet: 1 where true or false is expected"),
        ("[timing]", "name = ''\n[timing]", "2  name: 'name' is not a key here; remove it. Known"),
        ("[timing]", "[[sensors]]\nname = 'a'\npart = {}\n[timing]", "4  sensors[1].part.kind: is missing"),
        ("[timing]", "sensors = 3\n[timing]", "2  sensors: 3 where a list in [ ] is expected"),
        ("[timing]", "sensors = [3]\n[timing]", "2  sensors[1]: 3 where a table is expected"),
        (
            "[timing]",
            "gains.a123456789bcd123456789 = 1\n[timing]",
            "2  gains.a123456789bcd123456789: 'a123456789bcd123456789' must have at most 20 characters",
        ),
        ("[timing]", 'gains."a b" = "x"\n[timing]', "2  gains.\"a b\": 'x' is not a quantity"),
        (
            "[timing]",
            'window = "al"\n[timing]',
            "2  window: 'al' is not a quantity; write a number and a unit, such as ",
        ),
        ("[timing]", 'window = "al"\n[timing]', "'1.5 s'; or: 'al' is not allowed; write 'all'"),
        ("[timing]", "title = 1\n[timing]", "2  cannot overwrite a value in 'title = 1'"),
    ],
)
def test_each_kind_of_fault_has_its_sentence(old: str, new: str, expected: str) -> None:
    assert GOOD.count(old) == 1
    printed = "\n".join(complaints(GOOD.replace(old, new)))
    assert expected in printed, printed


def test_the_tag_of_a_union_is_not_taken_for_the_key_of_the_same_name() -> None:
    text = GOOD.replace(VIRTUAL, '[virtual]\nkind = "file"\nfile = "no.csv"\ncolumn = 0\n')
    printed = complaints(text)
    assert printed[0].startswith("test.toml:6  virtual.file: 'no.csv': the file ")
    assert printed[1:] == ["test.toml:7  virtual.column: 0 must be at least 1"]


def test_a_part_may_lay_several_faults_at_its_own_keys() -> None:
    text = GOOD + 'damping = { unit = "N s/m", values = [[1, 0, 0], [0, 1, 0], [0, 0, 1]] }\n'
    text = text.replace('"2.25 kN/m"', '{ unit = "N/m", values = [[1, 0], [0, 1]] }')
    assert complaints(text) == [
        "test.toml:7  virtual.stiffness: has 2 rows where mass has 1; give as many",
        "test.toml:8  virtual.damping: has 3 rows where mass has 1; give as many",
    ]


def test_faults_without_a_file_have_only_their_path() -> None:
    with pytest.raises(DefinitionError) as caught:
        Definition.model_validate({"title": "a", "timing": {"step": -1}, "virtual": {"kind": "linear", "mass": 1}})
    assert [str(fault) for fault in caught.value.faults] == [
        "timing.step: -1 must be greater than 0 s",
        "virtual.stiffness: is missing; write stiffness = '1.5 N/m'",
    ]


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ((), ""),
        (("virtual", "mass"), "virtual.mass"),
        (("sensors", 1, "name"), "sensors[2].name"),
        (("a b", "k", 0, 2), '"a b".k[1][3]'),
    ],
)
def test_paths_are_written_as_keys(place: tuple[Any, ...], path: str) -> None:
    assert key_path(place) == path


def test_the_error_prints_one_fault_a_line_and_survives_a_process_border() -> None:
    error = DefinitionError([Fault("a.toml:3", "x", "is wrong"), Fault("", "y", "too"), Fault("a.toml", "", "gone")])
    assert str(error) == "a.toml:3  x: is wrong\ny: too\na.toml  gone"
    again = pickle.loads(pickle.dumps(error))
    assert again.faults == error.faults and str(again) == str(error)


BAD = {"title": "a", "timing": {"step": "-1 ms"}, "virtual": {"kind": "linear", "mass": 1.0, "stiffness": 1.0}}
MADE = {
    "validated": lambda: Definition.model_validate(BAD),
    "validated as JSON": lambda: Definition.model_validate_json(json.dumps(BAD)),
    "constructed": lambda: Definition(**BAD),
    "read from JSON": lambda: from_json(Definition, BAD, name=""),
    "changed": lambda: Definition.model_validate(BAD | {"timing": {"step": 1.0}}).model_copy(
        update={"timing": BAD["timing"]}
    ),
}


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_python_gets_the_messages_of_files_and_nothing_of_pydantic(made: Callable[[], Definition]) -> None:
    with pytest.raises(DefinitionError) as caught:
        made()
    assert str(caught.value) == "timing.step: '-1 ms' must be greater than 0 s"
    shown = "".join(traceback.format_exception(caught.value))
    assert "pydantic_core" not in shown and "validation error" not in shown


def test_a_text_that_is_not_json_is_reported() -> None:
    with pytest.raises(DefinitionError, match=r"^is not JSON \(EOF while parsing a value at line 1 column 9\)$"):
        Definition.model_validate_json('{"title":')
