"""Loops that act alike only every few ticks: closed forms of a hold at a slower rate, and time as the oracle."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfreal.contracts.state_space import shift_register
from halfreal.errors import HalfrealError
from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.stability.lifted_margins import closed, delayed, lifted_response, radius
from halfreal.stability.linearise import linearise
from halfreal.stability.margins import delay_margin
from halfreal.stability.open_loop import PROBE, answer, open_loop, probe
from halfreal.stability.periodic import TickMap, mean_model

DT = 1e-3


def held_step(p, s, t, u, y):
    """Samples its input in every so many calls, and holds it."""
    if int(s.count) % int(p.every) == 0:
        s.value = u[0]
    s.count = float((int(s.count) + 1) % int(p.every))
    y[0] = s.value
    return 0


def integrator_step(p, s, t, u, y):
    s.x -= p.gain * u[0]
    y[0] = s.x
    return 0


def hold(every, source):
    return Block(
        name="hold",
        step=held_step,
        inputs=(source,),
        outputs=(Channel("held", "m"),),
        parameters={"every": float(every)},
        state={"value": 0.0, "count": 0.0},
        frozen=("count",),
        repeats=every,
    )


def integrator(gain):
    return Block(
        name="integrator",
        step=integrator_step,
        inputs=("held",),
        outputs=(Channel("command", "m"),),
        parameters={"gain": gain},
        state={"x": 0.0},
    )


def closed_loop(every, gain):
    return Loop([integrator(gain)], outer=[hold(every, "command")], dt=DT)


def cut_loop(every, gain):
    return Loop([probe(1, "m"), integrator(gain)], outer=[hold(every, PROBE)], dt=DT)


@pytest.mark.parametrize(("every", "substeps", "ticks"), [(1, 1, 1), (4, 1, 4), (20, 5, 4), (8, 3, 8), (5, 10, 1)])
def test_the_period_of_a_loop_is_that_of_its_rates_and_its_ticks(every, substeps, ticks):
    assert Loop([integrator(0.1)], [hold(every, "command")], dt=DT, substeps=substeps).period == ticks


@pytest.mark.parametrize("gain", [0.1, 0.3, 0.45, 0.55])
def test_poles_are_those_of_the_whole_period(gain):
    # x_{k+4} = x_k − 4 g x_k; a single tick would tell 1, and that of a continuous hold 1 − g
    found = linearise(closed_loop(4, gain))
    assert found.period == 4
    assert found.spectral_radius == pytest.approx(abs(1.0 - 4.0 * gain) ** 0.25, rel=1e-9)
    assert found.stable == (gain < 0.5)
    loop = closed_loop(4, gain)
    loop.state("integrator")["x"] = 1.0
    loop.run(41)  # the tick after the tenth period begins with it
    assert loop.state("integrator")["x"] == pytest.approx((1.0 - 4.0 * gain) ** 10, rel=1e-9)


@pytest.mark.parametrize("every", [1, 2, 5])
def test_the_mean_response_of_a_slower_hold_is_its_closed_form(every):
    loop, omega = cut_loop(every, 0.1), 2 * np.pi * np.array([3.0, 40.0, 170.0])
    model = answer(loop, ["held"])
    late = np.exp(-1j * np.multiply.outer(np.arange(every), omega) * DT)
    np.testing.assert_allclose(model.response(omega)[:, 0, 0], late.mean(axis=0), rtol=1e-12)


def test_what_does_not_change_is_not_copied():
    assert open_loop(cut_loop(5, 0.1)).states < 5 * 3


@pytest.mark.parametrize("periods", [1, 3])
@pytest.mark.parametrize("every", [2, 4])
def test_margins_of_a_slower_hold_are_those_in_closed_form(every, periods):
    # with r periods of delay x_{k+1} = x_k − N g x_{k−r} is on its limit at N g = 2 sin(π/(4 r + 2))
    gain = 2.0 * np.sin(np.pi / (4 * periods + 2)) / every
    margin = delay_margin(open_loop(cut_loop(every, gain)))
    assert margin.critical_delay == pytest.approx(periods * every * DT, rel=1e-8)
    assert margin.gain_margin_db == pytest.approx(20 * np.log10(2.0 / (every * gain)), abs=1e-7)


def test_the_mean_response_alone_would_tell_other_margins():
    loop = open_loop(cut_loop(4, 0.2))
    alone = delay_margin(type(loop).__mro__[1](loop.a, loop.b, loop.c, loop.d, loop.dt))
    assert abs(alone.gain_margin_db / delay_margin(loop).gain_margin_db - 1.0) > 0.01


def test_a_loop_that_is_unstable_is_said_to_be():
    margin = delay_margin(open_loop(cut_loop(4, 0.55)))
    assert margin.unstable_without_delay == 1 and margin.critical_delay == 0.0


def random_ticks(seed, count, states):
    """Maps of a period, the last two states of which go on alike in all ticks."""
    rng = np.random.default_rng(seed)
    same, ticks = rng.normal(size=(2, states)), []
    for _ in range(count):
        a = 0.5 * rng.normal(size=(states, states)) / np.sqrt(states)
        a[:-2, -2:], a[-2:] = 0.0, 0.3 * same / np.sqrt(states)
        b = np.vstack([rng.normal(size=(states - 2, 1)), [[0.0], [0.5]]])
        c = np.concatenate([rng.normal(size=states - 2), same[0, -2:]])[None]
        ticks.append(TickMap(a, b, c, rng.normal(size=(1, 1))))
    return tuple(ticks)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), count=st.integers(2, 6), states=st.integers(3, 6), hz=st.floats(1.0, 400.0))
def test_the_mean_response_is_the_fourier_coefficient_of_the_motion(seed, count, states, hz):
    ticks, omega = random_ticks(seed, count, states), 2 * np.pi * hz
    model = mean_model(ticks, DT)
    assert model.states == count * (states - 2) + 2
    lifted = lifted_response(ticks, DT, omega).sum(axis=1).mean()
    np.testing.assert_allclose(model.response(omega)[0, 0, 0], lifted, rtol=1e-9, atol=1e-12)
    state, turn = np.zeros(states, dtype=complex), np.exp(1j * omega * DT)
    coefficient, settling = 0.0, 300 * count
    for k in range(settling + count):
        tick, u = ticks[k % count], turn**k
        if k >= settling:  # in a steady state one period tells it
            coefficient += complex(tick.c[0] @ state + tick.d[0, 0] * u) / u / count
        state = tick.a @ state + tick.b[:, 0] * u
    if radius_of(ticks) < 0.9:
        np.testing.assert_allclose(lifted, coefficient, rtol=1e-9, atol=1e-12)


def radius_of(ticks):
    whole = np.eye(len(ticks[0].a))
    for tick in ticks:
        whole = tick.a @ whole
    return np.abs(np.linalg.eigvals(whole)).max() ** (1.0 / len(ticks))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), count=st.integers(2, 5), late=st.integers(1, 7), hz=st.floats(1.0, 400.0))
def test_a_delay_of_whole_ticks_is_a_shift_register(seed, count, late, hz):
    ticks, omega, register = random_ticks(seed, count, 4), 2 * np.pi * hz, shift_register(late, DT)
    behind = tuple(
        TickMap(
            np.block([[one.a, np.zeros((4, late))], [register.b @ one.c, register.a]]),
            np.vstack([one.b, register.b @ one.d]),
            np.hstack([np.zeros((1, 4)), register.c]),
            np.zeros((1, 1)),
        )
        for one in ticks
    )
    found = delayed(lifted_response(ticks, DT, omega), count, DT, omega, late * DT)
    np.testing.assert_allclose(found, lifted_response(behind, DT, omega), rtol=1e-9, atol=1e-10)
    assert radius(ticks, 0.7, late) == pytest.approx(np.abs(np.linalg.eigvals(closed(behind, 0.7))).max(), rel=1e-6)


def test_a_period_that_is_too_long_for_a_response_is_refused():
    with pytest.raises(HalfrealError, match="repeats only every 2000 ticks"):
        answer(cut_loop(2000, 0.1), ["held"])
