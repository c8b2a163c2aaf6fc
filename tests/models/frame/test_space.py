"""Frames in space, against closed forms and against the same in OpenSees."""

from dataclasses import replace

import numpy as np
import pytest

from halfreal.models.frame.builder import FrameBuilder
from halfreal.models.frame.model import committed
from models.frame import opensees
from models.frame.frames import CURVED, DT, PLASTIC, run, shaking
from models.frame.space_frames import COLUMN, RECORD, RESPONSES, twisting
from models.frame.test_against_opensees import NEWMARK, worst

E, G, A, L, DENSITY = 2e11, 8e10, 0.01, 3.0, 80.0
IY, IZ, J = 1e-4, 4e-5, 2e-5
BAR = {
    "modulus": E, "shear_modulus": G, "area": A, "second_moment_y": IY, "second_moment_z": IZ, "torsion_constant": J,
}  # fmt: skip
ORIENTED = np.array([0.3, -1.0, 0.2])
STRONG = {**PLASTIC, "yield_moment": 3e5}


def cantilever(n=8, **settings):
    """A clamped bar along no axis, its top loose."""
    frame, along = FrameBuilder(3), np.array([2.0, 3.0, 6.0]) / 7.0
    frame.section("bar", **BAR, mass_per_length=DENSITY)
    for i in range(n + 1):
        frame.node(f"n{i}", tuple(along * L * i / n), **({"fixed": "all"} if i == 0 else {}))
        if i:
            frame.element(f"e{i}", "space beam", f"n{i - 1}", f"n{i}", section="bar", **settings)
    return frame


def test_a_cantilever_bends_about_both_axes_and_twists():
    frame = cantilever(orientation=[0.3, -1.0, 0.2]).build([("n8", "x")], element_mass="consistent")
    found = frame.system("none").natural_frequencies()
    bending = np.array([1.8751041, 4.6940911]) ** 2 / L**2
    twist = np.pi / 2.0 / L * np.sqrt(G * J / (DENSITY * (IY + IZ) / A))
    wanted = [*bending * np.sqrt(E * IZ / DENSITY), *bending * np.sqrt(E * IY / DENSITY), twist]
    np.testing.assert_allclose(found[:5], np.sort(wanted), rtol=2e-3)


def test_a_force_bends_the_beam_about_the_axis_that_its_orientation_says():
    """F L³/(3 E I) at the end: towards the orientation with I_y, across with I_z."""
    for orientation, second_moment in (([1.0, 0.0, 0.0], IY), ([0.0, 1.0, 0.0], IZ), ([0.0, -1.0, 5.0], IZ)):
        frame = FrameBuilder(3)
        frame.section("bar", **BAR)
        frame.node("foot", (1.0, 2.0, 0.0), fixed="all")
        frame.node("top", (1.0, 2.0, L), mass=1.0)
        frame.element("mast", "space beam", "foot", "top", section="bar", orientation=orientation)
        built = frame.build([("top", "x")])
        system = built.system("none")
        row = system.displacement_outputs[0]
        moved = row @ np.linalg.solve(system.stiffness, row)
        assert moved == pytest.approx(L**3 / (3.0 * E * second_moment), rel=1e-10)


def test_pinned_ends_give_way_about_the_chosen_axis_only():
    """A bar clamped at its foot, its top held against turning: 12 EI/L³, and 3 EI/L³ where the foot is pinned."""
    for hinges, factors in (
        ({}, (12.0 * IY, 12.0 * IZ)),
        ({"hinges_y": ["pinned", "rigid"]}, (3.0 * IY, 12.0 * IZ)),
        ({"hinges_z": ["pinned", "rigid"]}, (12.0 * IY, 3.0 * IZ)),
    ):
        frame = FrameBuilder(3)
        frame.section("bar", **BAR)
        frame.node("foot", (0.0, 0.0, 0.0), fixed="all")
        frame.node("top", (0.0, 0.0, L), mass=1.0, fixed=["z", "rx", "ry", "rz"])
        frame.element("mast", "space beam", "foot", "top", section="bar", **hinges)
        stiffness = frame.build([("top", "x"), ("top", "y")]).loaded("none")
        found = stiffness.displacement_outputs @ stiffness.model.stiffness @ stiffness.displacement_outputs.T
        np.testing.assert_allclose(found, np.diag(factors) * E / L**3, rtol=1e-12, atol=1e-3)


