"""What lies where in a loop's memory: blocks on a bus, one vector for everything that changes, one for everything that
does not.

``Memory.vector`` is the whole state of a test: copy it and you have a checkpoint, write it back and the loop continues
from there to the same bits, change one entry and you have a perturbation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import HalfrealError
from . import tick as compiled
from .block import MOST_PASSES, Block, Channel, flatten, layout
from .native import place_of

FAULT_CHANNEL = Channel("loop.fault", "1")
REQUEST_CHANNEL = Channel("loop.request", "1")
RIG_FAULT_CHANNEL = Channel("loop.rig_fault", "1")
LOOP_FAULTS = {compiled.RING_FULL: "the record buffer is full: the recorder has not kept up"}
COMMON_FAULTS = {
    compiled.RAISED: "it raised an exception",
    compiled.RAN_AWAY: f"its loops did not end within {MOST_PASSES:,} passes in one call",
}


class WiringError(HalfrealError):
    """A block reads a channel that no block writes, or two blocks write the same one."""


class Memory:
    """Blocks in three groups, wired by channel names, with the values of all of them; parameters as in ``Loop``."""

    def __init__(
        self,
        controller: Sequence[Block],
        inner: Sequence[Block],
        outer: Sequence[Block],
        *,
        dt: float,
        substeps: int,
        start: int,
    ) -> None:
        self.blocks = (*controller, *inner, *outer)
        self.dt, self.substeps, self.start = float(dt), int(substeps), start
        self._groups = np.array([len(controller), len(inner), len(outer)], dtype=np.int64)
        self._dynamic: np.ndarray | None = None
        self._lay_out_bus()
        self._lay_out_memory()

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
        slower = [(block.repeats, row) for row, block in enumerate(self.blocks) if block.repeats > 1]
        return math.lcm(*(n // math.gcd(n, self.substeps if first <= row < last else 1) for n, row in slower))

    @property
    def watched(self) -> list[str]:
        """Channels whose every change is an event."""
        return list(self._watched)
