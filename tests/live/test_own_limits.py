"""A rig's own limits: compared before it is armed, and kept whatever its controller was promised."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import halfreal
from halfreal.links.wires import LinkError
from live.processes import SAFE, STEP, Rig, armed, column, definition

OWN: dict[str, object] = {"limits.command.trip": "10 mm", "limits.command_rate.trip": "0.1 m/s", "link.lease": "0.5 s"}
NONE: dict[str, object] = {"limits.command.trip": None, "limits.command_rate.trip": None}
BRAKING = 0.1
"""The longest that braking takes [s]."""
WITHOUT_GO = "the rig's own limits are tested"
SMALL: dict[str, object] = {"excitation.virtual.displacement": "1 mm"}


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory):
    with Rig(tmp_path_factory.mktemp("rig"), changes=OWN) as rig:
        rig.lease = 0.5
        yield rig


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"limits.command.trip": "20 mm", "limits.command_rate.trip": "0.1 m/s"},
            r"limits\.command\.trip is 20 mm on axis 1, but the rig's own limit is 10 mm.*tighten limits\.command",
        ),
        (
            {"limits.command.trip": "10 mm", "limits.command_rate.trip": "0.2 m/s"},
            r"limits\.command_rate\.trip is 200 mm/s on axis 1, but the rig's own limit is 100 mm/s",
        ),
        ({"link.lease": "0.6 s"}, r"does not grant a lease of 0\.6 s; shorten link\.lease"),
    ],
)
def test_a_test_with_wider_limits_than_the_rig_is_not_armed(tmp_path: Path, limited: Rig, changes, words: str) -> None:
    session = halfreal.Session(definition(tmp_path, limited.port, SMALL, changes), tmp_path / "run.h5")
    with pytest.raises(LinkError, match=words), armed(session):
        pass
    assert "armed" not in limited.said
    assert not (tmp_path / "run.h5").exists()


def test_without_a_limit_in_the_definition_the_rigs_own_holds(tmp_path: Path, limited: Rig) -> None:
    """The test asks for more than 10 mm: the rig makes itself safe, and no faster than its rate has it moved."""
    wide = {"excitation.virtual.displacement": "40 mm", "timing.duration": "1 s"}
    run = halfreal.run(definition(tmp_path, limited.port, NONE, wide), tmp_path / "run.h5", without_go=WITHOUT_GO)
    record = limited.record()
    assert (run.outcome, run.reason.endswith("the rig went to its safe state: a rig-side limit")) == (
        "tripped",
        True,
    )
    assert (record.outcome, record.reason) == ("tripped", "a rig-side limit")
    command = column(record, "command")
    moved, apart = np.abs(np.diff(command)), np.diff(column(record, "rig.clock"))
    assert np.all(moved <= 0.1 * np.minimum(apart, STEP) * (1.0 + 1e-9))
    assert np.abs(command).max() <= 10e-3
    safe = np.flatnonzero(column(record, "rig.state") == SAFE)
    braked = np.abs(np.diff(command[safe[0] - 2 :]))
    assert np.all(np.diff(braked) <= 1e-12), "its velocity falls from step to step"
    assert abs(command[-1] - command[safe[0] - 1]) <= 0.5 * 0.1 * BRAKING


def test_without_a_limit_in_the_definition_the_way_to_the_test_is_no_faster_than_the_rigs_own(
    tmp_path: Path, limited: Rig
) -> None:
    limited.go_home(8e-3)
    hurried = {"limits.return_time": "20 ms"}  # in which it would have to go at 0.6 m/s
    given = definition(tmp_path, limited.port, NONE, SMALL, hurried)
    run = halfreal.run(given, tmp_path / "run.h5", without_go=WITHOUT_GO)
    limited.record()
    before = column(run, "command")[run.time < 0.0]
    assert run.outcome == "completed" and before[0] == pytest.approx(8e-3, abs=1e-4)
    assert before[-1] == pytest.approx(0.0, abs=1e-4)
    assert np.abs(np.diff(before)).max() <= 0.1 * STEP
