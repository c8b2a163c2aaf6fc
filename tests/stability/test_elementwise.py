"""Margins read off single elements of a loop of several channels, beside the exact one."""

import numpy as np
import pytest

from halfreal.contracts.state_space import Delayed, StateSpace
from halfreal.errors import HalfrealError
from halfreal.stability.elementwise import element_margins
from halfreal.stability.frf import FRF, data_margins
from halfreal.stability.margins import delay_margin
from halfreal.stability.nyquist import curve


def coupled(gain: np.ndarray, hz: float = 5.0, damping: float = 0.1) -> StateSpace:
    """gain · ω²/(s² + 2ζω s + ω²): every eigenvalue of the gain sees the same oscillator."""
    omega, m = 2 * np.pi * hz, len(gain)
    a = np.array([[0.0, 1.0], [-(omega**2), -2 * damping * omega]])
    return StateSpace(
        np.kron(np.eye(m), a),
        np.kron(np.eye(m), [[0.0], [omega**2]]),
        gain @ np.kron(np.eye(m), [[1.0, 0.0]]),
        np.zeros((m, m)),
    )


def alone(gain: float) -> float:
    """Delay [s] that one oscillator of this gain bears, by hand: |L| = 1 at ω, arg L + π = ωτ."""
    omega, damping = 2 * np.pi * 5.0, 0.1
    bent = 1 - 2 * damping**2
    w = omega * np.sqrt(bent + np.sqrt(bent**2 - 1 + gain**2))
    value = gain * omega**2 / (omega**2 - w**2 + 2j * damping * omega * w)
    return float(np.mod(np.angle(value) + np.pi, 2 * np.pi) / w)


@pytest.mark.parametrize(
    "gain",
    [
        np.array([[1.2, 0.9], [0.9, 1.2]]),
        np.array([[1.5, 1.0, 0.2], [1.0, 1.5, 1.0], [0.2, 1.0, 1.5]]),
        np.array([[1.1, 4.0], [0.1, 1.1]]),
    ],
)
def test_elements_promise_more_than_the_loop_bears(gain):
    """The exact delay is that of the largest eigenvalue of the gain, the elements' that of the largest entry alone."""
    found = element_margins(coupled(gain))
    eigenvalues = np.linalg.eigvals(gain)
    assert found.exact == pytest.approx(min(alone(g) for g in eigenvalues.real if g > 1.0), rel=1e-9)
    over = gain > 1.0
    np.testing.assert_allclose(found.delays[over], [alone(g) for g in gain[over]], rtol=1e-9)
    if gain[0, 1] < gain[0, 0]:  # else an entry is larger than any eigenvalue, and promises less
        assert found.least > 1.05 * found.exact
        assert "which is too optimistic" in found.summary()
    assert found.exact == delay_margin(coupled(gain)).critical_delay
    assert f"stable up to a delay of {1e3 * found.exact:.4g} ms" in found.summary()


def test_elements_that_never_reach_one_are_told_with_the_loop_that_does():
    found = element_margins(coupled(0.19 * np.ones((2, 2)), damping=0.1 / 0.38))
    assert np.isinf(found.least) and np.isinf(found.exact)
    quiet = coupled(np.array([[0.16, 0.16], [0.16, 0.16]]))  # at resonance 0.8 each, 1.6 together
    told = curve(quiet).summary()
    assert "would tolerate any delay, which is too optimistic" in told and "stable up to a delay of" in told


def test_fixed_delays_count_in_both():
    gain = np.array([[1.2, 0.9], [0.9, 1.2]])
    found = element_margins(Delayed(coupled(gain), np.array([1e-3, 1e-3])))
    assert found.exact == pytest.approx(alone(2.1) - 1e-3, rel=1e-7)
    assert found.least == pytest.approx(alone(1.2) - 1e-3, rel=1e-7)


def test_measured_lines_of_several_channels_give_the_margin_of_the_whole_loop():
    gain = np.array([[1.2, 0.9], [0.9, 1.2]])
    hz = np.linspace(0.5, 30.0, 3000)
    measured = FRF(hz, coupled(gain).response(2 * np.pi * hz))
    margins = data_margins(measured)
    assert abs(margins.critical_delay - alone(2.1)) <= margins.delay_errors.max() < 1e-5
    found = element_margins(measured)
    assert found.least == pytest.approx(alone(1.2), rel=1e-4)
    assert "if stable as measured, stable up to" in curve(measured).summary()
    with pytest.raises(HalfrealError, match="response is 1 × 2"):
        data_margins(FRF(hz, measured.response[:, :1]))


def test_the_plot_of_elements_says_what_they_are_not():
    figure = curve(coupled(np.array([[1.2, 0.9], [0.9, 1.2]]))).plot()
    assert "exact, for all channels" in " ".join(figure.get_suptitle().split())
    assert curve(coupled(np.array([[1.2]]))).plot().get_suptitle() == ""
