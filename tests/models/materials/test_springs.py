"""Elastic, elastoplastic and Bouc–Wen springs on their own: closed forms, an independent integrator, properties."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from halfreal.models.materials.law import rows
from halfreal.models.materials.uniaxial import uniaxial
from halfreal.models.structures.elements import Element, assemble
from models.materials import paths as histories

K, Y = 2000.0, 0.01
LAWS = {
    "linear": {"kind": "linear", "stiffness": K},
    "cubic": {"kind": "cubic", "stiffness": K, "cubic": 5e6},
    "bilinear": {"kind": "bilinear", "stiffness": K, "limit": Y, "outer_stiffness": 500.0},
    "elastoplastic": {"kind": "elastoplastic", "stiffness": K, "yield_force": K * Y, "hardening": 0.1},
    "bouc-wen": {"kind": "bouc-wen", "stiffness": K, "yield_displacement": Y, "alpha": 0.1, "n": 1.5},
}


def law(fields):
    return histories.law(LAWS[fields] if isinstance(fields, str) else fields)


def follow(fields, path) -> tuple[np.ndarray, np.ndarray]:
    """Forces and states along a path of deformations that starts at the origin, committed at every point."""
    chosen = law(fields)
    (code,), (p,), (s,) = rows([chosen])
    forces, states, tried = [], [], s.copy()
    for deformation in path:
        forces.append(uniaxial(code, p, s, deformation, 0.0, 0.0, tried)[0])
        s[:] = tried
        states.append(s.copy())
    return np.array(forces), np.array(states)


def cycles(amplitude: float, points: int, count: int = 2) -> np.ndarray:
    """0 → a → −a → a …, in equal increments, ending at a after the given number of full cycles."""
    corners = [0.0, *([amplitude, -amplitude] * count), amplitude]
    return np.concatenate([np.linspace(a, b, points + 1)[1:] for a, b in itertools.pairwise(corners)])


def work(path: np.ndarray, forces: np.ndarray) -> float:
    return float(np.sum(np.diff(path) * (forces[1:] + forces[:-1]) / 2))


@pytest.mark.parametrize("name", LAWS)
def test_slope_at_the_origin_is_the_initial_stiffness(name):
    small = 1e-7 * Y
    assert follow(name, [small])[0][0] / small == pytest.approx(law(name).initial_stiffness, rel=1e-6)


def test_cubic_and_bilinear_forces_at_hand_computed_points():
    np.testing.assert_allclose(follow("cubic", [0.02, -0.01])[0], [40.0 + 40.0, -20.0 - 5.0], rtol=1e-12)
    np.testing.assert_allclose(follow("bilinear", [0.005, 0.03, -0.03])[0], [10.0, 30.0, -30.0], rtol=1e-12)


def test_saturating_spring_of_wallace_et_al_2005_section_3():
    saturating = {"kind": "bilinear", "stiffness": 2250.0, "limit": 0.002}
    np.testing.assert_allclose(follow(saturating, [0.001, 0.002, 0.01, -0.5])[0], [2.25, 4.5, 4.5, -4.5], rtol=1e-12)


def test_elastoplastic_loop_has_its_closed_form():
    amplitude, slope = 4 * Y, 0.1
    path = cycles(amplitude, 40)
    forces, _ = follow("elastoplastic", path)
    peak = K * Y + slope * K * (amplitude - Y)
    assert forces[39] == pytest.approx(peak, rel=1e-12)
    # unloading is elastic over twice the yield force, then on the lower hardening line
    assert forces[40 + 9] == pytest.approx(peak - K * 2 * Y, rel=1e-12)
    assert forces[79] == pytest.approx(-peak, rel=1e-12)
    cycle = slice(39, 39 + 80 + 1)
    assert work(path[cycle], forces[cycle]) == pytest.approx(4 * K * Y * (amplitude - Y) * (1 - slope), rel=1e-12)


@pytest.mark.parametrize(("n", "accuracy"), [(1.0, 2e-5), (1.5, 2e-6), (2.0, 1e-6), (5.0, 1e-6)])
def test_bouc_wen_along_a_cycle_equals_an_adaptive_integrator(n, accuracy):
    """The kink of |z|ⁿ at zero costs accuracy where n is small, as the kernel's text says."""
    fields = {**LAWS["bouc-wen"], "n": n, "beta": 0.7, "gamma": 0.3}
    path = cycles(3 * Y, 30)  # increments of a tenth of the yield displacement
    forces, _ = follow(fields, path)
    z, before, expected = 0.0, 0.0, []
    for deformation in path:
        direction = np.sign(deformation - before)

        def slope(_, z, direction=direction):
            return 1.0 - np.abs(z / Y) ** n * (0.3 + 0.7 * np.sign(direction * z))

        z = solve_ivp(slope, (before, deformation), [z], method="DOP853", rtol=1e-10, atol=1e-14).y[0, -1]
        before = deformation
        expected.append(0.1 * K * deformation + 0.9 * K * z)
    np.testing.assert_allclose(forces, expected, rtol=0, atol=accuracy * K * Y)


