"""The rig identified while the test runs: lag and gain against closed forms, what was checked, warnings and trips."""

from types import SimpleNamespace

import numpy as np
import pytest

import halfreal
from examples.wallace2005 import DELAY, definition
from halfreal.contracts.axes import Axes
from halfreal.live.accepted import accepted
from halfreal.presentation.html import render
from halfreal.runs.checked_plant import as_checked, check_apart, checked_plant
from halfreal.runs.lean import lean_rehearsal
from halfreal.runs.loop_stability import margin_of
from halfreal.studies.check.criteria.online_plant import online_plant
from halfreal.studies.check.examined import Examined

DRIFTS = """
def rig(p, s, t, u, y):
    share = p.share if t < p.begins else p.late_share
    s.x += share * (u[0] - s.x)
    y[0], y[1] = p.gain * s.x, p.k * s.x
    return 0
"""
PLANT = ("plant.lag", "plant.gain", "plant.outside", "plant.margin_used", "measured.displacement")
PREDICTED = {"kind": "forward prediction", "prediction": DELAY}
HZ, STEP = 1.5, 1e-3


def drifting(folder, late_share, **more):
    (folder / "drift.py").write_text(DRIFTS)
    numbers = {"share": 0.1, "late_share": late_share, "begins": 4.0, "k": 2250.0, "gain": 1.0}
    rig = {"kind": "user", "function": f"{folder}/drift.py:rig", "parameters": numbers, "state": {"x": 0.0}}
    sections = {
        "timing": {"step": STEP, "duration": 8.0},
        "coupling": PREDICTED,
        "reference": None,
        "online_identification": {"memory": 0.5},
        "uncertainty": {"rig.parameters.share": {"low": 0.095, "high": 0.105}},
    }
    return definition(rig=rig, **{**sections, **more})


def closed_form(share):
    """Lag [s] and gain of x⁺ = x + share (u − x), measured at the next tick, at the frequency of the test."""
    z = np.exp(2j * np.pi * HZ * STEP)
    response = share / (z - (1.0 - share))
    return -np.angle(response) / (2 * np.pi * HZ), abs(response)


def test_a_rig_that_drifts_is_found_and_told_with_what_is_left_of_the_margins(tmp_path):
    test = drifting(tmp_path, 0.07)
    examined = Examined(test)
    run = examined.rehearsal
    lag, gain, outside, used = (run.signals[name].values for name in PLANT[:4])
    for at, share in ((3990, 0.1), (7990, 0.07)):
        expected = closed_form(share)
        assert lag[at] == pytest.approx(expected[0], rel=2e-3)
        assert gain[at] == pytest.approx(expected[1], rel=2e-3)
    # the range that was checked is that of the closed form at the ends, at the one frequency of the motion
    checked = checked_plant(test)
    for end, share in ((1, 0.095), (0, 0.105)):
        assert checked.lag_range[0, end] == pytest.approx(closed_form(share)[0], rel=2e-3)
    assert outside[:4000].max() < 1.0 < outside[7990]
    # at the gain of the check, the share of its delay margin that the further lag takes
    margin = margin_of(test.unchecked_copy({"online_identification": None})).critical_delay
    assert checked.margin == pytest.approx(margin, rel=1e-9)
    assert used[7990] == pytest.approx((closed_form(0.07)[0] - closed_form(0.1)[0]) / margin, abs=0.02)
    assert used[:4000].max() < 0.02
    warned = [event.text for event in run.events if event.channel == "guard.warning"]
    assert "warning: plant.outside beyond its warning limit" in warned
    told = [one.text for one in online_plant(examined) if one.severity == "warning"]
    assert len(told) == 1 and "it left that at 4." in told[0]
    judged = accepted(run, test.acceptance, {"pace.overruns": 0.0, "link.late": 0.0}, 8000.0, as_checked(test, run))
    assert judged.word == "NOT ACCEPTED" and told[0] in judged.reasons
    assert "The rig while it ran" in render(run)


def test_it_trips_as_any_limit_does(tmp_path):
    limits = {"channels": {"plant.margin_used": {"trip": 0.4}}}
    run = lean_rehearsal(drifting(tmp_path, 0.06, limits=limits), PLANT)
    assert run.outcome == "tripped" and run.reason.startswith("plant.margin_used was 0.4")
    assert 4.0 < run.time[-1] < 6.0


def test_a_rig_at_rest_or_lost_in_noise_is_told_as_it_was_checked():
    noisy = {"displacement": {"noise": 1e-5}, "force": {"noise": 0.1}}
    rig = {"actuator": {"delay": DELAY}, "specimen": {"stiffness": 2250.0}, "sensors": noisy}
    # silence for 3 s, then motion
    late = {"virtual": {"kind": "step", "displacement": 2e-3, "ramp": 0.2}, "release_at": [3.0]}
    asked = {"rig": rig, "coupling": PREDICTED, "excitation": late, "online_identification": {"memory": 1.0}}
    run = lean_rehearsal(definition(timing={"step": STEP, "duration": 6.0}, **asked), PLANT)
    assert np.abs(run.signals["plant.lag"].values - DELAY).max() < 0.05 * DELAY
    assert run.signals["plant.outside"].values.max() < 1.0
    assert np.ptp(run.signals["measured.displacement"].values) > 1e-3


def test_axes_that_answer_each_other_are_refused_and_others_are_not():
    two = SimpleNamespace(interface=Axes(("x", "rz")))
    check_apart(two, np.array([[1.0, 0.01], [0.0, 1.0]]), np.array([1.0, 2.0]), 0.05)
    with pytest.raises(halfreal.HalfrealError, match="axis rz answers the command of axis x by 20 % of its own motion"):
        check_apart(two, np.array([[1.0, 0.0], [0.1, 1.0]]), np.array([2.0, 1.0]), 0.05)


def test_off_unless_asked_for_and_refused_where_it_has_no_meaning():
    assert not [one for one in halfreal.build(definition()).channels if one.name.startswith("plant")]
    for asked, told in (
        ({"lowest": 5.0, "highest": 2.0}, "2 Hz is not above lowest"),
        ({"highest": 450.0}, "a band up to 450 Hz at 1000 ticks a second"),
    ):
        with pytest.raises(ValueError, match=told):
            definition(online_identification=asked)
