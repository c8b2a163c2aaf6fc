"""A slow test is not resumed on a rig that is not where its record ends, unless the operator gives a reason."""

from __future__ import annotations

import dataclasses
import signal
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import halfreal
from halfreal import units
from halfreal.definition.faults import DefinitionError
from halfreal.links.controller_end import Offer
from halfreal.live.comparison import compare, differences, tolerances
from halfreal.live.resumption import Resumption, resume
from halfreal.live.slow_operator import RefusedError
from halfreal.records import run_file
from halfreal.runs.run import Run, Signal
from links.ends import offer_of
from live.processes import TURNING_LIMITS, Process, column, definition, kill
from live.proxy import At, Proxy
from live.slow import PERIOD, SLOW, SPRING, SlowRig, assert_same_test, completed, recorded, slow_definition, slow_file
from live.test_agreement import TWO_AXES

RATE = 0.5
LIMITS = {"limits.command.trip": "50 mm", "limits.command_rate.trip": f"{RATE} m/s", "limits.force.trip": "150 N"}
REFERENCE = {"reference.substeps": 8}
WHEN = 215
"""Sequence of the command at which the controller is killed; it is on its way then."""


def killed(folder: Path, *of_rig: Mapping[str, object]) -> tuple[Run, float, int]:
    """The record of a test whose controller was killed on its way, where the rig stands, and its port."""
    running: list[int] = []
    crash = At(WHEN, lambda: kill(*running))
    with SlowRig(folder, SPRING, *of_rig) as rig, Proxy(rig.port, commands=crash) as proxy:
        file = slow_file(folder / "test.toml", proxy.port, SPRING, REFERENCE, LIMITS)
        with Process(folder, "run", "run", str(file), "--output", str(folder / "run.h5"), "--start") as process:
            running.append(process.pid)
            assert process.ends() == -signal.SIGKILL
        record = recorded(folder / "run.h5")
        stands = float(column(rig.records(1), "rig.displacement")[-1])
        return record, stands, proxy.port


def resumed(folder: Path, *options: str) -> Process:
    with Process(folder, "resume", "resume", str(folder / "run.h5"), "--start", *options) as process:
        process.ends()
    return process


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, float, int]:
    return killed(tmp_path_factory.mktemp("crashed"))


@pytest.fixture
def record(crashed: tuple[Run, float, int], tmp_path: Path) -> tuple[Run, float, int]:
    """The record in a folder of its own."""
    run_file.save(crashed[0], tmp_path / "run.h5")
    return crashed


def test_a_rig_that_was_moved_is_refused_whatever_start_says_and_taken_with_a_reason(
    record: tuple[Run, float, int], tmp_path: Path
) -> None:
    before, _, port = record
    with SlowRig(tmp_path, SPRING, port=port, at="-20 mm") as rig:
        refused = resumed(tmp_path)
        assert refused.process.returncode == 2
        assert "the rig is not where the record ends: displacement -20 mm, in the record" in refused.complained
        assert "; force -45 N, in the record" in refused.complained
        assert "--rig-has-moved REASON" in refused.complained and "Traceback" not in refused.complained
        assert not (tmp_path / "run.resumed.h5").exists() and "armed" not in rig.said
        assert resumed(tmp_path, "--rig-has-moved", " ").process.returncode == 2, "no reason at all"
        assert resumed(tmp_path, "--rig-has-moved", "unloaded for a repair").process.returncode == 0
        commands = column(rig.records(1), "command")
    run = halfreal.load_run(tmp_path / "run.resumed.h5")
    assert run.outcome == "completed"
    recorded_reason = [event for event in run.events if event.channel == "resumed"]
    assert len(recorded_reason) == 2
    assert recorded_reason[1].text.startswith(
        "resumed although the rig is not where the record ends (unloaded for a repair): displacement -20 mm, in the"
    )
    assert recorded_reason[1].time == pytest.approx(completed(before) * before.step)
    # from where it stood, no faster than the limit of the rate, though the way is far longer than slow.ramp would allow
    speeds = np.abs(np.diff(np.concatenate([[-0.020], commands]))) / PERIOD
    assert speeds.max() <= RATE
    assert commands[0] + 0.020 < 1e-4 and commands.max() > 0.004
    assert speeds[: int(0.020 / RATE / PERIOD)].max() > 0.8 * RATE, "it did go a long way at once"
    assert_same_test(run, halfreal.rehearse(halfreal.Definition.model_validate(before.definition)))


