"""Integration at known frequencies: against scipy's peak filter, transfer functions and integrals, without drift."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import signal

from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.rigs.peak_filter import PeakFilter, peak_filter_step

DT = 2e-4
THREE = PeakFilter(frequencies=[60.0, 180.0, 700.0], time_constant=0.05)


def integrator(peaks: PeakFilter, dt: float = DT) -> Block:
    return peaks.integrator_block("integrator", dt, ("a",), (Channel("v", "m/s"),), (Channel("x", "m"),))


def run(block: Block, values: np.ndarray) -> np.ndarray:
    """Outputs of a block of one input for given samples, in plain Python, (samples, outputs)."""
    p = SimpleNamespace(**block.parameters)
    s = SimpleNamespace(**{key: value.copy() for key, value in block.state.items()})
    rows = np.empty((len(values), len(block.outputs)))
    for k, value in enumerate(values):
        assert peak_filter_step(p, s, k * DT, np.array([value]), rows[k]) == 0
    return rows


def transfer(peaks: PeakFilter, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Filter, velocity and displacement for unit acceleration, written out from the equations of the file's heading."""
    g = 2 * np.tanh(DT / peaks.time_constant)
    omega = 2 * np.pi * peaks.frequencies[:, None]
    denominator = z**2 - 2 * z * np.cos(omega * DT) + 1
    lossless = g / 2 * (z**2 - 1) / denominator
    quadrature = g * z * np.sin(omega * DT) / denominator
    error = 1 / (1 + lossless.sum(axis=0))
    return (
        lossless.sum(axis=0) * error,
        (quadrature / omega).sum(axis=0) * error,
        -(lossless / omega**2).sum(axis=0) * error,
    )


def test_one_frequency_is_the_usual_peak_filter():
    peaks = PeakFilter(frequencies=[60.0], time_constant=0.05)
    width = 2 * np.arctan(np.tanh(DT / 0.05))  # of scipy's design, in rad per sample
    b, a = signal.iirpeak(60.0, 2 * np.pi * 60.0 * DT / width, fs=1 / DT)
    samples = np.random.default_rng(5).normal(size=400)
    block = peaks.filter_block("filter", DT, ("f",), (Channel("filtered", "N"),))
    np.testing.assert_allclose(run(block, samples)[:, 0], signal.lfilter(b, a, samples), atol=1e-13)


