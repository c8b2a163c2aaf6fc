"""A spring and a damper without mass, against the closed form and the published recursion."""

import math

import numpy as np
import pytest

from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.models.structures.spring_damper import SpringDamper

K, C, DT = 8000.0, 800.0, 0.25e-3


def source_step(p, s, t, u, y):
    y[0] = 20.0 * math.sin(31.0 * t) + 5.0 * t
    return 0


def pushed(hold, ticks=2000):
    source = Block("source", source_step, (), (Channel("force", "N"), Channel("excitation.virtual", "N")))
    device = SpringDamper(kind="spring-damper", stiffness=K, damping=C, hold=hold)
    return Loop([source, device.block(DT, "none", ("force",))], dt=DT).run(ticks, record=["force", "target"]).log


def test_the_recursion_is_that_of_equation_12():
    log = pushed("zero")
    decay = math.exp(-K / C * DT)
    expected = np.zeros(len(log))
    for k in range(len(log) - 1):
        expected[k + 1] = decay * expected[k] - (1 - decay) / K * log[k, 1]
    np.testing.assert_allclose(log[:, 2], expected, rtol=1e-12, atol=1e-18)


def test_forces_that_are_linear_between_samples_follow_the_differential_equation():
    log = pushed("first", 40000)
    last = log[:, 0] > 5.0
    t = log[last, 0]
    # c d' + k d = −(20 sin ωt + 5 t): the steady solution
    gain = 1.0 / (K + 31j * C)
    steady = -20.0 * (gain * np.exp(31j * t)).imag - 5.0 / K * (t - C / K)
    # a sine that is linear between samples is small by (ωΔ)²/12
    np.testing.assert_allclose(log[last, 2], steady, atol=20.0 * abs(gain) * (31.0 * DT) ** 2 / 8)


def test_a_damper_is_needed():
    with pytest.raises(ValueError, match="greater than 0"):
        SpringDamper(kind="spring-damper", stiffness=K, damping=0.0)
