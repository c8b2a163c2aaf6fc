"""Rehearsals with auxiliary channels: what they measure, what they excite and release, and where they trip."""

import math

import numpy as np
import pytest

import halfreal
from halfreal.definition.definition import Definition
from halfreal.errors import HalfrealError
from halfreal.kernels.modes import TRIPPED
from halfreal.runs.build import build
from halfreal.runs.events import how_it_ended

SINE = {"kind": "sine", "frequency": 3.0, "ramp": 0.05}
TEST = {
    "title": "from the rig",
    "timing": {"step": 1e-3, "duration": 0.4},
    "virtual": {"mass": [[2.2]], "damping": [[30.0]], "stiffness": [[4500.0]], "interface": [1], "force_dof": 1},
    "auxiliary": {
        "generator": {"unit": "V", "signal": {**SINE, "value": "500 mV"}},
        "load_cell": {"unit": "kN", "reads": "rig.force"},
        "spare": {"unit": "1"},
    },
    "excitation": {"virtual": {"kind": "channel", "channel": "generator", "gain": "40 N/V", "limit": "25 N"}},
    "rig": {"specimen": {"stiffness": [[2250.0]]}},
    "reference": {},
}
PLAIN = {**TEST, "auxiliary": {}, "excitation": {"virtual": {**SINE, "force": 20.0}}}
BUTTON = {"unit": "V", "signal": {"kind": "pulse", "value": "5 V", "duration": 0.2}}
PULSE = {"kind": "pulse", "force": 20.0, "duration": 0.02}


def given(**changes):
    return Definition.model_validate({**TEST, **changes})


def channel(run, name):
    return run.signals[name].values


def test_a_test_excited_through_a_channel_is_the_one_excited_by_its_signal():
    run, plain = halfreal.rehearse(given()), halfreal.rehearse(Definition.model_validate(PLAIN))
    assert run.outcome == "completed"
    assert {name: one.unit for name, one in run.signals.items() if name.startswith("measured.")} == {
        "measured.displacement": "m",
        "measured.force": "N",
        "measured.generator": "V",
        "measured.load_cell": "kN",
        "measured.spare": "1",
    }
    for name in ("excitation.virtual", "target", "command", "measured.force"):
        peak = np.abs(channel(plain, name)).max()
        np.testing.assert_allclose(channel(run, name), channel(plain, name), rtol=0, atol=1e-12 * peak)
    np.testing.assert_allclose(channel(run, "measured.generator"), channel(plain, "excitation.virtual") / 40.0)
    np.testing.assert_allclose(1e3 * channel(run, "measured.load_cell"), channel(run, "measured.force"), rtol=1e-14)
    assert not channel(run, "measured.spare").any()
    # the emulated system is driven by what was heard, which is linear between the ticks
    drive, reference = channel(run, "reference"), channel(plain, "reference")
    assert 0.0 < np.abs(drive - reference).max() < 1e-3 * np.abs(reference).max()


def test_stability_and_margins_are_those_of_the_loop_without_channels():
    mine, plain = (halfreal.check(one, remedies=False) for one in (given(), Definition.model_validate(PLAIN)))
    assert mine.verdict == plain.verdict
    assert mine.stability.linearisation.spectral_radius == plain.stability.linearisation.spectral_radius
    assert mine.rehearsal.stability.delay_margin == plain.rehearsal.stability.delay_margin
    assert any("what auxiliary.generator measures, and was rehearsed with its sim" in one for one in mine.reasons)


def test_an_excitation_beyond_its_limit_trips_in_its_tick_and_nothing_of_it_reaches_the_rig():
    free = halfreal.rehearse(given())
    beyond_10 = {"virtual": {**TEST["excitation"]["virtual"], "limit": "10 N"}}
    run = halfreal.rehearse(given(excitation=beyond_10))
    beyond = int(np.flatnonzero(np.abs(channel(free, "excitation.virtual")) > 10.0)[0])
    assert run.outcome == "tripped"
    assert run.reason.startswith("excitation.virtual was 10") and run.reason.endswith("beyond its limit of 10 N")
    assert int(np.flatnonzero(channel(run, "guard.mode") == TRIPPED)[0]) == beyond
    # it brakes from where it was, with the velocity that it had: what comes in that tick changes neither
    moved = np.diff(channel(run, "command")[beyond - 2 :])
    assert np.all(channel(run, "command")[:beyond] == channel(free, "command")[:beyond])
    assert np.all(np.abs(np.diff(np.abs(moved))) <= np.abs(np.diff(channel(free, "command")[:beyond], 2)).max() + 1e-15)
    assert np.all(np.diff(np.abs(moved)) <= 1e-15) and moved[-1] == 0.0


