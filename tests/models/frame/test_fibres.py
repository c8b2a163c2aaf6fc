"""Beams with fibre sections, and large displacements: closed forms, objectivity, tangents, gauges, order."""

import re
import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfreal.models.frame.builder import FrameBuilder, regular_frame
from halfreal.models.frame.elements.fibre_beam import points_of
from halfreal.models.frame.frame import Frame
from halfreal.models.frame.model import Model
from models.frame.fibres import (
    BILINEAR,
    COLUMN,
    CONCRETE,
    CONCRETE_PARTS,
    CURVED,
    ELASTIC,
    KINDS,
    committed,
    moved,
    pier,
    pushed,
    storeys,
)
from models.frame.frames import PLASTIC, run, two_storeys

GEOMETRIES = ("linear", "p-delta", "corotational")
STEEL = [{**COLUMN, "material": "steel"}]


@cache
def member(kind: str, geometry: str, dimensions: int = 2) -> Model:
    """One member between two nodes that are free, 5 m long, yielding; something holds them so that it may stand."""
    frame = FrameBuilder(dimensions)
    frame.material("steel", **BILINEAR)
    frame.material("hinge", **PLASTIC)
    frame.material("rope", kind="elastoplastic", stiffness=1e7, yield_force=1e5, hardening=0.05)
    frame.material("held", kind="linear", stiffness=1.0)
    frame.material("turned", kind="linear hinge", stiffness=1.0)
    frame.section("bar", modulus=2e11, area=1e-2, second_moment=2e-4)
    frame.fibre_section("H", *STEEL)
    ends = [(1.0, 2.0, 0.5), (4.0, 6.0, 1.0)]
    for name, at in zip("AB", ends, strict=True):
        frame.node(name, at[:dimensions], mass=1.0)
        for direction in ("x", "y", "rz") if dimensions == 2 else ("x", "y", "z", "rx", "ry", "rz"):
            law = "turned" if direction.startswith("r") else "held"
            frame.spring(f"{name} {direction}", name, direction=direction, material=law)
    own = {
        "beam": {"section": "bar", "hinges": ["hinge", "rigid"]},
        "truss": {"material": "rope"},
    }.get(kind, {"section": "H"})
    frame.element("member", kind, "A", "B", geometry=geometry, **own)
    return frame.build([("B", "x")]).loaded("none").model


def forces(model: Model, u: np.ndarray) -> np.ndarray:
    """Of the member alone, over all displacements of both nodes."""
    t = model.numbering.transformation
    at = model.arrays["initial"]
    rest = replace(model, stiffness=0.0 * model.stiffness)
    beyond, *_ = model.forces(t.T @ u)
    return np.asarray(t @ (beyond + rest.tangent(at) @ (t.T @ u)))


MEMBERS = [(kind, 2) for kind in (*KINDS, "beam", "truss")] + [("truss", 3)]


@settings(max_examples=30, deadline=None, derandomize=True)
@given(angle=st.floats(-9.0, 9.0), shift=st.tuples(st.floats(-5.0, 5.0), st.floats(-5.0, 5.0)))
@pytest.mark.parametrize("kind, dimensions", MEMBERS)
def test_a_rigid_motion_of_any_size_meets_no_resistance(kind, dimensions, angle, shift):
    model = member(kind, "corotational", dimensions)
    nodes, per = list(model.numbering.nodes.values()), len(model.numbering.directions)
    turn = np.eye(dimensions)
    turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    u = np.zeros(2 * per)
    for i, at in enumerate(nodes):
        u[per * i : per * i + dimensions] = turn @ at - at
        u[per * i : per * i + 2] += shift
        u[per * (i + 1) - 1] = angle
    assert np.abs(forces(model, u)).max() < 1e-12 * np.abs(model.initial).max() * (1.0 + np.abs(u).max())


@settings(max_examples=25, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), size=st.sampled_from([1e-4, 2e-2, 0.3]))
@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("kind", (*KINDS, "beam", "truss"))
def test_a_tangent_is_the_derivative_of_the_force(kind, geometry, seed, size):
    """Of a member that has yielded before; P-Δ leaves out what a change of N does across the member."""
    random = np.random.default_rng(seed)
    model = member(kind, geometry)
    model = committed(model, model.forces(size * random.standard_normal(model.dofs))[2])
    q, h = size * random.standard_normal(model.dofs), 1e-7 * size
    _, tangents, _ = model.forces(q)
    found = replace(model, stiffness=0.0 * model.stiffness).tangent(tangents - model.arrays["initial"]).toarray()
    slopes = np.array(
        [(model.forces(q + h * one)[0] - model.forces(q - h * one)[0]) / (2.0 * h) for one in np.eye(model.dofs)]
    ).T
    scale, left_out = np.abs(model.initial).max(), slopes - found
    if geometry == "p-delta":
        assert np.linalg.svd(left_out)[1][1] < 2e-6 * scale
    else:
        assert np.abs(left_out).max() < 2e-6 * scale


