"""Times and memory of fresh processes: what a user waits for at the command line."""

from __future__ import annotations

import os
import subprocess
import sys
import time
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
class StartUp:
    """Wall times [s], peak memory of the warm rehearsal [bytes] and size of its run file [bytes]."""

    help: float
    cold: float
    warm: float
    check: float
    peak: int
    run_file: int


def measure(definition: Path, folder: Path) -> StartUp:
    """Every command in a process of its own, with a compiler cache that begins empty in ``folder``."""
    command = [str(Path(sys.executable).with_name("halfreal"))]
    run_file = folder / "run.h5"
    rehearse = ["rehearse", str(definition), "--force", "--output", str(run_file)]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}

    def output(arguments: list[str]) -> str:
        return subprocess.run(arguments, check=True, env=environment, capture_output=True, text=True).stdout

    def wall(*arguments: str) -> float:
        start = time.perf_counter()
        output([*command, *arguments])
        return time.perf_counter() - start

    cold = wall(*rehearse)
    wall("check", str(definition))  # compiles what the linearised loop needs besides
    return StartUp(
        help=min(wall("--help") for _ in range(5)),
        cold=cold,
        warm=min(wall(*rehearse) for _ in range(3)),
        check=min(wall("check", str(definition)) for _ in range(3)),
        peak=1024 * int(output([sys.executable, "-c", PEAK, *rehearse]).split()[-1]),
        run_file=run_file.stat().st_size,
    )
