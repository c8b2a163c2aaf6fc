"""What is wrong with a coupling by harmonics is told with the value, the limit and the remedy."""

import re

import numpy as np
import pytest

from couplings import lumped
from halfreal.couplings.harmonic.lever import Lever
from halfreal.couplings.harmonic.lms import HarmonicLms
from halfreal.couplings.harmonic.rls import HarmonicRls
from halfreal.couplings.harmonic.transfer import packed, sampled, unpacked
from halfreal.errors import HalfrealError

ONE = np.array([[[2e-3 - 1e-4j]]])
TWO = np.array([[[2e-3, 1e-4], [1e-4j, 1e-3]]])


def block(coupling: HarmonicLms | HarmonicRls, axes: int = 1, dt: float = 1e-3) -> None:
    names = tuple(f"a{i}" for i in range(axes))
    coupling.block(dt, "N", names, names, names)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"harmonics": 3}, "harmonics = 3 counts multiples of base_frequency, which is not given"),
        ({"frequencies": [8.0], "base_frequency": 8.0}, "give either frequencies or base_frequency"),
        ({"frequencies": [8.0], "harmonics": 3}, "harmonics = 3 counts multiples of base_frequency"),
        ({"frequencies": [8.0, 9.0, 8.0]}, "8 Hz is listed twice"),
        ({"frequencies": [8.0], "following": 1.0}, "only a base_frequency can follow"),
        ({"transfer": [{"real": [[1.0]], "imaginary": [[0.0]]}]}, "of harmonics that are not given"),
        ({"frequencies": [8.0], "memory": 1.0, "forgetting": 0.99}, "both memory and forgetting are given; keep one"),
        ({"frequencies": [0.0]}, "greater than 0"),
        ({"frequencies": [8.0], "forgetting": 1.01}, "at most 1"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, told):
    with pytest.raises(ValueError, match=re.escape(told)):
        HarmonicRls(**settings)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"gain": 1.0, "memory": 1.0}, "give either gain (per sample) or memory"),
        ({"gain": 1.0, "identification_gain": 1.0, "identification_memory": 1.0}, "give either identification_gain or"),
    ],
)
def test_gains_of_least_mean_squares_are_given_once(settings, told):
    with pytest.raises(ValueError, match=re.escape(told)):
        HarmonicLms(frequencies=[8.0], **settings)


@pytest.mark.parametrize(
    ("coupling", "told"),
    [
        (HarmonicRls(transfer="model"), "the harmonics are not known here; give the coupling frequencies"),
        (HarmonicLms(frequencies=[8.0]).with_model(ONE), "neither gain nor memory is known here"),
        (HarmonicRls(frequencies=[8.0], identification_time=9.0), "needs the amplitude of its random drive"),
        (
            HarmonicLms(frequencies=[8.0], memory=1.0, identification_time=9.0, amplitude=1.0, random_interval=1.0),
            "neither identification_gain nor identification_memory is known here",
        ),
    ],
)
def test_what_is_left_to_be_chosen_is_asked_for_where_nothing_chooses(coupling, told):
    with pytest.raises(HalfrealError, match=told):
        block(coupling)


def test_frequency_above_half_the_sampling_rate_is_refused():
    coupling = HarmonicRls(base_frequency=200.0, harmonics=3).with_model(np.repeat(ONE, 3, axis=0))
    with pytest.raises(ValueError, match="600 Hz is not below half the sampling rate, 500 Hz; shorten"):
        coupling.check_step(1e-3)
    coupling.check_step(5e-4)
    following = HarmonicRls(base_frequency=450.0, following=1.0)
    with pytest.raises(ValueError, match=re.escape("562.5 Hz, up to which the highest harmonic may follow,")):
        following.check_step(1e-3)


