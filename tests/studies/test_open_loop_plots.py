"""Bode and Nyquist of a definition: closed forms, measured parts in place of the model's, and what is refused."""

import numpy as np
import pytest

import halfreal
from examples.wallace2005 import GALLERY, KS, C, K, M, definition
from halfreal.errors import HalfrealError
from halfreal.runs.loop_stability import margin_of, open_loop_of
from halfreal.stability import FRF, element_margins
from halfreal.studies.open_loop.mixed import in_units, mixed_loop, parts_of

HZ = np.linspace(0.2, 60.0, 400)
TWO = {
    "virtual": {
        "mass": [[2.2, 0], [0, 3.0]],
        "damping": [[15.0, -3], [-3, 12]],
        "stiffness": [[4500.0, -1200], [-1200, 3600]],
        "interface": [1, 2],
        "force_dof": 1,
    },
    "rig": {"actuator": {"kind": "delay", "delay": 3e-3}, "specimen": {"stiffness": [[2250.0, 900], [900, 1500]]}},
    "excitation": {},
}
PREDICTION = {"kind": "forward prediction", "prediction": 9.4e-3}


def closed_form(hz: np.ndarray, delay: float, stiffness: float = KS) -> np.ndarray:
    s = 2j * np.pi * hz
    return stiffness / (M * s**2 + C * s + K) * np.exp(-s * delay)


def test_of_a_definition_it_is_the_closed_form_with_the_margins_of_the_check():
    test = definition(delay=5e-3)
    found = halfreal.bode(test)
    slow = found.model.frequency_hz < 20.0
    expected = closed_form(found.model.frequency_hz[slow], 5e-3)
    np.testing.assert_allclose(found.model.values[slow, 0], expected, rtol=0.01)
    margin = margin_of(test)
    at = found.model.nearest_delay
    assert found.model.delay_s[at] == pytest.approx(margin.critical_delay, rel=1e-12)
    assert found.summary() == margin.summary()
    sizes = found.plot().axes
    assert [axes.get_ylabel() for axes in sizes] == ["magnitude |L| [dB]", "phase [°]"]
    assert halfreal.nyquist(test).plot().axes[0].get_xlabel() == "real part"


@pytest.mark.parametrize("test", [definition(), definition(coupling=PREDICTION), definition(**TWO)])
def test_the_two_sides_of_the_loop_make_it_up(test):
    parts, omega = parts_of(test), 2 * np.pi * HZ
    late = np.exp(-1j * omega * test.timing.step)[:, None, None]
    loop = -(parts.from_force.response(omega) @ (late * parts.to_force.response(omega)))
    whole = open_loop_of(test).response(omega)
    np.testing.assert_allclose(loop, whole, atol=1e-9 * np.abs(whole).max())
    assert not parts.reads_displacement


@pytest.mark.parametrize("test", [definition(coupling=PREDICTION), definition(**TWO)])
def test_measured_parts_that_are_the_models_give_back_its_loop(test):
    parts, omega = parts_of(test), 2 * np.pi * HZ
    late = np.exp(-1j * omega * test.timing.step)[:, None, None]
    felt, moved = late * parts.to_force.response(omega), late * parts.to_displacement.response(omega)
    stiffness = felt @ np.linalg.inv(moved)
    whole = open_loop_of(test).response(omega)
    for part, values, unit in (
        ("rig", 1e-6 * felt, "kN/mm"),
        ("specimen", stiffness, "N/m"),
        ("specimen", 1e3 * np.linalg.inv(stiffness), "mm/N"),
        ("specimen", (2j * np.pi * HZ[:, None, None]) ** 2 * np.linalg.inv(stiffness), "m/s^2/N"),
        ("actuator", moved, ""),
        ("loop", whole, ""),
    ):
        found, _ = mixed_loop(test, FRF(HZ, values, unit), part)
        np.testing.assert_allclose(found.response, whole, atol=1e-8 * np.abs(whole).max(), err_msg=part)


