"""Interfaces whose axes, fed-back quantities and actuators are not one and the same list."""

from pathlib import Path

import numpy as np
import pytest

import halfreal
from halfreal.contracts.axes import Axes
from halfreal.contracts.context import OPEN_LOOP
from halfreal.definition.definition import Definition
from halfreal.definition.write import to_toml
from halfreal.kernels.block import Block, channels
from halfreal.kernels.memory import WiringError
from halfreal.presentation.measures import key_figures, measures
from halfreal.records import run_file
from halfreal.runs.build import build, check_written
from halfreal.studies.check.criteria.kinematics import kinematics
from halfreal.studies.check.examined import Examined

ARM = 0.4
CODE = f"""
import math

import numpy as np

from halfreal.kernels.block import Block, Channel, channels

ARM = {ARM}


def coupler_step(p, s, t, u, y):
    # two parallel actuators hold a rigid coupler; the specimen resists it
    x, turn = 0.5 * (u[0] + u[1]), (u[0] - u[1]) / (2.0 * ARM)
    y[0], y[1] = x, turn
    y[2], y[3] = 2250.0 * x - 500.0 * turn, -500.0 * x + 1200.0 * turn
    return 0


def strokes_step(p, s, t, u, y):
    coupler_step(p, s, t, u, y)
    y[0], y[1] = u[0], u[1]
    return 0


def along_step(p, s, t, u, y):
    y[0], y[1] = u[0], u[1]
    y[2], y[3] = 2250.0 * u[0] - 500.0 * u[1], -500.0 * u[0] + 1200.0 * u[1]
    return 0


def third_step(p, s, t, u, y):
    # the third axis is held by nobody, and its moment is measured all the same
    y[0], y[1], y[2] = u[0], u[1], 0.0
    y[3], y[4], y[5] = 2250.0 * u[0] - 500.0 * u[1], -500.0 * u[0] + 1200.0 * u[1], 30.0 * u[0]
    return 0


def measured(n, place="measured.displacement"):
    return (*channels(place, "m", 2 if place == "measured.stroke" else n), *channels("measured.force", "N", n))


def coupler(dt, substeps, commands, initial, parameters):
    return [], [Block("coupler", coupler_step, commands, measured(2))]


def by_strokes(dt, substeps, commands, initial, parameters):
    return [], [Block("coupler", strokes_step, commands, measured(2, "measured.stroke"))]


def along(dt, substeps, commands, initial, parameters):
    return [], [Block("rig", along_step, commands, measured(2))]


def third(dt, substeps, commands, initial, parameters):
    return [], [Block("rig", third_step, commands, measured(3))]


def strokes(p, s, t, u, y):
    y[0], y[1] = u[0] + p.arm * math.sin(u[1]), u[0] - p.arm * math.sin(u[1])
    return 0


def pose(p, s, t, u, y):
    y[0], y[1] = 0.5 * (u[0] + u[1]), math.asin((u[0] - u[1]) / (2.0 * p.arm))
    return 0
"""
STRUCTURE = {
    "mass": np.diag([2.2, 1.5]),
    "damping": [[30.0, -5.0], [-5.0, 20.0]],
    "stiffness": [[4500.0, -800.0], [-800.0, 3000.0]],
    "interface": [1, 2],
    "force_dof": 1,
}
TWO = {"actuators": ["a1", "a2"], "matrix": [[1.0, ARM], [1.0, -ARM]]}
IDENTITY = {"actuators": ["a1", "a2"], "matrix": [[1.0, 0.0], [0.0, 1.0]]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("coupler")
    (folder / "coupler.py").write_text(CODE)
    return folder


def definition(folder: Path, function: str, **changed):
    given = {
        "title": "two actuators",
        "axes": ["x", "rz"],
        "timing": {"step": 1e-3, "duration": 0.3},
        "virtual": STRUCTURE,
        "excitation": {"virtual": {"kind": "sine", "force": 20.0, "frequency": 3.0}},
        "rig": {"kind": "assembled", "commands": "displacement", "function": f"{folder}/coupler.py:{function}"},
        **changed,
    }
    return Definition.model_validate(given)


def functions(folder: Path):
    file, arm = folder / "coupler.py", {"arm": ARM}
    both = {part: {"function": f"{file}:{part}", "parameters": arm} for part in ("strokes", "pose")}
    return {"actuators": ["a1", "a2"], **both}


def test_axes_commanded_axes_and_actuators_are_lists_of_their_own():
    axes = Axes(("x", "rz", "rz_2"), passive=("rz",), moved_by=("a1", "a2"))
    assert axes.commanded.names == ("x", "rz_2") and axes.commanded_at == (0, 2)
    assert list(axes.commanded.rotations) == [False, True]
    assert axes.actuators.channels("command") == ("command.a1", "command.a2")
    assert axes.actuators.units("m") == ("m", "m")
    assert Axes(("x", "rz"), passive=("rz",)).actuators.channels("command") == ("command",)


def test_the_identity_gives_the_same_bits_as_no_kinematics(folder):
    plain = halfreal.rehearse(definition(folder, "along"))
    mapped = halfreal.rehearse(definition(folder, "along", kinematics=IDENTITY))
    for signal in ("target", "measured.displacement", "measured.force", "gap", "energy.error", "command", "feedback"):
        ours, theirs = plain.vector(signal), mapped.vector(signal)
        assert ours is not None and theirs is not None and ours.tobytes() == theirs.tobytes(), signal
    assert mapped.stability.spectral_radius == plain.stability.spectral_radius


def test_two_actuators_move_two_axes(folder):
    run = halfreal.rehearse(definition(folder, "coupler", kinematics=TWO))
    plain = halfreal.rehearse(definition(folder, "along"))
    assert np.allclose(run.vector("target"), plain.vector("target"), rtol=0, atol=1e-12)
    strokes = run.vector("command")
    assert np.allclose(strokes, run.vector("pose.asked") @ np.transpose(TWO["matrix"]), atol=1e-15)
    assert [run.signals[f"command.{name}"].unit for name in ("a1", "a2")] == ["m", "m"]
    assert run.signals["measured.displacement.rz"].unit == "rad" and run.signals["pose.asked.rz"].unit == "rad"


@pytest.mark.parametrize("coupling_in", ["pose", "actuators"])
def test_functions_map_a_geometry_that_is_not_linear(folder, coupling_in):
    mapped = {**functions(folder), "coupling_in": coupling_in}
    coupling = {"kind": "forward prediction", "prediction": 2e-3}
    run = halfreal.rehearse(definition(folder, "by_strokes", kinematics=mapped, coupling=coupling))
    assert run.outcome == "completed"
    x, turn = run.vector("measured.displacement").T
    strokes = np.column_stack([x + ARM * np.sin(turn), x - ARM * np.sin(turn)])
    assert np.allclose(strokes, run.vector("measured.stroke"), atol=1e-12)
    assert np.abs(x).max() > 1e-4


def test_limits_of_actuators_are_watched_and_told_by_their_names(folder):
    wide = {"actuator": {"stroke": {"trip": 1.0}}}
    free = halfreal.rehearse(definition(folder, "coupler", kinematics=TWO, limits=wide))
    assert free.limits_used["command.asked"] == pytest.approx(np.abs(free.vector("command.asked")).max())
    limits = {"actuator": {"stroke": {"trip": ["1 m", "1 mm"]}, "rate": {"trip": "5 m/s"}}}
    run = halfreal.rehearse(definition(folder, "coupler", kinematics=TWO, limits=limits))
    assert run.outcome == "tripped" and run.reason.startswith("command.asked.a2 was ")
    assert run.reason.endswith("beyond its limit of 1 mm")


def test_a_trip_and_a_soft_stop_bring_the_actuators_home_in_their_own_coordinates(folder):
    limits = {"safe_position": "1 mm", "rotation": {"safe_position": "2 mrad"}}
    timing = {"step": 1e-3, "duration": 0.1, "soft_start": 0.05, "soft_stop": 0.1}
    run = halfreal.rehearse(definition(folder, "coupler", kinematics=TWO, limits=limits, timing=timing))
    assert run.vector("command")[-1] == pytest.approx([1e-3 + ARM * 2e-3, 1e-3 - ARM * 2e-3], rel=1e-4)


THREE = {
    "mass": np.diag([2.2, 1.5, 1.0]),
    "damping": np.diag([30.0, 20.0, 20.0]),
    "stiffness": [[4500.0, -800.0, 0.0], [-800.0, 3000.0, 200.0], [0.0, 200.0, 2500.0]],
    "interface": [1, 2, 3],
    "force_dof": 1,
}
PASSIVE = {"axes": ["x", "rz", "rz_2"], "passive": ["rz_2"], "virtual": THREE}


def test_a_passive_axis_is_fed_back_and_not_commanded(folder):
    run = halfreal.rehearse(definition(folder, "third", **PASSIVE))
    assert "measured.force.rz_2" in run.signals and "feedback.rz_2" in run.signals
    assert run.vector("gap").shape[1] == run.vector("command").shape[1] == run.vector("energy.error").shape[1] == 2
    assert not {"command.rz_2", "gap.rz_2", "energy.error.rz_2", "command.asked.rz_2"} & set(run.signals)
    # the moment, which follows x, is what moves the third axis
    assert np.abs(run.vector("target")[:, 2]).max() > 1e-6
    rows = {(row.comparison, row.axis) for row in measures(run)}
    assert {axis for _, axis in rows} == {"x", "rz"}


def test_passive_axes_and_actuators_go_together_through_check_report_and_record(folder, tmp_path):
    mine = definition(folder, "third", **PASSIVE, kinematics=IDENTITY)
    (tmp_path / "mine.toml").write_text(to_toml(mine))
    assert halfreal.load(tmp_path / "mine.toml") == mine
    found = halfreal.check(mine)
    assert found.verdict == "GO", found.summary()
    run_file.save(found.rehearsal, tmp_path / "run.h5")
    again = run_file.load_run(tmp_path / "run.h5")
    for owner in ("axis", "commanded", "actuator"):
        assert again.interface.of(owner).channels("q") == mine.interface.of(owner).channels("q")
    halfreal.report(again, tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text()
    assert "actuator a2" in page and ", axis rz_2" not in page
    assert "rz_2" not in " ".join(text for _, text in key_figures(again))


def test_the_open_loop_has_as_many_channels_as_actuators(folder):
    loop = build(definition(folder, "third", **PASSIVE, kinematics=IDENTITY), OPEN_LOOP)
    assert [channel.name for channel in loop.channels if channel.name.startswith("probe")] == ["probe.a1", "probe.a2"]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"kinematics": {**TWO, "actuators": ["a1", "a1"]}}, "names an actuator twice"),
        ({"kinematics": {**TWO, "matrix": [[1.0, 0.5], [2.0, 1.0]]}}, "move 1 of 2 axes independently"),
        ({"kinematics": {**TWO, "matrix": [[1.0], [1.0]]}}, r"1 column\(s\) for 2 commanded axis\(es\)"),
        ({"kinematics": {"actuators": ["a1", "a2"]}}, "either a matrix, or a coupler, or both functions"),
        ({"passive": ["y"]}, "'y' is not one of the axes"),
        ({"passive": ["x", "rz"]}, "nothing is commanded"),
        (
            {"passive": ["rz"], "rig": {"specimen": {"stiffness": np.eye(2)}}},
            "moves every axis of its interface, but rz",
        ),
        ({"kinematics": TWO, "rig": {"specimen": {"stiffness": np.eye(2)}}}, "not in strokes of actuators"),
        ({"kinematics": TWO, "limits": {"command": {"trip": 1.0}}}, "give limits.actuator.stroke instead"),
        ({"kinematics": TWO, "limits": {"actuator": {"rate": {"trip": [1.0, 2.0, 3.0]}}}}, "3 values for 2 axis"),
        ({"limits": {"actuator": {"rate": {"trip": 1.0}}}}, r"those of axes; give limits.command, or a \[kinematics\]"),
        ({"kinematics": TWO, "link": {"kind": "udp"}}, r"no \[kinematics\] yet"),
        ({"passive": ["rz"], "slow": {"period": 1e-3, "ramp": 0.1}}, "no passive axes yet"),
        (
            {"passive": ["rz"], "coupling": {"kind": "harmonic rls", "base_frequency": 3.0, "transfer": "model"}},
            "works in the coordinates of the virtual substructure's interface; no axis may be passive",
        ),
    ],
)
def test_what_cannot_be_is_refused(folder, changed, told):
    with pytest.raises(ValueError, match=told):
        definition(folder, "coupler", **changed)


