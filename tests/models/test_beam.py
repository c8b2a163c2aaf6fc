"""Beams against closed forms: natural frequencies and their order, statics, rigid motions, transients."""

import numpy as np
import pytest
from scipy.optimize import brentq

from halfreal.kernels.block import names
from halfreal.kernels.loop import Loop
from halfreal.models.structures.beam import Beam
from halfreal.models.structures.beam_elements import beam_of, node_dofs, rectangle, uniform_beam
from halfreal.models.structures.joints import point_mass, spring
from halfreal.models.structures.substructure import Substructure, SubstructureError, couple
from models.beam_rig import rig
from models.loops import table

LENGTH, EI, RHO_A = 0.7, 44.8, 1.256

CANTILEVER = {
    "kind": "beam",
    "modulus": "210 GPa",
    "density": "7850 kg/m^3",
    "segments": [{"length": "700 mm", "elements": 20, "width": "40 mm", "height": "4 mm"}],
    "supports": [{"node": 1, "kind": "clamped"}],
    "interface": [{"node": 21}],
    "force": {"node": 21},
}


def beam(elements: int, *held: str) -> Substructure:
    return uniform_beam("b", LENGTH, elements, EI, RHO_A).held(*held)


def ends(kind: str, elements: int) -> list[str]:
    first, last = node_dofs("b", 1), node_dofs("b", elements + 1)
    return {"cantilever": [*first], "free-free": [], "pinned": [first[0], last[0]]}[kind]


def roots(kind: str, count: int) -> np.ndarray:
    """βL of a uniform beam's modes from its characteristic equation, divided by cosh to stay bounded."""
    if kind == "pinned":
        return np.pi * np.arange(1, count + 1)
    sign, first = (1.0, 0) if kind == "cantilever" else (-1.0, 1)
    f = lambda x: np.cos(x) + sign / np.cosh(x)  # noqa: E731
    return np.array([brentq(f, k * np.pi, (k + 1) * np.pi, xtol=1e-14) for k in range(first, first + count)])


def frequencies(kind: str, count: int) -> np.ndarray:
    return roots(kind, count) ** 2 / (2 * np.pi * LENGTH**2) * np.sqrt(EI / RHO_A)


@pytest.mark.parametrize("kind", ["cantilever", "free-free", "pinned"])
def test_natural_frequencies_exceed_the_closed_form_by_the_error_of_cubic_elements(kind):
    """ω_h/ω = 1 + (βh)⁴/1440 + …, whatever the ends: half of h⁴/720 ∫w²/∫w² with w = β⁴w."""
    rigid, count = 2 if kind == "free-free" else 0, 4
    found = beam(40, *ends(kind, 40)).natural_frequencies_hz()
    errors = found[rigid : rigid + count] / frequencies(kind, count) - 1
    np.testing.assert_allclose(errors[1:], (roots(kind, count)[1:] / 40) ** 4 / 1440, rtol=0.05)
    assert abs(errors[0]) < 1e-6
    assert np.all(found[:rigid] < 1e-3 * found[rigid])


@pytest.mark.parametrize("kind", ["cantilever", "free-free", "pinned"])
def test_natural_frequencies_converge_with_the_fourth_power_of_the_element(kind):
    rigid, mode = 2 if kind == "free-free" else 0, 2
    exact = frequencies(kind, mode + 1)[mode]
    errors = [beam(n, *ends(kind, n)).natural_frequencies_hz()[rigid + mode] / exact - 1 for n in (16, 32)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.1)


def test_rigid_motions_cost_no_force_and_carry_the_exact_mass():
    free = beam(7)
    x = LENGTH * np.arange(8) / 7
    rigid = np.zeros((16, 2))
    rigid[0::2, 0], rigid[0::2, 1], rigid[1::2, 1] = 1.0, x, 1.0
    forces = free.stiffness @ rigid
    assert np.abs(forces).max() < 1e-13 * np.abs(free.stiffness).max()
    total = RHO_A * LENGTH
    expected = [[total, total * LENGTH / 2], [total * LENGTH / 2, total * LENGTH**2 / 3]]
    np.testing.assert_allclose(rigid.T @ free.mass @ rigid, expected, rtol=1e-13)


