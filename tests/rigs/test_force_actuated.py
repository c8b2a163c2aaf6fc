import numpy as np
import pytest
import scipy.signal

import halfreal
from halfreal.definition.faults import DefinitionError
from halfreal.runs.build import build

SPECIMEN = {"mass": 0.01, "damping": 0.1, "stiffness": 1000.0}
TRANSFER = {"mass": 0.1, "damping": 1.0, "stiffness": 100.0}


def definition(**changed):
    parts = {
        "title": "shaker",
        "timing": {"step": 1e-3, "duration": 1.0},
        "virtual": {"mass": 0.1, "damping": 0.05, "stiffness": 1000.0},
        "excitation": {"specimen": {"kind": "sine", "force": 2.0, "frequency": 10.0}},
        "coupling": {"kind": "harmonic lms", "frequencies": [10.0], "memory": 5.0, "transfer": "model"},
        "rig": {"kind": "force actuated", "specimen": SPECIMEN, "transfer": TRANSFER},
        "limits": {"drive": {"trip": 5.0}},
        **changed,
    }
    return halfreal.Definition.model_validate(parts)


def test_the_rig_moves_as_scipy_says_for_a_held_command_and_feels_the_specimens_force_alone():
    loop = build(definition())
    log = loop.run(1000, record=["command", "excitation.specimen", "rig.displacement", "rig.force"]).log
    m, d, k = (SPECIMEN[key] + TRANSFER[key] for key in ("mass", "damping", "stiffness"))
    a, b = np.array([[0, 1], [-k / m, -d / m]]), np.array([[0, 0], [1 / m, 1 / m]])
    phi, gamma, *_ = scipy.signal.cont2discrete((a, b, np.eye(2), np.zeros((2, 2))), 1e-3)
    x = np.zeros(2)
    # the row of a tick is written before the rig moves: it has what the rig was after the tick before
    for k_tick in range(999):
        command, push = log[k_tick, 1], log[k_tick + 1, 2]
        x = phi @ x + gamma @ [command, push]
        assert log[k_tick + 1, 3] == pytest.approx(x[0], rel=1e-9, abs=1e-15)
        acceleration = (command + push - d * x[1] - k * x[0]) / m
        force = SPECIMEN["mass"] * acceleration + SPECIMEN["damping"] * x[1] + SPECIMEN["stiffness"] * x[0] - push
        assert log[k_tick + 1, 4] == pytest.approx(force, rel=1e-9, abs=1e-12)


def test_commands_of_such_a_rig_are_forces_with_limits_of_their_own_and_a_trip_ends_with_none():
    loop = build(definition())
    assert next(c.unit for c in loop.channels if c.name == "command") == "N"
    run = halfreal.rehearse(definition(limits={"drive": {"trip": 1e-9}, "on_trip": "return"}))
    assert run.outcome == "tripped"
    assert "command.asked" in run.reason
    assert "N" in run.reason.split("beyond")[1]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"limits": {"command": {"trip": 0.01}}}, "give limits.drive instead"),
        ({"limits": {"command_rate": {"trip": 0.01}}}, "give limits.drive_rate instead"),
        ({"rig": {"kind": "force actuated", "specimen": {"stiffness": 1000.0}}}, "no mass"),
        (
            {"rig": {"kind": "force actuated", "specimen": {"mass": np.eye(2)}, "transfer": TRANSFER}},
            "one row for each interface axis",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_remedy(changed, told):
    with pytest.raises((DefinitionError, ValueError), match=told):
        definition(**changed)
    with pytest.raises(ValueError, match=r"give limits\.command instead"):
        definition(coupling={"kind": "none"}, rig={"specimen": {"stiffness": 1.0}})
