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
def of_functions() -> Path:
    """The library of functions.c, made once in a process."""
    place = tempfile.mkdtemp(prefix="halfreal-test-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return compiled(Path(__file__).with_name("functions.c"), Path(place) / "functions.so")
