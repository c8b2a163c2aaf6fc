"""Degrees of freedom without mass: against responses by the singular matrices themselves, and closed forms."""

import numpy as np
import pytest
import scipy.integrate

import halfreal
from halfreal.contracts.massless import MasslessError, staged
from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.models.structures.partition import Partition
from halfreal.models.structures.structure import Structure
from halfreal.rigs.specimen import Specimen
from halfreal.runs.loop_stability import linearised
from halfreal.runs.reference import assembled, emulation
from halfreal.stability.substructures import high_frequency_gain

BENDING, LENGTH, TIP = 1e4, 2.0, 50.0
CANTILEVER = BENDING / LENGTH**3 * np.array([[12.0, -6 * LENGTH], [-6 * LENGTH, 4 * LENGTH**2]])
SCHEMES = ["exact", "newmark", "hht", "generalized-alpha", "central difference", "kr-alpha", "rk2", "rk4"]


def random_structure(seed: int, damping: str) -> Structure:
    """Five degrees of freedom, two without mass, the second of which is a motion of two of them."""
    rng = np.random.default_rng(seed)
    spread = rng.normal(size=(3, 4))
    mass = np.zeros((5, 5))
    mass[1:, 1:] = spread.T @ spread
    root = rng.normal(size=(5, 5))
    resisting = rng.normal(size=(5, 2))  # two dampers
    fields = {
        "none": {},
        "rayleigh": {"rayleigh": {"mass": 0.3, "stiffness": 2e-3}},
        "modal": {"modal_damping": [0.01, 0.02, 0.03]},
        "dampers": {"damping": resisting @ resisting.T},
        "all": {"damping": root.T @ root * 0.1},
    }[damping]
    return Structure(
        mass=mass,
        stiffness=100.0 * (root @ root.T + np.eye(5)),
        force_dof=1,
        interface=(1, 3),
        responses={
            "bare": {"dof": 1, "quantity": "displacement"},
            "v4": {"dof": 4, "quantity": "displacement"},
            "a": {"dof": 5, "quantity": "displacement"},
        },
        **fields,
    )


@pytest.mark.parametrize("damping", ["none", "rayleigh", "modal", "dampers", "all"])
def test_the_linear_model_answers_as_the_singular_matrices_do(damping):
    for seed in range(4):
        system = random_structure(seed, damping).system("force")
        a, b, c, d = system.first_order()
        for omega in (0.3, 4.0, 70.0):
            dynamic = system.stiffness + 1j * omega * system.damping - omega**2 * system.mass
            moved = np.linalg.solve(dynamic, system.inputs)
            expected = system.displacement_outputs @ moved
            found = c @ np.linalg.solve(1j * omega * np.eye(len(a)) - a, b) + d
            np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max())


def test_velocities_and_accelerations_follow_an_excitation_by_its_rate():
    quantities = {name: {"dof": 2, "quantity": name} for name in ("displacement", "velocity")}
    part = Structure(mass=np.diag([TIP, 0.0]), stiffness=CANTILEVER, force_dof=2, responses=quantities)
    a, b, c, d = part.system("force").first_order()
    omega = 11.0
    found = c @ np.linalg.solve(1j * omega * np.eye(2) - a, b) + d
    by_excitation = found[1:, 0] + 1j * omega * found[1:, 1]  # the rate is an input of its own
    assert by_excitation[1] == pytest.approx(1j * omega * by_excitation[0], rel=1e-10)
    accelerated = {"a": {"dof": 2, "quantity": "acceleration"}}
    with pytest.raises(MasslessError, match=r"acceleration of a degree of freedom without mass.*displacement, or give"):
        part.model_copy(update={"responses": accelerated}).system("force").first_order()
    free = part.model_copy(update={"responses": accelerated, "rayleigh": {"stiffness": 1e-3}}).system("ground")
    assert free.first_order()[2].shape == (2, 2)  # not loaded, it has one


def source_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    y[0] = p.force * np.sin(p.omega * t)
    y[1] = p.force * p.omega * np.cos(p.omega * t)
    y[2] = 0.0
    return 0


