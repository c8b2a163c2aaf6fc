"""The measured force is the specimen's: false damping by sampling and hold, what filters do, and what helps."""

import numpy as np
import pytest
import scipy.signal

import halfreal
from halfreal.definition.paths import with_values
from halfreal.studies.check.criteria.measured_force import errors, measured_force
from halfreal.studies.check.examined import Examined

MASS = 0.5
SHAKER = {
    "title": "0.5 kg on a shaker",
    "timing": {"step": 1e-3, "duration": 3.0},
    "virtual": {"mass": 2.0, "stiffness": 2e4, "damping": 20.0, "force_dof": 1},
    "excitation": {"virtual": {"kind": "sine", "force": 20.0, "frequency": 12.0}},
    "coupling": {"kind": "none"},
    "rig": {
        "kind": "electrodynamic",
        "shaker": {
            "mass": 0.2,
            "damping": 5.0,
            "stiffness": 2e3,
            "inductance": 1e-3,
            "resistance": 2.0,
            "motor_constant": 12.0,
        },
        "drive": {
            "proportional": 6e4,
            "integral": 2e5,
            "derivative": 250.0,
            "position_filter": 3e3,
            "force_proportional": 2.0,
            "force_integral": 100.0,
            "force_filter": 6e3,
        },
        "specimen": {"mass": MASS, "stiffness": 0.0},
    },
}


@pytest.fixture(scope="module")
def shaker() -> halfreal.Definition:
    return halfreal.Definition(**SHAKER)


def held(test: halfreal.Definition, hz: float, step: float) -> complex:
    """Measured force per displacement, both sampled at the ticks of a command that is held: by scipy, from the
    continuous model of the rig, with the acceleration of the mass as its force."""
    model = test.rig.state_space()
    a, b, c = model.a, model.b[:, :1], model.c[0]
    place, speed = c, c @ a  # the displacement is a state, and its rate another: no command reaches them at once
    felt, direct = MASS * speed @ a, MASS * (speed @ b)
    system = scipy.signal.cont2discrete((a, b, np.vstack([place, felt]), np.vstack([[0.0], direct])), step)
    turn = np.exp(2j * np.pi * hz * step)
    state = np.linalg.solve(turn * np.eye(len(a)) - system[0], system[1])
    before = system[2] @ state + system[3]
    # the force at the end of a step is that of the command of the step, not of the next
    moved, pushed = (before[:, 0] - system[3][:, 0]) + system[3][:, 0] / turn
    return complex(pushed / moved)


@pytest.mark.parametrize("step", [1e-3, 1e-4])
def test_the_false_damping_of_a_sampled_mass(shaker, step):
    """−145 N s/m at a step of 1 ms, −0.1 N s/m at 0.1 ms."""
    test, omega = with_values(shaker, {"timing.step": step}), 2.0 * np.pi * 12.0
    false = held(shaker, 12.0, step) + MASS * omega**2
    sampled, sensed = errors(test, np.array([12.0]))
    assert sampled.damping[0, 0] == pytest.approx(false.imag / omega, rel=1e-4)
    assert sampled.stiffness[0, 0] == pytest.approx(false.real, rel=1e-3, abs=1e-3)
    assert sampled.damping[0, 0] == pytest.approx(-145.1 if step == 1e-3 else -0.1163, rel=1e-3)
    assert sensed.share[0] == 0.0


def test_the_reason_is_named_with_what_helps(shaker):
    (found,) = measured_force(Examined(shaker))
    assert found.severity == "no-go" and "N s/m of damping" in found.text and "a step of 1 ms" in found.text
    step, low_pass = found.remedies
    assert step.startswith("a step of 200 µs leaves -2")
    assert low_pass.startswith('rig.sensors.force.filter = { cutoff = "200 Hz" } with rig.substeps = 10')
    assert not list(measured_force(Examined(with_values(shaker, {"timing.step": 1e-4}), tries_remedies=False)))


def test_a_filter_of_the_force_delays_a_mass_as_its_response_says(shaker):
    """On a finer step of the rig nothing is left of the false damping but that of the filter: ω M sin(φ)/|1/H|."""
    given = {"rig.sensors": {"force": {"filter": {"cutoff": 100.0}}}, "rig.substeps": 10}
    sampled, sensed = errors(with_values(shaker, given), np.array([12.0]))
    b, a = scipy.signal.butter(2, 2.0 * np.pi * 100.0, analog=True)
    _, (response,) = scipy.signal.freqs(b, a, [2.0 * np.pi * 12.0])
    assert sensed.damping[0, 0] == pytest.approx((-MASS * 2.0 * np.pi * 12.0 * response).imag, rel=1e-9)
    assert sampled.share[0] < 5e-3


def test_the_impedance_of_a_specimen_with_further_degrees_of_freedom(shaker):
    """Against force over displacement of the continuous rig that moves it."""
    specimen = {
        "mass": [[0.5, 0.0], [0.0, 0.2]],
        "stiffness": [[3e3, -3e3], [-3e3, 3.5e3]],
        "damping": [[1.0, -1.0], [-1.0, 1.5]],
        "interface": 1,
    }
    rig = with_values(shaker, {"rig.specimen": specimen}).rig
    model, hz = rig.state_space(), np.array([2.0, 12.0, 21.0])
    for one, found in zip(hz, rig.specimen_impedance(1, hz)[:, 0, 0], strict=True):
        moved = model.c @ np.linalg.solve(2j * np.pi * one * np.eye(model.states) - model.a, model.b[:, 0])
        assert found == pytest.approx(moved[1] / moved[0], rel=1e-9)


def test_at_the_harmonics_of_a_coupling_the_force_is_known():
    """A harmonic coupling resonates there, and not what the rig does by itself."""
    spring = {"mass": 0.01, "damping": 0.05, "stiffness": 1000.0}
    test = halfreal.Definition(
        title="harmonic",
        timing={"step": 1e-3, "duration": 5.0},
        virtual={"mass": 0.1, "damping": 0.05, "stiffness": 1000.0, "force_dof": 1},
        excitation={"virtual": {"kind": "sine", "force": 1.0, "frequency": 8.0}},
        coupling={"kind": "harmonic lms", "frequencies": [8.0], "transfer": "model", "memory": 1.0},
        rig={"kind": "force actuated", "specimen": spring, "transfer": {"mass": 0.1, "damping": 1.0}},
    )
    sampled, _ = errors(test, np.array([8.0, 8.0 * (1.0 + 1e-9)]))
    assert sampled.share[0] == pytest.approx(sampled.share[1], rel=1e-6)
