"""The published numbers of the lumped example (Tab. 1, Figs. 5 to 9), recomputed, to the digits given."""

from dataclasses import replace

import numpy as np
import pytest

from couplings import lumped
from halfreal.contracts.state_space import StateSpace
from halfreal.couplings.harmonic.lms import HarmonicLms
from halfreal.couplings.harmonic.lti import (
    gap_response,
    largest_stable_gain,
    loop_response,
    resonator,
    stability_map,
    tolerated_phase,
)
from halfreal.errors import HalfrealError
from halfreal.kernels.loop import Loop
from halfreal.models.structures.structure import Structure
from halfreal.stability.open_loop import PROBE, probe
from halfreal.stability.regulated_plant import (
    Part,
    bilinear,
    closed_loop,
    growth,
    hybrid_plant,
    integrator,
    lqg,
    regulated,
    regulator,
)

pytestmark = pytest.mark.xdist_group("harmonic")  # one process compiles for all

DT = 1e-3
TEN = 5.0 * np.arange(1, 11)
MASSES = 1e-3 * np.arange(1, 31)
"""m_EXP* of Figs. 7 and 8 [kg]."""


def plant(mass: float = 0.01) -> StateSpace:
    mv, dv, kv = lumped.VIRTUAL
    virtual = Structure(mass=mv, damping=dv, stiffness=kv, force_dof=1).system("force")
    return hybrid_plant(virtual, Part(mass, *lumped.SPECIMEN[1:]), Part(*lumped.ACTUATOR))


PLANT = plant()
SAMPLED = bilinear(PLANT, DT)


def rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits - 1}e}")


def unstable(controller: StateSpace) -> list[int]:
    """Masses of the specimen in grams with which the loop is unstable."""
    found = [growth(closed_loop(plant(mass), controller).a, None) >= 0 for mass in MASSES]
    return [round(1e3 * mass) for mass, grows in zip(MASSES, found, strict=True) if grows]


# --- the plant --------------------------------------------------------------------------------------------------------


def test_plant_has_the_transfer_functions_of_its_impedances():
    hz = np.array([3.0, 8.0, 15.9, 16.0, 21.0, 60.0])
    h_gu, h_gext = lumped.transfer(2j * np.pi * hz)
    response = PLANT.response(2 * np.pi * hz)
    np.testing.assert_allclose(response[:, 0, 1], h_gu, rtol=1e-10)
    np.testing.assert_allclose(response[:, 0, 0], h_gext, rtol=1e-10)
    np.testing.assert_allclose(
        gap_response(PLANT, [8.0, 16.0, 21.0]).ravel(),
        [2.79142e-3 - 1.80460e-4j, -0.238167 + 0.669279j, 1.32607e-4 + 4.56353e-5j],
        rtol=5e-6,
    )


def test_plant_of_two_axes_has_the_transfer_functions_of_its_impedances():
    mass, damping, stiffness = lumped.TWO[0]
    virtual = Structure(mass=mass, damping=damping, stiffness=stiffness, interface=(1, 2), force_dof=1).system("force")
    two = bilinear(hybrid_plant(virtual, Part(*lumped.TWO[1]), Part(*lumped.TWO[2])), DT)
    hz = np.array([8.0, 16.0])
    late = np.exp(-2j * np.pi * hz * DT)[:, None, None]
    np.testing.assert_allclose(gap_response(two, hz, 2) * late, lumped.seen_by_two(hz), rtol=1e-9)


def probed_loop() -> Loop:
    """The lumped example with its rig on a probe, past its first ticks."""
    whole = lumped.loop(
        HarmonicLms(frequencies=[8.0], gain=10.0).with_model(np.ones((1, 1, 1))), lumped.excitation(8.0, 1e9)
    )
    controller, last = whole.blocks[:-1], whole.blocks[-1]
    loop = Loop([probe(1, "N"), *controller], outer=[replace(last, inputs=(PROBE,))], dt=DT)
    loop.run(3)
    return loop


def test_response_of_the_running_loop_is_that_of_the_impedances():
    hz = np.array([8.0, 16.0, 50.0, 300.0])
    found = loop_response(probed_loop(), hz, ["target"], ["measured.displacement"])
    np.testing.assert_allclose(found, lumped.seen(hz), rtol=1e-8)


