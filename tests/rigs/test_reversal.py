"""Friction and backlash of simulated actuators against closed forms, and what a check makes of them."""

import math

import numpy as np
import pytest
from scipy.optimize import fsolve

import halfreal
from examples.wallace2005 import KS, C, K, M, definition, linearised
from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.rigs.actuator import Delay, FirstOrder, SecondOrder
from halfreal.rigs.reversal import describing_function, lag_deg, ratio_of_lag

A = 0.01


def sine_step(p, s, t, u, y):
    y[0] = p.amplitude * math.sin(p.omega * t)
    return 0


def ramp_step(p, s, t, u, y):
    y[0] = p.speed * t
    return 0


def moved(actuator, command, ticks: int, dt: float = 1e-3, **parameters: float) -> np.ndarray:
    """Rows of time, delayed command, displacement, velocity, acceleration."""
    source = Block("source", command, (), (Channel("command", "m"),), parameters)
    loop = Loop([source], inner=[actuator.block(("command",), "m", dt, 1, np.zeros(1))], dt=dt)
    channels = ["rig.command", "rig.displacement", "rig.velocity", "rig.acceleration"]
    return loop.run(ticks, record=channels).log


def over_a_sine(actuator, hz: float, periods: int, dt: float = 1e-3) -> np.ndarray:
    """The last period of a sine."""
    count = round(1.0 / (hz * dt))
    return moved(actuator, sine_step, periods * count, dt, amplitude=A, omega=2 * np.pi * hz)[-count:]


@pytest.mark.parametrize("ratio", [0.02, 0.3, 0.7, 0.95])
@pytest.mark.parametrize("key", ["friction", "backlash"])
def test_a_pure_delay_has_the_describing_function_of_play(ratio, key):
    lost = {key: ratio * A * (2.0 if key == "backlash" else 1.0)}
    log = over_a_sine(Delay(**lost), 1.0, 3)
    found = np.fft.fft(log[:, 2])[1] / np.fft.fft(log[:, 1])[1]
    assert found == pytest.approx(describing_function(ratio), abs=2e-4)
    stands = log[:, 3] == 0.0
    assert np.all(np.diff(log[:, 2])[stands[1:]] == 0.0) and stands.any()
    np.testing.assert_allclose(log[1:, 3][~stands[1:]], np.gradient(log[:, 1], 1e-3)[1:][~stands[1:]], atol=2e-4)


def test_the_lag_of_play_rises_from_0_to_90_degrees():
    assert lag_deg(0.0) == pytest.approx(0.0, abs=1e-12)
    assert lag_deg(1.0) == 90.0
    assert lag_deg(ratio_of_lag(20.0)) == pytest.approx(20.0)


def test_friction_of_the_first_order_adds_its_error_to_a_ramp_and_takes_the_work_of_play_out_of_slow_motion():
    slow = FirstOrder(kind="first order", time_constant=0.01, friction=1e-3)
    ramp = moved(slow, ramp_step, 600, speed=0.05)
    np.testing.assert_allclose((ramp[:, 1] - ramp[:, 2])[300:], 0.01 * 0.05 + 1e-3, rtol=1e-9)
    assert not ramp[:20, 2].any(), "it moves before its command is 1 mm ahead"
    np.testing.assert_allclose(ramp[300:, 3], 0.05, rtol=1e-9)
    log = over_a_sine(FirstOrder(kind="first order", time_constant=1e-5, friction=1e-3), 1.0, 2)
    area = abs(np.sum(log[:, 1] * log[:, 3])) * 1e-3  # ∮ c dx of play, 4 b (A − b)
    assert area == pytest.approx(4 * 1e-3 * (A - 1e-3), rel=2e-3)


@pytest.mark.parametrize(("beta", "friction"), [(0.8, 1e-3), (0.7, 2e-3), (1.3, 2e-3)])
def test_friction_of_the_second_order_gives_den_hartogs_amplitude(beta, friction):
    """J. P. Den Hartog, Trans. ASME 53 (1931) APM-107: forced vibration with Coulomb friction, without stops."""
    follower = SecondOrder(kind="second order", frequency=10.0, damping=1e-6, friction=friction)
    dt = 1.0 / (4000 * beta)
    log = over_a_sine(follower, 10.0 * beta, 120, dt)
    static = 1.0 / (1.0 - beta**2)
    stop = np.sin(np.pi / beta) / (beta * (1.0 + np.cos(np.pi / beta)))
    expected = np.sqrt((A * static) ** 2 - (friction * stop) ** 2)
    assert np.abs(log[:, 2]).max() == pytest.approx(expected, rel=2e-3)


def test_friction_holds_the_second_order_at_rest():
    log = over_a_sine(SecondOrder(kind="second order", frequency=10.0, damping=0.5, friction=A), 1.0, 2)
    assert not log[:, 2:].any()


def late(delay: float, friction: float, step: float = 5e-4):
    rig = {"actuator": {"kind": "delay", "delay": delay, "friction": friction}, "specimen": {"stiffness": KS}}
    pulse = {"kind": "pulse", "displacement": 2e-3, "duration": 0.1}
    return definition(step=step, timing={"step": step, "duration": 12.0}, excitation={"virtual": pulse}, rig=rig)


def test_the_limit_cycle_of_the_rehearsal_is_that_of_the_describing_function_and_of_the_check():
    """m s² + c s + k + k_s N(A) e^(−sτ) = 0."""
    half, delay = 1e-4, 4e-3
    test = late(delay, half)
    run = halfreal.rehearse(test)
    last = run.signals["command"].values[-4000:]
    up = np.flatnonzero(np.diff(np.sign(last)) > 0)

    def balance(unknown):
        omega, amplitude = unknown
        spring = KS * describing_function(half / amplitude) * np.exp(-1j * omega * delay)
        left = K - M * omega**2 + 1j * C * omega + spring
        return [left.real, left.imag]

    omega, amplitude = fsolve(balance, [44.0, 1e-3])
    assert (len(up) - 1) / (5e-4 * (up[-1] - up[0])) == pytest.approx(omega / (2 * np.pi), rel=2e-3)
    assert np.sqrt(2) * np.std(last) == pytest.approx(amplitude, rel=5e-3)
    answer = halfreal.check(test)
    told = next(finding for finding in answer.findings if "at a reversal" in finding.text)
    assert (
        "consume the phase margin" in told.text and "poles and margins are those of the actuator without" in told.text
    )
    about = half / ratio_of_lag(told.limit)  # of the lag alone: that |N| < 1 helps is left out
    assert amplitude < about < 1.2 * amplitude


def test_poles_are_those_without_friction_and_a_test_that_friction_swallows_is_no_go():
    plain, rough = late(4e-3, 0.0, 1e-3), late(4e-3, 1e-4, 1e-3)
    np.testing.assert_array_equal(linearised(rough).matrix, linearised(plain).matrix)
    assert rough.rig.nonlinearities == ("rig.actuator: friction",)
    answer = halfreal.check(late(4e-3, 5e-3, 1e-3))
    assert answer.verdict != "GO"
