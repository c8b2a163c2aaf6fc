"""Definitions changed in the text that a person wrote: what is not changed stays to the letter."""

import copy
import tomllib
from pathlib import Path

import pytest
import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st

from halfreal.couplings.direct import Direct
from halfreal.couplings.forward_prediction import ForwardPrediction
from halfreal.definition.definition import Definition, load, read_definition
from halfreal.definition.edit import change, edited
from halfreal.definition.load import from_toml
from halfreal.definition.locate import lines_of
from halfreal.definition.paths import keys_of, numbers, with_values
from halfreal.errors import HalfrealError

from .stand_in import UNHURRIED, Writer, toml_data

HERE = Path(__file__).parent
TEXT = """\
# A test of ours.
title = "Two storeys"   # as in the report

[timing]
step = "1 ms"           # of the controller
duration = "0.5 min"

# --- what is computed ---
[virtual]
mass = { unit = "t", values = [[2, 0],
                               [0, 1.5]] }   # with the roof
stiffness = [["3 kN/mm", "-1 kN/mm"], ["-1 kN/mm", "1000 N/mm"]]
modal_damping = 0.02
interface = [1]
responses.roof = { dof = 2, quantity = "displacement" }

[excitation]
virtual = { kind = 'sine', frequency = "2 Hz", acceleration = "0.1 g_0" }

[rig.actuator]
delay = "12 ms"  # measured in March

[coupling]
kind = "forward prediction"
prediction = "12 ms"

# The specimen is of steel.
[[rig.specimen.elements]]
between = [1]
law = { kind = "bouc-wen", stiffness = "1 kN/mm", yield_displacement = "5 mm", alpha = 0.1, n = 2 }

[rig.sensors]
force = { noise = "50 N" }

[limits]
command = { warn = "60 mm", trip = "80 mm" }
[uncertainty]
"rig.actuator.delay" = { low = "11 ms", high = "13 ms" }
"""
BEFORE = from_toml(TEXT, Definition, folder=HERE)
PLACES = sorted(
    place
    for place in numbers(BEFORE)
    if tuple(keys_of(place)) in lines_of(TEXT) or place.startswith(("virtual.mass", "virtual.stiffness"))
)


def changed(text, after, before=BEFORE, target=HERE):
    found, kept = edited(text, before, after, HERE, target)
    assert kept
    return found


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(PLACES), st.floats(0.6, 1.6), min_size=1, max_size=4), st.booleans())
def test_numbers_that_change_keep_their_unit_and_all_else_stays_to_the_letter(factors, windows):
    """Any numbers of the text, each times a factor."""
    text = TEXT.replace("\n", "\r\n") if windows else TEXT
    values = {place: numbers(BEFORE)[place] * factor for place, factor in factors.items()}
    try:
        after = with_values(BEFORE, values)
    except HalfrealError:
        return  # no definition: half an axis, a mass that is not symmetric
    found = changed(text, after)
    told = from_toml(found, Definition, folder=HERE).model_dump(mode="json")
    assert told == _close(after.model_dump(mode="json"))
    old, new, lines = text.splitlines(keepends=True), found.splitlines(keepends=True), lines_of(text)
    assert len(old) == len(new)
    touched = {line for place in values for line in _lines(lines, tuple(keys_of(place)))}
    for number, (one, other) in enumerate(zip(old, new, strict=True), start=1):
        if number not in touched:
            assert one == other
        assert one.partition("#")[2] == other.partition("#")[2]
        assert _letters(one) == _letters(other)  # units and keys


def _lines(lines, place):
    inside = ("values",) if place[:2] == ("virtual", "mass") else ()
    at = (*place[:2], *inside, *place[2:])
    return {lines[at[:i]] for i in range(1, len(at) + 1) if at[:i] in lines}


def _letters(line):
    return [one for one in line if one.isalpha() and one != "e"]


