"""Bands of the ideal compensator over an uncertain shaker, against corners and the model itself."""

import itertools

import numpy as np
import pytest

from halfreal.contracts.device import Device
from halfreal.errors import HalfrealError
from halfreal.models.shaker import Drive, Shaker, responses
from halfreal.studies.uncertainty.compensator_uncertainty import SHAKER_RANGES, compensator_bands
from rigs.wing import DRIVE, SHAKER

HZ = np.linspace(0.5, 15.0, 30)
DEVICE = Device(np.ones(1), np.array([800.0, 8000.0]))


def ideal(shaker):
    command, force = responses(shaker, Drive(**DRIVE), 2 * np.pi * HZ)
    return (1.0 - force / DEVICE.response(2 * np.pi * HZ)) / command


def test_bands_reach_towards_the_corners_of_the_ranges_and_no_further():
    bands = compensator_bands(Shaker(**SHAKER), Drive(**DRIVE), DEVICE, HZ)
    corners = np.array(
        [
            ideal(
                Shaker(
                    **{
                        name: SHAKER[name] * (1 + sign * SHAKER_RANGES[name])
                        for name, sign in zip(SHAKER_RANGES, signs, strict=True)
                    }
                )
            )
            for signs in itertools.product((-1, 1), repeat=len(SHAKER_RANGES))
        ]
    )
    low, nominal, high = bands.ideal.gain
    np.testing.assert_allclose(nominal, np.abs(ideal(Shaker(**SHAKER))), rtol=1e-12)
    # gains are monotonous in each number here, so that the corners are the extremes
    extremes = np.abs(corners).min(axis=0), np.abs(corners).max(axis=0)
    assert np.all(low >= extremes[0] * (1 - 1e-9)) and np.all(high <= extremes[1] * (1 + 1e-9))
    assert np.all(high - low > 0.7 * (extremes[1] - extremes[0]))


def test_a_known_shaker_leaves_no_error():
    bands = compensator_bands(Shaker(**SHAKER), Drive(**DRIVE), DEVICE, HZ, ranges={"mass": 1e-12}, samples=8)
    np.testing.assert_allclose(bands.ratio.gain, 1.0, rtol=1e-8)
    assert bands.out_of_phase_from == np.inf
    np.testing.assert_allclose(np.abs(bands.uncompensated[-1]), 10.7, rtol=5e-3)


def test_an_uncertain_rig_widens_the_band():
    narrow, wide = (
        compensator_bands(Shaker(**SHAKER), Drive(**DRIVE), DEVICE, HZ, rig=rig, samples=2000)
        for rig in ("nominal", "uncertain")
    )
    assert wide.worst_gain > narrow.worst_gain > 1.3


def test_a_number_that_a_shaker_does_not_have_is_refused():
    with pytest.raises(HalfrealError, match="weight is not a parameter of a shaker"):
        compensator_bands(Shaker(**SHAKER), Drive(**DRIVE), DEVICE, HZ, ranges={"weight": 0.1})
