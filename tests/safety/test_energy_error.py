import math

import numpy as np
import pytest

from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.safety.energy_error import energy_error

DT, STIFFNESS = 1e-3, 2000.0


def spring_step(p, s, t, u, y):
    """A target, the same late by a delay as measured displacement, and a spring's force."""
    y[0] = p.amplitude * math.sin(p.omega * t)
    y[1] = p.amplitude * math.sin(p.omega * (t - p.delay))
    y[2] = p.stiffness * y[1]
    return 0


def share(amplitude: float, hertz: float, delay: float, floor: float = 1e-12) -> np.ndarray:
    """The indicator over the last whole second."""
    spring = Block(
        "spring",
        spring_step,
        (),
        (Channel("target", "m"), Channel("displacement", "m"), Channel("force", "N")),
        {"amplitude": amplitude, "omega": 2 * math.pi * hertz, "delay": delay, "stiffness": STIFFNESS},
    )
    block = energy_error(DT, 5.0, floor, ("target",), ("displacement",), ("force",))
    log = Loop([spring, block], dt=DT).run(40_000, record=["energy.error"]).log
    return log[-1000:, 1]


@pytest.mark.parametrize("amplitude", [1e-3, 0.05])
@pytest.mark.parametrize(("hertz", "delay"), [(2.0, 10e-3), (5.0, 8e-3), (2.0, -10e-3)])
def test_a_late_spring_shows_half_pi_sine_of_its_phase_lag_whatever_the_amplitude(amplitude, hertz, delay):
    found = share(amplitude, hertz, delay).mean()
    assert found == pytest.approx(0.5 * math.pi * math.sin(2 * math.pi * hertz * delay), rel=0.01)


def test_a_synchronised_spring_shows_nothing_and_a_floor_quiets_small_motions():
    assert np.abs(share(1e-3, 2.0, 0.0)).max() < 1e-12
    exchanged = 2 * STIFFNESS * 1e-3**2 * 2.0 * 5.0  # 2 k A² a cycle, over the window
    expected = 0.5 * math.pi * math.sin(2 * math.pi * 2.0 * 10e-3) / 2.0
    assert share(1e-3, 2.0, 10e-3, floor=exchanged).mean() == pytest.approx(expected, rel=0.01)
