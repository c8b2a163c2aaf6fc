"""Schemes with nonlinear elements: closed forms of Duffing's oscillator, hysteresis against adaptive integrators."""

import numpy as np
import pytest
import scipy.special
from scipy.integrate import solve_ivp

from models import loops
from models.loops import DAMPING, FORCED, MASS, NONLINEAR, STIFFNESS, run, structure

# Duffing's oscillator on degree of freedom 1; degree of freedom 2 is at rest beside it
STIFF, CUBIC, START = 100.0, 4e4, 0.1
DUFFING = {
    "mass": np.eye(2),
    "damping": np.zeros((2, 2)),
    "stiffness": np.diag([0.0, 1.0]),
    "initial_displacement": [START, 0.0],
    "elements": [{"law": {"kind": "cubic", "stiffness": STIFF, "cubic": CUBIC}, "between": [1]}],
}


def duffing_displacement(t: np.ndarray) -> np.ndarray:
    """x = a cn(ωt, m), ω² = k + k₃a², m = k₃a²/(2ω²): free vibration from rest at amplitude a."""
    omega = np.sqrt(STIFF + CUBIC * START**2)
    _, cn, _, _ = scipy.special.ellipj(omega * t, CUBIC * START**2 / (2 * omega**2))
    return START * cn


@pytest.mark.parametrize("name", NONLINEAR)
def test_order_for_duffings_oscillator(name):
    errors, first = [], 16_000 if name == "mkr-alpha" else 4000  # its errors of third order are larger
    for count in (first, 2 * first):
        found = run(structure(name, **DUFFING), 1.0 / count, count + 1)[:, 0]
        errors.append(np.max(np.abs(found - duffing_displacement(np.linspace(0, 1, count + 1)))))
    assert errors[1] < 0.01 * START
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4 if name == "rk4" else 2, abs=0.1)


