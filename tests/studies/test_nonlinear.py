"""What is found out about nonlinear loops beyond their linearisation at rest."""

import numpy as np
import pytest

import halfreal
from examples.wallace2005 import KS, definition, linearised
from halfreal.runs.validity import is_nonlinear
from halfreal.studies.check.criteria.nonlinear import nonlinear
from halfreal.studies.check.examined import Examined
from halfreal.studies.check.nonlinear import (
    MOST_STATES,
    POINTS,
    Nonlinear,
    critical_factor,
    examine,
    onset,
    points_for,
)

HARDENING = {"elements": [{"between": [1], "law": {"kind": "cubic", "stiffness": KS, "cubic": 2e8}}]}


def hardening(**more):
    """A specimen that stiffens: stable at small amplitudes, unstable at large ones with a delay of 5 ms."""
    rig = {"actuator": {"delay": 5e-3, "reconstruction": "cubic"}, "specimen": HARDENING}
    return definition(rig=rig, reference=None, **more)


def test_what_counts_as_nonlinear():
    assert not is_nonlinear(definition())
    assert is_nonlinear(hardening())
    limited = {"actuator": {"delay": 5e-3, "stroke": 0.05}, "specimen": {"stiffness": KS}}
    assert is_nonlinear(definition(rig=limited))


def driven(millimetres):
    return {"virtual": {"kind": "sine", "displacement": 1e-3 * millimetres, "frequency": 1.5}}


def test_operating_points_have_the_tangent_stiffness_reached():
    """At displacement x the tangent is k + 3 k₃ x²: its loop, linear, has the same spectral radius."""
    test = hardening(excitation=driven(2.0))
    found = examine(test)
    assert found.time.size == 60
    reached = np.abs(halfreal.rehearse(test).signals["measured.displacement"].values).max()
    softest, stiffest = (
        linearised(
            definition(
                rig={
                    "actuator": {"delay": 5e-3, "reconstruction": "cubic"},
                    "specimen": {"stiffness": KS + 3 * 2e8 * x**2},
                }
            )
        ).spectral_radius
        for x in (0.0, reached)
    )
    assert softest - 1e-6 <= found.spectral_radius.min()
    assert softest + 0.8 * (stiffest - softest) <= found.spectral_radius.max() <= stiffest + 1e-6


def test_amplitude_at_which_a_hardening_specimen_loses_stability():
    """Just below the amplitude found the test runs to its end, just above it the guard has to stop it."""
    factor = critical_factor(hardening(excitation=driven(10.0)))
    assert factor is not None
    assert halfreal.rehearse(hardening(excitation=driven(9.5 * factor))).outcome == "completed"
    longer = hardening(
        excitation=driven(10.5 * factor), timing={"step": 1e-3, "duration": 60.0}
    )  # growth is slow there
    assert halfreal.rehearse(longer).outcome == "tripped"


def test_linear_stable_loop_never_loses_stability_with_amplitude():
    assert critical_factor(definition(delay=5e-3)) is None


def test_a_motion_that_only_sets_out_does_not_lose_stability():
    """Within the excitation's ramp the gap grows from quarter to quarter, in a stable loop as in any other."""
    ramped = {"virtual": {"kind": "sine", "displacement": 1e-3, "frequency": 1.5, "ramp": 5.0}}
    assert critical_factor(definition(delay=5e-3, excitation=ramped, timing={"step": 1e-3, "duration": 0.024})) is None


@pytest.mark.parametrize(("largest", "found"), [(1.9, True), (1.2, False), (0.9, False)])
def test_an_onset_is_looked_for_up_to_the_largest_factor_and_not_beyond(largest, found):
    tried = []

    def happens(factor):
        tried.append(factor)
        return factor >= 1.3

    answer = onset(happens, definition(), (1.0, 4.0), largest, bisections=12)
    assert (answer is not None) == found and max(tried) == largest
    if answer is not None:
        assert answer[0] < 1.3 <= answer[1] < 1.301


