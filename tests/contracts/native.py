"""Compiled libraries for tests."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from examples.scripts import GALLERY

COMPILER = shutil.which("cc")
HEADER = GALLERY / "user_functions"
NO_COMPILER = "needs a C compiler, cc"


def compiled(source: Path, library: Path) -> Path:
    """A shared library of a C source."""
    assert COMPILER is not None
    words = [COMPILER, "-O2", "-ffp-contract=off", "-shared", "-fPIC", f"-I{HEADER}", str(source), "-o", str(library)]
    subprocess.run([*words, "-lm"], check=True)
    return library


@cache
def _folder() -> Path:
    place = tempfile.mkdtemp(prefix="halfreal-test-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return Path(place)


@cache
def of_functions() -> Path:
    """The library of functions.c, made once in a process."""
    return compiled(Path(__file__).with_name("functions.c"), _folder() / "functions.so")


@cache
def an_fmu(name: str = "oscillator") -> Path:
    """The oscillator as an FMU; as "rig" it takes a command [m], and gives for a force what is its velocity."""
    from fmi.made import oscillator

    pushed = 'causality="input" variability="continuous"><Real unit='
    given = 'causality="output" variability="continuous" initial="calculated"><Real unit='
    other = {
        f'valueReference="5" {pushed}"N"': f'valueReference="5" {pushed}"m"',
        f'valueReference="7" {given}"m/s"': f'valueReference="7" {given}"N"',
    }
    return oscillator(_folder(), 2, name, **(other if name == "rig" else {}))
