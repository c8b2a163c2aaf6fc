"""The rig identified while the test runs: lag and gain against closed forms, what was checked, warnings and trips."""

import numpy as np
import pytest
from scipy.signal import butter, lfilter

import halfreal
from examples.wallace2005 import DELAY, definition
from halfreal.live.accepted import accepted
from halfreal.live.time_kept import TimeKept
from halfreal.presentation.html import render
from halfreal.runs.checked_plant import as_checked, checked_plant
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
    # impulse responses end where 0.1 % is left of them, and after 8 memories 0.03 % of what was before
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
    judged = accepted(run, test.acceptance, TimeKept(STEP, 8000.0), (0.0, 8000.0), as_checked(test, run))
    assert judged.word == "NOT ACCEPTED" and told[0] in judged.reasons
    assert "Rig during the test" in render(run)


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


COUPLED = """
def rig(p, s, t, u, y):
    share = p.share if t < p.begins else p.late_share
    s.x[0] += share * (u[0] + p.cross * u[1] - s.x[0])
    s.x[1] += 0.2 * (u[1] + p.cross * u[0] - s.x[1])
    for i in range(2):
        y[i], y[2 + i] = s.x[i], 400.0 * s.x[i]
    return 0
"""
OF_TWO = tuple(f"plant.{name}.{i}" for name in ("lag", "gain", "outside") for i in (1, 2))


def coupled(folder, late_share, **more):
    """Two axes, each of which answers the command of the other by 30 % of its own."""
    (folder / "coupled.py").write_text(COUPLED)
    numbers = {"share": 0.1, "late_share": late_share, "begins": 3.0, "cross": 0.3}
    rig = {"kind": "user", "function": f"{folder}/coupled.py:rig", "parameters": numbers, "state": {"x": [0.0, 0.0]}}
    return halfreal.Definition.model_validate(
        {
            "title": "two that answer each other",
            "timing": {"step": STEP, "duration": 6.0},
            "virtual": {
                "mass": np.diag([2.0, 3.0]),
                "damping": [[30.0, -5.0], [-5.0, 25.0]],
                "stiffness": [[4500.0, -600.0], [-600.0, 3000.0]],
                "interface": [1, 2],
            },
            "excitation": {
                "virtual": {"kind": "random", "acceleration": 1.0, "frequency": 0.5, "to": 8.0, "period": 20.0}
            },
            "rig": rig,
            "online_identification": {"memory": 0.5, "lowest": 0.3},
            "uncertainty": {"rig.parameters.share": {"low": 0.095, "high": 0.105}},
            **more,
        }
    )


def closed_form_responses(share, command):
    """What axis 1 of the coupled rig answers to each command, (ticks, 2)."""
    return lfilter([0.0, share], [1.0, share - 1.0], command, axis=0) * [1.0, 0.3]


def least_squares(command, measured, memory, band):
    """The change of lag [s] of axis 1 against a share of 0.1, by one weighted least squares over the record."""
    b, a = butter(1, band, "bandpass", fs=1.0 / STEP)
    seen, x = (lfilter(b, a, one - one[0], axis=0) for one in (command, measured))
    answers = closed_form_responses(0.1, seen)
    columns = []
    for one in (answers.sum(axis=1), answers[:, 1]):
        columns += [one, np.gradient(one, STEP)]
    weight = np.exp(-0.5 * STEP * np.arange(len(x))[::-1] / memory)
    rows = weight[:, None] * np.array(columns).T
    theta = np.linalg.lstsq(rows, weight * x, rcond=None)[0]
    omega = np.linalg.norm(rows[:, 1]) / np.linalg.norm(rows[:, 0])
    return -np.angle(theta[0] + 1j * omega * theta[1]) / omega


def test_axes_that_answer_each_other_are_told_apart(tmp_path):
    """With the answers to each other in the least squares: exact as checked, and only the axis that drifts is found."""
    test = coupled(tmp_path, 0.07)
    checked = checked_plant(test)
    assert checked.taps[0, 1].sum() == pytest.approx(0.3, rel=5e-3)
    run = lean_rehearsal(test, (*OF_TWO, "command.1", "command.2", "measured.displacement.1"))
    lag, other, gain, _, outside, calm = (run.signals[name].values for name in OF_TWO)
    assert lag[1000:3000] == pytest.approx(checked.lag[0], rel=1e-4)
    assert gain[1000:3000] == pytest.approx(checked.gain[0], rel=1e-4)
    assert outside[1000:3000].max() < 0.1 and calm[1000:].max() < 0.1
    assert other[1000:] == pytest.approx(checked.lag[1], rel=1e-3)
    left = 3.0 + STEP * np.flatnonzero(outside[3000:] > 1.0)[0]
    assert left < 3.5
    # the same by one least squares over the record; that has no prior, whose weight is a few per cent here
    command = np.column_stack([run.signals[f"command.{i}"].values for i in (1, 2)])
    band = test.online_identification.band(STEP)
    found = least_squares(command, run.signals["measured.displacement.1"].values, 0.5, band)
    assert lag[-1] - checked.lag[0] == pytest.approx(found, rel=0.05)
    # a change that is no pure delay is more than θ₁ and θ₂: the answers to others take part of it, and the estimate is
    # below the change at any frequency of the motion
    omega = 2 * np.pi * np.linspace(0.5, 8.0, 16)
    z = np.exp(1j * omega * STEP)
    now, then = (-np.angle(share / (z - 1.0 + share)) / omega for share in (0.07, 0.1))
    assert 0.0 < found < (now - then).min()


def test_off_unless_asked_for_and_refused_where_it_has_no_meaning():
    assert not [one for one in halfreal.build(definition()).channels if one.name.startswith("plant")]
    for asked, told in (
        ({"lowest": 5.0, "highest": 2.0}, "2 Hz is not above lowest"),
        ({"highest": 450.0}, "a band up to 450 Hz at 1000 ticks a second"),
    ):
        with pytest.raises(ValueError, match=told):
            definition(online_identification=asked)
