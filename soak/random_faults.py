"""Random faults in real time: whatever happens, the rig stays within its limits of speed and step in wall time.

    python soak/random_faults.py [--seed 1] [--count 200]
    python soak/random_faults.py --cells [--page docs/margins.md]

Each try is a test of its own with a rig (``halfreal rig``, or docs/link/rig.c), on_trip, pacing, and one or two events
of tests/live/test_fault_matrix.py in a state of the test: stalls and losses of 5 to 120 ms, stops, false measurements,
a record that fails.  The witnesses are the rig's own record (of rig.c the positions that follow from its measurements)
and the commands as they left the controller.  Lost is a command or a rig that was faster, or went further in a step,
than its limit, or a command that moved without measurements.

``--cells`` tries every cell of the matrix once with each rig end, and writes the page of the margins.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import numpy as np
from outcome import FOLDER, Tries, keep

import halfreal
from halfreal.links.wires import LinkError
from links.by_hand import COMMAND, IDLE, MEASUREMENT, Controller
from links.reference import Process as CProcess
from links.reference import running
from live import test_fault_matrix as matrix
from live.processes import STEP, Rig, column, definition
from live.proxy import Datagram, Proxy

LINK = Path(__file__).parents[1] / "docs" / "link"
ENDS = ("halfreal rig", "rig.c")
LAG = 0.010
"""Of the actuator of docs/link/simulated.c [s]."""
STIFFNESS = 100.0
"""Of its specimen [N/m]: soft, so that the loop is stable with that lag."""
WINDOW = 5
"""Steps over which the speed of rig.c is taken: its stamps are those of its measurements, not of its steps."""


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
    sent: float
    """Speed of the commands that left the controller."""
    blind: float
    """Motion of the commands without measurements [m]."""

    def lost(self) -> bool:
        return self.step > 1.0 + 1e-6 or self.speed > 1.0 + 1e-6 or self.sent > 1.0 + 1e-6 or self.blind > 0.0


class Line(matrix.Line):
    """Keeps what the rig has measured, whatever becomes of it."""

    def measurements(self, datagram: Datagram) -> list[bytes]:
        if datagram.kind == MEASUREMENT:
            vars(self).setdefault("measured", []).append(datagram)
        return super().measurements(datagram)


class RigInC:
    """``rig.c`` as a process, for one test."""

    def __init__(self, process: CProcess) -> None:
        self.port, self.pid = process.port, process.process.pid
        with Controller(self.port, auxiliary=1) as by_hand:  # to where the rig of the matrix begins too
            by_hand.arm(5.0)
            by_hand.send(by_hand.next(COMMAND, (matrix.AWAY,)))
            while abs(by_hand.measurement().channels[0] - matrix.AWAY) > 1e-9:
                pass
            by_hand.stop()

    def positions(self, line: Line) -> tuple[np.ndarray, np.ndarray]:
        """Applied in each step, and stamps [s]: its actuator is a lag of first order."""
        # the answer to STOP comes without a step
        heard = [one for one in vars(line)["measured"] if one.state != IDLE]
        stamps = 1e-9 * np.array([one.timestamp for one in heard])
        reached = np.array([one.channels[0] for one in heard])
        stepped = np.array([one.sequence for one in heard])
        decay = np.exp(-STEP / LAG)
        applied = (reached[1:] - decay * reached[:-1]) / (1.0 - decay)
        assert np.all(np.diff(stepped) == 1), "a measurement was not received"
        return applied[1:], stamps[2:]


def share(positions: np.ndarray, times: np.ndarray, window: int = 1) -> tuple[float, float]:
    """Largest step and largest speed, as shares of what the limit allows."""
    if positions.size <= window + 1:
        return 0.0, 0.0
    step = np.abs(np.diff(positions)).max() / (matrix.RATE * STEP)
    moved = np.abs(positions[window:] - positions[:-window])
    first = times[:-window] if window == 1 else np.concatenate([times[:1], times[: -window - 1]])
    speed = (moved / (matrix.RATE * np.maximum(times[window:] - first, 1e-9)))[moved > 1e-12]
    return float(step), float(speed.max(initial=0.0))


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
        sources = [LINK / name for name in ("rig.c", "halfreal_rig.c", "simulated.c")]
        compiler = shutil.which("cc")
        if compiler is not None:
            subprocess.run([compiler, "-O2", "-std=gnu11", *sources, "-o", self.program, "-lm"], check=True)

    def close(self) -> None:
        for rig in self.rigs.values():
            rig.__exit__()

    def measure(self, one: Try) -> Margins:
        if one.end == "rig.c":
            limits = f"--rate {matrix.RATE} --stroke 0.02 --largest-step 0.02 --stiffness {STIFFNESS} --lease 10"
            options = [*limits.split(), "--auxiliary", "1"]
            with running(self.program, "") as start:
                rig = RigInC(start(*options, *(["--return", "0.08"] if one.on_trip == "return" else [])))
                proxy, line = self.run(one, rig)
                step, speed = share(*rig.positions(line), window=WINDOW)
        else:
            if one.on_trip not in self.rigs:
                folder = self.folder / one.on_trip
                folder.mkdir()
                how = {"limits.on_trip": one.on_trip}
                self.rigs[one.on_trip] = Rig(folder, changes=matrix.LIMITS | how)
                self.rigs[one.on_trip].auxiliary = 1
            python = self.rigs[one.on_trip]
            python.go_home(matrix.AWAY)
            proxy, _ = self.run(one, python)
            record = python.record()
            step, speed = share(column(record, "command"), column(record, "rig.clock"))
        commands = [(1e-9 * sent.timestamp, sent.channels[0]) for sent in proxy.heard if sent.kind == COMMAND]
        times, positions = np.array(commands).T
        return Margins(step, speed, share(positions, times)[1], blind_motion(proxy))

    def run(self, one: Try, rig: Rig | RigInC) -> tuple[Proxy, Line]:
        line, matrix.STALL = Line(), one.stall
        how = {"limits.on_trip": one.on_trip, "real_time.pacing": one.pacing}
        with Proxy(rig.port, line.commands, line.measurements) as proxy:
            given = definition(self.folder, proxy.port, matrix.TEST, how, matrix.LONG.get(one.state, {}))
            session = halfreal.Session(given, self.folder / "run.h5", overwrite=True)
            known = one.pacing + one.on_trip + (one.state if one.state in matrix.LONG else "")
            if known not in self.checks:
                self.checks[known] = session.check()
            session.checked = self.checks[known]  # type: ignore[attr-defined]
            with matrix.armed_as_checked(session):
                matrix.reach(one.state, session)
                time.sleep(one.after)
                for event in one.events:
                    if session.running:
                        matrix.happen(event, session, rig, line)  # type: ignore[arg-type]
                if one.state == "armed":
                    session.start()
                session.wait()
                session.finish()
        return proxy, line


def drawn(seed: int) -> Try:
    chance = random.Random(seed)
    events = tuple(chance.choice(matrix.EVENTS) for _ in range(chance.choice((1, 1, 2))))
    state, pacing = chance.choice(tuple(matrix.STATES)), chance.choice(("clock", "rig"))
    return Try(
        chance.choice(ENDS),
        pacing,
        chance.choice(("hold", "return")),
        state,
        events,
        stall=chance.uniform(0.005, 0.12),
        after=chance.uniform(0.0, 0.07 if state == "ramping" else 0.3),
    )


def cells() -> Iterator[Try]:
    for end, cell in itertools.product(ENDS, matrix.cells()):
        pacing, on_trip, state, event = cell
        yield Try(end, pacing, on_trip, state, (event,), stall=0.06, after=0.03 if state == "ramping" else 0.1)


def page(found: dict[str, Margins]) -> str:
    lines = [
        "# Margins of the motion, measured",
        "",
        "Written by `soak/random_faults.py --cells`: one test for each cell of the [fault matrix](safety.md),",
        "with real processes. *Step* and *speed* are the largest of the rig by its own record and clock, *sent* is the",
        f"largest speed of the commands that left the controller, each over its limit ({matrix.RATE} m/s, and a step",
        "of it); *blind* is the motion without measurements. 1.000 is the limit. Speeds of `rig.c` are those over some",
        "steps: its measurements have the time, its steps do not.",
        "",
        "| state | event | pacing | on_trip | rig end | step | speed | sent | blind |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for cell, one in found.items():
        parts = cell.split(" · ")
        lines.append(
            f"| {' | '.join(parts)} | {one.step:.3f} | {one.speed:.3f} | {one.sent:.3f} | {1e3 * one.blind:g} mm |"
        )
    worst = Margins(*(max(getattr(one, name) for one in found.values()) for name in ("step", "speed", "sent", "blind")))
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
    if given.page is not None:
        given.page.write_text(page({key: Margins(**record[key]) for key in sorted(record)}), "utf-8")
    largest = [max((getattr(one, part) for one in found.values()), default=0.0) for part in ("step", "speed", "sent")]
    text = "largest step {:.4f}, speed {:.4f}, speed sent {:.4f} of their limits".format(*largest)
    what = "cells of the fault matrix" if given.cells else "random faults in real time"
    return keep(name, what, len(found), len(lost), text)


if __name__ == "__main__":
    sys.exit(main())
