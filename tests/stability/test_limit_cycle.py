"""Limit cycles by shooting on compiled loops: an oscillator of which all is known, and the pieces of the method."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.stability import floquet
from halfreal.stability.amplitude_sweep import size_of
from halfreal.stability.limit_cycle import NoCycleError, Pin, amplitude_of, cycle_near, refine
from halfreal.stability.shooting import shooting_of, weights

STEP = 0.05


def van_der_pol_step(p, s, t, u, y):
    """x¨ − ε (1 − x²) x˙ + x = 0 by the classical Runge–Kutta method; and a counter that nobody reads."""
    h, e = p.h, p.e
    x, v = s.x[0], s.x[1]
    k1, l1 = v, e * (1.0 - x * x) * v - x
    x2, v2 = x + 0.5 * h * k1, v + 0.5 * h * l1
    k2, l2 = v2, e * (1.0 - x2 * x2) * v2 - x2
    x3, v3 = x + 0.5 * h * k2, v + 0.5 * h * l2
    k3, l3 = v3, e * (1.0 - x3 * x3) * v3 - x3
    x4, v4 = x + h * k3, v + h * l3
    k4, l4 = v4, e * (1.0 - x4 * x4) * v4 - x4
    s.x[0] = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    s.x[1] = v + h / 6.0 * (l1 + 2.0 * l2 + 2.0 * l3 + l4)
    s.count += 1.0
    y[0] = s.x[0]
    return 0


def oscillator(e: float, step: float = STEP) -> Loop:
    """On its way to its cycle, and close to it."""
    block = Block(
        "guard",
        van_der_pol_step,
        (),
        (Channel("x", "m"),),
        parameters={"h": step, "e": e},
        state={"x": np.array([2.2, 0.1]), "count": 0.0},
    )
    loop = Loop([block], dt=step)
    loop.run(round(10.0 / step))
    return loop


def known(e: float) -> tuple[float, float, float]:
    """Period, amplitude and multiplier exp(∮ ε (1 − x²) dt), by scipy's integrator."""

    def slope(t, y):
        return [y[1], e * (1 - y[0] ** 2) * y[1] - y[0], e * (1 - y[0] ** 2)]

    def top(t, y):
        return y[1]

    top.direction = -1.0
    found = solve_ivp(slope, (0.0, 80.0), [2.0, 0.1, 0.0], rtol=1e-11, atol=1e-12, events=top)
    at, states = found.t_events[0], found.y_events[0]
    return at[-1] - at[-2], states[-1][0], float(np.exp(states[-1][2] - states[-2][2]))


@given(st.lists(st.floats(-5, 5), min_size=6, max_size=6), st.floats(1.5, 3.5))
def test_interpolation_is_exact_for_polynomials_of_the_fifth_degree(coefficients, at):
    polynomial = np.polynomial.Polynomial(coefficients)
    values, rates = weights(np.arange(6), at)
    size = np.abs(polynomial(np.arange(6))).max() + 1.0
    assert values @ polynomial(np.arange(6)) == pytest.approx(polynomial(at), abs=1e-10 * size)
    assert rates @ polynomial(np.arange(6)) == pytest.approx(polynomial.deriv()(at), abs=1e-10 * size)


@pytest.mark.parametrize("e", [0.1, 1.0])
def test_van_der_pol_oscillator(e):
    period, amplitude, multiplier = known(e)
    cycle = cycle_near(oscillator(e), 6.4 / STEP, ("x",))
    assert cycle.ticks * STEP == pytest.approx(period, rel=2e-6)
    assert cycle.amplitudes[0] == pytest.approx(amplitude, rel=1e-4)  # between samples
    assert cycle.multipliers[0] == pytest.approx(multiplier, rel=1e-4)
    assert cycle.trivial_error < 1e-5 and cycle.stable
    assert [cycle.shooting.loop.name_of(int(i)) for i in cycle.shooting.entries] == ["guard.x[0]", "guard.x[1]"]


