"""Frames of the camera: when they come, what is between them, and how many are lost."""

import numpy as np
import pytest

from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.rigs.camera import Camera

PERIOD = 1e-3


def ramp_step(p, s, t, u, y):
    y[0] = 2.0 * t
    return 0


def frames(camera, *, holds=False, whole=False, ticks=20_000, seed=1):
    """Rows of the displacement that there is and the one that is seen."""
    source = Block("source", ramp_step, (), (Channel("true", "m"),))
    block = camera.block(("true",), PERIOD, np.array([0.5]), seed, holds=holds, whole=whole)
    return Loop([source, block], dt=PERIOD).run(ticks, record=["true", "measured.displacement"]).log[:, 1:]


def test_a_frame_comes_every_interval_and_nothing_between():
    found = frames(Camera(interval=0.01), ticks=1000)
    seen = np.flatnonzero(np.isfinite(found[:, 1]))
    np.testing.assert_array_equal(seen, np.arange(9, 1000, 10))
    np.testing.assert_array_equal(found[seen, 0], found[seen, 1])


def test_in_real_time_the_last_frame_stands():
    found = frames(Camera(interval=0.01), holds=True, ticks=1000)
    assert (found[:9, 1] == 0.5).all()
    np.testing.assert_array_equal(found[9:, 1], np.repeat(found[9::10, 0], 10)[:991])


def test_the_share_given_is_lost_and_not_always_the_same():
    share, count = 0.2, 20_000
    lost = [np.isnan(frames(Camera(interval=PERIOD, lost=share), seed=seed)[:, 1]) for seed in (1, 2)]
    for each in lost:
        assert each.mean() == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / count))
    assert (lost[0] != lost[1]).any()
    again = np.isnan(frames(Camera(interval=PERIOD, lost=share), seed=1)[:, 1])
    np.testing.assert_array_equal(lost[0], again)


@pytest.mark.parametrize(("lost", "seen"), [(0.0, 1.0), (1.0, 0.0)])
def test_none_and_all_are_lost_exactly(lost, seen):
    assert np.isfinite(frames(Camera(interval=PERIOD, lost=lost), ticks=2000)[:, 1]).mean() == seen


def test_for_linearising_it_sees_all_the_time():
    found = frames(Camera(interval=0.01, lost=1.0), whole=True, ticks=200)
    np.testing.assert_array_equal(found[:, 0], found[:, 1])


@pytest.mark.parametrize(
    "changed", [{"interval": 0.0}, {"interval": 1.0, "lost": 1.5}, {"interval": 1.0, "lost": -0.1}]
)
def test_refusals(changed):
    with pytest.raises(ValueError):
        Camera(**changed)
