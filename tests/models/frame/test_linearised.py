"""Frames in a linearised loop: the Jacobian that they offer is that of the code which runs."""

import numpy as np
import pytest

from halfreal.models.frame.builder import regular_frame
from halfreal.stability.linearise import derivative, in_motion, linearise, slopes
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
    found, wanted = both(started(frame(SCHEMES[scheme])))
    scale = np.abs(wanted).max(axis=1, keepdims=True) + np.abs(wanted).max(axis=0) + 1e-300
    assert np.max(np.abs(found - wanted) / scale) < 1e-8


def test_the_jacobian_holds_under_gravity():
    """The perturbed one has less digits there: forces are differences of large ones."""
    found, wanted = both(started(frame("newmark", weight=1e5, geometry="p-delta")))
    ours, theirs = (np.sort(np.abs(np.linalg.eigvals(one))) for one in (found, wanted))
    np.testing.assert_allclose(ours[-10:], theirs[-10:], rtol=1e-6)


def started(frame):
    """A loop of a frame at rest, after its first tick."""
    driven = loop(frame, np.zeros(50))
    driven.run(3)
    return driven


def both(driven):
    """The transition matrix of a loop, from the block's own Jacobian and by perturbing it."""
    indices = driven.dynamic_indices()
    found = taken_apart(driven, indices, indices, lambda one, x, y: slopes(one, x, y).values.T)
    assert found is not None
    return found.together(), slopes(driven, indices, indices).values.T


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
    found, wanted = both(started(frame))
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
    driven = started(built.build([("A1", direction)], rayleigh=rayleigh, scheme=scheme))
    matrix, wanted = both(driven)
    scale = np.abs(wanted).max(axis=1, keepdims=True) + np.abs(wanted).max(axis=0) + 1e-300
    assert np.max(np.abs(matrix - wanted) / scale) < 1e-8
    found = linearise(driven)
    assert found.poles is not None  # condensed
    assert found.eigenvalues.size == len(wanted)
    theirs = np.linalg.eigvals(wanted)
    for pole in theirs[np.argsort(-np.abs(theirs))][:20]:
        assert np.abs(found.eigenvalues - pole).min() < 1e-9


def test_in_motion_the_jacobian_is_that_of_brute_force():
    """Bilinear hinges make a step linear piece by piece: while no hinge changes sides, any difference is the slope."""
    driven = loop(frame_in_motion(PLASTIC), shaking(2000, peak=12.0))
    block, rest = driven.blocks[driven.row("virtual")], driven.parameter("virtual")["initial"]
    kept, yielded, compared = not_frozen(block), 0, []
    fields = [key for key in block.state if key not in block.frozen]
    for _ in range(20):
        driven.run(60)
        u, state = next_inputs(driven), driven.state_of("virtual")
        before, after = (driven.fields_of("virtual", one) for one in (state, driven.call("virtual", state, u)[0]))
        found = block.jacobian(driven.parameter("virtual"), before, driven.time, u, after).of_state().a
        yielded += not np.array_equal(after["tangents"], rest)
        sizes = np.concatenate([np.full(np.size(before[key]), np.abs(before[key]).max(initial=0.0)) for key in fields])
        scale = np.abs(found).max(axis=1) + 1e-300
        for column, (place, size) in enumerate(zip(np.flatnonzero(kept), sizes, strict=True)):
            wanted = straight_slope(driven, state, place, 0.01 * size + 1e-9, u, after["tangents"])
            compared.append(wanted is not None)
            if wanted is not None:
                assert np.max(np.abs(found[:, column] - wanted[kept]) / (scale + np.abs(wanted[kept]).max())) < 1e-8
    assert yielded > 5 and np.mean(compared) > 0.8


def straight_slope(driven, state, place, size, u, tangents):
    """Of the whole state after a step by an entry of the one before; None if a hinge changes sides at any size."""
    for _ in range(8):
        ends = []
        for sign in (1.0, -1.0):
            other = state.copy()
            other[place] += sign * size
            ends.append(driven.call("virtual", other, u)[0])
        if all(np.array_equal(driven.fields_of("virtual", end.copy())["tangents"], tangents) for end in ends):
            return (ends[0] - ends[1]) / (2.0 * size)
        size /= 8.0
    return None


