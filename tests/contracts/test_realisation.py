"""State-space models from pulse responses: the same in any units."""

import numpy as np
import pytest
import scipy.linalg

from halfreal.contracts.realisation import difference, realised, share, sizes_of
from halfreal.contracts.state_space import StateSpace

DT = 1e-3
UNITS = [(np.ones(2), np.ones(2)), (np.array([1e-6, 1e4]), np.array([1e3, 1e-5]))]


def oscillators() -> StateSpace:
    """Two of them, coupled, whose displacement and force answer two inputs."""
    stiffness, mass = np.array([[5e3, -2e3], [-2e3, 3e3]]), np.diag([1.0, 2.0])
    a = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(mass, stiffness), -0.4 * np.eye(2)]])
    b = np.vstack([np.zeros((2, 2)), np.linalg.inv(mass)])
    c = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 3.0, 0.0, 0.1]])
    step = scipy.linalg.expm(np.block([[a, b], [np.zeros((2, 6))]]) * DT)
    return StateSpace(step[:4, :4], step[:4, 4:], c, np.zeros((2, 2)), DT)


def pulses_of(model: StateSpace, samples: int = 400) -> np.ndarray:
    found, x = [model.d], model.b
    for _ in range(samples - 1):
        found.append(model.c @ x)
        x = model.a @ x
    return np.array(found)


@pytest.mark.parametrize(("out", "into"), UNITS)
def test_the_model_has_the_pulse_responses_and_the_poles_in_any_units(out, into):
    true = oscillators()
    pulses = pulses_of(true) * np.outer(out, into)
    model = realised(pulses, DT)
    assert model.states == 4 and difference(model, pulses) < 1e-9
    found, poles = (np.sort_complex(np.linalg.eigvals(a)) for a in (model.a, true.a))
    np.testing.assert_allclose(found, poles, rtol=0, atol=1e-9)


@pytest.mark.parametrize("delay", [1, 9, 300])
def test_a_response_that_ends_within_a_few_ticks_is_realised_with_any_delay(delay):
    pulses = np.zeros((2000, 2, 1))
    pulses[delay : delay + 4, 0, 0] = [-0.06, 0.5, 0.6, -0.04]
    pulses[delay + 30 : delay + 34, 1, 0] = 2250.0 * pulses[delay : delay + 4, 0, 0]
    model = realised(pulses, DT)
    assert model.states == delay + 33 and difference(model, pulses) < 1e-12


@pytest.mark.parametrize(("out", "into"), UNITS)
def test_an_output_in_large_numbers_does_not_hide_the_error_of_another(out, into):
    pulses = pulses_of(oscillators())
    error = np.zeros_like(pulses)
    error[:, 0, :] = 0.1 * pulses[:, 0, :]  # a tenth of the first output is wrong
    plain = share(error, pulses)
    assert 0.05 < plain < 0.2
    assert share(error * np.outer(out, into), pulses * np.outer(out, into)) == pytest.approx(plain, rel=1e-9)


def test_what_never_answers_has_size_one():
    pulses = pulses_of(oscillators())
    pulses[:, 1, :] = 0.0
    rows, columns = sizes_of(pulses)
    assert rows[1] == 1.0 and np.all(np.isfinite(rows)) and np.all(columns > 0.0)
    assert share(np.zeros_like(pulses), pulses) == 0.0
