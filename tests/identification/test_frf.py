"""Frequency responses from signals of a known system, with and without noise, and from files."""

import numpy as np
import pytest
from scipy.signal import lfilter

from halfreal.errors import HalfrealError
from halfreal.identification.frf import combined, estimate, read_frf, stepped_sine
from halfreal.stability.frf import FRF

DT = 1e-3
B, A = [0.02, 0.01], [1.0, -1.6, 0.7]


def true(hz):
    z = np.exp(2j * np.pi * np.asarray(hz) * DT)
    return (B[0] + B[1] / z) / (A[0] + A[1] / z + A[2] / z**2)


def noise(seed, count=400_000):
    return np.random.default_rng(seed).normal(size=count)


def chirp(count=400_000):
    t = np.arange(count) * DT
    return np.sin(2 * np.pi * (1.0 * t + 0.5 * 99.0 / (count * DT) * t**2))


@pytest.mark.parametrize("method", ["H1", "H2", "Hv"])
@pytest.mark.parametrize("x", [noise(1), chirp()], ids=["random", "chirp"])
def test_without_noise_all_estimators_give_the_system(x, method):
    found = estimate(x, lfilter(B, A, x), DT, window=4.0, method=method).between(5.0, 90.0)
    np.testing.assert_allclose(found.response, true(found.frequency_hz), rtol=0.05)
    assert np.median(np.abs(found.response / true(found.frequency_hz) - 1.0)) < 2e-3
    assert found.coherence.min() > 0.99


def test_noise_in_the_output_biases_h2_and_in_the_input_h1():
    x = noise(1)
    y = lfilter(B, A, x)
    dirty = y + 0.5 * y.std() * noise(2)
    h1, h2 = (estimate(x, dirty, DT, window=0.5, method=method).between(10.0, 90.0) for method in ("H1", "H2"))
    assert np.mean(np.abs(h1.response / true(h1.frequency_hz))) == pytest.approx(1.0, abs=0.01)
    assert np.mean(np.abs(h2.response / true(h2.frequency_hz))) > 1.02
    both = [estimate(x + 0.5 * noise(3), y, DT, window=0.5, method=m).between(10.0, 90.0) for m in ("H1", "H2")]
    assert np.mean(np.abs(both[0].response / true(both[0].frequency_hz))) == pytest.approx(1 / 1.25, rel=0.02)
    assert np.mean(np.abs(both[1].response / true(both[1].frequency_hz))) == pytest.approx(1.0, abs=0.01)


def test_hv_stands_noise_in_both_where_they_are_equal_parts():
    # a plain gain: the same part of noise in input and output
    x = noise(1)
    found = {
        m: np.mean(np.abs(estimate(x + 0.4 * noise(2), 3.0 * (x + 0.4 * noise(3)), DT, window=0.5, method=m).response))
        for m in ("H1", "H2", "Hv")
    }
    assert found["Hv"] == pytest.approx(3.0, rel=0.01)
    assert found["H1"] == pytest.approx(3.0 / 1.16, rel=0.01)
    assert found["H2"] == pytest.approx(3.0 * 1.16, rel=0.01)


def test_the_scatter_is_what_the_coherence_says():
    x = noise(1)
    y = lfilter(B, A, x)
    found = estimate(x, y + y.std() * noise(2), DT, window=0.5).between(20.0, 200.0)
    errors = (found.response / true(found.frequency_hz) - 1.0).real
    # windows overlap by half: somewhat fewer are independent
    assert np.std(errors / found.deviation()) == pytest.approx(1.0, abs=0.3)


def test_a_stepped_sine_is_exact_beside_drift():
    hz, dwell = np.array([3.0, 7.0, 20.0]), 4.0
    t = np.arange(12_000) * DT
    steps = np.minimum((t // dwell).astype(int), 2)
    phase = 2 * np.pi * hz[steps] * t
    x, y = np.sin(phase), 0.5 * np.sin(phase - 0.3 * steps - 0.1) + 0.2 + 0.01 * t
    found = stepped_sine(t, x, y, hz, dwell, settle=1.0)
    np.testing.assert_allclose(found.response, 0.5 * np.exp(-1j * (0.1 + 0.3 * np.arange(3))), rtol=1e-9)
    np.testing.assert_allclose(found.coherence, 1.0, atol=1e-9)


def test_files_of_one_dimension_are_put_together_in_one_unit(tmp_path):
    (tmp_path / "a.csv").write_text("# unit: mm/N\nfrequency_hz,real,imag\n1,2,0\n2,3,0\n")
    (tmp_path / "b.csv").write_text("# unit: m/kN\nfrequency_hz,real,imag\n3,4,1\n4,5,0\n")
    whole = combined([read_frf(tmp_path / name) for name in ("a.csv", "b.csv")], "m/N")
    np.testing.assert_allclose(whole.response[:, 0, 0], [2e-3, 3e-3, 4e-3 + 1e-3j, 5e-3])
    assert whole.unit == "m/N"


def frf(unit):
    return FRF(np.array([1.0, 2.0]), np.ones(2), unit)


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (lambda: combined([frf("m/N"), frf("m/s^2/N")]), "ambiguous|different quantities"),
        (lambda: combined([frf("m/N"), frf("N/m")]), "response 2 is in N/m where m/N is expected"),
        (lambda: combined([frf("m/N"), frf("")]), "response 2 has no unit"),
        (lambda: estimate(np.ones(100), np.ones(100), DT, window=1.0), "0 time"),
        (lambda: estimate(np.zeros(9000), np.ones(9000), DT, window=1.0), "does not move"),
        (lambda: estimate(np.array([np.nan] * 100), np.ones(100), DT, window=0.01), "sample 1 of the input is nan"),
        (lambda: stepped_sine(np.arange(50) * DT, np.ones(50), np.ones(50), [3.0], 0.05, settle=0.0), "0.15 cycles"),
        (
            lambda: stepped_sine(np.arange(50) * DT, np.ones(50), np.ones(50), [0.6 / DT], 50 * DT, settle=0.0),
            "is not below half the sampling rate",
        ),
    ],
)
def test_data_that_do_not_tell_are_refused(act, told):
    with pytest.raises(HalfrealError, match=told):
        act()