def moved(part: Structure, dt: float, ticks: int, force: float, omega: float, record=("target",)) -> np.ndarray:
    channels = (Channel("excitation.virtual", "N"), Channel("excitation.virtual.rate", "N/s"), Channel("feedback", "N"))
    source = Block(
        name="source", step=source_step, inputs=(), outputs=channels, parameters={"force": force, "omega": omega}
    )
    loop = Loop([source, part.block(dt, "force", ("feedback",))], dt=dt)
    log = loop.run(ticks, record=(*record, "loop.fault")).log
    assert not log[:, -1].any(), loop.describe(log[-1, -1])
    return np.asarray(log[:, 1:-1])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_integrates_a_cantilever_whose_tip_turns_without_inertia(scheme):
    """A moment at the massless rotation; the deflection of the tip is that of one degree of freedom by hand."""
    k = 3 * BENDING / LENGTH**3
    force, omega, dt, ticks = 300.0, 6.0, 2e-3, 500
    damping = 2 * 0.03 * np.sqrt(k * TIP)
    part = Structure(
        mass=np.diag([TIP, 0.0]),
        stiffness=CANTILEVER,
        damping=np.diag([damping, 0.0]),
        force_dof=2,
        responses={"slope": {"dof": 2, "quantity": "displacement", "rotation": True}},
        scheme={"kind": scheme},
    )
    part.check_step(dt)
    time = dt * np.arange(ticks)
    push = 1.5 / LENGTH  # of a moment at the tip, as a force there
    exact = scipy.integrate.solve_ivp(
        lambda t, x: [x[1], (push * force * np.sin(omega * t) - damping * x[1] - k * x[0]) / TIP],
        (0.0, time[-1]),
        [0.0, 0.0],
        t_eval=time,
        rtol=1e-10,
        atol=1e-12,
    ).y[0]
    slope = 1.5 * exact / LENGTH + LENGTH / (4 * BENDING) * force * np.sin(omega * time)
    found = moved(part, dt, ticks, force, omega, ("target", "virtual.slope"))
    for i, expected in enumerate((exact, slope)):
        np.testing.assert_allclose(found[:, i], expected, atol=2e-4 * np.abs(expected).max())


@pytest.mark.parametrize("scheme", ["exact", "newmark", "hht", "generalized-alpha", "central difference"])
def test_a_damper_in_series_with_a_spring_has_a_state_of_its_own(scheme):
    """Maxwell's element beside a spring: the node between damper and spring has no mass; second order at least."""
    m, k, spring, damper, omega = 2.0, 800.0, 500.0, 12.0, 15.0
    part = Structure(
        mass=np.diag([m, 0.0]),
        stiffness=[[k + spring, -spring], [-spring, spring]],
        damping=np.diag([0.0, damper]),
        force_dof=1,
        initial_displacement=[0.01, 0.0],
        responses={"node": {"dof": 2, "quantity": "displacement"}, "speed": {"dof": 2, "quantity": "velocity"}},
        scheme={"kind": scheme},
    )

    def rates(t, x):
        stretched = spring * (x[0] - x[2])
        return [x[1], (5.0 * np.sin(omega * t) - k * x[0] - stretched) / m, stretched / damper]

    exact = scipy.integrate.solve_ivp(rates, (0.0, 1.0), [0.01, 0.0, 0.0], rtol=1e-11, atol=1e-13).y[:, -1]
    speed = spring * (exact[0] - exact[2]) / damper
    errors = []
    for steps in (250, 500):
        found = moved(part, 1.0 / steps, steps + 1, 5.0, omega, ("target", "virtual.node", "virtual.speed"))[-1]
        errors.append(np.abs(found - [exact[0], exact[2], speed]) / [0.01, 0.01, 0.2])
    assert np.all(errors[1] < 2e-3)
    if scheme != "exact":
        np.testing.assert_allclose(np.log2(errors[0] / errors[1]), 2.0, atol=0.25)


@pytest.mark.parametrize("scheme", ["newmark", "hht", "generalized-alpha"])
def test_a_plastic_hinge_on_a_rotation_without_inertia(scheme):
    """A cantilever on a hinge at its foot, ten times as stiff: with the hinge's rotation eliminated by hand it is
    one spring that yields at M_y/L and whose stiffness behind is that of cantilever and hardened hinge in series."""
    stiff, moment, hardening = 10 * 3 * BENDING / LENGTH, 800.0, 0.05
    hinge = {"kind": "elastoplastic hinge", "stiffness": stiff, "yield_moment": moment, "hardening": hardening}
    whole = 3 * BENDING / LENGTH**3  # of the cantilever against the turned foot
    part = Structure(
        mass=np.diag([TIP, 0.0]),
        stiffness=whole * np.array([[1.0, -LENGTH], [-LENGTH, LENGTH**2]]),
        elements=[{"law": hinge, "between": [2]}],
        force_dof=1,
        scheme={"kind": scheme},
    )
    found = staged(part.system("force"))
    assert (found.heavy, found.damped, found.algebraic) == (1, 0, 1)
    elastic = 1 / (1 / whole + LENGTH**2 / stiff)
    behind = 1 / (1 / whole + LENGTH**2 / (stiff * hardening))
    spring = {
        "kind": "elastoplastic",
        "stiffness": elastic,
        "yield_force": moment / LENGTH,
        "hardening": behind / elastic,
    }
    by_hand = Structure(
        mass=[[TIP]],
        stiffness=[[0.0]],
        elements=[{"law": spring, "between": [1]}],
        force_dof=1,
        scheme={"kind": scheme},
    )
    one, other = (moved(each, 2e-3, 1500, 600.0, 6.0)[:, 0] for each in (part, by_hand))
    assert np.abs(other).max() > 3 * moment / LENGTH / elastic  # far into yielding
    np.testing.assert_allclose(one, other, atol=1e-7 * np.abs(other).max())


