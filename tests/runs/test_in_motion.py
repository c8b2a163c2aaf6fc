"""Trials in motion: exponents against poles and Floquet multipliers, margins against the exact ones of linear loops."""

import numpy as np
import pytest

import halfreal
from examples.wallace2005 import definition
from halfreal.runs.in_motion import Trials, grows
from halfreal.runs.in_motion import trials_of as decided_trials_of
from halfreal.runs.loop_stability import loop_stability
from halfreal.runs.margins_in_motion import is_lost, margins_in_motion
from halfreal.runs.validity import ADAPTS, AT_REST, IN_ANY_MOTION
from halfreal.stability.separation import Separation
from halfreal.studies.check.nonlinear import scaled
from verdicts.examine import defined

LINEAR = {"stiffness": 2250.0}
SINE = {"virtual": {"kind": "sine", "displacement": 5e-3, "frequency": 3.0}}


def late(specimen, delay=9e-3, prediction=9e-3, **more):
    rig = {"actuator": {"kind": "delay", "delay": delay, "reconstruction": "cubic"}, "specimen": specimen}
    coupling = {"kind": "forward prediction", "prediction": prediction, "order": 3, "points": 12}
    timing = {"step": 1e-3, "duration": 4.0}
    return definition(
        rig=rig, **{"coupling": coupling, "reference": None, "excitation": SINE, "timing": timing, **more}
    )


def elements(**law):
    return {"elements": [{"between": [1], "law": law}]}


HARD = elements(kind="cubic", stiffness=2250.0, cubic=2e7)
CLEARANCE = {
    "elements": [{"between": [1], "law": {"kind": kind, "stiffness": 6e4, "gap": 20e-6}} for kind in ("gap", "hook")]
}


def trials_of(test):
    stability = loop_stability(test)
    return Trials(test, complex(stability.linearisation.continuous[0])), stability


@pytest.mark.parametrize("prediction", [6e-3, 9e-3, 11e-3])
def test_the_exponent_of_a_linear_loop_is_the_real_part_of_its_slowest_pole(prediction):
    trials, stability = trials_of(late(LINEAR, prediction=prediction))
    assert trials.attempt().exponent == pytest.approx(stability.linearisation.continuous[0].real, abs=0.01)


def test_margins_in_motion_of_a_linear_loop_are_those_of_its_poles():
    trials, stability = trials_of(late(LINEAR))
    found, exact = margins_in_motion(trials, stability.rig_lag), stability.margin
    assert found.delay == pytest.approx(exact.critical_delay, rel=0.01)
    assert found.gain_margin_db == pytest.approx(exact.gain_margin_db, abs=0.1)
    assert found.gain_reduction_db == exact.gain_reduction_db == -np.inf


@pytest.mark.parametrize("delay", [9e-3, 11e-3, 12e-3])
def test_the_exponent_along_a_periodic_motion_is_that_of_its_floquet_multipliers(delay):
    """Of a hardening specimen; the multipliers are eigenvalues of the monodromy matrix, without any time history."""
    test = late(HARD, delay)
    response = halfreal.forced_response(test)
    exact = np.log(response.largest_multiplier) / response.period
    assert trials_of(test)[0].attempt().exponent == pytest.approx(exact, abs=0.02)


def test_a_clearance_that_is_never_felt_at_rest_is_crossed():
    """At rest the specimen is not touched and any delay is tolerated; in motion it is a stiff spring."""
    trials, stability = trials_of(late(CLEARANCE, 11.5e-3, 10e-3))
    assert stability.linearisation.stable and np.isinf(stability.margin.critical_delay)
    assert trials.attempt().unstable
    assert not Trials(late(CLEARANCE, 1e-3, 1e-3), trials.slowest).attempt().unstable


def test_what_has_run_away_ends_and_is_never_accepted():
    """Without limits, and with a coupling that tracks well: the gap stays small while all else diverges."""
    stronger = {"virtual": {**SINE["virtual"], "displacement": 0.05}}
    test = late(elements(kind="cubic", stiffness=2250.0, cubic=-3e7), excitation=stronger, limits={})
    run = halfreal.rehearse(test)
    assert run.outcome == "tripped" and "the motion has run away, beyond 100 m" in run.reason
    assert np.abs(run["target"]).max() < 1e4
    assert halfreal.check(test, remedies=False).verdict == "NO-GO"


def test_the_specimens_memory_is_part_of_the_motion():
    """An elastoplastic specimen dissipates; its permanent set is no growth."""
    trials, _ = trials_of(
        late(elements(kind="elastoplastic", stiffness=4000.0, yield_force=5.0, hardening=0.1), 3e-3, 3e-3)
    )
    assert not trials.attempt().unstable and trials.attempt().exponent < 0.0


