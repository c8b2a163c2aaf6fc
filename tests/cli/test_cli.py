import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.table import Table
from typer.testing import CliRunner

import halfreal
from examples.wallace2005 import GALLERY
from halfreal.cli import app
from halfreal.presentation.answers import console

GOOD = GALLERY / "forward_prediction.toml"
BAD = """
title = "bad in many ways"

[timing]
step = "0 ms"
duration = "1 s"

[virtual]
mass = "2.2 N"
stiffness = { unit = "N/m", values = [[2.0, 1.0], [3.0, 2.0]] }
dampin = "15 N s/m"

[excitation.virtual]
kind = "record"
acceleration = "1 g_0"
file = "not there.csv"
time_step = "10 ms"

[coupling]
kind = "forward predicton"
prediction = "9.4 ms"

[rig.actuator]
delay = "-1 ms"

[rig.specimen]
stiffness = 2250
"""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_from_new_to_report(folder):
    assert run("new").exit_code == 0
    assert run("check", "test.toml").exit_code == 0
    assert run("rehearse", "test.toml").exit_code == 0
    answer = run("report", "test.h5")
    assert answer.exit_code == 0
    assert str(folder / "test.html") in answer.output
    assert "<html" in (folder / "test.html").read_text()[:200]
    told = run("info", "test.h5")
    assert told.exit_code == 0
    assert "measured.force [N]" in told.output


def test_check_says_go_and_no_go_with_exit_codes_and_json():
    assert run("check", GOOD).exit_code == 0
    answer = run("check", GALLERY / "uncompensated.toml", "--json")
    assert answer.exit_code == 1
    told = json.loads(answer.output)
    assert told["verdict"] == "NO-GO"
    assert told["spectral_radius"] > 1
    assert told["poles"][0]["frequency_hz"] == pytest.approx(7.04, abs=0.01)


def test_tripped_rehearsal_answers_one_and_keeps_its_record(folder):
    answer = run("rehearse", GALLERY / "uncompensated.toml", "--output", folder / "u.h5", "--json")
    assert answer.exit_code == 1
    told = json.loads(answer.output)
    assert told["outcome"] == "tripped"
    assert (folder / "u.h5").is_file()


def test_all_faults_of_a_bad_definition_at_once_without_traceback(folder):
    Path("bad.toml").write_text(BAD)
    for command in ("check", "rehearse", "info"):
        answer = run(command, "bad.toml")
        assert answer.exit_code == 2
        assert "Traceback" not in answer.output
        for place, text in (
            ("bad.toml:5", "timing.step"),
            ("bad.toml:9", "where kg is expected"),
            ("bad.toml:10", "symmetric"),
            ("bad.toml:11", "did you mean 'damping'?"),
            ("bad.toml:16", "does not exist"),
            ("bad.toml:20", "forward prediction"),
            ("bad.toml:24", "at least 0"),
            ("bad.toml:27", "2250 N/m"),
        ):
            assert any(place in line and text in line for line in answer.output.splitlines()), (place, text)
    assert not Path("bad.h5").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("check", "missing.toml"), "does not exist"),
        (("report", "missing.h5"), "missing.h5"),
        (("report", "text.h5"), "text.h5"),
        (("info", "text.h5"), "text.h5"),
        (("examples", "spring_mass_dampr"), "did you mean 'spring_mass_damper'?"),
        (("report", "text.h5", "--from", "2 mm"), "where s is expected"),
        (("new", "no/such/folder/test.toml"), "does not exist"),
    ],
)
def test_bad_input_is_told_without_traceback(folder, words, told):
    Path("text.h5").write_text("no run file")
    answer = run(*words)
    assert answer.exit_code == 2
    assert told in answer.output
    assert "Traceback" not in answer.output


def test_nothing_is_overwritten_unless_asked(folder):
    Path("test.toml").write_text("mine")
    assert run("new").exit_code == 2
    assert Path("test.toml").read_text() == "mine"
    Path("run.h5").write_text("mine")
    assert run("rehearse", GOOD, "-o", "run.h5").exit_code == 2
    assert Path("run.h5").read_text() == "mine"
    said = ("--operator", "A. Tester", "--specimen", "spring 7", "--note", "windy", "--note", "cold")
    assert run("rehearse", GOOD, "-o", "run.h5", "--force", *said).exit_code == 0
    told = run("info", "run.h5").output
    assert "operator: A. Tester" in told and "specimen: spring 7" in told and "notes: windy\n       cold" in told
    assert "rig: simulated (halfreal" in told
    assert json.loads(run("info", "run.h5", "--json").output)["about"]["operator"] == "A. Tester"
    odd = run("rehearse", GOOD, "-o", "odd.h5", "--operator", "A.\x1bTester")
    assert odd.exit_code == 2 and "remove control characters" in odd.output
    Path("run.html").write_text("mine")
    assert run("report", "run.h5").exit_code == 2
    assert Path("run.html").read_text() == "mine"


