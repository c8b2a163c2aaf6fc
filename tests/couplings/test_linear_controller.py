import math

import numpy as np
import pytest
import scipy.signal

from halfreal.couplings.linear_controller import LinearController
from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop

STEP = 1e-3
PI, LEAD = (
    {"kind": "pi", "proportional": 2.0, "integral": 95.0},
    {"kind": "lead", "zero": 168.6, "pole": 8570.0},
)


def signals_step(p, s, t, u, y):
    y[0] = p.offset + math.sin(20.0 * t)
    y[1] = p.offset + 0.8 * math.sin(20.0 * t - 0.3) + 0.1 * math.sin(150.0 * t)
    return 0


def controlled(settings, offset=0.0, ticks=1500):
    """Target, measurement and command."""
    outputs = (Channel("target", "m"), Channel("measured", "m"))
    source = Block("source", signals_step, (), outputs, {"offset": offset})
    coupling = LinearController.model_validate({"kind": "linear controller", **settings})
    loop = Loop([source, coupling.block(STEP, "m", ("target",), ("measured",))], dt=STEP)
    return loop.run(ticks, record=["target", "measured", "command.asked"]).log[:, 1:].T


def tustin(numerator, denominator, signal):
    return scipy.signal.lfilter(*scipy.signal.bilinear(numerator, denominator, 1 / STEP), signal)


def test_feedback_behind_a_prefilter_is_scipys_bilinear_filters_in_series():
    target, measured, command = controlled({"feedback": [PI], "prefilter": [LEAD]})
    ahead = tustin([1 / 168.6, 1.0], [1 / 8570.0, 1.0], target)
    np.testing.assert_allclose(command, tustin([2.0, 95.0], [1.0, 0.0], ahead - measured), rtol=0, atol=1e-9)


def test_zeros_and_poles_and_polynomials_may_be_mixed_in_a_product():
    roots = {"kind": "zeros and poles", "gain": 4.0, "zeros": [-30.0], "pole_pairs": [[-50.0, 80.0]]}
    same = {"kind": "polynomials", "numerator": [0.0, 4.0, 120.0], "denominator": [1.0, 100.0, 8900.0]}
    for section in (roots, same):
        target, measured, command = controlled({"feedback": [section, PI], "feed_forward": [LEAD]})
        inner = tustin([4.0, 120.0], [1.0, 100.0, 8900.0], target - measured)
        expected = tustin([2.0, 95.0], [1.0, 0.0], inner) + tustin([1 / 168.6, 1.0], [1 / 8570.0, 1.0], target)
        np.testing.assert_allclose(command, expected, rtol=0, atol=1e-9)


def test_a_plain_gain_is_a_feed_forward_too():
    target, _, command = controlled({"feed_forward": [{"kind": "pi", "proportional": 1.25}]})
    np.testing.assert_allclose(command, 1.25 * target, rtol=1e-14)


def test_starts_where_the_target_stands():
    """But for what the feedback asks at once for the gap at the first tick."""
    _, _, command = controlled({"feedback": [PI], "prefilter": [LEAD]}, offset=7.0, ticks=1)
    assert command[0] == pytest.approx(7.0 + (2.0 + 95.0 * STEP / 2) * 0.8 * math.sin(0.3), rel=1e-12)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, "neither feedback nor feed_forward"),
        ({"prefilter": [LEAD], "feed_forward": [LEAD]}, "without feedback has no effect"),
        ({"feedback": [{"kind": "polynomials", "numerator": [1, 2], "denominator": [3]}]}, "add poles"),
        ({"feedback": [{"kind": "zeros and poles", "gain": 1, "zeros": [-1.0]}]}, "add poles"),
    ],
)
def test_what_cannot_be_a_controller_is_refused_with_its_remedy(settings, told):
    with pytest.raises(ValueError, match=told):
        LinearController.model_validate({"kind": "linear controller", **settings})
