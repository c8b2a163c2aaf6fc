"""Loops that share what their tests have in common are, to the bit, those that are built one by one."""

import numpy as np
import pytest

import halfreal
from examples.scripts import GALLERY
from halfreal.contracts.context import AT_REST, OPEN_LOOP, RUN
from halfreal.definition.paths import numbers
from halfreal.errors import HalfrealError
from halfreal.kernels.loop import Loop
from halfreal.runs.alike import Noting, alike
from halfreal.runs.build import build
from halfreal.settings import Settings
from halfreal.studies.uncertainty.variation import Variation

TESTS = (
    "spring_mass_damper/forward_prediction",
    "two_actuator_beam/sine",
    "shaking_table_rod/rod",
    "strut_braced_wing/stepped_narrow",
    "vrths_benchmark/case_4_adaptive",
    "pseudo_dynamic_frame/operator_splitting",
    "force_controlled_bar/camera",
    "harmonic_feedforward/rls_simultaneous",
)


def variants(test, section: str, most: int = 3):
    """Some tests that differ from this one in one number of a section."""
    found = []
    for place, value in numbers(test).items():
        if place.startswith(f"{section}.") and value != 0.0 and len(found) < most:
            try:
                found.append(Variation(test, [place]).unchecked([1.001 * value]))
            except (HalfrealError, TypeError):
                continue
    return found


def assert_same(one: Loop, other: Loop) -> None:
    np.testing.assert_array_equal(one.vector, other.vector)
    np.testing.assert_array_equal(one.parameters, other.parameters)
    np.testing.assert_array_equal(one.dynamic_indices(), other.dynamic_indices())
    assert (one.index, one.start, one.end, one.dt) == (other.index, other.start, other.end, other.dt)
    for mine, theirs in zip(one.blocks, other.blocks, strict=True):
        assert (mine.name, mine.inputs, mine.outputs, mine.watched) == (
            theirs.name,
            theirs.inputs,
            theirs.outputs,
            theirs.watched,
        )


@pytest.mark.parametrize("name", TESTS)
def test_loops_built_alike_are_those_built_one_by_one(name):
    test = halfreal.load(GALLERY / f"{name}.toml")
    tests = [test, *(one for section in ("rig", "virtual", "coupling", "limits") for one in variants(test, section))]
    assert len(tests) > 3
    for purpose in (RUN, AT_REST, OPEN_LOOP):
        plain = []
        for one in tests:
            try:
                plain.append(build(one, purpose))
            except HalfrealError:
                plain.append(None)
        with alike():
            build(test, purpose)
            for one, expected in zip(tests, plain, strict=True):
                if expected is not None:
                    again = build(one, purpose)
                    assert_same(again, expected)
                    ticks = (again.run(30).ticks, expected.run(30).ticks)
                    assert ticks[0] == ticks[1]
                    np.testing.assert_array_equal(again.vector, expected.vector)


def test_parts_that_nothing_changed_are_not_built_again():
    test = halfreal.load(GALLERY / "vrths_benchmark/case_1.toml")
    changed = Variation(test, ["rig.actuator.leakage"]).unchecked([1.0])
    with alike():
        first, second = build(test, AT_REST), build(changed, AT_REST)
    same = {block.name for block in first.blocks if second.blocks[second.row(block.name)] is block}
    assert {"virtual", "coupling", "guard", "energy"} <= same
    assert "specimen" not in same
    assert build(changed, AT_REST).blocks[0] is not second.blocks[0]


def test_all_that_is_read_is_noted():
    test = halfreal.load(GALLERY / "vrths_benchmark/case_1.toml")
    noting = Noting(test)
    assert noting.timing is test.timing and noting.interface == test.interface
    assert noting.auxiliary_channels == test.auxiliary_channels
    assert set(noting.noted[1]) == {"timing", "interface", "auxiliary"}
    assert isinstance(noting, halfreal.Definition) and noting == test and hash(noting) == hash(test)
    assert set(noting.noted[1]) >= set(halfreal.Definition.model_fields)


