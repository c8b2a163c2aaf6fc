import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfreal.kernels.loop import Loop
from halfreal.models.excitations import Chirp, MultiSine, Pulse, Record, Sine, Square, Step
from halfreal.models.excitations.multi_sine import schroeder_phases

DT = 1e-4


def values(excitation, ticks: int = 20_000) -> np.ndarray:
    """Rows of time, value, rate."""
    return Loop([excitation.block("e")], dt=DT).run(ticks, record=["e", "e.rate"]).log


@pytest.fixture
def record(tmp_path) -> Record:
    path = tmp_path / "record.txt"
    path.write_text("# time, value\n" + "\n".join(f"{0.1 * i}, {np.sin(i)}" for i in range(15)))
    return Record(kind="record", file=path, time_step=0.1, column=2, acceleration=2.0, ramp=0.5)


def every_excitation(record) -> list:
    return [
        Sine(kind="sine", displacement=0.01, frequency=1.5, phase=0.3, ramp=0.7),
        Chirp(kind="chirp", force=3.0, frequency=0.5, to=8.0, duration=1.2, ramp=0.2),
        Step(kind="step", force=2.0, ramp=0.4),
        Pulse(kind="pulse", force=2.0, duration=0.9),
        MultiSine(force=2.0, frequencies=[1.1, 3.0, 7.3], amplitudes=[1.0, 0.5, 0.2], ramp=0.6),
        record,
    ]


def test_rate_is_the_derivative_of_the_value(record):
    for excitation in every_excitation(record):
        log = values(excitation)
        slope = (log[2:, 1] - log[:-2, 1]) / (2 * DT)
        smooth = np.abs(np.diff(log[:, 2], 2)) < 1e-3 * np.abs(log[:, 2]).max()  # not across a kink
        np.testing.assert_allclose(log[1:-1, 2][smooth], slope[smooth], atol=1e-3 * np.abs(slope).max())
        assert smooth.mean() > 0.99


def test_chirp_runs_through_its_frequencies():
    log = values(Chirp(kind="chirp", force=1.0, frequency=1.0, to=5.0, duration=2.0))
    t = log[:, 0]
    np.testing.assert_allclose(log[:, 1], np.sin(2 * np.pi * (t + t**2)), atol=1e-12)


def test_record_is_linear_between_its_samples_and_zero_after_its_end(record):
    log = values(record)
    t, plain = log[:, 0], 2.0 * np.interp(log[:, 0], 0.1 * np.arange(15), np.sin(np.arange(15)))
    within = (t > 0.5) & (t < 1.4)
    np.testing.assert_allclose(log[within, 1], plain[within], atol=1e-12)
    assert not np.any(log[t > 1.4 + DT, 1:])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1\n2\nthree\n", "line 3"),
        ("1\nnan\n3\n", "line 2 of"),
        ("1\n", "at least 2"),
        ("", "at least 2"),
    ],
)
def test_bad_records_are_refused_with_their_line(tmp_path, text, told):
    path = tmp_path / "bad.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=told):
        Record(kind="record", file=path, time_step=0.1, force=1.0)


def test_a_square_wave_of_terms_is_its_fourier_series_and_tends_to_the_square():
    t = np.arange(2000) * DT
    few = values(Square(force=2.0, frequency=5.0, terms=3), 2000)
    series = sum(2.0 * 4 / np.pi * np.sin(2 * np.pi * 5.0 * k * t) / k for k in (1, 3, 5))
    np.testing.assert_allclose(few[:, 1], series, atol=1e-12)
    rates = sum(2.0 * 8 * 5.0 * np.cos(2 * np.pi * 5.0 * k * t) for k in (1, 3, 5))
    np.testing.assert_allclose(few[:, 2], rates, atol=1e-9)
    whole = values(Square(force=2.0, frequency=5.0), 2000)[:, 1]
    np.testing.assert_array_equal(np.abs(whole), 2.0)
    np.testing.assert_array_equal(whole[:1000], 2.0)  # half a period of 5 Hz is 1000 samples
    np.testing.assert_array_equal(whole[1000:], -2.0)


TONES = st.lists(
    st.tuples(st.floats(0.1, 40.0), st.floats(0.01, 5.0), st.floats(-4.0, 4.0)),
    min_size=3,
    max_size=3,
    unique_by=lambda tone: tone[0],
)


@given(tones=TONES, amplitude=st.floats(-10.0, 10.0))
def test_a_multi_sine_is_the_real_part_of_its_phasors_and_their_rate(tones, amplitude):
    hz, sizes, phases = (np.array(one) for one in zip(*tones, strict=True))
    log = values(MultiSine(force=amplitude, frequencies=hz, amplitudes=sizes, phases=phases), 300)
    phasors = sizes * np.exp(1j * (2 * np.pi * np.outer(log[:, 0], hz) + phases))
    most = abs(amplitude) * sizes.sum()
    np.testing.assert_allclose(log[:, 1], amplitude * phasors.sum(axis=1).real, atol=1e-12 * most)
    rates = amplitude * (phasors @ (2j * np.pi * hz)).real
    np.testing.assert_allclose(log[:, 2], rates, atol=1e-12 * most * 2 * np.pi * hz.max())


def test_a_multi_sine_with_nothing_but_frequencies_is_eq_6_of_the_paper():
    log = values(MultiSine(force=1.0, frequencies=np.arange(5.0, 55.0, 5.0)), 4000)
    eq_6 = sum(np.cos(2 * np.pi * hz * log[:, 0]) for hz in range(5, 55, 5))
    np.testing.assert_allclose(log[:, 1], eq_6, atol=1e-12)


def test_schroeder_phases_of_equal_tones_are_those_in_print_and_halve_the_peak():
    order = np.arange(1, 11)
    np.testing.assert_allclose(schroeder_phases(np.ones(10)), -np.pi * order * (order - 1) / 10, rtol=1e-12)
    plain, spread = (
        values(MultiSine(force=1.0, frequencies=5.0 * order[::-1], phases=phases), 2000)[:, 1]
        for phases in (None, "schroeder")
    )
    assert np.abs(plain).max() == pytest.approx(10.0)
    assert np.std(spread) == pytest.approx(np.std(plain))  # the same tones
    assert np.abs(spread).max() < 0.5 * np.abs(plain).max()


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"frequencies": [3.0, 3.0]}, "listed twice"),
        ({"frequencies": [3.0, 4.0], "phases": [0.0]}, "1 phases for 2 frequencies"),
        ({"frequencies": [3.0], "amplitudes": [1.0, 2.0]}, "2 amplitudes for 1 frequencies"),
    ],
)
def test_multi_sines_that_do_not_fit_together_are_refused(settings, told):
    with pytest.raises(ValueError, match=told):
        MultiSine(force=1.0, **settings)


def test_a_shifted_excitation_is_that_of_later():
    sine = Sine(force=1.0, frequency=3.0, ramp=0.05)
    later = Loop([sine.block("e", shift=0.01)], dt=DT).run(100, record=["e", "e.rate"]).log
    np.testing.assert_allclose(later[:, 1:], values(sine, 200)[100:, 1:], rtol=1e-12, atol=1e-12)
