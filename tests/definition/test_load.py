"""Reading definitions from files and run files, and writing them."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfreal.definition.faults import DefinitionError
from halfreal.definition.load import from_json, read, to_toml
from halfreal.kernels.user import UserFunctionError, check_function
from halfreal.settings import Number, Settings

from .stand_in import GOOD, UNHURRIED, Definition, Writer, complaints, definitions, load, toml_data


def test_a_file_is_read_with_its_text_and_from_its_folder(tmp_path: Path) -> None:
    (tmp_path / "mass.csv").write_text("1, 0\n0, 2\n")
    text = GOOD.replace('"2.2 kg"', '{ unit = "t", file = "mass.csv" }')
    text = text.replace('"2.25 kN/m"', '{ unit = "kN/m", values = [[2, -1], [-1, 1]] }')
    (tmp_path / "test.toml").write_text(text)
    definition, found = read(tmp_path / "test.toml", Definition)
    assert found == text
    assert definition.virtual.mass.tolist() == [[1000.0, 0.0], [0.0, 2000.0]]
    assert definition.virtual.stiffness.tolist() == [[2000.0, -1000.0], [-1000.0, 1000.0]]
    assert definition.timing.step == 0.001


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "test.toml").write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert read(tmp_path / "test.toml", Definition)[0] == load(GOOD)


def failure(path: Path) -> str:
    with pytest.raises(DefinitionError) as caught:
        read(path, Definition)
    return str(caught.value)


def test_a_file_that_cannot_be_read_is_a_fault(tmp_path: Path) -> None:
    assert failure(tmp_path / "no.toml") == (
        f"{tmp_path / 'no.toml'}  the file does not exist; check its name and the folder you are in"
    )
    assert failure(tmp_path) == f"{tmp_path}  is a folder; name the TOML file in it"
    (tmp_path / "latin.toml").write_bytes(b'title = "a"\n# Pr\xfcfling\n')
    assert (
        failure(tmp_path / "latin.toml") == f"{tmp_path / 'latin.toml'}:2  is not text in UTF-8; save the file as UTF-8"
    )
    assert "cannot be read" in failure(tmp_path / "a\0b")


@pytest.mark.timeout(30)
def test_a_device_without_an_end_is_no_definition_nor_a_users_file(tmp_path: Path) -> None:
    assert failure(Path("/dev/zero")) == "/dev/zero  cannot be read (it has more than 20 MB, which no definition has)"
    (tmp_path / "law.py").symlink_to("/dev/zero")
    with pytest.raises(UserFunctionError, match=r"law\.py is not an ordinary file; name a Python file"):
        check_function(tmp_path / "law.py", "law")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1\nmass = 2.2 kg\n", r"test.toml:2  expected newline .* in 'mass = 2.2 kg'; write a quantity as text"),
        ("a = 1\n\n[timing\n", r"test.toml:3  .* in '\[timing'"),
        ('a = "x', r"test.toml:1  "),
        ("a = 1\na = 2\n", r"test.toml:2  cannot overwrite a value"),
        ("a = " + "1" * 5000, r"test.toml  cannot be read as TOML"),
        ("a = " + "[" * 100_000, r"test.toml  cannot be read as TOML"),
    ],
)
def test_a_fault_of_syntax_is_told_with_its_line(text: str, expected: str) -> None:
    (found,) = complaints(text)
    assert re.match(expected, found), found


# --- run files --------------------------------------------------------------------------------------------------------


@settings(UNHURRIED, max_examples=50)
@given(definitions())
def test_what_a_run_file_keeps_reads_back_as_an_equal_definition(definition: Definition) -> None:
    data = definition.model_dump(mode="json")
    assert from_json(Definition, data) == definition
    assert from_json(Definition, json.dumps(data)) == definition


def test_a_stored_definition_that_does_not_fit_is_told() -> None:
    with pytest.raises(DefinitionError, match="stored definition  title: is missing"):
        from_json(Definition, "{}")
    with pytest.raises(DefinitionError, match="stored definition  is not JSON"):
        from_json(Definition, "{")
    with pytest.raises(DefinitionError, match="stored definition  3 where a table is expected"):
        from_json(Definition, "3")


# --- writing ----------------------------------------------------------------------------------------------------------


@settings(UNHURRIED, max_examples=100)
@given(definitions())
def test_written_definitions_read_back_as_equal_ones(definition: Definition) -> None:
    assert load(to_toml(definition)) == definition


def test_written_definitions_are_readable() -> None:
    definition = Definition(
        title='a "quoted" title',
        timing={"step": 0.001, "delay": 0.0094},
        virtual={"kind": "linear", "mass": [[2.2, 0], [0, 1]], "stiffness": np.zeros((2, 2)), "start": [0.01]},
        sensors=[{"name": "load cell", "noise": 3.0}],
        gains={"a b": 2.0},
    )
    assert to_toml(definition) == (
        """\
title = "a \\"quoted\\" title"
times = ["100 ms", "250 ms"]
scheme = "newmark"
window = "all"
ratio = 0.05
quiet = false

[timing]
step = "1 ms"
delay = "9.4 ms"
rate = "1.5 Hz"

