"""Times and memory of fresh processes: what a user waits for at the command line."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PEAK = """
import re, sys
from pathlib import Path
from halfreal.cli import app
try:
    app(sys.argv[1:])
except SystemExit as end:
    print(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
    raise
"""
"""Runs the command line and then prints its own peak: the parent's view of it would include the parent's memory."""


@dataclass(frozen=True)
class Took:
    """Wall time and processor time of a process [s]: on a busy machine the second is what the command itself costs."""

    wall: float
    processor: float


@dataclass(frozen=True)
class StartUp:
    """Times, peak memory of the warm rehearsal [bytes] and size of its run file [bytes].

    Cold: with an empty cache, and with the library of compiled functions, as after ``make`` or from a wheel; compiled:
    also without the library, so that all that the command needs is compiled first.
    """

    help: Took
    cold: Took
    cold_check: Took
    compiled_check: Took
    warm: Took
    check: Took
    report: Took
    peak: int
    run_file: int


@contextmanager
def without_library() -> Iterator[None]:
    """While it lasts, the package has no library."""
    from halfreal.kernels.library import PATH

    aside = PATH.with_suffix(".aside")
    PATH.rename(aside)
    try:
        yield
    finally:
        aside.rename(PATH)


def measure(definition: Path, folder: Path) -> StartUp:
    """Every command in a process of its own, with a compiler cache that begins empty in ``folder``."""
    command = [str(Path(sys.executable).with_name("halfreal"))]
    run_file = folder / "run.h5"
    rehearse = ["rehearse", str(definition), "--force", "--output", str(run_file)]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode

    def output(arguments: list[str], **more: str) -> str:
        return subprocess.run(arguments, check=True, env={**environment, **more}, capture_output=True, text=True).stdout

    def empty(name: str) -> dict[str, str]:
        return {"NUMBA_CACHE_DIR": str(folder / name)}

    def took(*arguments: str, **more: str) -> Took:
        start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        output([*command, *arguments], **more)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        return Took(time.perf_counter() - start, spent)

    def least(times: int, *arguments: str) -> Took:
        found = [took(*arguments) for _ in range(times)]
        return Took(min(one.wall for one in found), min(one.processor for one in found))

    output([*command, "--version"])
    cold = took(*rehearse)
    with without_library():
        compiled_check = took("check", str(definition), **empty("compiled"))
    return StartUp(
        help=least(5, "--help"),
        cold=cold,
        cold_check=took("check", str(definition), **empty("cold")),
        compiled_check=compiled_check,
        warm=least(3, *rehearse),
        check=least(5, "check", str(definition)),
        report=least(3, "report", str(run_file), "--force", "--output", str(folder / "run.html")),
        peak=1024 * int(output([sys.executable, "-c", PEAK, *rehearse]).split()[-1]),
        run_file=run_file.stat().st_size,
    )