def deflected(part: Substructure, force: float, at: str) -> dict[str, float]:
    load = np.zeros(len(part.dofs))
    load[part.index([at])] = force
    return dict(zip(part.dofs, np.linalg.solve(part.stiffness, load), strict=True))


def test_static_deflections_are_exact_at_the_nodes():
    cantilever = deflected(beam(3, *ends("cantilever", 3)), 5.0, "b.4.w")
    for node in (2, 3, 4):
        x = LENGTH * (node - 1) / 3
        assert cantilever[f"b.{node}.w"] == pytest.approx(5.0 * x**2 * (3 * LENGTH - x) / (6 * EI), rel=1e-12)
        assert cantilever[f"b.{node}.phi"] == pytest.approx(5.0 * x * (2 * LENGTH - x) / (2 * EI), rel=1e-12)
    pinned = deflected(beam(2, *ends("pinned", 2)), 5.0, "b.2.w")
    assert pinned["b.2.w"] == pytest.approx(5.0 * LENGTH**3 / (48 * EI), rel=1e-12)


def test_stepped_cantilever_deflects_as_the_integral_of_its_curvature():
    stiff, soft, a, b = 44.8, 5.6, 0.25, 0.15
    part = beam_of("b", [a, b], [stiff, soft], [1.0, 1.0]).held("b.1.w", "b.1.phi")
    expected = 3.0 * (((a + b) ** 3 - b**3) / (3 * stiff) + b**3 / (3 * soft))
    assert deflected(part, 3.0, "b.3.w")["b.3.w"] == pytest.approx(expected, rel=1e-12)


def test_soft_clamp_and_spring_at_the_tip_act_as_springs_do():
    clamp, tip = 200.0, 3e3
    part = couple(
        uniform_beam("b", LENGTH, 4, EI, RHO_A), spring(clamp, 0.0, "b.1.phi"), spring(tip, 0.0, "b.5.w")
    ).held("b.1.w")
    stiffness = 1 / (LENGTH**3 / (3 * EI) + LENGTH**2 / clamp) + tip
    assert deflected(part, 5.0, "b.5.w")["b.5.w"] == pytest.approx(5.0 / stiffness, rel=1e-12)


def test_cantilever_with_a_mass_at_its_tip_has_the_frequencies_of_its_characteristic_equation():
    ratio = 0.8
    part = couple(beam(40, *ends("cantilever", 40)), point_mass(ratio * RHO_A * LENGTH, "b.41.w"))

    def characteristic(x):
        hyperbolic = np.tanh(x) * np.cos(x) - np.sin(x)
        return 1 / np.cosh(x) + np.cos(x) + ratio * x * hyperbolic

    found = [brentq(characteristic, low, low + np.pi) for low in (0.1, np.pi, 2 * np.pi)]
    expected = np.array(found) ** 2 / (2 * np.pi * LENGTH**2) * np.sqrt(EI / RHO_A)
    np.testing.assert_allclose(part.natural_frequencies_hz()[:3], expected, rtol=1e-6)


def test_two_beams_that_share_a_node_are_one():
    halves = [uniform_beam(name, LENGTH / 2, 5, EI, RHO_A) for name in "lr"]
    shared = dict(zip(node_dofs("r", 1), node_dofs("l", 6), strict=True))
    joined = couple(halves[0], halves[1].renamed(shared)).held("l.1.w", "l.1.phi")
    whole = beam(10, *ends("cantilever", 10))
    np.testing.assert_allclose(joined.stiffness, whole.stiffness, rtol=1e-14)
    np.testing.assert_allclose(joined.mass, whole.mass, rtol=1e-14)


