"""What excitations say of themselves: their frequencies, one at a time or as harmonics, and another amplitude."""

from typing import Literal

import pytest

from halfreal.contracts.excitation import Dwells, Excitation, Harmonics
from halfreal.models.excitations import Chirp, Gust, MultiSine, Pulse, Random, Sine, Square, Step, SteppedSine

SINE = Sine(force=2.0, frequency=3.0)
SQUARE = Square(force=2.0, frequency=3.0)
CHIRP = Chirp(force=2.0, frequency=9.0, to=3.0, duration=1.0)
RANDOM = Random(force=2.0, frequency=1.0, to=9.0, period=4.0)
STEPPED = SteppedSine(force=2.0, frequencies=[4.0, 2.0], dwell=5.0)
MULTI = MultiSine(force=2.0, frequencies=[7.0, 3.0, 4.5])
GUST = Gust(force=2.0, frequencies=[4.0])


class Unknown(Excitation):
    """A kind that says nothing but what it gives."""

    kind: Literal["unknown"] = "unknown"

    @property
    def quantity(self):
        return "force"

    def block(self, name, shift=0.0):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("excitation", "expected"),
    [
        (SINE, 3.0),
        (SQUARE, 3.0),
        (Square(force=2.0, frequency=3.0, terms=4), 21.0),
        (CHIRP, 9.0),
        (RANDOM, 9.0),
        (STEPPED, 4.0),
        (GUST, 4.0),
        (MULTI, 7.0),
        (Step(force=1.0), None),
        (Pulse(force=1.0, duration=1.0), None),
        (Unknown(), None),
    ],
)
def test_the_highest_frequency(excitation, expected):
    assert excitation.highest_frequency == expected


def test_frequencies_one_at_a_time():
    assert SINE.dwells == Dwells((3.0,))
    assert STEPPED.dwells == Dwells((4.0, 2.0), 5.0)
    assert GUST.dwells == Dwells((4.0,), sinusoidal=False)
    assert MultiSine(force=2.0, frequencies=[4.0]).dwells == Dwells((4.0,))
    assert [one.dwells for one in (SQUARE, CHIRP, RANDOM, MULTI, Unknown())] == [None] * 5


def test_harmonics_that_a_step_carries():
    assert SINE.harmonics(0.01) == Harmonics(3.0)
    assert CHIRP.harmonics(0.01) == Harmonics(9.0, to=3.0)
    assert SQUARE.harmonics(1e-4).orders == tuple(range(1, 20, 2))
    assert SQUARE.harmonics(0.01).orders == tuple(range(1, 17, 2))  # up to 45 of 50 Hz
    assert SQUARE.harmonics(1.0).orders == (1,)
    assert Square(force=2.0, frequency=3.0, terms=2).harmonics(1e-4).orders == (1, 3)
    assert MULTI.harmonics(0.01) == Harmonics(3.0, tones=(4.5, 7.0))
    assert [one.harmonics(0.01) for one in (RANDOM, STEPPED, Unknown())] == [None] * 3


def test_only_random_noise_is_averaged_over_its_period():
    assert RANDOM.averaged_period == 4.0
    assert [one.averaged_period for one in (SINE, Unknown())] == [None] * 2


def test_another_amplitude_and_how_it_acts():
    assert SINE.scaled(1.5) == Sine(force=3.0, frequency=3.0)
    assert Sine(acceleration=2.0, frequency=1.0).scaled(0.5).acceleration == 1.0
    assert Unknown().scaled(2.0) is None
    assert [SINE.acts_as, Unknown().acts_as] == ["force", "force"]
    assert Sine(acceleration=2.0, frequency=1.0).acts_as == "ground"
