"""Random faults in real time: whatever happens, the rig stays within its limits of speed and step in wall time.

    python soak/random_faults.py [--seed 1] [--count 200]
    python soak/random_faults.py --cells [--page docs/margins.md]

Each try is a test of its own with a rig (``halfreal rig``, or docs/link/rig.c), on_trip, pacing, and one or two events
of tests/live/test_fault_matrix.py in a state of the test: stalls and losses of 5 to 120 ms, stops, false measurements,
a record that fails.  The witnesses are the rig's own record (of rig.c the positions that follow from its measurements)
and the commands as they left the controller.  Lost is a command or a rig that was faster, or went further in a step,
than its limit, or a command that moved without measurements.

``--cells`` tries every cell of the matrix once with each of these rig ends, and some with those of ``rig_ends.py``,
and writes the page of the margins.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import numpy as np
from outcome import FOLDER, Tries, keep
from rig_ends import STIFFNESS, Line, RigInC, WithDriver, microbit

import halfreal
from halfreal.links.wires import LinkError
from links import board
from links.by_hand import COMMAND
from links.reference import running
from live import test_fault_matrix as matrix
from live.processes import STEP, Rig, column, definition
from live.proxy import Proxy

PYTHON, IN_C, BOARD, SERVE, DRIVER = ENDS = ("halfreal rig", "rig.c", "microbit in QEMU", "halfreal serve", "driver")
DESCRIBED = (
    (PYTHON, "`halfreal rig`", "its record"),
    (IN_C, "docs/link/rig.c on Linux", "what follows from its measurements"),
    (BOARD, "docs/link/microbit on a board emulated by QEMU", "what follows from its measurements"),
    (SERVE, "`halfreal serve` with a driver in Python", "the driver's log of each write, with its time"),
    (DRIVER, "the same driver in the loop of `halfreal run`", "the driver's log of each write, with its time"),
)
"""Each rig end, what it is, and its witness."""
WINDOW = 5
"""Steps over which the speed of a rig in C is taken: its stamps are those of its measurements, not of its steps."""


@dataclass(frozen=True)
class Try:
    end: str
    pacing: str
    on_trip: str
    state: str
    events: tuple[str, ...]
    stall: float
    after: float
    """How long the state lasts before the first event; both in seconds."""

    @property
    def cell(self) -> str:
        return " · ".join((self.state, " + ".join(self.events), self.pacing, self.on_trip, self.end))


@dataclass
class Margins:
    """Largest values as shares of their limits."""

    step: float
    """Of the rig."""
    speed: float
    """Of the rig, by its own clock."""
    sent: float = math.nan
    """Speed of the commands that left the controller over a link."""
    blind: float = math.nan
    """Motion of the commands without measurements over a link [m]."""

    def lost(self) -> bool:
        return self.step > 1.0 + 1e-6 or self.speed > 1.0 + 1e-6 or self.sent > 1.0 + 1e-6 or self.blind > 0.0


def share(positions: np.ndarray, times: np.ndarray, window: int = 1) -> tuple[float, float]:
    """Largest step and largest speed, as shares of what the limit allows."""
    if positions.size <= window + 1:
        return 0.0, 0.0
    step = np.abs(np.diff(positions)).max() / (matrix.RATE * STEP)
    moved = np.abs(positions[window:] - positions[:-window])
    first = times[:-window] if window == 1 else np.concatenate([times[:1], times[: -window - 1]])
    speed = (moved / (matrix.RATE * np.maximum(times[window:] - first, 1e-9)))[moved > 1e-12]
    return float(step), float(speed.max(initial=0.0))


def over(proxy: Proxy, step: float, speed: float) -> Margins:
    """Of a rig behind a link."""
    commands = [(1e-9 * sent.timestamp, sent.channels[0]) for sent in proxy.heard if sent.kind == COMMAND]
    times, positions = np.array(commands).T
    return Margins(step, speed, share(positions, times)[1], blind_motion(proxy))


def blind_motion(proxy: Proxy) -> float:
    sent = [one for one in proxy.heard if one.kind == COMMAND]
    first, moved, way = sent[0], 0.0, 0.0
    for before, one in itertools.pairwise(sent):
        last, way = way, one.channels[0] - before.channels[0]
        blind = 1e-9 * (before.timestamp - first.timestamp)
        if one.answers != first.answers:
            first = one
        elif blind > (matrix.MISSING + 1.0) * STEP:
            brakes = abs(way) < abs(last) and way * last > 0.0 and blind < 2.0 * matrix.BRAKING
            moved += 0.0 if brakes else abs(way)
    return moved


class Bench:
    """Rigs, and the checks of definitions, for any number of tries."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rigs: dict[str, Rig] = {}
        self.checks: dict[str, object] = {}
        self.program = folder / "rig"
        sources = [board.LINK / name for name in ("rig.c", "halfreal_rig.c", "simulated.c")]
        compiler = shutil.which("cc")
        if compiler is not None:
            subprocess.run([compiler, "-O2", "-std=gnu11", *sources, "-o", self.program, "-lm"], check=True)

    def close(self) -> None:
        for rig in self.rigs.values():
            rig.__exit__()

    def measure(self, one: Try) -> Margins:
        return {IN_C: self.in_c, BOARD: self.on_board, SERVE: self.served, DRIVER: self.in_loop, PYTHON: self.python}[
            one.end
        ](one)

    def in_c(self, one: Try) -> Margins:
        limits = f"--rate {matrix.RATE} --stroke 0.02 --largest-step 0.02 --stiffness {STIFFNESS} --lease 10"
        options = [*limits.split(), "--auxiliary", "1"]
        with running(self.program, "") as start:
            process = start(*options, *(["--return", "0.08"] if one.on_trip == "return" else []))
            rig = RigInC(process.port, process.process.pid)
            proxy, line = self.over_link(one, rig)
            return over(proxy, *share(*rig.positions(line), window=WINDOW))

    def on_board(self, one: Try) -> Margins:
        with microbit(self.folder) as rig:
            proxy, line = self.over_link(one, rig)
            return over(proxy, *share(*rig.positions(line), window=WINDOW))

    def python(self, one: Try) -> Margins:
        if one.on_trip not in self.rigs:
            folder = self.folder / one.on_trip
            folder.mkdir()
            how = {"limits.on_trip": one.on_trip}
            self.rigs[one.on_trip] = Rig(folder, changes=matrix.LIMITS | how)
            self.rigs[one.on_trip].auxiliary = 1
        python = self.rigs[one.on_trip]
        python.go_home(matrix.AWAY)
        proxy, _ = self.over_link(one, python)
        record = python.record()
        return over(proxy, *share(column(record, "command"), column(record, "rig.clock")))

    def served(self, one: Try) -> Margins:
        rig = WithDriver(self.folder, one.stall)
        with rig.served(one.on_trip):
            proxy, _ = self.over_link(one, rig, rig.table())
        return over(proxy, *share(*rig.positions()))

    def in_loop(self, one: Try) -> Margins:
        rig = WithDriver(self.folder, one.stall)
        self.run(one, 0, rig.table() | {"link.kind": "driver", "link.rig": None}, self.happening(rig, Line()))
        return Margins(*share(*rig.positions()))

    def over_link(
        self, one: Try, rig: Rig | RigInC | WithDriver, changes: dict[str, object] | None = None
    ) -> tuple[Proxy, Line]:
        line = Line()
        with Proxy(rig.port, line.commands, line.measurements) as proxy:
            self.run(one, proxy.port, changes or {}, self.happening(rig, line))
        return proxy, line

    @staticmethod
    def happening(rig: Rig | RigInC | WithDriver, line: Line) -> Callable[[str, halfreal.Session], None]:
        def happen(event: str, session: halfreal.Session) -> None:
            if not (isinstance(rig, WithDriver) and rig.happen(event)):
                matrix.happen(event, session, rig, line)  # type: ignore[arg-type]

        return happen

    def run(
        self, one: Try, port: int, changes: dict[str, object], happen: Callable[[str, halfreal.Session], None]
    ) -> None:
        matrix.STALL = one.stall
        how = {"limits.on_trip": one.on_trip, "real_time.pacing": one.pacing}
        given = definition(self.folder, port, matrix.TEST, how, matrix.LONG.get(one.state, {}), changes)
        session = halfreal.Session(given, self.folder / "run.h5", overwrite=True)
        known = " ".join((one.end, one.pacing, one.on_trip, one.state if one.state in matrix.LONG else ""))
        if known not in self.checks:
            self.checks[known] = session.check()
        session.checked = self.checks[known]  # type: ignore[attr-defined]
        with matrix.armed_as_checked(session):
            matrix.reach(one.state, session)
            time.sleep(one.after)
            for event in one.events:
                if session.running:
                    happen(event, session)
            if one.state == "armed":
                session.start()
            session.wait()
            session.finish()


