"""The Kalman filter of the measured displacement, and the prediction of the measured force."""

import math

import numpy as np
import pytest

import halfreal
from halfreal.couplings.force_prediction import ForcePrediction
from halfreal.couplings.kalman_filter import KalmanFilter
from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.kernels.random import normal
from halfreal.runs.loop_stability import loop_stability

STEP = 1e-3
RIG = np.array([1.05, 0.02, 2e-4])
FILTER = KalmanFilter(coefficients=RIG, command_noise=3e-4, measurement_noise=1e-4)


def noisy_rig_step(p, s, t, u, y):
    """The filter's own model with its own noises: true displacement, command, measurement."""
    command = 1e-2 * math.sin(30.0 * t)
    y[0] = s.q[0]
    y[1] = s.command
    y[2] = s.q[0] + p.measurement_noise * normal(1.0, 0.0, s.count)
    driven = command + p.command_noise * normal(1.0, 1.0, s.count)
    first = p.transition[0, 0] * s.q[0] + p.transition[0, 1] * s.q[1] + p.inputs[0] * driven
    s.q[1] = p.transition[1, 0] * s.q[0] + p.transition[1, 1] * s.q[1] + p.inputs[1] * driven
    s.q[0] = first
    s.command = command
    s.count += 1.0
    return 0


def filtered(settings, command_noise, measurement_noise, ticks=20000):
    transition, held, _ = FILTER.model(STEP)
    parameters = {"transition": transition, "inputs": held}
    rig = Block(
        "rig",
        noisy_rig_step,
        (),
        (Channel("true", "m"), Channel("command", "m"), Channel("measured", "m")),
        {**parameters, "command_noise": command_noise, "measurement_noise": measurement_noise},
        {"q": np.zeros(2), "command": 0.0, "count": 0.0},
    )
    loop = Loop([rig, settings.block(STEP, "m", ("measured",), ("command",))], dt=STEP)
    return loop.run(ticks, record=["true", "measured", "filtered.displacement"]).log[500:, 1:]


def test_the_model_is_a_rig_of_these_coefficients():
    """Its frequency response at a frequency far below the sampling rate, but for half a step of the hold."""
    transition, held, output = FILTER.model(STEP)
    w = 2 * np.pi * 3.0
    found = output @ np.linalg.solve(np.exp(1j * w * STEP) * np.eye(2) - transition, held)
    expected = np.exp(-0.5j * w * STEP) / np.polyval(RIG[::-1], 1j * w)
    assert abs(found / expected - 1.0) < 1e-4


def test_the_gain_is_what_kalmans_recursion_comes_to():
    transition, held, output = FILTER.model(STEP)
    p = np.zeros((2, 2))
    for _ in range(5000):
        p = transition @ p @ transition.T + FILTER.command_noise**2 * np.outer(held, held)
        gain = p @ output / (output @ p @ output + FILTER.measurement_noise**2)
        p = p - np.outer(gain, output) @ p
    np.testing.assert_allclose(FILTER.gain(STEP), gain, rtol=1e-9)


def test_with_noises_as_told_the_error_is_the_one_of_the_theory_and_far_below_the_sensors():
    log = filtered(FILTER, 3e-4, 1e-4)
    errors = log[:, 1:] - log[:, :1]
    expected = FILTER.measurement_noise * math.sqrt(FILTER.gain(STEP)[0])  # C P⁺ Cᵀ = L r²
    assert errors[:, 1].std() == pytest.approx(expected, rel=0.05)
    assert errors[:, 1].std() < 0.3 * errors[:, 0].std()


def test_without_noise_a_perfect_model_lags_by_nothing():
    log = filtered(FILTER, 0.0, 0.0, ticks=3000)
    np.testing.assert_allclose(log[:, 2], log[:, 0], rtol=0, atol=1e-12)


@pytest.mark.parametrize(("coefficients", "told"), [([1.0], "order 0"), ([1.0, -0.1], "stable rig")])
def test_a_model_that_filters_nothing_or_grows_is_refused(coefficients, told):
    with pytest.raises(ValueError, match=told):
        KalmanFilter(coefficients=coefficients, command_noise=1.0, measurement_noise=1.0)


def quadratic_step(p, s, t, u, y):
    y[0] = 3.0 - 20.0 * t + 400.0 * t**2
    return 0


def test_a_quadratic_force_is_predicted_exactly():
    source = Block("source", quadratic_step, (), (Channel("measured.force", "N"),))
    loop = Loop([source, ForcePrediction(prediction=1.5e-3).block(STEP, ("measured.force",))], dt=STEP)
    log = loop.run(50, record=["predicted.force"]).log[12:]
    t = log[:, 0] + 1.5e-3
    np.testing.assert_allclose(log[:, 1], 3.0 - 20.0 * t + 400.0 * t**2, rtol=1e-10)


def late_loop(**coupling):
    """A loop whose force sensor is 5 ms late, with the test of Wallace et al. (2005) around it."""
    return halfreal.Definition.model_validate(
        {
            "title": "late force",
            "timing": {"step": STEP, "duration": 1.0},
            "virtual": {"mass": 2.2, "damping": 15.0, "stiffness": 2250.0},
            "coupling": {"kind": "model inverse", "coefficients": [1.0, 0.0], "order": 1, **coupling},
            "rig": {"specimen": {"stiffness": 2250.0}, "sensors": {"force": {"delay": 6e-3}}},
        }
    )


def test_a_late_force_takes_the_loops_stability_and_its_prediction_gives_it_back():
    """6 ms and the step are beyond the 6.77 ms that this loop bears."""
    assert not loop_stability(late_loop()).linearisation.stable
    cured = loop_stability(late_loop(force_prediction={"prediction": 6e-3}))
    assert cured.linearisation.stable
