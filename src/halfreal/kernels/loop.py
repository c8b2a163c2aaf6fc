"""A loop laid out in memory: blocks on a bus, one vector for everything that changes, one for everything that does not.

``Loop.vector`` is the whole state of a test: copy it and you have a checkpoint, write it back and the loop continues
from there to the same bits, change one entry and you have a perturbation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np

from ..errors import HalfrealError
from . import tick as compiled
from .block import MOST_PASSES, Block, Channel, flatten, layout, shape_of
from .control import EVENTS, EVENTS_LOST, ROWS, TICKS, WORDS
from .fused import GROUPS, Arrangement, Row, fused
from .native import call_native, compile_together, compiled_block, is_own, place_of
from .objects import Native
from .prepared import Prepared, RanAwayError

FAULT_CHANNEL = Channel("loop.fault", "1")
REQUEST_CHANNEL = Channel("loop.request", "1")
RIG_FAULT_CHANNEL = Channel("loop.rig_fault", "1")
GUARD_MODE = "guard.mode"
LOOP_FAULTS = {compiled.RING_FULL: "the record buffer is full: the recorder has not kept up"}
COMMON_FAULTS = {
    compiled.RAISED: "it raised an exception",
    compiled.RAN_AWAY: f"its loops did not end within {MOST_PASSES:,} passes in one call",
}


LONG = 1000
"""Ticks of a stretch that is worth a look for code that is kept."""
PAYS = 50_000_000
"""Calls of blocks in one arrangement after which it is fused: they have taken about as long as that does."""


class WiringError(HalfrealError):
    """A block reads a channel that no block writes, or two blocks write the same one."""


@dataclass
class Stretch:
    """What a stretch of ticks left behind: rows of the log, and events (tick, channel, value)."""

    ticks: int
    ended: int
    log: np.ndarray
    events: list[tuple[int, str, float]]
    events_lost: int


@dataclass(frozen=True)
class LaidOut:
    """A loop's memory: of each block the places of its parameters and state, of its wires, their number, and of its
    outputs; all wires; the vector at the beginning; all parameters; and how the compiled loop goes through them."""

    rows: np.ndarray
    wires: np.ndarray
    vector: np.ndarray
    parameters: np.ndarray
    given: compiled.Given


def _runs(places: Sequence[int]) -> np.ndarray:
    """Places that follow each other, as the first and their number: (runs, 2)."""
    found: list[list[int]] = []
    for one in places:
        if found and sum(found[-1]) == one:
            found[-1][1] += 1
        else:
            found.append([one, 1])
    return np.array(found, dtype=np.uint64).reshape(-1, 2)


WIRING = attrgetter("name", "step", "inputs", "outputs", "watched")


def _alike(one: Block, other: Block) -> bool:
    """Whether blocks differ in their numbers only."""
    return (
        WIRING(one) == WIRING(other)
        and _same_shapes(one.parameters, other.parameters)
        and _same_shapes(one.state, other.state)
    )


def _same_shapes(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether fields have the same names, order and shapes."""
    return one is other or (
        list(one) == list(other)
        and all(a is b or shape_of(a) == shape_of(b) for a, b in zip(one.values(), other.values(), strict=True))
    )


_calls: dict[str, int] = {}


def _driven(arrangement: Arrangement, calls: int) -> int:
    """Calls of blocks in this arrangement so far, in this process."""
    _calls[arrangement.key] = _calls.get(arrangement.key, 0) + calls
    return _calls[arrangement.key]