def test_a_stiffer_specimen_as_measured_has_the_margin_of_its_model():
    test, stiffer = (
        definition(delay=2e-3),
        definition(delay=2e-3, rig={"actuator": {"kind": "delay", "delay": 2e-3}, "specimen": {"stiffness": 1.5 * KS}}),
    )
    found = halfreal.nyquist(test, FRF(HZ, np.full(HZ.size, 1.5 * KS), "N/m"), "specimen")
    exact = margin_of(stiffer)
    at = found.measured.nearest_delay
    assert found.measured.delay_s[at] == pytest.approx(exact.critical_delay, rel=0.01)
    assert "stable: det(I + L) encircles" in found.measured.text
    too_late = halfreal.nyquist(definition(), FRF(HZ, np.full(HZ.size, KS), "N/m"), "specimen")
    assert "2 unstable closed-loop poles" in too_late.measured.text
    assert too_late.measured.lag_deg.min() < 0.0
    assert "model" in {text.get_text() for text in found.plot().axes[0].get_legend().get_texts()}


def test_of_several_axes_the_exact_margin_is_told_with_that_of_the_elements():
    test = definition(**TWO)
    found = halfreal.nyquist(test)
    assert found.names == ("1", "2") and found.model.channels == 2
    assert "element by element" in found.summary() and margin_of(test).summary() in found.summary()
    elements = element_margins(open_loop_of(test))
    assert found.element_text == elements.summary()
    static = np.array([[2250.0, 900], [900, 1500]]) @ np.linalg.inv(np.array([[4500.0, -1200], [-1200, 3600]]))
    expected = np.sort(np.linalg.eigvals(static).real)
    np.testing.assert_allclose(np.sort(found.model.values[0].real), expected, rtol=0.01)
    assert len(found.plot().axes) == 2 + 4 and len(halfreal.bode(test).plot().axes) == 4


def test_a_measured_loop_needs_no_definition():
    loop = FRF(HZ, closed_form(HZ, 3e-3))
    found = halfreal.bode(None, loop)
    assert found.model is None and found.measured.text.startswith("stable")
    assert found.plot().axes
    with pytest.raises(HalfrealError, match="give a definition, a measured response"):
        halfreal.bode(None)


SPRING = np.full(HZ.size, KS)
TWICE = np.array([[KS, 0.0], [0.0, KS]]) * np.ones((HZ.size, 1, 1))


@pytest.mark.parametrize(
    ("measured", "part", "told"),
    [
        (FRF(HZ, SPRING), "specimen", "has no unit where N/m is expected"),
        (FRF(HZ, SPRING, "N"), "specimen", "is in N where N/m"),
        (FRF(HZ, SPRING, "m/N"), "rig", "is in m/N where N/m"),
        (FRF(HZ, SPRING, "N/m"), "loop", "is in N/m where a plain number"),
        (FRF(HZ + 500.0, SPRING, "N/m"), "rig", "half the sampling rate"),
        (FRF(HZ, TWICE, "N/m"), "rig", "2 × 2 .* but this test has 1 × 1"),
        (FRF(HZ, SPRING, "N/m"), "sensor", "not a part of the loop"),
    ],
)
def test_what_does_not_fit_is_told(measured, part, told):
    with pytest.raises(HalfrealError, match=told):
        mixed_loop(definition(), measured, part)


def test_motions_for_forces_must_have_an_inverse():
    with pytest.raises(HalfrealError, match="have no inverse"):
        in_units(FRF(HZ, np.ones((HZ.size, 2, 1)), "m/N"), "specimen")
    with pytest.raises(HalfrealError, match="singular"):
        in_units(FRF(HZ, np.ones((HZ.size, 2, 2)), "m/N"), "specimen")


def test_lines_too_far_apart_are_drawn_without_margins():
    coarse = FRF(HZ[::60], closed_form(HZ[::60], 3e-3))
    found = halfreal.nyquist(None, coarse)
    assert "not known" in found.measured.text and not found.measured.crossing_hz.size
    assert found.plot().axes


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("pseudo_dynamic_frame/explicit_newmark.toml", "slow test"),
        ("two_actuator_beam/sine.toml", "commands force"),
    ],
)
def test_tests_without_margins_or_in_force_say_so(path, told):
    test = halfreal.load(GALLERY.parent / path)
    with pytest.raises(HalfrealError, match=told):
        if test.slow is None:
            parts_of(test)
        halfreal.bode(test)
