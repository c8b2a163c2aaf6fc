"""A check warns of a virtual part with too many modes: the rod and mass of the DLR paper on its shaking table."""

import numpy as np
import pytest

import halfreal
from halfreal.definition.paths import with_values
from halfreal.runs.loop_stability import linearised
from halfreal.studies.check.criteria.tolerated_delay import tolerated_delay
from halfreal.studies.check.criteria.truncation import truncation
from halfreal.studies.check.examined import Examined
from halfreal.studies.check.remedies import step_remedy
from stability.delay_cases import MASS, rod_modes


def rod(modes, specimen=None):
    omega, mass = rod_modes(modes)
    return halfreal.Definition.model_validate(
        {
            "title": "rod and mass",
            "timing": {"step": 1e-3, "duration": 0.1},
            "virtual": {
                "kind": "modes",
                "frequency": omega / (2 * np.pi),
                "damping": [0.01],
                "mass": mass,
                "interface": np.ones((1, modes)),
            },
            "rig": {"specimen": specimen or {"mass": [[MASS]]}},
        }
    )


def warned(test):
    return [finding.text for finding in truncation(Examined(test))]


@pytest.mark.parametrize("modes", [1, 2, 3])
def test_up_to_three_modes_are_not_warned_of(modes):
    assert warned(rod(modes)) == []


def test_four_modes_are_warned_of_in_a_check():
    """12.5 kg Σ 1/m_r = 1.012."""
    found = [reason for reason in halfreal.check(rod(4)).reasons if "high frequency" in reason]
    assert len(found) == 1
    assert "the loop gain is 1.01, above 1" in found[0]
    assert found[0].endswith("keep the lowest 3 of 4 modes")


def test_a_specimen_on_a_spring_weighs_nothing_at_high_frequency():
    soft = {
        "kind": "flexible",
        "interface": [1],
        "mass": [[0.5, 0], [0, 12.0]],
        "stiffness": [[1e4, -1e4], [-1e4, 1e4]],
    }
    assert warned(rod(4, soft)) == []
    heavy = {**soft, "mass": [[13.0, 0], [0, 12.0]]}
    assert "the loop gain is 1.05" in warned(rod(4, heavy))[0]


def test_a_single_mode_that_is_too_light_has_no_modes_to_leave_out():
    assert warned(rod(1, {"mass": [[60.0]]}))[0].endswith("add virtual mass at the interface")


def on_a_mass(specimen, step=1e-3, **more):
    """10 kg on a spring, and a mass on a rig that is late by two steps."""
    return halfreal.Definition.model_validate(
        {
            "title": "mass on a mass",
            "timing": {"step": step, "duration": 0.5},
            "virtual": {"mass": 10.0, "stiffness": 8e3, "damping": 40.0, "force_dof": 1},
            "excitation": {"virtual": {"kind": "sine", "force": 10.0, "frequency": 2.0}},
            "rig": {"actuator": {"delay": 2e-3}, "specimen": {"mass": specimen}},
            "acceptance": {"synchronisation": "none"},
            **more,
        }
    )


@pytest.mark.parametrize(("specimen", "verdict"), [(6.9, "GO"), (7.2, "MARGINAL"), (9.0, "MARGINAL")])
def test_a_pure_delay_has_no_more_gain_margin_than_the_masses_leave(specimen, verdict):
    """3 dB are asked for: 0.708 of the virtual mass, whatever the step makes of what is faster than it."""
    found = halfreal.check(on_a_mass(specimen), remedies=False)
    assert found.verdict == verdict
    told = [one for one in found.findings if "dB at high frequency" in one.text]
    assert [one.value for one in told] == ([] if verdict == "GO" else [pytest.approx(20 * np.log10(10 / specimen))])


def test_what_the_masses_leave_is_not_asked_of_an_actuator_that_smooths_or_where_no_margin_is():
    second = {"actuator": {"kind": "second order", "frequency": 20.0, "damping": 0.8}, "specimen": {"mass": 9.0}}
    for more in ({"rig": second}, {"acceptance": {"synchronisation": "none", "gain_margin": "none"}}):
        assert not any("dB at high frequency" in one for one in halfreal.check(on_a_mass(9.0, **more)).reasons)


def test_no_shorter_step_is_proposed_where_a_still_shorter_one_is_unstable_again():
    """Of a specimen that is heavier than the virtual part: with half the step, and none below, its loop is stable."""
    heavy = on_a_mass(11.0, rig={"actuator": {"delay": 1e-3}, "specimen": {"mass": 11.0}})
    assert not linearised(heavy).stable and not linearised(with_values(heavy, {"timing.step": 1e-4})).stable
    assert linearised(with_values(heavy, {"timing.step": 5e-4})).stable
    assert step_remedy(heavy, 1e-3) == []


def test_a_loop_that_bears_its_rigs_delay_and_not_a_single_step_is_told_so():
    """A mass on the last of the commands, from which its acceleration comes, is felt more in fast motion."""
    ahead = {"kind": "forward prediction", "prediction": 2e-3, "order": 1, "points": 2}
    (found,) = tolerated_delay(Examined(on_a_mass(8.0, coupling=ahead)))
    assert (
        "the loop tolerates a pure delay equal to the rig's, but not one of a single step; the rig lags by 2 ms"
        in found.text
    )
    assert linearised(on_a_mass(8.0)).stable and not linearised(on_a_mass(8.0, step=2e-3)).stable
