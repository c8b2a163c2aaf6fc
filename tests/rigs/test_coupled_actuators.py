"""Rigs by matrices of actuators: models, the coupler, what the specimen feels, and what is refused."""

import re

import numpy as np
import pytest
import scipy.signal
from pydantic import TypeAdapter, ValidationError

from halfreal.contracts.axes import Axes
from halfreal.definition.definition import Definition
from halfreal.definition.faults import DefinitionError
from halfreal.definition.uncertainty import parameters
from halfreal.models.actuator_matrix import Actuators, AnyActuators
from halfreal.rigs.kinematics import Kinematics
from halfreal.runs.build import build

READ = TypeAdapter(AnyActuators)
ROOTS = {
    "fast": {"frequency": 40.0},
    "slow": {"frequency": 3.0},
    "zero": {"frequency": 90.0},
    "pair": {"frequency": 80.0, "damping": 0.6},
}
ENTRIES = [
    [{"gain": 0.9, "zeros": ["zero"], "poles": ["slow", "pair"]}, {"gain": 0.1, "poles": ["fast"]}],
    [{"gain": 0.2, "poles": ["slow", "pair"]}, {"gain": 1.1, "zeros": ["zero"], "poles": ["fast", "pair"]}],
]
PLANT = {"kind": "zeros and poles", "roots": ROOTS, "entries": ENTRIES}
OMEGA = 2 * np.pi * np.array([0.1, 2.0, 20.0, 150.0])


def actuators(**changed) -> Actuators:
    return READ.validate_python({**PLANT, **changed})


def by_hand(i: int, j: int, slow: float = 3.0) -> np.ndarray:
    """The entry by SciPy, from its roots."""
    w = 2 * np.pi
    at = {
        "fast": [-40.0 * w],
        "slow": [-slow * w],
        "zero": [-90.0 * w],
        "pair": list(80.0 * w * (-0.6 + np.array([0.8j, -0.8j]))),
    }
    entry = ENTRIES[i][j]
    zeros, poles = ([root for name in entry.get(key, ()) for root in at[name]] for key in ("zeros", "poles"))
    gain = entry["gain"] * np.prod(poles) / np.prod(zeros) * (-1.0) ** (len(poles) - len(zeros))
    return scipy.signal.freqs_zpk(zeros, poles, np.real(gain), OMEGA)[1]


def test_zeros_and_poles_are_those_of_scipy_and_states_are_shared():
    given = actuators()
    model = given.model()
    found = model.response(OMEGA)
    for i in range(2):
        for j in range(2):
            assert np.allclose(found[:, i, j], by_hand(i, j), rtol=1e-9)
    assert model.states == 3 + 1 + 3  # the first column has one denominator, the second two
    # the simulated rig has another root, and what is told of it stays
    off = actuators(roots={**ROOTS, "slow": {"frequency": 3.0, "actual": 1.2}})
    assert np.allclose(off.model().response(OMEGA), found)
    assert np.allclose(off.model(actual=True).response(OMEGA)[:, 0, 0], by_hand(0, 0, 3.6), rtol=1e-9)