def test_fields_of_a_test_are_compared_by_what_they_are():
    """A section that is equal and another object counts as changed: it is not looked into."""
    test = halfreal.load(GALLERY / "vrths_benchmark/case_1.toml")
    with alike():
        first = build(test, AT_REST)
        again = build(halfreal.load(GALLERY / "vrths_benchmark/case_1.toml"), AT_REST)
    assert_same(again, first)


PLACES = ["rig.actuator.leakage", "rig.actuator.valve_damping", "rig.specimen.stiffness"]
LOW, HIGH = np.array([0.7, 410.0, 1.0e6]), np.array([5.9, 440.0, 1.4e6])


def test_growth_rates_are_the_same_to_the_bit_with_and_without_validating_each_variant():
    test = halfreal.load(GALLERY / "vrths_benchmark/case_1.toml")
    plain, fast = Variation(test, PLACES), Variation(test, PLACES)
    values = LOW + np.random.default_rng(1).random((5, 3)) * (HIGH - LOW)
    assert fast.expect(LOW, HIGH)
    with alike():
        found = [fast.growth(row) for row in values]
    assert found == [plain.growth(row) for row in values]
    assert fast.at(values[0]) == plain.at(values[0])


def test_numbers_of_one_section_list_or_matrix_are_replaced_together():
    test = halfreal.load(GALLERY / "vrths_benchmark/case_1.toml")
    before = test.model_dump_json()
    places = {
        "coupling.feedback[1].proportional": 2.1,
        "virtual.mass[1][1]": 1001.0,
        "coupling.prefilter[1].zero": 170.0,
        "virtual.mass[3][3]": 1003.0,
        "coupling.feedback[1].integral": 96.0,
        "rig.specimen.stiffness": 1.2e6,
        "virtual.removed.stiffness": 1.2e6,
        "timing.seed": 3.0,
    }
    variation = Variation(test, list(places))
    changed = variation.unchecked(list(places.values()))
    assert changed == variation.at(list(places.values()))
    assert changed.virtual.mass[0, 0] == 1001.0 and changed.coupling.feedback[0].integral == 96.0
    assert isinstance(changed.timing.seed, int) and test.model_dump_json() == before


def test_variants_are_validated_one_by_one_where_a_value_in_their_range_is_refused():
    test = halfreal.load(GALLERY / "vrths_benchmark/case_1.toml")
    variation = Variation(test, ["rig.actuator.leakage", "rig.specimen.stiffness"])
    assert not variation.expect([-1.0, 1.0e6], [5.9, 1.4e6])
    with pytest.raises(HalfrealError, match="leakage"):
        variation.at([-0.5, 1.2e6])
    assert variation.expect([0.7, 1.0e6], [5.9, 1.4e6])
    with pytest.raises(HalfrealError, match="leakage"):
        variation.at([-0.5, 1.2e6])


def test_a_part_that_reads_its_own_settings_is_built_again_where_it_is_another_one():
    test = halfreal.load(GALLERY / "vrths_benchmark/case_4_adaptive.toml")
    unpredicted = test.coupling.unchecked_copy({"force_prediction": None})
    tests = [test.unchecked_copy({"coupling": one}) for one in (test.coupling, unpredicted, test.coupling)]
    with alike():
        shared = [build(one, AT_REST) for one in tests]
    plain = [build(one, AT_REST) for one in tests]
    assert len(plain[0].blocks) != len(plain[1].blocks)
    for one, other in zip(shared, plain, strict=True):
        assert_same(one, other)


def test_unchecked_copies_are_those_of_pydantic():
    test = halfreal.load(GALLERY / f"{TESTS[0]}.toml")
    changed = test.timing.unchecked_copy({"duration": 1.5})
    plain = super(Settings, test.timing).model_copy(update={"duration": 1.5})
    assert changed == plain and changed.duration == 1.5 and test.timing.duration != 1.5
    assert changed.model_fields_set == plain.model_fields_set
    assert test.timing.model_fields_set == halfreal.load(GALLERY / f"{TESTS[0]}.toml").timing.model_fields_set
