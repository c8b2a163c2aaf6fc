"""How late a loop wakes up: the package's, paced in real time, against the same loop in C (pace.c), in turns."""

from __future__ import annotations

import contextlib
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import c_loop
import numpy as np
from busy import busy_interpreter
from report import Row, duration

import halfreal
from halfreal.contracts.context import Purpose
from halfreal.definition.definition import Definition
from halfreal.kernels.control import TICKS
from halfreal.kernels.loop import Loop
from halfreal.kernels.tick import COMPLETED, compiled_run
from halfreal.links.pace import pace
from halfreal.live.privileges import lock_memory, prioritise, unlock_memory
from halfreal.records.ring import Ring
from halfreal.runs.build import build, context_of

EXAMPLE = Path(__file__).parents[1] / "examples" / "spring_mass_damper" / "forward_prediction.toml"
PACE = Path(__file__).with_name("pace.c")
RATES = (1e3, 5e3, 10e3, 20e3)
OTHER_WAYS = 5e3
"""The rate at which both are also measured without watching the clock, and with a busy interpreter."""
TURNS, SECONDS, LEAST_TICKS = 50, 0.1, 200
"""Turns of each program at each rate, and their length: so many seconds, or ticks if that is longer."""
SETTLING = 0.1
"""Of a turn that is not counted: a program that has just begun is slower."""
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
        counted = f"{self.overruns:,} overrun{'' if self.overruns == 1 else 's'} in {len(self.ticks):,} ticks"
        return f"p50 {p50}, p99 {p99}, p99.9 {p999}, max {duration(self.ticks.max())}; {counted}"


def settled(late: np.ndarray, overruns: np.ndarray) -> Lateness:
    """Of a turn, without its beginning; ``overruns`` counts them from the turn's first tick on."""
    begins = round(SETTLING * len(late))
    return Lateness(late[begins:].copy(), int(overruns[-1] - overruns[begins - 1]))


def together(turns: list[Lateness]) -> Lateness:
    return Lateness(np.concatenate([turn.ticks for turn in turns]), sum(turn.overruns for turn in turns))


def at_rate(rate: float, *, asleep: bool = False) -> Definition:
    """The example at another rate: its delay is the same number of steps, so that every tick is the same work.

    ``asleep``: until a tick is due, instead of watching the clock before it.
    """
    definition = halfreal.load(EXAMPLE)
    rig = definition.rig
    assert rig.steps_per_tick == 1
    step = 1.0 / rate
    delay = rig.pure_delay / definition.timing.step * step
    spin = 0.0 if asleep else min(definition.real_time.spin, LARGEST_SHARE * step)
    parts = {
        "timing": definition.timing.model_copy(update={"step": step}),
        "coupling": definition.coupling.model_copy(update={"prediction": delay}),
        "rig": rig.model_copy(update={"actuator": rig.actuator.model_copy(update={"delay": delay})}),
        "real_time": definition.real_time.model_copy(update={"spin": spin}),
    }
    return definition.model_copy(update=parts)


def with_clock(definition: Definition, *, waits: bool = True) -> Loop:
    """The loop of a definition with its simulated rig in process and, as in a run, the block "pace" at the end."""
    context = context_of(definition)
    inner, sensors = definition.rig.blocks(context, context.channels("command"))
    clock = pace(definition.timing.step, definition.real_time.spin, "hold", waits=waits)
    return build(definition, Purpose(endless=True), link=[*inner, *sensors, clock])


@contextlib.contextmanager
def locked() -> Iterator[str]:
    """Memory locked, as ``halfreal run`` has it, and what came of it."""
    try:
        yield lock_memory()
    finally:
        unlock_memory()


