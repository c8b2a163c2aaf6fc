"""Adaptive feed-forward by least mean squares on the lumped example.

Published numbers are those of the paper's example, recomputed with Δt = 1 ms and Newmark's method, to the digits given.
"""

import numpy as np
import pytest

from couplings import lumped
from couplings.lumped import DT
from halfreal.contracts.state_space import StateSpace
from halfreal.couplings.harmonic.lms import HarmonicLms
from halfreal.couplings.harmonic.lti import gap_response, resonator, stability_map
from halfreal.couplings.harmonic.transfer import unpacked
from halfreal.kernels.block import Block, channels
from halfreal.kernels.loop import Loop
from halfreal.models.excitations import silence
from halfreal.models.structures.structure import Structure
from halfreal.stability.linearise import linearise
from halfreal.stability.regulated_plant import Part, bilinear, closed_loop, hybrid_plant

pytestmark = pytest.mark.xdist_group("harmonic")  # one process compiles for all

TIMES = (5.0, 10.0, 20.0, 60.0)
SILENT = 1e9
"""Start of an excitation that never comes [s]."""


def rounded(values: np.ndarray, digits: int = 3) -> list[float]:
    return [float(f"{value:.{digits - 1}e}") for value in values]


def exact(gain: float, hz: float = 8.0) -> HarmonicLms:
    return HarmonicLms(frequencies=[hz], gain=gain).with_model(lumped.seen(hz))


# --- learning curves --------------------------------------------------------------------------------------------------


def test_learning_curve_with_the_exact_transfer_function_at_8_hz():
    gap = lumped.learning_curve(exact(10.0), 60.0)
    assert rounded(lumped.envelope(gap, TIMES)) == [1.51e-3, 9.66e-4, 6.28e-4, 1.29e-4]


def test_stable_at_a_gain_of_60_and_unstable_at_70():
    for gain, converges in ((60.0, True), (70.0, False)):
        before, after = lumped.envelope(lumped.learning_curve(exact(gain), 60.0), (20.0, 60.0))
        assert (after < before) == converges


def test_drive_known_from_the_start_leaves_the_transient_of_the_plant():
    """What no coupling can take away: the coupled structure's own ringing."""
    s = lumped.bilinear(8.0)
    h_gu, h_gext = lumped.transfer(s)
    assert lumped.transfer(2j * np.pi * 8.0)[1] / -lumped.transfer(2j * np.pi * 8.0)[0] == pytest.approx(
        0.47746 + 0.029255j, abs=1e-5
    )
    # the excitation begins a step after time 0, and a command is the drive of the tick after it: both shifts cancel
    gap = lumped.learning_curve(lumped.Driven(8.0, complex(-h_gext / h_gu)), 60.0)
    assert rounded(lumped.envelope(gap, TIMES), 2) == [1.8e-3, 5.2e-4, 4.3e-5, 2.0e-9]


@pytest.mark.parametrize("seed", [1, 2])
def test_identified_with_random_drives_it_converges_at_10_and_not_at_100(seed):
    """As in Fig. 11: t_id = 100 s, t_rand = 2 s, μ_id = 0.01, θ uniform in ±1 N."""
    settings = {"frequencies": [8.0], "identification_time": 100.0, "amplitude": 1.0, "identification_gain": 0.01}
    for gain, converges in ((10.0, True), (100.0, False)):
        coupling = HarmonicLms(**settings, gain=gain, seed=seed)
        test = lumped.loop(coupling, lumped.excitation(8.0, 100.0))
        log = test.run(160_000, record=lumped.GAP).log
        gap = log[100_000:, 2] - log[100_000:, 1]
        assert (np.abs(gap[-250:]).max() < 2e-4) == converges
        found = unpacked(test.state("coupling")["transfer"])
        assert abs(found / lumped.seen(8.0) - 1.0).max() < 0.15
        assert test.describe(test.vector[test.index["loop.fault"]]) == ""


# --- LMS is a linear resonator ----------------------------------------------------------------------------------------


def noise_step(p, s, t, u, y):
    row = int(s.tick)
    for i in range(y.size):
        y[i] = p.values[row, i]
    s.tick += 1.0
    return 0


def fed(coupling: HarmonicLms, gap: np.ndarray) -> np.ndarray:
    """Commands of the coupling's block, alone, for a given gap; (ticks, n)."""
    n = gap.shape[1]
    source = Block("source", noise_step, (), channels("gap", "m", n), {"values": gap}, {"tick": 0.0}, frozen=("tick",))
    names = [channel.name for channel in channels("gap", "m", n)]
    loop = Loop([source, silence("zero"), coupling.block(DT, "N", ("zero",) * n, tuple(names), ("zero",) * n)], dt=DT)
    record = [channel.name for channel in channels("command.asked", "N", n)]
    return loop.run(len(gap), record=record).log[:, 1:]


def test_running_law_is_the_linear_resonator_and_the_published_recursion():
    """Ten harmonics, two axes, 5000 steps of a random gap: the block, C(z) and ψ ← ψ − μ Hᴴ g e^{−jωt} agree."""
    rng = np.random.default_rng(3)
    hz, gain, ticks = 5.0 * np.arange(1, 11), 0.3, 5_000
    transfer = rng.normal(size=(10, 2, 2)) + 1j * rng.normal(size=(10, 2, 2))
    gap = 1e-2 * rng.normal(size=(ticks, 2))
    late = np.exp(-2j * np.pi * hz * DT)[:, None, None]  # a command is the drive of the tick after it
    running = fed(HarmonicLms(frequencies=hz, gain=gain).with_model(transfer * late), gap)

    model = resonator(transfer, hz, gain, DT)
    x, psi = np.zeros(model.states), np.zeros((10, 2), dtype=complex)
    by_model, by_print = np.zeros((ticks, 2)), np.zeros((ticks, 2))
    adjoint = transfer.conj().transpose(0, 2, 1)
    for k in range(ticks):
        x = model.a @ x + model.b @ gap[k]
        by_model[k] = model.c @ x
        psi -= gain * (adjoint @ gap[k]) * np.exp(-2j * np.pi * hz * k * DT)[:, None]
        by_print[k] = (psi * np.exp(2j * np.pi * hz * (k + 1) * DT)[:, None]).real.sum(axis=0)
    largest = np.abs(by_print).max()
    np.testing.assert_allclose(running, by_print, rtol=0, atol=1e-12 * largest)
    np.testing.assert_allclose(by_model, by_print, rtol=0, atol=1e-12 * largest)


