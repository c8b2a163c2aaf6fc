"""An excitation that is read from a channel, and one that a channel releases, block by block."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.models.excitations import FromChannel, Pulse, release
from halfreal.models.excitations.released import RELEASES, SINCE

DT = 1e-3
GAIN = FromChannel(channel="c", gain="40 N/V", limit="25 N")
NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=12)


def set_step(p, s, t, u, y):
    return 0


SET = Block("set", set_step, (), (Channel("measured.c", "V"),))


def played(loop, values, names):
    """What the loop makes of a channel that has these values, one a tick."""
    found = []
    for value in values:
        loop.vector[loop.index["measured.c"]] = value
        found.append(loop.run(1, record=names).log[0, 1:])
    return np.array(found)


@given(values=NUMBERS)
def test_it_is_the_gain_times_the_channel_and_its_rate_a_backward_difference(values):
    loop = Loop([SET, GAIN.on_channel("V").block("e")], dt=DT)
    found = played(loop, values, ["e", "e.rate"])
    np.testing.assert_array_equal(found[:, 0], 40.0 * np.array(values))
    assert found[0, 1] == 0.0
    np.testing.assert_allclose(found[1:, 1], np.diff(40.0 * np.array(values)) / DT, rtol=1e-10)


@given(values=NUMBERS)
def test_as_recorded_it_is_the_same_again(values):
    again = Loop([GAIN.as_recorded(np.array(values), DT).block("e")], dt=DT)
    found = again.run(len(values), record=["e"]).log[:, 1]
    np.testing.assert_allclose(found, values, rtol=0, atol=1e-9 * max(map(abs, values)))


@pytest.mark.parametrize("factor", [0.25, 4.0])
def test_scaled_it_is_larger_and_its_limit_lets_it_be_so(factor):
    other = GAIN.scaled(factor).on_channel("V")
    assert other.gain == 40.0 * factor
    assert other.limit in ("25.0 N", "100.0 N") and (factor > 1.0) == (other.limit == "100.0 N")


PRESSED = [0.0, 1.0, 2.5, 5.0, 1.0, 5.0, 5.0, 0.0, 5.0]


@pytest.mark.parametrize(
    ("volts", "at"),
    [
        (PRESSED, 2),  # and not once more, however it bounces
        ([5.0, 5.0, 0.0, 0.0, 5.0, 5.0], 4),  # held down from before
        ([2.4] * 6, None),
        ([np.nan, np.nan, 1.0, 1.0, 5.0, 5.0], 4),
        ([-5.0, 2.5, 2.5, 0.0], 1),
    ],
)
def test_a_channel_releases_once_when_it_rises_to_the_threshold(volts, at):
    pulse = Pulse(force=2.0, duration=0.01)
    loop = Loop([SET, release((), "measured.c", 2.5), pulse.block("e", 0.0, SINCE)], dt=DT)
    found = played(loop, volts, [RELEASES, SINCE, "e"])
    ticks = np.arange(len(volts))
    due = np.zeros(len(volts)) if at is None else (ticks >= at) * 1.0
    np.testing.assert_array_equal(found[:, 0], due)
    if at is None:
        assert np.all(found[:, 1] == -1.0) and not found[:, 2].any()
    else:
        np.testing.assert_allclose(found[at:, 1], DT * (ticks[at:] - at), atol=1e-12)
        assert not found[: at + 1, 2].any() and found[at + 1 :, 2].all()


def test_times_of_a_rehearsal_and_the_channel_release_together():
    loop = Loop([SET, release([4 * DT], "measured.c", 2.5)], dt=DT)
    found = played(loop, [0.0, 0.0, 5.0, 5.0, 5.0, 5.0], [RELEASES, SINCE])
    np.testing.assert_array_equal(found[:, 0], [0, 0, 1, 1, 2, 2])
