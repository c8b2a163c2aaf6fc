"""``halfreal identify`` on a rig behind a link: the session of ``halfreal run``, with its limits and its reasons."""

from __future__ import annotations

import json
from pathlib import Path

import halfreal
from live.processes import IN_STEP, Process, Rig, written

EXPERIMENT = ("--on-rig", "--start", "--band", "1 Hz .. 40 Hz", "--duration", "5 s")
GUESS = {"rig.specimen.stiffness": "1500 N/m", "rig.actuator.delay": "6 ms"}


def identified(folder: Path, rig: Rig, *options: str, **changes: object) -> Process:
    file = written(folder / "test.toml", {"link.rig": f"127.0.0.1:{rig.port}"}, IN_STEP, GUESS, changes)
    return Process(folder, "identify", "identify", str(file), *EXPERIMENT, *options)


def test_the_rig_behind_a_link_is_found_whatever_the_definition_says(tmp_path: Path, rig_in_step: Rig) -> None:
    with identified(tmp_path, rig_in_step, "--amplitude", "0.5 mm", "--json") as process:
        assert process.ends() == 0, process.complained
        told = json.loads(process.said)
    values = {one["place"]: one for one in told["parameters"]}
    stiffness, delay = values["rig.specimen.stiffness"], values["rig.actuator.delay"]
    assert abs(stiffness["value"] - 2250.0) < 0.02
    # commands of one tick are measured in the next: that way is part of the loop, and of the delay found
    assert 0.5e-3 < delay["value"] < 3e-3
    assert halfreal.load_run(tmp_path / "test.identify.h5").outcome == "completed"
    assert "rig.actuator.delay" in halfreal.load(tmp_path / "test.identified.toml").uncertainty


def test_an_experiment_that_trips_ends_with_no_and_its_reason(tmp_path: Path, rig_in_step: Rig) -> None:
    # the real specimen is stiffer than the definition says: the check lets it pass, the guard does not
    with identified(tmp_path, rig_in_step, "--amplitude", "0.5 mm", **{"limits.force.trip": "3.2 N"}) as process:
        assert process.ends() == 1
        assert "the experiment tripped: measured.force was" in process.complained
        assert "beyond its limit of 3.2 N; give a smaller --amplitude" in process.complained
    assert not (tmp_path / "test.identified.toml").exists()


def test_an_experiment_without_a_go_is_not_armed(tmp_path: Path, rig_in_step: Rig) -> None:
    with identified(tmp_path, rig_in_step, "--amplitude", "0.5 mm", **{"limits.command.trip": "0.1 mm"}) as process:
        assert process.ends() == 1
        assert "NO-GO" in process.said and "not armed" in process.complained