def test_a_channel_beyond_its_limit_trips():
    run = halfreal.rehearse(given(limits={"channels": {"measured.load_cell": {"warn": "1 N", "trip": "2 N"}}}))
    assert run.outcome == "tripped"
    assert run.reason.startswith("measured.load_cell was 0.00") and run.reason.endswith("beyond its limit of 0.002 kN")
    assert any(event.text == "warning: measured.load_cell beyond its warning limit" for event in run.events)


@pytest.mark.parametrize("name", ["generator", "load_cell", "spare"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_channel_that_gives_no_number_trips_in_that_tick_and_is_named_as_the_cause(name, value):
    loop = build(given())
    loop.run(50)
    command = loop.vector[loop.index["command"]]
    loop.vector[loop.index[f"measured.{name}"]] = value
    stretch = loop.run(5, record=["guard.mode", "command"])
    assert np.all(stretch.log[:, 1] == TRIPPED) and np.all(stretch.log[:, 2] == command)
    outcome, reason = how_it_ended(given(), loop, 0)
    assert (outcome, reason) == ("tripped", f"measured.{name} was {value:g}, not a finite number")


def test_a_push_button_releases_what_is_prepared():
    pressed = {"virtual": PULSE, "release_by": {"channel": "button", "threshold": "2 V"}}
    run = halfreal.rehearse(given(auxiliary={"button": BUTTON}, excitation=pressed))
    at = math.ceil(0.2 / math.pi * math.asin(math.sqrt(2.0 / 5.0)) / 1e-3)  # 5 V sin²(π t/0.2 s) = 2 V
    (event,) = [one for one in run.events if one.channel == "excitation.releases"]
    assert (round(event.time / 1e-3), event.text) == (at, "excitation released, number 1")
    plain = halfreal.rehearse(given(auxiliary={}, excitation={"virtual": PULSE}))
    for name in ("target", "reference"):
        assert not channel(run, name)[:at].any()
        peak = np.abs(channel(plain, name)).max()
        np.testing.assert_allclose(channel(run, name)[at:], channel(plain, name)[:-at], rtol=0, atol=1e-9 * peak)
    reasons = halfreal.check(given(auxiliary={"button": BUTTON}, excitation=pressed), remedies=False).reasons
    assert any("released by auxiliary.button; it was rehearsed with releases when the sim" in one for one in reasons)


def test_a_channel_that_reads_what_the_rig_has_not_is_told_the_nearest():
    with pytest.raises(
        HalfrealError, match=r"auxiliary.a.reads: 'rig.froce' is not a channel .*did you mean 'rig.force'?"
    ):
        build(given(auxiliary={**TEST["auxiliary"], "a": {"unit": "N", "reads": "rig.froce"}}))
    with pytest.raises(HalfrealError, match=r"auxiliary.a: rig.force is in N where V is expected"):
        build(given(auxiliary={**TEST["auxiliary"], "a": {"unit": "V", "reads": "rig.force"}}))
    with pytest.raises(HalfrealError, match=r"limits.channels has 'measured.spar', .*did you mean 'measured.spare'?"):
        build(given(limits={"channels": {"measured.spar": {"trip": 1.0}}}))


def test_a_slow_test_has_them_too():
    virtual = {"mass": [[2.2]], "stiffness": [[2250.0]], "force_dof": 1, "scheme": "explicit newmark"}
    slow = {"period": 0.01, "ramp": 0.05}
    run = halfreal.rehearse(
        given(
            timing={"step": 1e-2, "duration": 0.3},
            virtual=virtual,
            excitation={"virtual": {**SINE, "force": 20.0}},
            slow=slow,
            auxiliary={"load_cell": TEST["auxiliary"]["load_cell"]},
        )
    )
    assert run.outcome == "completed"
    force = channel(run, "measured.force")
    np.testing.assert_allclose(1e3 * channel(run, "measured.load_cell")[1:], force[1:], rtol=0, atol=1e-3 * force.max())
