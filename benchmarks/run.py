"""Speed of a rehearsal, against the same loop in C, in NumPy and through libraries, and real-time runs: ``make bench``.

``python benchmarks/run.py --write`` also rewrites benchmarks/README.md; ``run.py loops commands`` measures these parts
alone, and the rows of each part are kept in results/bench until it is measured again.  A part that fails has a row
that says so; the others are measured.  BENCH_MINUTES is the length of the long run in real time (10 if it is not set, 0
leaves it out).
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import c_loop
import campaign
import cycles
import fmus
import frames
import growth
import long_run
import numpy as np
import numpy_loop
import processes
import realtime
import rls
import scale
import site_server as site
import variants
from capacity import structure
from fresh import LONGEST, in_new_process
from report import Row, duration, show, speed, write

import halfreal
import marths
import records
import stability
import vrths
from halfreal.contracts.context import AT_REST
from halfreal.kernels.loop import Loop
from halfreal.runs.build import SETTLING_TICKS

EXAMPLE = Path(__file__).parents[1] / "examples" / "spring_mass_damper" / "forward_prediction.toml"
KEPT = Path(__file__).parents[1] / "results" / "bench"
SAME = 1e-12
"""Largest difference between two loops' targets, relative to the largest target."""
SAME_STEPWISE = 1e-9
"""The same for libraries that form their own matrix exponential at every step."""
STEPWISE_TICKS = 300
SHORT = 1000
"""Ticks of slower loops: several short turns find the machine idle more often than a long one."""
PROCESSES = 4
NUMPY = "interpreted NumPy, step by step"
SLOWER_THAN_C, FASTER_THAN_NUMPY = 1.2, 50.0


