"""Couplings of many axes: the decoupling inverse in both forms, and adaptive FIR filters."""

import re

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from halfreal.couplings.adaptive_fir import AdaptiveFir
from halfreal.couplings.decoupling_inverse import DecouplingInverse, Sampled
from halfreal.definition.faults import DefinitionError
from halfreal.errors import HalfrealError
from halfreal.models.actuator_matrix import AnyActuators
from halfreal.runs.build import build
from rigs.test_coupled_actuators import PLANT, definition

DT = 1e-3
STROKES = (*(f"target.stroke.a{i}" for i in (1, 2)), *(f"rig.stroke.a{i}" for i in (1, 2)))


def plant():
    return TypeAdapter(AnyActuators).validate_python(PLANT).model()


def test_the_inverse_undoes_the_actuators_and_their_action_on_each_other():
    sampled = Sampled(plant(), DT, np.ones(2))
    taps = DecouplingInverse(kind="decoupling inverse", taps=40).fitted(sampled)
    for hz, most in ((0.5, 1e-3), (2.0, 1e-2), (5.0, 0.05)):
        z = np.exp(2j * np.pi * hz * DT)
        h = sampled.c @ np.linalg.solve(z * np.eye(len(sampled.a)) - sampled.a, sampled.b) + sampled.d / z
        w = np.tensordot(z ** -np.arange(40.0), taps, 1)
        assert np.abs(h @ w - np.eye(2)).max() < most
        assert abs(h[1, 0]) > 0.05  # what it has taken away


def error(coupling, **changed) -> np.ndarray:
    test = definition(coupling=coupling, timing={"step": DT, "duration": 2.0}, **changed)
    log = build(test).run(2000, record=STROKES).log[500:, 1:]
    return np.std(log[:, 2:] - log[:, :2], axis=0) / np.std(log[:, :2], axis=0)


def test_both_forms_follow_and_agree_on_where_they_work():
    state_space = {"kind": "decoupling inverse", "form": "state space", "effort": 1e-4, "horizon": 0.008}
    assert np.all(error(state_space) < 0.02)
    # in the pose, axes of m and rad: the same filters in other coordinates, for small rotations
    in_pose = {**definition().kinematics.model_dump(), "coupling_in": "pose"}
    inverse = {"kind": "decoupling inverse", "taps": 20}
    test = definition(coupling=inverse, kinematics=in_pose, timing={"step": DT, "duration": 2.0})
    record = ("target.x", "target.rz", "rig.pose.x", "rig.pose.rz")
    log = build(test).run(2000, record=record).log[500:, 1:]
    assert np.all(np.std(log[:, 2:] - log[:, :2], axis=0) / np.std(log[:, :2], axis=0) < 0.02)


def test_a_horizon_that_grows_is_refused():
    # three poles above no zero: the sampled actuators have a zero beyond the unit circle
    entries = [[{"gain": float(i == j), "poles": ["slow", "pair"]} for j in range(2)] for i in range(2)]
    model = {**PLANT, "entries": entries}
    short = {"kind": "decoupling inverse", "form": "state space", "effort": 1e-9, "horizon": DT, "model": model}
    with pytest.raises(HalfrealError, match=r"coupling.horizon: with 0.001 s the inverse grows"):
        build(definition(coupling=short))


@pytest.mark.parametrize("cross", [False, True])
def test_filters_adapt_to_actuators_that_are_not_as_they_are_known(cross):
    off = {**PLANT["roots"], "slow": {"frequency": 3.0, "actual": 0.8}}
    rig = {**definition().rig.model_dump(), "actuators": {**PLANT, "roots": off}}
    inverse = {"kind": "decoupling inverse", "taps": 20}
    adaptive = {"kind": "adaptive fir", "taps": 2, "spacing": 8, "covariance": 1e7, "inverse": inverse, "cross": cross}
    fixed, adapted = error(inverse, rig=rig), error(adaptive, rig=rig)
    assert fixed[0] > 0.05 and adapted[0] < 0.25 * fixed[0]
    loop = build(definition(coupling=adaptive, rig=rig))
    assert f"coupling.c{4 if cross else 2}.a2" in loop.index  # its coefficients are on record


def test_leakage_returns_to_the_start_and_bounds_hold_the_covariance():
    adaptive = {"kind": "adaptive fir", "taps": 1, "covariance": 1e7, "leakage": 50.0, "memory": 0.05}
    loop = build(definition(coupling={**adaptive, "covariance_bounds": [0.5, 2.0]}))
    loop.run(200)
    state = loop.state("coupling")
    assert np.all(state["covariance"][:, 0, 0] >= 0.4e7) and np.all(state["covariance"][:, 0, 0] <= 2.2e7)
    assert np.all(np.abs(state["theta"] - 1.0) < 1.0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"taps": 2, "coefficients": [1.0, 0.0, 0.0]}, "3 coefficients for 2 taps"),
        ({"covariance_bounds": [2.0, 1.0]}, "the lower and the upper bound"),
    ],
)
def test_filters_that_cannot_be_are_told(given, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        AdaptiveFir(**{"kind": "adaptive fir", "covariance": 1.0, **given})


@pytest.mark.parametrize(
    ("coupling", "message"),
    [
        ({"kind": "adaptive fir", "taps": 2, "covariance": [[[1.0, 2.0], [2.0, 1.0]]]}, "a negative eigenvalue"),
        ({"kind": "adaptive fir", "covariance": [[[1.0]], [[1.0]], [[1.0]]]}, "3 of them for 2 actuator"),
        ({"kind": "decoupling inverse", "band": 900.0}, "above half the sampling rate"),
        (
            {
                "kind": "decoupling inverse",
                "model": {"kind": "state space", "A": [[-9.0]], "B": [[9.0]], "C": [[1.0]]},
            },
            "a model of 1 actuator",
        ),
    ],
)
def test_couplings_that_do_not_fit_are_told(coupling, message):
    with pytest.raises((DefinitionError, ValidationError), match=message):
        definition(coupling=coupling)


def test_axes_of_different_units_are_not_mixed():
    in_pose = {**definition().kinematics.model_dump(), "coupling_in": "pose"}
    crossed = {"kind": "adaptive fir", "covariance": 1e5, "cross": True}
    with pytest.raises(HalfrealError, match=r"are in m, rad, which cannot be added"):
        build(definition(coupling=crossed, kinematics=in_pose))
