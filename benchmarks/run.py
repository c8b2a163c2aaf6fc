"""Speed of a rehearsal, against the same loop in C, in NumPy and through libraries, and real-time runs: ``make bench``.

``python benchmarks/run.py --write`` also rewrites benchmarks/README.md.  BENCH_MINUTES is the length of the long run in
real time (10 if it is not set, 0 leaves it out).
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import c_loop
import campaign
import cycles
import fmus
import frames
import numpy as np
import numpy_loop
import processes
import realtime
import rls
import scale
import site_server as site
from capacity import structure
from report import Row, duration, show, speed, write

import halfreal
import marths
import stability
import vrths
from halfreal.contracts.context import AT_REST
from halfreal.definition.definition import Definition
from halfreal.kernels.loop import Loop
from halfreal.runs.build import SETTLING_TICKS

EXAMPLE = Path(__file__).parents[1] / "examples" / "spring_mass_damper" / "forward_prediction.toml"
SAME = 1e-12
"""Largest difference between two loops' targets, relative to the largest target."""
SAME_STEPWISE = 1e-9
"""The same for libraries that form their own matrix exponential at every step."""
STEPWISE_TICKS = 300
SHORT = 1000
"""Ticks of slower loops: several short turns find the machine idle more often than a long one."""
PROCESSES = 4
NUMPY = "interpreted NumPy, step by step"
SLOWER_THAN_C, FASTER_THAN_NUMPY = 2.0, 50.0


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
    if stretch.ticks != ticks or loop.state("guard")["mode"] != 0.0:
        raise RuntimeError(f"the loop tripped after {stretch.ticks} of {ticks} ticks; it is not what is to be timed")
    return stretch.log


def assert_same_target(loop: Loop, other: np.ndarray, limit: float, what: str) -> None:
    column = 1 + [channel.name for channel in loop.channels].index("target")
    ours = recorded(loop, len(other))[:, column]
    difference = float(np.abs(other[:, column] - ours).max() / np.abs(ours).max())
    if not difference <= limit:
        raise RuntimeError(f"the target of {what} differs by {difference:.2g} of its largest value, beyond {limit:g}")


def with_c(folder: Path) -> dict[str, float]:
    """Times of one tick of the compiled loop and, if there is a compiler, of the loop in C [s]."""
    definition = halfreal.load(EXAMPLE)
    loop, ticks = halfreal.build(definition), definition.timing.ticks
    rivals: dict[str, Callable[[], object]] = {}
    if c_loop.compiler_present():
        in_c = c_loop.CLoop(loop, folder)
        assert_same_target(loop, in_c.run(ticks), SAME, "the loop in C")
        rivals["c"] = lambda: in_c.run(ticks)
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


def loops(definition: Definition, folder: Path, fresh: Executor) -> list[Row]:
    """The compiled loop against C and interpreted NumPy, and NumPy with a library call at every step."""
    # where code and stack happen to lie changes the time of either loop by up to 40 %: both get several processes
    pairs = list(fresh.map(with_c, [folder] * PROCESSES))
    scripts = fresh.submit(with_scripts).result()
    ours = min(pair["ours"] for pair in pairs)
    general = min(pair["general"] for pair in pairs)
    rows = [
        Row("compiled loop, fused", speed(ours), f"{definition.timing.step / ours:,.0f} × real time"),
        Row("the general loop", speed(general), f"the fused one takes {ours / general:.2f} of its time"),
    ]
    if "c" in pairs[0]:
        in_c = min(pair["c"] for pair in pairs)
        met = "met" if ours <= SLOWER_THAN_C * in_c else "missed"
        against = f"our time is {ours / in_c:.2f} × C's; target at most {SLOWER_THAN_C:g}: {met}"
        rows.append(Row("the same loop in C", speed(in_c), against))
    else:
        print(f"no {c_loop.COMMAND[0]} on this machine: the row 'the same loop in C' is left out")
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


def larger(definition: Definition, dofs: int) -> Row:
    """The compiled loop with a larger virtual substructure."""
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


def command_line(definition: Definition, folder: Path) -> list[Row]:
    figures = processes.measure(EXAMPLE, folder)
    channels = len(halfreal.build(definition).channels)
    return [
        Row("`halfreal --help`", *answered(figures.help, 0.15)),
        Row("`halfreal rehearse`, cold", *answered(figures.cold, 5.0)),
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="rewrite benchmarks/README.md")
    asked = parser.parse_args()
    definition = halfreal.load(EXAMPLE)
    # small matrices gain nothing from BLAS threads, and lose much if the machine is busy
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    new_processes = ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1)
    with tempfile.TemporaryDirectory() as name, new_processes as fresh:
        folder = Path(name)
        rows = [
            *loops(definition, folder, fresh),
            *fresh.submit(whole).result(),
            *(larger(definition, dofs) for dofs in (20, 100)),
            *fresh.submit(scale.rows).result(),
            *fresh.submit(stability.rows).result(),
            *fresh.submit(cycles.rows).result(),
            *fresh.submit(fmus.rows).result(),
            *fresh.submit(rls.rows).result(),
            *fresh.submit(vrths.rows).result(),
            *fresh.submit(marths.rows).result(),
            *fresh.submit(campaign.rows).result(),
            *command_line(definition, folder),
        ]
        of_frames, of_fibres = (fresh.submit(part).result() for part in (frames.yielding, frames.fibres))
        of_site = fresh.submit(site.rows).result()
        in_real_time = realtime.rows(folder, fresh)
    show(rows, of_frames, of_fibres, of_site, in_real_time)
    if asked.write:
        write(rows, of_frames, of_fibres, of_site, in_real_time)


if __name__ == "__main__":
    main()
