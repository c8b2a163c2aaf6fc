"""An environment of its own with a laboratory's packages in it, and halfreal's command line there.

It sees everything that the tests see, and in addition what pip has put into it: its kinds are found by the metadata of
installed packages, as a user's would be.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping
from pathlib import Path

import halfreal

HERE = Path(__file__).parent
QUIET = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-index", "--no-build-isolation")


class Laboratory:
    """A virtual environment into which packages beside this file are installed."""

    def __init__(self, folder: Path, *packages: str) -> None:
        self.folder = folder
        venv.create(folder / "environment", symlinks=True, with_pip=False)
        self.python = folder / "environment" / "bin" / "python"
        (site,) = (folder / "environment").glob("lib/python*/site-packages")
        seen = [str(Path(halfreal.__file__).parents[1]), *(path for path in sys.path if path)]
        (site / "as_the_tests.pth").write_text("\n".join(dict.fromkeys(seen)) + "\n")
        for package in packages:
            source = shutil.copytree(HERE / package, folder / package)  # building leaves files beside the sources
            done = subprocess.run(
                [sys.executable, "-m", "pip", "--python", str(self.python), "install", *QUIET, str(source)],
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr

    def run(self, *commands: str) -> list[tuple[int, str, str]]:
        """Exit code, output and complaints of commands of halfreal, one after another in one process.

        The kinds of an installed package are compiled anew in each process: commands that share one share the code.
        """
        words = [command if isinstance(command, list) else command.split() for command in commands]
        done = self._python("-c", IN_TURN, json.dumps(words))
        assert done.returncode == 0, done.stderr
        return [tuple(one) for one in json.loads(done.stdout.splitlines()[-1])]

    def halfreal(self, *words: str) -> subprocess.CompletedProcess[str]:
        """One command, in a process of its own."""
        return self._python("-m", "halfreal", *words)

    def _python(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment: Mapping[str, str] = {**os.environ, "COLUMNS": "200"}
        return subprocess.run(
            [self.python, *words], cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )


IN_TURN = """
import json, sys
from typer.testing import CliRunner
from halfreal.cli import app

answers = []
for words in json.loads(sys.argv[1]):
    answer = CliRunner().invoke(app, words)
    if answer.exception is not None and not isinstance(answer.exception, SystemExit):
        raise answer.exception
    answers.append((answer.exit_code, answer.stdout, answer.stderr))
print(json.dumps(answers))
"""
