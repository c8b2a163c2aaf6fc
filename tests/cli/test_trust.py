"""A definition is data: a Python file that it names is run only after the user has said yes to it, once."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from halfreal.cli import app, trusting
from halfreal.kernels import trust

TEST = """
title = "of a user"
timing = { step = "1 ms", duration = "20 ms" }
virtual = { mass = "10 kg", stiffness = "10 kN/m", damping = "50 N s/m" }
excitation.virtual = { kind = "sine", acceleration = "3 m/s^2", frequency = "2 Hz" }
rig.actuator = { delay = "2 ms" }
rig.specimen = { kind = "user", function = "law.py:law", parameters = { k = 1000.0 } }
"""
LAW = "from helper import mark\nmark()\ndef law(p, s, t, u, y):\n    y[0] = p.k * u[0]\n    return 0\n"
HELPER = "from pathlib import Path\ndef mark():\n    (Path(__file__).parent / 'ran').touch()\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(trust.ALL)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(trust, "_agreed", set())
    monkeypatch.setattr(trust, "_noted", set())
    monkeypatch.setenv(trust.AGREED, "")
    for name, text in (("test.toml", TEST), ("law.py", LAW), ("helper.py", HELPER)):
        (tmp_path / name).write_text(text)
    return tmp_path


def check(folder: Path, *options: str) -> Any:
    return CliRunner().invoke(app, ["check", str(folder / "test.toml"), *options])


def test_without_a_terminal_it_is_refused_with_the_remedy_and_not_run(folder: Path) -> None:
    answer = check(folder)
    assert answer.exit_code == 2 and "law.py' is a program that this definition runs" in answer.output
    assert "--trust" in answer.output and not (folder / "ran").exists()


def test_with_trust_it_is_run_and_what_is_started_inherits_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(trust.ALL, "")  # put back afterwards, whatever the command sets
    answer = check(folder, "--trust")
    assert answer.exit_code in (0, 1) and (folder / "ran").exists()
    assert trust.os.environ[trust.ALL] == "1" and not (folder / "config").exists()


def test_one_answer_holds_for_a_file_and_its_imports_until_one_changes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def yes(path: Path) -> bool:
        asked.append(path.name)
        return True

    monkeypatch.setattr(trusting, "ask", yes)
    assert check(folder).exit_code in (0, 1) and check(folder).exit_code in (0, 1)
    assert asked == ["law.py"]
    store = folder / "config/halfreal/trusted-files"
    assert store.stat().st_mode & 0o777 == 0o600 and "helper.py" in store.read_text()
    monkeypatch.setattr(trust, "_agreed", set())  # as in a new process
    (folder / "helper.py").write_text(HELPER + "# changed\n")
    check(folder)
    assert asked == ["law.py", "helper.py"]


def test_a_file_name_makes_no_other_file_trusted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def only_the_first(path: Path) -> bool:
        asked.append(path.name)
        return len(asked) == 1

    def trusted(path: Path) -> bool:
        try:
            trust.check(path)
        except trust.UntrustedError:
            return False
        return True

    foreign = folder / "foreign.py"
    foreign.write_text("raise SystemExit('foreign code ran')\n")
    digest = hashlib.sha256(foreign.read_bytes()).hexdigest()
    for name in (f"law.py\n{digest} of foreign.py", f'law.py"\n{digest} "foreign.py"'):
        asked.clear()
        named = folder / name.replace("/", "-")
        named.write_text(f"# {name!r}\n")
        with trust.asking(only_the_first):
            assert trusted(named) and trusted(named) and not trusted(foreign)
        assert asked == [named.name, "foreign.py"]


@pytest.mark.parametrize("writable", ["config/halfreal", "config/halfreal/trusted-files"])
def test_a_store_that_others_could_have_written_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], writable: str
) -> None:
    law, other, asked = folder / "law.py", folder / "helper.py", list[str]()

    def yes(path: Path) -> bool:
        asked.append(path.name)
        return True

    with trust.asking(yes):
        trust.check(law)
        (folder / writable).chmod((folder / writable).stat().st_mode | 0o022)
        trust.check(law)  # the answer is not taken from there
        trust.check(law)  # but holds for this command and what it starts
        assert asked == ["law.py", "law.py"]
        with pytest.raises(trust.UntrustedError), trust.asking(lambda path: False):
            trust.check(other)  # and for no other file
    assert capsys.readouterr().err.count("other users could write to") == 1
    assert trust.ALL not in trust.os.environ


def test_info_runs_nothing_and_asks_nothing(folder: Path) -> None:
    answer = CliRunner().invoke(app, ["info", str(folder / "test.toml")])
    assert answer.exit_code == 0 and not (folder / "ran").exists()


def test_a_program_of_the_users_own_is_not_asked(folder: Path) -> None:
    from halfreal import load as read

    assert read(folder / "test.toml").rig.specimen.load() is not None and (folder / "ran").exists()
