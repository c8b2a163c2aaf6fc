"""Displacements and rotations in one coupling: results do not depend on the unit of a rotation."""

import numpy as np
import pytest

import halfreal
from couplings import lumped
from halfreal.contracts.axes import Axes
from halfreal.couplings.harmonic.choice import choice
from halfreal.couplings.harmonic.lever import Lever, balanced
from halfreal.studies.check.examined import Examined

LAWS = (
    {"kind": "harmonic lms", "transfer": "model"},
    {"kind": "harmonic rls", "identification_time": 2.0, "amplitude": 0.4},
)
TICKS = 3000


def hybrid(scale, **coupling):
    """The lumped example of two axes, the second a rotation in a unit ``scale`` times smaller than the radian."""
    unit = np.diag([1.0, 1.0 / scale])
    virtual, specimen, actuator = (
        {key: unit @ matrix @ unit for key, matrix in zip(("mass", "damping", "stiffness"), part, strict=True)}
        for part in lumped.TWO
    )
    return halfreal.Definition.model_validate(
        {
            "title": "a displacement and a rotation",
            "axes": ["x", "rz"],
            "timing": {"step": 1e-3, "duration": 1e-3 * TICKS},
            "virtual": {**virtual, "interface": [1, 2], "force_dof": 1},
            "excitation": {"virtual": {"kind": "sine", "force": 1.0, "frequency": 8.0}},
            "coupling": {"frequencies": [8.0], **coupling},
            "rig": {"kind": "force actuated", "specimen": specimen, "transfer": actuator},
        }
    )


def run(scale, **coupling):
    """Commands with the moment in N m, error and misfit of the coupling."""
    loop = halfreal.build(hybrid(scale, **coupling))
    record = ("command.x", "command.rz", "coupling.nmse", "coupling.misfit")
    return loop.run(TICKS, record=record).log[:, 1:] * [1.0, scale, 1.0, 1.0]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law["kind"])
def test_a_rotation_in_a_unit_a_thousand_times_smaller_gives_the_same_drives(law):
    one, other = (run(scale, **law) for scale in (1.0, 1000.0))
    largest = np.abs(one).max(axis=0)
    assert np.all(largest > 0.0)
    assert np.abs(other - one).max(axis=0) == pytest.approx(0.0, abs=1e-6 * largest.max())
    assert np.all(np.abs(other - one) <= 1e-5 * largest)
    # where both are added as they are, they do not; a thousand times smaller, no memory would be stable beyond rounding
    plain, changed = (run(scale, lever=1.0, **law) for scale in (1.0, 30.0))
    assert np.abs(changed - plain)[:, 1].max() > 0.01 * np.abs(plain[:, 1]).max()


def test_the_check_states_the_lever_and_errors_are_of_the_worst_axis():
    definition = hybrid(1.0, **LAWS[0])
    log = (
        halfreal.build(definition).run(TICKS, record=("coupling.nmse", "target.x", "target.rz", "gap.x", "gap.rz")).log
    )
    fade = np.exp(-1e-3 * 8.0 / 4.0)
    weights = fade ** np.arange(TICKS - 1, -1, -1)
    ratios = [np.sum(weights * log[:, i + 2] ** 2) / np.sum(weights * log[:, i] ** 2) for i in (2, 3)]
    assert log[-1, 1] == pytest.approx(max(ratios), rel=1e-6)
    examined = Examined(definition)
    chosen = choice(definition, definition.coupling, lambda: examined.plant)
    assert [one.key for one in chosen.choices] == ["lever", "memory"]
    assert str(chosen.choices[0]).startswith('chosen: coupling.lever = "')


def test_the_lever_is_that_with_which_drives_move_both_equally():
    rng = np.random.default_rng(5)
    h = rng.standard_normal((3, 2, 2)) + 1j * rng.standard_normal((3, 2, 2))
    for turning, drives in ((Axes(("x", "rz")), True), (Axes(("x", "rz"), drives=True), False)):
        lever = balanced(h, turning)
        scaled = Lever.of(turning, 2, lever).transfer(h)
        assert np.linalg.norm(scaled[:, 0]) == pytest.approx(np.linalg.norm(scaled[:, 1]), rel=1e-12)
        assert (Lever.of(turning, 2, lever).drives[1] != 1.0) == drives
    assert balanced(0.0 * h, Axes(("x", "rz"))) == 1.0
