"""Stability of the spring–mass–damper loop: published values, closed forms and the delay differential equation."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq, fsolve

import halfreal
from examples.wallace2005 import (
    DELAY,
    KS,
    C,
    K,
    M,
    characteristic,
    critical_delay,
    definition,
    linearised,
    radius,
    root,
)
from halfreal.contracts.context import AT_REST
from halfreal.couplings.forward_prediction import weights
from halfreal.runs.continuous import continuous_loop
from halfreal.stability.dde import DelaySystem, abscissa
from halfreal.stability.dde_sweep import limit
from halfreal.stability.linearise import linearise
from halfreal.stability.margins import delay_margin


def residual(delay):
    """The delay differential equation with this delay left."""
    return DelaySystem.second_order([[M]], [[C]], [[K]], [(delay, [[KS]], None, None)])


def test_wallace2005_critical_delay():
    """6.77 ms in the paper; 6.76955 ms from its Eqs. 11 and 12, from margins and from characteristic roots."""
    assert critical_delay() == pytest.approx(6.76955e-3, abs=5e-9)
    exact = continuous_loop(definition()).open_loop
    assert delay_margin(exact).critical_delay == pytest.approx(critical_delay(), rel=1e-12)
    assert limit(residual, 6e-3, 8e-3) == pytest.approx(critical_delay(), rel=1e-9)


def test_wallace2005_first_order_estimate_of_the_critical_delay():
    """Eq. 9: c/k_s = 6.67 ms, from the growth rate of the loop at a vanishing delay."""
    slow = 2e-4
    rates = [linearised(definition(step=1e-4, delay=d)).continuous[0].real for d in (slow, 2 * slow)]
    slope = (rates[1] - rates[0]) / slow
    assert slow - rates[0] / slope == pytest.approx(C / KS, rel=2e-3)


@pytest.mark.parametrize(("step", "stable"), [(1e-3, 6), (1e-4, 67), (5e-5, 135)])
def test_linearised_code_agrees_with_the_exact_critical_delay_to_the_sample(step, stable):
    assert stable == int(critical_delay() / step)
    assert radius(definition(step=step, delay=stable * step)) < 1.0
    assert radius(definition(step=step, delay=(stable + 1) * step)) > 1.0


def test_critical_delay_of_the_sampled_loop_converges_with_order_two():
    error = [
        brentq(lambda delay, step=step: radius(definition(step=step, delay=delay)) - 1.0, 6e-3, 8e-3, xtol=1e-10)
        - critical_delay()
        for step in (2e-3, 1e-3, 5e-4)
    ]
    orders = np.log2(np.array(error[:-1]) / np.array(error[1:]))
    np.testing.assert_allclose(orders, 2.0, atol=0.02)


def test_transition_matrix_equals_an_independently_derived_one():
    """One tick with a delay of seven samples, derived by hand in the loop's own coordinates."""
    samples, dt = 7, 1e-3
    loop = halfreal.build(definition(delay=samples * dt), AT_REST)
    loop.run(4)
    measured = linearise(loop).matrix

    continuous = np.array([[0.0, 1.0, 0.0, 0.0], [-K / M, -C / M, -1.0 / M, 0.0], [0, 0, 0, 1.0], [0, 0, 0, 0]])
    exact = expm(continuous * dt)[:2]  # of (z, z˙, force, slope of the force)

    history = loop.state("actuator")["history"].size
    # measured x and f | z, z˙ and the inputs at the last tick | commands, newest first | x and x˙
    size = 2 + 5 + history + 2
    matrix = np.zeros((size, size))
    f, z, old, command, x = 1, 2, 6, 7, 7 + history
    matrix[z : z + 2, z : z + 2] = exact[:, :2]
    for column, force in ((old - 2, -K), (old - 1, -C), (old, 1.0)):  # the wall's r and r˙ push, the specimen resists
        matrix[z : z + 2, column] = force * (exact[:, 2] - exact[:, 3] / dt)
    matrix[z : z + 2, f] = exact[:, 3] / dt
    matrix[old, f] = 1.0
    matrix[command] = matrix[z]
    for j in range(1, history):
        matrix[command + j, command + j - 1] = 1.0
    applied = command + samples - 2  # the newest command is not among the old ones yet
    for row, gain in ((0, 1.0), (f, KS), (x, 1.0)):
        matrix[row, applied] = gain
    # x˙ of the cubic through the commands at −1, 0, 1 and 2 steps from the one that is applied
    matrix[x + 1, applied - 1 : applied + 3] = np.array([1 / 3, 1 / 2, -1.0, 1 / 6]) / dt
    assert measured.shape == matrix.shape
    np.testing.assert_allclose(measured, matrix, rtol=1e-10, atol=1e-10)