@pytest.mark.parametrize("rule, fewest", [("lobatto", 3), ("legendre", 2)])
def test_rules_integrate_polynomials(rule, fewest):
    for count in range(fewest, 11):
        x, weights = points_of(rule, count)
        exact = 2 * count - (3 if rule == "lobatto" else 1)
        for degree in range(exact + 1):
            assert weights @ x**degree == pytest.approx(1.0 / (degree + 1), rel=1e-12)
        assert abs(weights @ x ** (exact + 1) - 1.0 / (exact + 2)) > 1e-14


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_an_elastic_section_is_one_of_fibres(kind, geometry):
    """Unloaded, beams with an elastic section in the place of fibres are as stiff as elastic beams."""
    frames = []
    for name in ("beam", kind):
        frame = FrameBuilder()
        frame.section("bar", modulus=2e11, area=1e-2, second_moment=2e-4)
        frame.node("A", (0.0, 0.0), fixed="all")
        frame.node("B", (3.0, 4.0), mass=1.0)
        frame.element("bar", name, "A", "B", section="bar", geometry=geometry)
        frames.append(frame.build([("B", "x")]).system("none").stiffness)
    np.testing.assert_allclose(frames[1], frames[0], atol=1e-12 * frames[0].max())


@pytest.mark.parametrize("kind", KINDS)
def test_a_cantilever_bends_to_a_circle(kind):
    """A moment of 2πEI/L at its end rolls a cantilever up, by large displacements (Crisfield, section 7.7)."""
    n, length, frame = 20, 10.0, FrameBuilder()
    frame.section("bar", modulus=2e11, area=1e-2, second_moment=2e-6)
    for i in range(n + 1):
        frame.node(f"n{i}", (length * i / n, 0.0), mass=1.0, **({} if i else {"fixed": "all"}))
        if i:
            frame.element(f"e{i}", kind, f"n{i - 1}", f"n{i}", section="bar", geometry="corotational", points=3)
    model = frame.build([(f"n{n}", "y")]).loaded("none").model
    numbers, q = model.numbering, np.zeros(model.dofs)
    t = numbers.transformation.toarray()
    for part in np.linspace(0.0, 1.0, 41)[1:]:
        load = part * 2.0 * np.pi * 2e11 * 2e-6 / length * t[numbers.index(f"n{n}", "rz")]
        q, model = moved(model, load, q, 5e-5)
    end = t[numbers.indices(f"n{n}")] @ q
    # elements that are straight in themselves: a polygon of chords that closes
    np.testing.assert_allclose(end, [-length, 0.0, 2.0 * np.pi], atol=1e-6)


def test_gauges_tell_what_a_section_is_made_of():
    """M = Σ σ A y, N = Σ σ A and ε = ε_0 − κ y, by the responses of a shaken pier."""
    frame = pier("force-based beam", STEEL, {"steel": BILINEAR}, weight=2e5, scheme="newmark", jack=False)
    names = ("strain", "stress", "axial strain", "curvature", "axial force", "moment")
    ground = 25.0 * np.sin(2.0 * np.pi * 1.5 * 2e-3 * np.arange(500))
    log = run(frame, ground, 2e-3, (*(f"virtual.{name}" for name in names), "target"))
    strain, stress, axial, curvature, force, moment, target = log.T
    top = 0.18 - 0.5 * 0.015 / 3
    np.testing.assert_allclose(strain, axial - curvature * top, atol=1e-15)
    assert np.abs(strain).max() > 3.0 * 2.35e8 / 2e11
    early = np.abs(target) < 1e-3
    early[np.argmax(np.abs(target) > 1e-3) :] = False
    inertia = 2.0 * (0.3 * 0.015**3 / 12 + 0.3 * 0.015 * 0.1725**2) + 0.01 * 0.33**3 / 12
    np.testing.assert_allclose(moment[early], 2e11 * inertia * curvature[early], rtol=5e-3, atol=1e-9)
    np.testing.assert_allclose(force[early], -2e5, rtol=1e-9)
    area = 2.0 * 0.3 * 0.015 + 0.01 * 0.33
    assert stress[0] == pytest.approx(-2e5 / area, rel=1e-9)