def drawn(seed: int) -> Try:
    chance = random.Random(seed)
    events = tuple(chance.choice(matrix.EVENTS) for _ in range(chance.choice((1, 1, 2))))
    state, pacing = chance.choice(tuple(matrix.STATES)), chance.choice(("clock", "rig"))
    return Try(
        chance.choice((PYTHON, IN_C)),
        pacing,
        chance.choice(("hold", "return")),
        state,
        events,
        stall=chance.uniform(0.005, 0.12),
        after=chance.uniform(0.0, 0.07 if state == "ramping" else 0.3),
    )


def cells() -> Iterator[Try]:
    """Every cell with the two rig ends of the random faults; of the others those that ``is_measured``."""
    for end, cell in itertools.product(ENDS, matrix.cells()):
        pacing, on_trip, state, event = cell
        if end in (PYTHON, IN_C) or is_measured(end, pacing, on_trip, event):
            yield Try(end, pacing, on_trip, state, (event,), stall=0.06, after=0.03 if state == "ramping" else 0.1)


def is_measured(end: str, pacing: str, on_trip: str, event: str) -> bool:
    """Every state and event with on_trip "return", in which the rig moves most; of the drivers by the clock."""
    if end == BOARD:
        return board.is_installed() and on_trip == "return"
    there = event not in ("datagrams lost", "measurements lost") if end == DRIVER else True
    return there and (pacing, on_trip) == ("clock", "return")