def test_bouc_wen_approaches_its_ultimate_force():
    forces, _ = follow({**LAWS["bouc-wen"], "alpha": 0.0, "n": 2.0}, np.linspace(0.1 * Y, 12 * Y, 120))
    assert forces[-1] == pytest.approx(K * Y, rel=1e-6)


# --- properties -------------------------------------------------------------------------------------------------------

paths = st.lists(st.floats(-5 * Y, 5 * Y), min_size=1, max_size=12)
any_law = st.sampled_from(sorted(LAWS))


def fine(path, parts: int = 10) -> np.ndarray:
    """The path with every leg divided, as a simulation would follow it."""
    corners = [0.0, *path]
    return np.concatenate([np.linspace(a, b, parts + 1)[1:] for a, b in itertools.pairwise(corners)])


@given(any_law, paths)
def test_laws_are_odd(name, path):
    np.testing.assert_array_equal(follow(name, [-x for x in path])[0], -follow(name, path)[0])


@given(any_law, paths)
def test_evaluating_at_a_committed_point_gives_its_force_again(name, path):
    forces, states = follow(name, path)
    (code,), (p,), (tried,) = rows([law(name)])
    again = uniaxial(code, p, states[-1], path[-1], 0.0, 0.0, tried)[0]
    assert again == pytest.approx(forces[-1], rel=1e-9, abs=1e-12 * K * Y)


@given(paths)
def test_return_mapping_stays_inside_the_yield_surface(path):
    forces, states = follow("elastoplastic", path)
    hardening = law("elastoplastic").row[2]
    assert np.all(np.abs(forces - hardening * states[:, 0]) <= K * Y * (1 + 1e-12))


@given(paths)
def test_elastoplastic_response_to_a_straight_leg_does_not_depend_on_its_division(path):
    parts = 7
    np.testing.assert_allclose(
        follow("elastoplastic", path)[0],
        follow("elastoplastic", fine(path, parts))[0][parts - 1 :: parts],
        atol=1e-12 * K,
    )


@given(paths)
def test_hysteretic_force_of_bouc_wen_is_bounded(path):
    forces, _ = follow({**LAWS["bouc-wen"], "alpha": 0.0}, fine(path))
    assert np.all(np.abs(forces) <= K * Y * (1 + 1e-6))


@given(any_law, paths)
def test_an_element_never_gives_out_more_energy_than_it_took_up(name, path):
    followed = np.array([0.0, *fine(path, 100)])
    forces, _ = follow(name, followed)
    largest = float(np.max(np.abs(np.diff(followed)), initial=0.0))
    # the trapezoidal rule errs by at most K h²/8 at each kink of the force, two in a leg
    assert work(followed, forces) >= -len(path) * K * largest**2 - 1e-9 * K * Y**2


# --- settings ---------------------------------------------------------------------------------------------------------


def test_laws_read_quantities_from_a_file():
    element = Element.model_validate(
        {"law": {"kind": "cubic", "stiffness": "2 N/mm", "cubic": "3 N/mm^3"}, "between": [1, 2]},
        context={"folder": "."},
    )
    np.testing.assert_allclose(element.law.row, [2e3, 3e9], rtol=1e-12)
    np.testing.assert_array_equal(element.direction(3), [-1, 1, 0])


def test_elements_assemble_to_arrays_and_an_initial_stiffness_matrix():
    elements = assemble(
        [
            Element(law=LAWS["linear"], between=(1,)),
            Element(law={**LAWS["bouc-wen"], "amplitude": 2.0}, between=(1, 2)),
        ],
        2,
    )
    soft = K * (0.1 + 0.9 * 2.0)
    np.testing.assert_allclose(elements.stiffness, [[K + soft, -soft], [-soft, soft]], rtol=1e-12)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"law": LAWS["linear"], "between": [1, 1]}, "joins a degree of freedom to itself"),
        ({"law": {"kind": "elastoplastic", "stiffness": K, "yield_force": -1.0}, "between": [1]}, "greater than 0"),
        ({"law": {**LAWS["bouc-wen"], "beta": 0.2, "gamma": 0.9}, "between": [1]}, "at most 0.2"),
    ],
)
def test_impossible_elements_are_refused(fields, words):
    with pytest.raises(ValueError, match=words):
        Element(**fields)
