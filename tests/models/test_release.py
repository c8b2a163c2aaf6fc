"""Excitations that wait for their release: silent before, and then as they are from time 0 on."""

import numpy as np
import pytest

from halfreal.definition.sections import Excitations
from halfreal.kernels.control import RELEASES, WORDS
from halfreal.kernels.loop import Loop
from halfreal.models.excitations import (
    Chirp,
    Gust,
    MultiSine,
    Pulse,
    Random,
    Record,
    Sine,
    Square,
    Step,
    SteppedSine,
    release,
)
from halfreal.models.excitations.released import SINCE

DT = 1e-3
AT = 200
"""Tick of the release."""
EVERY = [
    Sine(force=2.0, frequency=1.5, phase=0.3, ramp=0.1),
    MultiSine(force=1.0, frequencies=[1.0, 2.5], phases="schroeder"),
    Square(force=2.0, frequency=5.0),
    Chirp(force=3.0, frequency=0.5, to=8.0, duration=0.2),
    SteppedSine(force=1.0, frequencies=[3.0, 9.0], dwell=0.1005),
    Gust(force=1.0, frequencies=[4.0], gusts=1),
    Random(force=1.0, frequency=2.0, to=6.0, period=1.0),
    Step(force=2.0, ramp=0.0),
    Pulse(force=2.0, duration=0.1),
]


def released(excitation, at, shift: float = 0.0) -> Loop:
    return Loop([release(at), excitation.block("e", shift, SINCE)], dt=DT)


def rows(loop: Loop, ticks: int) -> np.ndarray:
    return loop.run(ticks, record=["e", "e.rate"]).log[:, 1:]


@pytest.mark.parametrize("excitation", EVERY, ids=lambda one: one.kind)
def test_an_excitation_is_silent_until_its_release_and_then_begins(excitation):
    found = rows(released(excitation, [AT * DT]), 600)
    assert not found[:AT].any()
    plain = rows(Loop([excitation.block("e")], dt=DT), 600 - AT)
    np.testing.assert_allclose(found[AT:], plain, rtol=1e-9, atol=1e-9)
    assert plain.any()


def test_a_record_too(tmp_path):
    path = tmp_path / "record.txt"
    path.write_text("\n".join(f"{0.1005 * i}, {np.cos(i)}" for i in range(4)))
    record = Record(file=path, time_step=0.1005, column=2, acceleration=2.0)  # no kink on a tick
    found = rows(released(record, [AT * DT]), 600)
    np.testing.assert_allclose(found[AT:], rows(Loop([record.block("e")], dt=DT), 600 - AT), rtol=1e-9, atol=1e-9)
    assert not found[:AT].any() and found[AT, 0] == 2.0


def test_a_shifted_block_stays_silent_before_its_release_and_leads_after_it():
    found = rows(released(Step(force=2.0), [AT * DT], shift=0.5), 300)
    assert not found[:AT].any() and np.all(found[AT:, 0] == 2.0)
    ramped = rows(released(Step(force=2.0, ramp=0.1), [AT * DT], shift=0.05), 300)
    assert ramped[AT, 0] == pytest.approx(1.0)


def test_every_release_begins_anew_between_ticks_too():
    pulse = Pulse(force=2.0, duration=0.1)
    found = rows(released(pulse, [0.05, 0.2004]), 400)[:, 0]
    t = DT * np.arange(400)
    expected = sum(2.0 * np.sin(np.pi * (t - at) / 0.1) ** 2 * (t > at) * (t < at + 0.1) for at in (0.05, 0.2004))
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_the_operator_releases_in_the_next_tick_and_not_before_the_first():
    words = np.zeros(WORDS, dtype=np.int64)
    loop = released(Step(force=2.0), [0.05])
    loop.parameter("release")["words"] = float(words.ctypes.data)
    words[RELEASES] = 3  # asked for before the test has begun
    assert not rows(loop, 100).any()  # nor by the times of the rehearsal
    words[RELEASES] += 1
    stretch = loop.run(100, record=["e", SINCE])
    assert stretch.events == [(100, "excitation.releases", 1.0)]
    assert np.all(stretch.log[:, 1] == 2.0)
    np.testing.assert_allclose(stretch.log[:, 2], DT * np.arange(100), atol=1e-12)
    words[RELEASES] += 1
    assert loop.run(1, record=[SINCE]).log[0, 1] == 0.0


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"release_at": [1.0]}, "nothing to release"),
        ({"virtual": EVERY[0], "release_at": [2.0, 1.0]}, "do not increase"),
        ({"virtual": EVERY[0], "release_at": [-1.0]}, "at least 0"),
    ],
)
def test_releases_that_make_no_sense_are_refused(settings, told):
    with pytest.raises(ValueError, match=told):
        Excitations(**settings)
