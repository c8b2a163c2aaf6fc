"""Definitions changed in the text that a person wrote: what is not changed stays to the letter."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfreal.couplings.direct import Direct
from halfreal.couplings.forward_prediction import ForwardPrediction
from halfreal.definition.definition import Definition, load, read_definition
from halfreal.definition.edit import edited
from halfreal.definition.load import from_toml
from halfreal.definition.locate import lines_of, spans_of
from halfreal.definition.paths import keys_of, numbers, with_values
from halfreal.errors import HalfrealError

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
    if tuple(keys_of(place)) in spans_of(TEXT).values or place.startswith(("virtual.mass", "virtual.stiffness"))
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


def test_what_cannot_be_changed_in_place_is_written_anew_and_told():
    """An element more: where it would stand is not known."""
    one = BEFORE.rig.specimen.elements[0]
    specimen = BEFORE.rig.specimen.unchecked_copy({"elements": (one, one)})
    after = BEFORE.unchecked_copy({"rig": BEFORE.rig.unchecked_copy({"specimen": specimen})})
    found, kept = edited(TEXT, BEFORE, after, HERE, HERE)
    assert not kept
    assert from_toml(found, Definition, folder=HERE) == after