def test_bilinear_map_warps_the_frequency_and_nothing_else():
    hz = np.array([8.0, 100.0, 400.0])
    warped = lumped.bilinear(hz, DT).imag
    np.testing.assert_allclose(SAMPLED.response(2 * np.pi * hz), PLANT.response(warped), rtol=1e-9)


# --- the controller ---------------------------------------------------------------------------------------------------


def test_resonator_is_the_published_transfer_function():
    h, hz, gain = 2e-3 - 7e-4j, 8.0, 3.0
    omega, w0 = 2 * np.pi * np.array([1.0, 7.0, 30.0]), 2 * np.pi * hz
    s, z = 1j * omega, np.exp(1j * omega * DT)
    continuous = -gain * (h.real * s + h.imag * w0) / (s**2 + w0**2)
    turned = (np.conj(h) * np.exp(1j * w0 * DT)).real
    discrete = -gain * (turned * z - h.real) / (z**2 - 2 * z * np.cos(w0 * DT) + 1)
    np.testing.assert_allclose(resonator(h, hz, gain).response(omega)[:, 0, 0], continuous, rtol=1e-12)
    np.testing.assert_allclose(resonator(h, hz, gain, DT).response(omega)[:, 0, 0], discrete, rtol=1e-11)


def test_closed_loop_is_the_open_one_over_one_minus_its_loop_gain():
    omega = 2 * np.pi * np.array([2.0, 9.0, 33.0])
    for model in (PLANT, SAMPLED):
        controller = resonator(gap_response(model, TEN[:3]), TEN[:3], 1.0, model.dt)
        response, c = model.response(omega), controller.response(omega)[:, 0, 0]
        expected = response[:, 0, 0] / (1 - response[:, 0, 1] * c)
        np.testing.assert_allclose(closed_loop(model, controller).response(omega)[:, 0, 0], expected, rtol=1e-9)


# --- Fig. 5 -----------------------------------------------------------------------------------------------------------


def test_fig_5_the_coupled_structure_at_the_harmonics_and_the_virtual_one_elsewhere():
    closed = closed_loop(PLANT, resonator(gap_response(PLANT, TEN), TEN, 1.0))
    virtual, specimen = (lumped.impedance(part, 2j * np.pi * TEN) for part in (lumped.VIRTUAL, lumped.SPECIMEN))
    target = closed.response(2 * np.pi * TEN)[:, 1, 0]
    np.testing.assert_allclose(target, 1 / (virtual + specimen), rtol=2e-7)
    hz = np.linspace(1.0, 60.0, 5901)
    away = hz[np.abs(hz[:, None] - TEN).min(axis=1) > 0.5]
    ratio = closed.response(2 * np.pi * away)[:, 1, 0] * lumped.impedance(lumped.VIRTUAL, 2j * np.pi * away)
    assert 0.008 < np.abs(ratio - 1).max() < 0.009


def test_fig_5_largest_gain_and_slowest_pole():
    h = gap_response(PLANT, TEN)
    assert rounded(largest_stable_gain(PLANT, h, TEN), 4) == 158.6
    # the slowest pole is that of the harmonic with the smallest |H|, at a rate of μ_c |H|²/2
    slowest = -growth(closed_loop(PLANT, resonator(h, TEN, 1.0)).a, None)
    assert slowest == pytest.approx(0.5 * np.abs(h).min() ** 2, rel=1e-2)
    normalised = closed_loop(PLANT, resonator(h, TEN, 0.032 / np.abs(h.ravel()) ** 2))
    assert -growth(normalised.a, None) == pytest.approx(0.016, rel=0.01)


# --- Fig. 6 -----------------------------------------------------------------------------------------------------------


def test_fig_6_an_integrator_couples_below_1_hz_only():
    """Half of the largest stable gain; without coupling the error is 1, as both springs are alike."""
    gains = np.geomspace(1.0, 1e4, 400)
    stable = [gain for gain in gains if growth(closed_loop(PLANT, integrator(gain)).a, None) < 0]
    closed = closed_loop(PLANT, integrator(0.5 * max(stable)))
    hz = np.array([1e-3, 1.0])
    virtual, specimen = (lumped.impedance(part, 2j * np.pi * hz) for part in (lumped.VIRTUAL, lumped.SPECIMEN))
    error = np.abs(closed.response(2 * np.pi * hz)[:, 1, 0] * (virtual + specimen) - 1)
    assert error[0] < 0.05
    assert error[1] > 0.95


