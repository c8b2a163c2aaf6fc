"""A loop: blocks in memory (``memory.py``), compiled and driven tick by tick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np

from . import tick as compiled
from .block import Block, fill, shape_of
from .calls import WELL, call_often
from .control import EVENTS, EVENTS_LOST, ROWS, TICKS, WORDS
from .fused import GROUPS, Arrangement, Row, fused
from .memory import Memory
from .native import Compiled, compile_together, compiled_block, is_own, place_of
from .prepared import Prepared, RanAwayError

GUARD_MODE = "guard.mode"
LONG = 1000
"""Ticks of a stretch that is worth a look for code that is kept."""
PAYS = 20_000_000
"""Calls of blocks in one arrangement after which it is fused: that takes about as long as they have."""


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
    outputs; the tables of their sizes; all wires; the vector at the beginning; all parameters; and how the compiled
    loop goes through them."""

    rows: np.ndarray
    sizes: tuple[np.ndarray, ...]
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


class Loop(Memory):
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
        Channel that keeps the loop at its tick while it is not zero: in slow tests, and while measurements are missing;
        meanwhile only the controller's blocks from the one that writes it on are run, and the rig's.
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
        super().__init__(controller, inner, outer, dt=dt, substeps=substeps, start=start)
        self.end, self._follow, self._hold, self._held_from = end, follow, hold, held_from
        self._compile()

    def with_blocks(self, others: Mapping[str, Block]) -> Loop:
        """The same loop at its beginning with other blocks, by their names, in the places of its own."""
        groups = (self.controller, self.inner, self.outer)
        return self.rearranged(*([others.get(block.name, block) for block in group] for group in groups))

    def rearranged(self, controller: Sequence[Block], inner: Sequence[Block], outer: Sequence[Block]) -> Loop:
        """A loop of other blocks that is timed as this one, at its beginning."""
        return Loop(
            controller,
            inner,
            outer,
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
            fill(other._initial[self._state_at[row] : self._state_at[row + 1]], block.state)
            other._initial[at : at + len(block.outputs)] = 0.0
            other._initial[at : at + len(block.initial)] = block.initial
            fill(other.parameters[self._parameters_at[row] : self._parameters_at[row + 1]], block.parameters)
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

    def _compile(self) -> None:
        self._table = np.zeros((len(self.blocks), compiled.ROW_LENGTH), dtype=np.int64)
        self.general = False
        """Whether rows are run by the table, though they could be fused."""
        self._compiled: list[Compiled] = []
        self._fused = (0,) * len(GROUPS)
        self._prepared: dict[int, Prepared] = {}
        self.borrowed: tuple[np.ndarray, ...] = ()
        """Arrays whose addresses are among the parameters."""
        wires: list[int] = []
        word = self.vector.itemsize
        compile_together(self.blocks, (compiled.compiled_run,))
        for row, block in enumerate(self.blocks):
            result = compiled_block(block)
            self._compiled.append(result)
            self._table[row] = (
                result.address,
                self.parameters.ctypes.data + word * int(self._parameters_at[row]),
                self.vector.ctypes.data + word * int(self._state_at[row]),
                len(wires),
                len(block.inputs),
                self._outputs_at[row],
                result.sizes.ctypes.data,
            )
            wires += [self.index[name] for name in block.inputs]
        self._wires = np.array(wires or [0], dtype=np.uint64)

    def call(self, name: str, state: np.ndarray, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """What one block alone makes of a state and of inputs: its next state and outputs.

        None if it has a fault or raises.  The loop is left as it is.
        """
        states, outputs, well = self.calls(name, state[None], inputs[None])
        return (states[0], outputs[0]) if well[0] else None

    def calls(
        self, name: str, states: np.ndarray, inputs: np.ndarray, *, carried: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What one block alone makes of each row of states and inputs: next states, outputs, and which calls are well.

        If ``carried``, the calls follow each other tick by tick from the first state on, up to the first fault.  The
        loop is left as it is.
        """
        row = self.row(name)
        p = self.parameters[self._parameters_at[row] : self._parameters_at[row + 1]].copy()
        s, u = (np.pad(one, ((0, 0), (0, 1))) for one in (states, inputs))  # not empty where there are none
        y, well = np.zeros((len(u), len(self.blocks[row].outputs) + 1)), np.zeros(len(u), dtype=np.int64)
        block, tick = self._compiled[row], float(self.vector[compiled.TICK])
        places = block.address, p.ctypes.data, block.sizes.ctypes.data
        call_often(*places, s, u, y, well, tick, self.dt, int(carried))
        return s[:, :-1], y[:, :-1], well == WELL

    def laid_out(self) -> LaidOut:
        """How it lies in memory, with places in it in place of addresses: for a program that runs it elsewhere."""
        rows = [
            [self._parameters_at[row], self._state_at[row], *self._table[row, compiled.ROW_WIRES : compiled.ROW_SIZES]]
            for row in range(len(self.blocks))
        ]
        given = self._given(0, np.empty((0, 1)), (), np.zeros(WORDS, dtype=np.int64), 1, None)
        sizes = tuple(one.sizes for one in self._compiled)
        return LaidOut(np.array(rows, dtype=int), sizes, self._wires, self._initial, self.parameters, given)

    def _mover(self) -> int:
        """The first row that runs while the tick is held."""
        if self._hold is None:
            return 0
        return self._writer(self._hold) if self._held_from is None else self.row(self._held_from)

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

    def reset(self) -> None:
        self.vector[:] = self._initial

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
        return self._stretch(ticks).images(columns, by, rows, self.index.get(GUARD_MODE, compiled.FAULT))

    def settle(self, times: int, ticks: int) -> None:
        """Run stretches of so many ticks without record and events, in less time than ``run`` if images follow."""
        self._stretch(ticks).repeat(times)

    def _stretch(self, ticks: int) -> Prepared:
        if ticks not in self._prepared:
            self._prepared[ticks] = self.prepared(ticks)
        return self._prepared[ticks]

    def prepared(
        self, ticks: int, record: Sequence[str] = (), control: np.ndarray | None = None, times: int = 1
    ) -> Prepared:
        """A stretch of so many ticks that is run often, with the named channels in its log and without events.

        ``times``: how often, if it is known.
        """
        self._fuse_where_it_pays(ticks * times)
        log, control = (
            np.empty((ticks if record else 0, 1 + len(record))),
            np.zeros(WORDS, dtype=np.int64) if control is None else control,
        )
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
                result.native,
                tuple(int(one) for one in result.sizes),
                tuple(self.index[name] for name in block.inputs),
                int(self._parameters_at[row]),
                int(self._state_at[row]),
                self._outputs_at[row],
            )
            for row, (block, result) in enumerate(zip(self.blocks, self._compiled, strict=True))
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