def test_wallace2005_uncompensated_loop_grows_as_the_delay_differential_equation_says():
    """The sampled loop's unstable pole tends to the characteristic root at τ = 9.4 ms with order two."""
    exact = root(np.array([1.0]), DELAY, 1.0 + 44.0j)
    assert exact.real > 0
    errors = [abs(linearised(definition(step=step)).continuous[0] - exact) for step in (1e-3, 5e-4)]
    assert errors[0] < 2e-3
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


def prediction_limit(order: int, omega: float, rho: float) -> float:
    """ρ at which the delay differential equation with its predictor (Eq. 14) has a root jω, sought from a guess."""

    def both(unknown):
        w, r = unknown
        value = characteristic(1j * w, weights(order, 12, r * 1e3), DELAY, 1e-3)
        return value.real / K, value.imag / K

    solution, _, found, message = fsolve(both, (omega, rho), full_output=True)
    assert found == 1, message
    return float(solution[1])


def loop_limit(order: int, low: float, high: float) -> float:
    def excess(rho):
        coupling = {"kind": "forward prediction", "prediction": rho, "order": order, "points": 12}
        return radius(definition(coupling=coupling)) - 1.0

    return float(brentq(excess, low, high, xtol=1e-9))


@pytest.mark.parametrize(
    ("order", "published", "lower", "upper"),
    [
        (2, 40e-3, (2e-3, 3e-3), (35e-3, 45e-3)),
        (3, 23e-3, (2e-3, 3e-3), (20e-3, 26e-3)),
        (4, 13e-3, (2e-3, 3e-3), (12e-3, 15e-3)),
    ],
)
def test_wallace2005_interval_of_stable_predictions(order, published, lower, upper):
    """Fig. 5: from ρ ≈ 2.63 ms to ≈ 40 ms for N = 2 and ≈ 23 ms for N = 3 (N = 4 is ours), n = 12, Δ = 1 ms."""
    first, last = loop_limit(order, *lower), loop_limit(order, *upper)
    assert first == pytest.approx(DELAY - critical_delay(), abs=0.12e-3)
    assert last == pytest.approx(published, abs=0.6e-3)
    # and the sampled loop against the continuous equation of the paper
    poles = linearised(
        definition(coupling={"kind": "forward prediction", "prediction": last, "order": order, "points": 12})
    ).continuous
    sampling = (abs(poles[0].imag) * 1e-3) ** 2 / 12  # a force taken as linear between samples is this much too small
    assert last == pytest.approx(prediction_limit(order, abs(poles[0].imag), last), rel=sampling)
    assert first == pytest.approx(prediction_limit(order, 44.0, first), rel=2e-3)


def test_exact_prediction_needs_the_delay_less_the_critical_one():
    """Fig. 5, grey: with perfect prediction the residual delay counts, and all ρ > τ − τ_c = 2.63 ms are stable."""
    least = limit(lambda rho: residual(DELAY - rho), 1e-3, 5e-3)
    assert least == pytest.approx(2.63e-3, abs=5e-6)
    assert all(abscissa(residual(DELAY - rho)) < 0 for rho in np.linspace(1.001 * least, 0.999 * DELAY, 20))


def test_wallace2005_over_compensation_adds_damping():
    def damping(rho):
        coupling = {"kind": "forward prediction", "prediction": rho, "order": 2, "points": 12}
        linearisation = linearised(definition(coupling=coupling))
        slow = np.argmin(np.abs(linearisation.frequency_hz - 7.2))
        return linearisation.damping[slow]

    assert damping(DELAY) < damping(DELAY + 0.5e-3) < damping(DELAY + 2e-3)