# --- Figs. 7 and 8 ----------------------------------------------------------------------------------------------------


def test_fig_7_state_feedback_is_stable_for_all_masses_and_output_feedback_is_not():
    gains = regulator(PLANT, 1e-10)
    assert all(growth(regulated(plant(mass), gains), None) < 0 for mass in MASSES)
    assert unstable(lqg(PLANT, 1e-10, 1e-10)) == list(range(11, 23))


@pytest.mark.parametrize(
    ("hz", "expected"),
    [(8.0, []), (16.0, list(range(1, 10))), (21.0, list(range(16, 31))), (TEN, list(range(27, 31)))],
)
def test_fig_8_masses_for_which_the_adaptive_filter_is_unstable(hz, expected):
    """The filter is identified at 10 g; μ_c = 1 s⁻¹."""
    assert unstable(resonator(gap_response(PLANT, hz), hz, 1.0)) == expected


# --- Fig. 9 -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hz", "continuous", "digits", "sampled", "sampled_digits"),
    [(8.0, 6.121e4, 4, 66.14, 4), (16.0, 1.0491, 5, 1.296e-3, 4), (21.0, 6.162e5, 4, 696.0, 3)],
)
def test_fig_9_largest_stable_gain(hz, continuous, digits, sampled, sampled_digits):
    assert rounded(largest_stable_gain(PLANT, gap_response(PLANT, hz), hz), digits) == continuous
    found = largest_stable_gain(SAMPLED, gap_response(SAMPLED, hz), hz)
    assert rounded(found, sampled_digits) == sampled


@pytest.mark.parametrize("hz", [8.0, 16.0, 21.0])
def test_fig_9_phase_errors_up_to_90_degrees_are_tolerated_at_small_gains(hz):
    h = gap_response(PLANT, hz)
    found = tolerated_phase(PLANT, h, hz, 1e-4 * largest_stable_gain(PLANT, h, hz))
    np.testing.assert_allclose(found, (-90.0, 90.0), atol=0.01)


def test_fig_9_phase_errors_at_16_hz():
    """At μ_c = 1 the stable range shrinks: [−4.0°, +81.5°] on a grid of half degrees."""
    low, high = tolerated_phase(PLANT, gap_response(PLANT, 16.0), 16.0, 1.0)
    assert np.ceil(2 * low) / 2 == -4.0
    assert np.floor(2 * high) / 2 == 81.5


def test_fig_9_map_over_the_estimate_has_the_limits_on_its_rays():
    """On the ray of the true H the map changes sign at the largest gain; at right angles to it small ones do."""
    h = complex(gap_response(PLANT, 8.0)[0, 0, 0])
    largest = largest_stable_gain(PLANT, np.array([[[h]]]), 8.0)
    for factor, stable in ((0.99, True), (1.01, False)):
        rate = stability_map(PLANT, 8.0, largest, np.array([factor * h.real]), np.array([factor * h.imag]))
        assert (rate[0, 0] < 0) == stable
    real = imaginary = np.linspace(-3e-3, 3e-3, 31)
    rates = stability_map(PLANT, 8.0, 1.0, real, imaginary)
    estimate = real[None, :] + 1j * imaginary[:, None]
    error = np.abs(np.angle(estimate * np.conj(h)))
    clear = (np.abs(estimate) > 1e-4) & (np.abs(np.degrees(error) - 90) > 2)
    np.testing.assert_array_equal((rates < 0)[clear], (np.degrees(error) < 90)[clear])


def test_wrong_signs_and_unstable_plants_are_told():
    h = gap_response(PLANT, 8.0)
    assert largest_stable_gain(PLANT, -h, 8.0) == 0.0
    with pytest.raises(HalfrealError, match="even without a phase error"):
        tolerated_phase(PLANT, h, 8.0, 1e6)
    shaky = StateSpace(PLANT.a + np.eye(4), PLANT.b, PLANT.c, PLANT.d)
    with pytest.raises(HalfrealError, match="only a stable plant can be driven feed-forward"):
        largest_stable_gain(shaky, h, 8.0)
    with pytest.raises(HalfrealError, match="give one square matrix for each harmonic"):
        resonator(h, [8.0, 16.0], 1.0)
    with pytest.raises(HalfrealError, match="bring both to one step"):
        closed_loop(SAMPLED, resonator(h, 8.0, 1.0))
