"""Frames in a linearised loop: the Jacobian that they offer is that of the code which runs."""

import numpy as np
import pytest

from halfreal.models.frame.builder import regular_frame
from halfreal.stability.linearise import in_motion, linearise, matrix_of, slopes
from halfreal.stability.pieces import taken_apart
from models.frame.frames import CURVED, PLASTIC, SECTIONS, loop, shaking


def frame(scheme, **changes):
    built = regular_frame(
        3, 2, height=3.5, width=6.0, column=SECTIONS["column"], girder=SECTIONS["girder"], mass=1e4,
        inertia=2e3, column_hinge=PLASTIC, girder_hinge=CURVED, **changes,
    )  # fmt: skip
    built.record("moment", element="column B1", quantity="force")
    return built.build([("A3", "x")], rayleigh={"mass": 0.3, "stiffness": 2e-4}, scheme=scheme)


SCHEMES = {
    "newmark": "newmark",
    "generalized-alpha": {"kind": "generalized-alpha", "rho_inf": 0.7},
    "kr-alpha": "kr-alpha",
    "mkr-alpha": {"kind": "mkr-alpha", "rho_inf": 0.6},
    "operator splitting": {"kind": "operator splitting", "specimen_stiffness": [[3e6]], "alpha": -0.1},
    "explicit newmark": "explicit newmark",
}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_jacobian_is_that_of_the_code(scheme):
    found, wanted = both(loop(frame(SCHEMES[scheme]), np.zeros(50)))
    scale = np.abs(wanted).max(axis=1, keepdims=True) + np.abs(wanted).max(axis=0) + 1e-300
    assert np.max(np.abs(found - wanted) / scale) < 1e-8


def test_the_jacobian_holds_under_gravity():
    """The perturbed one has less digits there: forces are differences of large ones."""
    found, wanted = both(loop(frame("newmark", weight=1e5, geometry="p-delta"), np.zeros(50)))
    ours, theirs = (np.sort(np.abs(np.linalg.eigvals(one))) for one in (found, wanted))
    np.testing.assert_allclose(ours[-10:], theirs[-10:], rtol=1e-6)


def both(driven):
    """The transition matrix of a loop, from the block's own Jacobian and by perturbing it."""
    driven.run(3)
    indices = driven.dynamic_indices()
    found = taken_apart(driven, indices, indices, lambda one, x, y: matrix_of(slopes(one, x, y), y.size))
    assert found is not None
    return found.together(), matrix_of(slopes(driven, indices, indices), indices.size)


def test_poles_at_sixty_degrees_of_freedom_are_those_of_brute_force():
    built = regular_frame(
        5,
        3,
        height=3.5,
        width=6.0,
        column=SECTIONS["column"],
        girder=SECTIONS["girder"],
        mass=1e4,
        column_hinge=PLASTIC,
    )
    frame = built.build([("A1", "x")], rayleigh={"mass": 0.3, "stiffness": 2e-4})
    assert frame.system("none").dofs == 60
    found, wanted = both(loop(frame, np.zeros(50)))
    ours, theirs = (np.linalg.eigvals(one) for one in (found, wanted))
    # the slowest, which decide on stability; each has its own neighbour
    for pole in theirs[np.argsort(-np.abs(theirs))][:20]:
        assert np.abs(ours - pole).min() < 1e-9


LOOSE = {"mass": 0.3}, {"mass": 0.3, "stiffness": 2e-4}
CONDENSED = {
    "mass everywhere": ("newmark", 500.0, LOOSE[1], "x"),
    "joints without inertia": ("newmark", 0.0, LOOSE[0], "x"),
    "joints without inertia, damped": ("newmark", 0.0, LOOSE[1], "x"),
    "interface at a rotation without inertia": ("newmark", 0.0, LOOSE[0], "rz"),
    "hht, without inertia": ("hht", 0.0, LOOSE[0], "x"),
    "generalised-α, without inertia, damped": ({"kind": "generalized-alpha", "rho_inf": 0.7}, 0.0, LOOSE[1], "x"),
}


@pytest.mark.parametrize("case", CONDENSED)
def test_poles_are_found_condensed_and_are_those_of_brute_force(case):
    scheme, inertia, rayleigh, direction = CONDENSED[case]
    built = regular_frame(
        4, 2, height=3.5, width=6.0, column=SECTIONS["column"], girder=SECTIONS["girder"], mass=1e4, inertia=inertia,
        column_hinge=PLASTIC,
    )  # fmt: skip
    built.record("moment", element="column B1", quantity="force")
    built.record("spin", node="B1", direction="rz", quantity="velocity")
    driven = loop(built.build([("A1", direction)], rayleigh=rayleigh, scheme=scheme), np.zeros(50))
    matrix, wanted = both(driven)
    scale = np.abs(wanted).max(axis=1, keepdims=True) + np.abs(wanted).max(axis=0) + 1e-300
    assert np.max(np.abs(matrix - wanted) / scale) < 1e-8
    found = linearise(driven)
    assert found.poles is not None  # condensed
    assert found.eigenvalues.size == len(wanted)
    theirs = np.linalg.eigvals(wanted)
    for pole in theirs[np.argsort(-np.abs(theirs))][:20]:
        assert np.abs(found.eigenvalues - pole).min() < 1e-9


def test_in_motion_the_jacobian_has_the_tangents_of_what_has_yielded():
    """Against the motion perturbed with the hinges' memory as it is committed: a hinge that yields has its tangent."""
    built = regular_frame(
        3, 2, height=3.5, width=6.0, column=SECTIONS["column"], girder=SECTIONS["girder"], mass=1e4,
        column_hinge=PLASTIC, girder_hinge=PLASTIC,
    )  # fmt: skip
    driven = loop(built.build([("A3", "x")], rayleigh={"mass": 0.3}), shaking(2000, peak=12.0))
    apart = []
    for _ in range(12):
        driven.run(100)
        state = driven.state("virtual")
        moving = in_motion(driven)
        if moving is None or np.array_equal(state["tangents"], driven.parameter("virtual")["initial"]):
            continue
        indices = driven.dynamic_indices()
        wanted = np.linalg.eigvals(matrix_of(slopes(driven, indices, indices), indices.size))
        apart.append(max(np.abs(moving.poles - pole).min() for pole in wanted[np.abs(wanted) > 0.5]))
        assert moving.own is not None and moving.own < 1.0  # hinges that harden never make it grow
    # a perturbed hinge may come to its kink, where slopes have fewer digits
    assert len(apart) > 2 and min(apart) < 1e-6 and np.median(apart) < 1e-3
