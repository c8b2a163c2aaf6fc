import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfreal.contracts.state_space import Delayed, StateSpace
from halfreal.errors import HalfrealError
from halfreal.stability.frf import FRF, data_margins
from halfreal.stability.margins import delay_margin
from halfreal.stability.nyquist import curve, encirclements, frequency_response, product

OSCILLATOR = StateSpace([[0, 1], [-1, -0.4]], [[0], [1]], [[3, 0]], [[0]])  # 3/(s² + 0.4 s + 1)


def random_loop(seed: int) -> StateSpace:
    """Stable or not, one to three channels, continuous or sampled."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    a = rng.normal(size=(n, n))
    dt = 0.01 if seed % 2 else None
    return StateSpace(a, rng.normal(size=(n, m)), rng.normal(size=(m, n)), 0.3 * rng.normal(size=(m, m)), dt)


def measured(loop, hz) -> FRF:
    return FRF(hz, loop.response(2 * np.pi * np.asarray(hz)))


# --- encirclements ----------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_encirclements_count_the_unstable_poles_of_the_closed_loop(seed):
    loop = random_loop(seed)
    poles, closed = loop.poles(), np.linalg.eigvals(loop.closed())
    growth = (lambda x: x.real) if loop.dt is None else (lambda x: np.abs(x) - 1)
    if min(np.abs(growth(poles)).min(), np.abs(growth(closed)).min()) < 1e-4:
        return
    result = encirclements(loop)
    assert result.open_loop_unstable == np.sum(growth(poles) > 0)
    assert result.unstable_poles == np.sum(growth(closed) > 0)


@pytest.mark.parametrize("delay", [0.0, 0.1, 0.15, 1.0])
def test_encirclements_and_crossings_agree_on_a_delayed_loop(delay):
    result = encirclements(Delayed(OSCILLATOR, np.array([delay])))
    assert result.unstable_poles == delay_margin(OSCILLATOR).unstable_poles(delay)
    assert result.stable == (delay < delay_margin(OSCILLATOR).critical_delay)
    assert result.summary().startswith("stable" if result.stable else "unstable, 2 unstable closed-loop poles")


def test_encirclements_from_data_are_those_of_the_model():
    two = StateSpace(*(np.kron(np.eye(2), x) for x in (OSCILLATOR.a, OSCILLATOR.b, OSCILLATOR.c, OSCILLATOR.d)))
    loop = Delayed(two, np.array([0.1, 0.2]))  # the second channel is beyond its critical delay
    assert encirclements(loop).unstable_poles == 2
    assert encirclements(measured(loop, np.geomspace(1e-3, 30, 3000))).unstable_poles == 2


def test_open_loop_pole_on_the_axis_is_refused():
    with pytest.raises(HalfrealError, match="pole on the stability limit at 0 Hz"):
        encirclements(StateSpace([[0.0]], [[1.0]], [[1.0]], [[0.0]]))


def test_closed_loop_pole_on_the_axis_is_refused():
    with pytest.raises(HalfrealError, match=r"runs .* through the origin"):
        encirclements(StateSpace([[0, 1], [-1, -0.4]], [[0], [1]], [[3, -0.4]], [[0]]))  # closed: s² + 4


def test_data_that_end_off_the_real_axis_or_are_coarse_are_refused():
    with pytest.raises(HalfrealError, match="not near the real axis"):
        encirclements(measured(OSCILLATOR, np.linspace(0.1, 0.3, 100)))
    with pytest.raises(HalfrealError, match=r"turns by more than 60° between the lines at 0\.1 and 0\.2 Hz"):
        encirclements(measured(OSCILLATOR, np.arange(0.1, 20, 0.1)))


# --- margins from data ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lines", [200, 1000, 5000])
def test_margins_from_data_differ_from_the_exact_ones_by_less_than_their_bound(lines):
    exact = delay_margin(OSCILLATOR)
    margins = data_margins(measured(OSCILLATOR, np.linspace(0.05, 2, lines)))
    assert margins.frequency_hz.size == 1
    for value, bound, true in (
        (margins.frequency_hz[0], margins.frequency_error_hz[0], exact.frequency_hz[0]),
        (margins.phase_deg[0], margins.phase_error_deg[0], exact.phases_deg[0]),
        (margins.critical_delay, margins.delay_errors[0], exact.critical_delay),
    ):
        assert abs(value - true) < bound < 40 * true / lines


def test_gain_margin_from_data():
    loop = StateSpace([[-3, -3, -1], [1, 0, 0], [0, 1, 0]], [[1], [0], [0]], [[0, 0, 2]], [[0]])  # 2/(s + 1)³
    margins = data_margins(measured(loop, np.geomspace(0.01, 2, 200)))
    assert margins.gain_frequency_hz[0] == pytest.approx(np.sqrt(3) / (2 * np.pi), rel=1e-3)
    assert abs(margins.gain_db[0] - 20 * np.log10(4)) < margins.gain_error_db[0] < 0.1


@pytest.mark.parametrize(
    ("gain", "hz", "words"),
    [
        (0.25, [0.05, 0.1, 0.14, 0.18, 0.3], "the phase turns by more than 60° between the lines at 0.14 and 0.18 Hz"),
        (
            1.0,
            [0.18, 0.2, 0.22, 0.24, 0.4],
            "gain changes by more than a factor 2 between the lines at 0.24 and 0.4 Hz",
        ),
    ],
)
def test_coarse_data_are_refused_with_the_two_lines(gain, hz, words):
    with pytest.raises(HalfrealError, match=words.replace(".", r"\.")):
        data_margins(FRF(hz, gain * measured(OSCILLATOR, hz).response))


def test_data_that_do_not_cross_say_so():
    margins = data_margins(measured(OSCILLATOR, np.linspace(0.5, 2, 50)))
    assert np.isinf(margins.critical_delay)
    assert "does not cross 1" in margins.summary()


# --- products and files -----------------------------------------------------------------------------------------------


def test_product_of_model_data_and_delay():
    hz = np.linspace(0.1, 1, 500)
    actuator = FRF(hz, 1 / (1 + 0.3j * hz))
    loop = product(OSCILLATOR, actuator, delay=0.05)
    omega = 2 * np.pi * hz
    expected = 3 / (1 - omega**2 + 0.4j * omega) / (1 + 0.3j * hz) * np.exp(-0.05j * omega)
    np.testing.assert_allclose(loop.response[:, 0, 0], expected, rtol=1e-12)
    between = frequency_response(loop, np.array([2 * np.pi * 0.50123]))
    assert between.shape == (1, 1, 1)
    assert between[0, 0, 0] == pytest.approx(np.interp(0.50123, hz, expected), rel=1e-4)
    with pytest.raises(HalfrealError, match=r"outside the measured lines, 0\.1 to 1 Hz"):
        product(loop, FRF([0.05, 1.0], [1, 1])).at(np.array([0.1]))
    with pytest.raises(HalfrealError, match="without measured data"):
        product(OSCILLATOR)


def test_files_in_every_form_give_the_same_response(tmp_path):
    hz, values = np.array([1.0, 2.0, 3.0]), np.array([1 + 1j, -2 + 0.5j, 0.1 - 3j])
    rows = zip(hz, values, strict=True)
    (tmp_path / "cartesian.csv").write_text(
        "# rig of today\nfrequency_hz, real, imag\n" + "".join(f"{f}, {v.real}, {v.imag}\n" for f, v in rows)
    )
    rows = zip(hz, values, strict=True)
    (tmp_path / "polar.csv").write_text(
        "frequency_hz;magnitude;phase_deg\n"
        + "".join(f"{f};{float(abs(v))!r};{float(np.degrees(np.angle(v)))!r}\n" for f, v in rows)
    )
    np.savez(tmp_path / "arrays.npz", frequency_hz=hz, response=values)
    for name in ("cartesian.csv", "polar.csv", "arrays.npz"):
        frf = FRF.read(tmp_path / name, unit="N/m")
        np.testing.assert_allclose(frf.response[:, 0, 0], values, rtol=1e-14)
        np.testing.assert_allclose(frf.frequency_hz, hz)
    (tmp_path / "two.csv").write_text(
        "frequency_hz,real_11,imag_11,real_12,imag_12,real_21,imag_21,real_22,imag_22\n1,1,2,3,4,5,6,7,8\n2,1,2,3,4,5,6,7,8\n"
    )
    np.testing.assert_allclose(FRF.read(tmp_path / "two.csv").response[1], [[1 + 2j, 3 + 4j], [5 + 6j, 7 + 8j]])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hz,real,imag\n1,2,3\n", "no frequency_hz"),
        ("frequency_hz,real\n1,2\n2,3\n", "no imag"),
        ("frequency_hz,real,imag\n1,2\n", "without the 3 numbers"),
        ("frequency_hz,real,imag\n1,2,x\n", "without the 3 numbers"),
        ("frequency_hz,real,imag\n2,1,1\n1,1,1\n", r"line 1 has 2\.0 Hz, line 2 has 1\.0 Hz"),
        ("frequency_hz,real,imag\n1,1,1\n2,nan,1\n", "line 2 is not finite"),
        ("frequency_hz,real,imag\n1,1,1\n", "at least 2 lines"),
        ("frequency_hz,real_11,imag_11,real_22,imag_22\n1,1,1,1,1\n2,1,1,1,1\n", "do not fill a matrix"),
        ("# nothing\n", "is empty"),
    ],
)
def test_faulty_files_are_refused(tmp_path, text, words):
    path = tmp_path / "frf.csv"
    path.write_text(text)
    with pytest.raises(HalfrealError, match=words):
        FRF.read(path)


# --- curves -----------------------------------------------------------------------------------------------------------


def test_curve_of_a_model_resolves_its_resonance_and_plots_every_element():
    sharp = StateSpace([[0, 1], [-1, -2e-4]], [[0], [1]], [[1, 0]], [[0]])
    data = curve(sharp)
    assert data.magnitude.max() == pytest.approx(1 / 2e-4, rel=1e-2)
    assert data.phase_deg[-1, 0, 0] == pytest.approx(-180, abs=0.1)
    assert np.abs(np.diff(data.phase_deg[:, 0, 0])).max() < 12
    assert f"largest {data.magnitude.max():.4g} at 0.1592 Hz" in data.summary()
    two = StateSpace(-np.eye(2), np.eye(2), np.eye(2), np.zeros((2, 2)))
    assert len(curve(two).plot().axes) == 4
    assert [line.get_label() for line in curve(two).plot_bode().axes[0].lines[:2]] == [
        "output 1, input 1",
        "output 1, input 2",
    ]
    assert encirclements(two).plot().axes[0].get_title(loc="left") == "det(I + L)"
    assert len(curve(FRF([1.0, 2.0], [1, 1j], "N/m")).plot().axes) == 1
