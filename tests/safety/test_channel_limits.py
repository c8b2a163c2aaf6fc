"""Limits of any channel of the loop, by its name."""

import pytest

import halfreal
from halfreal.contracts.axes import Axes
from halfreal.definition.definition import Definition
from halfreal.definition.write import to_toml
from halfreal.errors import HalfrealError
from halfreal.kernels.block import Channel
from halfreal.safety.limits import Limits

TEST = {
    "title": "limited",
    "timing": {"step": 1e-3, "duration": 0.2},
    "virtual": {"mass": [[2.2]], "damping": [[30.0]], "stiffness": [[4500.0]], "interface": [1], "force_dof": 1},
    "excitation": {"virtual": {"kind": "sine", "force": 20.0, "frequency": 3.0}},
    "rig": {"specimen": {"stiffness": [[2250.0]]}},
}
THERE = (Channel("rig.stroke.1", "m"), Channel("coupling.nmse", "1"))


def with_(**limits):
    return Definition.model_validate({**TEST, "limits": {"channels": limits}})


def test_a_channel_beyond_its_limit_warns_trips_and_is_told_with_its_unit():
    free = halfreal.rehearse(with_(**{"rig.acceleration": {"trip": "100 m/s^2"}}))
    assert free.outcome == "completed"
    largest = abs(free.signals["rig.acceleration"].values).max()
    assert free.limits_used["rig.acceleration"] == pytest.approx(largest / 100.0, rel=0.05)
    run = halfreal.rehearse(with_(**{"rig.acceleration": {"warn": "0.2 m/s^2", "trip": "0.4 m/s^2"}}))
    assert run.outcome == "tripped"
    assert run.reason.startswith("rig.acceleration was ") and run.reason.endswith("beyond its limit of 400 mm/s^2")
    assert any(event.text == "warning: rig.acceleration beyond its warning limit" for event in run.events)
    assert run.limits_used["rig.acceleration"] > 1.0


def test_limits_of_channels_go_through_toml(tmp_path):
    mine = with_(**{"rig.force": {"warn": "1 N", "trip": "2 kN"}})
    file = tmp_path / "limited.toml"
    file.write_text(to_toml(mine))
    assert halfreal.load(file) == mine


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        (
            {"rig.stroke.3": {"trip": "1 mm"}},
            "'rig.stroke.3', which is not a channel of this loop; available: .*rig.force",
        ),
        ({"rig.force": {"trip": "1 mm"}}, r'limits.channels."rig.force".trip: .1 mm. is in mm where N is expected'),
        ({"rig.force": {"trip": 5.0}}, "5 has no unit where N is expected; write '5 N'"),
        ({"rig.force": {"trip": "-5 N"}}, "a limit is above zero"),
        ({"rig.force": {"warn": "5 N", "trip": "3 N"}}, "a warning must come first"),
    ],
)
def test_limits_that_do_not_fit_are_refused_when_the_loop_is_built(limits, told):
    with pytest.raises(HalfrealError, match=told):
        halfreal.rehearse(with_(**limits))


def test_over_a_link_what_the_rig_writes_for_itself_is_not_known():
    limits = Limits(channels={"rig.stroke.2": {"trip": "1 mm"}, "coupling.nmse": {"trip": 0.5}})
    with pytest.raises(HalfrealError, match="over a link, channels inside the rig"):
        limits.check_channels(THERE, linked=True)
    watch = Limits(channels={"coupling.nmse": {"trip": 0.5}}).watched(Axes.numbered(1))
    assert watch.others == ()
