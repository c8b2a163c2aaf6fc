import math

import numpy as np
import pytest
import scipy.signal

from halfreal.contracts.axes import Axes
from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.rigs.sensor_filter import SensorFilter, filter_block
from halfreal.rigs.sensors import Sensors, ranges_used


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


def test_bias_and_drift_are_added_before_the_range_and_left_out_of_ideal_sensors():
    sensors = Sensors(displacement={"bias": 1e-3}, force={"drift": 2.0, "bias": -3.0, "range": 100.0})
    log = measured(sensors)
    np.testing.assert_allclose(log[:, 3], log[:, 1] + 1e-3, rtol=0, atol=1e-15)
    seconds = 1e-3 * np.arange(len(log))
    np.testing.assert_allclose(log[1:, 4], np.clip(log[:, 2] - 3.0 + 2.0 * seconds, -100, 100)[1:], atol=3e-3)
    np.testing.assert_array_equal(measured(sensors, ideal=True)[:, 3:], log[:, 1:3])


def test_the_share_of_a_range_is_that_of_what_is_in_front_of_it():
    source = Block("source", motion_step, (), (Channel("rig.displacement", "m"), Channel("rig.force", "N")))
    sensors = Sensors(force={"range": 80.0}).block(Axes.numbered(1), 1, np.zeros(2), ideal=False, dt=1e-3)
    loop = Loop([source, sensors], dt=1e-3)
    loop.run(1000)
    assert ranges_used(loop) == {"measured.force": pytest.approx(100.0 / 80.0, rel=1e-4)}


def tone_step(p, s, t, u, y):
    y[0] = math.cos(p.omega * t)
    return 0


@pytest.mark.parametrize(("order", "cutoff", "hz"), [(1, 50.0, 20.0), (2, 80.0, 80.0), (4, 40.0, 70.0)])
def test_a_filter_has_the_response_of_an_analogue_butterworth_filter(order, cutoff, hz):
    """Against scipy.signal: the response as it is stated, and that of the block on a step of 0.1 ms."""
    low_pass, omega, h = SensorFilter(cutoff=cutoff, order=order), 2.0 * np.pi * hz, 1e-4
    b, a = scipy.signal.butter(order, 2.0 * np.pi * cutoff, analog=True)
    _, (due,) = scipy.signal.freqs(b, a, [omega])
    assert low_pass.response(np.array([hz]))[0] == pytest.approx(due, rel=1e-12)
    _, (low,) = scipy.signal.freqs(b, a, [1e-3 * omega])
    assert low_pass.delay == pytest.approx(-np.angle(low) / (1e-3 * omega), rel=1e-4)
    tone = Block("tone", tone_step, (), (Channel("rig.force", "N"),), parameters={"omega": omega})
    block = filter_block([low_pass], ["rig.force"], [Channel("filtered.force", "N")], np.zeros(1), h)
    log = Loop([tone, block], dt=h).run(20_000, record=["rig.force", "filtered.force"]).log[10_000:]
    turn = np.exp(-1j * omega * log[:, 0])
    assert (log[:, 2] @ turn) / (log[:, 1] @ turn) == pytest.approx(due, rel=2e-3)


def test_a_filter_begins_at_rest():
    low_pass, outputs = SensorFilter(cutoff=30.0), [Channel("filtered.force", "N")]
    block = filter_block([low_pass], ["rig.force"], outputs, np.full(1, 5.0), 1e-3)
    held = Block("held", held_step, (), (Channel("rig.force", "N"),))
    log = Loop([held, block], dt=1e-3).run(50, record=["filtered.force"]).log
    np.testing.assert_allclose(log[:, 1], 5.0, rtol=1e-12)


def held_step(p, s, t, u, y):
    y[0] = 5.0
    return 0