def test_unwritable_output_is_told(folder):
    answer = run("rehearse", GOOD, "-o", "no/such/folder/run.h5")
    assert answer.exit_code == 2
    assert "no/such/folder" in answer.output


def test_faulty_user_function_is_told_without_traceback(folder):
    Path("mine.py").write_text("def rig(p, s, t, u, y):\n    y[9] = p.gain\n    return 0\n")
    text = GOOD.read_text()
    start = text.index("[rig.actuator]")
    user = '[rig]\nkind = "user"\nfunction = "mine.py:rig"\nparameters = { gain = 1.0 }\n'
    Path("user.toml").write_text(text[:start] + user)
    for command in ("check", "rehearse"):
        answer = run(command, "user.toml")
        assert answer.exit_code == 2
        assert "mine.py, line 2" in answer.output
        assert "Traceback" not in answer.output


def test_user_function_without_end_is_an_answer_with_the_time_it_took(folder):
    code = "def rig(p, s, t, u, y):\n    while y[0] < p.gain:\n        y[0] *= 2.0\n    return 0\n"
    Path("mine.py").write_text(code)
    text = GOOD.read_text()
    user = '[rig]\nkind = "user"\nfunction = "mine.py:rig"\nparameters = { gain = 1.0 }\n'
    Path("user.toml").write_text(text[: text.index("[rig.actuator]")] + user)
    answer = run("check", "user.toml")
    assert answer.exit_code == 2
    said = " ".join(answer.output.split())
    assert "rig does not finish at rest: it was stopped after 100,000,000 passes of its loops and" in said
    assert "limit the number of passes of every loop" in said


@pytest.mark.xdist_group("tests/examples/test_gallery.py")  # one process compiles the gallery for both
def test_examples_are_listed_and_copied_and_every_definition_of_the_gallery_is_valid(folder):
    listed = run("examples").output
    assert "spring_mass_damper" in listed and "user_functions" in listed
    assert run("examples", "user_functions").exit_code == 0
    assert run("check", "user_functions/friction.toml").exit_code == 0
    assert run("examples", "user_functions").exit_code == 2
    for path in sorted(GALLERY.parent.glob("*/*.toml")):
        assert run("info", path, "--json").exit_code == 0, path


def test_schema_is_printed_as_json():
    schema = json.loads(run("info", "--schema").output)
    assert {"timing", "virtual", "coupling", "rig", "limits"} <= set(schema["properties"])


