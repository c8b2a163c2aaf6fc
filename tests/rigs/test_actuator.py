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


def respond(actuator, ticks: int = 200, command=command_step) -> np.ndarray:
    """Rows of time, displacement, velocity, acceleration, of an actuator one step behind its commands."""
    source = Block("source", command, (), (Channel("command", "m"),))
    loop = Loop([source], inner=[actuator.block(("command",), "m", H, 1, np.zeros(1))], dt=H)
    return loop.run(ticks, record=["rig.displacement", "rig.velocity", "rig.acceleration"]).log


def test_first_order_lag_follows_its_equation():
    log = respond(FirstOrder(kind="first order", time_constant=0.02))
    late = lambda t: 0.01 * np.sin(60.0 * (t - H))  # noqa: E731
    check_motion(log, 2, late, lambda t, x: [(late(t) - x[0]) / 0.02], 1e-7)


def test_second_order_follower_follows_its_equation():
    omega, zeta = 2 * np.pi * 20, 0.3
    log = respond(SecondOrder(kind="second order", frequency=20, damping=zeta))
    late = lambda t: 0.01 * np.sin(60.0 * (t - H))  # noqa: E731
    check_motion(log, 3, late, lambda t, x: [x[1], omega**2 * (late(t) - x[0]) - 2 * zeta * omega * x[1]], 1e-7)


def check_motion(log, columns, late, right, tolerance):
    """Once the start, where the command has a corner, has died out, the motion is that of the smooth command."""
    begin = 20
    times, start = log[begin:, 0], log[begin, 1:columns]
    expected = solve_ivp(right, times[[0, -1]], start, t_eval=times, rtol=1e-10, atol=1e-14).y.T
    np.testing.assert_allclose(log[begin:, 1:columns], expected, atol=60.0 * tolerance)
    rate = np.diff(expected[:, 0], 2) / H**2
    np.testing.assert_allclose(log[begin:, 3][1:-1], rate, atol=2e-3 * np.abs(rate).max())


@pytest.mark.parametrize("course", ["linear", "hold"])
def test_straight_lines_and_steps_are_integrated_exactly(course):
    """Against a command as the actuator takes it, between samples."""
    omega, zeta = 2 * np.pi * 20, 0.3
    log = respond(SecondOrder(kind="second order", frequency=20, damping=zeta, reconstruction=course), ticks=60)
    samples = 0.01 * np.sin(60.0 * H * np.arange(60))
    x, rows = np.zeros(2), [np.zeros(2)]
    for k in range(59):
        before, now = samples[max(k - 1, 0)], samples[k]
        c = (lambda t, a=before, b=now: a + (b - a) * t / H) if course == "linear" else (lambda t, b=now: b)
        right = lambda t, x, c=c: [x[1], omega**2 * (c(t) - x[0]) - 2 * zeta * omega * x[1]]  # noqa: E731
        x = solve_ivp(right, (0.0, H), x, rtol=1e-11, atol=1e-14).y[:, -1]
        rows.append(x)
    np.testing.assert_allclose(log[:, 1:3], rows, atol=1e-9)


@pytest.mark.parametrize("reconstruction", ["hold", "linear", "cubic"])
@pytest.mark.parametrize("steps", [1, 3])
def test_velocity_and_acceleration_of_a_pure_delay_hold_at_the_time_of_its_displacement(reconstruction, steps):
    log = respond(Delay(delay=steps * H, reconstruction=reconstruction))[20:]
    phase = 60.0 * (log[:, 0] - steps * H)
    np.testing.assert_allclose(log[:, 1], 0.01 * np.sin(phase), atol=1e-15)
    np.testing.assert_allclose(log[:, 2], 0.6 * np.cos(phase), atol=6e-5)
    np.testing.assert_allclose(log[:, 3], -36.0 * np.sin(phase), atol=0.15)


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
    # a specimen's mass is not pressed against a stop: it stands still there
    at_stop = np.abs(log[:, 1]) > 0.005 * (1 - 1e-9)
    standing = at_stop[2:] & at_stop[1:-1] & at_stop[:-2]
    assert standing.sum() > 5
    assert np.abs(log[2:, 2:][standing]).max() < 1e-9


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