def fastest(rounds: int, **calls: Callable[[], object]) -> dict[str, float]:
    """Shortest time of each call [s]; the calls take turns."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def recorded(loop: Loop, ticks: int) -> np.ndarray:
    """The log of all channels over the first ``ticks`` ticks."""
    loop.reset()
    stretch = loop.run(ticks, record=[channel.name for channel in loop.channels])
    if stretch.ticks != ticks or loop.vector[loop.index["guard.mode"]] != 0.0:
        raise RuntimeError(f"the loop tripped after {stretch.ticks} of {ticks} ticks; it is not what is to be timed")
    return stretch.log


def assert_same_target(loop: Loop, other: np.ndarray, limit: float, what: str) -> None:
    column = 1 + [channel.name for channel in loop.channels].index("target")
    ours = recorded(loop, len(other))[:, column]
    difference = float(np.abs(other[:, column] - ours).max() / np.abs(ours).max())
    if not difference <= limit:
        raise RuntimeError(f"the target of {what} differs by {difference:.2g} of its largest value, beyond {limit:g}")


def with_c(folder: Path) -> dict[str, float]:
    """Times of one tick of the compiled loop and, if there is a compiler, of the loop in C at each level [s]."""
    definition = halfreal.load(EXAMPLE)
    loop, ticks = halfreal.build(definition), definition.timing.ticks
    rivals: dict[str, Callable[[], object]] = {}
    if c_loop.compiler_present():
        for level in c_loop.LEVELS:
            in_c = c_loop.CLoop(loop, folder, level)
            assert_same_target(loop, in_c.run(ticks), SAME, f"the loop in C, {level}")
            rivals[level] = lambda in_c=in_c: in_c.run(ticks)
    general = halfreal.build(definition)
    general.general = True
    loop.fuse()
    best = fastest(200, ours=lambda: recorded(loop, ticks), general=lambda: recorded(general, ticks), **rivals)
    return {name: seconds / ticks for name, seconds in best.items()}


def with_scripts() -> dict[str, float]:
    """Times of one tick of the interpreted loop, by itself and with a library call at every step [s]."""
    definition = halfreal.load(EXAMPLE)
    loop = halfreal.build(definition)
    matrices = numpy_loop.by_matrices(loop)
    assert_same_target(loop, numpy_loop.run(loop, definition.timing.ticks, matrices), SAME, NUMPY)
    ways = {
        NUMPY: (matrices, SHORT, SAME),
        "scipy.signal.lsim": (numpy_loop.by_scipy(definition), STEPWISE_TICKS, SAME_STEPWISE),
        "control.forced_response": (numpy_loop.by_control(definition), STEPWISE_TICKS, SAME_STEPWISE),
    }
    for name, (advance, count, limit) in ways.items():
        assert_same_target(loop, numpy_loop.run(loop, count, advance), limit, name)
    calls = {
        name: lambda advance=advance, count=count: numpy_loop.run(loop, count, advance)
        for name, (advance, count, _) in ways.items()
    }
    return {name: best / ways[name][1] for name, best in fastest(20, **calls).items()}


def loops(folder: Path) -> list[Row]:
    """The compiled loop against C and interpreted NumPy, and NumPy with a library call at every step."""
    definition = halfreal.load(EXAMPLE)
    # where code and stack happen to lie changes the time of either loop by up to 40 %: both get several processes
    pairs = [in_new_process(with_c, folder) for _ in range(PROCESSES)]
    scripts = in_new_process(with_scripts)
    ours = min(pair["ours"] for pair in pairs)
    general = min(pair["general"] for pair in pairs)
    rows = [
        Row("compiled loop, fused", speed(ours), f"{definition.timing.step / ours:,.0f} × real time"),
        Row("the general loop", speed(general), f"the fused one takes {ours / general:.2f} of its time"),
    ]
    for level in c_loop.LEVELS:
        if level not in pairs[0]:
            print(f"no {c_loop.COMPILER} on this machine: the row 'the same loop in C, {level}' is left out")
            continue
        in_c = min(pair[level] for pair in pairs)
        against = f"our time is {ours / in_c:.2f} × C's"
        if level == "-O2":
            against += f"; target at most {SLOWER_THAN_C:g}: {'met' if ours <= SLOWER_THAN_C * in_c else 'missed'}"
        rows.append(Row(f"the same loop in C, {level}", speed(in_c), against))
    for name, each in scripts.items():
        if name == NUMPY:
            met = "met" if each >= FASTER_THAN_NUMPY * ours else "missed"
            what, target = name, f"; target at least {FASTER_THAN_NUMPY:g}: {met}"
        else:
            what, target = f"NumPy with {name} at every step ({STEPWISE_TICKS} ticks)", ""
        rows.append(Row(what, speed(each), f"{each / ours:,.0f} × slower than ours{target}"))
    return rows


def whole() -> list[Row]:
    """The rehearsal as the user calls it, and what linearising takes of it."""
    definition = halfreal.load(EXAMPLE)
    halfreal.rehearse(definition)
    quiet = halfreal.build(definition, AT_REST)
    quiet.run(SETTLING_TICKS)
    best = fastest(40, rehearsal=lambda: halfreal.rehearse(definition), linearising=lambda: halfreal.linearise(quiet))
    seconds = definition.timing.ticks * definition.timing.step
    return [
        Row("whole rehearsal", duration(best["rehearsal"]), f"{seconds:g} s of test"),
        Row("linearising the loop", duration(best["linearising"]), f"{quiet.dynamic_indices().size} states"),
    ]


def larger(dofs: int) -> Row:
    """The compiled loop with a larger virtual substructure."""
    definition = halfreal.load(EXAMPLE)
    loop = halfreal.build(definition.model_copy(update={"virtual": structure(dofs)}))
    recorded(loop, definition.timing.ticks)
    best = fastest(200, it=lambda: recorded(loop, SHORT))
    return Row(f"{dofs} degrees of freedom, Newmark", speed(best["it"] / SHORT))


def answered(took: processes.Took, target: float | None = None) -> tuple[str, str]:
    """The wall time of a command, and its processor time beside what it is to be."""
    spent = f"{duration(took.processor)} of processor time"
    if target is None:
        return duration(took.wall), spent
    kept = "met" if took.wall < target else "missed"
    return duration(took.wall), f"{spent}; target below {duration(target)}: {kept}"


def command_line(folder: Path) -> list[Row]:
    definition = halfreal.load(EXAMPLE)
    compileall.compile_dir(Path(halfreal.__file__).parent, quiet=1)  # else old bytecode might not be replaced
    figures = processes.measure(EXAMPLE, folder)
    channels = len(halfreal.build(definition).channels)
    return [
        Row("`halfreal --help`", *answered(figures.help, 0.15)),
        Row("`halfreal rehearse`, cold", *answered(figures.cold, 5.0)),
        Row("`halfreal check`, cold", *answered(figures.cold_check, 5.0)),
        Row("`halfreal check`, cold, without the library", *answered(figures.compiled_check)),
        Row("`halfreal rehearse`, warm", *answered(figures.warm)),
        Row("`halfreal check`, warm", *answered(figures.check, 1.0)),
        Row("`halfreal report`", *answered(figures.report, 2.0)),
        Row("peak memory of the warm rehearsal", f"{figures.peak / 1e6:.0f} MB"),
        Row(
            "record in memory",
            f"{8 * (1 + channels)} bytes a tick",
            f"time and {channels} channels; in the run file {figures.run_file / definition.timing.ticks:.0f}",
        ),
    ]


Part = Callable[[Path], list[Row]]


def alone(rows: Callable[[], list[Row]]) -> Part:
    """A part that has a process of its own, so that what it leaves behind does not delay the next."""
    return lambda folder: in_new_process(rows)


def part_of(name: str) -> Part:
    longest = LONGEST + 60.0 * long_run.minutes()
    return lambda folder: in_new_process(realtime.PARTS[name], folder, longest=longest)


PARTS: dict[str, dict[str, Part]] = {
    "table": {
        "loops": loops,
        "whole": alone(whole),
        "larger": lambda folder: [in_new_process(larger, dofs) for dofs in (20, 100)],
        "scale": alone(scale.rows),
        "stability": alone(stability.rows),
        "cycles": alone(cycles.rows),
        "fmus": alone(fmus.rows),
        "rls": alone(rls.rows),
        "vrths": alone(vrths.rows),
        "marths": alone(marths.rows),
        "campaign": alone(campaign.rows),
        "variants": alone(variants.rows),
        "commands": command_line,
        "records": alone(records.rows),
    },
    "growth": {"growth": alone(growth.rows)},
    "frames": {"frames": alone(frames.yielding)},
    "fibres": {"fibres": alone(frames.fibres)},
    "site": {"site": alone(site.rows)},
    "in_real_time": {name: part_of(name) for name in realtime.PARTS},
}
"""By the tables of README.md."""
ALL = [name for parts in PARTS.values() for name in parts]


def kept(name: str) -> Path:
    """Where the rows of a part are kept, with the time that it took [s]."""
    return KEPT / f"{name}.json"


def measure(names: list[str]) -> list[str]:
    """Measure parts, and keep their rows; the names of those that failed."""
    # small matrices gain nothing from BLAS threads, and lose much if the machine is busy
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    KEPT.mkdir(parents=True, exist_ok=True)
    failed, began = [], time.perf_counter()
    ordered = [(name, part) for parts in PARTS.values() for name, part in parts.items() if name in names]
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, part) in enumerate(ordered, start=1):
            start = time.perf_counter()
            print(f"{minutes(start - began)}  {name} ({number} of {len(ordered)}) …", flush=True)
            try:
                rows = part(Path(folder))
            except Exception as error:  # whatever it is, the other parts are measured
                print(f"{name} failed: {error}", flush=True)
                failed.append(name)
                why = (str(error).strip() or type(error).__name__).splitlines()[-1]
                rows = [Row(f"part '{name}'", "not measured", f"failed: {why}")]
            took = time.perf_counter() - start
            print(f"{minutes(time.perf_counter() - began)}  {name} took {took:.0f} s", flush=True)
            content = {"took": took, "rows": [asdict(row) for row in rows]}
            kept(name).write_text(json.dumps(content), encoding="utf-8")
    return failed


def minutes(seconds: float) -> str:
    return f"{int(seconds) // 60:2d}:{int(seconds) % 60:02d}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"what to measure; default: all of {', '.join(ALL)}")
    parser.add_argument(
        "--write", action="store_true", help="rewrite benchmarks/README.md, once every part is measured"
    )
    asked = parser.parse_args()
    unknown = set(asked.parts) - set(ALL)
    if unknown:
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(ALL)}")
    names = asked.parts or ALL
    failed = measure(names)
    found = {name: json.loads(kept(name).read_text(encoding="utf-8")) for name in ALL if kept(name).exists()}
    tables = {
        title: [Row(**row) for name in parts if name in found for row in found[name]["rows"]]
        for title, parts in PARTS.items()
    }
    show(*(rows for title, rows in tables.items() if any(name in names for name in PARTS[title])))
    missing = [name for name in ALL if name not in found]
    if asked.write and missing:
        sys.exit(f"not written: {', '.join(missing)} not measured yet")
    if asked.write:
        write(tables, sum(part["took"] for part in found.values()))
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
