"""A check warns of a virtual part with too many modes: the rod and mass of the DLR paper on its shaking table."""

import numpy as np
import pytest

import halfreal
from halfreal.studies.check.criteria.truncation import truncation
from halfreal.studies.check.examined import Examined
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
    assert warned(rod(1, {"mass": [[60.0]]}))[0].endswith("give the virtual part mass at the interface")