class Ours:
    """The package's loop in a thread of its own with a real-time priority, as ``halfreal run`` has it."""

    def __init__(self, definition: Definition, *, waits: bool = True) -> None:
        self.loop, self.priority = with_clock(definition, waits=waits), definition.real_time.priority
        self.names = [channel.name for channel in self.loop.channels]
        self.told: dict[str, str] = {}
        compiled_run.ready()

    def drive(self, ticks: int, ring: Ring) -> None:
        """Run from rest into the ring; returns when done."""
        self.loop.reset()
        ended: list[int] = []

        def drive() -> None:
            self.told.update(prioritise(self.priority, None))
            ended.append(self.loop.drive(ticks, ring.rows, self.names, ring.words))

        thread = threading.Thread(target=drive)
        thread.start()
        thread.join()
        if ended != [COMPLETED] or self.loop.state("guard")["mode"] != 0.0:
            done = int(ring.words[TICKS])
            raise RuntimeError(f"the loop tripped after {done} of {ticks} ticks; it is not what is to be timed")

    def channel(self, rows: np.ndarray, name: str) -> np.ndarray:
        """Of a record; the block "pace" writes after the row of a tick, so the first row has nothing of it yet."""
        return rows[1:, 1 + self.names.index(name)]

    def turn(self, ticks: int) -> Lateness:
        ring = Ring.create(ticks, len(self.names))
        try:
            self.drive(ticks, ring)
            return settled(self.channel(ring.rows, "pace.lateness"), self.channel(ring.rows, "pace.overruns"))
        finally:
            ring.close()


class InC:
    """pace.c with the parameters of the package's own blocks: a process that waits for its turns."""

    def __init__(self, definition: Definition, ticks: int, folder: Path) -> None:
        program = folder / "pace"
        subprocess.run(["gcc", "-O2", "-o", program, PACE, "-lm"], check=True)
        loop = halfreal.build(definition)
        values = [np.ravel(loop.parameter(block)[field]) for block, fields in c_loop.FIELDS.items() for field in fields]
        clock = [f"{round(1e9 * seconds)}" for seconds in (definition.timing.step, definition.real_time.spin)]
        parameters = np.concatenate([[loop.dt], *values])
        command = [str(program), *clock, f"{ticks}", f"{definition.real_time.priority}", f"{parameters.size}"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._ticks = ticks
        self._say(parameters.tobytes())

    def _say(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def turn(self) -> Lateness:
        assert self._process.stdout is not None
        self._say(b".")
        rows = np.frombuffer(self._process.stdout.read(3 * 8 * (self._ticks - 1))).reshape(-1, 3)
        if len(rows) != self._ticks - 1:
            raise RuntimeError(f"pace.c ended with code {self._process.wait()} after {len(rows)} of {self._ticks} rows")
        return settled(rows[:, 0], rows[:, 2])

    def close(self) -> None:
        self._process.communicate()


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
    halves = [together(turns[k::2]).at()[1] for k in (0, 1)]
    return f"p99 of every other turn is {max(halves) / min(halves):.2f} × that of the rest"


def compared(
    rate: float, folder: Path, *, asleep: bool = False, busy: bool = False
) -> tuple[list[Row], dict[str, str]]:
    """Lateness of both at one rate, and what the system granted them."""
    what = f"wake-up lateness at {1e-3 * rate:g} kHz"
    what += ", asleep until due" if asleep else ", with a busy interpreter" if busy else ""
    print(what, flush=True)
    definition = at_rate(rate, asleep=asleep)
    ticks = max(round(SECONDS * rate), LEAST_TICKS)
    ours, in_c = Ours(definition), InC(definition, ticks, folder) if c_loop.compiler_present() else None
    mine, yardstick = [], []
    with locked() as told, busy_interpreter() if busy else contextlib.nullcontext():
        for k in range(TURNS):
            if k % 2 == 0:
                mine.append(ours.turn(ticks))
            if in_c is not None:
                yardstick.append(in_c.turn())
            if k % 2 == 1:
                mine.append(ours.turn(ticks))
    ours.told["realtime memory"] = told
    whole = together(mine)
    if in_c is None:
        return [Row(what, str(whole))], ours.told
    in_c.close()
    found = [
        Row(what, str(whole), against(whole, together(yardstick))),
        Row("the same in C", str(together(yardstick)), spread(yardstick)),
    ]
    return found, ours.told


def rows(folder: Path) -> list[Row]:
    """Lateness of both at every rate."""
    found, told = compared(OTHER_WAYS, folder, asleep=True)
    for rate in RATES:
        found += compared(rate, folder)[0]
    found += compared(OTHER_WAYS, folder, busy=True)[0]
    return [Row("scheduling of both", told["realtime scheduling"], f"memory {told['realtime memory']}"), *found]
