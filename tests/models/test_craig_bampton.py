"""Craig–Bampton reduction: what it must keep exactly, how it converges, and what it refuses."""

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

from halfreal.models.structures.beam_elements import node_dofs, uniform_beam
from halfreal.models.structures.craig_bampton import ReductionError, boundary_modes, craig_bampton, reduced
from halfreal.models.structures.joints import spring
from halfreal.models.structures.substructure import Substructure, couple
from models.beam_rig import rig

LENGTH, EI, RHO_A = 0.7, 44.8, 1.256
CANTILEVER = uniform_beam("b", LENGTH, 20, EI, RHO_A).held(*node_dofs("b", 1))
TIP = node_dofs("b", 21)


def test_statics_are_exact_at_the_boundary_and_follow_the_whole_inside():
    small, reduction = reduced(CANTILEVER, "b", TIP, 3)
    load = np.array([5.0, -0.3])
    whole = np.linalg.solve(CANTILEVER.stiffness, CANTILEVER.selection(TIP).T @ load)
    found = np.linalg.solve(small.stiffness, small.selection(TIP).T @ load)
    assert found[0] == pytest.approx(5.0 * LENGTH**3 / (3 * EI) - 0.3 * LENGTH**2 / (2 * EI), rel=1e-9)
    np.testing.assert_allclose(reduction.transformation @ found, whole, rtol=1e-7)
    np.testing.assert_allclose(found[2:], 0.0, atol=1e-9)  # modes take no part in statics


def test_stiffness_falls_apart_into_boundary_and_modes():
    """The form the method is known by: K̄ = diag(K_b, ω²) and a unit mass of the modes."""
    small, reduction = reduced(CANTILEVER, "b", TIP, 4)
    np.testing.assert_allclose(small.mass[2:, 2:], np.eye(4), atol=1e-10)
    omega = 2 * np.pi * reduction.fixed_interface_hz
    np.testing.assert_allclose(small.stiffness[2:, 2:], np.diag(omega**2), atol=1e-9 * omega[-1] ** 2)
    np.testing.assert_allclose(small.stiffness[:2, 2:], 0.0, atol=1e-9 * np.abs(small.stiffness).max())
    # held at its tip too, a cantilever is a clamped–clamped beam: cos βL cosh βL = 1
    first = scipy.optimize.brentq(lambda x: np.cos(x) - 1 / np.cosh(x), 4.0, 5.0) ** 2 / LENGTH**2
    assert omega[0] == pytest.approx(first * np.sqrt(EI / RHO_A), rel=1e-5)


def test_natural_frequencies_come_down_on_the_exact_ones():
    exact = CANTILEVER.natural_frequencies_hz()[:4]
    errors = np.array(
        [reduced(CANTILEVER, "b", TIP, modes)[0].natural_frequencies_hz()[:4] / exact - 1 for modes in (2, 4, 8, 16)]
    )
    assert np.all(errors > -1e-9)
    assert np.all(np.diff(errors, axis=0) < 1e-9)
    assert errors[-1].max() < 1e-5 < errors[0].max()


def test_with_all_modes_nothing_is_lost():
    small, _ = reduced(CANTILEVER, "b", TIP, 38)
    np.testing.assert_allclose(small.natural_frequencies_hz(), CANTILEVER.natural_frequencies_hz(), rtol=1e-7)


def test_twenty_modes_give_the_first_ten_of_the_assembled_beams():
    """Section 5.1.2: 20 fixed-interface modes beside excitation point and interface."""
    end = dict(zip(node_dofs("beam", rig.ELEMENTS + 1), rig.PLATE, strict=True))
    virtual, _ = reduced(
        rig.virtual().substructure().renamed(end), "virtual", [node_dofs("beam", rig.P_NODE)[0], *rig.PLATE], 20
    )
    specimen, _ = reduced(rig.specimen(), "specimen", rig.PLATE, 20)
    exact = rig.assembled().natural_frequencies_hz()[:10]
    for other in (rig.specimen(), specimen):
        errors = couple(virtual, other).natural_frequencies_hz()[:10] / exact - 1
        assert np.all(errors > -1e-9)
        assert errors.max() < 1.7e-4


