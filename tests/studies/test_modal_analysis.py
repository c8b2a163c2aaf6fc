from dataclasses import replace

import numpy as np
import pytest

from halfreal.identification import complex_frequency
from halfreal.identification.assembled_frf import frf_of_run
from halfreal.identification.poles import Poles
from halfreal.presentation.modal_text import as_numbers, as_text, figure
from halfreal.studies.modal_analysis import Mode, _from_decay, left_out, modal_analysis, told_apart
from two_modes import DAMPING, FREQUENCY, OUTPUTS, STEP, poles, receptance, recorded


def test_modes_of_a_known_structure_are_found_with_their_shapes():
    found = modal_analysis(recorded(), highest_hz=18.0)
    np.testing.assert_allclose(found.poles.poles, poles(), rtol=1e-5)
    np.testing.assert_allclose(found.responses.values, receptance(found.responses.frequency_hz), rtol=1e-6)
    assert found.responses.outputs == OUTPUTS
    ratio = found.poles.residues[1] / found.poles.residues[0]
    np.testing.assert_allclose(ratio, [0.6, -0.8], atol=1e-4)


def test_poles_of_noise_are_told_as_doubtful_and_those_of_the_structure_are_not():
    spurious = 0
    for seed in (16, 21, 25):
        for mode in modal_analysis(recorded(0.03, seed), highest_hz=18.0).modes:
            own = np.abs(FREQUENCY - mode.frequency_hz).min() < 0.1
            assert mode.doubtful != own
            assert mode.coherence is not None and mode.coherence < 1.0
            spurious += not own
    assert spurious  # there was something to doubt


def test_in_how_many_models_without_a_response_a_mode_is(monkeypatch):
    """The first mode in all of three, a little aside; the second missing from one."""
    found = modal_analysis(recorded(), highest_hz=18.0)
    hz = iter([[5.0, 12.0], [5.01, 12.0], [5.02]])
    made = (Poles(2j * np.pi * np.array(one), np.zeros((2, len(one))), 0.0) for one in hz)
    monkeypatch.setattr("halfreal.studies.modal_analysis.lscf", lambda *words, **named: next(made))
    shares = left_out(found.responses, found.poles, {"lowest_hz": 1.0, "highest_hz": 18.0, "order": 30})
    assert shares == [1.0, pytest.approx(2 / 3)]


def test_what_noise_does_is_told_of_any_number_of_responses():
    """Three per cent of noise: the truth is within three of the half widths told, and these are not absurd."""
    for outputs in (None, OUTPUTS[:1]):
        found = modal_analysis(recorded(0.03), outputs, highest_hz=18.0)
        modes = [one for one in found.modes if np.abs(FREQUENCY - one.frequency_hz).min() < 0.1]
        assert len(modes) == 2
        for mode, hz, ratio in zip(modes, FREQUENCY, DAMPING, strict=True):
            assert abs(mode.frequency_hz - hz) < 3 * mode.frequency_interval_hz < 0.1
            assert abs(mode.damping - ratio) < 3 * mode.damping_interval < 0.02
        lines = as_text(found)
        assert "±: 95 % interval due to noise" in "".join(lines)
        told = [one["damping_interval"] for one in as_numbers(found)["modes"]]
        np.testing.assert_array_equal(told, [one.damping_interval for one in found.modes])


def test_the_estimator_runs_once_and_once_without_each_response(monkeypatch):
    calls, estimator = [], complex_frequency._estimator
    monkeypatch.setattr(complex_frequency, "_estimator", lambda: calls.append(1) or estimator())
    modal_analysis(recorded(), highest_hz=18.0)
    assert len(calls) == 1 + len(OUTPUTS)


def test_a_free_decay_tells_the_modes_that_it_supports():
    """Of two modes, a decay that holds the second alone."""
    decays = np.exp(np.outer(poles()[1:], STEP * np.arange(2000))).real
    rows, notes = _from_decay(replace(frf_of_run(recorded()), decays=decays), 2, 18.0)
    np.testing.assert_allclose(rows, [[12.0, 0.03]], rtol=1e-6)
    assert "supports 1 of 2 modes" in notes[0]


def test_poles_made_of_others_are_doubtful_unless_the_loop_has_them():
    """s₁ + s₂, 2 s₁ and s₂ + s̄₁ of two modes of the loop; one that is none of these; 2 s₂, which the loop has too."""
    first, second = poles()
    every = np.array([second + first.conjugate(), first, 2 * first, second, first + second, 18j - 1, 2 * second])
    of_loop = [None, (5.0, 0.02), None, (12.0, 0.03), None, None, (24.0, 0.03)]
    modes = tuple(Mode(1.0, 0.0, 0.0, 0.0, 1.0, 1.0, None, None, one) for one in of_loop)
    found = told_apart(modes, every)
    assert [one.made_of for one in found] == [(2, 4), (), (2,), (), (2, 4), (), ()]
    assert [one.doubtful for one in found] == [bool(one.made_of) for one in found]


def test_a_pole_of_the_loop_is_told_beside_a_mode_only_if_it_is_near():
    found = modal_analysis(recorded(), highest_hz=18.0)
    assert found.modes[0].of_loop == (5.0, 0.02)
    assert found.modes[1].of_loop is None
    lines = as_text(found)
    assert "5.000 Hz 2.00 %" in lines[3] and lines[4].endswith("—")
    assert [one["frequency_hz"] for one in as_numbers(found)["modes"]] == pytest.approx(FREQUENCY, rel=1e-4)
    assert len(figure(found).axes) == len(OUTPUTS) + 2  # the diagram has a second scale
