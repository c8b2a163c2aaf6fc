"""No false "stable" and no false "unstable": verdicts on delay equations against an independent count."""

import numpy as np
import pytest

from halfreal.stability.dde import DelayError, DelaySystem, abscissa, roots
from halfreal.stability.dde_count import Characteristic
from halfreal.stability.dde_sweep import limit, sweep
from stability.delay_cases import rod
from stability.independent_count import growing, growing_neutral

# --- families of random systems: A = [A_0, A_1, …] and delays ---------------------------------------------------------


def late(rng, n, delays):
    return rng.standard_normal((delays, n, n)) / np.sqrt(n * delays)


def defective(rng):
    """A Jordan block of two to five equal eigenvalues, in any coordinates."""
    n = rng.integers(2, 6)
    block = rng.integers(2, n + 1)
    now = np.diag(-rng.uniform(0.2, 2.0, n))
    now[:block, :block] = rng.uniform(-0.5, 0.15) * np.eye(block) + np.diag(np.ones(block - 1), 1)
    back = np.zeros((n, n))
    if block < n:
        back[-1, -1] = -rng.uniform(0.0, 1.0)
    q = np.linalg.qr(rng.standard_normal((n, n)))[0] if rng.random() < 0.5 else np.eye(n)
    return q @ np.array([now, back]) @ q.T, [rng.uniform(0.2, 2.0)]


def clustered(rng):
    """Two systems that are the same but for 1e-14 to 1e-3, one driving the other or not."""
    one = rng.standard_normal((2, 2, 2)) / 1.3
    one[0] -= 1.5 * np.eye(2)
    both = np.zeros((2, 4, 4))
    both[:, :2, :2], both[:, 2:, 2:] = one, one * (1.0 + 10.0 ** rng.uniform(-14, -3))
    if rng.random() < 0.5:
        both[0, :2, 2:] = np.eye(2)
    q = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    return q @ both @ q.T, [rng.uniform(0.3, 2.0)]


def stiff(rng):
    """Modes from 1 rad/s up to 1e6 rad/s in physical coordinates, a spring fed back."""
    n = rng.integers(2, 5)
    omega = np.geomspace(1.0, 10.0 ** rng.uniform(3, 6), n)
    q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    stiffness, damping = q @ np.diag(omega**2) @ q.T, q @ np.diag(2 * 10 ** rng.uniform(-3, -1) * omega) @ q.T
    v = rng.standard_normal((n, 1)) if rng.random() < 0.5 else q[:, :1]
    A = np.zeros((2, 2 * n, 2 * n))
    A[0, :n, n:], A[0, n:, :n], A[0, n:, n:] = np.eye(n), -(stiffness + stiffness.T) / 2, -damping
    A[1, n:, :n] = -rng.uniform(0.02, 0.6) * v @ v.T
    return A, [rng.uniform(0.01, 0.5)]


def long_delay(rng):
    n = rng.integers(1, 4)
    now = 1.5 * late(rng, n, 1) - rng.uniform(1.0, 2.4) * np.eye(n)
    return np.concatenate([now, rng.uniform(0.3, 1.2) * late(rng, n, 1)]), [10.0 ** rng.uniform(0.5, 2.2)]


def many_delays(rng):
    n, delays = rng.integers(1, 5), rng.integers(5, 13)
    now = late(rng, n, 1) - rng.uniform(0.6, 2.4) * np.eye(n)
    return np.concatenate([now, late(rng, n, delays)]), rng.uniform(0.05, 2.0, delays)


def full(rng):
    n, delays = rng.integers(1, 9), rng.integers(1, 5)
    now = 1.2 * late(rng, n, 1) - rng.uniform(0.5, 2.0) * np.eye(n)
    return np.concatenate([now, late(rng, n, delays)]), rng.uniform(0.05, 2.0, delays)


FAMILIES = (defective, clustered, stiff, long_delay, many_delays, full)


def assert_right(spectrum, true):
    """The verdict is the truth, or none is given; True if one is."""
    if true is not None:
        wrong = {"stable": true > 0, "unstable": true == 0, "not certified": False}[spectrum.verdict]
        assert not wrong, f"{spectrum.summary()}, but {true} roots grow"
    assert spectrum.stable == (spectrum.verdict == "stable")
    return spectrum.verdict != "not certified"


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_verdicts_agree_with_an_independent_count(family):
    certified = 0
    for seed in range(18):
        A, delays = family(np.random.default_rng(seed))
        system = DelaySystem(np.eye(A.shape[-1]), A, delays)
        certified += assert_right(roots(system, most=2), growing(A, system.delays))
    assert certified >= 16


