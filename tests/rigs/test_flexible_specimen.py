"""A specimen with degrees of freedom of its own, moved at its base."""

import math

import numpy as np
import pytest
import scipy.signal

import halfreal
from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.models.excitations import silence
from halfreal.rigs.flexible_specimen import FlexibleSpecimen
from halfreal.rigs.specimen import specimen_inputs
from halfreal.runs.reference import emulate

STEP = 1e-3
M0, M, C, K = 3.0, 12.0, 40.0, 5e4
CHAIN = {"mass": [[M0, 0], [0, M]], "damping": [[C, -C], [-C, C]], "stiffness": [[K, -K], [-K, K]]}
FREE = {"stiffness": np.zeros((2, 2))}
RESPONSES = {"place": {"dof": 2, "quantity": "displacement"}, "shock": {"dof": 2, "quantity": "acceleration"}}


def chain(**changed):
    return FlexibleSpecimen.model_validate({"kind": "flexible", "interface": [1], **CHAIN, **changed})


def moved_step(p, s, t, u, y):
    """A base that is accelerated along straight lines between the rig's steps, and its exact integrals."""
    w = 2.0 * math.pi * 7.0
    if s.begun == 1.0:
        a = math.sin(w * t)
        s.x += 1e-3 * s.v + 1e-6 * (s.a / 3.0 + a / 6.0)
        s.v += 0.5e-3 * (s.a + a)
        s.a = a
    s.begun = 1.0
    y[0], y[1], y[2] = s.x, s.v, s.a
    return 0


def moved(specimen, ticks=600):
    """Base acceleration and the specimen's outputs."""
    names = specimen_inputs(1)[:3]
    outputs = tuple(Channel(name, "1") for name in names)
    base = Block("base", moved_step, (), outputs, state={"x": 0.0, "v": 0.0, "a": 0.0, "begun": 0.0})
    block = specimen.block(1, np.zeros(1), STEP)
    loop = Loop([base], [silence("excitation.specimen", "N"), block], dt=STEP)
    read = [channel.name for channel in block.outputs]
    log = loop.run(ticks, record=[*names, *read]).log[:, 1:]
    return log[:-1, :3], log[1:, 3:]


def expected(acceleration):
    """Absolute equations of the mass on its spring, driven by the base's motion, by scipy on inputs linear in time."""
    base = np.array([[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [K / M, C / M, -K / M, -C / M]])
    outputs = np.array([[K, C, -K, -C], [0, 0, 1, 0], [K / M, C / M, -K / M, -C / M]])
    system = scipy.signal.StateSpace(base, [[0], [1], [0], [0]], outputs, [[M0], [0], [0]])
    return scipy.signal.lsim(system, acceleration, STEP * np.arange(acceleration.size), interp=True)[1]


def test_force_and_responses_are_those_of_the_absolute_equations():
    motion, found = moved(chain(responses=RESPONSES))
    np.testing.assert_allclose(found, expected(motion[:, 2]), rtol=0, atol=1e-9 * np.abs(found).max(axis=0).min())


def test_rigid_specimen_is_its_mass():
    rigid = FlexibleSpecimen.model_validate(
        {"kind": "flexible", "interface": [1], "mass": [[12.5]], "stiffness": [[0.0]]}
    )
    motion, found = moved(rigid)
    np.testing.assert_allclose(found[:, 0], 12.5 * motion[:, 2], rtol=1e-14)


def test_modal_damping_leaves_rigid_motion_free():
    specimen = chain(damping=None, modal_damping=[0.02])
    np.testing.assert_allclose(specimen.damping_matrix() @ np.ones(2), 0.0, atol=1e-9)
    omega = math.sqrt(K * (1 / M + 1 / M0))
    shape = np.array([1 / M0, -1 / M])
    ratio = (shape @ specimen.damping_matrix() @ shape) / (shape @ np.diag([M0, M]) @ shape) / (2 * omega)
    assert ratio == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"stiffness": [[K, -K], [-K, 2 * K]]}, r"(?s)interface.*statically indeterminate"),
        ({"interface": [2, 2]}, r"interface \[2, 2\] names a degree of freedom twice"),
        ({"interface": [3]}, "degree of freedom 3 where the mass matrix has 2"),
        ({"responses": {"tip": {"dof": 5, "quantity": "velocity"}}}, "degree of freedom 5"),
        ({"rayleigh": {"stiffness": 1e-4}}, "keep one kind of damping"),
        ({"damping": [[1.0]]}, "1 × 1 matrix, but the mass matrix is 2 × 2"),
        ({"damping": None, "modal_damping": [0.1, 0.1, 0.1]}, "3 damping ratios for 2 modes"),
    ],
)
def test_what_cannot_be_moved_so_is_refused(changed, told):
    with pytest.raises(ValueError, match=told):
        chain(**changed)