def hysteretic_step(p, s, t, u, y):
    """The oscillator by Euler's method, with a permanent set that it carries along, and what rounding leaves."""
    h, x, v = p.h, s.x[0], s.x[1]
    s.x[1] = v + h * ((1.0 - x * x) * v - x)
    s.x[0] = x + h * s.x[1]
    s.set += s.x[0] - x
    s.left = (s.x[0] + 100.0) - 100.0 - s.x[0]
    y[0] = s.x[0] + s.left
    return 0


def test_memory_at_rest_makes_no_cycle_unstable_and_rounding_is_no_state():
    state = {"x": np.array([2.0, 0.1]), "set": 0.3, "left": 0.0}
    block = Block("guard", hysteretic_step, (), (Channel("x", "m"),), {"h": 0.02}, state, memory=("set", "left"))
    loop = Loop([block], dt=0.02)
    loop.run(1500)
    cycle = cycle_near(loop, 6.65 / 0.02, ("x",))
    assert [loop.name_of(int(i)) for i in cycle.shooting.entries] == ["guard.x[0]", "guard.x[1]", "guard.set"]
    nearest, decays = np.sort(np.abs(cycle.multipliers - 1.0))
    assert nearest < 1e-6 and decays > 0.5  # one at 1 is left when that along the motion is taken out
    assert cycle.stable and cycle.largest_multiplier < 0.5


def test_weak_oscillator_has_the_describing_functions_amplitude_and_multiplier():
    """Amplitude 2, and the deviation of the amplitude decays as exp(−ε t)."""
    cycle = cycle_near(oscillator(0.01), 2 * np.pi / STEP, ("x",))
    assert cycle.amplitudes[0] == pytest.approx(2.0, rel=1e-4)
    assert cycle.multipliers[0] == pytest.approx(np.exp(-0.01 * 2 * np.pi), rel=1e-4)


def test_period_converges_with_the_order_of_the_scheme():
    period = known(1.0)[0]
    errors = [abs(cycle_near(oscillator(1.0, h), 6.6 / h, ("x",)).ticks * h - period) for h in (0.1, 0.05)]
    assert 3.6 < np.log2(errors[0] / errors[1]) < 4.6


def test_a_number_is_found_for_an_amplitude():
    """Of the family over ε, the one with the amplitude of that at ε = 1."""
    aim = cycle_near(oscillator(1.0), 6.4 / STEP, ("x",))
    begun = cycle_near(oscillator(0.97), 6.4 / STEP, ("x",))
    pin = Pin(0.97, amplitude_of(aim.end), 1.0, 1.0, 0.0, 1.0)
    found = refine(begun.shooting, begun.ticks, number=0.97, pin=pin, loop_at=oscillator)
    assert found.number == pytest.approx(1.0, rel=1e-5) and found.ticks == pytest.approx(aim.ticks, rel=1e-6)


def test_a_cycle_that_the_step_cannot_resolve_is_told():
    with pytest.raises(Exception, match=r"cannot resolve this motion: it has 9 ticks.*shorter timing.step"):
        shooting_of(oscillator(1.0), 9.0, ("x",))
    with pytest.raises(NoCycleError, match=r"cannot resolve this cycle.*shorter timing.step"):
        cycle_near(oscillator(3.0, 0.2), 8.9 / 0.2, ("x",))


def test_kinds_of_crossings():
    assert [floquet.crossing(one) for one in (1.01, -1.01, 1.01j)] == ["fold", "period doubling", "Neimark–Sacker"]
    rest, apart = floquet.without_trivial(np.array([1.5, 0.999, 0.2]))
    assert rest.tolist() == [1.5, 0.2] and apart == pytest.approx(1e-3)


@given(st.floats(0.1, 10.0), st.floats(18.0, 400.0), st.floats(0.0, 6.0))
def test_amplitude_and_period_of_a_window_of_four_periods(amplitude, ticks, phase):
    values = 3.0 + amplitude * np.sin(2 * np.pi * np.arange(round(4 * ticks)) / ticks + phase)
    size, period = size_of(values)
    assert size == pytest.approx(amplitude, rel=1e-2) and period == pytest.approx(ticks, rel=1e-2)
