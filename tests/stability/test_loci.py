"""Eigenvalue loci: against python-control and closed forms, with their margins on them."""

import control
import numpy as np
import pytest
from scipy.optimize import brentq

from halfreal.contracts.state_space import StateSpace
from halfreal.models.schemes.exact import discretise
from halfreal.stability.frf import FRF, data_margins
from halfreal.stability.loci_figures import Elements, bode_figure, nyquist_figure
from halfreal.stability.loop_loci import loci_of, loci_of_data
from halfreal.stability.margins import delay_margin

STEP = 2e-3


def oscillators(gain: np.ndarray, hz: float = 5.0, damping: float = 0.1) -> StateSpace:
    """gain · ω²/(s² + 2ζω s + ω²) with a held input: its loci are those of one oscillator times eigenvalues of gain."""
    omega, m = 2 * np.pi * hz, len(gain)
    a, b, _ = discretise(
        np.array([[0, 1], [-(omega**2), -2 * damping * omega]]), np.array([[0], [omega**2]]), STEP, "zero"
    )
    c = gain @ np.kron(np.eye(m), [[1.0, 0.0]])
    return StateSpace(np.kron(np.eye(m), a), np.kron(np.eye(m), b), c, np.zeros((m, m)), STEP)


def loci(gain: np.ndarray):
    loop = oscillators(gain)
    return loci_of(loop, delay_margin(loop))


def as_control(gain: float):
    loop = oscillators(np.array([[gain]]))
    return control.ss(loop.a, loop.b, loop.c, loop.d, STEP)


def test_one_channel_is_the_response_of_python_control():
    found = loci(np.array([[0.8]]))
    expected = as_control(0.8)(np.exp(2j * np.pi * found.frequency_hz * STEP))
    np.testing.assert_allclose(found.values[:, 0], expected, rtol=1e-9)
    assert found.frequency_hz[-1] == pytest.approx(0.5 / STEP)


@pytest.mark.parametrize("hz", [5.0, 5.033, 20.0])
def test_an_undamped_loop_is_evaluated_next_to_its_pole(hz: float):
    loop = oscillators(np.array([[0.8]]), hz, damping=0.0)
    found = loci_of(loop, delay_margin(loop))
    assert np.all(np.isfinite(found.values)) and np.abs(found.values).max() > 1e6
    assert np.all(np.diff(found.frequency_hz) > 0.0)


def test_margins_are_where_the_response_of_python_control_has_modulus_one_or_is_real():
    found, system = loci(np.array([[0.8]])), as_control(0.8)
    response = lambda hz: complex(system(np.exp(2j * np.pi * hz * STEP)))  # noqa: E731
    at_one = brentq(lambda hz: abs(response(hz)) - 1.0, 5.0, 20.0, xtol=1e-12)
    at_turn = brentq(lambda hz: response(hz).imag, at_one, 100.0, xtol=1e-12)
    first = found.nearest_lag
    assert found.crossing_hz[first] == pytest.approx(at_one, rel=1e-9)
    assert found.lag_deg[first] == pytest.approx(np.degrees(np.angle(response(at_one))) + 180.0, rel=1e-7)
    (up,) = [i for i in found.nearest_gains if found.gain_db[i] > 0.0]
    assert found.gain_hz[up] == pytest.approx(at_turn, rel=1e-6)
    assert found.gain_db[up] == pytest.approx(-20 * np.log10(-response(at_turn).real), rel=1e-6)


def test_several_channels_are_followed_as_eigenvalues_of_the_gain():
    gain = np.array([[0.7, 0.4], [0.4, 0.7]])
    found = loci(gain)
    one = loci(np.array([[1.0]]))
    unit = np.interp(found.frequency_hz, one.frequency_hz, one.values[:, 0].real)
    for eigenvalue, start in ((1.1, found.values[0].real.max()), (0.3, found.values[0].real.min())):
        column = int(np.argmin(np.abs(found.values[0].real - start)))
        np.testing.assert_allclose(found.values[:, column].real, eigenvalue * unit, atol=0.05)
        assert start == pytest.approx(eigenvalue, rel=0.02)
    on = [np.abs(found.values[np.argmin(np.abs(found.frequency_hz - hz))]) for hz in found.crossing_hz]
    assert len(on) >= 2 and all(np.min(np.abs(sizes - 1.0)) < 1e-9 for sizes in on)


def test_an_unstable_loop_has_leads():
    loop = oscillators(np.array([[6.0]]), damping=0.02)
    margin = delay_margin(loop)
    assert margin.unstable_without_delay == 2
    found = loci_of(loop, margin)
    assert found.lag_deg[found.nearest_lag] < 0.0
    assert found.delay_s[found.nearest_lag] < 0.0


def test_lines_give_the_same_marks_and_all_is_drawn():
    found = loci(np.array([[0.8]]))
    lines = FRF(found.frequency_hz, found.values[:, 0])
    data = loci_of_data(lines, data_margins(lines), "as measured")
    assert data.lag_deg.min() == pytest.approx(found.lag_deg.min(), rel=1e-2)
    two = loci(np.array([[0.7, 0.4], [0.4, 0.7]]))
    hz = two.frequency_hz
    elements = Elements(hz, oscillators(np.array([[0.7, 0.4], [0.4, 0.7]])).response(2 * np.pi * hz), ("x", "y"))
    for draw in (bode_figure, nyquist_figure):
        assert len(draw(found).axes) >= 1
        words = {text.get_text() for text in draw(found, data).axes[0].get_legend().get_texts()}
        assert {"model", "measured"} <= words
        assert len(draw(two, None, elements).axes) >= 4
