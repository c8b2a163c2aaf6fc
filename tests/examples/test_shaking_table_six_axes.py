"""What the README of wing and store on the six-axis table states."""

import numpy as np
import pytest

import halfreal
from examples.shaking_table_six_axes import make_definition, parts, study
from halfreal.models.structures.base_excited import BaseExcited
from halfreal.records.exchange_formats import Place
from halfreal.records.universal_file import read_uff, write_uff
from halfreal.runs.loop_stability import linearised
from halfreal.runs.reference import assembled
from halfreal.stability.substructures import substructured_loop
from halfreal.studies.tuning.table import delay


def ratio(pole):
    return float(-pole.real / abs(pole))


def test_the_definition_describes_the_parts():
    test = study.definition()
    for key, value in parts.virtual().items():
        if key not in ("kind", "responses"):
            np.testing.assert_allclose(getattr(test.virtual, key), value, rtol=1e-7, atol=1e-9)
    store = parts.store()
    np.testing.assert_array_equal(test.rig.specimen.mass, store.mass)
    np.testing.assert_array_equal(test.rig.specimen.stiffness, store.stiffness)
    np.testing.assert_allclose(test.rig.specimen.damping_matrix(), store.damping, rtol=1e-12)
    text = (study.HERE / "six_axes.toml").read_text()
    assert text.startswith(make_definition.head() + make_definition.virtual())


def test_wing_and_store_have_the_sizes_told():
    hz, _, _ = parts.modes(4)
    np.testing.assert_allclose(hz, [3.48, 7.41, 15.46, 21.78], atol=0.01)
    moved = BaseExcited.of(parts.store(), parts.INTERFACE)
    assert moved.rigid_mass[0, 0] == pytest.approx(23.1)
    np.testing.assert_allclose(moved.fixed_base_hz[:4], [7.4, 8.15, 23.4, 32.2], atol=0.1)


def test_the_loop_of_the_parts_closes_to_the_structure_with_four_modes_of_the_wing():
    """Frequencies within 0.3 % of the whole structure's: what modes left out cost."""
    test = study.definition()
    loop = substructured_loop(test.virtual.system("none"), BaseExcited.of(parts.store(), parts.INTERFACE))
    closed = np.linalg.eigvals(loop.closed())
    for true in study.true_poles()[0]:
        nearest = closed[np.argmin(np.abs(closed - true))]
        assert abs(nearest) == pytest.approx(abs(true), rel=3e-3)
        assert ratio(nearest) == pytest.approx(ratio(true), rel=0.04)
    emulated = np.linalg.eigvals(assembled(test, test.rig.specimen).first_order()[0])
    apart = np.abs(emulated[:, None] - closed).min(axis=1) / np.abs(emulated)
    assert apart[np.abs(emulated) < 2 * np.pi * 100].max() < 1e-6


def test_modes_left_out_alone_make_the_difference_from_the_whole_structure(monkeypatch):
    """With all modes kept the response is that of the assembled structure; with four it is 8 % off at 7.9 Hz."""
    hz = np.array([3.4, 7.9, 19.0])
    true = study.true_response(hz)
    off = np.abs(parts.kept_modes_response(hz, study.DOFS) - true).max(axis=0) / np.abs(true).max(axis=0)
    assert off == pytest.approx([0.0002, 0.078, 0.044], abs=5e-4)
    monkeypatch.setattr(parts, "WING_MODES", len(parts.wing().dofs))
    np.testing.assert_allclose(parts.kept_modes_response(hz, study.DOFS), true, rtol=1e-6, atol=1e-12)


def test_compensation_takes_the_bias_of_the_delay_away():
    """Damping of the seven modes, of the code that runs."""
    true = np.array([ratio(pole) for pole in study.true_poles()[0]])
    found = {
        name: np.array([ratio(pole) for pole in study.loop_poles(coupling)])
        for name, coupling in study.couplings().items()
    }
    np.testing.assert_allclose(100 * found["none"], [2.25, 2.88, 2.25, 3.18, 1.28, 3.85, 5.60], atol=0.01)
    np.testing.assert_allclose(100 * found["inverse"], [2.18, 2.60, 2.24, 2.84, 1.69, 3.39, 6.10], atol=0.01)
    worst = {name: np.abs(ratios / true - 1).max() for name, ratios in found.items()}
    assert worst["none"] > 0.7
    assert worst["inverse"] > 0.5
    assert worst["inverse and prediction"] < 0.006