def test_a_rig_within_the_tolerance_of_its_way_is_taken_and_nothing_is_noted(
    record: tuple[Run, float, int], tmp_path: Path
) -> None:
    """Restarted a little off where it was: between two ticks that is still on its way."""
    before, stands, port = record
    tolerance = 0.01 * np.abs(column(before, "measured.displacement")).max()
    with SlowRig(tmp_path, SPRING, port=port, at=f"{stands + 0.5 * tolerance} m"):
        found = resumed(tmp_path, "--rig-has-moved", "in case")
        assert found.process.returncode == 0, found.complained
    run = halfreal.load_run(tmp_path / "run.resumed.h5")
    assert [event.text for event in run.events if event.channel == "resumed"] == [
        f"resumed after {completed(before)} completed ticks"
    ]


def test_a_rig_that_holds_another_force_is_refused(record: tuple[Run, float, int], tmp_path: Path) -> None:
    """The specimen was exchanged: the place is right, and the force is not."""
    _, stands, port = record
    softer = SPRING.replace("2250", "1000")
    with SlowRig(tmp_path, softer, port=port, at=f"{stands} m") as rig:
        refused = resumed(tmp_path)
        assert refused.process.returncode == 2 and "armed" not in rig.said
    assert "the rig is not where the record ends: force " in refused.complained
    assert "displacement" not in refused.complained
    assert "N, in the record" in refused.complained and "N, tolerance" in refused.complained


def test_a_rig_that_went_home_when_its_lease_was_over_is_refused(tmp_path: Path) -> None:
    before, stands, port = killed(tmp_path, {"limits.on_trip": "return", "limits.return_time": "20 ms"})
    assert abs(stands) < 1e-9 < 1e-3 < abs(column(before, "measured.displacement")[-1])
    with SlowRig(tmp_path, SPRING, port=port):
        refused = resumed(tmp_path)
    assert refused.process.returncode == 2
    assert "the rig is not where the record ends: displacement 0 m, in the record" in refused.complained


# --- what is compared -------------------------------------------------------------------------------------------------


TICKS = 10
AT_REST = {"slow.settle.displacement": "0.1 mm"}


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[halfreal.Definition, Resumption]:
    test = slow_definition(tmp_path_factory.mktemp("interrupted"), 1, SPRING, AT_REST)
    return test, resume(test, cut(halfreal.rehearse(test), TICKS))


def cut(run: Run, ticks: int) -> Run:
    signals = {name: Signal(one.unit, one.values[:ticks].copy()) for name, one in run.signals.items()}
    return dataclasses.replace(run, kind="run", outcome="failed", time=run.time[:ticks], signals=signals)


def changed(test: halfreal.Definition, **tolerances: float) -> halfreal.Definition:
    data = test.model_dump(mode="json")
    data["slow"]["resume"] = tolerances
    return halfreal.Definition.model_validate(data)


def offer(displacement: float, force: float) -> Offer:
    return offer_of(displacement, force)


def test_the_next_command_is_what_the_rehearsal_asks_for_next(interrupted) -> None:
    test, found = interrupted
    assert found.next_command.tolist() == [column(halfreal.rehearse(test), "command.asked")[TICKS]]
    again = resume(test, found.run)
    again.before_the_rig.run(1)  # looking ahead has left no trace
    index = again.before_the_rig.index["command.asked"]
    assert again.before_the_rig.vector[index] == found.next_command[0]


@given(
    where=st.floats(-2.0, 3.0),
    beyond=st.floats(-3.0, 3.0).filter(lambda x: abs(abs(x) - 1.0) > 1e-6),
    tolerance=st.floats(1e-6, 1e-3),
)
def test_the_displacement_must_lie_on_the_way_widened_by_the_tolerance(interrupted, where, beyond, tolerance) -> None:
    test, found = interrupted
    test = changed(test, displacement=tolerance, force=1e6)
    last, goal = column(found.run, "measured.displacement")[-1], found.next_command[0]
    if 0.0 <= where <= 1.0:
        assert differences(test, found, offer(last + where * (goal - last), 0.0)) == []
    end = last if where < 0.5 else goal
    outwards = (end - (goal if end == last else last)) / abs(goal - last)
    assert bool(differences(test, found, offer(end + outwards * abs(beyond) * tolerance, 0.0))) == (abs(beyond) > 1.0)


@given(force=st.floats(-3.0, 3.0).filter(lambda x: abs(abs(x) - 1.0) > 1e-6), tolerance=st.floats(1e-3, 10.0))
def test_at_the_last_tick_the_force_must_be_the_last_one_within_the_tolerance(interrupted, force, tolerance) -> None:
    test, found = interrupted
    test = changed(test, force=tolerance)
    last = column(found.run, "measured.displacement")[-1]
    held = column(found.run, "measured.force")[-1] + force * tolerance
    assert bool(differences(test, found, offer(last, held))) == (abs(force) > 1.0)


