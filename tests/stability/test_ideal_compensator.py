"""The ideal compensator: closed form, published values, and Table 2 of Ruffini et al. (2020) entry by entry."""

import random
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from halfreal.contracts.device import device_of
from halfreal.contracts.state_space import StateSpace
from halfreal.errors import HalfrealError
from halfreal.models.shaker import polynomials
from halfreal.stability.ideal_compensator import (
    Device,
    Follower,
    displacement_ratio,
    follower_of,
    ideal,
    ideal_response,
    performance,
)

TABLE_1 = {
    "mass": 2.7,
    "damping": 2.0,
    "stiffness": 10.0,
    "inductance": 0.025,
    "resistance": 1.6,
    "motor_constant": 20.1,
    "proportional": 49e3,
    "integral": 39e3,
    "derivative": 390.0,
    "position_filter": 28274.0,
    "force_proportional": 0.07,
    "force_integral": 0.0,
    "force_filter": 628.0,
}
HZ = np.linspace(0.5, 15.0, 59)


def actuator(numbers=TABLE_1, delay=0.0):
    values = SimpleNamespace(**numbers)
    return Follower(*polynomials(values, values), delay=delay)


def device(stiffness=8000.0, damping=800.0):
    return Device(np.ones(1), np.array([damping, stiffness]))


def test_with_it_the_actuator_follows_the_device_exactly():
    omega = 2 * np.pi * HZ
    for compensator in (ideal_response(actuator(), device(), omega), ideal(actuator(), device()).response(omega)):
        np.testing.assert_allclose(displacement_ratio(actuator(), device(), compensator, omega), 1.0, rtol=1e-10)


@pytest.mark.parametrize(
    ("stiffness", "damping", "hz", "gain", "degrees"),
    [
        (8000.0, 800.0, 11.0, 4.15, 39.6),
        (8000.0, 1000.0, 15.0, 13.1, 24.2),
        (8000.0, 300.0, 15.0, 5.42, None),
        (8000.0, 200.0, 10.0, 2.0, 1.2),
        (8000.0, 200.0, 12.0, 2.55, -1.6),
    ],
)
def test_uncompensated_ratio_of_section_3_1(stiffness, damping, hz, gain, degrees):
    found = performance(actuator(), device(stiffness, damping), [hz])
    assert abs(found.ratio[0]) == pytest.approx(gain, rel=5e-3)
    if degrees is not None:
        assert found.phase_error_deg[0] == pytest.approx(degrees, abs=0.1)


def test_published_compensator_at_5_hz():
    value = ideal_response(actuator(), device(), np.array([10 * np.pi]))[0]
    assert abs(value) == pytest.approx(1.14, abs=0.005)
    assert np.degrees(np.angle(value)) == pytest.approx(-56.1, abs=0.05)


def table_2(v, s_squared):
    """Coefficients as printed; ``s_squared`` is the last term of that of s² in the numerator.

    As printed, that of s³ lacks a bracket before its factor ω₂, which is closed here.
    """
    m, c, k = v.mass, v.damping - v.c_n, v.stiffness - v.k_n
    ca, cn, inductance, r, i = v.damping, v.c_n, v.inductance, v.resistance, v.motor_constant
    kp, ki, kd, fp, fi = v.proportional, v.integral, v.derivative, v.force_proportional, v.force_integral
    w1, w2 = v.position_filter, v.force_filter
    numerator = [
        inductance * m,
        ((w1 + w2) * m + c) * inductance + r * m,
        ((m * w1 + c) * w2 + c * w1 + k) * inductance + m * (i * fp + r) * w2 + r * m * w1 + c * r + i**2,
        ((r * m + c * inductance + i * fp * m) * w1 + c * r + k * inductance + i * (ca * fp - cn * fp + fi * m + i))
        * w2
        + (c * r + k * inductance + i**2) * w1
        + r * k,
        ((i**2 + ((kd + c) * fp + fi * m) * i + c * r + k * inductance) * w1 + (k * fp + fi * c) * i + r * k) * w2
        + w1 * r * k,
        w2 * (((kd + c) * fi + fp * (kp + k)) * i + r * k) * w1 + s_squared(i * fi * k, w2),
        i * w1 * w2 * ((kp + k) * fi + fp * ki),
        i * fi * ki * w1 * w2,
    ]
    denominator = [kd * fp, fi * kd + fp * kp, fi * kp + fp * ki, fi * ki]
    return numerator, [i * w1 * w2 * value for value in denominator]


