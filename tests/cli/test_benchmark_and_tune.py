import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import halfreal
from examples.wallace2005 import GALLERY
from halfreal.cli import app
from halfreal.vrths import problem as vrths


def run(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def short(monkeypatch):
    """Two seconds of the shipped motions, so that the command is what is tested."""
    full = vrths.motions()
    cut = {name: vrths.Motion(motion.excitation, 2.0) for name, motion in full.items()}
    monkeypatch.setattr("halfreal.vrths.problem.PROBLEM", replace(vrths.PROBLEM, motions=lambda: cut))


def test_the_scorecard_with_a_record_of_the_users(tmp_path, short):
    folder = tmp_path / "records"
    folder.mkdir()
    values = np.sin(0.5 * np.arange(200))
    (folder / "mine.txt").write_text("\n".join(map(repr, values.tolist())), encoding="utf-8")
    words = ("benchmark", "vrths", "--plants", 1, "--coupling", "model inverse", "-o", tmp_path / "card.html")
    asked = run(*words, "--motions", folder, "--time-step", "0.01 s")
    assert asked.exit_code == 2 and "does not state its unit" in asked.output
    done = run(*words, "--motions", folder, "--time-step", "0.01 s", "--unit", "m/s^2")
    assert done.exit_code == 0, done.output
    assert "worst of 1, 0 unstable" in done.output and "all cases and motions" in done.output
    with (tmp_path / "card.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {(row["case"], row["motion"], row["plant"]) for row in rows} == {
        (str(case), motion, plant)
        for case in (1, 2, 3, 4)
        for motion, plant in (("mine", "0"), ("mine", "1"), ("synthetic", "0"), ("chirp", "0"))
    }
    assert "model inverse" in (tmp_path / "card.html").read_text(encoding="utf-8")
    again = run(*words)
    assert again.exit_code == 2 and "--force" in again.output


def test_unknown_problems_and_couplings_are_told(tmp_path):
    assert "available: vrths, marths" in run("benchmark", "other").output
    wrong = run("benchmark", "vrths", "--coupling", "magic", "-o", tmp_path / "x.html")
    assert wrong.exit_code == 2 and "no coupling 'magic'" in wrong.output


def test_tune_writes_a_definition_that_loads(tmp_path):
    target = tmp_path / "best.toml"
    done = run("tune", GALLERY / "uncompensated.toml", "-o", target, "--json")
    assert done.exit_code == 0, done.output
    numbers = json.loads(done.stdout)
    assert numbers["couplings"][-1]["name"] == "none"
    best = halfreal.load(target)
    assert best.coupling.kind == numbers["couplings"][0]["settings"]["kind"]
    old = (GALLERY / "uncompensated.toml").read_text().splitlines()
    gone = [line for line in old if line not in target.read_text().splitlines()]
    assert all(line.startswith(("title", "kind", "[coupling")) for line in gone), gone  # all else is as it was
    assert run("tune", GALLERY / "uncompensated.toml", "-o", target).exit_code == 2


def test_a_table_is_corrected_from_a_recorded_test(tmp_path):
    """The table of a continuous model, on a rig whose drive is sampled."""
    wing = GALLERY.parent / "strut_braced_wing"
    text = (wing / "stepped_narrow.toml").read_text()
    text = text.replace("values = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]", "values = [5, 8]")
    source, record = tmp_path / "wing.toml", tmp_path / "wing.h5"
    source.write_text(text.replace('duration = "150 s"', 'duration = "20 s"'))
    model = halfreal.load(source)
    table = model.coupling.with_model_data(model)
    rig = model.with_values({"rig": halfreal.load(wing / "stepped_sampled.toml").rig, "coupling": table})
    halfreal.save(halfreal.rehearse(rig), record)
    done = run("tune", source, "--from-run", record)
    assert done.exit_code == 0, done.output
    assert "G_c from the rig's model: 5, 8 Hz" in done.output and (tmp_path / "wing.tuned.png").stat().st_size > 10_000
    old, new = source.read_text().splitlines(), (tmp_path / "wing.tuned.toml").read_text().splitlines()
    added = [line.split(" =")[0] for line in new if line not in old]
    assert added == ["frequencies", "amplitudes", "leads"] and all(line in new for line in old)
    again = json.loads(run("tune", source, "--from-run", record, "-o", tmp_path / "x.toml", "--json").stdout)
    five = again["frequencies"][0]
    assert five["compensator_after"] == pytest.approx(1.15, abs=0.01)  # tuned on the rig of the paper: 1.15
    refused = run("tune", GALLERY / "uncompensated.toml", "--from-run", record, "-o", tmp_path / "y.toml")
    assert refused.exit_code == 2 and "has no table" in refused.output
    assert run("tune", source, "--from-run", record, "--bandwidth", "3 Hz", "-f").exit_code == 2