@pytest.mark.parametrize("kind", ["space beam", "truss"])
def test_p_delta_leans_both_ways(kind):
    """A bar without stiffness of its own across, held by springs: each loses N/L, whatever its direction."""
    frame, load, spring = FrameBuilder(3), 2e4, 5e4
    frame.section("bar", **BAR)
    frame.material("side", "linear", stiffness=spring)
    frame.node("foot", (0.0, 0.0, 0.0), fixed="all")
    frame.node("top", (0.0, 0.0, L), mass=1.0, fixed=["rx", "ry", "rz"])
    pins = {"hinges_y": ["pinned", "pinned"], "hinges_z": ["pinned", "pinned"]} if kind == "space beam" else {}
    frame.element("mast", kind, "foot", "top", section="bar", geometry="p-delta", **pins)
    for direction in "xy":
        frame.element(f"side {direction}", "spring", "top", direction=direction, material="side")
    frame.load("top", "z", force=-load)
    found = frame.build([("top", "x"), ("top", "y")]).loaded("none")
    across = found.displacement_outputs @ found.model.stiffness @ found.displacement_outputs.T
    np.testing.assert_allclose(across, np.eye(2) * (spring - load / L), rtol=1e-9, atol=1e-3)


FLOORS = {"rigid_floors": True}
BRACED = {
    "elements": {
        "brace": {"kind": "truss", "nodes": ["AA0", "BB1"], "section": "column"},
        "stay": {"kind": "truss", "nodes": ["AB1", "BA2"], "material": "yielding"},
    },
    "materials": {"yielding": {"kind": "elastoplastic", "stiffness": 4e6, "yield_force": 4e4, "hardening": 0.05}},
}
LINKED = {
    "nodes": {"mast": {"at": [0.5, -0.3, 8.5], "mass": 500.0, "inertia": 20.0}},
    "constraints": [
        {"kind": "rigid link", "master": "AA2", "slaves": ["mast"]},
        {"kind": "equal", "master": "AB2", "slaves": ["BB1"], "directions": ["y"]},
    ],
}
WEIGHT = {"geometry": "p-delta", "weight": 6e5}
CASES = {
    "elastic": ({}, 1e-10),
    "damped by stiffness": ({"rayleigh": {"mass": 0.2, "stiffness": 1e-3}}, 1e-10),
    "rigid floors": (FLOORS, 1e-10),
    "braced": (BRACED, 1e-6),
    "links": (LINKED, 1e-10),
    "P-Δ, elastic": (WEIGHT, 1e-6),
    "bilinear hinges": ({"material": STRONG}, 1e-6),
    "curved hinges": ({"material": {**CURVED, "yield_moment": 3e5}}, 1e-6),
    "P-Δ, bilinear hinges": ({"material": STRONG, **WEIGHT}, 1e-6),
    "corotational": ({"geometry": "corotational", "weight": 6e5}, 1e-6),
}


@pytest.mark.parametrize(("case", "ground"), [*((case, "y") for case in CASES), ("bilinear hinges", "x")])
def test_a_shaken_frame_in_space_moves_as_in_opensees(case, ground):
    changes, within = CASES[case]
    frame, motion = twisting(**changes, ground=ground), shaking(800)
    theirs = opensees.shaken(frame, motion, DT, RECORD, NEWMARK)
    assert worst(run(frame, motion, record=RESPONSES)[1:], theirs) < within