def _close(value):
    if isinstance(value, dict):
        return {key: _close(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_close(item) for item in value]
    return pytest.approx(value, rel=1e-13) if isinstance(value, float) else value


def test_another_coupling_stands_where_the_old_one_stood():
    after = BEFORE.unchecked_copy({"coupling": Direct(), "title": "Tuned"})
    found = changed(TEXT, after)
    expected = TEXT.replace('"Two storeys"', '"Tuned"').replace(
        'kind = "forward prediction"\nprediction = "12 ms"\n', 'kind = "none"\n'
    )
    assert found == expected
    back = changed(found, BEFORE, before=after)
    assert back == TEXT
    longer = ForwardPrediction(kind="forward prediction", prediction=0.011, order=2, points=9)
    found = changed(TEXT, BEFORE.unchecked_copy({"coupling": longer}))
    assert 'prediction = "11 ms"\norder = 2\npoints = 9\n\n# The specimen' in found
    assert set(TEXT.splitlines()) - set(found.splitlines()) == {'prediction = "12 ms"'}


def test_a_section_that_is_new_stands_at_the_end():
    text = TEXT.replace('[coupling]\nkind = "forward prediction"\nprediction = "12 ms"\n', "")
    before = from_toml(text, Definition, folder=HERE)
    found = changed(text, BEFORE, before=before)
    assert found == text + '\n[coupling]\nkind = "forward prediction"\nprediction = "12 ms"\n'


def test_files_are_named_from_the_folder_that_is_written_to(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "mass.csv").write_text("2, 0\n0, 1.5\n")
    (tmp_path / "a" / "quake.txt").write_text("0\n1\n0\n")
    (tmp_path / "a" / "Two storeys").write_text("a file with the name of the title")
    text = TEXT.replace("values = [[2, 0],\n                               [0, 1.5]]", 'file = "mass.csv"')
    text = text.replace(
        "{ kind = 'sine', frequency = \"2 Hz\", acceleration",
        '{ kind = "record", file = "quake.txt", time_step = "5 ms", acceleration',
    )
    (tmp_path / "a" / "test.toml").write_text(text)
    before, text = read_definition(tmp_path / "a" / "test.toml")
    after = with_values(before, {"timing.duration": 12.0})
    same, kept = edited(text, before, after, tmp_path / "a", tmp_path / "a")
    assert kept and same == text.replace("0.5 min", "0.2 min")
    found, kept = edited(text, before, after, tmp_path / "a", tmp_path / "b")
    assert kept and found == same.replace('"mass.csv"', '"../a/mass.csv"').replace('"quake.txt"', '"../a/quake.txt"')
    (tmp_path / "b" / "test.toml").write_text(found)
    assert load(tmp_path / "b" / "test.toml") == load(tmp_path / "a" / "test.toml").unchecked_copy(
        {"timing": after.timing}
    )


def test_a_section_that_goes_leaves_what_stands_before_the_next_one():
    text = TEXT.partition("[limits]")[0] + (
        '[uncertainty]\n# of the rig\n"rig.actuator.delay" = { low = "11 ms", high = "13 ms" }\n'
        '\n# as agreed with the owner\n[limits]\ncommand = { warn = "60 mm", trip = "80 mm" }\n'
    )
    before = from_toml(text, Definition, folder=HERE)
    found = changed(text, before.unchecked_copy({"uncertainty": {}}), before=before)
    gone = text[text.index("[uncertainty]") : text.index("\n# as agreed")]
    assert found == text.replace(gone, "")


@pytest.mark.parametrize(
    "written",
    ['"3000 N/mm"', '[["3000 N/mm"]]', '{ unit = "N/mm", values = [[3000]] }'],
)
def test_a_lone_number_is_changed_where_it_stands(written):
    """However many brackets are around it."""
    text = TEXT.replace('interface = [1]\nresponses.roof = { dof = 2, quantity = "displacement" }\n', "")
    text = text[: text.index("mass = {")] + f'mass = "2 t"\nstiffness = {written} # k\n' + text[text.index("modal_d") :]
    before = from_toml(text, Definition, folder=HERE)
    found = changed(text, with_values(before, {"virtual.stiffness": 2.5e6}), before=before)
    assert found == text.replace(written, written.replace("3000", "2500"))


def test_a_list_with_other_entries_is_written_anew_and_only_that():
    one = BEFORE.rig.specimen.elements[0]
    specimen = BEFORE.rig.specimen.unchecked_copy({"elements": (one, one)})
    after = BEFORE.unchecked_copy({"rig": BEFORE.rig.unchecked_copy({"specimen": specimen})})
    found = changed(TEXT, after)
    assert from_toml(found, Definition, folder=HERE) == after
    kept = TEXT.replace(TEXT[TEXT.index("[[rig") : TEXT.index("[rig.sensors]")], "")
    assert not set(kept.splitlines()) - set(found.splitlines())


def test_a_text_that_would_not_be_what_is_meant_is_written_anew_and_told():
    """Here because it is not the text of the definition that is changed."""
    after = with_values(BEFORE, {"timing.step": 0.002})
    found, kept = edited(TEXT.replace("0.5 min", "0.6 min"), BEFORE, after, HERE, HERE)
    assert not kept
    assert from_toml(found, Definition, folder=HERE) == after


@settings(UNHURRIED, max_examples=200)
@given(st.data(), toml_data(), st.integers(100, 999) | st.floats(1e3, 1e9))
def test_a_number_in_any_text_is_changed_and_no_other_line(data, document, new):
    """Of any form that TOML has: dotted keys, inline tables, arrays over several lines, arrays of tables."""
    text = Writer(data.draw).document(document)
    found = [place for place, value in _leaves(document) if isinstance(value, int | float) and value is not bool(value)]
    if not found:
        return
    place = data.draw(st.sampled_from(found))
    after = copy.deepcopy(document)
    holder = after
    for step in place[:-1]:
        holder = holder[step]
    holder[place[-1]] = new
    parsed = tomlkit.parse(text)
    if parsed.as_string() != text:
        return  # one name in several spellings, for which tomlkit has one
    change(parsed, document, after, after)
    assert tomllib.loads(parsed.as_string()) == after
    old, changed_lines = text.splitlines(), parsed.as_string().splitlines()
    differ = [i for i, (one, other) in enumerate(zip(old, changed_lines, strict=True), start=1) if one != other]
    assert differ == [lines_of(text)[place]]


def _leaves(value, place=()):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    return [(place, value)] if items is None else [one for key, item in items for one in _leaves(item, (*place, key))]
