"""The figures as a table: on the terminal, and in README.md."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable
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


def show(*tables: list[Row]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    if not console.is_terminal:  # a file or a pipe has no width to keep to
        console = Console(width=WIDE)
    for rows in tables:
        table = Table(*HEADER)
        for row in rows:
            table.add_row(row.what, row.figure, row.against)
        console.print(table)
    for fact in machine():
        console.print(f"{fact.what}: {fact.figure}", highlight=False)


def markdown(rows: list[Row]) -> str:
    lines = ["| " + " | ".join(HEADER) + " |", "|---|---|---|"]
    lines += [f"| {row.what} | {row.figure} | {row.against} |" for row in rows]
    return "\n".join(lines)


def missed(rows: Iterable[Row]) -> str:
    """Rows that do not meet their target, or could not be measured, as a list."""
    lines = [
        f"- {row.what}: {'; '.join(filter(None, (row.figure, row.against)))}"
        for row in rows
        if ": missed" in f"{row.figure} {row.against}" or row.figure == "not measured"
    ]
    return "\n".join(lines) or "None."


def write(tables: dict[str, list[Row]], took: float) -> None:
    """Renew README.md with its tables by name; ``took`` is how long all parts were measured [s]."""
    facts = "\n".join(f"- {fact.what}: {fact.figure}" for fact in machine())
    every = [row for rows in tables.values() for row in rows]
    parts = {name: markdown(part) for name, part in tables.items()}
    text = TEXT.format(**parts, machine=facts, missed=missed(every), minutes=f"{took / 60:.0f}")
    README.write_text(text, encoding="utf-8")


def write_part(title: str, rows: list[Row]) -> None:
    """Replace the table under one title."""
    text = README.read_text(encoding="utf-8")
    start = text.index("| what |", text.index(f"## {title}\n"))
    README.write_text(text[:start] + markdown(rows) + text[text.index("\n\n", start) :], encoding="utf-8")


TEXT = """\
# Benchmarks