def test_a_part_that_does_not_say_what_its_channels_are_of_is_told_so():
    silent = Block("rig", lambda *_: 0, (), channels("measured.force", "N", 2))
    with pytest.raises(WiringError, match=r"no block writes target.x, target.rz; .* of=\"axis\"\)"):
        check_written(Axes(("x", "rz")), [silent])


def test_check_refuses_strokes_and_poses_that_do_not_belong_together(folder):
    """One arm in strokes, another in the pose; and actuators that turn nothing at 90 degrees."""
    right = functions(folder)
    wrong = {**right, "pose": {**right["pose"], "parameters": {"arm": 1.2 * ARM}}}
    for given, said in ((right, None), (wrong, "do not belong together")):
        test = definition(folder, "coupler", kinematics=given)
        found = list(kinematics(Examined(test, None, None, False)))
        assert [one.severity for one in found] == ([] if said is None else ["no-go"])
        assert said is None or said in found[0].text
    map_ = definition(folder, "coupler", kinematics=right).kinematics
    assert map_.singular_at(np.array([[0.0, 0.0], [0.01, 1.0]])) is None
    np.testing.assert_allclose(map_.singular_at(np.array([[0.0, 0.0], [0.01, 2.0]])), [0.005, 1.0])
    np.testing.assert_allclose(map_.singular_at(np.array([[0.0, 0.0], [0.01, 0.5 * np.pi]])), [0.01, 0.5 * np.pi])
    with pytest.raises(ValueError, match="move 1 of 2 axes independently"):
        definition(folder, "coupler", kinematics={**TWO, "matrix": [[1.0, 0.2], [1.0, 0.2 + 1e-8]]})
