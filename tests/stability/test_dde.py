"""Characteristic roots of delay equations: closed forms, published limits, contour counts and the time domain."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq, fsolve, linear_sum_assignment
from scipy.special import lambertw

from examples.wallace2005 import DELAY, KS, C, K, M, characteristic, critical_delay
from halfreal.couplings.forward_prediction import weights
from halfreal.stability.dde import DelayError, DelaySystem, abscissa, roots
from stability.delay_cases import MASS, count_inside, growth_rate, predicted, rod, rod_modes, rod_open_loop, wallace


def residual(system: DelaySystem, s: np.ndarray) -> np.ndarray:
    """Smallest singular value of Δ over what rounding and cancellation may leave of it."""
    size = np.abs(s) * np.linalg.norm(system.E) + np.linalg.norm(system.A[0])
    size = size + np.exp(-s.real[:, None] * system.delays) @ np.linalg.norm(system.A[1:], axis=(1, 2))
    return np.linalg.svd(system.matrix(s), compute_uv=False)[:, -1] / size


def assert_same(found: np.ndarray, exact: np.ndarray, relative: float) -> None:
    """As many roots, each where it belongs, in any order."""
    assert len(found) == len(exact)
    apart = np.abs(found[:, None] - exact)
    rows, columns = linear_sum_assignment(apart)
    assert (apart[rows, columns] <= relative * (1.0 + np.abs(exact[columns]))).all()


@pytest.mark.parametrize(("a", "b", "delay"), [(-1.0, -2.0, 1.0), (0.5, -3.0, 0.4), (-2.0, 1.0, 3.0), (0.0, -1.0, 0.1)])
def test_scalar_equation_has_the_roots_of_the_lambert_w_function(a, b, delay):
    found = roots(DelaySystem([[1.0]], [[[a]], [[b]]], [delay]), most=41)
    exact = a + lambertw(b * delay * np.exp(-a * delay), np.arange(-30, 31)) / delay
    exact = exact[np.argsort(-exact.real, kind="stable")][: len(found.roots)]
    assert len(found.roots) >= 41
    assert_same(found.roots, exact, 1e-12)
    apart = np.abs(found.roots[:, None] - exact).min(axis=1)
    assert (apart <= found.errors).all()
    assert (found.errors < 1e-8 * (np.abs(found.roots) + 1.0)).all()


def test_wallace2005_critical_delay_is_where_the_abscissa_changes_sign():
    found = brentq(lambda delay: abscissa(wallace(delay)), 5e-3, 9e-3, xtol=1e-13)
    assert found == pytest.approx(6.76955e-3, abs=5e-9)
    assert found == pytest.approx(critical_delay(), abs=1e-12)
    assert roots(wallace(found - 1e-9)).stable
    assert not roots(wallace(found + 1e-9)).stable


def test_abscissa_of_fixed_size_is_that_of_the_corrected_roots():
    for delay in (1e-3, 9.4e-3, 50e-3):
        assert abscissa(wallace(delay)) == pytest.approx(roots(wallace(delay)).abscissa, abs=1e-8)


@pytest.mark.parametrize(("delay", "sign"), [(6e-3, -1), (7.5e-3, 1)])
def test_growth_rate_agrees_with_an_integration_in_time(delay, sign):
    system = wallace(delay)
    exact = roots(system).abscissa
    assert np.sign(exact) == sign
    errors = [abs(growth_rate(system, per_delay, 40) - exact) for per_delay in (8, 16)]
    assert errors[1] < 1e-7
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.3)


@pytest.mark.parametrize(
    ("order", "published", "upper"),
    [(2, 40e-3, (35e-3, 45e-3)), (3, 23e-3, (20e-3, 26e-3)), (4, 13e-3, (12e-3, 15e-3))],
)
def test_wallace2005_figure_5_interval_of_stable_predictions(order, published, upper):
    """From ρ ≈ 2.63 ms to ≈ 40 ms for N = 2, ≈ 23 ms for N = 3 (and 13 ms for N = 4), n = 12, Δ = 1 ms."""

    def family(rho):
        return predicted(weights(order, 12, rho * 1e3))

    first = brentq(lambda rho: roots(family(rho), most=4).abscissa, 2e-3, 3e-3, xtol=1e-12)
    last = brentq(lambda rho: roots(family(rho), most=4).abscissa, *upper, xtol=1e-12)
    assert first == pytest.approx(DELAY - critical_delay(), abs=0.12e-3)
    assert last == pytest.approx(published, abs=0.6e-3)
    for limit in (first, last):
        crossing = roots(family(limit), most=2).roots[0].imag

        def both(unknown):
            value = characteristic(1j * unknown[0], weights(order, 12, unknown[1] * 1e3), DELAY, 1e-3)
            return value.real / K, value.imag / K

        solution, _, found, message = fsolve(both, (crossing, limit), full_output=True, xtol=1e-13)
        assert found == 1, message
        assert limit == pytest.approx(solution[1], abs=1e-10)


def test_exact_prediction_beyond_the_delay_would_need_the_future():
    with pytest.raises(DelayError, match="below 0"):
        wallace(DELAY - 9.5e-3)


# --- neutral ---------------------------------------------------------------------------------------------------------


def crossover_limit(modes: int, low: float, high: float) -> tuple[float, float]:
    """Crossover [rad/s] and critical delay of the rod with a mass from the phase there."""
    omega = brentq(lambda w: abs(rod_open_loop(w, modes)) - 1.0, 2 * np.pi * low, 2 * np.pi * high, xtol=1e-13)
    return omega, (np.angle(rod_open_loop(omega, modes)) + np.pi) / omega


def test_rod_with_mass_has_its_published_critical_delay():
    """34.3 ms and 14.7 Hz from the phase margin at the highest crossover; here from the roots themselves."""
    omega, expected = crossover_limit(2, 13.0, 20.0)
    assert expected == pytest.approx(34.25e-3, abs=5e-6)
    found = brentq(lambda delay: roots(rod(delay), most=6).abscissa, 30e-3, 40e-3, xtol=1e-12)
    assert found == pytest.approx(expected, abs=1e-10)
    lead = roots(rod(found), most=6).roots[0]
    assert abs(lead.imag) == pytest.approx(omega, rel=1e-8)
    assert abs(lead.imag) / (2 * np.pi) == pytest.approx(14.78, abs=0.01)


def test_rod_of_three_modes_is_stable_to_a_shorter_delay_and_of_four_modes_to_none():
    """The gain at high frequencies is m Σ 1/μ_i: 0.47, 0.73 and 1.01 for two, three and four modes."""
    for modes in (2, 3, 4):
        expected = MASS * (1 / rod_modes(modes)[1]).sum()
        assert rod(1e-2, modes).high_frequency_gain == pytest.approx(expected, rel=1e-12)
        assert rod(1e-2, modes).essential == pytest.approx(np.log(expected) / 1e-2, rel=1e-9)
    _, expected = crossover_limit(3, 25.0, 40.0)
    assert expected == pytest.approx(16.55e-3, abs=5e-6)
    assert roots(rod(expected * (1 - 1e-6), 3)).stable
    assert not roots(rod(expected * (1 + 1e-6), 3)).stable
    for delay in (1e-6, 1e-4, 1e-2):
        spectrum = roots(rod(delay, 4))
        assert not spectrum.stable
        assert "unstable for any delay" in spectrum.summary()


def test_neutral_roots_tend_to_the_essential_real_part():
    system = rod(30e-3)
    spectrum = roots(system, right_of=-100.0, below_hz=500.0)
    fast = spectrum.roots[spectrum.roots.imag > 2 * np.pi * 400]
    assert len(fast) == 3  # one each 1/τ
    np.testing.assert_allclose(fast.real, system.essential, rtol=2e-3)
    left = -9.0 * (1.0 / 30e-3)
    assert len(roots(system, right_of=left, below_hz=120.0).roots) == count_inside(system, left, 20.0, 240 * np.pi)


def test_neutral_roots_are_refused_where_there_are_infinitely_many():
    with pytest.raises(DelayError, match="give below_hz"):
        roots(rod(30e-3), right_of=-100.0)


@pytest.mark.parametrize("seed", range(4))
def test_neutral_structure_on_incommensurate_delays_misses_no_root(seed):
    """Two degrees of freedom, stiffness, damping and mass fed back, right of the essential real part."""
    rng = np.random.default_rng(seed)
    delays = 10 ** rng.uniform(-1.5, 0.0, 2)
    feedback = [(t, 20 * rng.standard_normal((2, 2)), None, 0.15 * rng.standard_normal((2, 2))) for t in delays]
    system = DelaySystem.second_order(np.eye(2), 0.5 * np.eye(2), np.diag([40.0, 90.0]), feedback)
    left = max(-1.0, system.essential + 0.3 / system.longest)
    found = roots(system, right_of=left)
    assert len(found.roots) > 0
    assert np.abs(found.roots.real - left).min() > 1e-2
    assert len(found.roots) == count_inside(system, left, 200.0, 200.0, 40_000)
    assert residual(system, found.roots).max() < 1e-13


def test_neutral_scalar_equation_has_its_closed_form_roots():
    """x˙ + g x˙(t − τ) = 0, the derivative an algebraic variable: s = 0 and s = (ln g + (2i + 1)πj)/τ."""
    gain, delay = 0.5, 0.2
    system = DelaySystem([[1, 0], [0, 0]], [[[0, 1], [0, -1]], [[0, 0], [0, -gain]]], [delay])
    found = roots(system, right_of=-10.0, below_hz=20.0).roots
    turns = np.pi * (2 * np.arange(-4, 4) + 1)
    exact = np.append((np.log(gain) + 1j * turns) / delay, 0.0)
    assert system.essential == pytest.approx(np.log(gain) / delay, rel=1e-12)
    assert_same(found, exact, 1e-11)


def test_difference_operator_of_two_delays_takes_the_worst_phases():
    """y + a y(t − 1) + b y(t − √2) = 0: |a| e^{−c} + |b| e^{−√2 c} = 1."""
    a, b, delays = 0.4, -0.3, np.array([1.0, np.sqrt(2.0)])
    E, A = np.diag([1.0, 0.0]), np.array([[[-1, 0.5], [0.3, -1]], [[0, 0], [0, -a]], [[0, 0], [0, -b]]])
    system = DelaySystem(E, A, delays)
    c = system.essential
    assert abs(a) * np.exp(-c) + abs(b) * np.exp(-np.sqrt(2.0) * c) == pytest.approx(1.0, rel=1e-12)
    assert system.high_frequency_gain == pytest.approx(0.7, rel=1e-12)


# --- any delays ------------------------------------------------------------------------------------------------------


def test_incommensurate_delays_have_as_many_roots_as_the_argument_principle_counts():
    rng = np.random.default_rng(7)
    A = rng.standard_normal((4, 3, 3))
    system = DelaySystem(np.eye(3), A, [0.3, 1 / np.pi, np.sqrt(2.0)])
    for left in (-0.7, -1.7, -2.65):
        found = roots(system, right_of=left)
        assert len(found.roots) == count_inside(system, left, 10.0, 200.0, 20_000)
        assert residual(system, found.roots).max() < 1e-14


def test_two_equal_structures_have_every_root_twice():
    system = DelaySystem.second_order(
        M * np.eye(2), C * np.eye(2), K * np.eye(2), [(9.4e-3, K * np.eye(2), None, None)]
    )
    one, two = roots(wallace(9.4e-3), most=6), roots(system, most=12)
    assert_same(two.roots, np.repeat(one.roots, 2), 1e-11)


def test_double_real_root_is_found_twice():
    """x˙ = −x(t − 1)/e: s = −1 twice, the branch point of the Lambert W function."""
    found = roots(DelaySystem([[1.0]], [[[0.0]], [[-np.exp(-1.0)]]], [1.0]), right_of=-1.5).roots
    assert len(found) == 2
    np.testing.assert_allclose(found, -1.0, atol=1e-6)


def test_without_delay_the_roots_are_eigenvalues():
    A = np.random.default_rng(3).standard_normal((4, 4))
    for system in (DelaySystem(np.eye(4), [A], []), DelaySystem(np.eye(4), [0.5 * A, 0.5 * A], [0.0])):
        assert_same(roots(system).roots, np.linalg.eigvals(A), 1e-12)


def test_force_as_an_algebraic_variable_changes_no_root():
    """z˙ = v, m v˙ = −k z − c v − f, f = k_s z(t − τ): algebraic, yet not neutral."""
    now = np.array([[0, 1, 0], [-K, -C, -1], [0, 0, -1]])
    late = np.zeros((3, 3))
    late[2, 0] = KS
    system = DelaySystem(np.diag([1.0, M, 0.0]), [now, late], [DELAY])
    assert not system.neutral
    assert system.essential == -np.inf
    assert_same(roots(system, most=8).roots, roots(wallace(DELAY), most=8).roots, 1e-11)
    assert abscissa(system) == pytest.approx(abscissa(wallace(DELAY)), rel=1e-8)


def test_rows_that_determine_nothing_are_refused():
    with pytest.raises(DelayError, match="condense"):
        roots(DelaySystem(np.diag([1.0, 0.0]), [[[0, 1], [1, 0]], np.eye(2)], [0.1]))


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    arrays(float, (3, 2, 2), elements=st.floats(-2, 2, allow_subnormal=False).map(lambda v: round(v, 3))),
    st.floats(0.05, 1.0),
    st.floats(0.05, 1.0),
)
def test_roots_of_any_stable_structure_are_roots_and_none_is_missed(A, first, second):
    A = A.copy()
    A[0] -= (0.1 + np.linalg.eigvals(A[0]).real.max()) * np.eye(2)  # stable without what comes late
    system = DelaySystem(np.eye(2), A, [first, second])
    found = roots(system, right_of=-1.0)
    assert residual(system, found.roots).max(initial=0.0) < 1e-13
    gap = np.abs(found.roots.real + 1.0).min(initial=np.inf)
    if gap > 0.02:  # a root on the contour cannot be counted
        assert len(found.roots) == count_inside(system, -1.0, 12.0, 40.0, 20_000)


def test_summary_and_plot_tell_the_rightmost_root():
    spectrum = roots(wallace(9.4e-3))
    assert spectrum.summary() == "unstable: the rightmost root at 7.041 Hz grows as exp(1.21 t/s)"
    axes = spectrum.plot().axes[0]
    drawn = np.concatenate([line.get_xdata() for line in axes.lines if line.get_marker() == "x"])
    np.testing.assert_allclose(np.sort(drawn), np.sort(spectrum.roots.real))
    assert roots(wallace(5e-3)).summary().startswith("stable")
