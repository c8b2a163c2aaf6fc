import json
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

import halfreal
from contracts.native import COMPILER
from examples.wallace2005 import GALLERY
from halfreal.cli import app
from two_modes import FREQUENCY, recorded


def run(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    halfreal.save(recorded(), tmp_path / "run.h5")
    return tmp_path


def test_channels_are_exported_and_nothing_is_overwritten_unless_asked(folder):
    answer = run("export", "run.h5", "--to", "out.csv", "--channels", "virtual.*", "--channels", "rig.nose")
    assert answer.exit_code == 0, answer.output
    assert "3 channels, 16000 samples" in answer.output
    first = Path("out.csv").read_text(encoding="utf-8").splitlines()[0]
    assert first == "time [s],virtual.tip [m],virtual.mid [m],rig.nose [m]"
    again = run("export", "run.h5", "--to", "out.csv")
    assert again.exit_code == 2 and "--force" in again.output
    assert run("export", "run.h5", "--to", "out.csv", "--force").exit_code == 0
    for words, told in (
        (("--to", "out.xls"), ".csv, .mat, .tdms or .uff"),
        (("--to", "other.csv", "--channels", "rig.nos"), "did you mean 'rig.nose'"),
        (("--to", "no/such/out.csv"), "does not exist"),
    ):
        answer = run("export", "run.h5", *words)
        assert answer.exit_code == 2 and told in answer.output, answer.output
        assert "Traceback" not in answer.output


def test_a_part_of_a_definition_becomes_an_fmu_and_wrong_words_are_told(folder):
    test = GALLERY / "forward_prediction.toml"
    if COMPILER is not None:
        answer = run("export", test, "--part", "coupling", "--to", "predictor.fmu")
        assert answer.exit_code == 0 and "4 variables, step 0.001 s" in answer.output, answer.output
        assert zipfile.is_zipfile("predictor.fmu")
    for words, told in (
        ((test, "--to", "x.fmu"), "give --part virtual, coupling, rig or loop"),
        ((test, "--to", "x.fmu", "--part", "rigg"), "'rigg' is not a part of a test"),
        ((test, "--to", "x.csv", "--part", "rig"), "end in .fmu"),
        (("run.h5", "--to", "x.fmu", "--part", "rig"), "an FMU is exported from a definition"),
        (("run.h5", "--to", "x.csv", "--part", "rig"), "omit it"),
        ((test, "--to", "x.fmu", "--part", "rig", "--channels", "target"), "omit it"),
    ):
        answer = run("export", *words)
        assert answer.exit_code == 2 and told in answer.output, answer.output
        assert not Path(words[2]).exists()


def test_modes_are_told_drawn_and_written_for_others(folder):
    answer = run("modes", "run.h5", "--band", "2 Hz .. 18 Hz", "--to", "modes.csv")
    assert answer.exit_code == 0, answer.output
    assert "5.000 Hz" in answer.output and "3.00 %" in answer.output
    assert Path("run.modes.png").stat().st_size > 10_000
    assert Path("modes.csv").is_file() and Path("modes.responses.csv").is_file()
    again = run("modes", "run.h5", "--band", "2 Hz .. 18 Hz", "--to", "modes.mat")
    assert again.exit_code == 0 and "run.modes.png exists and was not changed" in again.output
    numbers = json.loads(run("modes", "run.h5", "--force", "--band", "2 Hz .. 18 Hz", "--json").output)
    assert [mode["frequency_hz"] for mode in numbers["modes"]] == pytest.approx(FREQUENCY, rel=1e-4)
    for words, told in (
        ((), "run.modes.png"),
        (("--force", "--band", "2 Hz"), "is not a frequency band"),
        (("--force", "--band", "2 Hz .. 2 kHz"), "from 1 to 20 Hz"),
        (("--force", "--band", "2 Hz .. 18 Hz", "--to", "modes.uff"), "--place"),
        (("--force", "--to", "modes.xls"), ".uff"),
        (("--force", "--place", "13:z"), "is not a location"),
    ):
        answer = run("modes", "run.h5", *words)
        assert answer.exit_code == 2 and told in answer.output, answer.output
