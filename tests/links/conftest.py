"""The rig's end in C, built once."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from links.both_ends import built_library
from links.reference import Start, running

LINK = Path(__file__).parents[2] / "docs" / "link"
SOURCES = [LINK / name for name in ("rig.c", "halfreal_rig.c", "simulated.c")]
STRICT = ["-O2", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-std=gnu11", "-ffp-contract=off"]
SANITIZED = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler: there is no cc on PATH")
    rig = tmp_path_factory.mktemp("reference") / "rig"
    build = [compiler, *STRICT, *SOURCES, "-o", rig, "-lm"]
    built = subprocess.run(build, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    # judged with every access and every sum watched, where the compiler has what that takes
    subprocess.run([*build, *SANITIZED], capture_output=True, check=False)
    return rig


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler: there is no cc on PATH")
    return built_library(tmp_path_factory.mktemp("library"), compiler)


@pytest.fixture
def start(program: Path) -> Iterator[Start]:
    with running(program) as started:
        yield started
