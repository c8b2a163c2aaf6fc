import math

import numpy as np
import pytest

from halfreal.contracts.axes import Axes
from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.rigs.sensors import Sensors


def motion_step(p, s, t, u, y):
    y[0] = 0.01 * math.sin(7.0 * t)
    y[1] = 100.0 * math.sin(7.0 * t)
    return 0


def measured(sensors: Sensors, *, ideal: bool = False, seed: int = 1, ticks: int = 5000) -> np.ndarray:
    """Rows of time, true displacement and force, measured displacement and force."""
    source = Block("source", motion_step, (), (Channel("rig.displacement", "m"), Channel("rig.force", "N")))
    loop = Loop([source, sensors.block(Axes.numbered(1), seed, np.zeros(2), ideal=ideal, dt=1e-3)], dt=1e-3)
    names = ["rig.displacement", "rig.force", "measured.displacement", "measured.force"]
    return loop.run(ticks, record=names).log


def test_noise_has_the_given_rms_and_differs_between_sensors():
    log = measured(Sensors(displacement={"noise": 1e-5}, force={"noise": 0.2}))
    errors = log[:, 3:] - log[:, 1:3]
    np.testing.assert_allclose(errors.std(axis=0), [1e-5, 0.2], rtol=0.05)
    assert abs(np.corrcoef(errors.T)[0, 1]) < 0.06


def test_resolution_rounds_to_whole_steps():
    log = measured(Sensors(force={"resolution": 0.5}))
    steps = log[:, 4] / 0.5
    np.testing.assert_allclose(steps, np.rint(steps), atol=1e-12)
    assert np.abs(log[:, 4] - log[:, 2]).max() == pytest.approx(0.25, rel=0.02)


def test_range_cuts_what_is_beyond():
    log = measured(Sensors(force={"range": 60.0}))
    np.testing.assert_array_equal(log[:, 4], np.clip(log[:, 2], -60, 60))


def test_ideal_sensors_tell_the_truth():
    log = measured(Sensors(displacement={"noise": 1e-3}, force={"noise": 1.0, "range": 1.0}), ideal=True)
    np.testing.assert_array_equal(log[:, 3:], log[:, 1:3])
