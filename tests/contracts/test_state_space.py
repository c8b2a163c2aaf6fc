import numpy as np
import pytest
from scipy.linalg import expm, solve_triangular
from scipy.signal import cont2discrete

from halfreal.contracts.state_space import Delayed, StateSpace, transport
from halfreal.errors import HalfrealError


def random_loop(rng: np.random.Generator, states: int, channels: int, direct: float = 0.3) -> StateSpace:
    a = rng.normal(size=(states, states))
    a -= (np.linalg.eigvals(a).real.max() + 0.2) * np.eye(states)
    b, c = rng.normal(size=(states, channels)), rng.normal(size=(channels, states))
    return StateSpace(a, b, c, direct * rng.normal(size=(channels, channels)))


def test_response_is_that_of_the_impulse_response_integrated():
    loop = random_loop(np.random.default_rng(1), 3, 2)
    step, omega = 2e-3, 1.7
    time = np.arange(0, 60, step)
    impulse = np.array([loop.c @ x @ loop.b for x in _powers(expm(loop.a * step), time.size)])
    integral = np.trapezoid(impulse * np.exp(-1j * omega * time)[:, None, None], dx=step, axis=0)
    np.testing.assert_allclose(loop.response(omega)[0], integral + loop.d, atol=2e-5)


def _powers(matrix, count):
    power = np.eye(len(matrix))
    for _ in range(count):
        yield power
        power = power @ matrix


def test_triangular_form_for_many_states_gives_the_response_of_the_direct_solution():
    loop = random_loop(np.random.default_rng(2), 45, 2)
    omega = np.geomspace(0.01, 100, 30)
    solved = loop.c @ np.linalg.solve(1j * omega[:, None, None] * np.eye(45) - loop.a, loop.b.astype(complex)) + loop.d
    np.testing.assert_allclose(loop.response(omega), solved, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(loop.response(omega[:3]), solved[:3], rtol=1e-10, atol=1e-12)


def test_bilinear_map_keeps_the_response_at_warped_frequencies():
    continuous = random_loop(np.random.default_rng(3), 4, 2)
    a, b, c, d, dt = cont2discrete((continuous.a, continuous.b, continuous.c, continuous.d), 0.1)
    sampled = StateSpace(a, b, c, d, dt)
    mapped = sampled.continuous()
    omega = np.array([0.1, 1.0, 7.0, 100.0])
    np.testing.assert_allclose(mapped.response(omega), sampled.response(sampled.warped(omega)), rtol=1e-10)


def test_pole_at_minus_one_has_no_bilinear_map():
    with pytest.raises(HalfrealError, match="pole at z = −1"):
        StateSpace([[-1.0]], [[1.0]], [[1.0]], [[0.0]], 0.1).continuous()


def test_error_of_the_delay_model_falls_faster_than_any_power_of_its_order():
    omega = np.array([5.0])  # with τ = 2 s a phase of 10 rad
    errors = [abs(transport(2.0, order).response(omega)[0, 0, 0] - np.exp(-10j)) for order in (8, 12, 16, 20)]
    assert errors[-1] < 1e-10
    ratios = np.array(errors[1:]) / errors[:-1]
    assert np.all(np.diff(ratios) < 0)


def test_sampled_delays_are_realised_exactly():
    rng = np.random.default_rng(4)
    a = 0.5 * np.linalg.qr(rng.normal(size=(3, 3)))[0]
    loop = StateSpace(a, rng.normal(size=(3, 2)), rng.normal(size=(2, 3)), rng.normal(size=(2, 2)), 0.01)
    delayed = Delayed(loop, np.array([0.0, 0.03]))
    omega = np.array([1.0, 40.0, 300.0])
    np.testing.assert_allclose(delayed.realised(0).response(omega), delayed.response(omega), rtol=1e-11)
    np.testing.assert_allclose(
        delayed.response(omega), loop.response(omega) * np.exp(-1j * omega[:, None, None] * [0.0, 0.03]), rtol=1e-14
    )


def test_closing_the_last_channel_after_the_others_closes_the_loop():
    loop = random_loop(np.random.default_rng(5), 5, 3)
    for channel in range(3):
        poles = np.linalg.eigvals(loop.seen_from(channel).closed())
        expected = np.linalg.eigvals(loop.closed())
        np.testing.assert_allclose(np.sort_complex(poles), np.sort_complex(expected), rtol=1e-9)


@pytest.mark.parametrize(
    ("matrices", "words"),
    [
        (([[np.nan]], [[1.0]], [[1.0]], [[0.0]]), "matrix A .* nan in row 1, column 1"),
        (([[-1.0]], [[1.0]], [[np.inf]], [[0.0]]), "matrix C .* inf in row 1, column 1"),
        (([[-1.0]], [[1.0, 2.0]], [[1.0]], [[0.0]]), r"matrix D .* \(1, 1\) but needs \(1, 2\)"),
        (([[-1.0]], [[1.0]], [[1.0]], [[0.0]], 0.0), "sampling step is 0.0 s"),
    ],
)
def test_faulty_matrices_are_refused(matrices, words):
    with pytest.raises(HalfrealError, match=words):
        StateSpace(*matrices)


def test_algebraic_loop_is_refused():
    with pytest.raises(HalfrealError, match=r"I \+ D is singular"):
        StateSpace([[-1.0]], [[1.0]], [[1.0]], [[-1.0]]).closed()


def test_a_model_with_more_outputs_than_inputs_is_no_loop():
    with pytest.raises(HalfrealError, match="2 outputs, 1 inputs"):
        StateSpace([[-1.0]], [[1.0]], [[1.0], [1.0]], [[0.0], [0.0]]).closed()


@pytest.mark.parametrize("delays", [[0.1], [0.1, -0.1], [0.1, np.inf]])
def test_faulty_delays_are_refused(delays):
    with pytest.raises(HalfrealError, match="2 finite numbers ≥ 0"):
        Delayed(random_loop(np.random.default_rng(6), 2, 2), np.array(delays))


def test_delays_of_a_sampled_loop_are_whole_samples():
    with pytest.raises(HalfrealError, match=r"whole multiples of its step 0\.1 s"):
        Delayed(StateSpace([[0.5]], [[1.0]], [[1.0]], [[0.0]], 0.1), np.array([0.25]))


def test_single_points_of_many_states_are_those_of_scipys_solver_to_the_bit():
    rng = np.random.default_rng(4)
    model = StateSpace(rng.normal(size=(40, 40)), rng.normal(size=(40, 2)), rng.normal(size=(2, 40)), np.eye(2), 0.01)
    form, b, c, _ = model._triangular
    for omega in (0.0, 3.0, 200.0, 314.0):
        point = np.exp(1j * omega * 0.01)
        expected = c @ solve_triangular(point * np.eye(40) - form, b) + model.d
        np.testing.assert_array_equal(model.response(np.array([omega]))[0], expected)