@pytest.mark.parametrize(("name", "agrees"), [("none", False), ("inverse and prediction", True)])
def test_an_impulse_tells_the_poles_of_the_code_that_ran(name, agrees):
    """Damping within 4 % of itself; shapes are the assembled structure's only where the delay is compensated."""
    coupling = study.couplings()[name]
    hz, responses, decays = study.by_impulse(coupling)
    agreement = []
    for found in (study.modal(hz, responses), study.lsce(decays, study.STEP, 7, highest_hz=study.HIGHEST)):
        assert len(found.poles) == 7
        for row in study.table(coupling, found):
            _, _, own_hz, own_ratio, found_hz, found_ratio, mac = row
            assert found_hz == pytest.approx(own_hz, rel=2e-3)
            assert found_ratio == pytest.approx(own_ratio, rel=0.04)
            agreement.append(mac)
    assert (min(agreement) > 0.99) == agrees


def test_other_programs_are_given_what_was_found(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "PERIODS", 1)
    given = study.contents(study.couplings()["inverse and prediction"])
    write_uff(tmp_path / "found.uff", given)
    found = read_uff(tmp_path / "found.uff")
    assert len(found.nodes) == 18
    assert found.responses.values.shape == (8, 1, given.responses.frequency_hz.size)
    assert Place(13, "ry") in found.modes.places
    np.testing.assert_allclose(found.modes.poles, given.modes.poles, rtol=1e-5)
    np.testing.assert_allclose(np.abs(found.modes.poles), np.abs(study.true_poles()[0]), rtol=3e-3)
    again = study.modal(found.responses.frequency_hz, found.responses.values[:, 0])
    np.testing.assert_allclose(again.poles, given.modes.poles, rtol=1e-3)


def test_stepped_sine_tells_how_far_the_test_is_from_the_assembled_structure():
    """The README's figures: the worst of eight channels, as a part of the largest response at each frequency."""
    hz = np.array([3.4, 7.2, 19.0, 21.3])
    true = study.true_response(hz)
    found, without = (
        np.abs(study.by_stepped_sine(study.couplings()[name], hz) - true).max(axis=0) / np.abs(true).max(axis=0)
        for name in ("inverse and prediction", "none")
    )
    np.testing.assert_allclose(found, [0.006, 0.008, 0.044, 0.017], atol=0.001)
    np.testing.assert_allclose(without, [0.14, 0.33, 0.90, 0.73], atol=0.005)


def test_axes_are_compensated_to_the_delays_that_are_predicted_and_then_follow():
    """Up to 25 Hz, of y, the worst axis, and of a rotation."""
    test = study.definition()
    inverse = test.model_copy(update={"coupling": study.couplings()["inverse"]})
    for axis in (2, 5):
        left = delay(study.response(inverse, axis), study.BAND)
        assert left == pytest.approx(test.coupling.prediction[axis - 1], abs=0.05e-3)
        whole = study.response(test, axis)
        assert abs(delay(whole, study.BAND)) < 0.05e-3
        assert np.abs(whole.between(0.5, study.BAND).response - 1).max() < 0.035


def test_a_further_delay_takes_damping_from_a_mode_of_the_uncompensated_test():
    """Of the torsional one, 1.28 % without: 8 ms more leave less than a quarter of the true 2.29 %."""
    test = study.definition().model_copy(update={"coupling": study.couplings()["none"]})
    late = test.model_copy(update={"rig": test.rig.model_copy(update={"delay": test.rig.delay + 8e-3})})
    slowest = linearised(late).continuous[0]
    assert abs(slowest) / (2 * np.pi) == pytest.approx(15.5, abs=0.1)
    assert ratio(slowest) < 0.25 * ratio(study.true_poles()[0][4])


def test_the_check_says_go_and_every_axis_moves():
    short = study.definition()
    short = short.model_copy(update={"timing": short.timing.model_copy(update={"duration": 1.0})})
    found = halfreal.check(short)
    assert found.verdict == "GO"
    assert found.stability.margin.gain_margin_db == pytest.approx(5.3, abs=0.05)
    assert found.stability.margin.critical_delay == pytest.approx(77e-3, abs=0.5e-3)
    assert np.all(np.abs(found.rehearsal.vector("target")).max(axis=0) > 1e-6)
