"""Structures moved at their base, after section 2.2 of the DLR paper on hardware-in-the-loop with a shaking table."""

import numpy as np
import pytest

from halfreal.models.structures.base_excited import BaseExcited, InterfaceError
from halfreal.models.structures.beam_elements import node_dofs, uniform_beam

HZ = np.array([0.5, 3.0, 11.0, 47.0])
S = 2j * np.pi * HZ[:, None, None]


def mast(lumped=False, damping=2e-4):
    """A free beam moved at its first node in deflection and slope; damping resists deformation only."""
    beam = uniform_beam("mast", 2.0, 5, 4e3, 6.0)
    mass = np.diag(beam.mass.sum(axis=1)) if lumped else beam.mass
    if lumped:  # rotations get the inertia of half an element on either side
        for i in range(6):
            mass[2 * i + 1, 2 * i + 1] = 6.0 * 0.4**3 / 24
            mass[2 * i, 2 * i] = 2.4 if 0 < i < 5 else 1.2
    return BaseExcited(mass, damping * beam.stiffness, beam.stiffness, tuple(beam.index(node_dofs("mast", 1))))


def schur(part):
    """Dynamic stiffness as the inverse of the interface's receptance: no partition, no relative motion."""
    dynamic = S**2 * part.mass + S * part.damping + part.stiffness
    b = list(part.interface)
    return np.linalg.inv(np.linalg.inv(dynamic)[:, b][:, :, b])


def through_states(part, simplification):
    a, b, c, d = part.first_order(simplification)
    n = len(part.interface)
    answer = c @ np.linalg.solve(S * np.eye(len(a)) - a, b.astype(complex)) + d
    return answer[:, :, :n] * S + answer[:, :, n:] * S**2


def test_mass_on_a_spring_is_its_closed_form():
    m0, m, c, k = 3.0, 12.0, 40.0, 5e4
    part = BaseExcited(np.diag([m0, m]), c * np.array([[1, -1], [-1, 1]]), k * np.array([[1, -1], [-1, 1]]), (0,))
    carried = S**2 * m * (k + S * c) / (k + S * c + S**2 * m)
    np.testing.assert_allclose(part.dynamic_stiffness(HZ), S**2 * m0 + carried, rtol=1e-12)
    assert part.transmission.tolist() == [[1.0]]
    assert part.fixed_base_hz == pytest.approx(np.sqrt(k / m) / (2 * np.pi))


def test_dynamic_stiffness_is_that_of_equation_37():
    part = mast()
    np.testing.assert_allclose(part.dynamic_stiffness(HZ), schur(part), rtol=1e-7)


@pytest.mark.parametrize("simplification", ["none", "uncoupled", "inertia only"])
def test_state_space_is_the_frequency_function(simplification):
    part = mast()
    np.testing.assert_allclose(
        through_states(part, simplification), part.dynamic_stiffness(HZ, simplification), rtol=1e-8
    )


def test_state_space_of_the_paper_is_inertia_only():
    """Eqs. 31–33: from accelerations alone, with T_G in the input and M_ba M_aa⁻¹ in the output."""
    part = mast()
    a, b = list(part.free), list(part.interface)
    pairs = {"aa": (a, a), "ab": (a, b), "ba": (b, a), "bb": (b, b)}
    matrices = (part.mass, part.damping, part.stiffness)
    m, d, k = ({key: matrix[np.ix_(*pair)] for key, pair in pairs.items()} for matrix in matrices)
    found = part.first_order("inertia only")
    n, nb = len(a), len(b)
    inverse = np.linalg.inv(m["aa"])
    np.testing.assert_allclose(found[1][:, :nb], 0.0, atol=0)
    np.testing.assert_allclose(found[1][n:, nb:], np.linalg.inv(k["aa"]) @ k["ab"], rtol=0, atol=1e-11)
    output = np.hstack([k["ba"] - m["ba"] @ inverse @ k["aa"], d["ba"] - m["ba"] @ inverse @ d["aa"]])
    np.testing.assert_allclose(found[2], output, rtol=0, atol=1e-9 * np.abs(output).max())
    np.testing.assert_allclose(found[3][:, nb:], m["bb"], rtol=0, atol=1e-9 * np.abs(m["bb"]).max())