def test_measured_responses_and_state_spaces_are_the_same_actuators():
    model = actuators().model()
    hz = np.geomspace(0.1, 200.0, 120)
    h = model.response(2 * np.pi * hz)
    rows = [[np.column_stack([hz, h[:, i, j].real, h[:, i, j].imag]) for j in range(2)] for i in range(2)]
    fitted = READ.validate_python({"kind": "frequency responses", "poles": 4, "responses": rows})
    assert np.allclose(fitted.model().response(OMEGA), model.response(OMEGA), rtol=1e-5, atol=1e-7)
    again = READ.validate_python({"kind": "state space", "A": model.a, "B": model.b, "C": model.c})
    assert np.allclose(again.model().response(OMEGA), model.response(OMEGA))
    rows[1][0] = rows[1][0][:-5]
    with pytest.raises(ValueError, match=r"115 frequencies .* where the first response has 120"):
        READ.validate_python({"kind": "frequency responses", "poles": 4, "responses": rows})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"entries": [[{"gain": 1.0, "zeros": ["pair"], "poles": ["slow"]}]]}, "2 zero(s) above 1 pole(s)"),
        ({"entries": [[{"gain": 1.0, "poles": ["slow"]}] * 2] * 2}, "the actuators are alike"),
        ({"entries": [[{"gain": 1.0, "poles": ["other"]}]]}, "'other' is none of the roots"),
        ({"entries": [[{"gain": 1.0}], [{"gain": 1.0}]]}, "row 1 has 1 entries for 2 actuator(s)"),
    ],
)
def test_actuators_that_cannot_be_are_told(changed, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        actuators(**changed)


def test_an_unstable_state_space_is_told():
    with pytest.raises(ValueError, match=r"a pole at 2 rad/s does not decay"):
        READ.validate_python({"kind": "state space", "A": [[2.0]], "B": [[1.0]], "C": [[1.0]]})


# --- the coupler ------------------------------------------------------------------------------------------------------

JOINTS = [[0.27, 0.13], [0.27, -0.13]]


def test_a_coupler_goes_both_ways_and_its_slope_is_its_jacobian():
    kinematics = Kinematics(actuators=("a1", "a2"), coupler={"joints": JOINTS})
    for pose in ([0.01, 0.05], [-0.02, -0.3], [0.0, 0.0]):
        strokes = kinematics.strokes_at(np.array(pose))
        x, turn = pose
        assert np.allclose(strokes, [x + a * (np.cos(turn) - 1) - b * np.sin(turn) for a, b in JOINTS], atol=1e-15)
        assert np.allclose(_pose(kinematics, strokes), pose, atol=1e-13)
    assert np.allclose(kinematics.jacobian(np.zeros(2)), [[1.0, -0.13], [1.0, 0.13]], atol=1e-9)


def _pose(kinematics: Kinematics, strokes: np.ndarray) -> np.ndarray:
    from halfreal.kernels.block import channels, names
    from halfreal.kernels.loop import Loop
    from halfreal.stability.open_loop import PROBE, probe

    source = probe(2, "m")
    loop = Loop([source, kinematics.to_pose("pose", names(source.outputs), channels("at", "m", 2))], dt=1.0)
    loop.state(PROBE)["value"] = strokes
    loop.run(1)
    return loop.vector[[loop.index["at.1"], loop.index["at.2"]]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"coupler": {"joints": [[0.3, 0.1], [0.2, 0.1]]}}, "all joints are in line with the actuators"),
        ({"coupler": {"joints": [[0.3, 0.02], [-0.3, -0.02]]}}, "the map is singular within largest_rotation"),
        ({"coupler": {"joints": [[0.3, 0.1]]}}, "two actuators or more"),
        ({"matrix": np.eye(2), "coupler": {"joints": JOINTS}}, "either a matrix, or a coupler"),
    ],
)
def test_couplers_that_cannot_turn_are_told(given, message):
    with pytest.raises(ValueError, match=message):
        Kinematics(actuators=("a1", "a2"), **given)


# --- the rig ----------------------------------------------------------------------------------------------------------

STIFFNESS = np.array([[4e5, -3e4, 1e4, 2e4], [-3e4, 9e3, 0.0, 1e3], [1e4, 0.0, 7e3, 500.0], [2e4, 1e3, 500.0, 5e3]])


def definition(**changed) -> Definition:
    given = {
        "title": "two actuators and a coupler",
        "axes": ["x", "rz", "rz_far"],
        "passive": ["rz_far"],
        "timing": {"step": 1e-3, "duration": 0.2},
        "virtual": {
            "mass": np.diag([200.0, 3.0, 3.0]),
            "damping": np.diag([8e3, 60.0, 60.0]),
            "stiffness": np.diag([8e5, 2e4, 2e4]),
            "interface": [1, 2, 3],
            "force_dof": 1,
        },
        "excitation": {"virtual": {"kind": "sine", "force": 500.0, "frequency": 3.0}},
        "kinematics": {"actuators": ["a1", "a2"], "coupler": {"joints": JOINTS}, "coupling_in": "actuators"},
        "coupling": {"kind": "decoupling inverse", "taps": 20},
        "rig": {"kind": "coupled actuators", "actuators": PLANT, "specimen": {"stiffness": STIFFNESS}},
        **changed,
    }
    return Definition.model_validate(given)


def test_what_is_not_commanded_follows_by_its_stiffness():
    rig = definition().rig
    follow = rig.follow(Axes(("x", "rz", "rz_far"), passive=("rz_far",)))
    force = STIFFNESS @ follow
    assert np.allclose(follow[:2], np.eye(2)) and np.allclose(force[2:], 0.0, atol=1e-9)


