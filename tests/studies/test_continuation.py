"""Families of limit cycles over a number: Hopf points, folds and what is told of them."""

import json

import numpy as np
import pytest
from scipy.optimize import brentq
from typer.testing import CliRunner

import halfreal
from examples.scripts import GALLERY
from examples.wallace2005 import definition
from halfreal.cli import app
from halfreal.runs.loop_stability import linearised
from halfreal.studies.cycles.specials import specials_of
from studies.test_limit_cycles import CUBIC, SATURATING, critical, nonlinear

DELAY = "rig.actuator.delay"
CYCLES = GALLERY / "limit_cycles"


@pytest.fixture(scope="module")
def hardening():
    return halfreal.continuation(nonlinear(CUBIC, 7e-3), DELAY, 6e-3, 11e-3, largest=8e-3)


def test_hopf_point_is_where_the_loop_at_rest_loses_stability(hardening):
    (hopf,) = hardening.hopf
    assert hopf.criticality == "subcritical"
    for factor, stable in ((0.9999, True), (1.0001, False)):
        assert linearised(nonlinear(CUBIC, factor * hopf.number)).stable is stable


def test_family_of_a_hardening_spring_has_the_describing_functions_shape(hardening):
    """k + ¾ k₃ a² is the critical stiffness of the delay: amplitudes over the whole family, from the Hopf point on."""
    (branch,) = hardening.branches
    assert np.all(branch.sizes[1:] > 1.0) and branch.numbers[0] == pytest.approx(hardening.hopf[0].number, rel=1e-3)
    stiffness = np.array([critical(delay)[0] for delay in branch.numbers])
    described = np.sqrt(np.maximum(stiffness - CUBIC["stiffness"], 0.0) / (0.75 * CUBIC["cubic"]))
    large = branch.amplitudes > 2e-3
    np.testing.assert_allclose(branch.amplitudes[large], described[large], rtol=0.02)


def test_family_meets_the_cycles_that_are_found_by_themselves(hardening):
    (branch,) = hardening.branches
    (cycle,) = halfreal.limit_cycles(nonlinear(CUBIC, 7e-3), expected=5e-3)
    order = np.argsort(branch.numbers)
    at = np.interp(7e-3, branch.numbers[order], branch.amplitudes[order])
    assert at == pytest.approx(cycle.amplitude, rel=2e-3)


def test_saturating_spring_has_a_supercritical_hopf_point_and_a_linear_part():
    found = halfreal.continuation(nonlinear(SATURATING, 7.5e-3), DELAY, 6e-3, 8e-3, largest=8e-3)
    (hopf,) = found.hopf
    (branch,) = found.branches
    assert hopf.criticality == "supercritical" and 2e-3 < hopf.linear_up_to <= 4.0e-3
    inside = branch.amplitudes < 3.9e-3
    np.testing.assert_allclose(branch.numbers[inside], hopf.number, rtol=1e-6)
    assert np.all(branch.sizes[branch.amplitudes > 4.5e-3] < 1.0)
    assert "supercritical Hopf point at 6.77" in found.summary() and "stable limit cycles" in found.summary()


def test_fold_is_where_two_cycles_meet():
    test = halfreal.load(CYCLES / "hardening_yielding.toml")
    found = halfreal.continuation(test, DELAY, 5e-3, 7e-3, largest=15e-3)
    folds = [one for branch in found.branches for one in branch.specials if one.kind == "fold"]
    (fold,) = folds
    for factor, count in ((0.99, 0), (1.02, 2)):
        cycles = halfreal.limit_cycles(test.with_values({DELAY: factor * fold.number}), expected=fold.amplitude)
        assert len(cycles) == count
    assert [one.stable for one in cycles] == [False, True]
    assert cycles[0].amplitude < fold.amplitude < cycles[1].amplitude


def test_any_number_can_be_followed():
    """A gain: the cycle of a saturating spring over its stiffness begins at the critical one of the sampled loop."""
    test = nonlinear(SATURATING, 9.4e-3)
    place = "rig.specimen.elements[1].law.stiffness"
    found = halfreal.continuation(test, place, 1400.0, 2300.0, largest=8e-3)

    def growth(stiffness):
        return (
            linearised(definition(delay=9.4e-3).with_values({"rig.specimen.stiffness": stiffness})).spectral_radius - 1
        )

    assert found.hopf[0].number == pytest.approx(brentq(growth, 1400.0, 2300.0, rtol=1e-10), rel=1e-6)
    assert found.branches[0].amplitudes.max() > 6e-3


class Fake:
    """A cycle of a family, as far as ``specials_of`` looks at it."""

    def __init__(self, number, amplitude, multiplier):
        self.cycle, self.amplitude = self, amplitude
        self.number, self.multipliers = number, np.array([multiplier])

    @property
    def largest_multiplier(self):
        return float(abs(self.multipliers[0]))


@pytest.mark.parametrize(
    ("multiplier", "kind"), [(-1.2, "period doubling"), (1.2, "branch point"), (1.2j, "Neimark–Sacker")]
)
def test_crossings_of_the_unit_circle_are_named(multiplier, kind):
    (found,) = specials_of([Fake(1.0, 1.0, multiplier / 1.5), Fake(2.0, 2.0, multiplier)])
    assert found.kind == kind and found.number == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("test", "place", "ends", "words"),
    [
        (definition(), DELAY, (None, None), "this loop is linear.*halfreal chart"),
        (nonlinear(CUBIC, 7e-3), "rig.actuator.dely", (None, None), "not a number of this definition; did you mean"),
        (nonlinear(CUBIC, 7e-3), DELAY, (8e-3, 6e-3), "it must increase"),
        (nonlinear(CUBIC, 7e-3), DELAY, (-1e-3, 6e-3), "contains invalid values.*narrower range"),
        (nonlinear(CUBIC, 7e-3), "timing.seed", (0.0, 2.0), "an integer"),
    ],
)
def test_what_cannot_be_followed_is_told(test, place, ends, words):
    with pytest.raises(halfreal.HalfrealError, match=words):
        halfreal.continuation(test, place, *ends)


def test_command(tmp_path):
    def run(*words):
        return CliRunner().invoke(app, ["continue", str(CYCLES / "hardening.toml"), *map(str, words)])

    picture = tmp_path / "diagram.svg"
    ranged = ("--parameter", DELAY, "--from", "6.5 ms", "--to", "7.5 ms", "--largest", "10 mm")
    answer = run(*ranged, "-o", picture)
    assert answer.exit_code == 0 and "unstable limit cycles" in answer.stdout and picture.stat().st_size > 10_000
    told = json.loads(run(*ranged, "--json").stdout)
    (branch,) = told["branches"]
    assert {one["stability"] for one in branch["cycles"]} == {"unstable"} and told["from"] == 6.5e-3
    for words in (("--parameter", "rig.actuator.dely"), (*ranged, "-o", picture), ("-p", DELAY, "--from", "3 mm")):
        wrong = run(*words)
        assert wrong.exit_code == 2 and "Traceback" not in wrong.output
