import numpy as np
import pytest

import halfreal
from examples.wallace2005 import GALLERY, definition
from halfreal.couplings import Direct
from halfreal.definition.paths import PlaceError, numbers, value_at, with_values


def test_every_number_can_be_read_and_put_back():
    for path in sorted(GALLERY.parent.glob("*/*.toml")):
        test = halfreal.load(path)
        assert with_values(test, numbers(test)) == test
        assert test.model_copy(update={"title": "other"}).model_copy(update={"title": test.title}) == test


def test_values_are_replaced_and_the_rest_is_kept():
    test = halfreal.load(GALLERY / "saturating.toml")
    changed = with_values(test, {"virtual.mass": 3.0, "coupling.order": 2, "rig.specimen.elements[1].law.limit": 0.002})
    assert value_at(changed, "virtual.mass") == 3.0
    assert changed.coupling.order == 2
    assert changed.rig.specimen.elements[0].law.limit == 0.002
    assert changed.excitation == test.excitation


def test_keys_with_dots_stand_in_quotes_as_those_of_many_fmus_parameters():
    place = 'limits.channels."measured.force".trip'
    test = with_values(definition(), {"limits.channels": {"measured.force": {"trip": 20.0}}})
    assert numbers(test)[place] == 20.0 and with_values(test, numbers(test)) == test
    test = with_values(test, {"uncertainty": {place: {"relative": 0.1}}, place: 30.0})
    assert value_at(test, place) == 30.0 and list(test.uncertainty) == [place]


def test_unknown_places_are_told_with_the_nearest():
    with pytest.raises(PlaceError, match=r"did you mean 'rig\.actuator\.delay'"):
        value_at(definition(), "rig.actuator.dely")


def test_replaced_values_are_validated():
    with pytest.raises(halfreal.DefinitionError, match=r"rig\.actuator\.delay"):
        with_values(definition(), {"rig.actuator.delay": -1.0})


def test_values_are_given_with_units_as_in_a_file():
    test = halfreal.load(GALLERY / "forward_prediction.toml")
    changed = test.with_values(
        {"rig.actuator.delay": "3 ms", "rig.specimen.stiffness": "2 kN/m", "coupling.order": 2.0}
    )
    assert changed.rig.actuator.delay == 0.003
    assert changed.rig.specimen.stiffness.tolist() == [[2000.0]]
    assert changed.coupling.order == 2
    assert test.rig.actuator.delay == 0.0094


@pytest.mark.parametrize(
    ("place", "value", "told"),
    [
        ("rig.actuator.delay", "3 kg", r"with the values given: rig\.actuator\.delay: .*kg"),
        ("rig.actuator.delay", "-1 ms", r"rig\.actuator\.delay: '-1 ms' .*at least 0 s"),
        ("rig.actuator.delay", float("nan"), r"rig\.actuator\.delay: nan is not finite"),
        ("rig.actuator.dely", "3 ms", r"rig\.actuator\.dely: 'dely' is not a key here; did you mean 'delay'\?"),
        ("coupling.order", 2.5, r"coupling\.order: 2\.5 where a whole number"),
        ("coupling", {"kind": "forward predicton"}, r"coupling\.kind: .*did you mean 'forward prediction'"),
        ("rig.specimen.elements[1].law.limit", "2 kg", r"rig\.specimen\.elements\[1\]\.law\.limit: .*kg"),
        ("virtual.mass", [[1.0, 0.0], [0.0, 1.0]], r"virtual\.stiffness: .*the mass matrix is 2 × 2"),
    ],
)
def test_nonsense_is_told_as_from_a_file(place, value, told):
    with pytest.raises(halfreal.DefinitionError, match=told):
        halfreal.load(GALLERY / "saturating.toml").with_values({place: value})


def test_parts_arrays_and_entries_of_tables_can_be_replaced():
    test = definition()
    changed = test.with_values(
        {
            "coupling": Direct(),
            "excitation.virtual": {"kind": "sine", "displacement": "2 mm", "frequency": "3 Hz"},
            "virtual.initial_displacement": np.array([0.001]),
            'uncertainty."rig.actuator.delay"': {"low": "8 ms", "high": "11 ms"},
            "limits.gap.trip": "4 mm",
        }
    )
    assert changed.coupling == Direct()
    assert changed.excitation.virtual.frequency == 3.0
    assert changed.virtual.initial_displacement.tolist() == [0.001]
    assert changed.limits.gap.trip == 0.004
    again = changed.with_values(
        {'uncertainty."rig.actuator.delay".low': "9 ms", "virtual.initial_displacement[1]": "2 mm"}
    )
    assert again.uncertainty["rig.actuator.delay"].low == "9 ms"
    assert again.virtual.initial_displacement.tolist() == [0.002]


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("rig.actuatr.delay", "did you mean 'actuator'"),
        ("rig.specimen.elements[3].law", r"rig\.specimen\.elements is a list of 0"),
        ("link.lease", "link is not given; set it as a whole"),
        ("title.text", "title is a single value"),
        ("", "not a key"),
    ],
)
def test_places_that_lead_nowhere_are_told(place, told):
    with pytest.raises(PlaceError, match=told):
        definition().with_values({place: 1.0})


def test_a_file_that_is_not_there_is_told():
    record = {"kind": "record", "acceleration": "1 g_0", "file": "not there.csv", "time_step": "10 ms"}
    with pytest.raises(halfreal.DefinitionError, match=r"excitation\.virtual\.file: .* does not exist"):
        definition().with_values({"excitation.virtual": record})


@pytest.mark.parametrize("place", ["", "rig..actuator.delay", "rig.actuator.delay.", ".rig", "rig.actuator]delay"])
def test_a_place_is_keys_joined_by_dots(place):
    with pytest.raises(PlaceError, match="is not a key; write keys joined by dots"):
        with_values(definition(), {place: 1.0})