def page(found: dict[str, Margins]) -> str:
    counted = Counter(cell.rpartition(" · ")[2] for cell in found)
    lines = [
        "# Margins of the motion, measured",
        "",
        "Written by `soak/random_faults.py --cells`: one test for each of these cells of the",
        "[fault matrix](safety.md), with real processes. *Step* and *speed* are the largest of the rig by its own",
        "record and clock, *sent* is the largest speed of the commands that left the controller, each over its limit",
        f"({matrix.RATE} m/s, and a step of it); *blind* is the motion without measurements. 1.000 is the limit.",
        "",
        "| rig end | what it is | step and speed are those of | cells |",
        "|---|---|---|---|",
        *(f"| {end} | {what} | {witness} | {counted[end] or 'not measured'} |" for end, what, witness in DESCRIBED),
        "",
        "Speeds of rig ends in C are those over some steps: their measurements have the time, their steps do not.",
        f"With {PYTHON} and {IN_C} every cell is measured. With the others every state and event is, with on_trip",
        f"*return*, with {BOARD} in both pacings, with the drivers in *clock*; *hold*, and *rig* with the drivers,",
        "are not measured with them. The driver in the loop has no link: it loses no datagrams, *sent* and *blind* do",
        "not apply, and what is held up is its read.",
        "",
        "| state | event | pacing | on_trip | rig end | step | speed | sent | blind |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for cell, one in found.items():
        parts = cell.split(" · ")
        over_link = ("–", "–") if math.isnan(one.sent) else (f"{one.sent:.3f}", f"{1e3 * one.blind:g} mm")
        lines.append(f"| {' | '.join(parts)} | {one.step:.3f} | {one.speed:.3f} | {' | '.join(over_link)} |")
    worst = Margins(*(np.nanmax([getattr(one, field.name) for one in found.values()]) for field in fields(Margins)))
    lines += [
        "",
        f"{len(found)} cells; largest: step {worst.step:.6f}, speed {worst.speed:.6f}, sent {worst.sent:.6f}, "
        f"blind {1e3 * worst.blind:g} mm.",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--cells", action="store_true")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--end", choices=ENDS, help="only this rig end")
    given = parser.parse_args()
    deadline = time.monotonic() + 60.0 * given.minutes
    chosen = [drawn(given.seed + i) for i in range(given.count)]
    if given.cells:
        chosen = [one for one in cells() if given.end in (None, one.end)]
    found: dict[str, Margins] = {}
    lost: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        bench, tries = Bench(Path(folder)), Tries(0, len(chosen))
        try:
            for i in tries:
                if time.monotonic() > deadline:
                    break
                try:
                    margins = bench.measure(chosen[i])
                except LinkError:  # a busy machine: the rig has not answered in time
                    margins = bench.measure(chosen[i])
                key = chosen[i].cell if given.cells else f"{given.seed + i}: {chosen[i].cell}"
                found[key] = margins
                if margins.lost():
                    lost.append(key)
                    print(f"beyond a limit: {key}, {chosen[i].stall:.3f} s: {margins}", flush=True)
        finally:
            bench.close()
    FOLDER.mkdir(parents=True, exist_ok=True)
    name = "margins" if given.cells else "random_faults"
    kept = FOLDER.parent / f"{name}_of_motion.json"
    record = json.loads(kept.read_text("utf-8")) if given.cells and kept.exists() else {}
    record |= {key: vars(one) for key, one in found.items()}
    kept.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    if given.cells:  # with those of earlier calls, as on the page
        found = {key: Margins(**record[key]) for key in sorted(record)}
        lost = [key for key, one in found.items() if one.lost()]
    if given.page is not None:
        given.page.write_text(page(found), "utf-8")
    largest = [
        max((value for one in found.values() if not math.isnan(value := getattr(one, part))), default=0.0)
        for part in ("step", "speed", "sent")
    ]
    text = "largest step {:.4f}, speed {:.4f}, speed sent {:.4f} of their limits".format(*largest)
    what = "cells of the fault matrix" if given.cells else "random faults in real time"
    return keep(name, what, len(found), len(lost), text)


if __name__ == "__main__":
    sys.exit(main())
