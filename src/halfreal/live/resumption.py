"""A slow test taken up again where its record ends, after a crash or a restart of the controller.

The record of a slow test holds every tick that was completed, with what was asked and what was measured.  From them the
state of everything before the rig is computed again: the same blocks, run through the same ticks with the measurements
of the record.  What they ask for must be what was requested, bit for bit, or the test is not resumed.  The tick that
was interrupted is then begun again, from where the rig stands, and not before the operator says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..contracts.axes import Axes
from ..contracts.context import Purpose
from ..definition.definition import Definition
from ..errors import HalfrealError
from ..kernels.block import Block, channels
from ..kernels.loop import Loop
from ..kernels.modes import RUNNING
from ..kernels.tick import TICK
from ..runs.build import build, needed_to_resume
from ..runs.run import Event, Run
from ..safety.limits import Commands
from ..safety.watched import Watch

BEFORE, RESUMED = "before", "resumed"
"""Channels of events of earlier sessions, and of a resumption."""
WITHIN_TICKS = ("motion.state", "guard.warning")
"""Channels of a slow test that change and change back while a tick lasts, of which a row shows the end alone."""
IN_NO_ROW = (*WITHIN_TICKS, "recorder")
"""Channels of events that cannot be seen in the rows of a record."""
GUARDED = {"command.asked": "command", "target": "command", "energy error": "energy.error"}
"""What a slow test records of quantities that its guard watches, where it is not a signal of the same name."""


class ResumptionError(HalfrealError):
    """A record from which no test can be resumed."""


@dataclass(frozen=True)
class Resumption:
    """The loop of a test as it was after its last completed tick."""

    run: Run
    rows: np.ndarray
    """Of the record that are kept: those of completed ticks."""
    before_the_rig: Loop
    begins: np.ndarray
    """Displacements and forces with which the test begins, (2 n,)."""
    next_command: np.ndarray
    """What the tick requests that was interrupted, (n,)."""

    @property
    def ticks(self) -> int:
        """Completed ticks."""
        return int(self.rows.size)

    @property
    def events(self) -> tuple[Event, ...]:
        """What had happened until then and is not in the rows that are kept, and that the test is resumed."""
        now, half = self.ticks * self.run.step, 0.5 * self.run.step
        found = []
        for event in self.run.events:
            if event.channel in (BEFORE, RESUMED):
                found.append(event)
            elif (event.channel in IN_NO_ROW or event.time > now - half) and event.time < now + half:
                found.append(Event(event.time, BEFORE, f"before the resumption: {event.text}"))
        return (*found, Event(now, RESUMED, f"resumed after {self.ticks} completed ticks"))

    def into(self, loop: Loop, watched: Watch) -> None:
        """Bring the loop of the resumed test to where the other was interrupted."""
        mine = self.before_the_rig
        for block in mine.blocks:
            if block.name != "guard":
                take_over(block, mine, loop)
        motion = loop.state("motion")
        motion["measured"][:] = [mine.vector[mine.index[name]] for name in measured_channels(self.run.interface)]
        motion["clock"] = self.run.signals["motion.clock"].values[self.rows[-1]] if self.ticks else 0.0
        loop.vector[TICK] = self.ticks
        peaks = loop.state("guard")["peaks"]
        np.maximum(peaks, self.peaks(watched), out=peaks)

    def peaks(self, watched: Watch) -> np.ndarray:
        """Largest values of what the guard watches so far; of what no row shows, such as rates, zero."""
        found = []
        for one in watched:
            signal = GUARDED.get(one.name, one.name)
            for name in (channel.replace(one.name, signal, 1) for channel in one.channels):
                seen = self.run.signals.get(name) if self.ticks else None
                found.append(0.0 if seen is None else float(np.abs(seen.values[self.rows]).max()))
        return np.array(found)

    def measured(self, quantity: Commands) -> np.ndarray:
        """A quantity as the test begins, and as measured in each completed tick, (1 + ticks, n)."""
        axes = self.run.interface
        columns = [self.run.signals[name].values[self.rows] for name in axes.channels(f"measured.{quantity}")]
        half = 0 if quantity == "displacement" else 1
        return np.vstack([self.begins.reshape(2, -1)[half], np.column_stack(columns)])

    def limits_used(self, now: dict[str, float]) -> dict[str, float]:
        """Shares of the limits used before or ``now``; of a controller that was lost, before, only what rows show."""
        return {name: max(share, self.run.limits_used.get(name, 0.0)) for name, share in now.items()}

    def lines(self, loop: Loop) -> np.ndarray:
        """The completed ticks as rows of the resumed test's ring; what the record has not is zero."""
        found = np.zeros((self.ticks, 1 + len(loop.channels)))
        found[:, 0] = self.run.time[self.rows]
        for column, channel in enumerate(loop.channels, start=1):
            if channel.name in self.run.signals:
                found[:, column] = self.run.signals[channel.name].values[self.rows]
        return found