def test_on_its_way_the_force_may_have_changed_by_that_share_of_a_ticks_change(interrupted) -> None:
    test, found = interrupted
    test = changed(test, displacement=1e-9, force=1e-3)
    last, goal = column(found.run, "measured.displacement")[-1], found.next_command[0]
    forces = np.concatenate([[0.0], column(found.run, "measured.force")])
    change = np.abs(np.diff(forces)).max()
    half = 0.5 * (last + goal)
    for beyond, refused in ((0.49, False), (0.51, True)):
        for sign in (-1.0, 1.0):
            at = offer(half, forces[-1] + sign * beyond * change)
            assert bool(differences(test, found, at)) == refused


def test_tolerances_left_out_come_from_settling_the_sensors_and_the_record(interrupted, tmp_path: Path) -> None:
    test, found = interrupted
    largest = {name: np.abs(column(found.run, f"measured.{name}")).max() for name in ("displacement", "force")}
    assert 0.01 * largest["displacement"] < 1e-4  # so that of slow.settle is the largest
    assert tolerances(test, found, "displacement").tolist() == [1e-4]
    assert tolerances(test, found, "force") == pytest.approx([0.1 * largest["force"]])
    sensors = {
        "rig.sensors.displacement.noise": "0.1 mm",
        "rig.sensors.displacement.resolution": "20 um",
        "rig.sensors.force.noise": "10 N",
    }
    noisy = slow_definition(tmp_path, 1, SPRING, AT_REST, sensors)
    assert tolerances(noisy, found, "displacement") == pytest.approx([6 * 0.1e-3 + 20e-6])
    assert tolerances(noisy, found, "force") == pytest.approx([60.0])
    assert tolerances(changed(noisy, displacement=2e-6, force=0.5), found, "force").tolist() == [0.5]


def test_without_a_completed_tick_it_must_stand_where_the_test_begins(interrupted) -> None:
    test, found = interrupted
    nothing = resume(test, cut(found.run, 0))
    assert differences(test, nothing, offer(0.0, 0.0)) == []
    assert differences(test, nothing, offer(-1.1e-4, 0.0)) != []
    assert differences(test, nothing, offer(0.0, 0.1)) == ["force 100 mN, in the record 0 N, tolerance 0 N"]


def test_the_refusal_gives_what_is_measured_the_record_the_tolerance_and_the_remedy(interrupted) -> None:
    test, found = interrupted
    last, force = (column(found.run, f"measured.{name}")[-1] for name in ("displacement", "force"))
    with pytest.raises(RefusedError) as refused:
        compare(test, found, offer(0.03, force), "")
    text = str(refused.value)
    assert (
        "displacement 30 mm, in the record " in text
        and ", next command " in text
        and f"tolerance {units.text(1e-4, 'm')}" in text
    )
    assert f"{1e3 * last:.4g} mm" in text and f"{1e3 * found.next_command[0]:.4g} mm" in text
    assert "bring it back there" in text and "slow.resume" in text
    assert compare(test, found, offer(last, force), "not needed") == ()
    for bad in (offer(np.nan, force), offer(last, np.nan)):
        with pytest.raises(RefusedError, match="the rig is not where the record ends"):
            compare(test, found, bad, "")


def test_of_several_axes_each_is_compared_with_its_own_tolerance_and_named(tmp_path: Path) -> None:
    moved = {name: value for name, value in SLOW.items() if name.startswith(("slow.", "virtual.scheme", "timing"))}
    both = {"axes": ["y", "rz"], "slow.settle.rotation": "1 urad", "slow.resume.force": "1 N", **TURNING_LIMITS}
    test = definition(tmp_path, 1, TWO_AXES, moved, both, {"slow.resume.moment": "2 N m"})
    found = resume(test, cut(halfreal.rehearse(test), TICKS))
    last, force = (found.measured(name)[-1] for name in ("displacement", "force"))
    assert differences(test, found, offer_of(last, force + np.array([0.9, -1.9]))) == []
    (first,) = differences(test, found, offer_of(last, force + np.array([1.1, 1.9])))
    assert first.startswith("axis y: force ") and first.endswith("tolerance 1 N")
    (second,) = differences(test, found, offer_of(last, force - np.array([0.9, 2.1])))
    assert second.startswith("axis rz: moment ") and second.endswith("tolerance 2 N m")


@pytest.mark.parametrize(
    ("given_as", "words"),
    [
        ({"slow.resume.rotation": "1 deg"}, "1 values for 0 axis"),
        ({"slow.resume.moment": "1 N m"}, "1 values for 0 axis"),
        ({"slow.resume.force": ["1 N", "2 N"]}, "2 values for 1 axis"),
        ({"slow.resume.displacement": "0 mm"}, "slow.resume.displacement"),
        ({"slow.resume.displacement": "1 N"}, "slow.resume.displacement"),
    ],
)
def test_tolerances_that_cannot_be_are_refused(tmp_path: Path, given_as: dict[str, object], words: str) -> None:
    with pytest.raises(DefinitionError, match=words):
        slow_definition(tmp_path, 1, SPRING, given_as)
