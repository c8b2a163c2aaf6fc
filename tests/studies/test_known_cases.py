"""Small tests that once had a wrong answer, read from a folder beside the project where there is one."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import halfreal
from halfreal.cli import app
from halfreal.kernels.loop import Loop

CASES = Path(__file__).parents[3] / "shared" / "cases"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the folder with these cases is not on this machine")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A copy that may be written to."""
    place = tmp_path_factory.mktemp("cases")
    for path in CASES.iterdir():
        shutil.copy(path, place / path.name)
        (place / path.name).chmod(0o644)
    return place


def checked(path):
    """What `check` says: the exit code and all that it printed."""
    answer = CliRunner().invoke(app, ["check", str(path)])
    assert "Traceback" not in answer.output
    return answer.exit_code, answer.output


def test_margins_of_half_a_degree_are_no_go_and_the_lag_is_that_of_the_actuator(folder):
    code, text = checked(folder / "b2.toml")
    assert code == 1
    assert text.startswith("MARGINAL")
    assert "the rig's lag of 12.4" in text
    assert "rig.actuator.delay is 500 µs, but the loop has 976.6 µs" in text


def test_the_same_physics_gets_the_same_words(folder):
    code, text = checked(folder / "bdelay.toml")
    assert code == 1
    assert text.startswith("MARGINAL")
    assert "the rig's lag of 12 ms" in text


def test_an_unstable_loop_on_a_slow_actuator_has_remedies(folder):
    code, text = checked(folder / "b3.toml")
    assert code == 1
    assert text.startswith("NO-GO")
    assert "forward prediction" in text
    assert "halfreal tune" in text


def test_memory_of_a_users_law_is_no_pole(folder):
    code, text = checked(folder / "m.toml")
    assert code == 0
    assert text.startswith("GO")


def test_a_mass_is_felt_without_a_hidden_step(folder):
    """10 kg and 0.9 kg, 6.19 N s/m: ζ of the emulated system."""
    found = halfreal.check(halfreal.load(folder / "h.toml"))
    poles = found.stability.linearisation
    slowest = np.argmin(np.abs(poles.frequency_hz - np.sqrt(9577.6 / 10.9) / (2 * np.pi)))
    assert poles.damping[slowest] == pytest.approx(6.19 / (2.0 * np.sqrt(9577.6 * 10.9)), rel=0.01)
    assert found.verdict == "GO"


def test_a_badly_scaled_state_is_linearised(folder):
    code, text = checked(folder / "nan.toml")
    assert code == 1  # the rig follows a twentieth of its command
    assert text.startswith("MARGINAL")
    assert "stable: spectral radius 0.995" in text


@pytest.mark.parametrize("kind", ["rls", "lms"])
def test_ten_tones_converge_or_are_no_go(folder, kind):
    time = np.arange(200_002) * 1e-3
    np.savetxt(folder / "tones200.csv", sum(np.cos(2 * np.pi * hz * time) for hz in range(5, 51, 5)), fmt="%.9g")
    found = halfreal.check(halfreal.load(folder / f"ten_{kind}.toml"), remedies=False)
    gap = found.rehearsal.signals["gap"].values[-2000:]
    target = found.rehearsal.signals["target"].values[-2000:]
    closed = np.sqrt(np.mean(gap**2)) < 0.05 * np.sqrt(np.mean(target**2))
    assert (found.verdict == "GO") == closed


@pytest.mark.parametrize("settings", ['file = "QUAKE.AT2"', 'file = "quake.csv"\nacceleration = "1 g_0"'])
def test_records_are_read_as_the_field_writes_them(folder, settings):
    text = (folder / "b2.toml").read_text()
    begin, end = text.index('file = "quake.csv"'), text.index("[coupling]")
    path = folder / "reads.toml"
    path.write_text(text[:begin] + settings + "\n\n" + text[end:])
    expected = 9.80665 * np.loadtxt(folder / "quake.csv", delimiter=",")[:, 1]
    record = halfreal.load(path).excitation.virtual.block("motion")
    motion = Loop([record], dt=5e-3).run(len(expected), record=["motion"]).log[:, 1]
    np.testing.assert_allclose(motion, expected, atol=1e-5)  # the table has six decimals
