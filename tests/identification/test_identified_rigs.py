"""Whole experiments on simulated rigs of every kind that names its parameters, with noise of 2 µm and 0.5 N."""

import pytest

import halfreal
from halfreal.rigs.simulated import SimulatedRig
from halfreal.studies.identifying.experiment import completed, plan
from halfreal.studies.identifying.identify import identify
from lagging_rig import lagging

NOISE = {"displacement": {"noise": "2 um"}, "force": {"noise": "0.5 N"}}
SPECIMEN = {"stiffness": 2250.0, "damping": 8.0, "mass": 0.4}
RIGS = {
    "delay": {"actuator": {"kind": "delay", "delay": "9.4 ms"}, "specimen": SPECIMEN, "sensors": NOISE},
    "second order": {
        "actuator": {"kind": "second order", "delay": "3.1 ms", "frequency": "22 Hz", "damping": 0.6},
        "specimen": SPECIMEN,
        "sensors": NOISE,
    },
    "held": {
        "actuator": {
            "kind": "second order",
            "delay": "5 ms",
            "frequency": "15 Hz",
            "damping": 0.8,
            "reconstruction": "hold",
        },
        "specimen": {"stiffness": 2250.0},
        "sensors": NOISE,
        "substeps": 4,
    },
    "servo-hydraulic": {
        "kind": "servo-hydraulic",
        "actuator": {
            "valve_gain": 2.1283e13,
            "valve_damping": 425.0,
            "valve_stiffness": 9.9976e4,
            "interaction": 4.2297e6,
            "leakage": 3.3,
        },
        "specimen": {"mass": "29.13 kg", "damping": "114 N s/m", "stiffness": "1.19e6 N/m"},
        "sensors": {"displacement": {"noise": "2 um"}, "force": {"noise": "50 N"}},
    },
}


@pytest.mark.parametrize("kind", RIGS)
def test_all_that_is_told_of_a_rig_is_true_and_most_is_told(kind):
    test = lagging(rig=RIGS[kind])
    run = completed(halfreal.rehearse(plan(test, 0, amplitude=1e-3, band=(0.5, 40.0), duration=10.0).definition))
    found = identify(test, [("run.h5", run)])
    told = [one for one in found.fit.parameters if one.determined]
    assert len(told) >= len(found.fit.parameters) - 2, [one.why_not for one in found.fit.parameters]
    for one in told:
        # three standard deviations: of some twenty intervals of 95 % one may miss
        assert abs(one.value - one.sought.given) < 1.55 * one.half_width, (one.sought.name, one.value, one.half_width)
    assert found.axes[0].response.fit is not None


def test_the_delay_of_a_staircase_is_found_in_steps_of_the_rig():
    true = lagging(rig=RIGS["held"])
    run = completed(halfreal.rehearse(plan(true, 0, amplitude=1e-3, band=(0.5, 40.0), duration=10.0).definition))
    guess = true.with_values({"rig.actuator.delay": "11 ms", "rig.actuator.frequency": "12 Hz"})
    found = {one.sought.name: one for one in identify(guess, [("run.h5", run)]).fit.parameters}
    delay, frequency = found["rig.actuator.delay"], found["rig.actuator.frequency"]
    assert delay.determined and abs(delay.value - 5e-3) <= delay.half_width == 0.5e-3
    assert abs(frequency.value - 15.0) < 1.55 * frequency.half_width


def test_a_rig_says_which_of_its_sections_are_identified():
    assert SimulatedRig.identified == ("actuator", "specimen")
    assert halfreal.contracts.Rig.identified == ()
