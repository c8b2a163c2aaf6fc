"""A rig assembled by a user's function from the library's blocks, in a definition."""

import numpy as np
import pytest
import scipy.signal

from halfreal.contracts.context import AT_REST, RUN, Purpose
from halfreal.definition.definition import Definition
from halfreal.kernels.user import UserFunctionError
from halfreal.runs.build import build, context_of
from halfreal.runs.rig_alone import rig_alone, rig_fault

PARTS = {"mass": [[0.01]], "damping": [[0.05]], "stiffness": [[1000.0]]}
RIG = """
import numpy as np
from halfreal.kernels.block import Block, Channel
from halfreal.contracts.axes import Axes
from halfreal.models.excitations import silence
from halfreal.rigs.force_actuated import ForceActuated
from halfreal.rigs.interface_geometry import InterfaceGeometry
from halfreal.rigs.peak_filter import PeakFilter
from halfreal.rigs.sensors import Sensors

def rig(dt, substeps, commands, initial, parameters):
    specimen = {"mass": [[0.01]], "damping": [[0.05]], "stiffness": [[1000.0]]}
    parts = ForceActuated(kind="force actuated", specimen=specimen, transfer={"mass": [[parameters["moving"]]]})
    block = parts.block(commands, dt / substeps, initial)
    sensors = Sensors().block(Axes.numbered(1), 1, np.array(block.initial), ideal=True, dt=dt)
    return [silence("excitation.specimen", "N"), block], [sensors]

def forgets(dt, substeps, commands, initial, parameters):
    return rig(dt, substeps, commands, initial, parameters)[0], []

def fails(dt, substeps, commands, initial, parameters):
    return parameters["missing"]

def one_sided(dt, substeps, commands, initial, parameters):
    left = {"position": [-1.0, 0.0, 0.0], "direction": [0.0, 1.0, 0.0]}
    InterfaceGeometry(axes=["y", "rz"], acceleration_sensors=[left, left], actuators=[left])

def too_fast(dt, substeps, commands, initial, parameters):
    PeakFilter(frequencies=[600.0], time_constant=0.1).check_step(dt)

def nothing(dt, substeps, commands, initial, parameters):
    return None

def short(dt):
    return [], []

def control_step(p, s, t, u, y):
    y[0] = p.gain * (u[0] - u[1])
    return 0

def held(dt, substeps, commands, initial, parameters):
    specimen = {"mass": [[0.01]], "damping": [[0.05]], "stiffness": [[-20.0]]}
    parts = ForceActuated(kind="force actuated", specimen=specimen, transfer={"mass": [[0.1]], "damping": [[0.5]]})
    inputs, gain = (*commands, "measured.displacement"), {"gain": parameters["gain"]}
    control = Block("control", control_step, inputs, (Channel("rig.drive", "N"),), parameters=gain)
    block = parts.block(("rig.drive",), dt / substeps, initial)
    sensors = Sensors().block(Axes.numbered(1), 1, np.array(block.initial), ideal=True, dt=dt)
    return [silence("excitation.specimen", "N"), control, block], [sensors]

def told(dt, substeps, commands, initial, parameters, quiet, *, seed=0, ideal=False):
    inner, _ = rig(dt, substeps, commands, initial, parameters)
    noisy = Sensors.model_validate({"displacement": {"noise": 1e-5}})
    return inner, [noisy.block(Axes.numbered(1), seed, np.array(inner[-1].initial), ideal=ideal or quiet, dt=dt)]

def half_told(dt, substeps, commands, initial, parameters, seed):
    return told(dt, substeps, commands, initial, parameters, False, seed=seed)

def asks_for_more(dt, substeps, commands, initial, parameters, seed, room):
    return [], []
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.py").write_text(RIG)
    return tmp_path


HARMONIC = {"kind": "harmonic rls", "frequencies": [8.0], "memory": 1.0, "transfer": "model"}


def definition(rig: dict, coupling: dict = HARMONIC) -> Definition:
    return Definition(
        title="assembled",
        timing={"step": 1e-3, "duration": 1.0},
        virtual={"mass": [[0.1]], "damping": [[0.05]], "stiffness": [[1000.0]], "force_dof": 1},
        excitation={"virtual": {"kind": "sine", "force": 1.0, "frequency": 8.0}},
        coupling=coupling,
        rig=rig,
    )


def test_an_assembled_rig_is_the_rig_it_is_assembled_from(folder):
    whole = definition({"kind": "force actuated", "specimen": PARTS, "transfer": {"mass": [[0.1]]}})
    mine = definition(
        {"kind": "assembled", "commands": "force", "function": f"{folder}/mine.py:rig", "parameters": {"moving": 0.1}}
    )
    logs = [
        build(one).run(500, record=("command", "measured.displacement", "measured.force")).log for one in (whole, mine)
    ]
    assert np.abs(logs[0][:, 1]).max() > 0.1
    np.testing.assert_array_equal(logs[0], logs[1])


@pytest.mark.parametrize(("gain", "stable"), [(100.0, True), (10.0, False)])
def test_position_control_over_its_own_sensor_is_part_of_the_rig_alone(folder, gain, stable):
    """What falls over without control, a stiffness below zero, stands with it: the sampled loop A − B g C tells."""
    rig = {"kind": "assembled", "commands": "displacement", "function": f"{folder}/mine.py:held"}
    mine = definition({**rig, "parameters": {"gain": gain}}, coupling={"kind": "none"})
    a, b = np.array([[0.0, 1.0], [20.0 / 0.11, -0.55 / 0.11]]), np.array([[0.0], [1.0 / 0.11]])
    a, b, *_ = scipy.signal.cont2discrete((a, b, np.eye(2), np.zeros((2, 1))), 1e-3)
    radius = np.abs(np.linalg.eigvals(a - gain * b @ [[1.0, 0.0]])).max()
    assert (radius < 1.0) == stable
    loop = build(mine, AT_REST)
    loop.run(4)
    assert rig_alone(mine, loop).spectral_radius == pytest.approx(radius, abs=1e-9)
    assert (rig_fault(mine, loop) is None) == stable


@pytest.mark.parametrize(
    ("function", "told"),
    [
        ("forgets", "writes measured.displacement, measured.force"),
        ("fails", "did not return a rig: KeyError: 'missing' at mine.py, line 22"),
        (
            "one_sided",
            "one_sided of mine.py did not return a rig: acceleration_sensors: the 2 acceleration sensors leave .* or "
            r"remove a motion; actuators: 1 actuators for 2 motions \(y, rz\); .* \(mine.py, line 26\)$",
        ),
        (
            "too_fast",
            "^too_fast of mine.py did not return a rig: 600 Hz is not below half the sampling rate, 500 Hz; remove "
            r"it or shorten the step \(mine.py, line 29\)$",
        ),
        ("nothing", "^nothing of mine.py returned None; it must return two lists of blocks$"),
    ],
)
def test_what_gives_no_rig_is_told(folder, function, told):
    mine = definition(
        {
            "kind": "assembled",
            "commands": "force",
            "function": f"{folder}/mine.py:{function}",
            "parameters": {"moving": 0.1},
        }
    )
    with pytest.raises(UserFunctionError, match=told):
        build(mine)


def test_a_function_of_other_arguments_is_refused_before_it_is_run(folder):
    with pytest.raises(
        ValueError, match=r"it must have 5 arguments, short\(dt, substeps, commands, initial, parameters\)"
    ):
        definition({"kind": "assembled", "commands": "force", "function": f"{folder}/mine.py:short"})


def test_commands_of_another_kind_than_the_rig_takes_are_refused(folder):
    with pytest.raises(ValueError, match="commanded in displacement"):
        definition({"kind": "assembled", "commands": "displacement", "function": f"{folder}/mine.py:rig"})


def sensed(folder, function, purpose=RUN, seed=1):
    """Seed and noise of the sensors that a function was made to give."""
    settings = {"kind": "assembled", "commands": "force", "function": f"{folder}/mine.py:{function}"}
    test = definition({**settings, "parameters": {"moving": 0.1}})
    test = test.model_copy(update={"timing": test.timing.model_copy(update={"seed": seed})})
    context = context_of(test, purpose)
    sensors = test.rig.blocks(context, context.channels("command")).outer[0]
    return sensors.parameters["seed"], sensors.parameters["noise"][0]


def test_a_function_that_asks_for_them_is_told_the_seed_and_the_purpose_of_the_loop(folder):
    assert sensed(folder, "told", seed=7) == (7.0, 1e-5)
    assert sensed(folder, "told", Purpose(ideal=True)) == (1.0, 0.0)
    assert sensed(folder, "told", AT_REST) == (1.0, 0.0)


def test_a_function_is_told_only_what_it_asks_for(folder):
    assert sensed(folder, "half_told", AT_REST, seed=3) == (3.0, 1e-5)
    assert sensed(folder, "rig", seed=7) == (1.0, 0.0)


def test_a_function_that_asks_for_what_there_is_not_is_refused_with_what_there_is(folder):
    with pytest.raises(
        ValueError, match=r"it must have 5 arguments, .*initial, parameters\), and may have seed, ideal, quiet"
    ):
        definition({"kind": "assembled", "commands": "force", "function": f"{folder}/mine.py:asks_for_more"})