def take_over(block: Block, before: Loop, loop: Loop) -> None:
    """Let a block of a loop be as it was in another: its state and its outputs."""
    for field in block.state:
        loop.state(block.name)[field] = before.state(block.name)[field]
    for channel in block.outputs:
        loop.vector[loop.index[channel.name]] = before.vector[before.index[channel.name]]


def measured_channels(axes: Axes) -> tuple[str, ...]:
    return (*axes.channels("measured.displacement"), *axes.channels("measured.force"))


def as_recorded_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    return 0


def resume(definition: Definition, run: Run) -> Resumption:
    """Run through the completed ticks of a record again."""
    if definition.slow is None:
        raise ResumptionError("the record is of a real-time test; only slow tests can be resumed")
    if run.kind != "run":
        raise ResumptionError(f"the record is of a {run.kind}; only a run on a rig can be resumed")
    if run.outcome == "recording" and not len(run.time):
        raise ResumptionError(f"the record has no rows to resume from ({run.reason}); run the test")
    if run.outcome == "recording":
        raise ResumptionError("the record is still being written: the test is running; stop it first")
    if run.integrity is not None and run.integrity.left_out:
        raise ResumptionError(
            f"the record is damaged ({run.integrity.text}): the rig was moved further than it shows; restore the file "
            "from a copy, or run the test"
        )
    axes, n = definition.interface, definition.virtual.axes
    measured, asked = measured_channels(axes), axes.actuators.channels("command.asked")
    missing = [name for name in needed_to_resume(axes) if name not in run.signals]
    if missing:
        raise ResumptionError(
            f"the record has no {', '.join(missing)}: it is not the record of a slow test with the axes "
            f"{', '.join(axes.names)}"
        )
    rows = completed(run, definition.timing.step)
    if rows.size >= definition.timing.ticks:
        raise ResumptionError(f"the test is complete: all its {rows.size} ticks are in the record")
    replayed = Block(
        name="replayed",
        step=as_recorded_step,
        inputs=(),
        outputs=(
            *channels("measured.displacement", "m", n, of="axis"),
            *channels("measured.force", "N", n, of="axis"),
            *definition.auxiliary_channels,
        ),
    )
    loop = build(definition, Purpose(endless=True, replayed=True), link=[replayed])
    first = build(definition, Purpose(endless=True), link=[replayed])  # as the slow test begins
    begins = np.array([first.vector[first.index[name]] for name in measured])
    values = (
        np.column_stack([run.signals[name].values[rows] for name in measured]) if rows.size else np.zeros((0, 2 * n))
    )
    was_asked = np.column_stack([run.signals[name].values[rows] for name in asked]) if rows.size else np.zeros((0, n))
    at, asks = [loop.index[name] for name in measured], [loop.index[name] for name in asked]
    loop.vector[at] = begins
    for tick in range(rows.size):
        loop.run(1)
        if not np.array_equal(loop.vector[asks], was_asked[tick]):
            raise ResumptionError(
                f"at {tick * definition.timing.step:g} s the test commands {loop.vector[asks]}, but the record has "
                f"{was_asked[tick]}: definition or halfreal version differ from those of the record; use the same ones"
            )
        loop.vector[at] = values[tick]
    checkpoint = loop.vector.copy()
    loop.run(1)
    next_command = loop.vector[asks]
    loop.vector[:] = checkpoint
    return Resumption(run, rows, loop, begins, next_command)


def completed(run: Run, step: float) -> np.ndarray:
    """Rows of a record that are completed ticks 0, 1, 2, …"""
    running = np.flatnonzero((run.signals["guard.mode"].values == RUNNING) & (run.time > -0.5 * step))
    ticks = np.rint(run.time[running] / step).astype(int)
    whole = ticks == np.arange(ticks.size)
    if not whole.all():
        lost = int(np.flatnonzero(~whole)[0])
        raise ResumptionError(f"tick {lost} is missing from the record (tick {ticks[lost]} follows)")
    return np.asarray(running)