@pytest.mark.parametrize("of", ["true", "measured"])
def test_force_is_that_of_the_true_or_of_the_measured_motion(of):
    noisy = {"stroke": [{"noise": 1e-4}, {"noise": 2e-4}]}
    rig = {**definition().rig.model_dump(), "force_from": of, "sensors": noisy}
    test = definition(rig=rig)
    names = ("rig.pose.x", "rig.pose.rz", "measured.displacement.x", "measured.displacement.rz", "measured.force.x")
    log = build(test).run(200, record=names).log[:, 1:]
    follow = test.rig.follow(test.interface)
    pose = log[:, :2] if of == "true" else log[:, 2:4]
    assert np.allclose(log[1:, 4], pose[1:] @ (STIFFNESS @ follow)[0], rtol=1e-9, atol=1e-9)
    noise = np.std(log[:, 2:4] - log[:, :2], axis=0)
    assert np.allclose(noise, [0.5 * np.hypot(1e-4, 2e-4), np.hypot(1e-4, 2e-4) / 0.26], rtol=0.2)


def test_an_estimator_quietens_the_strokes_and_an_inverse_follows_the_target():
    quiet, longer = definition(), {"timing": {"step": 1e-3, "duration": 2.0}}
    record = (*(f"target.stroke.a{i}" for i in (1, 2)), *(f"rig.stroke.a{i}" for i in (1, 2)))
    errors = []
    for test in (definition(**longer), definition(coupling={"kind": "none"}, **longer)):
        log = build(test).run(2000, record=record).log[500:, 1:]
        errors.append(np.std(log[:, 2:] - log[:, :2], axis=0) / np.std(log[:, :2], axis=0))
    assert np.all(errors[0] < 0.01) and np.all(errors[1] > 0.2)
    sensed = {**quiet.rig.model_dump(), "sensors": {"stroke": {"noise": 1e-4}}, "force_from": "measured"}
    estimated = {**sensed, "estimator": {"command_noise": 1e-4, "measurement_noise": 1e-4}}
    wanted = (*record, "sensor.stroke.a1", "estimated.stroke.a1")
    found = build(definition(rig=estimated)).run(200, record=wanted).log[:, 1:]
    assert np.std(found[:, 5] - found[:, 2]) < 0.3 * np.std(found[:, 4] - found[:, 2])


def test_uncertainty_is_of_the_rig_and_not_of_what_the_coupling_knows():
    place = "rig.actuators.roots.slow.actual"
    test = definition(uncertainty={place: {"relative": 0.3}})
    (uncertain,) = parameters(test)
    assert (uncertain.low, uncertain.high) == (0.7, 1.3)
    loops = [build(one) for one in (test, test.with_values({place: 1.3}))]
    assert np.array_equal(*(loop.parameter("coupling")["taps"] for loop in loops))
    assert not np.array_equal(*(loop.parameter("actuators")["transition"] for loop in loops))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"kinematics": {"actuators": ["a1"], "matrix": [[1.0, 0.0]]}}, "move 1 of 2 axes|cannot move 2 axes"),
        ({"kinematics": None}, "2 actuator"),
        ({"rig": {"kind": "coupled actuators", "actuators": PLANT, "specimen": {"stiffness": np.eye(2)}}}, "3 axes"),
        ({"rig": {"kind": "coupled actuators", "actuators": PLANT, "specimen": {"mass": np.eye(3)}}}, "a stiffness"),
        (
            {
                "rig": {
                    "kind": "coupled actuators",
                    "actuators": PLANT,
                    "specimen": {"stiffness": np.diag([1e5, 1e3, 0])},
                }
            },
            "nothing holds degrees of freedom among",
        ),
        (
            {
                "rig": {
                    "kind": "coupled actuators",
                    "actuators": PLANT,
                    "specimen": {"stiffness": STIFFNESS},
                    "sensors": {"stroke": [{}, {}, {}]},
                }
            },
            "3 sensors for 2 actuator",
        ),
    ],
)
def test_rigs_that_do_not_fit_are_told(changed, message):
    if changed.get("kinematics", 1) is None:
        changed = {"kinematics": None, "axes": ["x", "rz", "rz_far"], "passive": []}
    with pytest.raises((DefinitionError, ValidationError), match=message):
        definition(**changed)