def test_the_section_of_the_manual_is_one(tmp_path):
    text = (Path(__file__).parents[3] / "docs" / "frames.md").read_text()
    blocks = re.findall(r"```toml\n(.*?)```", text, re.S)
    example = tomllib.loads(next(block for block in blocks if '"fibres"' in block))["virtual"]
    example |= {
        "kind": "frame",
        "nodes": {"A0": {"at": ["0 m", "0 m"], "fixed": "all"}, "A1": {"at": ["0 m", "4 m"], "mass": "20 t"}},
        "interface": [{"node": "A1", "direction": "x"}],
        "loads": [{"node": "A1", "direction": "y", "force": "-500 kN"}],
    }
    frame = Frame.model_validate(example, context={"folder": str(tmp_path)})
    units = [channel.unit for channel in frame.block(1e-3, "ground", ("feedback",)).outputs]
    assert units == ["m", "1", "Pa", "1/m", "N m", "1", "1"]


def test_a_member_that_finds_no_equilibrium_is_a_fault_with_its_name():
    frame = pier("force-based beam", CONCRETE_PARTS[:1], {"concrete": CONCRETE}, jack=False)
    block = frame.block(1e-3, "ground", ("feedback",))
    assert any("element 'e1' has no equilibrium" in text for text in block.faults.values())
    model = frame.loaded("none").model
    assert model.failed(np.zeros(model.dofs)) == ""
    assert model.failed(np.full(model.dofs, np.nan)) == "e1"


def test_fibres_keep_the_order_of_the_scheme():
    """Halving the step divides the error by four, where a smooth law yields."""
    ends = []
    for finer in (1, 2, 4):
        dt = 1e-3 / finer
        frame = storeys("force-based beam", {**CURVED, "r0": 2.0}, "corotational", scheme="newmark")
        ticks = 400 * finer + 1
        ground = 14.0 * np.sin(np.pi * np.arange(ticks) / (ticks - 1)) ** 4
        ends.append(run(frame, ground, dt)[-1, :2])
    first, second = np.abs(ends[0] - ends[1]), np.abs(ends[1] - ends[2])
    assert np.all(np.log2(first / second) > 1.8)


def test_displacement_based_members_converge_to_force_based_ones():
    """Elastic they are alike; where a member yields, error of the tip goes down with the number of elements."""
    force = 1.5e5
    exact = pushed(
        pier("force-based beam", STEEL, {"steel": BILINEAR}, 8, jack=False), "n8", "x", [force], [("n8", "x")]
    )
    errors = []
    for elements in (1, 2, 4, 8):
        frame = pier("displacement-based beam", STEEL, {"steel": BILINEAR}, elements, jack=False)
        tip = (f"n{elements}", "x")
        errors.append(abs(pushed(frame, *tip, [force], [tip]) - exact)[0, 0] / exact[0, 0])
    assert errors[0] > errors[1] > errors[2] > errors[3] and errors[3] < 0.05 * errors[0]


def test_builders_make_frames_of_fibres():
    section = {"kind": "fibres", "parts": STEEL}
    made = {"height": 3.5, "width": 6.0, "column": section, "girder": section, "mass": 1e4}
    frame = regular_frame(1, 1, **made, materials={"steel": ELASTIC}, member={"kind": "force-based beam", "points": 3})
    model = frame.build([("A1", "x")]).loaded("none").model
    assert len(model.laws) == 3 * 3 * 20 and len(model.recorded) == 3 * 3 * 2
    assert two_storeys().elements.keys() == storeys(KINDS[0], ELASTIC).elements.keys()


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), size=st.sampled_from([2e-3, 2e-2, 0.1]))
def test_a_member_of_hardening_steel_finds_equilibrium_wherever_it_is_thrown(seed, size):
    random, model = np.random.default_rng(seed), member("force-based beam", "linear")
    for _ in range(5):
        q = size * random.standard_normal(model.dofs)
        assert model.failed(q) == ""
        model = committed(model, model.forces(q)[2])


@pytest.mark.parametrize("kind", KINDS)
def test_fibres_share_the_volume_of_their_member_and_stand_along_it(kind):
    """By which reports weigh what each has absorbed."""
    (piece,) = member(kind, "linear").pieces
    fibres = len(piece.laws) // piece.sections
    nodes = list(member(kind, "linear").numbering.nodes.values())
    length = np.linalg.norm(nodes[1] - nodes[0])
    areas = np.reshape(piece.volumes, (piece.sections, fibres))
    np.testing.assert_allclose(areas.sum(axis=0) / areas.sum(), areas[0] / areas[0].sum(), rtol=1e-12)
    strain = np.ones(len(piece.laws))  # stretched evenly: ½ EA/L δ² of the whole member
    modulus = np.array([law.initial_stiffness for law in piece.laws])
    work = 0.5 * np.sum(np.array(piece.volumes) * modulus * strain**2)
    assert work == pytest.approx(0.5 * piece.stiffness[0, 0] * length**2, rel=1e-12)
    assert min(piece.places) >= 0.0 and max(piece.places) <= 1.0 and np.all(np.diff(piece.places) >= 0.0)
