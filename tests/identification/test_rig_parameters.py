"""Parameters of a rig from records: true values lie in their intervals, and what a record cannot tell is not told."""

import numpy as np
import pytest

import halfreal
from halfreal.errors import HalfrealError
from halfreal.identification.played_rig import measured_by_model
from halfreal.identification.rig_parameters import fit_rig
from halfreal.identification.rig_record import NotIdentifiableError, rig_record
from halfreal.identification.sought import sought_in
from halfreal.models.excitations import Sine
from lagging_rig import lagging, moved, noisy

DRAWS = 40
GIVEN = {
    "rig.actuator.delay": 4.3e-3,
    "rig.actuator.time_constant": 5e-3,
    "rig.specimen.stiffness": 2250.0,
    "rig.specimen.damping": 8.0,
    "rig.specimen.mass": 0.4,
}


@pytest.fixture(scope="module")
def record():
    return moved(lagging())


def fitted(definition, *records, wanted=()):
    return fit_rig(definition, records, sought_in(definition, records, wanted))


def by_name(fit):
    return {one.sought.name: one for one in fit.parameters}


def test_a_played_rig_measures_what_a_rehearsal_of_the_closed_loop_has_measured():
    quiet = lagging(**{"rig.sensors": {}})
    run = halfreal.rehearse(quiet)
    record = rig_record(run, quiet)
    model = measured_by_model(quiet, record)
    assert np.array_equal(model, np.hstack([record.displacement, record.force]))


def test_the_excitation_of_the_specimen_is_that_of_the_record():
    quiet = lagging(**{"rig.sensors": {}})
    pushed = quiet.with_values({"excitation.specimen": {"kind": "sine", "force": 3.0, "frequency": 2.0}})
    record = rig_record(halfreal.rehearse(pushed), quiet)
    assert np.array_equal(measured_by_model(quiet, record), np.hstack([record.displacement, record.force]))


def test_true_values_lie_in_their_intervals_as_often_as_these_promise(record):
    definition, rng = lagging(), np.random.default_rng(1)
    inside = {name: 0 for name in GIVEN}
    for _ in range(DRAWS):
        found = by_name(fitted(definition, noisy(definition, record, rng)))
        assert found.keys() == GIVEN.keys()
        for name, value in GIVEN.items():
            inside[name] += found[name].determined and found[name].low <= value <= found[name].high
    # 38 are expected of each parameter, and 190 of all: below these, chances are less than one in a thousand
    assert min(inside.values()) >= 33, inside
    assert 178 <= sum(inside.values()) < DRAWS * len(GIVEN), inside


def test_another_rig_is_found_from_far_off(record):
    guess = lagging(
        **{
            "rig.actuator.delay": "16 ms",
            "rig.actuator.time_constant": "2 ms",
            "rig.specimen.stiffness": "900 N/m",
            "rig.specimen.damping": "30 N s/m",
            "rig.specimen.mass": "2 kg",
        }
    )
    found = by_name(fitted(guess, record))
    for name, value in GIVEN.items():
        one = found[name]
        assert one.determined and abs(one.value - value) < 2.0 * one.half_width, (name, one.value, one.half_width)
    assert found["rig.actuator.delay"].half_width < 5e-6


def test_what_the_definition_leaves_out_is_found(record):
    bare = lagging(**{"rig.specimen": {"stiffness": 2000.0}})
    found = fitted(bare, record)
    assert by_name(found)["rig.specimen.mass"].value == pytest.approx(0.4, rel=0.02)
    assert found.definition.rig.specimen.mass.item() == pytest.approx(0.4, rel=0.02)


def test_a_slow_motion_does_not_tell_the_mass_and_the_others_are_found_without_it():
    definition = lagging(**{"rig.specimen.mass": "0.5 kg"})
    found = by_name(fitted(definition, moved(lagging(), Sine(displacement=0.5e-3, frequency=1.5, ramp=1.0))))
    mass, stiffness = found["rig.specimen.mass"], found["rig.specimen.stiffness"]
    assert not mass.determined and mass.value == 0.5 and "distinguished" in mass.why_not
    assert stiffness.determined and stiffness.low < 2250.0 < stiffness.high


def test_a_value_at_the_end_of_its_range_is_not_told(record):
    found = fitted(lagging(), record, wanted=[("rig.actuator.delay", 6e-3, 9e-3)])
    assert "end of its range" in found.parameters[0].why_not
    assert found.definition.rig.actuator.delay == 4.3e-3


def test_a_rig_of_another_order_leaves_more_than_noise(record):
    pure = lagging(**{"rig.actuator": {"kind": "delay", "delay": "4.3 ms"}})
    assert fitted(pure, record).share[0] > 0.02


def test_places_and_bounds_that_make_no_sense_are_refused(record):
    with pytest.raises(HalfrealError, match=r"no quantity of the definition's rig; there are rig\.actuator\.delay"):
        sought_in(lagging(), [record], [("rig.actuator.dely", None, None)])
    with pytest.raises(HalfrealError, match="write the least first"):
        sought_in(lagging(), [record], [("rig.actuator.delay", 9e-3, 6e-3)])


def test_too_few_cycles_are_refused():
    definition = lagging()
    with pytest.raises(NotIdentifiableError, match="record longer"):
        fitted(definition, moved(definition, Sine(displacement=2e-3, frequency=2.0), 1.0))