def definition(*, reference=None, **rig):
    return halfreal.Definition.model_validate(
        {
            "title": "a mass on a spring on a moving base",
            "timing": {"step": STEP, "duration": 0.5},
            "virtual": {"mass": [[80.0]], "damping": [[60.0]], "stiffness": [[3e4]], "force_dof": 1},
            "excitation": {"virtual": {"kind": "pulse", "force": 100.0, "duration": 0.05}},
            "rig": {"specimen": {"kind": "flexible", "interface": [1], **CHAIN, "responses": RESPONSES}, **rig},
            "reference": reference,
        }
    )


def test_a_definition_with_it_is_rehearsed_and_checked():
    found = halfreal.check(definition(actuator={"delay": 5e-3, "kind": "delay"}), remedies=False)
    assert found.verdict == "MARGINAL"  # nothing makes up for the delay: its synchronisation error
    assert np.abs(found.rehearsal.signals["rig.place"].values).max() > 1e-4
    whole = definition()
    poles = halfreal.check(whole).linearisation
    slowest = poles.frequency_hz[(poles.frequency_hz > 1.0) & (poles.damping < 0.2)].min()
    # 80 kg and 3 kg on a spring of 3e4 N/m, 12 kg on its own spring: the lower of two natural frequencies
    squares = np.linalg.eigvals(np.linalg.solve(np.diag([83.0, 12.0]), [[3e4 + K, -K], [-K, K]]))
    assert slowest == pytest.approx(np.sqrt(squares.min()) / (2 * np.pi), rel=2e-3)


def test_the_emulated_system_is_virtual_part_and_specimen_as_one():
    """83 kg on a spring to ground, with 12 kg on a spring of their own: by scipy on the pulse itself."""
    step = STEP / 8
    time = step * np.arange(8 * 499 + 1)
    pulse = np.where(time < 0.05, 100.0 * np.sin(np.pi * time / 0.05) ** 2, 0.0)
    stiffness, damping = np.array([[3e4 + K, -K], [-K, K]]), np.array([[60.0 + C, -C], [-C, C]])
    accelerated = -np.hstack([stiffness, damping]) / np.array([[83.0], [M]])
    system = np.vstack([np.hstack([np.zeros((2, 2)), np.eye(2)]), accelerated])
    pushed = np.array([[0.0], [0.0], [1 / 83.0], [0.0]])
    due = scipy.signal.lsim((system, pushed, np.eye(1, 4), [[0.0]]), pulse, time)[1][::8]
    for simplification in ("none", "inertia only"):  # of the rig's model, not of the true system
        specimen = {**definition().rig.specimen.model_dump(), "simplification": simplification}
        found = emulate(definition(reference={}, specimen=specimen), 500, 1)
        np.testing.assert_allclose(found[:, 0], due, rtol=0, atol=1e-9 * np.abs(due).max())


def test_a_rehearsal_shows_the_emulated_system_beside_its_target():
    run = halfreal.rehearse(definition(reference={"specimen": {"kind": "flexible", "interface": [1], **CHAIN}}))
    reference, target = run.vector("reference"), run.vector("target")
    assert np.abs(target - reference).max() < 0.05 * np.abs(reference).max()  # of a step of delay
    with pytest.raises(ValueError, match=r"reference\.specimen has an interface of 2"):
        definition(reference={"specimen": {"kind": "flexible", "interface": [1, 2], "mass": np.eye(2), **FREE}})


def test_axes_of_specimen_and_virtual_part_must_agree():
    given = definition().model_dump()
    given["virtual"] |= {"mass": np.eye(2), "damping": np.zeros((2, 2)), "stiffness": np.eye(2), "interface": (1, 2)}
    with pytest.raises(ValueError, match=r"rig\.specimen has an interface of 1 .* 2 axis"):
        halfreal.Definition.model_validate(given)
