"""The delay equation of a definition, against characteristic functions written by hand."""

import numpy as np
import pytest

import halfreal
from examples.wallace2005 import characteristic, definition
from examples.wallace2005 import linearised as poles_of
from halfreal.couplings.forward_prediction import weights
from halfreal.stability.dde import roots
from rigs import convergence
from rigs.convergence import Case, cases, newton, servo_cases, virtual_stiffness

STEP = 1e-3


@pytest.mark.parametrize("case", [*cases(), *servo_cases()], ids=lambda case: case.name)
def test_its_roots_are_those_of_the_characteristic_function(case: Case):
    def determinant(s: complex) -> complex:
        return complex(np.linalg.det(virtual_stiffness(case.virtual, s) + case.force(s, STEP)))

    system = halfreal.delay_system(convergence.definition(case, STEP))
    assert system.neutral == ("mass" in str(case.rig["specimen"]) and case.name.startswith("delay"))
    found = roots(system, most=2 if case.axes == 1 else 16).roots
    for root in found[found.imag > 0.0]:
        assert abs(newton(determinant, root) - root) < 1e-8 * abs(root)
    for root in convergence.roots(case, STEP):
        assert np.abs(found - root).min() < 1e-8 * abs(root)


@pytest.mark.parametrize(("prediction", "order"), [(9.4e-3, 3), (5e-3, 2)])
def test_a_predictor_is_a_sum_of_delays(prediction, order):
    test = definition(coupling={"kind": "forward prediction", "prediction": prediction, "order": order})
    found = roots(halfreal.delay_system(test), most=4).roots
    for root in found:
        exact = newton(lambda s: characteristic(s, weights(order, 12, prediction / STEP), 9.4e-3, STEP), root)
        assert abs(exact - root) < 1e-8 * abs(root)
    poles = poles_of(test).continuous
    assert np.abs(poles - found[0]).min() < 1e-3 * abs(found[0])


def test_a_predictor_on_a_specimen_with_mass_raises_the_gain_at_high_frequencies():
    """ρ(D) Σ|w|: 0.4 kg on 2.2 kg, and a prediction of one step by a straight line, 2 x_k − x_{k−1}."""
    coupling = {"kind": "forward prediction", "prediction": 1e-3, "order": 1, "points": 2}
    rig = {"actuator": {"delay": 5e-3}, "specimen": {"mass": 0.4, "stiffness": 2250.0}}
    system = halfreal.delay_system(definition(coupling=coupling, rig=rig))
    assert system.high_frequency_gain == pytest.approx(3 * 0.4 / 2.2, rel=1e-12)


def test_a_held_command_and_the_shortest_delay_are_counted():
    late = halfreal.delay_system(definition(delay=0.0)).delays
    np.testing.assert_allclose(late, [1e-3])
    held = {"actuator": {"delay": 2e-3, "reconstruction": "hold"}, "specimen": {"stiffness": 2250.0}}
    np.testing.assert_allclose(halfreal.delay_system(definition(rig=held)).delays, [2.5e-3])
