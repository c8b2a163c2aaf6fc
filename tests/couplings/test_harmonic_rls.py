"""Adaptive feed-forward by recursive least squares on the lumped example, and on one with two axes.

Published numbers are those of the paper's example, recomputed with Δt = 1 ms and Newmark's method (β = 1e-3, β_id =
1e-6, μ_id = 0.99).  There the drive of a sample already knows g_ext of that sample; a command of the running loop knows
that of the tick before, which shows in the first seconds alone.
"""

from typing import Any

import numpy as np
import pytest

from allocation import per_tick
from couplings import lumped
from couplings.lumped import DT, both_laws
from halfreal.couplings.harmonic.lms import HarmonicLms
from halfreal.couplings.harmonic.rls import HarmonicRls
from halfreal.couplings.harmonic.transfer import packed, unpacked
from halfreal.kernels.block import Block, channels
from halfreal.kernels.loop import Loop

pytestmark = pytest.mark.xdist_group("harmonic")  # one process compiles for all

WRONG = 1.3 * np.exp(1j * np.radians(20.0))
SILENT = 1e9


def published(estimate: complex, **changes: Any) -> HarmonicRls:
    """The settings of the published learning curves, started from ``estimate`` times the true H; β = 1e-3."""
    h = estimate * lumped.seen(8.0)
    prior = 1e-3 * 2 * DT / float(abs(h[0, 0, 0])) ** 2
    usual = {"frequencies": [8.0], "forgetting": 0.999, "identification_forgetting": 0.99, "prior": prior}
    return HarmonicRls(**{**usual, **changes}).with_model(h)


def remaining(estimate: complex | np.ndarray) -> float:
    """|1 − H/H_est| |g_ext| at 8 Hz, the estimate relative to H."""
    return float(abs(1 - 1 / estimate) * abs(lumped.transfer(lumped.bilinear(8.0))[1]))


# --- the least-squares problems ---------------------------------------------------------------------------------------


def table_step(p, s, t, u, y):
    row = int(s.tick)
    for i in range(y.size):
        y[i] = p.values[row, i]
    s.tick += 1.0
    return 0


def fed(coupling: HarmonicRls, values: np.ndarray) -> Loop:
    """The coupling's block alone, with targets, displacements and twin of two axes from the rows of a table."""
    outputs = (*channels("target", "m", 2), *channels("measured", "m", 2), *channels("twin", "m", 2))
    source = Block("source", table_step, (), outputs, {"values": values}, {"tick": 0.0}, frozen=("tick",))
    names = [channel.name for channel in outputs]
    block = coupling.block(DT, "N", tuple(names[:2]), tuple(names[2:4]), tuple(names[4:]))
    return Loop([source, block], dt=DT)


HZ = np.array([30.0, 110.0])
TICKS = 300


def turned(amplitudes: np.ndarray, tick: int) -> np.ndarray:
    """ψ_i e^{jω_i t}; harmonics are the last but one axis."""
    return amplitudes * np.exp(2j * np.pi * HZ * tick * DT)[:, None]


def real_row(z: np.ndarray) -> np.ndarray:
    """[Re z_1, −Im z_1, Re z_2, …] of (n_ω, n)."""
    return np.stack([z.real, -z.imag], axis=1).ravel()


