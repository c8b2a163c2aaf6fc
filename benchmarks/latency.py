"""How late a loop wakes up: the package's, paced in real time, against the same loop in C (pace.c), in turns."""

from __future__ import annotations

import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path

import c_loop
import numpy as np
from report import Row, duration

import halfreal
from halfreal.definition.definition import Definition, SimulatedRig
from halfreal.kernels.control import TICKS
from halfreal.kernels.loop import Loop
from halfreal.kernels.tick import COMPLETED, compiled_run
from halfreal.links.pace import pace
from halfreal.live.privileges import lock_memory, prioritise, unlock_memory
from halfreal.records.ring import Ring
from halfreal.runs.build import build, interface, simulated

EXAMPLE = Path(__file__).parents[1] / "examples" / "spring_mass_damper" / "forward_prediction.toml"
PACE = Path(__file__).with_name("pace.c")
RATES = (1e3, 5e3, 10e3, 20e3)
TURNS, SECONDS, LEAST_TICKS = 16, 0.5, 1000
"""Turns of each program at each rate, and their length: so many seconds, or ticks if that is longer."""
LARGEST_SHARE = 0.5
"""Of a period that is spent watching the clock: more, and the system's throttling of real-time threads steps in."""
TARGET = 1.2
SHARES = (0.5, 0.99, 0.999)


@dataclass(frozen=True)
class Lateness:
    """Of every tick [s], and the ticks that were not done before the next was due."""

    ticks: np.ndarray
    overruns: int

    def at(self, shares: tuple[float, ...] = SHARES) -> np.ndarray:
        """Times below which these shares of the ticks lie: values that were measured, not interpolated."""
        return np.quantile(self.ticks, shares, method="inverted_cdf")

    def __str__(self) -> str:
        p50, p99, p999 = (duration(x) for x in self.at())
        counted = f"{self.overruns:,} overruns in {len(self.ticks):,} ticks"
        return f"p50 {p50}, p99 {p99}, p99.9 {p999}, max {duration(self.ticks.max())}; {counted}"


def together(turns: list[Lateness]) -> Lateness:
    return Lateness(np.concatenate([turn.ticks for turn in turns]), sum(turn.overruns for turn in turns))


def at_rate(rate: float) -> Definition:
    """The example at another rate: its delay is the same number of steps, so that every tick is the same work."""
    definition = halfreal.load(EXAMPLE)
    rig = definition.rig
    assert isinstance(rig, SimulatedRig) and rig.substeps == 1
    step = 1.0 / rate
    delay = rig.actuator.delay / definition.timing.step * step
    parts = {
        "timing": definition.timing.model_copy(update={"step": step}),
        "coupling": definition.coupling.model_copy(update={"prediction": delay}),
        "rig": rig.model_copy(update={"actuator": rig.actuator.model_copy(update={"delay": delay})}),
    }
    return definition.model_copy(update=parts)


def spin(definition: Definition) -> float:
    return min(definition.real_time.spin, LARGEST_SHARE * definition.timing.step)


def with_clock(definition: Definition, *, waits: bool = True) -> Loop:
    """The loop of a definition with its simulated rig in process and, as in a run, the block "pace" at the end."""
    rig, n = definition.rig, definition.virtual.axes
    assert isinstance(rig, SimulatedRig)
    rest = np.asarray(definition.virtual.initial_target(), dtype=float)
    inner, sensors = simulated(definition, rig, n, rest, interface("command", n))
    clock = pace(definition.timing.step, spin(definition), "count", waits=waits)
    return build(definition, endless=True, link=[*inner, sensors, clock])