def test_receptance_is_the_inverse_of_the_dynamic_stiffness():
    # one element, by hand: its 2 × 2 dynamic stiffness
    one = uniform_beam("b", LENGTH, 1, EI, RHO_A).held("b.1.w", "b.1.phi")
    omega = 2 * np.pi * 30.0
    k = EI / LENGTH**3 * np.array([[12, -6 * LENGTH], [-6 * LENGTH, 4 * LENGTH**2]])
    m = RHO_A * LENGTH / 420 * np.array([[156, -22 * LENGTH], [-22 * LENGTH, 4 * LENGTH**2]])
    z = k - omega**2 * m
    expected = z[1, 1] / (z[0, 0] * z[1, 1] - z[0, 1] ** 2)
    assert one.receptance(30.0, ["b.2.w"], ["b.2.w"])[0, 0, 0] == pytest.approx(expected, rel=1e-12)
    damping = 2e-5
    free = beam(6, *ends("cantilever", 6))
    part = Substructure(free.dofs, free.mass, damping * free.stiffness, free.stiffness)
    still = part.receptance(np.array([1e-3]), ["b.7.w"], ["b.7.w"])[0, 0, 0]
    assert still.real == pytest.approx(LENGTH**3 / (3 * EI), rel=1e-6)
    assert still.imag == pytest.approx(-still.real * 2 * np.pi * 1e-3 * damping, rel=1e-5)


def test_parts_that_do_not_fit_are_refused():
    part = beam(2)
    with pytest.raises(SubstructureError, match=r"no degree of freedom 'b.9.w'; this part has b.1.w"):
        part.held("b.9.w")
    with pytest.raises(SubstructureError, match="named twice"):
        part.renamed({"b.1.w": "b.2.w"})
    with pytest.raises(ValueError, match="name two degrees of freedom"):
        spring(1.0, 0.0, "a", "a")


# --- as a virtual substructure ----------------------------------------------------------------------------------------


def test_units_and_sections_are_read_from_text():
    bending, heavy = rectangle(0.04, 0.004, 210e9, 7850.0)
    one = Beam(**CANTILEVER)
    segment = {"length": "0.7 m", "elements": 20, "area": "1.6 cm^2", "second_moment": 0.04 * 0.004**3 / 12}
    other = Beam(**{**CANTILEVER, "segments": [segment]})
    for found in (one, other):
        static = np.linalg.inv(found.system("none").stiffness)
        tip = found.system("none").displacement_outputs[0]
        assert tip @ static @ tip == pytest.approx(0.7**3 / (3 * bending), rel=1e-9)
    assert heavy == pytest.approx(7850 * 1.6e-4)


def test_ground_acceleration_pulls_with_all_the_mass():
    """Slow shaking deflects a cantilever like its own weight: a ρA L⁴/(8 EI), whatever the number of elements."""
    bending, heavy = rectangle(0.04, 0.004, 210e9, 7850.0)
    for elements in (1, 5):
        segment = {**CANTILEVER["segments"][0], "elements": elements}
        place = {"node": elements + 1}
        virtual = Beam(**{**CANTILEVER, "segments": [segment], "interface": [place], "force": None})
        system = virtual.system("ground")
        tip = system.displacement_outputs[0] @ np.linalg.solve(system.stiffness, system.inputs[:, 0])
        assert tip == pytest.approx(-heavy * 0.7**4 / (8 * bending), rel=1e-9)


@pytest.mark.parametrize("modes", [None, 10])
def test_step_force_at_the_tip_gives_the_series_of_the_cantilevers_modes(modes):
    """w(L, t) = Σ 4F/(ρAL ω_i²) (1 − cos ω_i t), as every normalised mode has twice the root-mean-square at the tip."""
    bending, heavy = rectangle(0.04, 0.004, 210e9, 7850.0)
    dt, ticks, force = 2e-4, 100, 2.0
    source = table(np.tile([force, 0.0, 0.0], (ticks, 1)))
    loop = Loop([source, Beam(**CANTILEVER, modes=modes).block(dt, "force", ("feedback",))], dt=dt)
    log = loop.run(ticks, record=["target"]).log
    betas = roots("cantilever", 40)[:, None]
    omega = betas**2 / 0.7**2 * np.sqrt(bending / heavy)
    series = np.sum(4 * force / (heavy * 0.7 * omega**2) * (1 - np.cos(omega * log[:, 0])), axis=0)
    static = force * 0.7**3 / (3 * bending)
    out_of_phase = 2 * static * np.sum(12 / betas[5:] ** 4)  # what modes beyond the fifth can make of their errors
    np.testing.assert_allclose(log[:, 1], series, rtol=0, atol=out_of_phase)


