"""A run is its rehearsal, sample for sample, when the rig works in step: so also are its trips, to the last bit."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import halfreal
from live.processes import (
    IN_STEP,
    TURNING_LIMITS,
    Rig,
    assert_every_tick,
    assert_held_after_trip,
    assert_obeyed,
    assert_same,
    column,
    definition,
    tripped_at,
)

NOISE = {"rig.sensors.displacement.noise": "1 um", "rig.sensors.force.noise": "0.1 N"}
SOFT = {"timing.soft_start": "0.1 s", "timing.soft_stop": "0.2 s", "limits.safe_position": ["1 mm"]}
DELAYED = {
    "rig.actuator.delay": "9.4 ms",
    "rig.actuator.reconstruction": "cubic",
    "coupling.kind": "forward prediction",
    "coupling.prediction": "9.4 ms",
    "coupling.order": 3,
    "coupling.points": 12,
}
TWO_AXES = {
    "virtual.mass": [["2.2 kg", "0 kg"], ["0 kg", "1.5 kg"]],
    "virtual.damping": [["30 N s/m", "-5 N s/m"], ["-5 N s/m", "20 N s/m"]],
    "virtual.stiffness": [["4500 N/m", "-800 N/m"], ["-800 N/m", "3000 N/m"]],
    "virtual.support.stiffness": None,
    "virtual.support.damping": None,
    "virtual.interface": [1, 2],
    "virtual.force_dof": 1,
    "excitation.virtual.displacement": None,
    "excitation.virtual.force": "20 N",
    "rig.specimen.stiffness": [["2250 N/m", "-500 N/m"], ["-500 N/m", "1200 N/m"]],
}
TURNING = {
    "axes": ["y", "rz"],
    "limits.rotation.safe_position": ["-2 mrad"],
    **TURNING_LIMITS,
    "rig.sensors.rotation.noise": "1 urad",
    "rig.sensors.moment.noise": "0.1 N m",
}


@pytest.mark.parametrize(
    ("medium", "changes"),
    [
        ("udp", {**NOISE, **DELAYED}),
        ("shared memory", {**NOISE, **SOFT}),
        ("udp", {**TWO_AXES, **NOISE, **SOFT, **TURNING}),
    ],
    ids=["noise and prediction", "shared memory, noise and soft ends", "two axes, noise and soft ends"],
)
def test_a_run_is_its_rehearsal_sample_for_sample(tmp_path: Path, medium: str, changes: dict[str, object]) -> None:
    changes = {**IN_STEP, **changes}
    if medium == "shared memory":
        changes |= {"link.kind": medium, "link.rig": None, "link.name": f"agreement-{os.getpid()}"}
    with Rig(tmp_path, "--once", "--in-step", changes=changes) as rig:
        given = definition(tmp_path, rig.port, changes)
        run = halfreal.run(given, tmp_path / "run.h5")
        record = rig.record()
    assert (run.outcome, run.reason) == ("completed", "")
    assert run.rig["nature"] == record.rig["nature"] == "simulated" and run.rig["name"] == record.rig["name"]
    assert run.accepted is not None and run.accepted.word == "ACCEPTED", run.accepted
    assert run.specimen_met is not None and not run.specimen_met.differs
    rehearsal = halfreal.rehearse(given)
    assert_same(run, rehearsal)
    for name, share in rehearsal.limits_used.items():
        assert run.limits_used[name] == share
    assert record.signals["rig.state"].values[-1] == 1.0
    if given.virtual.axes == 1:
        assert_obeyed(run, record)


def test_a_limit_is_crossed_by_the_smallest_number_and_not_by_itself(tmp_path: Path, rig_in_step: Rig) -> None:
    home = {**IN_STEP, "timing.soft_stop": "0.05 s"}  # so that the second test begins where the first did
    peak = float(np.abs(column(halfreal.rehearse(definition(tmp_path, 0, home)), "measured.force")).max())
    below = float(np.nextafter(peak, 0.0))
    given = definition(tmp_path, rig_in_step.port, home, {"limits.force.trip": f"{peak!r} N"})
    assert given.limits.force.trip[0] == peak
    run = halfreal.run(given, tmp_path / "at.h5")
    assert (run.outcome, run.limits_used["measured.force"]) == ("completed", 1.0)
    assert_same(run, halfreal.rehearse(given))
    given = definition(tmp_path, rig_in_step.port, home, {"limits.force.trip": f"{below!r} N"})
    assert given.limits.force.trip[0] == below
    run = halfreal.run(given, tmp_path / "below.h5", without_go="a limit that is crossed")
    rehearsal = halfreal.rehearse(given)
    assert run.outcome == rehearsal.outcome == "tripped"
    assert run.reason == rehearsal.reason and run.reason.startswith("measured.force was ")
    assert tripped_at(run) == tripped_at(rehearsal)
    assert abs(column(run, "measured.force")[tripped_at(run)]) == peak
    assert_same(run, rehearsal)
    assert_held_after_trip(run)


def test_an_unstable_test_trips_on_its_energy_before_its_gap(tmp_path: Path) -> None:
    unstable = {**IN_STEP, "rig.actuator.delay": "25 ms", "timing.duration": "1 s", "limits.gap.trip": "10 mm"}
    watched = {**unstable, "limits.energy.trip": 0.5, "limits.energy.window": "0.1 s"}
    with Rig(tmp_path, "--once", "--in-step", changes=watched) as rig:
        given = definition(tmp_path, rig.port, watched)
        with pytest.raises(halfreal.live.session.NoGoError, match="NO-GO: unstable"):
            halfreal.run(given, tmp_path / "run.h5", without_go=" ")  # which is no reason
        run = halfreal.run(given, tmp_path / "run.h5", without_go="to see the energy error trip")
        record = rig.record()
    assert run.outcome == "tripped"
    assert run.reason.startswith("energy error was ") and run.reason.endswith("beyond its limit of 0.5")
    assert run.verdict == "NO-GO" and run.reasons[0] == "run without a GO: to see the energy error trip"
    assert halfreal.load_run(tmp_path / "run.h5").reasons == run.reasons
    assert_same(run, halfreal.rehearse(given))
    assert_obeyed(run, record)
    assert_every_tick(run)
    without = halfreal.rehearse(definition(tmp_path, 0, unstable))
    assert without.reason.startswith("gap was ")
    assert tripped_at(run) < tripped_at(without)
    assert np.abs(column(run, "gap")).max() < 0.01
