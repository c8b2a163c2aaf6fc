"""Rehearsals of the spring–mass–damper test: what the paper's Figs. 7–9 and section 3 show."""

import numpy as np
import pytest

import halfreal
from examples.wallace2005 import GALLERY, C, K, M, definition, linearised, root
from halfreal.couplings.forward_prediction import weights


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def last(run, name: str, seconds: float = 4.0) -> np.ndarray:
    return run.signals[name].values[run.time >= run.time[-1] - seconds]


@pytest.fixture(scope="module")
def gallery():
    return {path.stem: halfreal.rehearse(halfreal.load(path)) for path in sorted(GALLERY.glob("*.toml"))}


def test_emulated_system_is_the_closed_form_steady_state():
    """z* under r = R sin ωt: (k + jcω) R / (k + k_s − mω² + jcω)."""
    run = halfreal.rehearse(definition(timing={"step": 1e-3, "duration": 8.0}))
    omega = 2 * np.pi * 1.5
    response = (K + 1j * C * omega) * 0.01 / (2 * K - M * omega**2 + 1j * C * omega)
    time = run.time[run.time > 6.0]
    expected = np.imag(response * np.exp(1j * omega * time))
    np.testing.assert_allclose(run.signals["reference"].values[run.time > 6.0], expected, atol=1e-6 * 0.01)


def test_wallace2005_figure_7_forward_prediction_tracks_the_emulated_system(gallery):
    run = gallery["forward_prediction"]
    assert run.outcome == "completed"
    assert rms(last(run, "gap")) < 1e-3 * rms(last(run, "target"))
    assert rms(last(run, "target") - last(run, "reference")) < 1e-3 * rms(last(run, "reference"))


def test_wallace2005_figure_8_slow_growth_at_a_residual_delay_of_6_8_ms(gallery):
    """ρ = 2.6 ms leaves 6.8 ms > τ_c: the free part of the motion grows as the linearised loop says."""
    run = gallery["under_compensated"]
    assert run.outcome == "completed"
    grown = root(weights(3, 12, 2.6), 9.4e-3, 0.01 + 44.7j)
    assert 0 < grown.real < 0.02

    def amplitude(start: float) -> float:
        """Of the growing motion at 7.1 Hz, apart from the forced one at 1.5 Hz."""
        window = (run.time >= start) & (run.time < start + 10)
        taper = np.hanning(window.sum())
        return float(
            abs(np.sum(taper * run.signals["target"].values[window] * np.exp(-1j * grown.imag * run.time[window])))
        )

    growth = np.log(amplitude(109) / amplitude(9)) / 100
    pole = linearised(halfreal.load(GALLERY / "under_compensated.toml")).continuous[0]
    assert growth == pytest.approx(pole.real, rel=2e-3)
    assert abs(pole - grown) < 2e-3  # the step's share: it falls with order two, as the stability tests measure


def test_wallace2005_figure_9a_start_on_a_model_then_the_measured_force(gallery):
    run = gallery["model_start"]
    assert run.outcome == "completed"
    texts = [event.text for event in run.events if event.channel == "start_up.mode"]
    assert texts == [
        "feedback: the model's force",
        "synchronised: feedback is faded over to the measured force",
        "feedback: measured force",
    ]
    # over-compensated by 0.5 ms: the rig leads by that much at the end
    assert last(run, "coupling.prediction")[-1] == pytest.approx(9.4e-3 + 0.5e-3, abs=0.05e-3)
    assert last(run, "coupling.order")[-1] == 3


def test_wallace2005_figure_9b_adaption_from_zero_outruns_the_instability(gallery):
    run = gallery["adaptive"]
    assert run.outcome == "completed"
    found = halfreal.check(halfreal.load(GALLERY / "adaptive.toml"))
    assert found.verdict == "GO"
    assert not found.stable
    assert run.stability is not None and not run.stability.stable, "it starts in an unstable loop"
    assert "by the end of the test it is stable" in run.stability.text
    assert last(run, "coupling.prediction")[-1] == pytest.approx(9.4e-3, abs=0.02e-3)
    assert rms(last(run, "gap")) < 1e-3 * rms(last(run, "target"))


def test_wallace2005_figure_9c_without_compensation_the_loop_trips(gallery):
    run = gallery["uncompensated"]
    assert run.outcome == "tripped"
    assert "gap" in run.reason
    command = run.signals["command"].values
    tripped = run.signals["guard.mode"].values > 0
    braking = np.diff(command[tripped])
    assert np.all(np.abs(braking[1:]) <= np.abs(braking[:-1]) + 1e-15)  # slower from the tick of the trip on
    assert np.ptp(command[tripped][round(0.1 / 1e-3) :]) == 0.0  # and held after a tenth of a second at most


def test_wallace2005_section_3_saturating_specimen(gallery):
    run = gallery["saturating"]
    force = run.signals["measured.force"].values
    assert np.abs(force).max() == pytest.approx(9.0)
    assert np.abs(last(run, "target")).max() > 4e-3
    assert rms(last(run, "target") - last(run, "reference")) < 5e-3 * rms(last(run, "reference"))


def test_adaptive_prediction_finds_delay_and_amplitude_of_a_first_order_actuator():
    """T x˙ + x = c at 1.5 Hz is late by atan(ωT)/ω and small by √(1 + ω²T²): ρ and κ must find both."""
    omega, lag = 2 * np.pi * 1.5, 20e-3
    coupling = {"kind": "adaptive forward prediction", "prediction": 0.02, "order": 2, "highest_order": 2}
    rig = {
        "actuator": {"kind": "first order", "time_constant": lag, "reconstruction": "cubic"},
        "specimen": {"stiffness": 200.0},
    }
    run = halfreal.rehearse(definition(coupling=coupling, rig=rig, timing={"step": 1e-3, "duration": 20.0}))
    assert run.outcome == "completed"
    # the loop itself is late by one step: the actuator sees a command one tick after it is computed, at the earliest
    assert last(run, "coupling.prediction")[-1] == pytest.approx(np.arctan(omega * lag) / omega + 1e-3, abs=0.3e-3)
    assert last(run, "coupling.amplitude")[-1] == pytest.approx(np.hypot(1.0, omega * lag), abs=2e-3)
    assert rms(last(run, "gap")) < 5e-3 * rms(last(run, "target"))


def test_noise_is_the_same_for_a_seed_and_another_for_another():
    sensors = {"force": {"noise": 0.1}, "displacement": {"noise": 1e-5}}
    rig = {"actuator": {"delay": 9.4e-3}, "specimen": {"stiffness": 2250.0}, "sensors": sensors}
    coupling = {"kind": "forward prediction", "prediction": 9.4e-3}

    def force(seed):
        run = halfreal.rehearse(
            definition(coupling=coupling, rig=rig, timing={"step": 1e-3, "duration": 1.0, "seed": seed})
        )
        return run.signals["measured.force"].values - 2250.0 * run.signals["rig.displacement"].values

    np.testing.assert_array_equal(force(1), force(1))
    assert not np.any(force(1)[1:] == force(2)[1:])
    assert rms(force(1)[1:]) == pytest.approx(0.1, rel=0.1)
