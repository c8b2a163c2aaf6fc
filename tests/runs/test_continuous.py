"""The continuous limit: closed forms, and what the code that runs tends to."""

import numpy as np
import pytest

import halfreal
from examples.wallace2005 import GALLERY, KS, C, K, M, definition
from halfreal.contracts.context import OPEN_LOOP
from halfreal.couplings.forward_prediction import weights
from halfreal.runs.continuous import continuous_loop
from halfreal.stability.bare_loop import ContinuousLimitError
from halfreal.stability.open_loop import open_loop

OMEGA = 2 * np.pi * np.array([1.0, 5.0, 7.0, 20.0])
SPRING = {"stiffness": KS}
FULL = {"stiffness": KS, "damping": 6.0, "mass": 0.4}


def rig(actuator: dict, specimen: dict) -> dict:
    return {"actuator": {"delay": 9e-3, "reconstruction": "cubic", **actuator}, "specimen": specimen}


def opened(test):
    loop = halfreal.build(test, OPEN_LOOP)
    loop.run(4)
    return open_loop(loop)


def test_spring_on_an_oscillator_has_the_closed_form():
    loop = continuous_loop(definition())
    s = 1j * OMEGA
    np.testing.assert_allclose(loop.open_loop.response(OMEGA)[:, 0, 0], KS / (M * s**2 + C * s + K), rtol=1e-12)
    assert (loop.delay, loop.weights.tolist(), loop.step, loop.caveats) == (9.4e-3, [1.0], 1e-3, ())


def test_specimen_with_mass_and_an_actuator_have_the_closed_form():
    omega_a, zeta = 2 * np.pi * 20.0, 0.7
    actuator = {"kind": "second order", "frequency": 20.0, "damping": zeta}
    s = 1j * OMEGA
    exact = (0.4 * s**2 + 6.0 * s + KS) / (M * s**2 + C * s + K) * omega_a**2
    exact /= s**2 + 2 * zeta * omega_a * s + omega_a**2
    loop = continuous_loop(definition(rig=rig(actuator, FULL)))
    np.testing.assert_allclose(loop.open_loop.response(OMEGA)[:, 0, 0], exact, rtol=1e-11)
    assert loop.open_loop.d.item() == 0.0


def test_mass_behind_a_pure_delay_is_a_direct_term():
    loop = continuous_loop(definition(rig=rig({}, FULL))).open_loop
    assert loop.d.item() == pytest.approx(0.4 / M, rel=1e-14)
    assert loop.response(1e6)[0, 0, 0] == pytest.approx(0.4 / M, rel=1e-4)


@pytest.mark.parametrize(
    ("actuator", "specimen", "order"),
    [
        ({"kind": "delay"}, SPRING, 2),
        ({"kind": "first order", "time_constant": 4e-3}, {"stiffness": KS, "damping": 6.0}, 2),
        ({"kind": "second order", "frequency": 20.0, "damping": 0.7}, FULL, 2),
        ({"kind": "delay"}, FULL, 2),
    ],
    ids=["delay", "first order", "second order with a mass", "delay with a mass"],
)
def test_running_code_tends_to_it(actuator, specimen, order):
    tests = [definition(step=dt, rig=rig(actuator, specimen)) for dt in (1e-3, 5e-4)]
    errors = [
        np.abs(opened(test).response(OMEGA) / continuous_loop(test).response(OMEGA) - 1.0).max() for test in tests
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.1)


@pytest.mark.parametrize("kind", ["forward prediction", "adaptive forward prediction"])
def test_predictor_is_the_one_that_runs(kind):
    test = definition(step=1e-3, delay=9e-3, coupling={"kind": kind, "prediction": 5e-3, "order": 2})
    loop = continuous_loop(test)
    np.testing.assert_allclose(loop.weights, weights(2, 12, 5.0), rtol=1e-14)
    assert bool(loop.caveats) == kind.startswith("adaptive")
    np.testing.assert_allclose(opened(test).response(OMEGA), loop.response(OMEGA), rtol=2e-3)


@pytest.mark.parametrize(
    "virtual",
    [
        {"kind": "modes", "frequency": np.sqrt(K / M) / 2 / np.pi, "damping": C / 2 / np.sqrt(K * M), "mass": M,
         "interface": 1.0},
        {"kind": "state space", "A": [[0.0, 1.0], [-K / M, -C / M]], "B": [[0.0, 0.0], [1 / M, -1 / M]],
         "C": [[1.0, 0.0]]},
    ],
    ids=lambda virtual: virtual["kind"],
)  # fmt: skip
def test_modes_and_state_space_are_the_same_oscillator(virtual):
    test = definition(virtual=virtual, rig=rig({}, FULL), reference=None, excitation={})
    np.testing.assert_allclose(
        continuous_loop(test).response(OMEGA),
        continuous_loop(definition(rig=rig({}, FULL))).response(OMEGA),
        rtol=1e-12,
    )


def test_two_axes_and_linear_elements_agree_with_the_running_code():
    virtual = {"mass": [[2.0, 0], [0, 3.0]], "stiffness": [[5e3, -2e3], [-2e3, 4e3]], "interface": [1, 2]}
    elements = [{"law": {"kind": "cubic", "stiffness": 400.0, "cubic": 1e6}, "between": [1, 2]}]
    specimen = {"stiffness": [[500.0, -100.0], [-100.0, 300.0]], "elements": elements}
    test = definition(virtual=virtual, rig=rig({}, specimen), excitation={})
    loop = continuous_loop(test)
    assert "initial stiffness" in loop.caveats[0]
    np.testing.assert_allclose(opened(test).response(OMEGA[:3]), loop.response(OMEGA[:3]), rtol=2e-3)


def test_what_is_not_known_is_told():
    direct = {"kind": "state space", "A": [[-1.0]], "B": [[0.0, -1.0]], "C": [[1.0]], "D": [[0.0, -1.0]]}
    more = {"excitation": {}, "reference": None}
    with pytest.raises(ContinuousLimitError, match=r"grow without bound.*halfreal check"):
        continuous_loop(definition(virtual=direct, rig=rig({}, FULL), **more))
    proper = rig({"kind": "second order", "frequency": 20.0, "damping": 0.7}, FULL)
    assert continuous_loop(definition(virtual=direct, rig=proper, **more)).open_loop.d.item() != 0.0


def test_parts_that_users_write_have_no_known_limit():
    test = halfreal.load(GALLERY.parent / "user_functions" / "friction.toml")
    with pytest.raises(ContinuousLimitError, match=r"of kind 'user' is not known.*halfreal check"):
        continuous_loop(test)