def test_energy_of_duffings_oscillator_is_kept_to_second_order_by_newmark():
    largest = []
    for count in (2000, 4000):
        x, _, v, _ = run(structure("newmark", **DUFFING), 2.0 / count, count + 1).T
        energy = v**2 / 2 + STIFF * x**2 / 2 + CUBIC * x**4 / 4
        largest.append(np.max(np.abs(energy / energy[0] - 1)))
        # it swings about its first value and does not drift away from it
        assert abs(np.mean(energy[-count // 4 :]) - np.mean(energy[: count // 4])) < 0.05 * largest[-1] * energy[0]
    assert largest[1] < 1e-2
    assert np.log2(largest[0] / largest[1]) == pytest.approx(2, abs=0.1)


def forced_truth(law_state, end: float, initial: int) -> np.ndarray:
    """q1, q2, v1 at the end under both inputs, with one hysteretic element between the degrees of freedom."""
    inverse, b = np.linalg.inv(MASS), np.array([-1.0, 1.0])

    def slope(t, x):
        q, v, inner = x[:2], x[2:4], x[4:]
        force, rate = law_state(b @ q, b @ v, inner)
        outer = np.array(
            [-FORCED["force"] * np.cos(FORCED["force_omega"] * t), FORCED["amplitude"] * np.sin(FORCED["omega"] * t)]
        )
        return np.concatenate([v, inverse @ (outer - DAMPING @ v - STIFFNESS @ q - b * force), rate])

    x0 = np.zeros(4 + initial)
    return solve_ivp(slope, (0, end), x0, method="DOP853", rtol=1e-10, atol=1e-12, max_step=1e-3).y[:3, -1]


@pytest.mark.parametrize("name", NONLINEAR)
def test_bouc_wen_element_in_a_forced_structure(name):
    k, y, alpha, n = 200.0, 0.03, 0.1, 2.0

    def law_state(deformation, rate, z):
        slope = 1.0 - np.abs(z / y) ** n * (0.5 + 0.5 * np.sign(rate * z))
        return alpha * k * deformation + (1 - alpha) * k * z[0], rate * slope

    truth = forced_truth(law_state, 2.0, 1)
    law = {"kind": "bouc-wen", "stiffness": k, "yield_displacement": y, "alpha": alpha, "n": n}
    errors = []
    for count in (1000, 8000):  # far apart: where it reverses within a step is a matter of chance
        virtual = structure(name, elements=[{"law": law, "between": [1, 2]}])
        found = run(virtual, 2.0 / count, count + 1, loops.sine(**FORCED))
        errors.append(np.linalg.norm((found[-1, :3] - truth) * [10.0, 10.0, 1.0]))
    assert np.max(np.abs(found[:, 1] - found[:, 0])) > 2 * y  # it did yield
    assert np.log2(errors[0] / errors[1]) / 3 == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize("name", NONLINEAR)
def test_perfectly_plastic_block_slides_to_rest_where_the_closed_form_says(name):
    """A unit mass on an elastoplastic spring, pushed off: elastic, then decelerated by the yield force.

    It stops at v₀²/(2F) + δ_y/2 by the balance of energy, and from there swings elastically.
    """
    k, force, speed = 1e4, 20.0, 2.0
    yielding = force / k
    virtual = structure(
        name,
        mass=np.eye(2),
        damping=np.zeros((2, 2)),
        stiffness=np.diag([0.0, 1.0]),
        initial_velocity=[speed, 0.0],
        elements=[{"law": {"kind": "elastoplastic", "stiffness": k, "yield_force": force}, "between": [1]}],
    )
    found = run(virtual, 1e-5, 20001)[:, 0]
    assert np.max(found) == pytest.approx(speed**2 / (2 * force) + yielding / 2, rel=1e-4)
    # afterwards it swings by ±δ_y about its permanent set
    later = found[np.argmax(found) :]
    assert np.max(found) - np.min(later) == pytest.approx(2 * yielding, rel=1e-3)


def test_a_linear_spring_among_the_elements_is_part_of_the_stiffness():
    spring = {"law": {"kind": "linear", "stiffness": 100.0}, "between": [1, 2]}
    plain = structure("exact", stiffness=STIFFNESS + 100.0 * np.array([[1, -1], [-1, 1]]))
    first, second = (run(v, 1e-2, 100, loops.sine(**FORCED)) for v in (plain, structure("exact", elements=[spring])))
    np.testing.assert_array_equal(first, second)


def test_an_iteration_that_does_not_converge_is_a_fault_in_words():
    hard = {"law": {"kind": "cubic", "stiffness": 1.0, "cubic": 1e9}, "between": [1]}
    virtual = structure({"kind": "newmark", "iterations": 3}, elements=[hard])
    driven = loops.loop(virtual, 1e-2, loops.sine(**FORCED))
    driven.run(100)
    told = driven.describe(driven.vector[driven.index["loop.fault"]])
    assert told.startswith("block 'virtual': its deformations still change by more than 1e-10")
    assert "after 3 iterations; shorten the step" in told


def test_linearised_at_rest_a_hysteretic_element_is_its_initial_stiffness():
    law = {"kind": "bouc-wen", "stiffness": 100.0, "yield_displacement": 0.02, "amplitude": 2.0, "alpha": 0.5}
    element = {"law": law, "between": [1, 2]}
    linear = structure("newmark", stiffness=STIFFNESS + 150.0 * np.array([[1, -1], [-1, 1]]))
    matrices = []
    for virtual in (structure("newmark", elements=[element]), linear):
        driven = loops.loop(virtual, 1e-2)
        driven.run(2)
        indices, rest, size = driven.dynamic_indices(), driven.vector.copy(), 1e-8
        columns = []
        for index in indices:
            driven.vector[:] = rest
            driven.vector[index] += size
            driven.run(1)
            columns.append(driven.vector[indices] / size)
        matrices.append(np.array(columns).T)
    np.testing.assert_allclose(matrices[0], matrices[1], rtol=1e-4, atol=1e-4)
