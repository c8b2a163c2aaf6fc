"""What rigs say of themselves: the answers of one that says nothing, and those of halfreal's own kinds."""

from typing import Literal

import numpy as np
import pytest

from halfreal.contracts.axes import Axes
from halfreal.contracts.link import Link
from halfreal.contracts.rig import Rig
from halfreal.definition.kinds import kinds
from halfreal.errors import HalfrealError
from halfreal.models.shaker import Shaker
from halfreal.rigs.flexible_specimen import FlexibleSpecimen
from halfreal.rigs.force_controlled import ForceControlled
from halfreal.rigs.held_structure import HeldStructure
from halfreal.rigs.sensors import Sensors
from halfreal.rigs.shaking_table import ShakingTable
from halfreal.rigs.simulated import SimulatedRig
from halfreal.rigs.specimen import Specimen

ONE, TWO = Axes.numbered(1), Axes.numbered(2)
SPRING = Specimen(stiffness=[[1e5]])
FREE = FlexibleSpecimen(
    kind="flexible",
    mass=np.diag([2.0, 1.0]),
    stiffness=1e4 * np.array([[1.0, -1.0], [-1.0, 1.0]]),
    interface=(1,),
)
HELD = HeldStructure(mass=[[1.0]], stiffness=[[1e4]])


class Silent(Rig):
    """A rig that says nothing."""

    kind: Literal["silent"] = "silent"

    def blocks(self, context, command):
        raise NotImplementedError


def test_a_rig_that_says_nothing_is_commanded_in_displacement_and_nothing_else_is_known_of_it():
    rig = Silent()
    assert (rig.commanded_in, rig.steps_per_tick, rig.pure_delay) == ("displacement", 1, 0.0)
    assert rig.ideal_but_late(1e-3) is None
    assert rig.known_specimen is None and rig.with_share_of_specimen(0.5) is None
    assert rig.known_sensors is None and rig.with_sensors(Sensors()) is None and rig.as_table is None
    assert rig.linear_model(1) is None and rig.caveat is None and rig.nonlinearities == ()
    np.testing.assert_array_equal(rig.rest_command(np.array([1e-3, 2e-3])), [1e-3, 2e-3])
    np.testing.assert_array_equal(rig.varying_sensors(TWO), np.zeros(4))
    with pytest.raises(HalfrealError, match="'silent' has no model here; give the coupling's table or weights itself"):
        rig.follower(1e-3)
    shaker = Shaker(mass=1.0, inductance=1e-3, resistance=1.0, motor_constant=1.0)
    with pytest.raises(HalfrealError, match="describes a shaker, but the rig is of kind 'silent'; omit it"):
        rig.follower(1e-3, shaker)


@pytest.mark.parametrize(
    ("family", "contract"),
    [("rig", Rig), ("link", Link)],
)
def test_no_setting_of_a_kind_hides_what_its_contract_asks(family, contract):
    asked = {name for name in vars(contract) if not name.startswith("_")} - set(contract.model_fields)
    for kind, part in kinds(family).items():
        assert not asked & set(part.model_fields), kind


def test_a_held_command_is_late_by_whole_steps():
    late = {"kind": "delay", "delay": 2.5e-3, "reconstruction": "hold"}
    rig = SimulatedRig(actuator=late, specimen=SPRING)
    assert rig.delay_within(4.7e-3, 1e-3) == pytest.approx(4e-3)
    assert rig.follower(1e-3).delay == pytest.approx(3.5e-3)
    smooth = SimulatedRig(actuator={"delay": 2.5e-3}, specimen=SPRING)
    assert smooth.delay_within(4.7e-3, 1e-3) == 4.7e-3
    late = rig.ideal_but_late(4e-3)
    assert late.pure_delay == 4e-3 and late.actuator.holds and late.specimen == SPRING


@pytest.mark.parametrize(
    "actuator",
    [
        {"kind": "delay"},
        {"kind": "first order", "time_constant": 0.01},
        {"kind": "second order", "frequency": 20.0, "damping": 0.7},
    ],
)
def test_an_actuators_model_and_its_polynomials_are_one(actuator):
    rig = SimulatedRig(actuator=actuator, specimen=SPRING)
    omega = np.array([1.0, 30.0, 200.0])
    both = rig.linear_model(2).response(omega)
    np.testing.assert_allclose(both[:, 0, 0], 1.0 / np.polyval(rig.actuator.denominator(), 1j * omega), rtol=1e-12)
    np.testing.assert_array_equal(both[:, 0, 1], 0.0)
    np.testing.assert_array_equal(both[:, 1, 1], both[:, 0, 0])


def test_a_camera_is_not_known_to_vary_as_a_frame_stands_until_the_next_one():
    settings = {"kind": "force controlled", "specimen": SPRING, "gain": [1e-6]}
    noisy = {"displacement": {"noise": 1e-6}, "force": {"noise": 1.0}}
    by_sensors = ForceControlled(**settings, sensors=noisy)
    by_camera = ForceControlled(**settings, sensors=noisy, camera={"interval": 0.1})
    np.testing.assert_array_equal(by_sensors.varying_sensors(ONE), [1.0, 1.0])
    np.testing.assert_array_equal(by_camera.varying_sensors(ONE), [0.0, 1.0])
    np.testing.assert_allclose(by_sensors.rest_command(np.array([2e-3])), [200.0])


def test_sensors_are_changed_by_what_they_measure():
    rig = SimulatedRig(specimen=SPRING).with_sensors(Sensors().changed({"noise": 1e-6}, {"delay": 1e-3}))
    assert (rig.sensors.displacement.noise, rig.sensors.rotation.noise, rig.sensors.force.noise) == (1e-6, 1e-6, 0.0)
    assert (rig.sensors.displacement.delay, rig.sensors.force.delay, rig.sensors.moment.delay) == (0.0, 1e-3, 1e-3)


def test_a_table_hands_its_specimen_on_and_is_tuned_as_one():
    table = ShakingTable(kind="shaking table", axes=("x",), specimen=FREE)
    late = table.ideal_but_late(5e-3)
    assert table.as_table is table and late.as_table is None
    assert late.specimen == FREE and late.pure_delay == 5e-3
    np.testing.assert_allclose(table.with_share_of_specimen(0.5).specimen.mass, 0.5 * FREE.mass)


def test_a_specimen_says_what_it_is():
    cubic = Specimen(elements=[{"between": [1], "law": {"kind": "cubic", "stiffness": 1e5, "cubic": 1e9}}])
    assert SimulatedRig(specimen=cubic).nonlinearities == ("rig.specimen: a cubic element",)
    ended = SimulatedRig(actuator={"stroke": 0.1}, specimen=SPRING)
    assert ended.nonlinearities == ("rig.actuator: a limited stroke",)
    assert cubic.scaled(0.5) is None  # its element would stay as it is
    np.testing.assert_allclose(cubic.stiffness_at_rest(1), [[1e5]])
    np.testing.assert_array_equal(FREE.stiffness_at_rest(1), [[0.0]])
    assert SPRING.known is SPRING and FREE.known is FREE and HELD.known is None
