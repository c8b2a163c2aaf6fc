"""Axes of an interface: names and units of their channels, limits and sensors of rotations, in a test that runs."""

from dataclasses import replace

import numpy as np
import pytest

import halfreal
from halfreal.contracts.axes import Axes
from halfreal.definition.definition import Definition
from halfreal.errors import HalfrealError
from halfreal.kernels.block import Block, channels
from halfreal.rigs.sensors import Sensors
from halfreal.safety.limits import UNLIMITED, Limits

BEAM_END = Axes(("y", "rz"))
TEST = {
    "title": "deflection and slope",
    "axes": ["y", "rz"],
    "timing": {"step": 1e-3, "duration": 0.2},
    "virtual": {
        "mass": [[2.2, 0.0], [0.0, 1.5]],
        "damping": [[30.0, -5.0], [-5.0, 20.0]],
        "stiffness": [[4500.0, -800.0], [-800.0, 3000.0]],
        "interface": [1, 2],
        "force_dof": 1,
        "responses": {"slope": {"dof": 2, "quantity": "velocity", "rotation": True}},
    },
    "excitation": {"virtual": {"kind": "sine", "force": 20.0, "frequency": 3.0}},
    "rig": {"specimen": {"stiffness": [[2250.0, -500.0], [-500.0, 1200.0]]}},
}


SLOW = {"period": 1e-3, "ramp": 0.1}


def with_(**changed):
    return Definition.model_validate({**TEST, **changed})


def test_channels_take_the_axes_names_and_rotations_their_units():
    force, gap, stroke = channels("measured.force", "N", 2, of="axis"), channels("gap", "m", 2, of="axis"), "rig.stroke"
    writes = Block("rig", lambda *_: 0, (), (force[1], force[0], gap[1], *channels(stroke, "m", 3)), watched=("gap.2",))
    reads = Block("any", lambda *_: 0, ("measured.force.1", "gap.2", "rig.stroke.2"), ())
    (reads,), (writes,) = BEAM_END.named([reads], [writes])
    assert reads.inputs == ("measured.force.y", "gap.rz", "rig.stroke.2")
    assert [(one.name, one.unit) for one in writes.outputs] == [
        ("measured.force.rz", "N m"),
        ("measured.force.y", "N"),
        ("gap.rz", "rad"),
        *((f"rig.stroke.{i}", "m") for i in (1, 2, 3)),
    ]
    assert writes.watched == ("gap.rz",)


def test_signals_of_any_name_are_those_of_axes_or_actuators_if_they_say_so():
    block = Block(
        "mine", lambda *_: 0, (), (*channels("my.signal", "m", 2, of="axis"), *channels("pull", "N", 2, "actuator"))
    )
    found = [
        [one.name for one in axes.named([block])[0][0].outputs] for axes in (BEAM_END, replace(BEAM_END, drives=True))
    ]
    assert found[0] == ["my.signal.y", "my.signal.rz", "pull.y", "pull.rz"]
    assert found[1] == ["my.signal.y", "my.signal.rz", "pull.1", "pull.2"]


def test_a_single_axis_keeps_the_signals_own_name_and_drives_of_actuators_their_numbers():
    assert Axes(("rz",)).channels("target") == ("target",)
    driven = Axes(("y", "rz"), drives=True)
    assert driven.actuators.channels("command") == ("command.1", "command.2")
    assert driven.channels("target") == ("target.y", "target.rz")


def test_places_are_read_in_the_units_of_their_axes():
    assert BEAM_END.read("3 mm, 180 deg", "m") == pytest.approx([3e-3, np.pi])
    assert np.array_equal(Axes.numbered(2).read("3 mm", "m"), [3e-3, 3e-3])
    with pytest.raises(HalfrealError, match=r"3 values for 2 axis\(es\) \(y, rz\)"):
        BEAM_END.read("1 mm, 2 mm, 3 mm", "m")
    with pytest.raises(HalfrealError, match="rad"):
        BEAM_END.read("1 mm, 2 mm", "m")


