"""Verdicts of ``check`` compared with long simulations that share no code with the package (``tests/verdicts``).

Of random tests, most of them near the limit of stability, those of families that take little time; all families, and a
thousand tests, are tried by ``soak/random_verdicts.py``, for docs/verdict.md.
"""

import numpy as np
import pytest

import halfreal
from verdicts.defined import definition
from verdicts.draw import draw, family_of
from verdicts.examine import examine
from verdicts.judge import GROWS, SETTLES, outcome
from verdicts.simulate import Simulation
from verdicts.slow import SlowSimulation

LINEAR, EACH = 56, 4
SHORT = ("soft core", "softening", "power damper", "backlash", "sensor range", "clearance")
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
    wrong = [row.data for row in rows if row.result in ("false GO", "false alarm", "too mild")]
    assert not wrong


@pytest.mark.parametrize("family", ["clearance", "shear frame", "adaptive prediction", "two axes", "slow"])
def test_simulations_are_rehearsals_of_another_make(family):
    """To rounding, that near the limit of stability grows with the motion."""
    _, test = draw(numbers(family, 1)[0])
    given = definition(test, 200 * test.step)
    rehearsed = halfreal.rehearse(given)
    names = [*given.interface.channels("target"), *given.interface.channels("measured.force")]
    ours = np.column_stack([rehearsed.signals[name].values for name in names])
    theirs = (SlowSimulation(test) if test.slow else Simulation(test)).run(len(ours))
    np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-6 * np.abs(theirs).max())


def test_simulations_notice_what_grows():
    """A spring of half the structure's stiffness on a rig that is late: c = k_s τ is the limit at low damping."""
    _, test = draw(numbers("linear", 1)[0])
    one = test.but(
        step=1e-3, mass=np.eye(1) * 10.0, damping=np.eye(1) * 20.0, stiffness=np.eye(1) * 9577.6, interface=(0,), pushed=0,
        specimen_mass=None, specimen_damping=None, specimen_stiffness=np.eye(1) * 3000.0, actuator=0, predicts=(0.0, 0, 1),
    )  # fmt: skip
    assert outcome(one.but(delay=6.7e-3))[0] == SETTLES
    assert outcome(one.but(delay=6.84e-3))[0] == GROWS
