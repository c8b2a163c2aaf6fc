"""No command ends in a traceback, or says no where it means that something is wrong."""

import datetime
import os

import pytest
import typer
from typer.testing import CliRunner

from halfreal.cli import app
from halfreal.cli.crash import reported, text_of
from halfreal.cli.options import free
from halfreal.studies.check import check as study

TEST = """
title = "of a user"
timing = {{ step = "1 ms", duration = "20 ms" }}
virtual = {{ mass = "10 kg", stiffness = "10 kN/m", damping = "50 N s/m" }}
excitation.virtual = {{ kind = "sine", acceleration = "3 m/s^2", frequency = "2 Hz" }}
rig.actuator = {{ delay = "2 ms" }}
rig.specimen = {{ kind = "user", function = "law.py:law", parameters = {{ k = 1000.0 }}, state = {{ x = 0.0 }} }}
{more}
"""


@pytest.fixture
def told(tmp_path):
    """Exit code and output of a command on a test whose specimen is this body of a function."""

    def call(body: str, command: str = "check", before: str = "", more: str = ""):
        lines = "\n".join(f"    {line}" for line in body.splitlines())
        (tmp_path / "law.py").write_text(f"{before}\ndef law(p, s, t, u, y):\n{lines}\n    return 0\n")
        (tmp_path / "test.toml").write_text(TEST.format(more=more))
        answer = CliRunner().invoke(app, [command, str(tmp_path / "test.toml")])
        assert answer.exception is None or isinstance(answer.exception, SystemExit)
        return answer.exit_code, answer.output

    return call


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("import math", "it imports inside the function; move the import to the top of the file (law.py, line 3)"),
        ("global N\nN = 1", "it changes a global variable; store it in the state s (law.py, line 4)"),
        ("y = p.k * u", "it creates a new array, list or text; write entries of s and y one by one (law.py, line 3)"),
        ("s.x = u", "it creates a new array, list or text"),
        ("return law(p, s, t, u, y)", "it calls itself; write a loop (law.py, line 3)"),
        ("print(t)", "'law' (law.py, line 2) prints, which a tick cannot"),
        ("return 7", "law returned 7 at rest, where all inputs are zero"),
        ("y[0] = p.stiffness * u[0]", "it uses a field 'stiffness' that it does not have; the parameters are dt, k"),
    ],
)
def test_what_is_wrong_with_a_users_function_is_one_line_that_names_it(told, body, words):
    code, output = told(body)
    assert code == 2 and len(output.splitlines()) == 1
    assert words in output


def test_a_users_file_that_ends_the_program_is_an_error_of_that_file(told):
    code, output = told("y[0] = 0.0", before="raise SystemExit(0)")
    assert code == 2 and "cannot be loaded: SystemExit: 0 at law.py, line 1" in output


@pytest.mark.parametrize("command", ["check", "rehearse"])
@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "if t > 0.01:\n    return 7",
            "block 'specimen': 'law' (law.py, line 2) returned 7, a user-defined fault",
        ),
        (
            'if t > 0.01:\n    raise ValueError("late")',
            "'law' (law.py, line 2) raised ValueError: late at law.py, line 5",
        ),
        ("if t > 0.01:\n    y[0] = math.nan", "measured.force was nan"),
    ],
)
def test_a_law_that_fails_in_the_rehearsal_is_a_no_with_its_place(told, command, body, words):
    code, output = told(f"y[0] = p.k * u[0]\n{body}", command, before="import math")
    assert code == 1 and len(output.splitlines()) < 30
    assert words in " ".join(output.split()).replace("│", "") or words in output


def test_an_error_that_nobody_foresaw_is_one_line_a_report_and_no_answer(told, monkeypatch, tmp_path):
    def broken(*args, **kwargs):
        secret = "in a variable"  # noqa: F841
        raise ZeroDivisionError("by accident")

    monkeypatch.setattr(study, "Examined", broken)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    code, output = told("y[0] = 0.0")
    assert code == 3 and len(output.splitlines()) == 1
    assert "halfreal failed with an internal error: ZeroDivisionError: by accident (check.py, line" in output
    (report,) = (tmp_path / "state/halfreal/crashes").iterdir()
    assert str(report) in output and report.stat().st_mode & 0o077 == 0
    text = report.read_text()
    assert (
        "ZeroDivisionError: by accident" in text and "numba: " in text and str(tmp_path) not in text.split("python:")[0]
    )


def test_a_report_names_options_and_no_values():
    now = datetime.datetime.now(datetime.UTC)
    arguments = ["/opt/bin/halfreal", "run", "/home/me/secret.toml", "--operator", "Jane Doe", "--note=private"]
    text = text_of(ValueError("why"), arguments, now)
    assert "command: halfreal run *.toml --operator * --note" in text and "ValueError: why" in text
    assert not any(word in text for word in ("Jane", "private", "secret", "/home/me"))


def test_a_report_that_cannot_be_written_leaves_the_line(monkeypatch, tmp_path):
    (tmp_path / "state").write_text("a file where a folder belongs")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert "internal error" in reported(ValueError("why")) and "state" not in reported(ValueError("why"))


def test_a_device_is_never_replaced_by_a_file(tmp_path, capsys):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(typer.Exit) as ended:
        free(pipe, force=True)
    assert ended.value.exit_code == 2
    assert "is not an ordinary file; choose another name with --output" in capsys.readouterr().err
