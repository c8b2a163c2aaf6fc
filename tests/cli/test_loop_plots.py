"""halfreal poles, bode and nyquist: what they write, tell and refuse."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import halfreal
from examples.wallace2005 import GALLERY
from halfreal.cli import app

TEST = GALLERY / "uncompensated.toml"
SLOW = GALLERY.parent / "pseudo_dynamic_frame" / "explicit_newmark.toml"
SWEEP = ("--over", "rig.actuator.delay", "--from", "1 ms", "--to", "12 ms", "--points", "6")


def run(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_poles_are_told_and_drawn(folder):
    answer = run("poles", TEST, "--delay-equation")
    assert answer.exit_code == 0, answer.output
    assert "7.0438 Hz" in answer.output and "Delay equation" in answer.output
    assert not list(folder.iterdir())
    answer = run("poles", TEST, *SWEEP, "--delay-equation", "-o", "poles.svg")
    assert answer.exit_code == 0 and "changes at 6.77" in answer.output, answer.output
    assert Path("poles.svg").read_text(encoding="utf-8").lstrip().startswith("<?xml")
    again = run("poles", TEST, *SWEEP, "-o", "poles.svg")
    assert again.exit_code == 2 and "--force" in again.output
    numbers = json.loads(run("poles", TEST, *SWEEP, "--json").output)
    assert len(numbers["values"]) == len(numbers["stable"]) == len(numbers["damping"]) == 6
    assert numbers["limits"] == pytest.approx([6.771e-3], rel=1e-3)


def test_open_loops_are_told_and_drawn(folder):
    test = GALLERY / "forward_prediction.toml"
    Path("spring.csv").write_text(
        "# unit: N/mm\nfrequency_hz,real,imag\n" + "".join(f"{0.1 * i:.1f},2.25,0\n" for i in range(1, 600)),
        encoding="utf-8",
    )
    for command in ("bode", "nyquist"):
        answer = run(command, test, "-o", f"{command}.png")
        assert answer.exit_code == 0 and "stable up to a delay of 6.894 ms" in answer.output, answer.output
        assert Path(f"{command}.png").stat().st_size > 10_000
        answer = run(command, test, "--frf", "spring.csv", "--frf-of", "specimen", "-o", f"{command}.svg")
        assert answer.exit_code == 0 and "additional delay of 6.89" in answer.output, answer.output
    numbers = json.loads(run("bode", test, "--json").output)
    assert numbers["model"]["crossings"][0]["delay_s"] == pytest.approx(6.894e-3, rel=1e-3)
    assert sorted(path.name for path in folder.iterdir()) == [
        "bode.png", "bode.svg", "nyquist.png", "nyquist.svg", "spring.csv",
    ]  # fmt: skip


def test_what_is_wrong_is_told_without_a_traceback(folder):
    Path("one.csv").write_text("# unit: N/m\nfrequency_hz,real,imag\n1,2250,0\n", encoding="utf-8")
    Path("plain.csv").write_text("frequency_hz,real,imag\n1,2250,0\n2,2250,0\n", encoding="utf-8")
    halfreal.save(halfreal.rehearse(halfreal.load(TEST).with_values({"timing.duration": 0.1})), "run.h5")
    for words, told in (
        (("poles", TEST, "--over", "rig.actuator.dely"), "did you mean"),
        (("poles", TEST, "--from", "1 ms"), "--over"),
        (("poles", TEST, "--over", "rig.actuator.delay", "--from", "3 mm"), "where s is expected"),
        (("poles", TEST, "--over", "rig.actuator.delay", "--from", "9 ms", "--to", "1 ms"), "it must increase"),
        (("poles", TEST, "--below", "0 Hz"), "above 0 Hz"),
        (("poles", TEST, "--run", "run.h5"), "kind 'sine'"),
        (("poles", TEST, "--run", "other.h5"), "does not exist"),
        (("poles", SLOW, "--delay-equation"), "in real time"),
        (("bode",), "give a definition"),
        (("bode", SLOW), "slow test"),
        (("nyquist", TEST, "--frf", "one.csv"), "at least 2 lines"),
        (("nyquist", TEST, "--frf", "plain.csv"), "--unit"),
        (("nyquist", TEST, "--frf", "plain.csv", "--unit", "kg"), "is in kg where N/m"),
        (("nyquist", TEST, "--frf", "none.csv"), "there is no file"),
        (("nyquist", TEST, "-o", "no/such/place.png"), "does not exist"),
    ):
        answer = run(*words)
        assert answer.exit_code == 2 and told in answer.output, (words, answer.output)
        assert "Traceback" not in answer.output and "internal error" not in answer.output