class Loop:
    """Blocks wired by channel names and driven by the compiled loop.

    Parameters
    ----------
    controller
        Blocks run once a tick, in this order; the last one is the guard.
    inner
        Blocks of a simulated rig, run ``substeps`` times a tick in this order, on the rig's own finer step.
    outer
        Blocks run once at the end of a tick: sensors, or the link to a rig elsewhere.  Their outputs are the next
        tick's measurements.
    dt
        Period of a tick [s].
    start
        The first tick: negative if the guard is to bring the rig to where the test begins.
    end
        Ticks of the test, from tick 0 on; outside them the blocks before the guard rest.  None: they never do.
    follow
        Channel that gives the tick, for the loop of a rig that lives in the time of the test it serves.
    hold
        Channel that keeps the loop at its tick while it is not zero, for a slow test; meanwhile only the controller's
        blocks from the one that writes it on are run, and the rig's.
    held_from
        The block from which on they are run instead, if it is an earlier one.
    """

    def __init__(
        self,
        controller: Sequence[Block],
        inner: Sequence[Block] = (),
        outer: Sequence[Block] = (),
        *,
        dt: float,
        substeps: int = 1,
        start: int = 0,
        end: int | None = None,
        follow: str | None = None,
        hold: str | None = None,
        held_from: str | None = None,
    ) -> None:
        self.blocks = (*controller, *inner, *outer)
        self.dt, self.substeps = float(dt), int(substeps)
        self.start, self.end, self._follow, self._hold, self._held_from = start, end, follow, hold, held_from
        self._groups = np.array([len(controller), len(inner), len(outer)], dtype=np.int64)
        self._lay_out_bus()
        self._lay_out_memory()
        self._compile()

    def with_blocks(self, others: Mapping[str, Block]) -> Loop:
        """The same loop at its beginning with other blocks, by their names, in the places of its own."""
        blocks = [others.get(block.name, block) for block in self.blocks]
        first, second = int(self._groups[0]), int(self._groups[0] + self._groups[1])
        return Loop(
            blocks[:first],
            blocks[first:second],
            blocks[second:],
            dt=self.dt,
            substeps=self.substeps,
            start=self.start,
            end=self.end,
            follow=self._follow,
            hold=self._hold,
            held_from=self._held_from,
        )

    def refilled(self, blocks: Sequence[Block]) -> Loop | None:
        """This loop at its beginning with the numbers of other blocks; None where they are laid out otherwise.

        Nothing is looked up or laid out again, which takes longer than many a stretch of ticks.
        """
        changed = [row for row, block in enumerate(blocks) if block is not self.blocks[row]]
        if len(blocks) != len(self.blocks) or not all(_alike(blocks[row], self.blocks[row]) for row in changed):
            return None
        other = object.__new__(Loop)
        other.__dict__.update(self.__dict__)
        other.blocks, other.general, other._prepared = tuple(blocks), False, {}
        if not all(blocks[row].frozen == self.blocks[row].frozen and not blocks[row].moving for row in changed):
            other._dynamic = None
        other._initial, other.parameters = self._initial.copy(), self.parameters.copy()
        for row in changed:
            block, at = blocks[row], self._outputs_at[row]
            other._initial[self._state_at[row] : self._state_at[row + 1]] = flatten(block.state)
            other._initial[at : at + len(block.outputs)] = 0.0
            other._initial[at : at + len(block.initial)] = block.initial
            other.parameters[self._parameters_at[row] : self._parameters_at[row + 1]] = flatten(block.parameters)
        other.vector, other._table, word = other._initial.copy(), self._table.copy(), self.vector.itemsize
        other._table[:, compiled.ROW_PARAMETERS] = other.parameters.ctypes.data + word * self._parameters_at[:-1]
        other._table[:, compiled.ROW_STATE] = other.vector.ctypes.data + word * self._state_at[:-1]
        return other

    def go_on_from(self, other: Loop) -> None:
        """Stand where ``other`` stands, of which this is ``with_blocks``; new blocks are at their beginning."""
        self.vector[: self._end_of_bus] = other.vector[: self._end_of_bus]
        self.vector[self._seen :] = other.vector[other._seen :]
        for row, (mine, theirs) in enumerate(zip(self.blocks, other.blocks, strict=True)):
            if mine is theirs:
                part = other.vector[other._state_at[row] : other._state_at[row + 1]]
                self.vector[self._state_at[row] : self._state_at[row + 1]] = part

    # --- layout -----------------------------------------------------------------------------------------------------

    def _lay_out_bus(self) -> None:
        scratch = max([len(block.inputs) for block in self.blocks] + [1])
        self.index: dict[str, int] = {
            FAULT_CHANNEL.name: compiled.FAULT,
            REQUEST_CHANNEL.name: compiled.REQUESTED,
            RIG_FAULT_CHANNEL.name: compiled.RIG_FAULT,
        }
        self.channels: list[Channel] = [FAULT_CHANNEL, REQUEST_CHANNEL, RIG_FAULT_CHANNEL]
        position = compiled.SCRATCH + scratch
        self._outputs_at: list[int] = []
        for block in self.blocks:
            self._outputs_at.append(position)
            for channel in block.outputs:
                if channel.name in self.index:
                    raise WiringError(f"channel '{channel.name}' is written twice, again by block '{block.name}'")
                self.index[channel.name] = position
                self.channels.append(channel)
                position += 1
        self._end_of_bus = position
        for block in self.blocks:
            for name in block.inputs:
                if name not in self.index:
                    raise WiringError(f"block '{block.name}' reads channel '{name}', which no block writes")

    def _lay_out_memory(self) -> None:
        self._watched = [name for block in self.blocks for name in block.watched]
        states, parameters = [flatten(b.state) for b in self.blocks], [flatten(b.parameters) for b in self.blocks]
        self._state_at = self._end_of_bus + np.concatenate([[0], np.cumsum([s.size for s in states])]).astype(int)
        self._parameters_at = np.concatenate([[0], np.cumsum([p.size for p in parameters])]).astype(int)
        self._seen = int(self._state_at[-1])
        self.vector = np.zeros(self._seen + len(self._watched))
        self.vector[self._end_of_bus : self._seen] = np.concatenate(states) if states else []
        for block, position in zip(self.blocks, self._outputs_at, strict=True):
            self.vector[position : position + len(block.initial)] = block.initial
        self.vector[compiled.TICK] = self.start
        self.parameters = np.concatenate(parameters) if parameters else np.zeros(0)
        self._initial = self.vector.copy()

    def _compile(self) -> None:
        self._table = np.zeros((len(self.blocks), compiled.ROW_LENGTH), dtype=np.int64)
        self.general = False
        """Whether rows are run by the table, though they could be fused."""
        self._results: list[Native] = []
        self._dynamic: np.ndarray | None = None
        self._fused = (0,) * len(GROUPS)
        self._prepared: dict[int, Prepared] = {}
        self.borrowed: tuple[np.ndarray, ...] = ()
        """Arrays whose addresses are among the parameters."""
        wires: list[int] = []
        word = self.vector.itemsize
        fields = [(b.step, layout(b.parameters), layout(b.state), len(b.inputs), len(b.outputs)) for b in self.blocks]
        compile_together(fields, (compiled.compiled_run,))
        for row, block in enumerate(self.blocks):
            result = compiled_block(*fields[row])
            self._results.append(result)
            self._table[row] = (
                result.address,
                self.parameters.ctypes.data + word * int(self._parameters_at[row]),
                self.vector.ctypes.data + word * int(self._state_at[row]),
                len(wires),
                len(block.inputs),
                self._outputs_at[row],
            )
            wires += [self.index[name] for name in block.inputs]
        self._wires = np.array(wires or [0], dtype=np.uint64)

    # --- access by name ---------------------------------------------------------------------------------------------

    def row(self, name: str) -> int:
        for row, block in enumerate(self.blocks):
            if block.name == name:
                return row
        raise KeyError(f"no block '{name}' in this loop; available: {', '.join(b.name for b in self.blocks)}")

    def state(self, name: str) -> np.ndarray:
        """A block's state as a record with named fields: a view of ``vector``, not a copy."""
        row = self.row(name)
        part = self.vector[self._state_at[row] : self._state_at[row + 1]]
        record: np.ndarray = part.view(self.blocks[row].state_layout)[0]
        return record

    def parameter(self, name: str) -> np.ndarray:
        """A block's parameters as a record with named fields: a view, not a copy."""
        row = self.row(name)
        part = self.parameters[self._parameters_at[row] : self._parameters_at[row + 1]]
        record: np.ndarray = part.view(self.blocks[row].parameter_layout)[0]
        return record

    def state_indices(self, name: str, field: str) -> np.ndarray:
        """Where a field of a block's state is in ``vector``."""
        row = self.row(name)
        position = int(self._state_at[row])
        for key, value in self.blocks[row].state.items():
            if key == field:
                return np.arange(position, position + int(np.size(value)))
            position += int(np.size(value))
        raise KeyError(f"the state of block '{name}' has no field '{field}'")

    def call(
        self, name: str, state: np.ndarray, inputs: np.ndarray, later: int = 0
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """What one block alone makes of a state and of inputs, now or so many ticks later: its next state and outputs.

        None if it has a fault or raises.  The loop is left as it is.
        """
        row = self.row(name)
        block, address = self.blocks[row], int(self._table[row, compiled.ROW_FUNCTION])
        p = self.parameters[self._parameters_at[row] : self._parameters_at[row + 1]].copy()
        s, u, y = state.copy(), np.append(inputs, 0.0), np.zeros(len(block.outputs) + 1)
        ended = call_native(address, p, s, float(self.vector[compiled.TICK] + later) * self.dt, u, y)
        return (s, y[:-1]) if ended == (0, 0) else None

    def state_of(self, name: str) -> np.ndarray:
        """A block's whole state as one vector: a copy."""
        row = self.row(name)
        return self.vector[self._state_at[row] : self._state_at[row + 1]].copy()

    def fields_of(self, name: str, values: np.ndarray) -> Any:
        """A block's whole state, given as one vector, as the record that its functions are given."""
        return values.view((np.record, layout(self.blocks[self.row(name)].state)))[0]

    def owners_of(self, indices: np.ndarray) -> np.ndarray:
        """Rows of the blocks to whose states entries of ``vector`` belong; -1 for those that are none."""
        rows = np.searchsorted(self._state_at, indices, side="right") - 1
        return np.where((indices >= self._end_of_bus) & (indices < self._seen), rows, -1)

    @property
    def time(self) -> float:
        """Of the tick that comes next [s]."""
        return float(self.vector[compiled.TICK]) * self.dt

    @property
    def controller(self) -> tuple[Block, ...]:
        """Blocks that are run once a tick, in this order."""
        return self.blocks[: int(self._groups[0])]

    @property
    def inner(self) -> tuple[Block, ...]:
        """Blocks of a simulated rig that are run on its own finer step."""
        return self.blocks[int(self._groups[0]) : int(self._groups[0] + self._groups[1])]

    @property
    def outer(self) -> tuple[Block, ...]:
        """Blocks that are run once at the end of a tick."""
        return self.blocks[int(self._groups[0] + self._groups[1]) :]

    def laid_out(self) -> LaidOut:
        """How it lies in memory, with places in it in place of addresses: for a program that runs it elsewhere."""
        rows = [
            [self._parameters_at[row], self._state_at[row], *self._table[row, compiled.ROW_WIRES :]]
            for row in range(len(self.blocks))
        ]
        given = self._given(0, np.empty((0, 1)), (), np.zeros(WORDS, dtype=np.int64), 1, None)
        return LaidOut(np.array(rows, dtype=int), self._wires, self._initial, self.parameters, given)

    def state_begin(self, name: str) -> int:
        """Where a block's state begins in ``vector``."""
        return int(self._state_at[self.row(name)])

    def inputs_of(self, name: str) -> np.ndarray:
        """What a block has read last: a copy."""
        return self.vector[[self.index[one] for one in self.blocks[self.row(name)].inputs]]

    def name_of(self, index: int) -> str:
        """What is at an entry of ``vector``: a field of a block's state, or a channel."""
        for row, block in enumerate(self.blocks):
            position = int(self._state_at[row])
            for key, value in block.state.items():
                size = int(np.size(value))
                if position <= index < position + size:
                    return f"{block.name}.{key}" + (f"[{index - position}]" if np.ndim(value) else "")
                position += size
        return next((name for name, place in self.index.items() if place == index), f"entry {index}")

    def _mover(self) -> int:
        """The first row that runs while the tick is held."""
        if self._hold is None:
            return 0
        return self._writer(self._hold) if self._held_from is None else self.row(self._held_from)

    def _writer(self, channel: str) -> int:
        """Row of the block that writes a channel."""
        return next(row for row, block in enumerate(self.blocks) if channel in {out.name for out in block.outputs})

    def describe(self, fault: float) -> str:
        """The fault channel's value as text; empty if there is none."""
        if fault == 0.0:
            return ""
        row, code = divmod(int(fault), 1000)
        known = self.faults().get(int(fault))
        if known is not None or not 0 < row <= len(self.blocks):
            return known or f"fault {fault:g}"
        block = self.blocks[row - 1]
        return f"block '{block.name}': {place_of(block.step)} returned {code}, a user-defined fault"

    def faults(self) -> dict[int, str]:
        """Every value of the fault channel that a block has a text for, with the text."""
        found = {code: text for code, text in LOOP_FAULTS.items()}
        for row, block in enumerate(self.blocks):
            said = "" if block.said is None else block.said()
            for code, text in {**COMMON_FAULTS, **block.faults}.items():
                found[1000 * (row + 1) + code] = f"block '{block.name}': {text}{f': {said}' if said else ''}"
        return found

    @property
    def opaque(self) -> tuple[str, ...]:
        """Blocks that keep a state to themselves: the loop cannot be set back to where it was."""
        return tuple(block.name for block in self.blocks if block.stand_in is not None)

    @property
    def blind(self) -> tuple[str, ...]:
        """Those of them of which nothing is known but at rest."""
        return tuple(block.name for block in self.blocks if block.stand_in is not None and block.stand_in_here is None)

    def transparent(self) -> Loop:
        """The loop where it stands, to be linearised: with stand-ins for what keeps a state to itself."""
        if not self.opaque:
            return self
        others = {}
        for block in self.blocks:
            if block.stand_in is not None and block.stand_in_here is not None:
                here = block.stand_in_here(self.state(block.name))
                others[block.name] = replace(here, inputs=block.inputs, outputs=block.outputs)
        seen = self.with_blocks(others)
        seen.go_on_from(self)
        return seen

    def dynamic_indices(self) -> np.ndarray:
        """Entries of ``vector`` that carry the loop's dynamics from one tick to the next.

        These are the states that are not held, and the channels that are read in a tick before they are written in it
        (the measurements).
        """
        if self._dynamic is not None:
            return self._dynamic.copy()
        carried: set[int] = set()
        written: set[str] = set()
        for block in self.blocks:
            carried |= {self.index[name] for name in block.inputs if name not in written}
            written |= {channel.name for channel in block.outputs}
        carried -= {compiled.FAULT, compiled.REQUESTED, compiled.RIG_FAULT}
        for row, block in enumerate(self.blocks):
            position = int(self._state_at[row])
            for key, value in block.state.items():
                size = int(np.size(value))
                free = block.moving.get(key, ()) if key in block.frozen else range(size)
                carried |= {position + int(i) for i in free}
                position += size
        self._dynamic = np.array(sorted(carried), dtype=int)
        return self._dynamic.copy()

    def memory_indices(self) -> np.ndarray:
        """Entries of ``vector`` that are hysteretic memory: held in a linearisation at rest, moving otherwise."""
        found = [
            np.delete(self.state_indices(block.name, name), block.moving.get(name, []))
            for block in self.blocks
            for name in block.memory
        ]
        return np.concatenate([np.zeros(0, dtype=int), *found])

    @property
    def period(self) -> int:
        """Ticks after which all blocks act alike again: more than one if a block has a slower rate of its own."""
        first, last = int(self._groups[0]), int(self._groups[0] + self._groups[1])
        calls = [self.substeps if first <= row < last else 1 for row in range(len(self.blocks))]
        return math.lcm(*(b.repeats // math.gcd(b.repeats, n) for b, n in zip(self.blocks, calls, strict=True)))

    # --- driving ----------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        self.vector[:] = self._initial

    @property
    def watched(self) -> list[str]:
        """Channels whose every change is an event."""
        return list(self._watched)

    def run(self, ticks: int, *, record: Sequence[str] = (), every: int = 1, event_room: int = 4096) -> Stretch:
        """Run ``ticks`` ticks on from where the loop is, recording the named channels of every ``every``-th tick."""
        first = int(self.vector[compiled.TICK])
        rows = -(-(first + ticks) // every) - -(-first // every) if record else 0
        log = np.empty((rows, 1 + len(record)))
        events, control = np.empty((event_room, 3)), np.zeros(WORDS, dtype=np.int64)
        self._fuse_where_it_pays(ticks)
        ended = self.drive(ticks, log, record, control, every, events)
        if ended == compiled.LOST:
            raise RanAwayError(self.ran_away())
        happened = [
            (int(tick), self._watched[int(which)], float(value)) for tick, which, value in events[: control[EVENTS]]
        ]
        return Stretch(int(control[TICKS]), ended, log[: control[ROWS]], happened, int(control[EVENTS_LOST]))

    def ran_away(self) -> str:
        """Which block has not come to an end, of a stretch that ended LOST."""
        row, code = divmod(int(self.vector[compiled.FAULT]), 1000)
        if code != compiled.RAN_AWAY:
            return f"a block's loops did not end, after another fault: {self.describe(self.vector[compiled.FAULT])}"
        return (
            f"{self.describe(self.vector[compiled.FAULT])}, in tick {self.vector[compiled.TICK]:g}; "
            "limit the number of passes of every loop of "
            f"{place_of(self.blocks[row - 1].step)}"
        )

    def drive(
        self,
        ticks: int,
        log: np.ndarray,
        record: Sequence[str],
        control: np.ndarray,
        every: int = 1,
        events: np.ndarray | None = None,
    ) -> int:
        """Run up to ``ticks`` ticks with a ring of rows and control words of the caller's; return how it ended.

        No Python is executed and nothing allocated until it returns; other threads continue.
        """
        return compiled.compiled_run(*self._given(ticks, log, record, control, every, events))

    def images(self, columns: np.ndarray, by: np.ndarray, rows: np.ndarray, ticks: int) -> np.ndarray:
        """Entries ``rows`` of the vector so many ticks after one of its entries has been changed, for each change.

        A row for each; NaN after a fault, or where the guard's mode has changed.  The loop is left as it was.
        """
        vector, found = self.vector, np.full((len(columns), len(rows)), np.nan)
        if ticks not in self._prepared:
            self._prepared[ticks] = self.prepared(ticks)
        mode, run = self.index.get(GUARD_MODE, compiled.FAULT), self._prepared[ticks]
        base, entries = vector.copy(), vector.data  # single entries are read and written faster by the latter
        fault_before, mode_before = entries[compiled.FAULT], entries[mode]
        for i, (column, change) in enumerate(zip(columns.tolist(), by.tolist(), strict=True)):
            vector[:] = base
            entries[column] += change
            run()
            if entries[compiled.FAULT] == fault_before and entries[mode] == mode_before:
                found[i] = vector.take(rows)
        vector[:] = base
        return found

    def prepared(self, ticks: int, record: Sequence[str] = ()) -> Prepared:
        """A stretch of so many ticks that is run often, with the named channels in its log and without events."""
        self._fuse_where_it_pays(ticks)
        log, control = np.empty((ticks if record else 0, 1 + len(record))), np.zeros(WORDS, dtype=np.int64)
        return Prepared(self._given(ticks, log, record, control, 1, None), self.ran_away)

    def _fuse_where_it_pays(self, ticks: int) -> None:
        if ticks >= LONG and not self.general and self._fused[0] == 0:
            self.fuse(make=_driven(self._arrangement, ticks * len(self.blocks)) > PAYS)

    def fuse(self, *, make: bool = True) -> bool:
        """Run the rows as one piece of code from now on: one that is kept on disk, or one that is made.

        Results are the same to the bit.  False if there is none, or blocks of users are among the rows.
        """
        if self._fused[0] == 0 and all(is_own(block.step) for block in self.blocks):
            addresses = fused(self._arrangement, make=make)
            if addresses is not None:
                self._fused, self._prepared = addresses, {}
        return self._fused[0] != 0

    @cached_property
    def _arrangement(self) -> Arrangement:
        rows = tuple(
            Row(
                result,
                tuple(self.index[name] for name in block.inputs),
                int(self._parameters_at[row]),
                int(self._state_at[row]),
                self._outputs_at[row],
            )
            for row, (block, result) in enumerate(zip(self.blocks, self._results, strict=True))
        )
        return Arrangement(rows, tuple(int(count) for count in self._groups), self._mover())

    def _given(
        self,
        ticks: int,
        log: np.ndarray,
        record: Sequence[str],
        control: np.ndarray,
        every: int,
        events: np.ndarray | None,
    ) -> compiled.Given:
        return compiled.Given(
            table=self._table,
            wires=self._wires,
            vector=self.vector,
            dt=self.dt,
            ticks=ticks,
            groups=self._groups,
            substeps=self.substeps,
            mode=self.index.get(GUARD_MODE, -1),
            end=-1 if self.end is None else self.end,
            follow=-1 if self._follow is None else self.index[self._follow],
            hold=-1 if self._hold is None else self.index[self._hold],
            mover=self._mover(),
            watched=np.array([self.index[name] for name in self._watched], dtype=np.uint64),
            seen=self._seen,
            log=log,
            logged=_runs([self.index[name] for name in record]),
            every=float(every),
            events=np.empty((0, 3)) if events is None else events,
            controller=self._fused[0],
            inner=self._fused[1],
            outer=self._fused[2],
            parameters=self.parameters.ctypes.data,
            control=control,
        )