def test_help_imports_none_of_the_slow_packages():
    """`halfreal --help` must answer at once: no compiler, no units, no plots."""
    program = (
        "import sys; sys.argv = ['halfreal', '--help']\n"
        "from halfreal.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "slow = {'numba', 'scipy', 'numpy', 'pint', 'matplotlib', 'h5py', 'pydantic'}\n"
        "print('SLOW', sorted(slow & set(sys.modules)))\n"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "SLOW []" in answer.stdout


def test_chart_is_drawn_and_bad_ranges_are_told(folder):
    path = GALLERY / "uncompensated.toml"
    delay = "rig.actuator.delay = 1 ms .. 15 ms"
    stiffness = "rig.specimen.stiffness = 0.1 kN/m .. 4 kN/m"
    answer = run("chart", path, "--x", delay, "--y", stiffness, "--points", 20, "-o", "chart.png")
    assert answer.exit_code == 0
    assert "unstable" in answer.output
    assert Path("chart.png").stat().st_size > 10_000
    for bad, told in (
        ("rig.actuator.dely = 1 ms .. 2 ms", "did you mean 'rig.actuator.delay'"),
        ("rig.actuator.delay = 1 mm .. 2 ms", "where s is expected"),
        ("rig.actuator.delay = 5 ms", "is not a range"),
        ("rig.actuator.delay = 5 ms .. 1 ms", "it must increase"),
    ):
        answer = run("chart", path, "--x", bad, "--y", stiffness, "--points", 20, "-o", "other.png")
        assert answer.exit_code == 2
        assert told in answer.output


def test_worst_case_of_an_uncertain_test_is_written_as_a_definition(folder):
    assert run("check", GOOD, "--worst", "worst.toml").exit_code == 2  # nothing is uncertain in it
    text = GOOD.read_text() + '\n# of the rig\n[uncertainty]\n"rig.actuator.delay" = { low = "8 ms", high = "20 ms" }\n'
    Path("uncertain.toml").write_text(text)
    answer = run("check", "uncertain.toml", "--worst", "missing/worst.toml")
    assert answer.exit_code == 2
    assert "the folder 'missing' does not exist" in answer.output and "GO" not in answer.output  # before it is judged
    answer = run("check", "uncertain.toml", "--worst", "worst.toml")
    assert answer.exit_code == 1
    assert "20 ms" in answer.output
    told = json.loads(run("info", "worst.toml", "--json").output)
    assert told["rig"]["actuator"]["delay"] == pytest.approx(0.02)
    lines = Path("worst.toml").read_text().splitlines()
    differ = [new for old, new in zip(text.splitlines()[:-2], lines, strict=True) if old != new]  # nothing is uncertain
    assert len(differ) == 1 and differ[0].startswith("delay") and "20 ms" in differ[0]  # all else is as it was
    assert run("rehearse", "worst.toml").exit_code == 1


def test_check_and_rehearse_agree_where_a_wide_uncertainty_decides(folder):
    text = GOOD.read_text() + '\n# of the rig\n[uncertainty]\n"rig.actuator.delay" = { low = "8 ms", high = "20 ms" }\n'
    Path("uncertain.toml").write_text(text)
    checked, rehearsed = run("check", "uncertain.toml", "--json"), run("rehearse", "uncertain.toml", "--json")
    assert checked.exit_code == rehearsed.exit_code == 1
    judged, record = json.loads(checked.output), json.loads(rehearsed.output)
    assert judged["verdict"] == record["verdict"] == json.loads(run("info", "uncertain.h5", "--json").output)["verdict"]
    assert judged["verdict"] == "NO-GO" and record["outcome"] == "completed"
    assert (judged["reasons"], judged["remedies"]) == (record["reasons"], record["remedies"])
    (against,) = (finding for finding in judged["findings"] if finding["severity"] == "no-go")
    assert against["text"] in judged["reasons"] and against["value"] > 0.0
    for command in ("check", "rehearse"):
        told = run(command, "uncertain.toml", *(["--force"] if command == "rehearse" else []))
        assert told.exit_code == 1
        assert f"  - {against['text']}" in told.output


def test_text_of_users_is_no_markup(folder):
    text = GOOD.read_text()
    title = next(line for line in text.splitlines() if line.startswith("title"))
    (folder / "test.toml").write_text(text.replace(title, 'title = "test [/x] of [red]"'))
    for words in (("check", "test.toml"), ("rehearse", "test.toml"), ("info", "test.h5"), ("report", "test.h5")):
        answer = run(*words)
        assert answer.exit_code == 0, answer.output
        assert "test [/x] of [red]" in answer.output or words[0] in ("rehearse", "report")
    table = Table("a", title="[/x]", caption="[/y]")
    table.add_row("[/z] :warning:")
    screen = console()
    with screen.capture() as shown:
        screen.print(table)
    assert all(word in shown.get() for word in ("[/x]", "[/y]", "[/z] :warning:"))


def test_the_version_is_told():
    answer = run("--version")
    assert (answer.exit_code, answer.output) == (0, f"halfreal {halfreal.__version__}\n")


def test_kinds_are_listed_and_each_is_told_with_its_settings():
    listed = run("kinds")
    assert listed.exit_code == 0
    assert "Couplings: [coupling]" in listed.output and "\n  forward prediction  " in listed.output
    assert "simulated" in run("kinds", "rig").output and "forward prediction" not in run("kinds", "rig").output
    told = run("kinds", "coupling", "forward prediction").output
    assert "| `prediction` | " in told and "Wallace" in told
    assert "did you mean 'coupling'?" in run("kinds", "couplings").stderr
    wrong = run("kinds", "rig", "simulatd")
    assert wrong.exit_code == 2 and "no rig 'simulatd'; did you mean 'simulated'?" in wrong.stderr
