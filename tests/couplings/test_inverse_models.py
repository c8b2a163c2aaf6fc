"""The model inverse and the two couplings that identify one, on a rig that has one exactly."""

import math

import numpy as np
import pytest

from halfreal.couplings.model_inverse import ModelInverse
from halfreal.definition.kinds import reader
from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.models.schemes.exact import exact_method

STEP = 1 / 2048
INVERSE = np.array([0.95, 0.02, 1.2e-4, 4e-7])
"""a_0 … a_3 of the rig."""


def target_step(p, s, t, u, y):
    y[0] = p.size * (math.sin(15.0 * t) + 0.5 * math.sin(47.0 * t + 1.0) + 0.2 * math.sin(99.0 * t))
    return 0


def third_order_rig():
    """x with a₀x + a₁x˙ + a₂x¨ + a₃x⃛ = u, u held over the step."""
    a = np.diag(np.ones(2), 1)
    a[2] = -INVERSE[:3] / INVERSE[3]
    b = np.array([[0.0], [0.0], [1.0 / INVERSE[3]]])
    method = exact_method((a, b, np.eye(3)[:1], np.zeros((1, 1))), np.zeros(3), STEP, "zero")
    # the command of this tick acts over the step that begins with it
    parameters = {**method.parameters, "earlier": method.parameters["later"], "later": method.parameters["earlier"]}
    state = {**method.state, "started": 1.0}
    return Block("rig", method.step, ("command.asked",), (Channel("measured", "m"),), parameters, state)


def run(settings, *, size=1e-3, seconds=20.0, record=("target", "measured")):
    source = Block("source", target_step, (), (Channel("target", "m"),), {"size": size})
    coupling = reader("coupling").validate_python({"order": 5, **settings})
    loop = Loop([source, coupling.block(STEP, "m", ("target",), ("measured",))], [third_order_rig()], dt=STEP)
    return loop.run(round(seconds / STEP), record=list(record)).log[:, 1:]


def error(log):
    """NRMS of the gap in the last quarter."""
    target, measured = log[-len(log) // 4 :, :2].T
    return np.std(measured - target) / np.std(target)


COLD = [1.0, 0.016, 1e-4, 3e-7]
MODEL = {"kind": "adaptive model based", "range": 1.0}
SERIES = {"kind": "adaptive time series", "range": 1.0}


def cubic_step(p, s, t, u, y):
    y[0] = 0.3 + t - 2.0 * t**2 + 5.0 * t**3
    return 0


def test_the_inverse_of_a_polynomial_is_exact_half_a_step_and_the_lead_ahead():
    source = Block("source", cubic_step, (), (Channel("target", "m"),))
    coupling = ModelInverse(kind="model inverse", coefficients=INVERSE, order=3, points=12, lead=2.5e-3)
    loop = Loop([source, coupling.block(STEP, "m", ("target",), ())], dt=STEP)
    log = loop.run(200, record=["command.asked"]).log[20:]
    z = np.polynomial.Polynomial([0.3, 1.0, -2.0, 5.0])
    t = log[:, 0] + 0.5 * STEP + 2.5e-3
    expected = sum(a * (z.deriv(i) if i else z)(t) for i, a in enumerate(INVERSE))
    np.testing.assert_allclose(log[:, 1], expected, rtol=1e-7)


def test_the_right_inverse_moves_the_rig_to_the_target_and_a_wrong_one_does_not():
    assert error(run({"kind": "model inverse", "coefficients": INVERSE}, seconds=4.0)) < 5e-4
    assert error(run({"kind": "model inverse", "coefficients": COLD}, seconds=4.0)) > 0.05


@pytest.mark.parametrize("settings", [MODEL, {**SERIES, "rate": 5.0}], ids=["model", "series"])
def test_coefficients_come_to_those_of_the_rig(settings):
    record = ["target", "measured", *(f"coupling.a{i}" for i in range(4))]
    log = run({**settings, "coefficients": COLD}, record=record)
    np.testing.assert_allclose(log[-1, 2:], INVERSE, rtol=2e-3)
    assert error(log) < 1e-3


def test_a_motion_below_the_least_amplitude_teaches_nothing():
    for settings in (MODEL, SERIES):
        small = {**settings, "coefficients": COLD, "least_amplitude": 1e-4}
        log = run(small, size=1e-5, seconds=4.0, record=["coupling.a0", "coupling.a3"])
        np.testing.assert_allclose(log, np.tile([1.0, 3e-7], (len(log), 1)), rtol=1e-12)


def test_coefficients_stay_within_their_range_of_the_start():
    for settings in (MODEL, SERIES):
        log = run({**settings, "coefficients": COLD, "range": 0.01}, seconds=6.0, record=["coupling.a1"])
        assert log[-1, 0] == pytest.approx(0.016 * 1.01, rel=1e-9)


def test_coefficients_of_a_series_move_no_faster_than_their_rate():
    log = run({**SERIES, "coefficients": COLD, "rate": 0.1}, seconds=4.0, record=["coupling.a1"])
    second = round(1.0 / STEP)
    assert np.abs(log[second:, 0] - log[:-second, 0]).max() <= 0.1 * 0.016 * (1 + 1e-9)
    assert np.ptp(log[:, 0]) > 0.2 * 0.016


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"kind": "model inverse", "coefficients": INVERSE, "order": 2}, "use order 3 or more"),
        ({"kind": "model inverse", "coefficients": INVERSE, "points": 3}, "use at least 5 points"),
        ({**MODEL, "coefficients": [1.0]}, "give 2 to 4"),
        ({**SERIES, "coefficients": COLD, "order": 2}, "use order 3 or more"),
    ],
)
def test_too_little_for_the_derivatives_is_refused(settings, told):
    with pytest.raises(ValueError, match=told):
        reader("coupling").validate_python(settings)