def exact_numbers(seed):
    """Random fractions: two polynomials of them that agree to the last digit are the same."""
    draw = random.Random(seed)
    names = (*TABLE_1, "c_n", "k_n")
    return {name: Fraction(draw.randint(1, 97), draw.randint(1, 13)) for name in names}


@pytest.mark.parametrize("seed", range(3))
def test_table_2_agrees_but_for_a_lost_factor_in_one_entry(seed):
    numbers = exact_numbers(seed)
    v = SimpleNamespace(**numbers)
    found = ideal(actuator(numbers), Device(np.array([Fraction(1)]), np.array([v.c_n, v.k_n])))
    printed = table_2(v, lambda term, w2: term)
    names = [*(f"s^{power} above" for power in range(7, -1, -1)), *(f"s^{power} below" for power in range(3, -1, -1))]
    pairs = zip(names, (*found.numerator, *found.denominator), (*printed[0], *printed[1]), strict=True)
    # k_I k_Fi (k_a − k_n) must be multiplied by ω₂; with k_Fi = 0, as in Table 1, it does not matter
    assert [name for name, mine, theirs in pairs if mine != theirs] == ["s^2 above"]
    corrected = table_2(v, lambda term, w2: term * w2)
    assert list(found.numerator) == corrected[0]


def test_it_is_seventh_over_third_degree_and_differentiates():
    assert ideal(actuator({**TABLE_1, "force_integral": 0.1}), device()).excess == 4
    assert ideal(actuator(), device()).excess == 4  # a power of s is cancelled on both sides


def test_a_pure_delay_needs_a_lead_and_a_first_order_lag_a_derivative():
    late = ideal(Follower(np.ones(1), np.ones(1), np.zeros(1), delay=9.4e-3), device())
    np.testing.assert_allclose(late.response(np.array([10.0])), np.exp(10j * 9.4e-3))
    lag = ideal(Follower(np.array([0.02, 1.0]), np.ones(1), np.zeros(1)), device())
    np.testing.assert_allclose(lag.response(np.array([10.0])), 1.0 + 0.2j)


def test_models_in_state_space_give_the_same_as_their_ratios():
    # x'' + 2 x' + 50 x = 50 u + 0.3 f + 0.1 f', and a device of mass, damper and spring
    a = np.array([[0.0, 1.0], [-50.0, -2.0]])
    follower = follower_of(StateSpace(a, np.array([[0.0, 0.1], [50.0, 0.1]]), np.eye(2)[:1], np.zeros((1, 2))))
    omega = np.array([0.5, 3.0, 20.0])
    s = 1j * omega
    below = s**2 + 2 * s + 50
    np.testing.assert_allclose(follower.responses(omega)[0], 50 / below, rtol=1e-9)
    np.testing.assert_allclose(follower.responses(omega)[1], (0.1 * s + 0.3) / below, rtol=1e-9)
    mass = StateSpace(np.array([[0.0, 1.0], [-20.0, -0.4]]), [[0.0], [0.5]], [[1.0, 0.0]], [[0.0]])
    np.testing.assert_allclose(device_of(mass).response(omega), 0.5 / (s**2 + 0.4 * s + 20), rtol=1e-9)


def test_performance_tells_where_it_is_accurate_and_what_noise_becomes():
    omega = 2 * np.pi * HZ
    wanted = ideal_response(actuator(), device(), omega)
    found = performance(actuator(), device(), HZ, np.where(HZ <= 8.0, wanted, 1.0))
    assert found.accurate(1e-6, 1e-3) == [(0.5, 8.0)]
    np.testing.assert_allclose(found.noise_gain[HZ > 8.0], 1.0)
    np.testing.assert_allclose(found.force_noise_gain, found.noise_gain / np.abs(8000 + 800j * omega))
    assert "0.5 to 8 Hz" in found.summary()


def test_what_is_no_actuator_is_refused():
    with pytest.raises(HalfrealError, match="2 inputs"):
        follower_of(StateSpace([[-1.0]], [[1.0]], [[1.0]], [[0.0]]))
