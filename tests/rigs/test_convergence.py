"""Specimens are felt without a hidden delay: poles converge to exact roots with order two (``convergence.py``)."""

import numpy as np
import pytest

import halfreal
from rigs.convergence import Case, cases, errors, flexible, servo_cases, single

SUBSTEPPED = [single("delay", "mass", 4), single("first order, 5 ms", "mass", 4), flexible("second order, 40 Hz", 4)]


def orders(found: np.ndarray) -> np.ndarray:
    return np.log2(found[:-1] / found[1:])


@pytest.mark.parametrize("case", [*cases(), *servo_cases()], ids=lambda case: case.name)
def test_poles_converge_to_the_roots_of_the_delay_equation(case: Case):
    found = errors(case)
    assert found[-1] < 6e-6
    assert orders(found)[-1] > 1.75


@pytest.mark.parametrize("case", SUBSTEPPED, ids=lambda case: case.name)
def test_poles_converge_with_substeps(case: Case):
    assert orders(errors(case))[-1] > 1.75


@pytest.mark.parametrize("actuator", ["delay", "second order, 40 Hz"])
@pytest.mark.parametrize("specimen", ["damper", "mass"])
def test_the_shortest_delay_is_one_step_and_no_more(actuator, specimen):
    """The delay shrinks with the step, and the loop's poles agree with those of one step of delay to order two."""
    found = errors(single(actuator, specimen, delay=0.0))
    assert found[-1] < 2e-5
    assert orders(found)[-1] > 1.9


def test_delay_of_no_whole_number_of_steps():
    found = errors(single("delay", "mass", delay=7.3e-3))
    assert found[-1] < 6e-6


def test_a_fast_actuator_couples_the_mass_of_its_specimen():
    """500 Hz at a step of 1 ms: 10 kg and 2 kg on 9577.6 N/m."""
    rig = {"actuator": {"kind": "second order", "frequency": 500.0, "damping": 0.7}, "specimen": {"mass": 2.0}}
    checked = halfreal.check(fast(rig))
    poles = checked.stability.linearisation
    hz = poles.frequency_hz[np.argmin(np.abs(poles.frequency_hz - 4.5))]
    assert hz == pytest.approx(np.sqrt(9577.6 / 12.0) / (2 * np.pi), rel=2e-3)
    assert not any("represent its specimen" in reason for reason in checked.reasons)


@pytest.mark.parametrize("reconstruction", ["linear", "hold"])
def test_a_mass_that_is_not_felt_is_no_go(reconstruction):
    actuator = {"kind": "second order", "frequency": 500.0, "damping": 0.7, "reconstruction": reconstruction}
    checked = halfreal.check(fast({"actuator": actuator, "specimen": {"mass": 2.0}}))
    assert checked.verdict == "NO-GO"
    assert any("does not represent its specimen" in reason and "Hz" in reason for reason in checked.reasons)
    assert any('"cubic"' in remedy for remedy in checked.remedies)


@pytest.mark.parametrize(
    ("actuator", "has"),
    [
        ({"delay": 4e-4}, "1 ms"),
        ({"kind": "first order", "time_constant": 5e-3, "delay": 4e-4}, "1 ms"),
        ({"delay": 2.5e-3, "reconstruction": "hold"}, "3 ms"),
    ],
)
def test_a_delay_that_cannot_be_had_is_said(actuator, has):
    reasons = halfreal.check(fast({"actuator": actuator, "specimen": {"stiffness": 100.0}})).reasons
    assert any("rig.actuator.delay is" in reason and f"the loop has {has}" in reason for reason in reasons)


def fast(rig: dict) -> halfreal.Definition:
    return halfreal.Definition(
        title="fast",
        timing={"step": 1e-3, "duration": 0.5},
        virtual={"mass": 10.0, "damping": 20.0, "stiffness": 9577.6, "force_dof": 1},
        excitation={"virtual": {"kind": "sine", "force": 1.0, "frequency": 2.0}},
        rig=rig,
    )