def test_limits_of_rotations_are_their_own():
    limits = Limits(force={"trip": 5.0}, rotation={"command": {"warn": 0.01, "trip": 0.02}})
    found = {one.name: one for one in limits.watched(BEAM_END)}
    assert list(found["command.asked"].trip) == [UNLIMITED, 0.02]
    assert list(found["measured.force"].trip) == [5.0, UNLIMITED]
    assert found["measured.force"].units == ("N", "N m")
    driven = {one.name: one for one in limits.watched(Axes(("y", "rz"), drives=True), commands="force")}
    assert driven["command.asked"].units == ("N", "N")  # of actuators, which are no axes


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (
            {"limits": {"rotation": {"force": {"trip": [1.0, 2.0]}}}},
            "2 values for 1 rotation",
        ),
        ({"axes": ["y", "z"], "limits": {"rotation": {"gap": {"trip": 0.1}}}}, "of the axes y, z none is a rotation"),
        ({"axes": ["rx", "rz"], "limits": {"gap": {"trip": 0.1}}}, "of the axes rx, rz none is a displacement"),
        ({"limits": {"rotation": {"drive": {"trip": 1.0}}}}, "commanded in rad; give limits.rotation.command instead"),
        ({"axes": ["y", "y"]}, "lists an axis twice"),
        ({"axes": ["y", "Rz"]}, "'Rz' looks like a rotation"),
        ({"axes": ["y", "rz2"]}, "'rz2' looks like a rotation"),
        ({"limits": {"gap": {"trip": 1e-3}}}, "but the axes rz have none; also give limits.rotation.gap.trip"),
        ({"limits": {"rotation": {"gap": {"trip": 1e-3}}}}, "but the axes y have none; also give limits.gap.trip"),
        ({"slow": {**SLOW, "settle": {"displacement": 1e-6}}}, "also give slow.settle.rotation"),
        ({"axes": ["y", "z"], "rig": {**TEST["rig"], "sensors": {"moment": {"delay": 1e-3}}}}, "none is a rotation"),
        ({"axes": ["y"]}, r"an interface of 2 axis\(es\), but axes lists 1 \(y\)"),
        ({"axes": ["y", "2nd"]}, "'2nd' does not have the form"),
    ],
)
def test_axes_and_limits_that_cannot_be_are_refused(changed, told):
    with pytest.raises(ValueError, match=told):
        with_(**changed)


def test_a_test_with_a_rotation_is_recorded_guarded_and_judged_in_its_units():
    bounds = {"displacement": {"trip": "1 m"}, "rotation": {"displacement": {"trip": "0.2 mrad"}}}
    run = halfreal.rehearse(with_(limits=bounds))
    units = {name: signal.unit for name, signal in run.signals.items()}
    assert (units["target.y"], units["target.rz"]) == ("m", "rad")
    assert (units["measured.force.y"], units["measured.force.rz"]) == ("N", "N m")
    assert units["virtual.slope"] == "rad/s"
    assert run.outcome == "tripped"
    assert run.reason.startswith("measured.displacement.rz was ")
    assert run.reason.endswith(" µrad, beyond its limit of 200 µrad")


def test_noise_of_a_rotation_is_that_of_its_sensor():
    rig = {**TEST["rig"], "sensors": {"rotation": {"noise": "1 mrad"}, "moment": {"noise": "2 N m"}}}
    run = halfreal.rehearse(
        with_(excitation={}, virtual={**TEST["virtual"], "stiffness": np.diag([1e9, 1e9])}, rig=rig)
    )
    spread = {name: np.std(signal.values[1:]) for name, signal in run.signals.items()}
    assert spread["measured.displacement.y"] < 1e-6
    assert spread["measured.displacement.rz"] == pytest.approx(1e-3, rel=0.2)
    assert spread["measured.force.y"] < 1e-3
    assert spread["measured.force.rz"] == pytest.approx(2.0, rel=0.2)


def test_a_moment_is_as_late_as_a_force_unless_it_is_told_otherwise():
    late = Sensors(force={"delay": 2e-3}, displacement={"delay": 1e-3}, rotation={"delay": 0.0})
    assert [one.delay for one in late.of_force(BEAM_END)] == [2e-3, 2e-3]
    assert [one.delay for one in late.of_motion(BEAM_END)] == [1e-3, 0.0]


def test_a_beam_knows_its_slopes():
    beam = {
        "kind": "beam",
        "modulus": 210e9,
        "density": 7850.0,
        "segments": [{"length": 1.0, "elements": 2, "width": 0.05, "height": 0.01}],
        "supports": [{"node": 1, "kind": "clamped"}],
        "interface": [{"node": 3}, {"node": 3, "direction": "slope"}],
        "force": {"node": 2},
    }
    assert list(with_(virtual=beam, axes=None).interface.rotations) == [False, True]
    with pytest.raises(ValueError, match="the axis 'rz' is a deflection"):
        with_(virtual=beam, axes=["rz", "y"])
    with pytest.raises(ValueError, match="the axis 'z' is a slope"):
        with_(virtual=beam, axes=["y", "z"])