def test_frequencies_that_the_memory_cannot_tell_apart_are_refused():
    """|Δω| T must reach 1: 0.1 Hz apart need 1.59 s."""
    common = {"frequencies": [16.0, 8.0, 8.1]}
    with pytest.raises(ValueError, match=re.escape("8 Hz and 8.1 Hz cannot be separated within a memory of 1 s; ")):
        HarmonicRls(**common, memory=1.0, identification_memory=10.0).check_step(1e-3)
    with pytest.raises(ValueError, match=r"identification_memory of 999.5 ms; lengthen it to more than 1.592 s"):
        HarmonicRls(**common, memory=10.0, identification_forgetting=0.999).check_step(1e-3)
    with pytest.raises(ValueError, match="cannot be separated within a memory of 1 s"):
        HarmonicLms(**common, memory=1.0).check_step(1e-3)
    HarmonicRls(**common, memory=1.6, identification_memory=1.6).check_step(1e-3)


def test_what_does_not_fit_the_interface_is_refused():
    with pytest.raises(ValueError, match=re.escape('give transfer (or "model") or identification_time')):
        block(HarmonicRls(frequencies=[8.0]))
    with pytest.raises(ValueError, match=re.escape("a 1 × 1 transfer function where the interface has 2 axis(es)")):
        block(HarmonicRls(frequencies=[8.0]).with_model(ONE), axes=2)
    with pytest.raises(ValueError, match="at 8 Hz is singular: the actuators cannot move every interface axis"):
        block(HarmonicRls(frequencies=[8.0]).with_model(np.ones((1, 2, 2))), axes=2)
    with pytest.raises(ValueError, match=re.escape("2 transfer function(s) for 1 harmonic(s)")):
        HarmonicRls(frequencies=[8.0]).with_model(np.repeat(ONE, 2, axis=0))
    with pytest.raises(ValueError, match="as many actuators as axes are needed"):
        HarmonicRls(frequencies=[8.0]).with_model(np.ones((1, 1, 2)))


def test_identification_that_cannot_be_excited_is_refused():
    common = {"frequencies": [8.0], "amplitude": 1.0, "random_interval": 2.0}
    with pytest.raises(
        ValueError, match=re.escape("1 random drive(s) within 1.5 s cannot excite 2 axes; identify for at")
    ):
        block(HarmonicRls(**common, identification_time=1.5), axes=2)
    with pytest.raises(ValueError, match="is forgotten before the last"):
        block(HarmonicRls(**common, identification_time=20.0, identification_memory=0.5), axes=2)
    with pytest.raises(ValueError, match="5 ms is too short for 12 unknowns"):
        block(
            HarmonicLms(
                frequencies=[8.0, 108.0, 208.0],
                amplitude=1.0,
                random_interval=1e-3,
                identification_time=20.0,
                identification_memory=5e-3,
                memory=1.0,
            ),
            axes=2,
        )


def test_channels_of_the_phase_are_asked_for_if_it_is_followed():
    with pytest.raises(ValueError, match="give the block the channel of the excitation's phase"):
        block(HarmonicRls(base_frequency=8.0, following=1.0).with_model(ONE))


def test_transfer_functions_survive_packing_and_settings():
    h = lumped.seen_by_two(np.array([8.0, 16.0]))
    np.testing.assert_array_equal(unpacked(packed(h)), h)
    coupling = HarmonicRls(base_frequency=8.0, harmonics=2, memory="0.5 s").with_model(h)
    np.testing.assert_array_equal(unpacked(coupling.start(Lever.of(None, 2, None))), h)
    assert coupling.memories(1e-3)["memory"] == 0.5
    timed = coupling.changed(identification_time=3.0, amplitude=1.0)
    assert timed.adapting() == coupling.changed(amplitude=1.0)
    again = HarmonicRls.model_validate(coupling.model_dump())
    assert again == coupling


def test_model_of_a_rig_that_holds_its_command_is_late_by_half_a_step():
    """H of a mass, 1/s², against the zero-order hold of it, ½Δt² (z + 1)/(z − 1)²; images cost (f Δt)²."""
    dt, hz = 1e-3, np.array([8.0, 50.0, 200.0])
    continuous = (1 / (2j * np.pi * hz) ** 2)[:, None, None]
    z = np.exp(2j * np.pi * hz * dt)
    held = (0.5 * dt**2 * (z + 1) / (z - 1) ** 2)[:, None, None]
    error = np.abs(sampled(continuous, hz, dt) / held - 1).ravel()
    assert np.all(error < 2 * (hz * dt) ** 2)