class Ours:
    """The package's loop in a thread of its own with a real-time priority, as ``halfreal run`` has it."""

    def __init__(self, definition: Definition, *, waits: bool = True) -> None:
        self.loop, self.priority = with_clock(definition, waits=waits), definition.real_time.priority
        self.names = [channel.name for channel in self.loop.channels]
        self.told: dict[str, str] = {}
        compiled_run()

    def drive(self, ticks: int, ring: Ring) -> None:
        """Run from rest into the ring; returns when done."""
        self.loop.reset()
        ended: list[int] = []

        def drive() -> None:
            self.told.update(prioritise(self.priority, None))
            ended.append(self.loop.drive(ticks, ring.rows, self.names, ring.words))

        self.told["realtime memory"] = lock_memory()
        thread = threading.Thread(target=drive)
        thread.start()
        thread.join()
        unlock_memory()
        if ended != [COMPLETED] or self.loop.state("guard")["mode"] != 0.0:
            done = int(ring.words[TICKS])
            raise RuntimeError(f"the loop tripped after {done} of {ticks} ticks; it is not what is to be timed")

    def channel(self, rows: np.ndarray, name: str) -> np.ndarray:
        """Of a record; the block "pace" writes after the row of a tick, so the first row has nothing of it yet."""
        return rows[1:, 1 + self.names.index(name)].copy()

    def turn(self, ticks: int) -> Lateness:
        ring = Ring.create(ticks, len(self.names))
        try:
            self.drive(ticks, ring)
            overruns = int(self.channel(ring.rows, "pace.overruns")[-1])
            return Lateness(self.channel(ring.rows, "pace.lateness"), overruns)
        finally:
            ring.close()


class InC:
    """pace.c, compiled in ``folder``, with the parameters of the package's own blocks."""

    def __init__(self, definition: Definition, folder: Path) -> None:
        self._program = folder / "pace"
        subprocess.run(["gcc", "-O2", "-o", self._program, PACE, "-lm"], check=True)
        loop = halfreal.build(definition)
        values = [np.ravel(loop.parameter(block)[field]) for block, fields in c_loop.FIELDS.items() for field in fields]
        self._parameters = np.concatenate([[loop.dt], *values]).tobytes()
        self._clock = [f"{round(1e9 * seconds)}" for seconds in (definition.timing.step, spin(definition))]
        self._priority = f"{definition.real_time.priority}"

    def turn(self, ticks: int) -> Lateness:
        command = [str(self._program), *self._clock, f"{ticks}", self._priority]
        done = subprocess.run(command, input=self._parameters, check=True, capture_output=True).stdout
        rows = np.frombuffer(done).reshape(ticks - 1, 3)
        return Lateness(rows[:, 0], int(rows[-1, 2]))


def against(ours: Lateness, in_c: Lateness) -> str:
    """The ratios that the target is about."""
    ratios = ours.at()[:2] / in_c.at()[:2]
    said = [
        f"{name} {ratio:.2f} × C's: {'met' if ratio <= TARGET else 'missed'}"
        for name, ratio in zip(("p50", "p99"), ratios, strict=True)
    ]
    return f"target at most {TARGET:g} × C's; {', '.join(said)}"


def spread(turns: list[Lateness]) -> str:
    """How much one program differs from itself."""
    p99 = [turn.at()[1] for turn in turns]
    halves = [together(turns[k::2]).at()[1] for k in (0, 1)]
    ratio = max(halves) / min(halves)
    return f"p99 of its turns {duration(min(p99))} to {duration(max(p99))}; of every other turn {ratio:.2f} × the rest"


def rows(folder: Path) -> list[Row]:
    """Lateness of both at every rate."""
    present = c_loop.compiler_present()
    found: list[Row] = []
    told: dict[str, str] = {}
    for rate in RATES:
        print(f"lateness at {1e-3 * rate:g} kHz", flush=True)
        definition = at_rate(rate)
        ours, in_c = Ours(definition), InC(definition, folder) if present else None
        ticks = max(round(SECONDS * rate), LEAST_TICKS)
        turns: dict[str, list[Lateness]] = {"ours": [], "c": []}
        for k in range(TURNS):
            for name, program in (("ours", ours), ("c", in_c))[:: 1 if k % 2 == 0 else -1]:
                if program is not None:
                    turns[name].append(program.turn(ticks))
        mine = together(turns["ours"])
        what = f"wake-up lateness at {1e-3 * rate:g} kHz"
        if in_c is None:
            found.append(Row(what, str(mine)))
        else:
            yardstick = together(turns["c"])
            found += [
                Row(what, str(mine), against(mine, yardstick)),
                Row(f"the same in C at {1e-3 * rate:g} kHz", str(yardstick), spread(turns["c"])),
            ]
        told = ours.told
    return [Row("scheduling of both", told["realtime scheduling"], f"memory {told['realtime memory']}"), *found]