`make bench` measures, in one run and as ratios, how fast the rehearsal of
[`forward_prediction.toml`](../examples/spring_mass_damper/forward_prediction.toml) is, and how well real-time runs
keep time, how the cost of a tick grows, and what a user waits for. The parts of this page took {minutes} minutes in
all, the long run among them: `BENCH_MINUTES` is its length (10 if it is not set; 0 leaves it out).
`.venv/bin/python benchmarks/run.py --write` also rewrites this page; with names of parts, such as `loops commands`, it
measures these alone and takes the others as they were measured last. Rows that miss their target are
[listed](#missed-targets) below the tables.

{table}

## Growth of a tick's cost

{growth}

![Time of a tick over degrees of freedom, axes, elements and recorded channels](growth.svg)

## Frames that yield

{frames}

![Time of a step over the degrees of freedom](frames.svg)

## Frames of fibres

{fibres}

## OpenSees through a site

{site}

## In real time

{in_real_time}

## Missed targets

{missed}

## The machine

{machine}

## What the rows mean

- **Compiled loop**: `halfreal.build(definition)`, then `loop.run` over all ticks of the test with every channel
  recorded, after a first run that compiles or loads the code. *Fused* is one piece of code for all blocks, as loops
  that run often have it; the *general loop* calls each block through its address. Both give the same bits.
- **The same loop in C**: [`loop.c`](loop.c), written by hand for this one test and compiled with `gcc`, at
  -O2 and for this processor at -O3 (without contraction of multiplication and addition, as ours). It does
  the same work in the same order: excitation with its ramp and rate, start-up, exact step of the virtual
  substructure, prediction from 12 points, energy error, guard over eleven signals with warn and trip limits, events,
  record of all channels, actuator, specimen, sensors. Its numbers come from the package's own blocks. Before anything
  is timed, the targets of the two must agree to 10⁻¹² of their largest value. Without a C compiler the row is left
  out.
- **Interpreted NumPy**: [`numpy_loop.py`](numpy_loop.py), the loop as a script with small arrays has it,
  `A @ x + B @ u` at every step. It must give the same targets too.
- **NumPy with a library call at every step**: the same script with the virtual substructure's step taken by
  `scipy.signal.lsim` or `control.forced_response`. Only a few hundred ticks are run; the figure is the time of one.
  Like plain NumPy these run with one BLAS thread, which is the fastest way for small matrices.
- **Whole rehearsal**: `halfreal.rehearse(definition)` in a running process, with all analyses that go into its run.
- **Linearising**: the transition matrix of the compiled loop, by perturbing each of its states both ways; building
  the loop is not counted.
- **In modes**: [`scale.py`](scale.py), a tick of a virtual substructure alone, integrated in modes as the program
  chooses, against the same scheme with its full matrices; both must give the same target. Poles, margins and checks
  of loops with such structures: once warm, the structure's modes known, with margins of the whole model for
  comparison where it is small enough.
- **Growth**: [`growth.py`](growth.py). Degrees of freedom: a tick of the virtual substructure alone, integrated as the
  program chooses, or with full matrices. Elements: as many masses in a row with a yielding spring before each, the
  virtual substructure alone. Axes and recorded channels: the whole fused loop of the example, with all channels
  recorded, or some. All take turns; the shortest of 40 counts. Exponents are those between the two largest sizes.
- **Records**: [`records.py`](records.py), in a fresh process after a short rehearsal: the peak of resident memory
  during the long one and its saving, and during its report, less what was resident before. The record is that of all
  channels; the file has the same numbers, packed by threads. Reports of a shorter and of a longer record are measured
  too: their memory must not grow with the record.
- **Frames**: [`frames.py`](frames.py), a step of regular frames that yield, by Newmark's method at 1 kHz, the block
  alone. A step's work is the same whenever the run is repeated, so that the shortest time of each step in 15 runs
  counts; quantiles are over steps, of which some yield and most do not. OpenSees has the same model and integrator,
  Newton's method to 1e-8 m, in a process of its own; it is timed step by step in the same way, by its processor time,
  and must end at the same displacement. `frames.py --write` renews its table and picture alone.
- **Frames of fibres**: the same with members of fibre sections.
- **OpenSees through a site**: [`site_server.py`](site_server.py), a step of the stock OpenSees through `halfreal site`
  with a spring behind it that follows at once, against a server that sends back the bytes it receives. Client and
  server share a processor: else most of their processor time would be that of waking an idle one, six times a step.
- **FMUs**: [`fmus.py`](fmus.py), an oscillator as our own block and as an FMU in the same loop. In co-simulation the
  FMU takes four steps in a tick, in model exchange the loop takes one, as our own block does. FMPy steps the same FMU
  from Python.
- **Degrees of freedom**: the same loop with a virtual substructure of random symmetric positive definite mass and
  stiffness matrices, integrated by Newmark's method.
- **Delay margins**: [`stability.py`](stability.py), the critical delay of the spring–mass–damper loop. The exact one
  comes from an eigenvalue problem, not from a grid.
- **Delay equations**: the rightmost characteristic root with the proof that none lies right of it, from the matrices
  on. DDE-BIFTOOL's `p_stabil`, with its defaults and given the derivatives, corrects its roots and checks their
  residuals. Both are warm and take turns; the best of 25 turns counts. It has rows only where Octave and it are
  installed.
- **Limit cycles**: [`cycles.py`](cycles.py), all of the loop of
  [`saturating_late.toml`](../examples/limit_cycles/saturating_late.toml): free motion at 37 amplitudes, Newton's
  method and the Floquet multipliers; and Newton's method alone.
- **QR-RLS coupling**: [`rls.py`](rls.py), the adaptive feed-forward of two axes and nine harmonics, identifying and
  adapting at once: three rows a tick into two triangular factors of 36 unknowns, by Givens rotations. NumPy
  factorises again what it has with the new rows below, at every tick; both must command the same drive to 10⁻¹⁰.
- **Benchmark problem**: [`vrths.py`](vrths.py), a run of the field's benchmark problem
  ([`vrths_benchmark`](../examples/vrths_benchmark/README.md)) as long as its record of El Centro, from the definition
  to the record of what its criteria need. The plain NumPy loop has no guard, no energy error and no noise, and must
  give the same targets to 10⁻⁹. The scorecard is `halfreal benchmark vrths` with the shipped motions, in threads of
  one process.
- **Multi-axial benchmark problem**: [`marths.py`](marths.py), a run of
  [`marths_benchmark`](../examples/marths_benchmark/README.md) as long as its record of El Centro, from the definition
  to the record of what its criteria need; the scorecard of three motions of that length with 20 perturbed plants each;
  and `tune` of its two actuators with 20 perturbed plants.
- **Campaign**: [`campaign.py`](campaign.py), rehearsals of the [strut-braced
  wing](../examples/strut_braced_wing/README.md) over a grid of devices in one table of results, from the definition
  to the score; and Latin hypercube samples of its shaker. `BENCH_CAMPAIGN` is the number of points along each side of
  the grid, 20 if it is not set; 100 make 10,000 rehearsals, whose time is else extrapolated: that of a campaign of 16,
  mostly the start of its workers, and the time of each further one.
- **Uncertainty study**: [`variants.py`](variants.py), 1000 samples and the search for the worst case of a definition
  of the benchmark problem, in two processes that share what its variants have in common; against variants that are
  validated, built and linearised one by one in one process. The first samples must have the same growth rates to the
  bit.
- **Commands**: wall times of fresh processes, the shortest of several, with Python's bytecode in place. *Cold* begins
  with an empty cache and the library of compiled functions, as the first command after an installation does; *warm*
  finds what the first one left there.

In real time:

- **Wake-up lateness**: from the moment a tick is due to that at which the loop continues, of every tick; an *overrun*
  is a tick that was not done before the next was due. Ours is the compiled loop of the example with its simulated rig
  in process, every channel recorded, and the clock of `halfreal run`, in a thread next to Python's. C is
  [`pace.c`](pace.c), a program of its own with the loop of `loop.c` and the same clock: absolute deadlines, asleep
  until 60 µs before one (at most half a period: real-time threads may not take all of a processor), then watching the
  clock. Both have the same priority and locked memory, and the delay of the rig is the same number of steps at every
  rate. They take 50 short turns each, one after the other, the first tenth of a turn not counted. Percentiles are of
  all counted ticks together.
- **What C's rows say**: C's lateness is this machine's floor, and how much C differs from itself, every other turn
  against the rest, is what a ratio of ours to C can be judged by. When the clock is watched, p50 is the time between
  two readings of it, and p99 lies near the edge between ticks that the watching has caught and ticks that came later
  still, so that a little more unrest moves it far. *Asleep until due* has no such edge. Worst cases come from the
  system, in a virtual machine from its host, and hit either.
- **Tick with a rig process**: a `halfreal run` in step with a rig process, with the recorder at work; the time from one
  measurement to the next, so a round trip with all blocks of both ends. Both ends send at once: the least time between
  two commands, which a test keeps, is left out ([`unpaced.py`](unpaced.py)), and each has a processor of its own. *The
  rig in C* is [`rig.c`](../docs/link/rig.c), which waits as ours does: it watches for 30 µs, then it sleeps. *Bare
  exchange* is [`exchange.c`](exchange.c): two processes that pass datagrams of the same lengths, wait in the same way,
  and do nothing else: no tag, which every datagram of the link has, no block, no record. Both programs run in turn,
  10 ms each, while the other one is stopped. Each of our slices is compared with that of the bare exchange next to it,
  median with median; the ratio and the difference are the medians of all slices. Runs through shared memory are too
  short for that: the medians of whole turns are compared.
- **Hardware**: [`hardware.md`](hardware.md) has the figures of drivers, of the rig side on microcontrollers, of
  EtherCAT, and of how long it takes until a driver that fails is safe.
- **Tags of the link**: [`tags.py`](tags.py), SipHash-2-4-128 of every datagram, with a key or without; the difference
  to the same datagrams without a tag, fastest of 20 turns.
- **Largest virtual substructure**: [`capacity.py`](capacity.py), the whole tick with all blocks of the example, with
  a random linear substructure of as many states or degrees of freedom, whose matrices are full; it is integrated as
  the program chooses, in modes. The loop is not paced: one tick after another, p99 of the median turn of seven. Sizes
  are measured, by halving the interval between one that fits and one that does not until they are within 12 %; those
  beyond 2000 are not tried.
- **With a busy interpreter**: while another thread of our process computes in Python without rest and makes garbage.
  The long run ([`long_run.py`](long_run.py)) is one stretch with the recorder process taking every row; its lateness
  is that of every tick, as it is in the file.

In the first table times are the best of several, and those that are compared take turns, so that a busy machine
disturbs both alike. The compiled loop and C are compared in four fresh processes, and the best of each counts: where
code and stack happen to lie in a process changes either by up to 40 %.
Absolute times change from machine to machine; the ratios are what to look at.
"""
