"""Responses and modes from records of a linear system whose response is known in closed form."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import freqz, lfilter

from halfreal.errors import HalfrealError
from halfreal.identification.assembled_frf import band_of, frf_of_run, modes_of
from halfreal.identification.complex_exponential import lsce
from halfreal.runs.run import Run, Signal

STEP = 2e-3
POLES = np.array([-1.0 + 20j, -1.5 + 47j])
SHAPES = {"virtual.tip": (1.0, 0.5), "rig.nose": (0.4, -0.8)}
POLYNOMIALS = {}
for name, shape in SHAPES.items():  # Σ_r Im(z_r) w/((1 − z_r w)(1 − z̄_r w)), w one sample late
    z = np.exp(POLES * STEP)
    pairs = [np.real(np.poly([one, one.conj()])) for one in z]
    above = shape[0] * z[0].imag * np.convolve([0, 1], pairs[1]) + shape[1] * z[1].imag * np.convolve([0, 1], pairs[0])
    POLYNOMIALS[name] = (1e-3 * above, np.convolve(*pairs))
RANDOM = {"kind": "random", "frequency": 1.0, "to": 20.0, "period": 8.0, "ramp": 1.0}
PULSE = {"kind": "pulse", "duration": 0.02}
STEPPED = {"kind": "stepped sine", "frequencies": [2.0, 3.2, 7.0], "dwell": 16.0}
RMS, PERIOD, LINES = 2.0, round(8.0 / STEP), 153


def excited(excitation, seconds):
    """The force at every sample: 153 lines of equal size and any phase, one period after the other; sines; sin²."""
    time = STEP * np.arange(round(seconds / STEP))
    if excitation is PULSE:
        return 50.0 * np.where(time < 0.02, np.sin(np.pi * time / 0.02) ** 2, 0.0)
    if excitation is STEPPED:
        return np.sin(2 * np.pi * np.array(STEPPED["frequencies"])[(time // 16.0).astype(int)] * time)
    spectrum = np.zeros(PERIOD // 2 + 1, dtype=complex)
    phases = 2j * np.pi * np.random.default_rng(2).random(LINES)
    spectrum[8 : 8 + LINES] = RMS * PERIOD / np.sqrt(2 * LINES) * np.exp(phases)
    return np.resize(np.fft.irfft(spectrum), time.size) * np.minimum(time, 1.0)


def recorded(excitation, seconds, noise=0.0, before=100, **changes):
    """A run of the system, with the way to the start and home around the test."""
    x = np.concatenate([np.zeros(before), excited(excitation, seconds), np.zeros(before)])
    random = np.random.default_rng(3)
    signals = {"excitation.virtual": Signal("N", x)}
    for name, (above, below) in POLYNOMIALS.items():
        signals[name] = Signal("m", lfilter(above, below, x) + noise * random.standard_normal(x.size))
    fields = {
        "title": "",
        "kind": "rehearsal",
        "definition": {
            "timing": {"duration": seconds},
            "excitation": {"virtual": excitation},
            "virtual": {"responses": {"tip": {}}},
            "rig": {"delay": STEP, "specimen": {"responses": {"nose": {}, "not recorded": {}}}},
        },
        "definition_text": "",
        "step": STEP,
        "time": STEP * (np.arange(x.size) - before),
        "signals": signals,
        "events": (),
        "outcome": "completed",
        "reason": "",
        "seed": 1,
        "started": "",
    }
    return Run(**{**fields, **changes})


def expected(hz):
    return np.array([freqz(*POLYNOMIALS[name], worN=2 * np.pi * hz * STEP)[1] for name in SHAPES])


@pytest.mark.parametrize(
    ("excitation", "seconds", "lines"), [(RANDOM, 32.0, 153), (PULSE, 16.0, 799), (STEPPED, 48.0, 3)]
)
def test_responses_are_those_of_the_system(excitation, seconds, lines):
    found = frf_of_run(recorded(excitation, seconds))
    assert (found.outputs, found.input, found.units) == (tuple(SHAPES), "excitation.virtual", ("m/N", "m/N"))
    assert found.values.shape == (2, lines)
    true = expected(found.frequency_hz)
    assert np.abs(found.values - true).max() < 1e-4 * np.abs(true).max()
    assert found.averages == (3 if excitation is RANDOM else 1)
    one = found.estimate("rig.nose")
    np.testing.assert_array_equal(one.response, found.values[1])


@pytest.mark.parametrize(("excitation", "seconds"), [(RANDOM, 32.0), (PULSE, 16.0)])
def test_modes_are_those_of_the_system(excitation, seconds):
    found = frf_of_run(recorded(excitation, seconds)).between(0.0, 18.0)
    modes = modes_of(found, highest_hz=15.0)
    np.testing.assert_allclose(modes.poles, POLES, rtol=1e-3)
    shapes = np.array(list(SHAPES.values()))
    np.testing.assert_allclose(modes.residues[1] / modes.residues[0], shapes[1] / shapes[0], rtol=0.02)
    if found.decays is not None:
        np.testing.assert_allclose(lsce(found.decays, found.step, 2, highest_hz=15.0).poles, POLES, rtol=1e-6)


def test_modes_of_velocities_and_accelerations_are_those_of_the_displacements():
    """Shapes grow by the pole and its square; modes far above, a constant of displacements, are no longer one."""
    found = frf_of_run(recorded(RANDOM, 32.0)).between(0.0, 18.0)
    found = replace(found, values=found.values + 0.2 * np.abs(found.values).max())
    plain = modes_of(found, highest_hz=15.0)
    s = 2j * np.pi * found.frequency_hz
    moving = replace(found, values=found.values * np.array([s, s**2]), derivatives=(1, 2))
    modes = modes_of(moving, highest_hz=15.0)
    np.testing.assert_allclose(modes.poles, POLES, rtol=1e-3)
    np.testing.assert_allclose(modes.residues, plain.residues * np.array([POLES, POLES**2]), rtol=1e-3)
    assert modes.misfit < 1e-4
    assert modes_of(replace(moving, derivatives=()), highest_hz=15.0).misfit > 0.01


def test_derivatives_follow_from_units_and_faint_responses_are_left_out_unless_named():
    run = recorded(RANDOM, 16.0)
    tip = run.signals["virtual.tip"].values
    signals = run.signals | {"virtual.tip": Signal("m/s^2", tip)}
    assert frf_of_run(recorded(RANDOM, 16.0, signals=signals)).derivatives == (2, 0)
    signals = run.signals | {"rig.nose": Signal("m", 1e-4 * tip)}
    found = frf_of_run(recorded(RANDOM, 16.0, signals=signals))
    assert found.outputs == ("virtual.tip",) and "'rig.nose'" in found.notes[0]
    found = frf_of_run(recorded(RANDOM, 16.0, signals=signals), ["virtual.tip", "rig.nose"])
    assert len(found.outputs) == 2 and not found.notes


def test_a_channel_of_noise_is_told_with_those_that_do_without_it():
    run = recorded(PULSE, 16.0)
    noise = np.random.default_rng(4).standard_normal(run.time.size)
    signals = run.signals | {"rig.nose": Signal("m", 1e-3 * noise)}
    with pytest.raises(HalfrealError, match=r"'rig.nose' has noise of .* omit .*: --channels 'virtual.tip'$"):
        frf_of_run(recorded(PULSE, 16.0, signals=signals))


def test_bands_beyond_the_lines_are_refused_and_round_ones_at_their_end_are_not():
    found = frf_of_run(recorded(RANDOM, 16.0))
    for low, high in ((2.0, 2000.0), (0.5, 15.0)):
        with pytest.raises(HalfrealError, match="lines of the record are from 1 to 20 Hz"):
            modes_of(found, lowest_hz=low, highest_hz=high)
    assert band_of(found, 0.9, 20.1)["highest_hz"] == found.frequency_hz[-1]


def test_a_free_decay_begins_when_the_pulse_has_passed_the_loop():
    """10 samples of the pulse, 1 of the rig's delay, 7 of the actuator's, 3 of the slower sensor's; then the next."""
    sensors = {"displacement": {"delay": STEP}, "force": {"delay": 3 * STEP}, "moment": {}}
    run = recorded(PULSE, 16.0)
    rig = run.definition["rig"] | {"actuator": {"kind": "delay", "delay": 7 * STEP}, "sensors": sensors}
    found = frf_of_run(recorded(PULSE, 16.0, definition=run.definition | {"rig": rig}))
    assert found.decays.shape[1] == 8000 - (10 + 1 + 7 + 3) - 1