def plant() -> StateSpace:
    virtual = Structure(mass=0.1, damping=0.05, stiffness=1000.0, force_dof=1).system("force")
    return bilinear(hybrid_plant(virtual, Part(*lumped.SPECIMEN), Part(*lumped.ACTUATOR)), DT)


def paper_poles(gain: float, hz: float) -> np.ndarray:
    return closed_loop(plant(), resonator(gap_response(plant(), hz), hz, gain, DT)).poles()


@pytest.mark.parametrize(("hz", "gain"), [(8.0, 10.0), (8.0, 70.0), (16.0, 1e-3), (20.0, 500.0)])
def test_poles_of_the_running_loop_are_those_on_paper(hz, gain):
    """One tick of the compiled loop, and those of 0.25 s (whole periods at 8, 16 and 20 Hz), against the LTI form."""
    loop = lumped.loop(exact(gain, hz), lumped.excitation(hz, SILENT))
    loop.run(2)
    expected = paper_poles(gain, hz)
    for ticks in (1, 250):
        found = linearise(loop, ticks)
        for pole in expected:
            assert np.abs(found.eigenvalues - pole**ticks).min() < 1e-11
        assert found.spectral_radius == pytest.approx(np.abs(expected).max(), abs=1e-13)


@pytest.mark.parametrize(("hz", "gain"), [(8.0, 1e-3), (16.0, 1e-3), (21.0, 1e-3)])
def test_fig_9_map_of_the_running_loop_is_that_on_paper(hz, gain):
    """μ_c = 1 s⁻¹: growth rates over the estimate, true H times factors, found by linearising loops and on paper."""
    true = complex(gap_response(plant(), hz)[0, 0, 0])
    late = np.exp(-2j * np.pi * hz * DT)
    for degrees in (-120.0, -60.0, -3.0, 45.0, 85.0, 150.0):
        for size in (0.5, 1.0, 3.0):
            estimate = size * true * np.exp(1j * np.radians(degrees))
            coupling = HarmonicLms(frequencies=[hz], gain=gain).with_model(np.array([[[estimate * late]]]))
            loop = lumped.loop(coupling, lumped.excitation(hz, SILENT))
            loop.run(2)
            running = np.log(linearise(loop).spectral_radius) / DT
            paper = stability_map(plant(), hz, gain, np.array([estimate.real]), np.array([estimate.imag]))[0, 0]
            assert running == pytest.approx(paper, abs=1e-9)


# --- normalised gains -------------------------------------------------------------------------------------------------


def test_memory_is_the_time_constant_of_the_drive():
    """Slow enough to average over periods and to leave the plant in steady state: |ψ| rises as 1 − e^{−t/T}."""
    memory = 30.0
    coupling = HarmonicLms(frequencies=[8.0], memory=memory).with_model(lumped.seen(8.0))
    log = lumped.loop(coupling, lumped.excitation(8.0)).run(60_001, record=("coupling.drive",)).log
    psi = abs(0.47746 + 0.029255j)
    np.testing.assert_allclose(log[[15_000, 30_000, 60_000], 1], psi * (1 - np.exp([-0.5, -1.0, -2.0])), rtol=0.02)


def test_normalised_gain_is_the_bare_one_divided_by_the_transfer_functions_square():
    h = lumped.seen(8.0)
    memory = 20.0
    normalised = HarmonicLms(frequencies=[8.0], memory=memory).with_model(h)
    bare = HarmonicLms(frequencies=[8.0], gain=2 * DT / memory / float(abs(h[0, 0, 0])) ** 2).with_model(h)
    np.testing.assert_allclose(
        lumped.learning_curve(normalised, 5.0), lumped.learning_curve(bare, 5.0), rtol=1e-9, atol=1e-18
    )


def test_normalised_gains_couple_two_axes_at_harmonics_of_very_different_size():
    hz = np.array([8.0, 40.0])
    h = lumped.seen_by_two(hz)
    sizes = np.linalg.norm(h, axis=(1, 2))
    assert sizes.max() / sizes.min() > 10
    test = lumped.loop_of_two(HarmonicLms(frequencies=hz, memory=5.0).with_model(h), lumped.excitation(hz))
    log = test.run(120_000, record=("coupling.nmse",)).log
    assert log[-1, 1] < 1e-6 < log[1000, 1]


def test_normalised_identification_finds_every_entry():
    hz = np.array([8.0, 16.0])
    coupling = HarmonicLms(
        frequencies=hz, memory=5.0, identification_time=60.0, identification_memory=3.0, amplitude=1.0
    )
    test = lumped.loop_of_two(coupling, lumped.excitation(hz, SILENT))
    test.run(60_000)
    true = lumped.seen_by_two(hz)
    found = unpacked(test.state("coupling")["transfer"])
    assert np.linalg.norm(found - true) < 0.1 * np.linalg.norm(true)
