"""`halfreal check` on harmonic couplings that cannot work: place, value, limit and remedy are told."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from halfreal.cli import app

pytestmark = pytest.mark.xdist_group("harmonic")  # one process compiles for all

TOML = """title = "lumped"
[timing]
step = "1 ms"
duration = "1 s"
[virtual]
mass = "0.1 kg"
damping = "0.05 N s/m"
stiffness = "1000 N/m"
force_dof = 1
[excitation.virtual]
kind = "sine"
force = "1 N"
frequency = "8 Hz"
[coupling]
kind = "harmonic rls"
transfer = "model"
[rig]
kind = "force actuated"
specimen = { mass = "10 g", damping = "0.05 N s/m", stiffness = "1000 N/m" }
transfer = { mass = "0.1 kg", damping = "1 N s/m", stiffness = "100 N/m" }
"""
TWO = """
mass = [["200 g", "0 g"], ["0 g", "100 g"]]
damping = [["1.2 N s/m", "-0.4 N s/m"], ["-0.4 N s/m", "0.9 N s/m"]]
stiffness = [["3 kN/m", "-1 kN/m"], ["-1 kN/m", "2 kN/m"]]
interface = [1, 2]
"""
ASSEMBLED = """[rig]
kind = "assembled"
function = "mine.py:rig"
commands = "force"
"""
MINE = """
import numpy as np
from halfreal.kernels.block import Block, Channel

SIGNALS = (("displacement", "m"), ("force", "N"))

def follow(p, s, t, u, y):
    for i in range(y.size // 2):
        s.x[i] = 0.9 * s.x[i] + p.compliance * u[0]
        y[i] = s.x[i]
        y[y.size // 2 + i] = 1000.0 * s.x[i]
    return 0

def rig(dt, substeps, commands, initial, parameters):
    n = len(commands)
    end = [""] if n == 1 else [f".{i + 1}" for i in range(n)]
    outputs = [Channel("measured." + name + e, unit) for name, unit in SIGNALS for e in end]
    fields = {"compliance": parameters["compliance"]}
    return [], [Block("rig", follow, commands, tuple(outputs), fields, {"x": np.zeros(n)})]
"""


def told(folder: Path, text: str) -> str:
    (folder / "test.toml").write_text(text)
    (folder / "mine.py").write_text(MINE)
    answer = CliRunner().invoke(app, ["check", str(folder / "test.toml")])
    assert answer.exit_code == 2
    assert answer.exception is None or isinstance(answer.exception, SystemExit)
    return answer.output.replace(f"{folder}/", "").strip()


IDENTIFIED = 'kind = "harmonic rls"\nidentification_time = "3 s"\n'


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            'transfer = "model"\n',
            'transfer = "model"\nfrequencies = ["600 Hz"]\n',
            "test.toml:17  coupling.frequencies: 600 Hz is not below half the sampling rate, 500 Hz; shorten "
            "timing.step or remove the harmonic",
        ),
        (
            'frequency = "8 Hz"',
            'frequency = "600 Hz"',
            "coupling: excitation.virtual reaches 600 Hz, not below half the sampling rate, 500 Hz; lower it, or",
        ),
        (
            "[excitation.virtual]",
            "[excitation.specimen]",
            "coupling.kind: with least squares the drive follows from the twin of the virtual substructure, "
            "which does not include excitation.specimen: its gap would grow; use coupling.excitation_gap = "
            "\"identified\" or 'harmonic lms', or excite",
        ),
        (
            'transfer = "model"\n',
            'transfer = "model"\nfrequencies = ["8 Hz", "8.1 Hz"]\nmemory = "1 s"\n',
            "test.toml:17  coupling.frequencies: 8 Hz and 8.1 Hz cannot be separated within a memory of 1 s; "
            "lengthen it to more than 1.592 s, or remove one of them",
        ),
        (
            'transfer = "model"\n',
            "",
            "coupling.transfer: neither transfer functions nor a time to identify them are given",
        ),
        (
            'kind = "sine"\nforce = "1 N"\nfrequency = "8 Hz"',
            'kind = "pulse"\nforce = "1 N"\nduration = "1 s"',
            "coupling.frequencies: an excitation of kind 'pulse' does not define the harmonics; give frequencies",
        ),
        (
            'transfer = "model"\n',
            'frequencies = ["8 Hz"]\ntransfer = [{ real = [["1 m/N", "2 m/N"]], imaginary = [["1 m/N", "2 m/N"]] }]\n',
            "as many actuators as axes are needed",
        ),
        (
            'kind = "harmonic rls"\ntransfer = "model"\n',
            IDENTIFIED,
            "coupling.amplitude, that of the random drive of the identification, can only be derived from limits; "
            "give it, or limits.drive.trip, or limits.gap.trip",
        ),
    ],
)
def test_definitions_that_cannot_work_are_told(tmp_path, old, new, expected):
    assert old in TOML
    assert expected in told(tmp_path, TOML.replace(old, new))


def test_only_an_excitation_of_the_virtual_substructure_can_be_followed(tmp_path):
    text = TOML.replace("[excitation.virtual]", "[excitation.specimen]")
    found = told(tmp_path, text.replace('kind = "harmonic rls"', 'kind = "harmonic lms"\nfollowing = "0.5 Hz"'))
    assert "test.toml:16  coupling.following: following uses the phase of excitation.virtual, but nothing" in found


def test_limits_that_do_not_bound_the_random_drive_are_told(tmp_path):
    text = TOML.replace('kind = "harmonic rls"\ntransfer = "model"\n', IDENTIFIED)
    found = told(tmp_path, text + '[limits]\nforce = { trip = "3 N" }\n')
    assert "limits.drive: no limit bounds the random drive of the identification; give limits.drive.trip or" in found


def two_axes(compliance: str) -> str:
    single = TOML[TOML.index("mass =") : TOML.index("force_dof")]
    return (
        TOML[: TOML.index("[rig]")].replace(single, TWO) + ASSEMBLED + f"[rig.parameters]\ncompliance = {compliance}\n"
    )


def test_fewer_random_drives_than_axes_are_told(tmp_path):
    change = IDENTIFIED + 'amplitude = "1 N"\nrandom_interval = "3 s"\n'
    found = told(tmp_path, two_axes("1e-4").replace('kind = "harmonic rls"\ntransfer = "model"\n', change))
    assert "coupling.identification_time: 1 random drive(s) within 3 s cannot excite 2 axes; identify for at" in found


def test_fewer_actuators_than_axes_are_told(tmp_path):
    """One actuator moves both axes, and the second command nothing."""
    found = told(tmp_path, two_axes("1e-4"))
    assert (
        "rig: its actuators move 1 of the 2 interface axes independently at 8 Hz; provide an actuator for each" in found
    )


def test_rig_that_does_not_answer_its_drive_is_told(tmp_path):
    text = TOML.replace('kind = "harmonic rls"\ntransfer = "model"\n', IDENTIFIED + 'amplitude = "1 N"\n')
    text = text[: text.index("[rig]")] + ASSEMBLED + "[rig.parameters]\ncompliance = 0.0\n"
    assert "rig: its actuators move 0 of the 1 interface axes independently at 8 Hz" in told(tmp_path, text)
