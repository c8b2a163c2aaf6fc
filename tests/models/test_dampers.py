"""Elements that depend on the rate, or flow in time, in structures: against matrices, poles, adaptive integrators."""

import numpy as np
import pytest

from halfreal.stability.linearise import linearise
from models.loops import DAMPING, FORCED, MASS, NONLINEAR, STIFFNESS, loop, run, sine, structure
from models.test_nonlinear import forced_truth

C = 3.0
BETWEEN = np.array([[1.0, -1.0], [-1.0, 1.0]])


def linearised(elements, dt):
    driven = loop(structure("newmark", elements=elements), dt)
    driven.run(1)  # the first tick gives out the initial state
    return linearise(driven)


def damper(**law):
    return [{"law": law, "between": [1, 2]}]


@pytest.mark.parametrize("name", NONLINEAR)
def test_a_linear_damper_as_an_element_is_one_in_the_matrix(name):
    law = {"kind": "power damper", "force": C, "speed": 1.0, "alpha": 1.0}
    as_element = run(structure(name, elements=damper(**law)), 0.002, 500, sine(**FORCED))
    as_matrix = run(structure(name, damping=DAMPING + C * BETWEEN), 0.002, 500, sine(**FORCED))
    # Newton's iteration is stopped where deformations are known to 1e-10, and accelerations come of them
    np.testing.assert_allclose(as_element, as_matrix, rtol=0, atol=1e-7 * np.abs(as_matrix).max())


@pytest.mark.parametrize("name", NONLINEAR)
def test_dampers_with_a_power_are_integrated_with_their_schemes_order(name):
    alpha, force, linear = 0.5, 2.0, 0.05

    def law(x, v, inner):
        speed = max(abs(v), linear)
        return force * speed**alpha * v / speed, []

    element = damper(kind="power damper", force=force, speed=1.0, alpha=alpha, linear_below=linear)
    truth, errors = forced_truth(law, 1.0, 0), []
    for count in (500, 1000, 2000):
        found = run(structure(name, elements=element), 1.0 / count, count + 1, sine(**FORCED))[-1, :3]
        errors.append(float(np.abs(found - truth).max()))
    assert errors[-1] < 3e-3 * np.abs(truth).max()
    # these take the rate of the step's end as foreseen, and correct it with the damping at rest alone
    expected = 1.0 if name in ("central difference", "kr-alpha", "mkr-alpha") else 2.0
    assert np.log2(errors[0] / errors[2]) / 2 > expected - 0.1


@pytest.mark.parametrize("name", [name for name in NONLINEAR if name != "rk2"])
def test_a_maxwell_damper_is_integrated_with_its_schemes_order(name):
    k, c = 60.0, 4.0

    def law(x, v, inner):
        return inner[0], [k * v - k / c * inner[0]]

    element = damper(kind="maxwell damper", stiffness=k, force=c, speed=1.0)
    truth, errors = forced_truth(law, 1.0, 1), []
    for count in (500, 1000, 2000):
        found = run(structure(name, elements=element), 1.0 / count, count + 1, sine(**FORCED))[-1, :3]
        errors.append(float(np.abs(found - truth).max()))
    assert errors[-1] < 1e-3 * np.abs(truth).max()
    assert np.log2(errors[0] / errors[2]) / 2 > 1.5


def test_poles_of_a_structure_with_a_maxwell_damper_are_those_of_its_equations():
    k, c, dt = 60.0, 4.0, 2e-4
    inverse, b = np.linalg.inv(MASS), np.array([-1.0, 1.0])
    exact = np.block(
        [
            [np.zeros((2, 2)), np.eye(2), np.zeros((2, 1))],
            [-inverse @ STIFFNESS, -inverse @ DAMPING, -(inverse @ b)[:, None]],
            [np.zeros((1, 2)), k * b[None], np.array([[-k / c]])],
        ]
    )
    element = damper(kind="maxwell damper", stiffness=k, force=c, speed=1.0)
    found = linearised(element, dt).continuous
    for pole in np.linalg.eigvals(exact):
        assert np.abs(found - pole).min() < 1e-4 * abs(pole)


def test_a_locked_damper_is_a_spring_at_rest():
    """With α < 1 it does not flow under small forces: what it has flowed before is held, as a permanent set is."""
    element = damper(kind="maxwell damper", stiffness=60.0, force=4.0, speed=1.0, alpha=0.5)
    spring = [{"law": {"kind": "elastoplastic", "stiffness": 60.0, "yield_force": 1e9}, "between": [1, 2]}]
    np.testing.assert_allclose(linearised(element, 1e-3).eigenvalues, linearised(spring, 1e-3).eigenvalues, atol=1e-9)


def test_poles_of_a_structure_with_an_mr_damper_are_those_of_its_equations_about_rest():
    """About rest z = A (x − y): what is left is a spring and dampers."""
    alpha, c0, c1, k0, k1, a, dt = 0.5, 2.0, 20.0, 3.0, 5.0, 200.0, 2e-4
    share, inner = c1 / (c0 + c1), (alpha * a + k0) / (c0 + c1)
    inverse, b = np.linalg.inv(MASS), np.array([-1.0, 1.0])
    on_x, on_v, on_y = share * (alpha * a + k0) + k1, share * c0, -share * (alpha * a + k0)
    exact = np.block(
        [
            [np.zeros((2, 2)), np.eye(2), np.zeros((2, 1))],
            [
                -inverse @ (STIFFNESS + on_x * BETWEEN),
                -inverse @ (DAMPING + on_v * BETWEEN),
                -(inverse @ b)[:, None] * on_y,
            ],
            [inner * b[None], c0 / (c0 + c1) * b[None], np.array([[-inner]])],
        ]
    )
    law = {"alpha": alpha, "c0": c0, "c1": c1, "k0": k0, "k1": k1, "beta": 1e4, "gamma": 1e4, "amplitude": a}
    found = linearised(damper(kind="mr damper", **law), dt).continuous
    for pole in np.linalg.eigvals(exact):
        assert np.abs(found - pole).min() < 1e-3 * abs(pole)