def test_without_excitation_there_is_no_amplitude_to_raise():
    test = hardening(excitation={})
    assert critical_factor(test) is None
    assert "times the excitation" not in examine(test).summary()


def test_bouc_wen_specimen_has_its_yielded_tangent_at_operating_points():
    """Far beyond yield the force hardly rises: the loop is nearly that without the specimen, not the elastic one."""
    law = {"kind": "bouc-wen", "stiffness": KS, "yield_displacement": 2e-4, "n": 2.0}
    rig = {
        "actuator": {"delay": 2e-3, "reconstruction": "cubic"},
        "specimen": {"elements": [{"between": [1], "law": law}]},
    }
    test = definition(rig=rig, reference=None)
    found = examine(test).spectral_radius
    without, elastic = (
        linearised(
            definition(delay=2e-3, rig={"actuator": {"delay": 2e-3}, "specimen": {"stiffness": k}})
        ).spectral_radius
        for k in (1e-3, KS)
    )
    assert np.median(found) == pytest.approx(without, abs=1e-6)
    assert found.max() == pytest.approx(elastic, abs=1e-6)  # before it first yields


def test_growth_below_the_defined_amplitude_is_no_go():
    answer = halfreal.check(hardening(excitation=driven(10.0)))
    assert answer.nonlinear is not None and answer.nonlinear.factor is not None
    assert answer.nonlinear.factor < 1.0
    assert answer.verdict == "NO-GO"


def test_a_radius_beyond_one_on_the_way_is_not_told_as_an_instability_of_the_test():
    def found(factor, softening=(False, False)):
        return Nonlinear(np.array([0.1, 0.2]), np.array([0.99, 1.04]), np.array(softening), factor=factor).summary()

    text = found(None)
    assert "1.040000 at 0.2 s; above 1 at 1 of the points: small deviations grow while the loop stays there" in text
    assert "the virtual part by itself is stable at all of them" in text
    assert "small deviations grow" in found(3.0) and "loses stability at 3 times" in found(3.0)
    assert "small deviations" not in found(0.8)
    assert "at all of them the virtual part grows by itself" in found(None, (False, True))


@pytest.mark.parametrize(("asked", "severity"), [("3 dB", "marginal"), ("1 dB", "note"), ("none", "note")])
def test_an_excitation_close_to_where_stability_is_lost_is_below_acceptance(asked, severity):
    """It is lost at 1.2 times, which are 1.6 dB."""
    (lost,) = nonlinear(Examined(hardening(excitation=driven(10.0))))
    close = 10.0 * lost.value / 1.2
    test = hardening(excitation=driven(close), acceptance={"gain_margin": asked, "synchronisation": "none"})
    (found,) = nonlinear(Examined(test))
    assert found.severity == severity and found.value == pytest.approx(1.2, rel=0.05)  # the border has windows
    assert (found.remedies != ()) == (severity == "marginal")


def test_large_loops_are_linearised_at_fewer_points():
    assert points_for(20) == POINTS > points_for(400) > points_for(2900) > points_for(MOST_STATES + 1) == 0
    none = Nonlinear(np.zeros(0), np.zeros(0), np.zeros(0), None, searched=False, states=MOST_STATES + 1)
    assert f"{MOST_STATES + 1} states" in none.summary()


def test_what_is_not_known_at_operating_points_is_reported():
    time, radius, own = np.array([0.1, 0.2]), np.array([0.99, 1.04]), np.zeros(2, dtype=bool)
    some = Nonlinear(time, radius, own, None, unknown=3, own_known=False).summary()
    assert "at 3 further points the poles are not known" in some and "by itself" not in some
    none = Nonlinear(np.zeros(0), np.zeros(0), np.zeros(0), None, states=900, unknown=3).summary()
    assert "at none of 3 operating points are its poles known, as its 900 states" in none and "committed" in none
