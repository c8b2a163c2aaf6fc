"""A servo-hydraulic rig with a specimen that yields, against independent integration of the same equations."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.models.excitations import silence
from halfreal.stability.linearise import linearise
from rigs.test_servo_hydraulic import ACTUATOR, SPECIMEN, STEP, rig

MASS, DAMPING, BASE = 29.13, 114.2209, 0.19e6
TICKS = 600
YIELD = 1e-3


def command_step(p, s, t, u, y):
    y[0] = p.size * math.sin(40.0 * t)
    return 0


def moved(law, substeps=4, size=3e-3):
    """Displacement and force after each step, with an element of this law."""
    parts = {**SPECIMEN, "stiffness": [[BASE]], "elements": [{"between": [1], "law": law}]}
    used = rig(specimen=parts, substeps=substeps)
    source = Block("source", command_step, (), (Channel("command", "m"),), {"size": size})
    loop = Loop(
        [source], [silence("excitation.specimen"), used.block(("command",), STEP, np.zeros(1), ideal=True)], dt=STEP
    )
    log = loop.run(TICKS, record=["rig.displacement", "rig.force"]).log[1:, 1:]
    return log[:, 0], log[:, 1]


def integrated(inner, force, start=(), size=3e-3):
    """The same by an adaptive method: ``inner(x, v, z)`` are rates of the element's own states z."""
    a = ACTUATOR

    def rates(_, s, command):
        w, wr, f, x, v, *z = s
        return [
            wr,
            a["valve_gain"] * (a["command_gain"] * command - x) - a["valve_damping"] * wr - a["valve_stiffness"] * w,
            w - a["interaction"] * v - a["leakage"] * f,
            v,
            (f - DAMPING * v - BASE * x - force(x, v, z)) / MASS,
            *inner(x, v, z),
        ]

    state, found = np.zeros(5 + len(start)), []
    state[5:] = start
    for k in range(TICKS):
        held = size * math.sin(40.0 * k * STEP)
        state = solve_ivp(rates, (0, STEP), state, args=(held,), method="RK45", rtol=1e-9, atol=1e-12).y[:, -1]
        found.append(state[[3, 2]])
    return np.array(found[: TICKS - 1]).T


def error(found, expected) -> float:
    return max(
        float(np.abs(one - other).max() / np.abs(other).max()) for one, other in zip(found, expected, strict=True)
    )


def test_an_element_that_does_not_leave_its_linear_range_changes_nothing():
    linear = moved({"kind": "linear", "stiffness": 1e6})
    for law in (
        {"kind": "bilinear", "stiffness": 1e6, "limit": 1.0},
        {"kind": "elastoplastic", "stiffness": 1e6, "yield_force": 1e9},
    ):
        assert error(moved(law), linear) < 1e-10


def test_a_cubic_spring_is_followed_with_order_two():
    law = {"kind": "cubic", "stiffness": 1e6, "cubic": 4e11}
    expected = integrated(lambda x, v, z: [], lambda x, v, z: 1e6 * x + 4e11 * x**3)
    errors = [error(moved(law, substeps), expected) for substeps in (1, 2, 4)]
    assert errors[-1] < 1e-5
    assert min(math.log2(a / b) for a, b in itertools.pairwise(errors)) > 1.8


def test_a_specimen_that_yields_is_followed():
    law = {"kind": "bouc-wen", "stiffness": 1e6, "yield_displacement": YIELD, "alpha": 0.05, "n": 2.0}

    def rate(x, v, z):
        return [v * (1.0 - (z[0] / YIELD) ** 2 * (0.5 + 0.5 * np.sign(v * z[0])))]

    expected = integrated(rate, lambda x, v, z: 1e6 * (0.05 * x + 0.95 * z[0]), start=(0.0,))
    found = moved(law)
    assert error(found, expected) < 1e-4
    assert np.abs(found[1] - BASE * found[0]).max() < 0.7 * 1.19e6 * np.abs(found[0]).max()  # far from elastic


def test_a_damper_with_a_power_of_the_speed_is_followed():
    law = {"kind": "power damper", "force": 2e3, "speed": 0.1, "alpha": 0.4}

    def force(x, v, z):
        return 2e3 * np.sign(v) * (abs(v) / 0.1) ** 0.4 if abs(v) > 1e-3 else 2e3 * 0.01**0.4 * v / 1e-3

    assert error(moved(law), integrated(lambda x, v, z: [], force)) < 1e-3


@pytest.mark.parametrize(
    "law",
    [
        {"kind": "elastoplastic", "stiffness": 1e6, "yield_force": 1e3},
        {"kind": "menegotto-pinto", "stiffness": 1e6, "yield_force": 1e3},
        {"kind": "maxwell damper", "stiffness": 1e7, "force": 2e3, "speed": 0.1, "alpha": 0.4},
        {"kind": "friction pendulum", "normal_force": 1e4, "radius": 1.0, "friction": 0.1, "slow_friction": 0.05},
        {"kind": "hook", "stiffness": 1e6, "gap": 1e-3},
    ],
    ids=lambda law: law["kind"],
)
def test_forces_converge_with_the_parts_of_a_step(law):
    coarse, fine, finest = (moved(law, substeps) for substeps in (2, 8, 64))
    assert error(fine, finest) < 0.5 * error(coarse, finest) < 0.02


def test_at_rest_it_is_linearised_with_initial_stiffness_and_damping():
    def poles(**parts):
        used = rig(specimen={**SPECIMEN, "stiffness": [[BASE]], **parts})
        source = Block("source", command_step, (), (Channel("command", "m"),), {"size": 0.0})
        block = used.block(("command",), STEP, np.zeros(1), ideal=True)
        return linearise(Loop([source], [silence("excitation.specimen"), block], dt=STEP)).eigenvalues

    def sorted_by_place(values):
        return sorted(values[np.abs(values) > 1e-9], key=lambda z: (round(z.real, 6), z.imag))

    yielding = [{"between": [1], "law": {"kind": "elastoplastic", "stiffness": 1e6, "yield_force": 1e3}}]
    expected = poles(stiffness=[[1.19e6]])
    np.testing.assert_allclose(sorted_by_place(poles(elements=yielding)), sorted_by_place(expected), atol=1e-7)
    damped = [{"between": [1], "law": {"kind": "power damper", "force": 300.0, "speed": 1.0, "alpha": 1.0}}]
    expected = poles(damping=[[DAMPING + 300.0]])
    np.testing.assert_allclose(sorted_by_place(poles(elements=damped)), sorted_by_place(expected), atol=1e-7)
