import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import halfreal
from examples.wallace2005 import definition, linearised
from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.rigs.actuator import Delay, FirstOrder, SecondOrder

H = 1e-3


def command_step(p, s, t, u, y):
    y[0] = 0.01 * math.sin(60.0 * t)
    return 0


def ramp_step(p, s, t, u, y):
    y[0] = t
    return 0


def respond(actuator, ticks: int = 200, command=command_step) -> np.ndarray:
    """Rows of time, displacement, velocity, acceleration."""
    source = Block("source", command, (), (Channel("rig.command", "m"),))
    block = actuator.block(H, "m", np.zeros(1))
    loop = Loop([source, block], dt=H)
    return loop.run(ticks, record=["rig.displacement", "rig.velocity", "rig.acceleration"]).log


def exact(right, size: int, times: np.ndarray) -> np.ndarray:
    """Against a command that is linear between its samples, as the actuator takes it."""
    samples = 0.01 * np.sin(60.0 * times)
    x, rows = np.zeros(size), [np.zeros(size)]
    for k in range(len(times) - 1):
        c = lambda t, k=k: samples[k] + (samples[k + 1] - samples[k]) * (t - times[k]) / H  # noqa: E731
        x = solve_ivp(lambda t, x, c=c: right(x, c(t)), times[k : k + 2], x, rtol=1e-11, atol=1e-14).y[:, -1]
        rows.append(x)
    return np.array(rows)


def test_first_order_lag_is_integrated_exactly():
    log = respond(FirstOrder(kind="first order", time_constant=0.02))
    expected = exact(lambda x, c: (c - x) / 0.02, 1, log[:, 0])
    np.testing.assert_allclose(log[:, 1], expected[:, 0], atol=1e-11)
    np.testing.assert_allclose(log[:, 2], (0.01 * np.sin(60 * log[:, 0]) - expected[:, 0]) / 0.02, atol=1e-9)


def test_second_order_follower_is_integrated_exactly():
    omega, zeta = 2 * np.pi * 20, 0.3
    log = respond(SecondOrder(kind="second order", frequency=20, damping=zeta))
    expected = exact(lambda x, c: np.array([x[1], omega**2 * (c - x[0]) - 2 * zeta * omega * x[1]]), 2, log[:, 0])
    np.testing.assert_allclose(log[:, 1:3], expected, atol=1e-9)


def test_pure_delay_gives_velocity_and_acceleration_of_its_motion():
    log = respond(Delay())
    np.testing.assert_allclose(log[:, 1], 0.01 * np.sin(60 * log[:, 0]), atol=1e-15)
    np.testing.assert_allclose(log[2:, 2], np.diff(log[1:, 1]) / H, atol=1e-12)
    np.testing.assert_allclose(log[2:, 3], np.diff(log[1:, 2]) / H, atol=1e-9)


@pytest.mark.parametrize(
    "actuator",
    [
        Delay(stroke=0.005, speed=0.2),
        FirstOrder(kind="first order", time_constant=0.002, stroke=0.005, speed=0.2),
        SecondOrder(kind="second order", frequency=80, damping=0.5, stroke=0.005, speed=0.2),
    ],
)
def test_stroke_and_speed_saturate(actuator):
    log = respond(actuator)
    assert np.abs(log[:, 1]).max() == pytest.approx(0.005)
    assert np.abs(np.diff(log[:, 1])).max() == pytest.approx(0.2 * H)


@pytest.mark.parametrize(
    "actuator",
    [
        Delay(speed=0.05),
        FirstOrder(kind="first order", time_constant=0.002, speed=0.05),
        SecondOrder(kind="second order", frequency=80, damping=0.5, speed=0.05),
    ],
)
def test_velocity_of_a_saturated_actuator_is_that_of_its_motion(actuator):
    log = respond(actuator)
    moving = np.abs(np.diff(log[:, 1])) > 0.999 * 0.05 * H
    assert moving.sum() > 20
    np.testing.assert_allclose(np.abs(log[1:, 2][moving]), 0.05, rtol=1e-9)


@pytest.mark.parametrize("reconstruction", ["hold", "linear", "cubic"])
def test_force_of_a_specimen_with_mass_does_not_depend_on_the_rigs_substeps(reconstruction):
    def force(substeps):
        rig = {
            "actuator": {"delay": 4e-3, "reconstruction": reconstruction},
            "specimen": {"mass": 0.2, "damping": 3.0, "stiffness": 500.0},
            "substeps": substeps,
        }
        return halfreal.rehearse(definition(rig=rig)).signals["measured.force"].values

    once = force(1)
    assert np.abs(once).max() > 1.0
    np.testing.assert_allclose(force(5), once, atol=1e-6 * np.abs(once).max())


@pytest.mark.parametrize(
    "kind",
    [{"kind": "first order", "time_constant": 5e-3}, {"kind": "second order", "frequency": 40.0, "damping": 0.7}],
)
def test_held_command_is_held_whatever_the_substeps(kind):
    radii = [
        linearised(
            definition(
                rig={"actuator": {**kind, "reconstruction": "hold"}, "specimen": {"stiffness": 1500.0}, "substeps": n}
            )
        ).spectral_radius
        for n in (1, 8)
    ]
    assert radii[0] == pytest.approx(radii[1], abs=1e-12)