def test_arms_tell_deflection_and_slope_in_metres():
    two = Beam(**{**CANTILEVER, "interface": [{"node": 21, "arm": "-40 mm"}, {"node": 21, "arm": "40 mm"}]})
    own = Beam(**{**CANTILEVER, "interface": [{"node": 21}, {"node": 21, "direction": "slope"}]})
    arms = np.array([[1, -0.04], [1, 0.04]])  # Eq. 31
    np.testing.assert_allclose(
        two.system("none").displacement_outputs, arms @ own.system("none").displacement_outputs, atol=1e-16
    )
    # forces at the arms are a force and a moment at the node: the same virtual work
    np.testing.assert_allclose(two.system("none").inputs[:, 2:], own.system("none").inputs[:, 2:] @ arms.T, atol=1e-16)


def test_reduced_beam_answers_like_the_whole_one_at_interface_and_responses():
    whole, small = rig.virtual(modes=None).system("force"), rig.virtual(modes=20).system("force")
    assert (whole.dofs, small.dofs) == (61, 23)
    for frequency in (0.0, 60.0, 320.0, 800.0):
        omega = 2 * np.pi * frequency
        answers = [
            s.displacement_outputs @ np.linalg.solve(s.stiffness + 1j * omega * s.damping - omega**2 * s.mass, s.inputs)
            for s in (whole, small)
        ]
        np.testing.assert_allclose(answers[1], answers[0], atol=2e-5 * np.abs(answers[0]).max(axis=0).max())


def test_block_is_wired_like_that_of_a_structure():
    block = rig.virtual().block(2e-4, "force", ("feedback.1", "feedback.2"))
    assert block.name == "virtual"
    assert block.inputs == ("excitation.virtual", "excitation.virtual.rate", "feedback.1", "feedback.2")
    assert names(block.outputs) == ("target.1", "target.2", "virtual.P", "virtual.B", "virtual.slope at B")
    assert [channel.unit for channel in block.outputs][2:] == ["m", "m", "rad"]


@pytest.mark.parametrize(
    ("change", "where", "message"),
    [
        ({"segments": [{"length": 1, "elements": 2, "width": 0.1}]}, "segments[1].second_moment", "width and height"),
        ({"segments": []}, "segments", "1 to 500 elements"),
        ({"interface": [{"node": 22}]}, "interface", "node 22 where the beam has 21; count from 1 to 21"),
        ({"interface": [{"node": 1}]}, "interface", "held by a support"),
        ({"interface": [{"node": 3}, {"node": 3}]}, "interface", "not independent"),
        ({"interface": []}, "interface", "empty"),
        ({"interface": [{"node": 3, "direction": "slope", "arm": 0.1}]}, "interface[1].arm", "omit the arm"),
        ({"joints": [{"node": 3, "to": 3}]}, "joints[1].to", "to itself"),
        ({"joints": [{"node": 3, "to": 30}]}, "joints", "node 30"),
        ({"modes": 40}, "modes", "40 fixed-interface modes requested of 39 interior"),
        ({"modes": 3, "supports": []}, "modes", "can move freely while the boundary is held"),
        ({"modal_damping": 0.01, "rayleigh": {"mass": 1.0}}, "modal_damping", "keep one kind of damping"),
    ],
)
def test_faulty_beams_are_told_what_to_change(change, where, message):
    with pytest.raises(ValueError, match=message) as caught:
        Beam(**{**CANTILEVER, **change})
    assert [fault.path for fault in caught.value.faults] == [where]


def test_excitation_must_be_known():
    beam_alone = Beam(**{**CANTILEVER, "force": None})
    with pytest.raises(ValueError, match=r"virtual\.force, which is not given"):
        beam_alone.check_excitation("force")
    with pytest.raises(ValueError, match="support displacement cannot act on a beam"):
        beam_alone.check_excitation("support")


# --- the rig of the example -------------------------------------------------------------------------------------------


def test_assembled_beams_have_the_published_natural_frequencies():
    """Fig. 16: modes 1, 2, 3 and 6; modes 4 and 5 (368 and 508 Hz) do not bend the beams in this plane."""
    np.testing.assert_allclose(rig.assembled().natural_frequencies_hz()[:4], [95.0, 211.0, 319.0, 520.1], atol=0.01)