def test_what_cannot_be_integrated_is_refused_with_the_remedy():
    hinge = {"law": {"kind": "cubic hinge", "stiffness": 1e3, "cubic": 1.0}, "between": [2]}
    fields = {"mass": np.diag([TIP, 0.0]), "stiffness": CANTILEVER}
    told = {
        "kr-alpha": ({"elements": [hinge]}, "freedom 2 has no mass, but a nonlinear element .* 'newmark', or give it"),
        "rk4": ({"damping": np.diag([1.0, 1.0])}, "freedom 2 has no mass, but damping .* 'exact' or 'newmark'"),
        "central difference": ({"elements": [hinge]}, "this scheme does not do; use 'newmark'"),
        "explicit newmark": ({"interface": (2,)}, "interface is at a degree of freedom without mass"),
        "newmark": ({"stiffness": np.diag([1.0, 0.0])}, "freedom 2 has neither mass nor a stiffness"),
        "exact": ({"stiffness": np.diag([1.0, 0.0])}, "freedom 2 has neither mass nor a stiffness"),
    }
    for scheme, (changes, words) in told.items():
        with pytest.raises(Exception, match=words):
            Structure(**{**fields, **changes}, scheme={"kind": scheme}).check_step(1e-4)
    for mass, words in (
        (np.diag([1.0, -1e-12]), "freedom 2 is -1e-12; check the signs"),
        ([[1e9, 1.0], [1.0, 0.0]], "no mass on the diagonal but off-diagonal mass"),
        (np.zeros((2, 2)), "no degree of freedom has mass"),
    ):
        with pytest.raises(ValueError, match=words):
            Structure(mass=mass, stiffness=CANTILEVER)
    with pytest.raises(ValueError, match=r"2 damping ratios for 1 modes \(1 degrees of freedom have no mass\)"):
        Structure(**fields, modal_damping=[0.1, 0.1])


def test_a_specimen_brings_its_mass_to_an_interface_that_has_none():
    """All mass at the interface is taken out and tested: the emulated system is the whole structure again."""
    mass, stiffness = np.diag([3.0, 2.0]), 1e3 * np.array([[2.0, -1.0], [-1.0, 1.0]])
    removed = {"mass": [[2.0]], "stiffness": [[300.0]]}
    definition = halfreal.Definition.model_validate(
        {
            "title": "massless interface",
            "timing": {"step": 1e-3, "duration": 1.0},
            "virtual": Partition(
                kind="partition", mass=mass, stiffness=stiffness, interface=(2,), removed=removed
            ).model_dump(),
            "rig": {"specimen": removed},
            "reference": {},
        }
    )
    whole = assembled(definition, definition.rig.specimen)
    scale = 1 / np.sqrt(np.diag(mass))
    expected = np.sqrt(np.linalg.eigvalsh(stiffness * np.outer(scale, scale)))
    np.testing.assert_allclose(whole.natural_frequencies(), expected, rtol=1e-10)
    remains = definition.virtual.system("none")
    assert staged(remains).heavy == 1
    assert high_frequency_gain(remains, np.array([[2.0]])) == np.inf
    assert high_frequency_gain(remains, np.array([[0.0]])) == 0.0


def test_the_emulated_system_may_have_a_hinge_on_a_massless_interface():
    part = Structure(mass=np.diag([TIP, 0.0]), stiffness=CANTILEVER, interface=(2,))
    hinge = {"kind": "elastoplastic hinge", "stiffness": 1e4, "yield_moment": 1e3}
    joined = Specimen(elements=[{"law": hinge, "between": [1]}]).attached_to(part.system("ground"), 1)
    assert emulation(joined, 1e-3).step.__name__ == "generalized_alpha_step"


def loop_of(virtual, stiffness):
    return halfreal.Definition.model_validate(
        {
            "title": "loop",
            "timing": {"step": 1e-3, "duration": 1.0},
            "virtual": virtual,
            "rig": {"actuator": {"kind": "delay", "delay": 4e-3}, "specimen": {"stiffness": stiffness}},
        }
    )


def test_a_loop_with_a_condensed_rotation_has_the_poles_of_that_condensed_by_hand():
    fields = {"mass": np.diag([TIP, 0.0]), "stiffness": CANTILEVER, "rayleigh": {"mass": 0.4, "stiffness": 1e-3}}
    by_hand = {**fields, "mass": [[TIP]], "stiffness": [[3 * BENDING / LENGTH**3]]}
    one, other = (linearised(loop_of(each, [[800.0]])).eigenvalues for each in (fields, by_hand))
    assert len(one) == len(other)
    np.testing.assert_allclose(np.sort(np.abs(one)), np.sort(np.abs(other)), atol=1e-7)


@pytest.mark.parametrize("share", [0.5, 1.5])
def test_at_a_massless_interface_the_stiffer_part_decides(share):
    """The interface goes to −K_s/K_v of where it was, four ticks later: stable while the specimen is the softer one."""
    soft = {"mass": np.diag([TIP, 0.0]), "stiffness": np.diag([5e3, 2e3]), "interface": (2,), "modal_damping": 0.05}
    found = linearised(loop_of(soft, [[share * 2e3]]))
    assert found.stable == (share < 1.0)
    alternating = np.abs(found.eigenvalues)[np.abs(np.angle(found.eigenvalues**4)) > 3.0]
    np.testing.assert_allclose(alternating, share**0.25, rtol=1e-6)