def test_reduced_parts_couple_to_the_reduced_whole():
    """Joining two reduced halves is reducing the joined whole with their modes side by side."""
    left = uniform_beam("l", 0.3, 6, EI, RHO_A).held(*node_dofs("l", 1))
    joint = node_dofs("l", 7)
    right = uniform_beam("r", 0.4, 8, EI, RHO_A).renamed(dict(zip(node_dofs("r", 1), joint, strict=True)))
    right = couple(right, spring(2e4, 3.0, "r.9.w"), spring(100.0, 0.0, "r.9.phi"))
    small_left, of_left = reduced(left, "l", joint, 3)
    small_right, of_right = reduced(right, "r", joint, 4)
    parts = couple(small_left, small_right)
    whole = couple(left, right)
    t = np.zeros((len(whole.dofs), len(parts.dofs)))
    for part, small, reduction in ((left, small_left, of_left), (right, small_right, of_right)):
        t[np.ix_(whole.index(part.dofs), parts.index(small.dofs))] = reduction.transformation
    same = whole.transformed(t, parts.dofs)
    for key in ("mass", "damping", "stiffness"):
        expected = getattr(same, key)
        np.testing.assert_allclose(getattr(parts, key), expected, atol=1e-10 * np.abs(expected).max())


# --- boundary basis (Eq. 30) ------------------------------------------------------------------------------------------

ENDS = (*node_dofs("p", 1), *node_dofs("p", 9), *node_dofs("p", 17))
PLATE = couple(uniform_beam("p", 0.1, 16, 151.2, 1.884), spring(5e4, 0.0, "p.5.w"), spring(5e4, 0.0, "p.13.w"))


def test_square_boundary_basis_only_turns_the_coordinates():
    basis = np.random.default_rng(3).normal(size=(6, 6))
    whole, _ = reduced(PLATE, "p", ENDS, 2)
    turned, _ = reduced(PLATE, "p", ENDS, 2, basis)
    turn = scipy.linalg.block_diag(basis, np.eye(2))
    for key in ("mass", "stiffness"):
        expected = turn.T @ getattr(whole, key) @ turn
        np.testing.assert_allclose(getattr(turned, key), expected, atol=1e-12 * np.abs(expected).max())
    assert turned.dofs == (*(f"p.boundary.{i}" for i in range(1, 7)), "p.mode.1", "p.mode.2")


def test_rigid_boundary_basis_moves_boundary_and_interior_together():
    """With rigid motions as basis, a free plate moves as a rigid body: the interior must follow Ψ Φ_b, not Ψ."""
    free = uniform_beam("p", 0.1, 16, 151.2, 1.884)
    x = np.array([-0.05, 0.0, 0.05])
    basis = np.zeros((6, 2))
    basis[0::2, 0], basis[0::2, 1], basis[1::2, 1] = 1.0, x, 1.0
    body, reduction = reduced(free, "p", ENDS, 0, basis)
    mass = 1.884 * 0.1
    np.testing.assert_allclose(body.mass, np.diag([mass, mass * 0.1**2 / 12]), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(body.stiffness, 0.0, atol=1e-9 * np.abs(free.stiffness).max())
    deflections = reduction.transformation[free.index([f"p.{i}.w" for i in range(1, 18)])]
    np.testing.assert_allclose(deflections, np.c_[np.ones(17), np.linspace(-0.05, 0.05, 17)], atol=1e-9)


def test_modes_of_the_boundary_keep_the_lowest_natural_frequencies():
    exact = PLATE.natural_frequencies_hz()
    at = PLATE.index(ENDS)
    errors = []
    for count in (2, 4, 6):
        basis = boundary_modes(PLATE.mass, PLATE.stiffness, at, count)
        assert basis.shape == (6, count)
        small, _ = reduced(PLATE, "p", ENDS, 6, basis)
        errors.append(small.natural_frequencies_hz()[:2] / exact[:2] - 1)
    assert np.all(np.array(errors) > -1e-9)
    assert np.all(np.diff(errors, axis=0) < 1e-9)
    assert np.abs(errors).max() < 1e-4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 0], 2), "each once"),
        (([40], 2), "positions from 0 to 39"),
        (([0], 40), "40 fixed-interface modes requested of 39 interior"),
        (([38, 39], 2, np.ones((2, 2))), "not independent"),
        (([38, 39], 2, np.ones((3, 1))), "give a row for each"),
    ],
)
def test_impossible_reductions_are_refused(arguments, message):
    with pytest.raises(ReductionError, match=message):
        craig_bampton(CANTILEVER.mass, CANTILEVER.stiffness, *arguments)


def test_interior_that_is_free_to_move_is_refused():
    free = uniform_beam("b", LENGTH, 20, EI, RHO_A)
    with pytest.raises(ReductionError, match="hold it by supports or joints, or add degrees of freedom"):
        craig_bampton(free.mass, free.stiffness, free.index(["b.1.w"]), 2)
    with pytest.raises(ReductionError, match="request 1 to 2"):
        boundary_modes(free.mass, free.stiffness, [0, 1], 3)
    assert isinstance(reduced(free, "b", node_dofs("b", 1), 2)[0], Substructure)
