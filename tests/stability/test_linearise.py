import numpy as np
import pytest

from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.stability.linearise import Linearisation, linearise
from kernels import blocks


def closed_loop() -> Loop:
    """At rest."""
    loop = Loop([blocks.oscillator(), blocks.passing("guard", "target", "command")], outer=[blocks.lag()], dt=1e-3)
    loop.state("virtual")["x"][:] = 0.0
    return loop


def test_linear_loop_is_linearised_to_rounding_at_rest_and_closely_anywhere():
    expected = np.array(
        # force, x, v, lagged
        [
            [0.0, 0.0, 0.0, 0.0],
            [-1e-6, 1 - 9e-4, 1e-3, 0.0],
            [-1e-3, -0.9, 1.0, 0.0],
            [0.0, 0.0, 0.0, 0.0],
        ]
    )
    expected[3] = 0.1 * expected[1]
    expected[3, 3] = 0.9
    expected[0] = 10.0 * expected[3]
    loop = closed_loop()
    np.testing.assert_allclose(linearise(loop).matrix, expected, rtol=1e-14, atol=1e-15)
    loop.state("virtual")["x"][0] = 1.0
    loop.run(100)
    np.testing.assert_allclose(linearise(loop).matrix, expected, rtol=1e-8, atol=1e-8)


def test_loop_is_left_as_it_was():
    loop = closed_loop()
    loop.run(10)
    before = loop.vector.copy()
    linearise(loop, period=3)
    np.testing.assert_array_equal(loop.vector, before)


def test_period_of_three_ticks_is_the_cube_of_one():
    loop = closed_loop()
    one, three = linearise(loop), linearise(loop, period=3)
    np.testing.assert_allclose(three.matrix, np.linalg.matrix_power(one.matrix, 3), atol=1e-13)
    assert three.spectral_radius == pytest.approx(one.spectral_radius, rel=1e-12)
    np.testing.assert_allclose(np.sort(three.frequency_hz)[:2], np.sort(one.frequency_hz)[:2], rtol=1e-6)


def test_frequency_and_damping_of_a_known_pole():
    s = complex(-3.0, 40.0)
    turn = np.exp(s.real * 1e-3) * np.array([[np.cos(0.04), -np.sin(0.04)], [np.sin(0.04), np.cos(0.04)]])
    pole = Linearisation(turn, 1e-3)
    np.testing.assert_allclose(pole.frequency_hz, abs(s) / (2 * np.pi))
    np.testing.assert_allclose(pole.damping, 3.0 / abs(s))
    assert pole.stable


def tanh_step(p, s, t, u, y):
    s.x = np.tanh(2.0 * s.x)
    y[0] = s.x
    return 0


def test_nonlinear_map_is_linearised_at_its_operating_point():
    loop = Loop([Block("guard", tanh_step, (), (Channel("x", "1"),), state={"x": 0.3})], dt=1.0)
    assert linearise(loop).matrix[0, 0] == pytest.approx(2 / np.cosh(0.6) ** 2, rel=1e-9)


@pytest.mark.parametrize(("radius", "word"), [(0.9, "stable"), (1.1, "unstable"), (1.0, "on the limit")])
def test_summary_says_which_it_is(radius, word):
    assert Linearisation(np.array([[radius]]), 1e-3).summary().startswith(word)


def test_a_pole_that_alternates_is_told_beside_the_slowest_and_not_in_its_place():
    turning = 0.999 * np.array([[np.cos(0.1), np.sin(0.1)], [-np.sin(0.1), np.cos(0.1)]])
    both = np.zeros((3, 3))
    both[:2, :2], both[2, 2] = turning, -0.99999
    told = Linearisation(both, 1e-3).summary()
    assert "the slowest pole at 15.9 Hz decays as exp(-1 t/s); one at 500 Hz decays as exp(-0.01 t/s)" in told
    assert "half the sampling rate" in told
    both[2, 2] = -0.9  # decays sooner: nothing to tell
    assert Linearisation(both, 1e-3).summary().endswith("the slowest pole at 15.9 Hz decays as exp(-1 t/s)")
    both[2, 2] = -1.0
    limit = Linearisation(both, 1e-3)
    assert not limit.stable and "a pole at 500 Hz neither grows nor decays, which is half the" in limit.summary()
    both[2, 2] = -1.1
    assert Linearisation(both, 1e-3).summary().startswith("unstable: spectral radius 1.100000, a pole at 500 Hz grows")
