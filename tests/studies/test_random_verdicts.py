"""Verdicts of ``check`` compared with long simulations that share no code with the package (``tests/verdicts``).

Of random tests, most of them near the limit of stability, those of families that take little time; all families, and a
thousand tests, are tried by ``soak/random_verdicts.py``, for docs/verdict.md.
"""

import numpy as np
import pytest

import halfreal
from halfreal.runs.loop_stability import loop_stability
from verdicts.defined import definition
from verdicts.draw import draw, family_of
from verdicts.examine import examine
from verdicts.judge import GROWS, SETTLES, outcome, simulation
from verdicts.simulate import Test

LINEAR, EACH = 40, 5
SHORT = (
    "soft core",
    "power damper",
    "backlash",
    "sensor range",
    "softening",
    "stroke and speed",
    "friction",
    "force control",
)
"""Families whose checks take little time."""


def numbers(family, count):
    """Of the first tests of a family."""
    found = (number for number in range(10_000) if family_of(number) == family)
    return [next(found) for _ in range(count)]


@pytest.mark.parametrize("family", ["linear", *SHORT])
def test_verdicts_are_those_of_independent_simulations(family):
    rows = [examine(number) for number in numbers(family, LINEAR if family == "linear" else EACH)]
    decided = [row for row in rows if row.judged.bad or row.judged.good]
    assert 2 * len(decided) >= len(rows)
    wrong = [row.data for row in rows if row.result in ("false GO", "false alarm")]
    assert not wrong


@pytest.mark.parametrize(
    "family",
    ["clearance", "shear frame", "adaptive prediction", "two axes", "slow", "harmonic", "force control", "FMU"],
)
def test_simulations_are_rehearsals_of_another_make(family):
    """To rounding, that near the limit of stability grows with the motion."""
    for number in numbers(family, 4):
        _, test = draw(number)
        given = definition(test, 200 * test.step)
        rehearsed = halfreal.rehearse(given)
        names = [*given.interface.channels("target"), *given.interface.channels("measured.force")]
        ours, theirs = np.column_stack([rehearsed.signals[name].values for name in names]), simulation(test).run(200)
        if test.force is not None:  # its targets are forces
            ours, theirs = ours[:, :1], theirs[:, 1:]
        count = min(len(ours), len(theirs))  # where the motion has run away either ends
        size = np.abs(theirs[:count]).max()
        np.testing.assert_allclose(ours[:count], theirs[:count], rtol=0.0, atol=1e-6 * size)


def test_simulations_notice_what_grows():
    """A spring on a rig that is late, on both sides of its limit."""
    one = Test(1e-3, np.eye(1) * 10.0, np.eye(1) * 20.0, np.eye(1) * 9577.6, specimen_stiffness=np.eye(1) * 3000.0)
    assert outcome(one.but(delay=6.7e-3))[0] == SETTLES
    assert outcome(one.but(delay=6.84e-3))[0] == GROWS


def test_poles_of_least_mean_squares_and_of_an_exchange_are_those_of_the_check():
    for family, kind in (("harmonic", "drive"), ("force control", "force")):
        linear = (draw(number)[1] for number in numbers(family, 20))
        test = next(one for one in linear if one.linear and not one.slow and getattr(one, kind))
        found = loop_stability(definition(test, 5.0)).linearisation.spectral_radius
        assert found == pytest.approx(np.abs(simulation(test).poles()).max(), abs=1e-9)
