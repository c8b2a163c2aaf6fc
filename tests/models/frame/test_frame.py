"""Frames against closed forms, tables, constraints, and the order of their schemes."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from halfreal.models.frame.builder import FrameBuilder, line_name, regular_frame, shear_building
from halfreal.models.frame.frame import Frame
from models.frame.frames import CURVED, PLASTIC, SECTIONS, run, shaking, two_storeys

E, INERTIA, A, L, DENSITY = 2e11, 1e-4, 0.01, 3.0, 80.0


def test_a_cantilever_of_consistent_mass_has_the_frequencies_of_a_beam():
    frame, n = FrameBuilder(), 8
    frame.section("bar", modulus=E, area=A, second_moment=INERTIA, mass_per_length=DENSITY)
    for i in range(n + 1):
        frame.node(f"n{i}", (0.6 * L * i / n, 0.8 * L * i / n), **({"fixed": "all"} if i == 0 else {}))
        if i:
            frame.beam(f"e{i}", f"n{i - 1}", f"n{i}", section="bar")
    found = frame.build([(f"n{n}", "x")], element_mass="consistent").system("none").natural_frequencies()
    bending = np.array([1.8751041, 4.6940911]) ** 2 * np.sqrt(E * INERTIA / DENSITY) / L**2
    np.testing.assert_allclose(found[:2], bending, rtol=3e-4)


def test_a_portal_is_as_stiff_as_its_closed_form():
    """Rigid girder, columns clamped below: 12 EI/h³ each, 3 EI/h³ with a pinned foot."""
    for hinges, factor in ((["rigid", "rigid"], 12.0), (["pinned", "rigid"], 3.0)):
        frame = FrameBuilder()
        frame.section("bar", modulus=E, area=1e3, second_moment=INERTIA)
        frame.node("A0", (0.0, 0.0), fixed="all")
        frame.node("A1", (0.0, L), mass=1.0, fixed=["rz"])
        frame.beam("column", "A0", "A1", section="bar", hinges=hinges)
        square = frame.build([("A1", "x")]).system("none").natural_frequencies()[0] ** 2
        assert square == pytest.approx(factor * E * INERTIA / L**3, rel=1e-9)


def test_p_delta_buckles_at_eulers_load():
    """A clamped column of many elements loses its stiffness at π²EI/(4L²)."""
    n, euler = 16, np.pi**2 * E * INERTIA / (4.0 * L**2)

    def lowest(load: float) -> float:
        frame = FrameBuilder()
        frame.section("bar", modulus=E, area=A, second_moment=INERTIA)
        for i in range(n + 1):
            frame.node(f"n{i}", (0.0, L * i / n), mass=1.0, **({"fixed": "all"} if i == 0 else {}))
            if i:
                frame.beam(f"e{i}", f"n{i - 1}", f"n{i}", section="bar", geometry="p-delta")
        frame.load(f"n{n}", "y", force=-load)
        k = frame.build([(f"n{n}", "x")]).system("none").stiffness
        return float(np.linalg.eigvalsh(k)[0])

    unloaded = lowest(1e-3 * euler)
    assert 0.0 < lowest(0.98 * euler) < 0.03 * unloaded
    assert lowest(1.05 * euler) < 0.0


def test_constraints_move_nodes_as_one():
    slaves = [{"kind": "rigid diaphragm", "master": "A1", "slaves": ["B1"]}]
    frame = two_storeys(constraints=slaves)
    loaded = frame.loaded("none")
    numbers = loaded.model.numbering
    rows = numbers.transformation[[numbers.index("A1", "x"), numbers.index("B1", "x")]].toarray()
    np.testing.assert_array_equal(rows[0], rows[1])
    linked = FrameBuilder()
    linked.section("bar", modulus=E, area=A, second_moment=INERTIA)
    linked.node("A", (0.0, 0.0), fixed="all")
    linked.node("B", (0.0, L), mass=1.0)
    linked.node("C", (1.0, L + 2.0), mass=1.0)
    linked.beam("column", "A", "B", section="bar")
    linked.constrain("rigid link", "B", ["C"])
    t = linked.build([("C", "x")]).loaded("none").model.numbering
    turned = np.zeros(len(t.free))
    turned[t.free.index(t.index("B", "rz"))] = 1e-3
    np.testing.assert_allclose((t.transformation @ turned)[t.indices("C")], [-2e-3, 1e-3, 1e-3])


def test_tables_say_the_same_as_the_definition(tmp_path):
    frame = two_storeys(material=PLASTIC)
    lines = ["name, x (mm), y (m), mass (t), fixed"]
    for name, node in frame.nodes.items():
        x, y = node.at
        lines.append(f"{name}, {1e3 * x}, {y}, {node.mass / 1e3 or ''}, {'all' if node.fixed else ''}")
    (tmp_path / "nodes.csv").write_text("\n".join(lines))
    lines = ["name, kind, nodes, section, hinges"]
    for name, one in frame.elements.items():
        lines.append(f"{name}, beam, {' '.join(one.nodes)}, {one.section}, {' '.join(one.hinges)}")
    (tmp_path / "elements.csv").write_text("\n".join(lines))
    given = {name: getattr(frame, name) for name in frame.model_fields_set}
    read = Frame.model_validate(
        {**given, "nodes": str(tmp_path / "nodes.csv"), "elements": str(tmp_path / "elements.csv")}
    )
    assert read == frame


def test_the_example_of_the_manual_is_one(tmp_path):
    text = (Path(__file__).parents[3] / "docs" / "frames.md").read_text()
    example = tomllib.loads(re.findall(r"```toml\n(.*?)```", text, re.S)[0])["virtual"]
    frame = Frame.model_validate(example, context={"folder": str(tmp_path)})
    assert frame.axes == 1 and len(frame.loaded("ground").model.laws) == 4


def test_builders_name_what_they_build():
    assert [line_name(i) for i in (0, 25, 26, 27)] == ["A", "Z", "AA", "AB"]
    frame = regular_frame(
        2, 2, height="3.5 m", width="6 m", column=SECTIONS["column"], girder=SECTIONS["girder"], mass="10 t",
        girder_hinge=CURVED,
    ).build([("C2", "x")])  # fmt: skip
    assert frame.elements["girder B2"].nodes == ("B2", "C2") and len(frame.loaded("none").model.laws) == 8
    law = {"kind": "elastoplastic", "stiffness": 2e6, "yield_force": 1e4, "hardening": 0.1}
    building = shear_building([1e3, 1e3], [law, {**law, "stiffness": 1e6}]).build([("F2", "x")])
    stiffness = building.system("none").stiffness
    np.testing.assert_allclose(np.sort(np.diag(stiffness)), [1e6, 3e6])


ORDERS = {
    "newmark": "newmark",
    "generalized-alpha": {"kind": "generalized-alpha", "rho_inf": 0.6},
    "hht": {"kind": "hht", "alpha": -0.1},
    "kr-alpha": "kr-alpha",
    "mkr-alpha": "mkr-alpha",
    "operator splitting": {"kind": "operator splitting", "specimen_stiffness": [[0.0]], "alpha": -0.1},
    "explicit newmark": "explicit newmark",
}


@pytest.mark.parametrize("scheme", ORDERS)
def test_schemes_are_of_second_order(scheme):
    """Halving the step divides the error by four, on a frame with hinges of a smooth law that yield."""
    ends = []
    for finer in (1, 2, 4):
        dt = 5e-4 / finer
        frame = two_storeys(material={**CURVED, "r0": 2.0}, inertia=2e3, scheme=ORDERS[scheme])
        ticks = 800 * finer + 1
        # a half sine that starts and ends smoothly
        ground = 9.0 * np.sin(np.pi * np.arange(ticks) / (ticks - 1)) ** 4
        ends.append(run(frame, ground, dt)[-1, :2])
    first, second = np.abs(ends[0] - ends[1]), np.abs(ends[1] - ends[2])
    assert np.all(np.log2(first / second) > 1.8)


def test_energy_is_conserved_but_for_what_hinges_and_dampers_take():
    """Work of the ground's load = kinetic + elastic + dissipated, by the trapezoidal rule on recorded channels."""
    law = {"kind": "elastoplastic", "stiffness": 2e6, "yield_force": 5e3, "hardening": 0.1}
    frame = shear_building([1e3, 8e2], [law, law])
    for floor in (1, 2):
        frame.record(f"v{floor}", node=f"F{floor}", direction="x", quantity="velocity")
        frame.record(f"shear{floor}", element=f"storey {floor}", quantity="force")
    built = frame.build([("F2", "x")], scheme={"kind": "newmark", "tolerance": 1e-12})
    dt, ground = 5e-4, shaking(4000, 5e-4)
    names = ("drift1", "drift2", "v1", "v2", "shear1", "shear2")
    log = run(built, ground, dt, tuple(f"virtual.{name}" for name in names))
    drift, v, shear = log[:, :2], log[:, 2:4], log[:, 4:]
    mass = np.array([1e3, 8e2])
    kinetic = 0.5 * (v**2 @ mass)[-1]
    absorbed = np.sum(0.5 * (shear[1:] + shear[:-1]) * np.diff(drift, axis=0))
    power = -(v @ mass) * ground
    work = np.sum(0.5 * (power[1:] + power[:-1])) * dt
    assert np.abs(drift).max() > 3.0 * 5e3 / 2e6
    assert kinetic + absorbed == pytest.approx(work, rel=1e-4)
