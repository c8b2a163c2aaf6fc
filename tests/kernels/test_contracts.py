"""The loop serves what is not displacement control with one exchange a step, with blocks alone."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from halfreal.kernels.block import Block, channels
from halfreal.kernels.loop import Loop

M, K, KS = 2.0, 800.0, 1200.0


def held_step(p, s, t, u, y):
    y[0] = u[0]
    return 0


def force_out_step(p, s, t, u, y):
    """Displacement in, force out: the numerical side is a spring, the rig a mass under force control."""
    y[0] = -p.k * u[0]
    return 0


def mass_rig_step(p, s, t, u, y):
    s.v += p.dt * u[0] / p.m
    s.x += p.dt * s.v
    y[0] = s.x
    return 0


def test_force_control_takes_a_displacement_and_returns_a_force():
    dt, omega = 1e-4, np.sqrt(K / M)
    virtual = Block("virtual", force_out_step, ("measured.displacement",), channels("target", "N", 1), {"k": K})
    guard = Block("guard", held_step, ("target",), channels("command", "N", 1))
    rig = Block(
        "rig",
        mass_rig_step,
        ("command",),
        channels("measured.displacement", "m", 1),
        {"dt": dt, "m": M},
        {"x": 0.01, "v": 0.0},
        initial=(0.01,),
    )
    log = Loop([virtual, guard], outer=[rig], dt=dt).run(5000, record=["measured.displacement"]).log
    np.testing.assert_allclose(log[:, 1], 0.01 * np.cos(omega * log[:, 0]), atol=2e-5)


def stages_step(p, s, t, u, y):
    """Heun's method with one exchange a stage: a tick is an exchange, two ticks are a step.

    The rig answers the displacement of the last exchange; u[0] is its restoring force.
    """
    if s.stage == 0.0:  # u[0] is the force at the step's beginning
        s.a = -(p.k * s.x + u[0]) / p.m
        y[0] = s.x + p.h * s.v
        s.stage = 1.0
    else:  # u[0] is the force at the predicted end
        end = -(p.k * (s.x + p.h * s.v) + u[0]) / p.m
        s.x += p.h * s.v + 0.5 * p.h * p.h * s.a
        s.v += 0.5 * p.h * (s.a + end)
        y[0] = s.x
        s.stage = 0.0
    return 0


def spring_rig_step(p, s, t, u, y):
    y[0] = p.k * u[0]
    return 0


def heun(h: float, steps: int) -> tuple[float, float]:
    virtual = Block(
        "virtual",
        stages_step,
        ("measured.force",),
        channels("target", "m", 1),
        {"h": h, "m": M, "k": K},
        {"x": 0.01, "v": 0.0, "a": 0.0, "stage": 0.0},
        frozen=("stage",),
    )
    guard = Block("guard", held_step, ("target",), channels("command", "m", 1))
    rig = Block(
        "rig", spring_rig_step, ("command",), channels("measured.force", "N", 1), {"k": KS}, initial=(KS * 0.01,)
    )
    loop = Loop([virtual, guard], outer=[rig], dt=h / 2)
    loop.run(2 * steps)
    state = loop.state("virtual")
    return float(state["x"]), float(state["v"])


def test_several_exchanges_within_a_step_keep_the_order_of_a_runge_kutta_method():
    omega = np.sqrt((K + KS) / M)
    exact = solve_ivp(lambda t, x: (x[1], -(omega**2) * x[0]), (0, 1), (0.01, 0.0), rtol=1e-12, atol=1e-14).y[:, -1]
    errors = [np.linalg.norm((np.array(heun(1 / n, n)) - exact) / (1, omega)) for n in (400, 800)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)
