"""``halfreal identify``: records and experiments, what is written, and how it ends."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import halfreal
from halfreal.cli import app
from lagging_rig import TEXT

SHORT = ("--duration", "6 s", "--band", "0.5 Hz .. 25 Hz", "--amplitude", "0.5 mm")


def run(*words: object):
    answer = CliRunner().invoke(app, [str(word) for word in words])
    assert "Traceback" not in answer.output
    return answer


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("test.toml").write_text(TEXT, encoding="utf-8")
    return tmp_path


def test_an_experiment_is_done_told_drawn_and_written_and_its_record_tells_the_same(folder):
    guess = TEXT.replace('"4.3 ms"', '"8 ms"')
    answer = run("identify", "test.toml", "--experiment", *SHORT)
    assert answer.exit_code == 0, answer.output
    for word in (
        "rig.actuator.delay",
        "95 % interval",
        "coherence",
        "1 pole(s)",
        "halfreal check test.identified.toml",
    ):
        assert word in answer.output
    assert Path("test.identified.png").stat().st_size > 10_000
    written = Path("test.identified.toml").read_text(encoding="utf-8")
    assert "# as its maker says" in written and "# from a static test" in written
    before, after = TEXT.splitlines(), written.splitlines()
    changed = [line for line in before if line not in after]
    assert [line.split(" = ")[0] for line in changed] == ["delay", "time_constant", "stiffness", "damping", "mass"]

    Path("guess.toml").write_text(guess, encoding="utf-8")
    words = ("identify", "guess.toml", "--run", "test.identify.h5", "--picture", "out.svg", "--json")
    told = json.loads(run(*words).stdout)
    delay = next(one for one in told["parameters"] if one["place"] == "rig.actuator.delay")
    assert delay["given"] == 8e-3 and abs(delay["value"] - 4.3e-3) < 2e-5
    assert delay["low"] < delay["value"] < delay["high"]
    assert Path("out.svg").read_text(encoding="utf-8").startswith("<?xml")

    found = halfreal.load("guess.identified.toml")
    assert set(found.uncertainty) == {one["place"] for one in told["parameters"]}
    assert run("identify", "guess.toml", "--run", "test.identify.h5").exit_code == 2  # nothing is overwritten unasked


def test_the_definition_that_is_written_is_checked_with_its_uncertainty(folder):
    assert run("identify", "test.toml", "--experiment", *SHORT).exit_code == 0
    answer = run("check", "test.identified.toml", "--json")
    assert answer.exit_code in (0, 1) and json.loads(answer.stdout)["verdict"] in ("GO", "MARGINAL", "NO-GO")
    assert "rig.actuator.delay" in halfreal.load("test.identified.toml").uncertainty
    assert run("check", "test.identified.toml", "--worst", "worst.toml").exit_code in (0, 1)
    assert Path("worst.toml").exists()


def test_two_axes_are_moved_one_after_the_other(folder):
    text = TEXT.replace('title = "Lagging rig"', 'title = "Two"\naxes = ["x", "y"]')
    text = text[: text.index("[virtual]")] + (
        '[virtual]\nmass = { unit = "kg", values = [[50, 0], [0, 60]] }\ninterface = [1, 2]\n'
        'stiffness = { unit = "N/m", values = [[9000, -500], [-500, 8000]] }\n'
        '[rig.actuator]\ndelay = "5 ms"\n'
        '[rig.specimen]\nstiffness = { unit = "N/m", values = [[1000, 200], [200, 1500]] }\n'
        '[rig.sensors]\ndisplacement = { noise = "2 um" }\nforce = { noise = "0.5 N" }\n'
    )
    Path("two.toml").write_text(text, encoding="utf-8")
    answer = run("identify", "two.toml", "--experiment", *SHORT, "--json")
    assert answer.exit_code == 0, answer.output
    told = json.loads(answer.stdout)
    assert [one["axis"] for one in told["axes"]] == ["x", "y"]
    values = {one["place"]: one for one in told["parameters"]}
    for place, given in (("[1][1]", 1000.0), ("[1][2]", 200.0), ("[2][2]", 1500.0)):
        one = values[f"rig.specimen.stiffness{place}"]
        assert abs(one["value"] - given) < one["high"] - one["low"]
    alone = run("identify", "two.toml", "--run", "two.identify.x.h5", "-o", "x.toml", "--json")
    assert alone.exit_code == 0 and any("does not command axis y" in note for note in json.loads(alone.stdout)["notes"])
    assert run("identify", "two.toml", "--experiment", "--axis", "z").exit_code == 2


def test_what_cannot_be_identified_is_told_with_its_remedy(folder):
    for words, code, told in (
        ((), 2, "--run RUN.h5"),
        (("--experiment", "--run", "a.h5"), 2, "give either"),
        (("--run", "nothing.h5"), 2, "nothing.h5"),
        (("--with-rig", "--on-rig"), 2, "choose one"),
        (("--on-rig", "--start", "--amplitude", "1 mm"), 2, "has no [link]"),
        (("--experiment", "--amplitude", "1 N"), 2, "'1 N'"),
        (("--experiment", "--band", "9 Hz"), 2, "is not a frequency band"),
        (("--experiment", "--parameter", "rig.actuator.dely"), 2, "rig.actuator.delay"),
        (("--experiment", "--parameter", "rig.actuator.delay = 3 ms"), 2, "1 ms .. 20 ms"),
        (("--experiment", "--amplitude", "20 mm", "--duration", "6 s"), 1, "beyond its limit of 20 mm; give a smaller"),
        (("--experiment", "--amplitude", "1 mm", "--duration", "1 s"), 1, "give a longer --duration"),
    ):
        answer = run("identify", "test.toml", *words, "--force")
        assert answer.exit_code == code and told in answer.output, (words, answer.exit_code, answer.output)
    assert not Path("test.identified.toml").exists()


def test_records_that_tell_nothing_end_with_no(folder):
    test = halfreal.load("test.toml")
    done = halfreal.rehearse(test)
    still = {name: dataclasses.replace(one, values=np.zeros(one.values.size)) for name, one in done.signals.items()}
    halfreal.save(dataclasses.replace(done, signals=still), "still.h5")
    answer = run("identify", "test.toml", "--run", "still.h5")
    assert answer.exit_code == 1 and "does not move" in answer.output
    fewer = {name: one for name, one in done.signals.items() if name != "command"}
    halfreal.save(dataclasses.replace(done, signals=fewer), "fewer.h5")
    answer = run("identify", "test.toml", "--run", "fewer.h5")
    assert answer.exit_code == 2 and "command not in the record" in answer.output