[virtual]
kind = "linear"
mass = { unit = "kg", values = [[2.2, 0.0], [0.0, 1.0]] }
stiffness = { unit = "N/m", values = [[0.0, 0.0], [0.0, 0.0]] }
start = "10 mm"

[[sensors]]
name = "load cell"
noise = "3 N"

[gains]
"a b" = 2.0
"""
    )


def test_what_toml_cannot_say_is_refused() -> None:
    class Odd(Settings):
        limit: Annotated[float, Number("N")] | None

    with pytest.raises(ValueError, match="limit is None"):
        to_toml(Odd(limit=None))


def test_large_matrices_get_a_line_for_each_row() -> None:
    definition = Definition(
        title="a", timing={"step": 0.001}, virtual={"kind": "linear", "mass": np.eye(9), "stiffness": np.eye(9) / 3}
    )
    text = to_toml(definition)
    assert max(map(len, text.split("\n"))) < 120
    assert load(text) == definition


def test_a_file_is_written_with_its_whole_path(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1\n")
    definition = load(GOOD[: GOOD.index("[virtual]")] + '[virtual]\nkind = "file"\nfile = "a.csv"\n', tmp_path)
    assert load(to_toml(definition), "elsewhere") == definition


# --- anything at all --------------------------------------------------------------------------------------------------

JARGON = re.compile(r"Input should|pydantic|https?:|union_|function-|_type\b|_parsing|validation error|Value error")
NASTY: list[Any] = [
    *(
        "",
        "1 kg",
        "1 N",
        "-1 s",
        "1e999 N",
        "9**9**9 m",
        "nan N",
        "linear",
        "file",
        "all",
        "exact",
        "no.csv",
        "\x00",
        "é",
    ),
    *(0, 1, -1, 10**400, 0.5, -1e300, 1e308, True, False),
    *([], [[]], [[1, 2], [3]], [["1 kg", "2 kg"], ["2 kg", "1 kg"]], {}, {"kind": "linear"}, {"kind": "file"}),
    *({"kind": []}, {"kind": {}}, {"unit": "kg", "values": [[1]]}, {"unit": 3}, {"unit": "N/m", "file": "no.csv"}),
    *(
        {"unit": "kg", "values": [[0]]},
        {"unit": "kg", "values": "x"},
        {"unit": "kg", "file": ["x"]},
        {"unit": "x" * 200},
    ),
]
KEYS = [
    *("title", "timing", "virtual", "sensors", "gains", "times", "scheme", "window", "ratio", "quiet", "kind", "mass"),
    *("stiffness", "damping", "start", "file", "column", "step", "delay", "rate", "name", "noise", "part", "mas", ""),
]


def check_faults(text: str) -> None:
    """Reading the text gives a definition or faults, and the faults are for people."""
    try:
        load(text)
    except DefinitionError as error:
        assert error.faults
        for fault in error.faults:
            jargon = JARGON.search(str(fault))
            assert fault.message and (jargon is None or jargon.group() in text), str(fault)
            place, _, line = fault.place.partition(":")
            assert place == "test.toml" and (not line or 1 <= int(line) <= text.count("\n") + 1)


@settings(UNHURRIED, max_examples=300)
@given(st.data())
def test_values_of_any_kind_at_known_keys_give_faults_and_nothing_else(data: st.DataObject) -> None:
    leaf = st.sampled_from(NASTY)
    keys = st.sampled_from(KEYS)
    tree = st.recursive(leaf, lambda inner: st.dictionaries(keys, inner, max_size=5), max_leaves=20)
    document = tomllib.loads(GOOD)
    place = data.draw(st.sampled_from(["", "timing", "virtual"]))
    (document[place] if place else document).update(data.draw(st.dictionaries(keys, tree, max_size=4)))
    check_faults(Writer(data.draw).document(document))


@settings(UNHURRIED, max_examples=100)
@given(st.data(), toml_data())
def test_any_toml_gives_faults_and_nothing_else(data: st.DataObject, document: dict[str, Any]) -> None:
    check_faults(Writer(data.draw).document(document))


@settings(UNHURRIED, max_examples=300)
@given(st.text(max_size=40) | st.text("[]{}\"'=.,#\n\\ ab1", max_size=40))
def test_any_text_gives_faults_and_nothing_else(text: str) -> None:
    check_faults(text)


@settings(UNHURRIED, max_examples=300)
@given(st.integers(0, len(GOOD)), st.integers(0, 12), st.text("[]{}\"'=.,#\n\\ eN19-", max_size=6))
def test_a_damaged_definition_gives_faults_and_nothing_else(start: int, length: int, instead: str) -> None:
    check_faults(GOOD[:start] + instead + GOOD[start + length :])


def test_of_very_many_faults_the_first_are_shown() -> None:
    with pytest.raises(DefinitionError) as raised:
        load("".join(f"[a{i}]\n" for i in range(1000)))
    lines = str(raised.value).splitlines()
    assert len(raised.value.faults) > 1000 and len(lines) == 51
    assert lines[-1] == f"and {len(raised.value.faults) - 50} more; correct these first"
