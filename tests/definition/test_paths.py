import pytest

import halfreal
from examples.wallace2005 import GALLERY, definition
from halfreal.definition.paths import PlaceError, numbers, value_at, with_values


def test_every_number_can_be_read_and_put_back():
    for path in sorted(GALLERY.glob("*.toml")):
        test = halfreal.load(path)
        assert with_values(test, numbers(test)) == test


def test_values_are_replaced_and_the_rest_is_kept():
    test = halfreal.load(GALLERY / "saturating.toml")
    changed = with_values(test, {"virtual.mass": 3.0, "coupling.order": 2, "rig.specimen.elements[1].law.limit": 0.002})
    assert value_at(changed, "virtual.mass") == 3.0
    assert changed.coupling.order == 2
    assert changed.rig.specimen.elements[0].law.limit == 0.002
    assert changed.excitation == test.excitation


def test_unknown_places_are_told_with_the_nearest():
    with pytest.raises(PlaceError, match=r"did you mean 'rig\.actuator\.delay'"):
        value_at(definition(), "rig.actuator.dely")


def test_replaced_values_are_validated():
    with pytest.raises(halfreal.DefinitionError, match=r"rig\.actuator\.delay"):
        with_values(definition(), {"rig.actuator.delay": -1.0})