def test_neutral_verdicts_of_mass_ratios_close_to_1_agree_with_an_independent_count():
    """The shaking table's case: 0.9 to 0.999, where the strip right of the essential spectrum is narrow."""
    verdicts = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        mass, omega, zeta = (
            1 - 10.0 ** rng.uniform(-3, -1),
            2 * np.pi * rng.uniform(1, 10),
            10 ** rng.uniform(-2.5, -0.3),
        )
        stiffness, delay = omega**2 * rng.uniform(0, 0.5) * (rng.random() < 0.5), 10 ** rng.uniform(-2.7, -1)
        system = DelaySystem.second_order(1.0, 2 * zeta * omega, omega**2, [(delay, stiffness, None, mass)])
        spectrum = roots(system, most=2)
        assert assert_right(spectrum, growing_neutral(zeta, omega, stiffness, mass, delay))
        verdicts.append(spectrum.verdict)
    assert 10 < verdicts.count("stable") < 50


# --- cases once answered wrongly --------------------------------------------------------------------------------------


def test_defective_triple_root_is_given_three_times_with_its_error():
    now = np.diag([0.1, 0.1, 0.1, -1.0]) + np.diag([1.0, 1.0, 0.0], 1)
    spectrum = roots(DelaySystem(np.eye(4), [now, np.diag([0, 0, 0, -0.5])], [1.0]))
    assert spectrum.verdict == "unstable"
    np.testing.assert_allclose(spectrum.roots[:3], 0.1, atol=1e-9)
    assert (spectrum.errors[:3] < 0.05).all()
    assert abs(spectrum.roots[3].imag) > 1.0


def test_slow_root_of_a_stiff_structure_in_physical_coordinates_is_not_lost():
    """Five modes from 1 to 1e6 rad/s; without the others the first has the root of a single mass."""
    omega, q = np.geomspace(1, 1e6, 5), np.linalg.qr(np.random.default_rng(0).standard_normal((5, 5)))[0]
    stiffness, v = q @ np.diag(omega**2) @ q.T, q[:, :1]
    system = DelaySystem.second_order(
        np.eye(5), q @ np.diag(0.04 * omega) @ q.T, (stiffness + stiffness.T) / 2, [(0.3, 0.5 * v @ v.T, None, None)]
    )
    alone = roots(DelaySystem.second_order(1.0, 0.04, 1.0, [(0.3, 0.5, None, None)])).roots[0]
    spectrum = roots(system, most=4)
    assert spectrum.verdict == "unstable"
    assert abs(spectrum.roots[0] - alone) < min(spectrum.errors[0], 1e-3)


def test_strip_right_of_the_essential_spectrum_is_searched():
    """High-frequency gain 0.97: unstable from 55.6 ms on, from the phase at |L| = 1."""

    def family(delay):
        return DelaySystem.second_order(1.0, 2.0, 100.0, [(delay, None, None, 0.97)])

    squares = np.roots([1 - 0.97**2, 4.0 - 200.0, 1e4])
    omega = np.sqrt(squares.max())
    loop = 0.97 * (1j * omega) ** 2 / ((1j * omega) ** 2 + 2j * omega + 100)
    expected = np.mod(np.pi + np.angle(loop), 2 * np.pi) / omega
    assert expected == pytest.approx(0.0556, abs=1e-4)
    assert limit(family, 0.03, 0.08) == pytest.approx(expected, rel=1e-9)
    assert roots(family(0.065)).verdict == "unstable"
    assert roots(family(0.03)).verdict == "stable"


def test_long_delay_of_a_fast_system_is_not_refused():
    """x˙ = −1e5 x + 0.9e5 x(t − 1): stable for any delay, some 1e4 roots next to the real part ln 0.9."""
    system = DelaySystem([[1.0]], [[[-1e5]], [[0.9e5]]], [1.0])
    assert roots(system, most=1).stable
    assert np.log(0.9) - 1e-5 < abscissa(system) < 0.0
    assert roots(system, most=1).roots[0].real == pytest.approx(np.log(0.9), rel=1e-4)
    assert roots(DelaySystem([[1.0]], [[[-1e5]], [[1.1e5]]], [1.0]), most=1).verdict == "unstable"


def test_abscissa_is_at_hand_wherever_roots_are():
    """Algebraic, neutral, without delay, and on a singular interpolation matrix."""
    cases = [
        rod(30e-3),
        DelaySystem(np.eye(2), [[[-1, 1], [0, -1]]], []),
        DelaySystem([[1.0]], [[[-1.0]], [[0.0]]], [1.0]),
    ]
    for system in cases:
        assert abscissa(system) == pytest.approx(roots(system).abscissa, rel=1e-9)