def test_slow_motion_feels_the_rigid_body():
    """6 kg/m over 2 m: mass, first moment and moment of inertia about the base."""
    expected = np.array([[12.0, 12.0], [12.0, 16.0]])
    np.testing.assert_allclose(mast().rigid_mass, expected, rtol=1e-9)
    slow = mast().dynamic_stiffness(np.array([1e-3]))[0] / (2j * np.pi * 1e-3) ** 2
    np.testing.assert_allclose(slow.real, expected, rtol=1e-5)


def test_fast_motion_feels_the_condensed_mass():
    part = mast(damping=0.0)
    fast = part.dynamic_stiffness(np.array([1e6]))[0] / (2j * np.pi * 1e6) ** 2
    np.testing.assert_allclose(fast.real, part.fast_mass, rtol=1e-4)


def error(part, simplification):
    exact = part.dynamic_stiffness(HZ)
    return float(np.abs(part.dynamic_stiffness(HZ, simplification) / exact - 1).max())


def test_simplifications_are_exact_for_lumped_masses_and_damping_by_deformation():
    assert error(mast(lumped=True), "inertia only") < 1e-6
    assert error(mast(lumped=True, damping=0.0), "uncoupled") < 1e-6


def test_a_consistent_mass_loses_part_of_its_rigid_mass():
    """What is lost is T_Gᵀ M_ab, in the row of the interface that feels it."""
    part = mast(damping=0.0)
    lost = part.transmission.T @ part.mass[np.ix_(part.free, part.interface)]
    slow = part.dynamic_stiffness(np.array([1e-3]), "inertia only")[0].real / (2 * np.pi * 1e-3) ** 2
    np.testing.assert_allclose(-slow, part.rigid_mass - lost, rtol=1e-5)
    assert lost[0, 0] / part.rigid_mass[0, 0] == pytest.approx(0.0257, abs=1e-3)


def test_leaving_out_only_the_coupling_damps_against_the_ground():
    part = mast(lumped=True, damping=2e-3)
    assert error(part, "uncoupled") > 100 * error(part, "inertia only")


def test_rigid_specimen_is_its_mass():
    """Eq. 47."""
    part = BaseExcited(np.array([[12.5]]), np.zeros((1, 1)), np.zeros((1, 1)), (0,))
    np.testing.assert_allclose(part.dynamic_stiffness(HZ), 12.5 * S**2, rtol=1e-15)
    assert [matrix.shape for matrix in part.first_order()] == [(0, 0), (0, 2), (1, 0), (1, 2)]
    assert part.rigid_mass == part.fast_mass == 12.5
    assert part.fixed_base_hz.size == 0


def test_a_structure_held_elsewhere_is_refused():
    part = mast()
    stiffness = part.stiffness.copy()
    stiffness[-2, -2] += 1e3
    with pytest.raises(InterfaceError, match=r"statically indeterminate: moving its degree of freedom . slowly by one"):
        BaseExcited(part.mass, part.damping, stiffness, part.interface)


def test_an_interface_of_two_points_is_refused():
    part = mast()
    with pytest.raises(InterfaceError, match="statically indeterminate"):
        BaseExcited(part.mass, part.damping, part.stiffness, (0, 1, 10))


def test_an_interface_that_leaves_a_rigid_motion_free_is_refused():
    part = mast()
    with pytest.raises(InterfaceError, match="more rigid degrees of freedom than the 1 of its interface"):
        BaseExcited(part.mass, part.damping, part.stiffness, (0,))


def test_more_than_six_rigid_degrees_of_freedom_are_refused():
    with pytest.raises(InterfaceError, match="an interface of 7 degrees of freedom where a rigid base has 6"):
        BaseExcited(np.eye(7), np.zeros((7, 7)), np.zeros((7, 7)), tuple(range(7)))


def test_a_free_motion_without_mass_is_refused():
    part = mast()
    mass = part.mass.copy()
    mass[-1], mass[:, -1] = 0.0, 0.0
    with pytest.raises(InterfaceError, match="has no mass"):
        BaseExcited(mass, part.damping, part.stiffness, part.interface)
