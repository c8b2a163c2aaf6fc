"""A block's step function as plain Python, with a clock and a wire of the test's own.

What compiled code does when it is held up for a second, or when datagrams come faster than it reads them, is thus tried
without waiting a second and without a flood.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from halfreal.kernels import spacing
from halfreal.kernels.block import Block, flatten, layout

PATIENCE = 1_000_000
"""Looks after which a step is said not to end."""
MILLISECOND = 1_000_000


class Scripted:
    """One block, the datagrams that will come (when [ns], what), and what has been sent.

    ``look``: nanoseconds that pass at each look at the clock or into the wire.
    """

    def __init__(self, block: Block, module: ModuleType, monkeypatch: pytest.MonkeyPatch, look: int = 1000) -> None:
        self.block, self.look = block, look
        self.time = int(block.parameters["origin"])  # type: ignore[arg-type]
        self.start = self.time
        self.inbox: Iterator[tuple[int, bytes]] = iter(())
        self.next: tuple[int, bytes] | None = None
        self.held_up = 0
        """Nanoseconds by which the next wait ends too late."""
        self.sent: list[bytes] = []
        self.looks = 0
        self.p, self.s = record(block.parameters), record(block.state)
        self.u, self.y = np.zeros(len(block.inputs)), np.zeros(len(block.outputs))
        stand_ins: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("now", "sleep_before", "watch_until", "wait_until", "wire_receive", "wire_wait", "wire_send")
        }
        for name, code in (("load8", "<B"), ("load32", "<I"), ("load64", "<q"), ("load_double", "<d")):
            stand_ins[name] = reader(code)
        turns = {name: getattr(spacing, name).py_func for name in ("await_turn", "take_turn")}
        for place, known in ((module, stand_ins | turns), (spacing, stand_ins)):
            for name in known.keys() & vars(place).keys():
                monkeypatch.setattr(place, name, known[name])

    def come(self, datagrams: Iterable[tuple[float, bytes]]) -> None:
        """These will come, at so many milliseconds from the start, in this order."""
        self.inbox = ((self.start + int(MILLISECOND * when), data) for when, data in datagrams)
        self.next = next(self.inbox, None)

    def step(self, at: float) -> int:
        """Call the block at so many milliseconds, or as soon after that as it can be."""
        self.time = max(self.time, self.start + int(MILLISECOND * at))
        return self.block.step(self.p, self.s, 0.0, self.u, self.y)

    @property
    def elapsed(self) -> float:
        """Milliseconds since the start."""
        return (self.time - self.start) / MILLISECOND

    def __getitem__(self, output: str) -> float:
        return float(self.y[[channel.name for channel in self.block.outputs].index(output)])

    # --- what stands in for compiled code ---------------------------------------------------------------------------

    def now(self) -> int:
        self.looks += 1
        assert self.looks < PATIENCE, "the step does not end"
        self.time += self.look
        return self.time

    def sleep_before(self, deadline: int, spin: int) -> int:
        return self.time

    def watch_until(self, deadline: int, time: int) -> int:
        return self.wait_until(deadline, 0)

    def wait_until(self, deadline: int, spin: int) -> int:
        self.time = max(self.time, deadline)
        return self.time

    def wire_receive(self, way: Any, taken: Any, buffer: int, room: int) -> int:
        self.now()
        if self.next is None or self.next[0] > self.time:
            return -1
        data = self.next[1]
        self.next = next(self.inbox, None)
        ctypes.memmove(buffer, data[:room], min(len(data), room))
        return len(data)

    def wire_wait(self, way: Any, taken: Any, deadline: int, spin: int, start: int) -> int:
        due = deadline if self.next is None else min(deadline, self.next[0])
        self.time = max(self.time, due) + self.held_up
        self.held_up = 0
        return self.time

    def wire_send(self, way: Any, buffer: int, length: int) -> int:
        self.sent.append(ctypes.string_at(buffer, length))
        return length


def reader(code: str) -> Any:
    return lambda address: struct.unpack(code, ctypes.string_at(address, struct.calcsize(code)))[0]


def record(values: Any) -> Any:
    return flatten(values).view(np.dtype((np.record, layout(values))))[0]