def test_adaption_is_the_weighted_least_squares_solution():
    """Two axes, two harmonics: θ after 300 ticks against numpy's direct solution of Eq. 18."""
    rng = np.random.default_rng(5)
    h = rng.normal(size=(2, 2, 2)) + 1j * rng.normal(size=(2, 2, 2))
    values = rng.normal(size=(TICKS, 6))
    memory, prior = 0.08, 0.01
    coupling = HarmonicRls(frequencies=HZ, mode="sequential", memory=memory, prior=prior).with_model(h)
    loop = fed(coupling, values)
    loop.run(TICKS)
    rows, right = [], []
    for k in range(TICKS):
        weight = np.exp(-0.5 * (TICKS - 1 - k) * DT / memory)
        for o in range(2):
            rows.append(weight * real_row(turned(h[:, o, :], k)))
            right.append(weight * values[k, 4 + o])  # −g_ext
    confidence = prior / DT / 4 * np.linalg.norm(h, axis=(1, 2)) ** 2 * np.exp(-TICKS * DT / memory)
    rows.append(np.diag(np.sqrt(np.repeat(confidence, 4))))
    right.append(np.zeros(8))
    expected = np.linalg.lstsq(np.vstack(rows), np.concatenate([np.atleast_1d(x) for x in right]), rcond=None)[0]
    found = loop.state("coupling")["theta"][0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_identification_is_the_weighted_least_squares_solution():
    """Four random drives: P after 300 ticks against numpy's direct solution of Eq. 22, n right-hand sides at once."""
    rng = np.random.default_rng(6)
    start = rng.normal(size=(2, 2, 2)) + 1j * rng.normal(size=(2, 2, 2))
    values = rng.normal(size=(TICKS, 6))
    memory, prior = 0.2, 1e-2
    coupling = HarmonicRls(
        frequencies=HZ,
        memory=memory,
        identification_memory=memory,
        identification_time=1.0,
        random_interval=0.08,
        identification_prior=prior,
        amplitude=1.0,
    ).with_model(start)
    loop = fed(coupling, values)
    rows, right, drives = [], [], set()
    driven = 0
    for k in range(TICKS):
        theta = np.array(loop.state("coupling")["theta"][0]).reshape(2, 2, 2)  # what was driven when this tick comes
        psi = theta[:, 0] + 1j * theta[:, 1]
        drives.add(theta.tobytes())
        if np.any(theta):
            driven += 1
            rows.append(np.exp(0.5 * k * DT / memory) * real_row(turned(psi, k)))
            right.append(np.exp(0.5 * k * DT / memory) * (values[k, 2:4] - values[k, 0:2] + values[k, 4:6]))
        loop.run(1)
    assert len(drives) == 1 + 4 and driven == TICKS - 1
    fresh = np.exp(-0.5 * (TICKS - 1) * DT / memory)
    confidence = np.sqrt(prior * np.exp(-driven * DT / memory))
    a = np.vstack([fresh * np.array(rows), confidence * np.eye(8)])
    b = np.vstack([fresh * np.array(right), confidence * packed(start).T])
    expected = np.linalg.lstsq(a, b, rcond=None)[0].T
    np.testing.assert_allclose(
        loop.state("coupling")["transfer"], expected, rtol=0, atol=1e-12 * np.abs(expected).max()
    )


def test_random_drives_are_uniform_within_the_amplitude_and_reproducible():
    drawn = []
    for seed in (1, 1, 2):
        coupling = HarmonicRls(frequencies=HZ, identification_time=0.3, random_interval=0.001, amplitude=3.0, seed=seed)
        loop = fed(coupling, np.zeros((TICKS, 6)))
        values = []
        for _ in range(TICKS):
            loop.run(1)
            values.append(np.array(loop.state("coupling")["theta"][0]))
        drawn.append(np.array(values))
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert not np.any(drawn[0] == drawn[2])
    assert np.abs(drawn[0]).max() < 3.0
    # of 2400 uniform numbers: mean 0 ± 3/√3/√2400, variance 3 within five standard deviations
    assert abs(drawn[0].mean()) < 5 * 3 / np.sqrt(3 * drawn[0].size)
    assert drawn[0].var() == pytest.approx(3.0, rel=5 * np.sqrt(0.8 / drawn[0].size))


def test_memory_in_seconds_is_the_forgetting_factor():
    """μ = exp(−Δt/T)."""
    bare = published(WRONG, mode="sequential")
    timed = published(WRONG, mode="sequential", forgetting=None, memory=-DT / np.log(0.999))
    np.testing.assert_allclose(lumped.learning_curve(bare, 2.0), lumped.learning_curve(timed, 2.0), atol=1e-16)


# --- learning curves --------------------------------------------------------------------------------------------------


def test_simultaneous_learning_curve_from_a_wrong_transfer_function():
    """From 1.3 e^{j20°} H, without random numbers: 1.60e-3, 4.37e-4, 3.62e-5, 1.69e-9 m at 5, 10, 20, 60 s."""
    gap = lumped.learning_curve(published(WRONG, regularisation=0.0), 60.0)
    found = lumped.envelope(gap, (5.0, 10.0, 20.0, 60.0))
    assert [float(f"{value:.2e}") for value in found[1:]] == [4.37e-4, 3.62e-5, 1.69e-9]
    assert found[0] == pytest.approx(1.60e-3, rel=0.05)


@pytest.mark.parametrize("mu", [0.9, 0.99, 0.999, 0.9999])
def test_sequential_adaption_leaves_what_the_estimate_has_wrong(mu):
    gap = lumped.learning_curve(published(WRONG, mode="sequential", forgetting=mu), 120.0)
    assert lumped.envelope(gap, (120.0,))[0] == pytest.approx(remaining(WRONG), rel=1e-3)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_after_random_identification_as_in_fig_11(seed):
    """t_id = 100 s: sequential keeps its identification error, simultaneous converges, or not but bounded at 0.9."""
    common = {"frequencies": [8.0], "identification_forgetting": 0.99, "prior": 0.25, "seed": seed, "amplitude": 1.0}
    sequential = HarmonicRls(**common, mode="sequential", memory=1.0, identification_time=100.0)
    test = lumped.loop(sequential, lumped.excitation(8.0, 100.0))
    log = test.run(220_000, record=lumped.GAP).log
    estimate = unpacked(test.state("coupling")["transfer"])[0, 0, 0] / lumped.seen(8.0)[0, 0, 0]
    assert abs(estimate - 1) > 0.05
    assert np.abs(log[-250:, 2] - log[-250:, 1]).max() == pytest.approx(remaining(estimate), rel=1e-3)
    for time in (100.0, 0.01):  # Fig. 12 has the short one
        for mu, converges in ((0.9, False), (0.99, True), (0.999, True)):
            coupling = HarmonicRls(**common, forgetting=mu, identification_time=time)
            last = np.abs(lumped.learning_curve(coupling, 60.0, time)[-5000:])
            if converges:
                assert last[-250:].max() < 2e-8
            else:
                assert 1e-4 < last.max() < 1.0


# --- guards -----------------------------------------------------------------------------------------------------------


def test_unexcited_directions_do_not_wind_up():
    """Two axes, two harmonics, noise on the displacements: a settled drive excites one direction of each H.

    Without the guard the others drift to noise over nothing; with it the gap reaches the noise just as well.
    """
    hz = np.array([8.0, 16.0])
    true = lumped.seen_by_two(hz)
    start = 1.2 * np.exp(0.3j) * true
    worst = {}
    for regularisation in (0.0, 0.25):
        coupling = HarmonicRls(
            frequencies=hz, memory=0.5, identification_memory=1.0, regularisation=regularisation
        ).with_model(start)
        test = lumped.loop_of_two(coupling, lumped.excitation(hz), noise=1e-6)
        test.run(115_000)
        gap = test.run(5_000, record=("coupling.nmse",)).log[:, 1]
        found = unpacked(test.state("coupling")["transfer"])
        worst[regularisation] = np.max(np.linalg.norm(found - true, axis=(1, 2)) / np.linalg.norm(true, axis=(1, 2)))
        assert np.sqrt(gap.max()) < 1e-3
    error_at_start = np.max(np.linalg.norm(start - true, axis=(1, 2)) / np.linalg.norm(true, axis=(1, 2)))
    assert worst[0.25] < 1.5 * error_at_start
    assert worst[0.0] > 1e6


def test_nothing_is_forgotten_while_nothing_is_driven():
    coupling = published(WRONG)
    test = lumped.loop(coupling, lumped.excitation(8.0, SILENT), noise=1e-6)
    test.run(1)
    before = {name: np.array(test.state("coupling")[name]) for name in ("transfer", "known_r", "known_z")}
    test.run(20_000)
    for name, value in before.items():
        np.testing.assert_array_equal(test.state("coupling")[name], value)


def test_a_transfer_function_that_was_far_too_large_does_not_hold_the_drive_down():
    """An estimate 1e6 times too large for a tenth of a memory: unguarded, the drive would rest for 27 memories."""
    test = lumped.loop(published(1.0, regularisation=0.0, mode="sequential"), lumped.excitation(8.0))
    test.run(30_000)
    state = test.state("coupling")
    usual = float(np.linalg.norm(state["theta"]))
    true = np.array(state["transfer"])
    state["transfer"][:] = 1e6 * true
    test.run(100)
    state["transfer"][:] = true
    test.run(5_000)
    assert np.linalg.norm(state["theta"]) == pytest.approx(usual, rel=0.05)


@pytest.mark.parametrize("law", [HarmonicLms, HarmonicRls])
@pytest.mark.parametrize("seed", range(3))
def test_rig_that_does_not_answer_is_told(law, seed):
    """Stuck, or lost in the noise of its sensor; one that moves as much as the noise does answers."""
    memories = {"memory": 1.0, "identification_memory": 0.4}
    coupling = law(
        frequencies=[8.0], identification_time=2.0, random_interval=0.2, amplitude=1.0, seed=seed, **memories
    )
    stuck, free = lumped.matrices((1e9, 1.0, 1e15)), lumped.matrices(lumped.ACTUATOR)
    for actuator, noise, answers in ((stuck, 1e-6, False), (free, 1e-6, True), (free, 1e-3, True), (free, 0.1, False)):
        test = lumped.loop(coupling, lumped.excitation(8.0), actuator=actuator, noise=noise)
        test.run(2_002)
        fault = test.vector[test.index["loop.fault"]]
        assert (fault == 0.0) == answers
        assert answers or ("did not respond" in test.describe(fault) and "coupling.amplitude" in test.describe(fault))


def test_rig_that_stands_still_is_told_though_its_target_moves():
    values = np.random.default_rng(1).normal(size=(TICKS, 6))
    values[:, 2:4] = 0.3
    coupling = HarmonicRls(frequencies=HZ, identification_time=0.2, random_interval=0.05, amplitude=1.0)
    test = fed(coupling, values)
    test.run(TICKS)
    assert "did not respond" in test.describe(test.vector[test.index["loop.fault"]])


@pytest.mark.parametrize(("hz", "interval"), [(200.0, 0.2), (40.0, 0.02), (2.0, 0.05)])
def test_rig_whose_transients_outweigh_its_answer_is_not_taken_for_one_that_does_not_answer(hz, interval):
    for seed in range(1, 5):
        coupling = HarmonicRls(
            frequencies=[hz], identification_time=2.0, random_interval=interval, amplitude=1.0, seed=seed
        )
        test = lumped.loop(coupling, lumped.excitation(8.0), noise=3e-5)
        test.run(2_002)
        assert test.vector[test.index["loop.fault"]] == 0.0


# --- harmonics and frequencies ----------------------------------------------------------------------------------------


def test_two_harmonics_of_two_axes_are_coupled():
    hz = np.array([8.0, 16.0])
    coupling = HarmonicRls(base_frequency=8.0, harmonics=2, mode="sequential").with_model(lumped.seen_by_two(hz))
    test = lumped.loop_of_two(coupling, lumped.excitation(hz))
    nmse = test.run(60_000, record=("coupling.nmse",)).log[:, 1]
    assert nmse[-1] < 1e-9 < 0.1 < nmse[1000]


def chirp_step(p, s, t, u, y):
    phase = p.omega * t + 0.5 * p.rate * t * t
    y[0] = np.sin(phase)
    y[1] = (p.omega + p.rate * t) * np.cos(phase)
    return 0


def chirp(hz: float, last: float, seconds: float) -> Block:
    fields = {"omega": 2 * np.pi * hz, "rate": 2 * np.pi * (last - hz) / seconds}
    return Block("excitation", chirp_step, (), lumped.excitation(8.0).outputs, fields)


@pytest.mark.parametrize(("law", "memory"), [(HarmonicRls, 1.0), (HarmonicLms, 5.0)])
def test_harmonics_follow_a_slowly_varying_excitation(law, memory):
    """From 8 to 9 Hz in 100 s: followed, the gap closes to what the memory lags behind; fixed, it does not."""
    nmse = {}
    for following in (None, 0.5):
        coupling = law(base_frequency=8.0, following=following, memory=memory)
        test = lumped.loop(coupling.with_model(lumped.seen(8.0)), chirp(8.0, 9.0, 100.0))
        record = ("coupling.nmse", *(("excitation.frequency",) if following else ()))
        log = test.run(100_000, record=record).log
        nmse[following] = log[-1, 1]
    # a ramp of 0.01 Hz/s is followed with a lag of 2ζ/ω_n
    assert log[-1, 2] == pytest.approx(9.0 - 0.01 * 2 * 0.7 / (2 * np.pi * 0.5), abs=1e-5)
    assert nmse[0.5] < 1e-3
    assert nmse[None] > 0.1


# --- as code ----------------------------------------------------------------------------------------------------------


def test_neither_law_allocates():
    assert per_tick(both_laws()) == {"lms": 0.0, "rls": 0.0}