LEANING = {"weight": 3e5, "geometry": "p-delta"}


@pytest.mark.parametrize("leaning", [False, True])
def test_in_motion_differences_approach_the_jacobian_with_the_square_of_their_size(leaning):
    """Of hinges that yield by degrees: a Jacobian that is wrong anywhere would stop that.

    States are moved along the motion itself, so that hinges that go on loading go on doing so.  With P-Δ the tangents
    of the elements are symmetric: of N θ they leave out δN θ, which the Jacobian adds.
    """
    frame = frame_in_motion(CURVED, **(LEANING if leaning else {}))
    driven, seen, largest = loop(frame, shaking(2000, peak=12.0)), 0, 0.0
    block, n = driven.blocks[driven.row("virtual")], frame.system("none").dofs
    kept = not_frozen(block)
    for _ in range(40):
        driven.run(30)
        states = [driven.state_of("virtual")]
        for _ in range(2):
            driven.run(1)
            states.append(driven.state_of("virtual"))
        u = driven.inputs_of("virtual")
        fields = [driven.fields_of("virtual", one) for one in states]
        steps = np.diff([one["strain"] for one in fields], axis=0)
        if np.any(steps[0] * steps[1] <= 0.0):  # a hinge turns round: a kink
            continue
        offered = block.jacobian(driven.parameter("virtual"), fields[1], driven.time, u, fields[2]).of_state()
        along = (states[1] - states[0]) * kept
        expected, errors = (offered.a @ along[kept])[:n], []
        for size in (0.4, 0.2, 0.1):
            ends = [driven.call("virtual", states[1] + sign * size * along, u)[0][kept][:n] for sign in (1.0, -1.0)]
            errors.append(np.abs((ends[0] - ends[1]) / (2.0 * size) - expected).max())
        moved = np.abs(along[kept][:n]).max()
        floor = 1e-9 * moved
        seen, largest = seen + 1, max(largest, errors[0] / moved)
        assert errors[1] < errors[0] / 3.5 + floor
        assert errors[2] < errors[1] / 3.5 + floor
    assert seen > 10 and largest > 1e-6


def test_hinges_that_harden_never_make_the_frame_grow_by_itself():
    driven, seen = loop(frame_in_motion(PLASTIC), shaking(2000, peak=12.0)), 0
    for _ in range(12):
        driven.run(100)
        moving = in_motion(driven)
        assert moving is not None
        seen += moving.own is not None and moving.own < 1.0
    assert seen == 12


def frame_in_motion(material, **changes):
    built = regular_frame(
        3, 2, height=3.5, width=6.0, column=SECTIONS["column"], girder=SECTIONS["girder"], mass=1e4,
        column_hinge=material, girder_hinge=material, **changes,
    )  # fmt: skip
    return built.build([("A3", "x")], rayleigh={"mass": 0.3}, scheme={"kind": "newmark", "tolerance": 1e-13})


def not_frozen(block):
    return np.concatenate([np.full(np.size(value), key not in block.frozen) for key, value in block.state.items()])


def next_inputs(driven):
    """What the frame reads in the next tick."""
    before = driven.vector.copy()
    driven.run(1)
    read = driven.inputs_of("virtual")
    driven.vector[:] = before
    return read


def test_concrete_under_its_weight_is_linearised_along_its_unloading():
    """It has another slope on the way down; unloading, far from its strength, has the initial modulus."""
    from models.frame import fibres

    whole = {"kind": "elastoplastic fibre", "modulus": 2e11, "yield_stress": 1e12}
    elastic = {**whole, "modulus": 2.0 * fibres.CONCRETE["strength"] / 0.002}
    values = []
    for concrete in (fibres.CONCRETE, elastic):
        pier = fibres.pier(
            "force-based beam", fibres.CONCRETE_PARTS, {"steel": whole, "concrete": concrete}, weight=5e5, jack=False
        )
        driven = started(pier)
        indices = driven.dynamic_indices()
        values.append(np.sort_complex(np.linalg.eigvals(derivative(driven, indices, indices))))
    np.testing.assert_allclose(values[0], values[1], atol=1e-7)
