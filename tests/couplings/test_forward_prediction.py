import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.wallace2005 import definition, radius
from halfreal.couplings.forward_prediction import ForwardPrediction, weights
from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.runs.build import build


@given(
    order=st.integers(0, 6),
    extra=st.integers(0, 20),
    ahead=st.floats(0, 40),
    samples=st.lists(st.floats(-1, 1), min_size=30, max_size=30),
)
def test_prediction_is_the_least_squares_polynomial_of_numpy(order, extra, ahead, samples):
    """P_{N,n,Δ}[z](t + ρ) for any N, n, ρ against numpy's polynomial fit."""
    points = order + 1 + extra
    newest_first = np.array(samples[:points])
    fit = np.polynomial.Polynomial.fit(-np.arange(points), newest_first, order) if points > 1 else None
    expected = newest_first[0] if fit is None else fit(ahead)
    w = weights(order, points, ahead)
    assert w @ newest_first == pytest.approx(expected, abs=1e-9 * np.abs(w).sum())


@given(order=st.integers(0, 5), ahead=st.floats(0, 30))
def test_polynomials_of_the_order_are_predicted_exactly(order, ahead):
    rng = np.random.default_rng(order)
    polynomial = np.polynomial.Polynomial(rng.normal(size=order + 1) / 12.0 ** np.arange(order + 1))
    w = weights(order, 12, ahead)
    assert w @ polynomial(-np.arange(12)) == pytest.approx(polynomial(ahead), abs=1e-9 * np.abs(w).sum())


def ramp_step(p, s, t, u, y):
    y[0] = 3.0 + 2.0 * t
    y[1] = -t
    return 0


def test_block_extrapolates_every_axis_by_rho_in_seconds():
    source = Block("virtual", ramp_step, (), (Channel("target.1", "m"), Channel("target.2", "m")))
    coupling = ForwardPrediction(kind="forward prediction", prediction=0.0123, order=1, points=5)
    loop = Loop([source, coupling.block(0.001, "m", ("target.1", "target.2"), ())], dt=0.001)
    log = loop.run(20, record=["command.asked.1", "command.asked.2"]).log
    t = log[6:, 0]
    np.testing.assert_allclose(log[6:, 1], 3.0 + 2.0 * (t + 0.0123), rtol=1e-12)
    np.testing.assert_allclose(log[6:, 2], -(t + 0.0123), rtol=1e-12)


def test_first_command_is_the_first_target():
    source = Block("virtual", ramp_step, (), (Channel("target.1", "m"), Channel("target.2", "m")))
    coupling = ForwardPrediction(kind="forward prediction", prediction=0.0123, order=3, points=12)
    loop = Loop([source, coupling.block(0.001, "m", ("target.1", "target.2"), ())], dt=0.001)
    assert loop.run(1, record=["command.asked.1"]).log[0, 1] == pytest.approx(3.0)


def test_too_few_points_are_refused_with_the_least_number():
    with pytest.raises(ValueError, match="use at least 5 points"):
        ForwardPrediction(kind="forward prediction", prediction=0.01, order=4, points=4)


# --- adaptive: an order that the delay has outgrown -------------------------------------------------------------------


def with_rig_delay(delay: float):
    return definition(
        delay=delay,
        timing={"step": 1e-3, "duration": 200.0},
        excitation={"virtual": {"kind": "sine", "displacement": 0.01, "frequency": 1.5, "ramp": 2.0}},
        coupling={"kind": "adaptive forward prediction", "prediction": 12e-3},
        limits={"command": {"trip": 0.02}},
    )


def test_the_order_falls_when_the_delay_outgrows_it_and_rises_again_when_it_shrinks():
    """Order 3 through 12 points is stable with a rig delay up to 22.15 ms that is predicted, order 2 up to 31.96."""
    loop = build(with_rig_delay(30.4e-3))  # its line of commands is the longest
    actuator, found = loop.parameter("actuator"), {}
    for up, delays in ((True, np.arange(9.4, 31.0, 3.0)), (False, np.arange(27.4, 12.0, -3.0))):
        for ms in delays:
            other = build(with_rig_delay(1e-3 * ms)).parameter("actuator")
            actuator["first"][:], actuator["weights"][:] = other["first"], other["weights"]
            stretch = loop.run(5000, record=["coupling.order", "guard.mode", "gap"])
            assert not stretch.log[:, 2].any(), f"tripped at {ms} ms"
            assert np.abs(stretch.log[-1000:, 3]).max() < 1e-4
            found[up, round(float(ms), 1)] = stretch.log[-1, 1]
    assert [found[True, ms] for ms in (9.4, 18.4, 24.4, 30.4)] == [3.0, 3.0, 2.0, 2.0]
    assert [found[False, ms] for ms in (24.4, 12.4)] == [2.0, 3.0]


@pytest.mark.parametrize(("order", "last"), [(3, 22.15e-3), (2, 31.96e-3)])
def test_rig_delays_that_an_order_takes_when_it_predicts_them(order, last):
    for delay, stable in ((last - 2e-5, True), (last + 2e-5, False)):
        coupling = {"kind": "forward prediction", "prediction": delay, "order": order, "points": 12}
        assert (radius(definition(delay=delay, coupling=coupling)) < 1.0) == stable
