import subprocess
import sys

import control
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh, expm

from examples import wallace2005
from halfreal.contracts.state_space import Delayed, StateSpace
from halfreal.errors import HalfrealError
from halfreal.stability import margins
from halfreal.stability.crossings import bracketed, gain_crossings, unit_moduli
from halfreal.stability.gain_search import closed_in, missed, searched_gains
from halfreal.stability.margins import crossings, delay_margin

SEEDS = st.integers(0, 10**6)


def transfer(numerator, denominator, dt=None) -> StateSpace:
    a, b, c, d = control.ssdata(control.tf2ss(control.tf(numerator, denominator)))
    return StateSpace(a, b, c, d, dt)


def random_loop(seed: int, channels: int | None = None, sampled: bool | None = None) -> StateSpace:
    """Stable, of one to three channels and one to six states, with or without D, at any time scale."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 7)), channels or int(rng.integers(1, 4))
    sampled = bool(rng.integers(2)) if sampled is None else sampled
    a = rng.normal(size=(n, n))
    if sampled:
        a *= rng.uniform(0.5, 0.999) / np.abs(np.linalg.eigvals(a)).max()
        size = 1.0
    else:
        a -= (np.linalg.eigvals(a).real.max() + rng.uniform(0.01, 0.5)) * np.eye(n)
        a *= 10 ** rng.uniform(-1, 3)
        size = np.sqrt(np.abs(a).max())
    b, c = rng.uniform(0.2, 2) * size * rng.normal(size=(n, m)), size * rng.normal(size=(m, n))
    return StateSpace(a, b, c, rng.choice([0.0, 0.3]) * rng.normal(size=(m, m)), 0.01 if sampled else None)


def scan(loop: StateSpace, response=None) -> np.ndarray:
    """Crossings by brute force: brackets (from, to) of |μ| = 1 on a dense grid."""
    if loop.dt is None:
        size = np.abs(loop.poles())
        omega = np.geomspace(1e-3 * size.min(), 1e3 * size.max(), 20_000)
    else:
        omega = np.linspace(1e-3, np.pi / loop.dt - 1e-3, 20_000)
    moduli = np.sort(np.abs(np.linalg.eigvals((response or loop.response)(omega))), axis=1)
    rows = np.nonzero((moduli[1:] > 1) != (moduli[:-1] > 1))[0]
    return np.column_stack([omega[rows], omega[rows + 1]])


# --- published loops --------------------------------------------------------------------------------------------------


def test_wallace_2005_critical_delay():
    m, c, k, ks = wallace2005.M, wallace2005.C, wallace2005.K, wallace2005.KS
    margin = delay_margin(StateSpace([[0, 1], [-k / m, -c / m]], [[0], [1 / m]], [[ks, 0]], [[0]]))
    assert margin.critical_delay * 1e3 == pytest.approx(6.76955, abs=1e-6)
    assert margin.critical_delay == pytest.approx(wallace2005.critical_delay(), rel=1e-12)
    assert margin.direction.tolist() == [1]


def rod(modes: int, specimen_mass: float = 12.5) -> StateSpace:
    """Fixed-free rod of 10 linear elements, ``modes`` of it kept with 1 % damping, rigid mass on its end: f = m ü_b."""
    mass, stiffness = np.zeros((11, 11)), np.zeros((11, 11))
    for e in range(10):
        mass[e : e + 2, e : e + 2] += 10.8003 / 6 * np.array([[2, 1], [1, 2]])
        stiffness[e : e + 2, e : e + 2] += 280075.0 * np.array([[1, -1], [-1, 1]])
    squared, shapes = eigh(stiffness[1:, 1:], mass[1:, 1:])
    squared, end = squared[:modes], shapes[-1, :modes]
    rates = 2 * 0.01 * np.sqrt(squared)
    none = np.zeros((modes, modes))
    return StateSpace(
        a=np.block([[none, np.eye(modes)], [-np.diag(squared), -np.diag(rates)]]),
        b=np.concatenate([np.zeros(modes), end])[:, None],
        c=specimen_mass * np.concatenate([-end * squared, -end * rates])[None],
        d=[[specimen_mass * end @ end]],
    )


def test_rod_on_shaking_table_with_two_modes():
    margin = delay_margin(rod(2))
    np.testing.assert_allclose(margin.frequency_hz, [3.6236, 4.5718, 11.1804, 14.7845], atol=6e-5)
    np.testing.assert_allclose(margin.frequency_hz, [3.623, 4.572, 11.181, 14.785], atol=1e-3)  # from rounded modes
    assert margin.phases_deg[-1] == pytest.approx(182.29, abs=0.005)
    assert margin.phase_margin_deg == margin.phases_deg[-1]
    assert margin.critical_delay * 1e3 == pytest.approx(34.25, abs=0.005)
    assert margin.critical_frequency_hz == margin.frequency_hz[-1]
    assert margin.direction.tolist() == [-1, 1, -1, 1]
    assert "34.25 ms, critical at 14.78 Hz" in margin.summary()


def delayed_radius(loop: StateSpace, delay: float, step: float) -> float:
    """Spectral radius of the loop sampled with a held input and closed over a shift register."""
    n = loop.states
    held = expm(step * np.block([[loop.a, loop.b], [np.zeros((1, n + 1))]]))
    sampled = StateSpace(held[:n, :n], held[:n, n:], loop.c, loop.d, step)
    return float(np.abs(np.linalg.eigvals(Delayed(sampled, np.array([delay])).realised(0).closed())).max())


def test_rod_with_three_modes_bears_less_delay_and_with_four_none():
    three, four = delay_margin(rod(3)), delay_margin(rod(4))
    assert three.high_frequency_gain == pytest.approx(12.5 * (1 / 53.78 + 1 / 52.04 + 1 / 48.73), rel=1e-3)
    assert three.critical_delay * 1e3 == pytest.approx(16.55, abs=0.005)
    assert delayed_radius(rod(3), 16.4e-3, 2e-4) < 1 < delayed_radius(rod(3), 16.8e-3, 2e-4)
    assert four.high_frequency_gain == pytest.approx(12.5 * (1 / 53.78 + 1 / 52.04 + 1 / 48.73 + 1 / 44.17), rel=1e-3)
    assert four.stable_without_delay
    assert four.critical_delay == 0.0
    assert four.stable_intervals(1.0).size == 0
    assert np.isinf(four.unstable_poles(1e-9))
    assert "unstable for every delay, however small: at high frequency the loop gain is 1.01" in four.summary()
    assert delayed_radius(rod(4), 0.0, 2e-4) < 1 < delayed_radius(rod(4), 1e-3, 2e-4)
    # the loop gains told for 60 Hz
    assert np.abs(rod(3).response(2 * np.pi * 60)).item() == pytest.approx(0.775, abs=5e-4)
    assert np.abs(rod(4).response(2 * np.pi * 60)).item() == pytest.approx(1.149, abs=5e-4)


# --- closed forms -----------------------------------------------------------------------------------------------------


def test_integrator_bears_a_quarter_turn():
    margin = delay_margin(transfer([2], [1, 0]))
    assert margin.critical_delay == pytest.approx(np.pi / 4, rel=1e-14)
    assert margin.phase_margin_deg == pytest.approx(90, rel=1e-14)
    assert np.isinf(margin.gain_margin_db)


def test_unstable_loop_that_a_delay_stabilises_is_reported_with_its_interval():
    # x¨ − 0.1 x˙ + x = 0.5 x(t − τ): |L| = 1 at (1 − ω²)² + 0.01 ω² = 0.25
    margin = delay_margin(transfer([-0.5], [1, -0.1, 1]))
    squared = np.roots([1, -1.99, 0.75])
    low, high = np.sqrt(np.sort(squared))
    np.testing.assert_allclose(margin.omega, [low, high], rtol=1e-13)
    delays = [np.angle(complex(-0.5 / (1 - w**2 - 0.1j * w)) * -1) % (2 * np.pi) / w for w in (low, high)]
    assert margin.unstable_without_delay == 2
    assert margin.critical_delay == 0.0
    assert np.isnan(margin.phase_margin_deg)
    np.testing.assert_allclose(margin.stable_intervals(5.0), [delays], rtol=1e-12)
    assert [margin.unstable_poles(t) for t in (0.0, 1.0, 2.5)] == [2, 0, 2]
    assert "unstable without delay (2 unstable poles); stable for delays of 200.7 to 2376 ms" in margin.summary()


def test_undamped_loop_on_its_limit_is_moved_off_it_by_the_delay():
    # x¨ + x = 0.5 x(t − τ): poles ±j√0.5 without delay, which a delay damps until the upper root comes at π/√1.5
    margin = delay_margin(transfer([-0.5], [1, 0, 1]))
    assert margin.on_limit
    assert not margin.stable_without_delay
    np.testing.assert_allclose(margin.stable_intervals(4.0), [[0.0, np.pi / np.sqrt(1.5)]], rtol=1e-12)
    assert delay_margin(transfer([0.5], [1, 0, 1])).unstable_poles(1e-3) == 2


@pytest.mark.parametrize("dt", [None, 0.1])
def test_pole_that_stays_on_the_limit_is_told(dt):
    # 1 + L = s/(s + 1), or (z − 1)/(z − 0.5): a pole at rest, whatever the delay
    loop = (
        StateSpace([[-1.0]], [[1.0]], [[-1.0]], [[0.0]])
        if dt is None
        else StateSpace([[0.5]], [[1]], [[-0.5]], [[0]], dt)
    )
    margin = delay_margin(loop)
    assert margin.stuck
    assert margin.critical_delay == 0.0
    assert margin.stable_intervals(1.0).size == 0
    assert margin.summary() == "on the stability limit without delay, and no delay stabilises it"


def test_static_loops():
    def static(gain, dt=None):
        return StateSpace(np.zeros((0, 0)), np.zeros((0, 1)), np.zeros((1, 0)), [[gain]], dt)

    assert np.isinf(delay_margin(static(0.9)).critical_delay)
    assert delay_margin(static(0.9)).summary().startswith("stable for every delay")
    assert delay_margin(static(1.0)).critical_delay == 0.0
    assert [delay_margin(static(2.0, 0.1)).unstable_poles(0.1 * n) for n in range(4)] == [0, 1, 2, 3]
    with pytest.raises(HalfrealError, match="algebraic loop"):
        delay_margin(static(-1.0))


@pytest.mark.parametrize("above", [1e-4, 1e-6, 1e-8, 0.0, -1e-8])
def test_two_crossings_next_to_a_peak_are_not_lost_however_close(above):
    zeta = 0.1  # the peak of 1/(s² + 2ζs + 1) is 1/(2ζ√(1 − ζ²)), crossed at ω² = 1 − 2ζ² ± √((1 − 2ζ²)² − 1 + k²)
    gain = 2 * zeta * np.sqrt(1 - zeta**2) * (1 + above)
    margin = delay_margin(transfer([gain], [1, 2 * zeta, 1]))
    middle = 1 - 2 * zeta**2
    if above > 0:
        root = np.sqrt((2 * zeta * (1 + above)) ** 2 * (1 - zeta**2) - 4 * zeta**2 * (1 - zeta**2))
        np.testing.assert_allclose(margin.omega**2, [middle - root, middle + root], rtol=1e-9)
        assert margin.direction.tolist() == [-1, 1]
    elif above == 0:
        np.testing.assert_allclose(margin.omega, [np.sqrt(middle)], rtol=1e-7)
        assert margin.direction.tolist() == [0]
    else:
        assert margin.omega.size == 0


@pytest.mark.parametrize("short", [1e-3, 1e-6, 1e-9])
def test_direct_term_close_to_one(short):
    # L = (d s + 2)/(s + 1): |L| = 1 at ω² = 3/(1 − d²)
    direct = 1 - short
    found = crossings(transfer([direct, 2], [1, 1]))
    np.testing.assert_allclose(found, [np.sqrt(3 / ((1 - direct) * (1 + direct)))], rtol=1e-6)


def test_equal_channels_cross_twice_and_combined_channels_once():
    single = transfer([3], [1, 0.4, 1])
    twice = StateSpace(*(np.kron(np.eye(2), x) for x in (single.a, single.b, single.c, single.d)))
    np.testing.assert_allclose(crossings(twice), np.repeat(crossings(single), 2), rtol=1e-13)
    assert delay_margin(twice).unstable_poles(0.2) == 2 * delay_margin(single).unstable_poles(0.2) == 4
    combined = StateSpace(single.a, single.b @ [[1, 2]], np.array([[1], [0.5]]) @ single.c, np.zeros((2, 2)))
    np.testing.assert_allclose(crossings(combined), crossings(transfer([6], [1, 0.4, 1])), rtol=1e-12)


def test_sampled_loop_with_a_pole_at_minus_one():
    # z(z + 1) + 0.3 has |z|² = 0.3; without delay z = −1.3
    margin = delay_margin(StateSpace([[-1.0]], [[1.0]], [[0.3]], [[0.0]], 0.1))
    assert [margin.unstable_poles(0.1 * n) for n in (0, 1)] == [1, 0]
    assert np.cos(0.1 * margin.omega[0]) == pytest.approx(0.045 - 1, rel=1e-12)  # |z + 1| = 0.3


# --- against brute force and other programs ---------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_no_crossing_of_a_dense_scan_is_missed_and_each_found_is_one(seed):
    loop = random_loop(seed)
    omega = crossings(loop)
    for low, high in scan(loop):
        assert np.any((omega >= low * (1 - 1e-9)) & (omega <= high * (1 + 1e-9)))
    for value in omega:
        moduli = np.abs(np.linalg.eigvals(loop.response(value)[0]))
        assert np.abs(moduli - 1).min() < 1e-9


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_unstable_poles_of_sampled_loops_are_those_of_the_shift_register(seed):
    loop = random_loop(seed, sampled=True)
    margin = delay_margin(loop)
    for samples in (0, 1, 2, 7):
        delays = np.full(loop.channels, samples * loop.dt)
        radii = np.abs(np.linalg.eigvals(Delayed(loop, delays).realised(0).closed()))
        if np.abs(radii - 1).min() > 1e-6:
            assert margin.unstable_poles(samples * loop.dt) == np.sum(radii > 1)


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_search_between_singular_values_finds_what_the_pencil_finds(seed):
    loop = random_loop(seed, channels=2 + seed % 2)
    top = np.inf if loop.dt is None else np.pi / loop.dt
    points = bracketed(loop.response, loop, 0.0, top)
    np.testing.assert_allclose(unit_moduli(loop.response, points)[0], crossings(loop), rtol=1e-9)


def test_large_loops_take_the_search_between_singular_values(monkeypatch):
    loop = random_loop(33, channels=3, sampled=False)
    exact = delay_margin(loop)
    monkeypatch.setattr(margins, "LARGEST_PENCIL", 0)
    large = delay_margin(loop)
    np.testing.assert_allclose(large.delays, exact.delays, rtol=1e-9)
    assert exact.omega.size == 3
    assert large.gain_margin_db == pytest.approx(exact.gain_margin_db, rel=1e-9)
    assert large.gain_reduction_db == exact.gain_reduction_db


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_characteristic_loci_give_the_gains_that_the_pencil_gives(seed):
    """All of them within 40 dB, up and down."""
    loop = random_loop(seed, channels=2 + seed % 2)
    top = np.inf if loop.dt is None else np.pi / loop.dt
    exact, found = gain_crossings(loop, top)[0], searched_gains(loop, top)[0]
    for some, others in ((exact, found), (found, exact)):
        for gain in some[np.abs(np.log10(some)) < 2.0]:
            assert np.abs(others / gain - 1.0).min() < 1e-6


@pytest.mark.parametrize("farthest", [1e4, 20.0])
def test_a_gain_that_the_loci_do_not_tell_is_found_from_the_poles(farthest):
    """k/(s + 1)³ on two channels loses stability at k = 8, ω = √3, before or beyond the middle of what is searched."""
    single = transfer([1], [1, 3, 3, 1])
    twice = StateSpace(*(np.kron(np.eye(2), x) for x in (single.a, single.b, single.c, single.d)))
    ((gain, omega),) = missed(twice, [], farthest)
    assert (gain, omega) == pytest.approx((8.0, np.sqrt(3.0)), rel=1e-6)
    assert missed(twice, [8.0], farthest) == set()


def test_two_loci_taken_for_one_do_not_pass_the_real_axis():
    """The eigenvalues −1 ± j at every frequency."""
    nothing = np.zeros((1, 2))
    turning = StateSpace(-np.eye(1), nothing, nothing.T, np.array([[-1.0, 1.0], [-1.0, -1.0]]))
    assert closed_in(turning, (1.0, -1.0 + 1.0j), (2.0, -1.0 - 1.0j)) is None


@pytest.mark.parametrize("seed", range(12))
def test_gain_and_phase_crossovers_are_those_of_python_control(seed):
    loop = random_loop(seed, channels=1, sampled=False)
    margin = delay_margin(loop)
    system = control.ss(loop.a, loop.b, loop.c, loop.d)
    gains, phases, _, at_turn, at_one, _ = control.stability_margins(system, returnall=True)
    np.testing.assert_allclose(np.sort(at_one), margin.omega, rtol=1e-5)
    order = np.argsort(at_one)
    np.testing.assert_allclose(np.mod(phases[order], 360), margin.phases_deg, rtol=1e-4)
    finite = np.isfinite(margin.gain_omega) & (margin.gain_omega > 0)
    inner = at_turn > 1e-6 * np.abs(loop.poles()).min()
    np.testing.assert_allclose(np.sort(gains[inner]), margin.gains[finite], rtol=1e-4)


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_loop_is_stable_up_to_its_gain_margins_and_not_beyond(seed):
    loop = random_loop(seed, channels=1 + seed % 2)
    margin = delay_margin(loop)

    def stable(gain):
        values = np.linalg.eigvals(StateSpace(loop.a, loop.b, gain * loop.c, gain * loop.d, loop.dt).closed())
        return bool(np.all(values.real < 0) if loop.dt is None else np.all(np.abs(values) < 1))

    if not margin.stable_without_delay:
        assert np.isnan(margin.gain_margin_db)
        return
    for margin_db, end in ((margin.gain_margin_db, 60.0), (margin.gain_reduction_db, -60.0)):
        reach = np.clip(margin_db, -60, 60)
        assert all(stable(10 ** (part * reach / 20)) for part in np.linspace(0, 0.999, 50))
        if reach != end:
            assert not stable(10 ** (1.001 * reach / 20)) or abs(reach) < 1e-3


# --- fixed delays -----------------------------------------------------------------------------------------------------


@settings(max_examples=10, deadline=None)
@given(SEEDS, st.booleans())
def test_margins_with_fixed_delays_agree_with_brute_force(seed, single):
    rng = np.random.default_rng(seed)
    model = random_loop(seed, channels=2, sampled=False)
    model = StateSpace(model.a, model.b, model.c, np.zeros((2, 2)))
    fastest = np.abs(model.poles()).max()
    loop = Delayed(model, rng.uniform(0, 2, size=2) / fastest)
    margin = delay_margin(loop, channel=1 if single else None)
    assert len(scan(model, margin.response)) <= margin.omega.size
    for extra in (0.0, 0.4 / fastest, 2.0 / fastest):
        late = loop.delays + extra * np.array([0.0 if single else 1.0, 1.0])
        growth = np.linalg.eigvals(Delayed(model, late).realised(50).closed()).real
        if np.abs(growth).min() > 1e-6 * fastest:
            assert margin.unstable_poles(extra) == np.sum(growth > 0)
    for omega, delay in zip(margin.omega, margin.delays, strict=True):  # roots of the exact characteristic equation
        late = loop.delays + delay * np.array([0.0 if single else 1.0, 1.0])
        response = Delayed(model, late).response(omega)[0]
        assert abs(np.linalg.det(np.eye(2) + response)) < 1e-8 * (1 + np.linalg.norm(response, 2) ** 2)


def test_fixed_delay_of_the_only_channel_is_taken_off_the_margin():
    loop = transfer([3], [1, 0.4, 1])
    fixed = delay_margin(Delayed(loop, np.array([0.05])))
    assert fixed.critical_delay == pytest.approx(delay_margin(loop).critical_delay - 0.05, rel=1e-12)
    assert np.isnan(fixed.gain_margin_db)
    sampled = StateSpace([[0.9]], [[1.0]], [[0.3]], [[0.0]], 0.1)
    assert delay_margin(Delayed(sampled, np.array([0.3]))).critical_delay == pytest.approx(
        delay_margin(sampled).critical_delay - 0.3, rel=1e-9
    )


def test_direct_gain_above_one_is_refused_for_different_delays():
    model = StateSpace(-np.eye(1), [[1.0, 1.0]], [[0.1], [0.1]], [[0.0, 1.2], [1.1, 0.0]])
    with pytest.raises(HalfrealError, match="high frequency"):
        delay_margin(Delayed(model, np.array([0.0, 0.1])))


# --- the rest ---------------------------------------------------------------------------------------------------------


def test_plot_marks_every_crossing():
    margin = delay_margin(rod(2))
    circle, moduli = margin.plot().axes
    labels = [text.get_text() for text in moduli.get_legend().get_texts()]
    assert len(labels) == 4
    assert labels[-1] == "14.78 Hz: 34.25 ms destabilises"
    np.testing.assert_allclose(np.hypot(*circle.lines[-1].get_data()), 1.0)
    assert delay_margin(transfer([0.5], [1, 1])).plot().axes


def test_channel_and_delay_asked_for_must_exist():
    margin = delay_margin(StateSpace([[0.9]], [[1.0]], [[0.3]], [[0.0]], 0.1))
    with pytest.raises(HalfrealError, match="must be a multiple of its step"):
        margin.unstable_poles(0.25)
    with pytest.raises(HalfrealError, match="negative"):
        margin.unstable_poles(-0.1)
    with pytest.raises(HalfrealError, match="channels 0 to 0"):
        delay_margin(rod(1), channel=1)


def test_import_does_not_wait_for_matplotlib():
    code = "import sys, halfreal.stability.margins, halfreal.stability.nyquist; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("others", [0, 40])
@pytest.mark.parametrize("at", [1.0, 1.25, 3.0])
def test_a_pole_on_the_axis_is_no_gain_margin(at, others):
    """L = 0.1 s/(s² + ω²) + 1/(s + 1)³ turns by half a circle at ω, where it is infinite and not real: harmonic
    couplings have a pole at each of their frequencies."""
    a, b, c = np.zeros((5 + others,) * 2), np.zeros((5 + others, 1)), np.zeros((1, 5 + others))
    a[:2, :2], b[1], c[0, 1] = [[0.0, at], [-at, 0.0]], 1.0, 0.1
    a[2:5, 2:5] = -np.eye(3) + np.diag(np.ones(2), 1)
    b[4], c[0, 2] = 1.0, 1.0
    a[5:, 5:] = -np.diag(np.arange(1.0, others + 1.0))  # states that nothing reaches
    loop = StateSpace(a, b, c, np.zeros((1, 1)))
    gains, omega = gain_crossings(loop, np.inf)
    dense = np.linspace(0.01, 20.0, 2_000_001)
    dense = dense[np.abs(dense - at) > 1e-3]
    values = 0.1j * dense / (at**2 - dense**2) + 1.0 / (1.0 + 1j * dense) ** 3
    crossed = np.flatnonzero(
        (values.imag[:-1] * values.imag[1:] < 0) & (values.real[:-1] < 0) & (np.diff(dense) < 1e-4)
    )
    np.testing.assert_allclose(np.sort(omega), dense[crossed], rtol=1e-4)
    np.testing.assert_allclose(np.sort(gains), np.sort(-1.0 / values.real[crossed]), rtol=1e-3)