def test_bound_of_several_delays_is_no_fact():
    """Two channels whose difference operator is only known between bounds: neither verdict without a root."""
    back = [np.array([[0.5, 0.4], [-0.5, 0.3]]), np.array([[0.2, -0.5], [0.6, 0.1]])]
    terms = [(delay, None, None, 0.8 * matrix) for delay, matrix in zip((0.05, 0.07), back, strict=True)]
    system = DelaySystem.second_order(np.eye(2), 20 * np.eye(2), 100 * np.eye(2), terms)
    spectrum = roots(system)
    low, high = system.gains
    assert low < 1.0 < high
    angles = np.exp(1j * np.linspace(0, 2 * np.pi, 2000))
    exact = np.abs(np.linalg.eigvals(0.8 * (back[0] + angles[:, None, None] * back[1]))).max()
    assert low == pytest.approx(exact, rel=1e-3)
    assert spectrum.verdict == "not certified"
    assert "lies between" in spectrum.summary()


# --- what a certificate says ------------------------------------------------------------------------------------------


def test_count_is_that_of_the_lambert_w_function():
    """x˙ = −(π/2 + 2πk) x(t − 1) has 2k roots right of the axis and two on it."""
    for k in (0, 1, 5, 40):
        function = Characteristic(DelaySystem([[1.0]], [[[0.0]], [[-(np.pi / 2 + 2 * np.pi * k) - 0.1]]], [1.0]))
        assert function.count(0.0).number == 2 * k + 2
    on_it = Characteristic(DelaySystem([[1.0]], [[[0.0]], [[-np.pi / 2]]], [1.0]))
    assert on_it.count(0.0).number is None
    assert roots(DelaySystem([[1.0]], [[[0.0]], [[-np.pi / 2]]], [1.0])).verdict == "not certified"


def test_roots_on_the_axis_are_on_the_limit_not_stable():
    spectrum = roots(DelaySystem(np.eye(2), [[[0, 1], [-1, 0]], np.zeros((2, 2))], [1.0]))
    assert spectrum.summary().startswith("on the limit")
    assert not spectrum.stable


def test_large_structure_with_a_small_interface_agrees_with_its_modes():
    """40 modes in physical coordinates, walked in modes, against the same walked as it is."""
    rng = np.random.default_rng(3)
    omega, q = np.sort(2 * np.pi * rng.uniform(1, 60, 12)), np.linalg.qr(rng.standard_normal((12, 12)))[0]
    p = rng.standard_normal((12, 1)) / np.sqrt(12)
    K = q @ np.diag(omega**2) @ q.T
    term = (4e-3, 0.5 * omega[0] ** 2 * p @ p.T, None, 0.2 * p @ p.T)
    function = Characteristic(
        DelaySystem.second_order(np.eye(12), q @ np.diag(0.02 * omega) @ q.T, (K + K.T) / 2, [term])
    )
    assert function.modal is not None
    for sigma in (-3.0, -0.5, 0.0, 1.0):
        numbers = {function._count(data, sigma, np.inf).number for data in (function.modal, function.dense)}
        assert len(numbers) == 1
        assert numbers != {None}


def test_what_is_asked_of_low_frequencies_only_proves_no_stability():
    spectrum = roots(rod(30e-3), right_of=-5.0, below_hz=8.0)
    assert spectrum.complete_right_of <= -5.0
    assert spectrum.verdict == "not certified"


def test_limit_and_sweep_say_what_is_not_certified():
    """A system on the limit for every value."""

    def family(value):
        return DelaySystem(np.eye(2), [[[0, 1], [-1, 0]], value * np.diag([0.0, 0.0])], [1.0])

    with pytest.raises(DelayError, match=r"at both 1 and 2|no limit"):
        limit(family, 1.0, 2.0)
    found = sweep(family, np.array([1.0, 2.0]), most=2)
    assert not found.limits.size


def test_a_free_mass_with_a_late_damper_is_not_called_stable():
    """m x¨ + c x˙(t − τ) = 0: a root at zero, and of A₀ both modes are one."""
    found = roots(DelaySystem.second_order([[2.0]], [[0.0]], [[0.0]], [(1e-3, None, [[5.0]], None)]), most=2)
    assert found.verdict == "not certified"
    assert abs(found.roots[0]) <= found.errors[0]
