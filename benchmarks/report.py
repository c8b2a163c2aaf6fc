"""The figures as a table: on the terminal, and in README.md."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

README = Path(__file__).with_name("README.md")
HEADER = ("what", "figure", "against")
WIDE = 160


@dataclass(frozen=True)
class Row:
    """What was measured, the figure, and what it is to be judged by."""

    what: str
    figure: str
    against: str = ""


def speed(tick: float) -> str:
    """Ticks per second, of the time of one tick [s]."""
    rate = f"{1e-6 / tick:.2f} million" if tick < 1e-6 else f"{1 / tick:,.0f}"
    return f"{rate} ticks/s ({duration(tick)} a tick)"


def duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def machine() -> list[Row]:
    """Processor and versions; nothing that names the machine."""
    import numba
    import numpy as np
    import scipy

    rows = [
        Row("processor", f"{processor()}, {os.cpu_count()} cores"),
        Row("system", f"{platform.system()} {platform.machine()}"),
        Row("Python", platform.python_version()),
        Row("Numba, NumPy, SciPy", f"{numba.__version__}, {np.__version__}, {scipy.__version__}"),
    ]
    try:
        compiler = subprocess.run(["gcc", "--version"], check=True, capture_output=True, text=True).stdout.splitlines()[
            0
        ]
    except (OSError, subprocess.CalledProcessError):
        compiler = "none"
    return [*rows, Row("C compiler", compiler)]


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"


def show(rows: list[Row]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(*HEADER)
    for row in rows:
        table.add_row(row.what, row.figure, row.against)
    console = Console()
    if not console.is_terminal:  # a file or a pipe has no width to keep to
        console = Console(width=WIDE)
    console.print(table)
    for fact in machine():
        console.print(f"{fact.what}: {fact.figure}", highlight=False)


def write(rows: list[Row]) -> None:
    lines = ["| " + " | ".join(HEADER) + " |", "|---|---|---|"]
    lines += [f"| {row.what} | {row.figure} | {row.against} |" for row in rows]
    facts = "\n".join(f"- {fact.what}: {fact.figure}" for fact in machine())
    README.write_text(TEXT.format(table="\n".join(lines), machine=facts), encoding="utf-8")


TEXT = """\
# Speed

`make bench` measures, in one run and as ratios, how fast the rehearsal of
[`forward_prediction.toml`](../examples/spring_mass_damper/forward_prediction.toml) is. It takes about a minute.
`.venv/bin/python benchmarks/run.py --write` also rewrites this page.

{table}

Measured on:

{machine}

## What the rows mean

- **Compiled loop**: `halfreal.build(definition)`, then `loop.run` over all ticks of the test with every channel
  recorded, after a first run that compiles or loads the code.
- **The same loop in C**: [`loop.c`](loop.c), written by hand for this one test and compiled with `gcc -O2`. It does
  the same work in the same order: excitation with its ramp and rate, start-up, exact step of the virtual
  substructure, prediction from 12 points, guard over six signals with warn and trip limits, events, record of all
  channels, transport, actuator, specimen, sensors. Its numbers come from the package's own blocks. Before anything is
  timed, the targets of the two must agree to 10⁻¹² of their largest value. Without a C compiler the row is left out.
- **Interpreted NumPy**: [`numpy_loop.py`](numpy_loop.py), the loop as a script with small arrays has it,
  `A @ x + B @ u` at every step. It must give the same targets too.
- **NumPy with a library call at every step**: the same script with the virtual substructure's step taken by
  `scipy.signal.lsim` or `control.forced_response`. Only a few hundred ticks are run; the figure is the time of one.
  Like plain NumPy these run with one BLAS thread, which is the fastest way for small matrices.
- **Whole rehearsal**: `halfreal.rehearse(definition)` in a running process, with all analyses that go into its run.
- **Linearising**: the transition matrix of the compiled loop, by perturbing each of its states both ways; building
  the loop is not counted.
- **Degrees of freedom**: the same loop with a virtual substructure of random symmetric positive definite mass and
  stiffness matrices, integrated by Newmark's method.
- **Delay margins**: [`stability.py`](stability.py), the critical delay of the spring–mass–damper loop. The exact one
  comes from an eigenvalue problem, not from a grid. DDE-BIFTOOL has a row only where Octave and it are installed.
- **Commands**: wall times of fresh processes. *Cold* begins with an empty compiler cache, as the first rehearsal after
  an installation does; *warm* finds what the first one left there.

Times are the best of several, and those that are compared take turns, so that a busy machine disturbs both alike.
The compiled loop and C are compared in four fresh processes, and the best of each counts: where code and stack happen
to lie in a process changes either by up to 40 %.
Absolute times change from machine to machine; the ratios are what to look at.
"""
