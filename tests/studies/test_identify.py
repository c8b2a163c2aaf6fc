"""The experiment that limits allow, and the definition that is written."""

import pytest

import halfreal
from halfreal.errors import HalfrealError
from halfreal.identification.rig_record import NotIdentifiableError
from halfreal.runs.rehearse import rehearse
from halfreal.studies.identifying.experiment import USED, completed, plan
from halfreal.studies.identifying.identify import identify
from lagging_rig import lagging


@pytest.fixture(scope="module")
def planned():
    return plan(lagging(), 0, band=(0.5, 25.0), duration=10.0)


def test_the_amplitude_uses_its_part_of_the_limit_that_binds(planned):
    run = rehearse(planned.definition)
    assert max(run.limits_used.values()) == pytest.approx(USED, rel=0.15)
    assert "25 % of the limit on command.asked" in planned.text


def test_a_tighter_limit_makes_a_smaller_experiment(planned):
    tight = lagging(**{"limits.force": {"trip": 4.0}})
    smaller = plan(tight, 0, band=(0.5, 25.0), duration=10.0)
    assert "measured.force" in smaller.text
    assert smaller.excitation.amplitude < 0.5 * planned.excitation.amplitude


def test_experiments_that_cannot_be_done_are_refused():
    with pytest.raises(HalfrealError, match="below half the sampling rate, 250 Hz"):
        plan(lagging(), 0, band=(1.0, 300.0), amplitude=1e-3)
    with pytest.raises(NotIdentifiableError, match="give a longer --duration"):
        plan(lagging(), 0, band=(1.0, 5.0), amplitude=1e-3, duration=2.0)
    large = plan(lagging(), 0, band=(0.5, 25.0), amplitude=20e-3, duration=4.0)
    with pytest.raises(NotIdentifiableError, match=r"tripped: command.asked was .* beyond its limit of 20 mm"):
        completed(rehearse(large.definition))
    with pytest.raises(HalfrealError, match="give --amplitude"):
        plan(lagging(limits={}), 0, duration=4.0)


def test_the_definition_gets_what_was_found_and_its_uncertainty(planned):
    run = completed(rehearse(planned.definition))
    guess = lagging(**{"rig.actuator.delay": "7 ms", "rig.specimen.stiffness": "2000 N/m"})
    found = identify(guess, [("run.h5", run)])
    assert found.definition is not None and not found.notes
    assert found.definition.rig.actuator.delay == pytest.approx(4.3e-3, rel=1e-3)
    for one in halfreal.definition.uncertainty.parameters(found.definition):
        given = halfreal.definition.uncertainty.quantity_at(lagging(), one.place)
        assert one.low < one.value < one.high
        assert one.low - (one.high - one.low) < given.value < one.high + (one.high - one.low)
    on = found.axes[0]
    used = on.response.used
    misfit = abs(on.model.response / on.response.lines.response - 1.0)[used]
    assert misfit.max() < 5.0 * on.response.deviation()[used].max()


def test_a_rig_that_is_not_the_one_described_is_told(planned):
    run = completed(rehearse(planned.definition))
    pure = lagging(**{"rig.actuator": {"kind": "delay", "delay": "4.3 ms"}})
    found = identify(pure, [("run.h5", run)])
    assert any("the rig has dynamics that [rig] does not describe" in note for note in found.notes)


def test_forces_and_slow_tests_have_no_experiment():
    assert lagging().commands == "displacement"
    slow = halfreal.load("examples/pseudo_dynamic_frame/explicit_newmark.toml")
    with pytest.raises(HalfrealError, match=r"identify it from records \(--run\)"):
        plan(slow, 0)
