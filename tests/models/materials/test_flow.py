"""Laws that are integrated, against independent integrators and closed forms, with their orders of convergence."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.special import gamma as gamma_function

from halfreal.models.materials.law import rows
from halfreal.models.materials.maxwell_damper import settled
from halfreal.models.materials.uniaxial import uniaxial
from models.materials.laws import LAWS, SPENCER
from models.materials.paths import along, follow, law

K, Y, ALPHA, N = 2e3, 0.01, 0.05, 2.0


def orders(errors: list[float]) -> list[float]:
    return [float(np.log2(a / b)) for a, b in itertools.pairwise(errors)]


def test_degrading_bouc_wen_follows_its_equations():
    fields, _ = LAWS["bouc-wen, degrading"]
    corners = Y * np.array([3.0, -3.0, 4.0, 2.0, 3.5, -4.0])

    def slopes(_, x, d):
        z, e = x
        amplitude, nu, eta = 1.0 - 0.005 * e, 1.0 + 0.03 * e, 1.0 + 0.02 * e
        dz = (amplitude - nu * abs(z / Y) ** N * (0.5 + 0.5 * np.sign(d * z))) / eta
        return [d * dz, d * (1.0 - ALPHA) * z / Y**2]

    x, before, expected = np.zeros(2), 0.0, []
    for corner in corners:
        d = np.sign(corner - before)
        x = solve_ivp(slopes, (0.0, abs(corner - before)), x, args=(d,), method="DOP853", rtol=1e-11, atol=1e-14).y[
            :, -1
        ]
        expected.append(ALPHA * K * corner + (1.0 - ALPHA) * K * x[0])
        before = corner
    errors = []
    for points in (15, 30, 60):
        found = follow(fields, along(corners, points))[0][points - 1 :: points]
        errors.append(float(np.abs(found - expected).max()))
    assert errors[1] < 1e-5 * K * Y
    assert min(orders(errors)) > 1.8  # the kink of |z|ⁿ at zero, met anywhere within a part, costs the order of four
    sound = {key: value for key, value in fields.items() if not key.startswith("degrading")}
    assert abs(expected[-1]) < 0.9 * abs(follow(sound, along(corners, 30))[0][-1])  # it has weakened


def spencer(amplitude: float, hz: float, until: float) -> np.ndarray:
    """Force of the paper's equations at the end of a sine, by an adaptive integrator."""
    p, w = SPENCER, 2 * np.pi * hz

    def inner(t, y, z):
        x, v = amplitude * np.sin(w * t), amplitude * w * np.cos(w * t)
        return x, v, (p["alpha"] * z + p["c0"] * v + p["k0"] * (x - y)) / (p["c0"] + p["c1"])

    def slopes(t, state):
        y, z = state
        _, v, y_rate = inner(t, y, z)
        slip = v - y_rate
        return [y_rate, p["amplitude"] * slip - p["gamma"] * abs(slip) * z * abs(z) - p["beta"] * slip * z * z]

    y, z = solve_ivp(slopes, (0.0, until), [0.0, 0.0], method="LSODA", rtol=1e-10, atol=1e-13).y[:, -1]
    x, _, y_rate = inner(until, y, z)
    return p["c1"] * y_rate + p["k1"] * x


def test_the_mr_damper_follows_its_equations_with_order_two():
    amplitude, hz, until = 0.015, 2.5, 0.53
    (code,), (p,), (first,) = rows([law(SPENCER)])
    expected, errors = spencer(amplitude, hz, until), []
    for steps in (1060, 2120, 4240):
        s, tried, dt = first.copy(), first.copy(), until / steps
        for k in range(1, steps + 1):
            phase = 2 * np.pi * hz * k * dt
            x, v = amplitude * np.sin(phase), amplitude * 2 * np.pi * hz * np.cos(phase)
            force = uniaxial(code, p, s, x, v, dt, tried)[0]
            s[:] = tried
        errors.append(abs(force - expected) / abs(expected))
    assert errors[0] < 1e-3
    assert min(orders(errors)) > 1.8


def test_a_linear_maxwell_damper_relaxes_exponentially():
    k, c = 2e6, 1e5
    fields = {"kind": "maxwell damper", "stiffness": k, "force": c * 0.1, "speed": 0.1}
    errors = []
    for steps in (50, 100, 200):
        dt = 0.1 / steps
        ramp = follow(fields, 0.05 * np.arange(1, steps + 1) * dt, dt)[0]
        exact = c * 0.05 * (1.0 - np.exp(-k / c * 0.1))
        errors.append(abs(ramp[-1] - exact) / exact)
    assert errors[-1] < 1e-4
    assert min(orders(errors)) > 1.9


@pytest.mark.parametrize("alpha", [0.3, 1.7])
def test_a_maxwell_damper_with_a_power_follows_its_equation(alpha):
    k, force, speed, w = 2e6, 2e4, 0.3, 2 * np.pi * 2.0
    fields = {"kind": "maxwell damper", "stiffness": k, "force": force, "speed": speed, "alpha": alpha}

    def rate(t, f):
        return k * (0.02 * w * np.cos(w * t) - speed * np.sign(f) * (np.abs(f) / force) ** (1 / alpha))

    exact = solve_ivp(rate, (0.0, 0.7), [0.0], method="Radau", rtol=1e-10, atol=1e-6).y[0, -1]
    errors = []
    for steps in (700, 1400, 2800):
        dt = 0.7 / steps
        errors.append(
            abs(follow(fields, 0.02 * np.sin(w * np.arange(1, steps + 1) * dt), dt)[0][-1] - exact) / abs(exact)
        )
    assert errors[-1] < 1e-4
    assert min(orders(errors)) > 1.7


@given(st.floats(0.05, 3.0), st.floats(-8, 8), st.floats(-8, 8), st.sampled_from([-1.0, 1.0]))
def test_the_iterations_of_a_maxwell_damper_leave_no_residual(alpha, stiff, size, sign):
    p, h = np.array([10.0**stiff, 1.0, 1.0, alpha]), 1.0
    right = sign * 10.0**size
    f = settled(p, h, right)
    left = f + h * p[0] * np.sign(f) * abs(f) ** (1 / alpha)
    assert left == pytest.approx(right, rel=1e-12 + 1e-14 / alpha)


def test_the_energy_of_a_power_damper_in_a_cycle_has_its_closed_form():
    fields, _ = LAWS["power damper"]
    alpha, amplitude, w, points = 0.3, 0.02, 2 * np.pi, 20000
    t = np.arange(points + 1) / points
    x = amplitude * np.sin(w * t)
    force = follow(fields, x[1:], 1.0 / points)[0]
    work = float(np.sum(np.diff(x) * force))
    peak = 2e4 * (amplitude * w / 0.3) ** alpha
    expected = 2 ** (alpha + 2) * gamma_function(1 + alpha / 2) ** 2 / gamma_function(2 + alpha) * peak * amplitude
    assert work == pytest.approx(expected, rel=1e-4)


def test_a_pendulum_slides_under_the_friction_of_its_velocity():
    fields, _ = LAWS["friction pendulum"]
    weight, radius = 1e5, 2.0
    for speed in (0.005, 0.04, 0.4):
        x = np.linspace(0.0, 0.05, 501)[1:]
        force, tangent = follow(fields, x, x[0] / speed)
        friction = 0.08 - 0.05 * np.exp(-speed / 0.04)
        np.testing.assert_allclose(force[-100:], weight * (x[-100:] / radius + friction), rtol=1e-12)
        np.testing.assert_allclose(tangent[-100:], weight / radius, rtol=1e-12)