def test_a_smaller_margin_in_motion_decides():
    """What [acceptance] promises is tried: the specimen's force times 1.41 and 0.71, and a tenth more delay."""
    test = late(
        HARD, 12e-3, acceptance={"synchronisation": "none", "fidelity": "none"}, limits={"command": {"trip": 1.0}}
    )
    found = halfreal.check(test, remedies=False)
    assert found.stability.margin.gain_margin_db > 3.0
    promised = {(round(one.trial.gain, 3), round(one.trial.delay, 4)) for one in found.motion.promises}
    assert promised == {(1.413, 0.0), (0.708, 0.0), (1.0, 0.0012)}


@pytest.mark.parametrize(
    ("changes", "holds"),
    [
        ({}, IN_ANY_MOTION),
        ({"specimen": HARD}, AT_REST),
        ({"rig": {"sensors": {"force": {"range": 50.0}}}}, AT_REST),
        ({"coupling": {"kind": "adaptive forward prediction", "prediction": 9e-3}}, ADAPTS),
    ],
)
def test_margins_state_where_they_hold(changes, holds):
    test = late(changes.pop("specimen", LINEAR))
    for key, value in changes.items():
        if key == "rig":
            value = {**test.rig.model_dump(mode="json"), **value}
        test = test.with_values({key: value})
    assert loop_stability(test).holds == holds


def test_growth_of_a_stationary_motion_is_growth_that_goes_on():
    t = np.linspace(0.0, 100.0, 400)
    carrier = np.abs(np.sin(2 * np.pi * 0.7 * t))[:, None]
    assert grows(carrier * np.exp(0.01 * t)[:, None])
    assert not grows(carrier * (1.0 - np.exp(-0.1 * t))[:, None])  # settles
    assert not grows(carrier)
    assert not grows(np.zeros((400, 2)))


def test_slopes_of_turning_deviations_are_those_of_their_area():
    """A pair of complex poles: the first deviation turns, in units that are mixed; the area does not."""
    t, rate = np.linspace(0.0, 20.0, 400), -0.3
    turning = rate * t + 2.0 * np.cos(2.0 * t)
    found = Separation(t, turning, rate * t).exponent(5.0)
    assert found.rate == pytest.approx(max(rate, np.polyfit(t[t >= 5.0], turning[t >= 5.0], 1)[0]), abs=1e-12)
    factor, begin, end = Separation(t, turning, np.where(t < 10.0, t - 10.0, 10.0 - t)).largest_growth(0.0)
    assert factor == pytest.approx(np.exp(10.0), rel=0.05) and begin == 0.0 and end == pytest.approx(10.0, abs=0.1)


def slow_test(specimen, **more):
    return late(specimen, **{
        "virtual": {"mass": 2.2, "damping": 15.0, "stiffness": 2250.0, "force_dof": 1, "scheme": "explicit newmark"},
        "excitation": {"virtual": {"kind": "sine", "force": 100.0, "frequency": 3.0}},
        "coupling": {"kind": "none"},
        "timing": {"step": 0.01, "duration": 4.0},
        "slow": {"period": 1e-3, "ramp": 0.05, "settle": {"displacement": 1e-3, "timeout": 0.5}},
        **more,
    })  # fmt: skip


@pytest.mark.parametrize("limits", [{}, {"command": {"trip": 50.0}}])
def test_what_runs_away_in_a_slow_test_ends_within_the_limit_of_its_rate(limits):
    """At 0.1 m/s a ramp to a command that is far away takes for ever.  Trials have no limits."""
    test = slow_test(
        elements(kind="cubic", stiffness=2250.0, cubic=1e12), limits={"command_rate": {"trip": 0.1}, **limits}
    )
    run = halfreal.rehearse(test)
    assert run.outcome == "tripped" and np.abs(run["command"]).max() <= 100.0
    assert Trials(test).attempt().unstable


@pytest.mark.parametrize(("ramp", "periods", "ticks"), [(0.05, 50, 1333), (20.0, 20_000, 500)])
def test_trials_of_slow_tests_are_bounded_by_the_periods_of_the_rig(ramp, periods, ticks):
    """40 cycles of the excitation are tried, unless a tick takes so long that they are ten million periods."""
    test = slow_test(LINEAR, slow={"period": 1e-3, "ramp": ramp}, timing={"step": 0.01, "duration": 1.0})
    trials = Trials(test)
    assert trials.periods == pytest.approx(periods, rel=0.05)
    assert trials.ticks == pytest.approx(ticks, rel=0.05)


def test_a_permanent_set_that_comes_with_a_change_alone_is_no_loss_of_stability():
    """A structure whose columns yield under a softer specimen only: what they keep is neutral."""
    test = defined(104)
    trials = decided_trials_of(test, loop_stability(test))
    softer = trials.attempt(gain=0.7)
    assert not trials.remembers
    assert softer.rests
    assert softer.exponent * softer.duration > -0.5 > trials.attempt().exponent * trials.attempt().duration
    assert not is_lost(softer, trials.attempt(), trials.remembers)


def test_a_slow_test_whose_motion_runs_away_ends():
    """Its command would take for ever at the rate that its limit permits."""
    louder = scaled(defined(32), 16.0)
    assert Trials(louder).attempt().ran_away is not None