def test_coherence_tells_the_noise():
    """1 − γ² = N/(|H|²|X|² + N) for noise of a known level, mean over the lines; a single period tells none."""
    noise = 2e-4
    found = frf_of_run(recorded(RANDOM, 8.0 * 41, noise))
    power = np.abs(expected(found.frequency_hz)) ** 2 * (RMS * PERIOD) ** 2 / (2 * LINES)
    told = PERIOD * noise**2
    np.testing.assert_allclose(1 - found.coherence.mean(axis=1), (told / (power + told)).mean(axis=1), rtol=0.1)
    assert np.isnan(frf_of_run(recorded(RANDOM, 16.0)).coherence).all()


def test_without_named_responses_the_interface_is_told():
    run = recorded(RANDOM, 24.0)
    signals = {"excitation.virtual": run.signals["excitation.virtual"]}
    signals |= {f"measured.displacement.{i}": one for i, one in enumerate(run.signals.values()) if one.unit == "m"}
    definition = {**run.definition, "virtual": {}, "rig": {}}
    found = frf_of_run(recorded(RANDOM, 24.0, signals=signals, definition=definition))
    assert found.outputs == ("measured.displacement.1", "measured.displacement.2")


@pytest.mark.parametrize(
    ("run", "more", "told"),
    [
        (recorded(RANDOM, 8.0), {}, "holds 1 periods of 8 s"),
        (recorded(RANDOM, 16.0, outcome="tripped", reason="force"), {}, "the run tripped: force"),
        (recorded(RANDOM, 16.0), {"outputs": ["virtual.top"]}, "virtual.top is not in the record"),
        (recorded(RANDOM, 16.0, definition={"excitation": {"virtual": {"kind": "sine"}}}), {}, "of the kind 'sine'"),
        (recorded(RANDOM, 16.0, definition={"excitation": {}}), {}, "of the kind 'none'"),
        (recorded(PULSE, 1.0), {}, "'virtual.tip' still moves at .* 2 % are considered at rest"),
        (
            recorded(PULSE, 16.0, noise=0.02),
            {},
            "'virtual.tip' has noise of .* % of the largest value .* 2 % are allowed: too noisy; excite harder",
        ),
        (recorded({**RANDOM, "period": 8.001}, 24.0), {}, "period of 8.001 s is 4000.5 samples"),
    ],
)
def test_runs_that_cannot_tell_are_refused(run, more, told):
    with pytest.raises(HalfrealError, match=told):
        frf_of_run(run, **more)


def test_gaps_and_wrong_names_are_refused():
    run = recorded(RANDOM, 16.0)
    with pytest.raises(HalfrealError, match=r"0\.002 to 0\.102 s apart"):
        frf_of_run(recorded(RANDOM, 16.0, time=np.where(run.time > 4.0, run.time + 0.1, run.time)))
    with pytest.raises(HalfrealError, match=r"no response 'tip'; there are virtual\.tip, rig\.nose"):
        frf_of_run(run).estimate("tip")
    with pytest.raises(HalfrealError, match="3 frequencies of a stepped sine"):
        modes_of(frf_of_run(recorded(STEPPED, 48.0)))