def test_large_sway_in_space_is_that_of_opensees():
    """Drifts of a quarter of the height: 1.8e-6 of them are left, with steps of 4, 2 and 1 ms alike."""
    frame, motion = twisting(geometry="corotational", weight=3e5, ground="y"), shaking(800, peak=30.0)
    theirs = opensees.shaken(frame, motion, DT, RECORD, NEWMARK)
    ours = run(frame, motion, record=RESPONSES)[1:]
    assert np.abs(theirs).max() > 1.5
    assert np.abs(ours - theirs).max() < 3e-6 * np.abs(theirs).max()


def test_a_cantilever_in_space_is_bent_into_a_quarter_circle_by_a_moment():
    """M = π/2 EI/L bends it into a quarter of a circle, about whichever axis, whatever its direction."""
    along = np.array([2.0, 3.0, 6.0]) / 7.0
    y = np.cross(ORIENTED, along) / np.linalg.norm(np.cross(ORIENTED, along))
    for axis, second_moment in ((y, IY), (np.cross(along, y), IZ)):
        frame = cantilever(10, orientation=ORIENTED, geometry="corotational")
        model = frame.build([("n10", "x")]).loaded("none").model
        places = [model.numbering.index("n10", one) for one in model.numbering.directions]
        rows = model.numbering.transformation[places].toarray()
        quarter, q = np.pi / 2.0 * E * second_moment / L, np.zeros(model.dofs)
        for step in range(1, 41):
            push = rows[3:].T @ (axis * quarter * step / 40.0)
            for _ in range(60):
                forces, tangents, states = model.forces(q)
                stiffness = model.stiffness + model.resisting(tangents - model.arrays["initial"])
                left = push - model.stiffness @ q - forces
                q = q + np.linalg.solve(stiffness.toarray(), left)
                if np.abs(left).max() < 1e-8 * quarter:
                    break
            model = replace(model, states=committed(states))
        assert rows[3:] @ q == pytest.approx(axis * np.pi / 2.0, abs=1e-6)
        radius = L / (np.pi / 2.0)
        side = np.cross(axis, along)
        # ten straight beams, chords of the arc: a part of 1e-3 shorter
        np.testing.assert_allclose(rows[:3] @ q, radius * (along + side) - L * along, atol=3e-3 * L)


@pytest.mark.parametrize("mass", ["lumped", "consistent"])
def test_natural_frequencies_in_space_are_those_of_opensees(mass):
    # OpenSees takes J/A for the polar radius of gyration: here the two are the same
    sections = {name: {**COLUMN, "torsion_constant": 3.4e-4} for name in ("column", "girder")}
    frame = twisting(sections=sections, element_mass=mass)
    ours = frame.system("none").natural_frequencies()
    np.testing.assert_allclose(ours, opensees.modes(frame, len(ours)), rtol=1e-9)


def told(change) -> str:
    frame = cantilever(2)
    change(frame)
    with pytest.raises(ValueError) as error:
        frame.build([("n2", "x")])
    return str(error.value)


def test_bad_input_in_space_is_named():
    beam = {"kind": "space beam", "nodes": ["n1", "n2"], "section": "bar"}

    def changed(family, name, **to):
        return lambda frame: frame.parts[family].update({name: {**frame.parts[family].get(name, {}), **to}})

    along = told(changed("elements", "e2", **beam, orientation=[-2.0, -3.0, -6.0]))
    assert "element 'e2'" in along and "along the beam itself" in along
    assert "give 3" in told(changed("elements", "e2", **beam, orientation=[1.0, 0.0]))
    assert "section 'bar' has no torsion_constant" in told(changed("sections", "bar", torsion_constant=None))
    assert "use kind = 'space beam'" in told(changed("elements", "e2", **{**beam, "kind": "beam"}))
    assert "node 'n1' has 2 coordinates" in told(changed("nodes", "n1", at=[0.0, 1.0]))
    pins = {"hinges_y": ["pinned", "pinned"], "hinges_z": ["pinned", "pinned"]}
    loose = told(changed("elements", "e2", **{**beam, **pins}))
    assert "mechanism: nothing holds" in loose and "of node 'n2'" in loose
    spun = {**beam, "kind": "truss"}
    assert "mechanism" in told(changed("elements", "e2", **spun))
