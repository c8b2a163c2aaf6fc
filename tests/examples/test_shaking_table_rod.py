"""What the README of the rod on the shaking table states, after sections 4 and 5 of the DLR's paper on MAVIS."""

import numpy as np
import pytest

from examples.shaking_table_rod import figures, study
from halfreal.runs.loop_stability import margin_of
from halfreal.stability.margins import delay_margin


def test_table_1():
    frequency, mass = study.rod_modes(4)
    np.testing.assert_allclose(frequency, [4.03, 12.19, 20.65, 29.61], atol=5e-3)
    np.testing.assert_allclose(mass, [53.78, 52.04, 48.73, 44.17], atol=5e-3)
    virtual = study.definition().virtual
    np.testing.assert_allclose(virtual.frequency, frequency[:2], rtol=1e-5)
    np.testing.assert_allclose(virtual.mass, mass[:2], rtol=1e-5)


def test_figure_8_a_delay_of_six_milliseconds_is_left():
    found = study.compensation()
    np.testing.assert_allclose(1e3 * np.array(found.delays()), [15.5, 8.2, 6.0], atol=0.1)
    for part, lowest, highest in (
        (found.initial, 0.3, 1.02),
        (found.tuned, 0.98, 1.04),
        (found.compensated, 0.98, 1.05),
    ):
        amplitude = np.abs(part.between(0.5, 30.0).response)
        assert lowest < amplitude.min() < amplitude.max() < highest


def test_the_definition_holds_what_identification_finds():
    found, test = study.compensation(), study.definition()
    assert test.rig.controller == found.controller
    (section,), (identified,) = test.coupling.filters[0], found.filters
    for given, new in zip(section.ratio(), identified.ratio(), strict=True):
        np.testing.assert_allclose(given, new, rtol=1e-3)


def test_figure_10_and_the_limit_with_the_table_in_the_loop():
    margin = delay_margin(study.open_loop(study.definition()))
    assert margin.critical_delay * 1e3 == pytest.approx(34.25, abs=0.01)
    assert margin.critical_frequency_hz == pytest.approx(14.785, abs=2e-3)
    further = margin_of(study.definition()).critical_delay
    assert further + study.facility_delay() == pytest.approx(34.2e-3, abs=0.1e-3)


@pytest.mark.parametrize("artificial", [0.0, 8e-3, 20e-3, 25e-3])
def test_figure_11_identified_poles_are_those_of_the_code_that_ran(artificial):
    one = study.decay(artificial, 2 if artificial < 10e-3 else 3)
    for computed in one.computed[:2]:
        hz, ratio = abs(computed) / (2 * np.pi), -computed.real / abs(computed)
        # what is damped by more, a decay of one displacement does not tell
        for found in (one.found, one.from_response) if ratio < 0.2 else (one.from_response,):
            i = found.nearest(hz)
            assert found.frequency_hz[i] == pytest.approx(hz, rel=0.01)
            assert found.damping[i] == pytest.approx(ratio, rel=0.05)


def test_figure_11_computed_with_a_pure_delay_and_with_the_table_agree():
    tracks, one = study.tracks(36), study.decay(24e-3, 3)
    samples = round(one.total_delay / study.STEP)
    for computed in one.computed[:3]:
        others = tracks.rates[samples]
        nearest = others[np.nanargmin(np.abs(others - computed))]
        assert abs(nearest - computed) / abs(computed) < 0.02


def test_figure_12_decay_below_the_limit_and_growth_above():
    below, above = study.decay(28e-3, 3), study.decay(29e-3, 3)
    for one, ratio in ((below, 0.0025), (above, -0.0106)):
        i = one.found.nearest(14.8)
        assert one.found.damping[i] == pytest.approx(ratio, abs=2e-4)
        assert one.found.frequency_hz[i] == pytest.approx(14.75, abs=0.15)
    assert np.abs(below.displacement[-1000:]).max() < 0.1 * np.abs(below.displacement).max()
    assert np.abs(above.displacement).max() > 15e-3


def test_figures_are_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "ARTIFICIAL", (0.0, 20e-3))
    monkeypatch.setattr(study, "decays", lambda: [study.decay(extra, 2) for extra in study.ARTIFICIAL])
    figures.main(tmp_path)
    assert len([path for path in tmp_path.glob("*.png") if path.stat().st_size > 10_000]) == 4
