"""What the README of the rod on the shaking table states, after sections 4 and 5 of the DLR's paper on MAVIS."""

import numpy as np
import pytest

from examples.shaking_table_rod import figures, limits, oscillator, study
from halfreal.runs import linearised
from halfreal.runs.loop_stability import margin_of
from halfreal.stability.elementwise import element_margins
from halfreal.stability.margins import delay_margin


def test_table_1():
    frequency, mass = study.rod_modes(4)
    np.testing.assert_allclose(frequency, [4.03, 12.19, 20.65, 29.61], atol=5e-3)
    np.testing.assert_allclose(mass, [53.78, 52.04, 48.73, 44.17], atol=5e-3)
    virtual = study.definition().virtual
    np.testing.assert_allclose(virtual.frequency, frequency[:2], rtol=1e-5)
    np.testing.assert_allclose(virtual.mass, mass[:2], rtol=1e-5)


def test_figure_7_the_definition_holds_what_the_printed_frequencies_give():
    hz, ratio = oscillator.from_print()
    virtual = oscillator.definition().virtual
    assert virtual.frequency[0] == pytest.approx(hz, rel=1e-5)
    assert study.MASS / virtual.mass[0] == pytest.approx(ratio, rel=1e-4)


def test_figure_7_comes_out_at_ten_times_the_printed_delays():
    found = oscillator.late()
    assert found.without_hz == pytest.approx(4.5, abs=1e-3)
    assert found.limit_hz == pytest.approx(5.5, abs=5e-3)
    assert found.largest_at == pytest.approx(62e-3)
    assert found.limit == pytest.approx(93.6e-3, abs=0.05e-3)
    # closed form: |L| = 1 and its phase at the upper crossover
    w0, zeta, ratio = 2 * np.pi * 4.92543, 0.01, 12.5 / 63.125
    squares = np.roots([1 - ratio**2, (4 * zeta**2 - 2) * w0**2, w0**4]).real
    omega = np.sqrt(squares.max())
    phase = np.arctan2(2 * zeta * w0 * omega, omega**2 - w0**2)
    assert found.limit == pytest.approx((np.pi + phase) / omega, rel=1e-9)


@pytest.mark.parametrize(("delay", "stable"), [(93e-3, True), (94e-3, False)])
def test_figure_7_the_code_that_runs_has_the_same_limit(delay, stable):
    assert linearised(oscillator.definition({"rig.actuator.delay": delay})).stable == stable


@pytest.mark.parametrize("damping", [1e-4, 1e-3, 0.01, 0.05])
def test_a_mass_on_an_oscillator_bears_half_a_turn_whatever_its_damping(damping):
    margin = delay_margin(oscillator.loop(damping))
    assert margin.phase_margin_deg > 180.0
    assert margin.critical_delay > 0.5 / margin.critical_frequency_hz


def test_figure_6_twice_the_damping_adds_phase_and_leaves_crossovers():
    nominal, doubled = (delay_margin(oscillator.loop(damping)) for damping in (0.01, 0.02))
    np.testing.assert_allclose(doubled.frequency_hz, nominal.frequency_hz, rtol=2e-3)
    assert doubled.phases_deg[1] == pytest.approx(nominal.phases_deg[1] + 5.25, abs=0.02)


@pytest.mark.parametrize("degrees", [0.0, 30.0, 45.0])
def test_element_by_element_the_margin_depends_on_the_axes_and_the_exact_one_does_not(degrees):
    loop = study.open_loop(study.definition())
    read = element_margins(oscillator.turned(loop, degrees))
    assert read.exact == pytest.approx(delay_margin(loop).critical_delay, rel=1e-6)
    assert (read.least > 1.02 * read.exact) == (degrees != 0.0)


def test_a_held_force_costs_a_quarter_of_a_step_and_not_half():
    """By margins of the sampled loop, which tend to the closed form, and by the eigenvalues of the shift register."""
    expected = limits.share_of_a_short_step()
    assert expected == pytest.approx(0.274, abs=5e-4)
    shares = np.array([limits.share_of_a_step(step) for step in (1e-3, 0.5e-3)])
    assert 2 * shares[1] - shares[0] == pytest.approx(expected, abs=2e-4)  # to a step of zero
    assert limits.shortest_unstable(2, 1e-3, 33e-3) == pytest.approx(34e-3)


def test_four_modes_bear_no_pure_delay():
    """By the roots of the delay equation, by the shift register, and by the code that runs as its step gets short."""
    assert limits.fast_root(4, 1e-5).real == pytest.approx(np.log(1.01213) / 1e-5, rel=1e-3)
    assert limits.fast_root(3, 1e-5).real < 0
    assert all(limits.shortest_unstable(4, step) == step for step in (1e-3, 0.1e-3))
    borne = [limits.borne_by_the_code(4, step) for step in (1e-3, 0.5e-3, 0.1e-3)]
    np.testing.assert_allclose(borne, [5.303e-3, 3.563e-3, 1.088e-3], rtol=1e-3)


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
    assert len([path for path in tmp_path.glob("*.png") if path.stat().st_size > 10_000]) == 6
