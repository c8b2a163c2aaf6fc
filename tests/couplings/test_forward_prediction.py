import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from halfreal.couplings.forward_prediction import ForwardPrediction, weights
from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop


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
    with pytest.raises(ValidationError, match="use at least 5 points"):
        ForwardPrediction(kind="forward prediction", prediction=0.01, order=4, points=4)
