"""A reader that goes before our output ends, as in ``halfreal check … | head``."""

from __future__ import annotations

import os
import sys

import pytest
import typer

from halfreal.cli.commands import READER_GONE, quietly
from halfreal.cli.options import told


def test_a_reader_that_has_gone_is_no_error(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as nobody:
        monkeypatch.setattr(sys, "stdout", nobody)
        with pytest.raises(typer.Exit) as ended:
            told(quietly(lambda: typer.echo("one line")))()
    assert ended.value.exit_code == READER_GONE and capfd.readouterr().err == ""


def test_any_other_broken_pipe_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    def command() -> None:
        raise BrokenPipeError(32, "Broken pipe", "recorder")

    with pytest.raises(typer.Exit):
        told(quietly(command))()
    assert "'recorder': Broken pipe" in capfd.readouterr().err
