"""The rig in force control against the closed form of its sampled controller."""

import numpy as np
import pytest

from halfreal.kernels.block import Block, Channel, channels
from halfreal.kernels.loop import Loop
from halfreal.rigs.force_controlled import ForceControlled

BAR, TRANSFER, GAIN, PERIOD = 2.9e6, 10e6, 1e-4, 0.25e-3
SERIES = 1.0 / (1.0 / BAR + 1.0 / TRANSFER)


def rig(**changed):
    settings = {"specimen": {"stiffness": BAR}, "transfer_stiffness": TRANSFER, "gain": GAIN, **changed}
    return ForceControlled.model_validate({"kind": "force controlled", **settings})


def spring(stiffness, axis):
    return {"law": {"kind": "linear", "stiffness": stiffness}, "between": [axis]}


def held_step(p, s, t, u, y):
    y[0] = p.force
    return 0


def answer(rig, force=300.0, ticks=200, x0=0.0):
    """Displacement and force under a force that is held, (ticks, 2)."""
    source = Block("source", held_step, (), (Channel("command", "N"),), parameters={"force": force})
    loop = Loop([source, rig.block(("command",), PERIOD, np.array([x0]))], dt=PERIOD)
    return loop.run(ticks, record=["rig.displacement", "rig.force"]).log[:, 1:]


def test_the_force_closes_in_geometrically():
    found = answer(rig())
    expected = 300.0 * (1.0 - (1.0 - GAIN * SERIES * PERIOD) ** np.arange(1, 201))
    np.testing.assert_allclose(found[:, 1], expected, rtol=1e-10)
    np.testing.assert_allclose(found[:, 0], expected / BAR, rtol=1e-10)


def test_its_time_constant_is_one_over_gain_and_stiffness():
    """With a small part of the time constant as step it is the exponential of continuous time."""
    found = answer(rig(substeps=1, gain=1e-6), ticks=4000)
    time = PERIOD * np.arange(1, 4001)
    np.testing.assert_allclose(found[:, 1], 300.0 * (1.0 - np.exp(-1e-6 * SERIES * time)), atol=0.05)


def test_the_actuator_moves_further_by_what_the_transfer_system_gives_way():
    own, actuator = answer(rig()), answer(rig(measures="actuator"))
    np.testing.assert_array_equal(own[:, 1], actuator[:, 1])
    np.testing.assert_allclose(actuator[:, 0] - own[:, 0], own[:, 1] / TRANSFER, rtol=1e-9)


def test_a_rigid_transfer_system_makes_no_difference_between_them():
    own, actuator = (answer(rig(transfer_stiffness=None, measures=which)) for which in ("specimen", "actuator"))
    np.testing.assert_array_equal(own, actuator)


@pytest.mark.parametrize("specimen", [{"stiffness": BAR}, {"elements": [spring(BAR, 1)]}], ids=["matrix", "element"])
def test_it_begins_in_equilibrium(specimen):
    assert rig(specimen=specimen).block(("command",), PERIOD, np.array([5e-5])).initial == (5e-5, BAR * 5e-5)
    found = answer(rig(specimen=specimen), force=BAR * 5e-5, x0=5e-5, ticks=5)
    np.testing.assert_allclose(found, np.tile([5e-5, BAR * 5e-5], (5, 1)), rtol=1e-12)


def test_two_axes_settle_where_their_stiffness_says():
    stiffness = np.array([[2.0e6, -0.5e6], [-0.5e6, 1.0e6]])
    two = rig(specimen={"stiffness": stiffness}, gain=[GAIN, 2 * GAIN])
    source = Block("source", two_steps, (), channels("command", "N", 2))
    loop = Loop([source, two.block(("command.1", "command.2"), PERIOD, np.zeros(2))], dt=PERIOD)
    names = [f"rig.{what}.{i}" for what in ("displacement", "force") for i in (1, 2)]
    last = loop.run(2000, record=names).log[-1, 1:]
    np.testing.assert_allclose(last[2:], [200.0, -100.0], rtol=1e-9)
    np.testing.assert_allclose(last[:2], np.linalg.solve(stiffness, [200.0, -100.0]), rtol=1e-9)


def two_steps(p, s, t, u, y):
    y[0], y[1] = 200.0, -100.0
    return 0


def test_a_gain_is_refused_from_where_the_sampled_loop_overshoots_more_and_more():
    limit = 2.0 / (SERIES * PERIOD)
    rig(gain=0.999 * limit).check_step(PERIOD, 1)
    growing = answer(rig(gain=1.01 * limit), ticks=400)[:, 1] - 300.0
    assert abs(growing[-1]) > 100 * abs(growing[0])
    with pytest.raises(ValueError, match="is unstable: gain times stiffness"):
        rig(gain=1.001 * limit).check_step(PERIOD, 1)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"specimen": {"stiffness": BAR, "mass": 1.0}}, "without mass and damping"),
        ({"specimen": {"stiffness": BAR, "damping": 1.0}}, "without mass and damping"),
        (
            {
                "specimen": {
                    "stiffness": BAR,
                    "elements": [{"law": {"kind": "cubic", "stiffness": 1.0, "cubic": 1.0}, "between": [1]}],
                }
            },
            "has a linear specimen",
        ),
        ({"gain": 0.0}, "above 0|greater than 0"),
    ],
)
def test_refusals_say_what_is_wrong(changed, told):
    with pytest.raises(ValueError, match=told):
        rig(**changed)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"specimen": {"stiffness": np.diag([BAR, 0.0])}}, "would move it without bound"),
        ({"specimen": {"elements": [spring(BAR, 1)]}}, "on each of the 2 axis"),
        ({"specimen": {"elements": [spring(BAR, 1), spring(BAR, 2)]}, "gain": [GAIN] * 3}, "3 values for 2 axis"),
    ],
)
def test_what_does_not_fit_the_axes_is_refused_when_they_are_known(changed, told):
    with pytest.raises(ValueError, match=told):
        rig(**changed).check_axes(2)


def test_elements_on_two_axes_are_a_specimen_like_a_matrix():
    two = rig(specimen={"elements": [spring(BAR, 1), spring(2 * BAR, 2)]})
    two.check_axes(2)
    np.testing.assert_array_equal(two.stiffness(2), np.diag([BAR, 2 * BAR]))