def test_impulse_response_is_that_of_the_transfer_functions():
    n = 8192
    answers = run(integrator(THREE), np.eye(1, n)[0])
    assert np.abs(answers[-1] / np.abs(answers).max(axis=0)).max() < 1e-12  # nothing is folded over
    z = np.exp(2j * np.pi * np.arange(n // 2) / n)
    _, velocity, displacement = transfer(THREE, z)
    spectra = np.fft.fft(answers, axis=0)[: n // 2]
    np.testing.assert_allclose(spectra[:, 0], velocity, atol=1e-9 * np.abs(velocity).max())
    np.testing.assert_allclose(spectra[:, 1], displacement, atol=1e-9 * np.abs(displacement).max())


def test_at_its_frequencies_it_integrates_exactly():
    """A sum of all three, each with its own phase: after 30 time constants, to e⁻³⁰ and rounding."""
    t = DT * np.arange(round(30 * 0.05 / DT) + 100)
    omega, sizes, phases = (
        2 * np.pi * THREE.frequencies[:, None],
        np.array([[3.0], [20.0], [9.0]]),
        [[0.3], [1.9], [-2]],
    )
    acceleration, velocity, displacement = (
        np.sum(sizes * np.real(np.exp(1j * (omega * t + phases)) / (1j * omega) ** k), axis=0) for k in range(3)
    )
    found = run(integrator(THREE), acceleration)[-100:]
    np.testing.assert_allclose(found[:, 0], velocity[-100:], atol=1e-10 * np.abs(velocity).max())
    np.testing.assert_allclose(found[:, 1], displacement[-100:], atol=1e-10 * np.abs(displacement).max())


def test_constant_offset_does_not_drift():
    """Integrated twice, 0.5 m/s² would be 2.25 m after 3 s; here the displacement returns to zero."""
    found = run(integrator(THREE), np.full(15_000, 0.5))
    omega = 2 * np.pi * THREE.frequencies
    assert np.abs(found[:, 1]).max() < 0.5 / omega[0] ** 2
    assert abs(found[-1, 1]) < 1e-15
    # the velocity rests at its transfer function's value at zero frequency
    at_rest = 0.5 * np.sum(np.tanh(DT / 0.05) / (omega * np.tan(omega * DT / 2)))
    assert found[-1, 0] == pytest.approx(at_rest, rel=1e-9)
    assert at_rest < 0.5 * np.sum(2 / (0.05 * omega**2)) * 1.001


def test_amplitudes_settle_with_the_time_constant():
    peaks = PeakFilter(frequencies=[60.0], time_constant=0.05)
    t = DT * np.arange(1000)
    found = run(integrator(peaks), np.sin(2 * np.pi * 60.0 * t))[:, 1] * (2 * np.pi * 60.0) ** 2
    gap = np.abs(found + np.sin(2 * np.pi * 60.0 * t))
    envelope = [gap[k : k + 83].max() for k in (0, 250, 500)]  # a period each, one time constant apart
    np.testing.assert_allclose(np.diff(np.log(envelope)), -1.0, atol=0.02)


def test_any_set_of_frequencies_is_stable():
    rng = np.random.default_rng(2)
    tried = 0
    for _ in range(200):
        frequencies, time_constant = np.sort(rng.uniform(5, 2490, rng.integers(1, 6))), 10 ** rng.uniform(-4, 0)
        try:
            block = integrator(PeakFilter(frequencies=frequencies, time_constant=time_constant))
        except ValueError:  # too close for this time constant
            continue
        tried += 1
        p, n = SimpleNamespace(**block.parameters), len(frequencies)
        matrix = np.empty((2 * n, 2 * n))
        for k in range(2 * n):
            unit = np.eye(2 * n)[k]
            s = SimpleNamespace(real=unit[:n, None].copy(), imaginary=unit[n:, None].copy())
            peak_filter_step(p, s, 0.0, np.zeros(1), np.empty(2))
            matrix[:, k] = [*s.real[:, 0], *s.imaginary[:, 0]]
        assert np.abs(np.linalg.eigvals(matrix)).max() < 1.0
    assert tried > 100


def source_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    y[0] = np.cos(p.omega * t)
    y[1] = 1.0
    return 0


def test_compiled_block_is_the_same_as_the_plain_function():
    source = Block(
        "source", source_step, (), (Channel("a.1", "m/s^2"), Channel("a.2", "m/s^2")), parameters={"omega": 900.0}
    )
    outputs = [tuple(Channel(f"{name}.{i}", "m") for i in (1, 2)) for name in ("v", "x")]
    peaks = PeakFilter(frequencies=[60.0], time_constant=0.05)
    block = peaks.integrator_block("integrator", DT, ("a.1", "a.2"), *outputs)
    log = Loop([source, block], dt=DT).run(300, record=["v.1", "v.2", "x.1", "x.2"]).log
    for i, values in enumerate((np.cos(900.0 * log[:, 0]), np.ones(300))):
        np.testing.assert_allclose(log[:, [1 + i, 3 + i]], run(integrator(peaks), values), atol=1e-15)


@pytest.mark.parametrize(
    ("frequencies", "time_constant", "message"),
    [
        ([60.0, 60.0], 0.05, "60 Hz is named twice"),
        (
            [60.0, 62.0],
            0.05,
            r"60 Hz and 62 Hz cannot be separated .* must be 6\.366 Hz apart; lengthen it to 159\.2 ms",
        ),
        ([2.0], 0.05, r"2 Hz is too low for a time constant of 50 ms; lengthen it to 79\.58 ms"),
        ([-3.0], 0.05, "must be greater than 0"),
    ],
)
def test_frequencies_that_cannot_be_told_apart_are_refused(frequencies, time_constant, message):
    with pytest.raises(ValueError, match=message):
        PeakFilter(frequencies=frequencies, time_constant=time_constant)


def test_frequency_above_half_the_sampling_rate_is_refused():
    peaks = PeakFilter(frequencies=[60.0, 2500.0], time_constant=0.05)
    with pytest.raises(ValueError, match=r"2500 Hz is not below half the sampling rate, 2\.5 kHz"):
        integrator(peaks)
    with pytest.raises(ValueError, match="1 outputs for 2 inputs; give 1 for each"):
        THREE.filter_block("filter", DT, ("a", "b"), (Channel("c", "N"),))
