"""The rig's end in C, built once."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from links.reference import Start, running

SOURCE = Path(__file__).parents[2] / "docs" / "link" / "rig.c"


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler: there is no cc on PATH")
    rig = tmp_path_factory.mktemp("reference") / "rig"
    build = [compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-std=gnu11", str(SOURCE), "-o", str(rig), "-lm"]
    built = subprocess.run(build, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return rig


@pytest.fixture
def start(program: Path) -> Iterator[Start]:
    with running(program) as started:
        yield started
