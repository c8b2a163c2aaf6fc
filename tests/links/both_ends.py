"""Both rig ends, in Python and in C, on a clock of the test's own: the same commands, stalls, stops and faults.

A rig is held up between any two looks at its clock: whatever it was about to do happens when the stall ends.
"""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import pytest

from halfreal.kernels.control import EMERGENCY_STOP as STOP_REQUEST
from halfreal.links import rig_command
from halfreal.links.rig_command import OwnLimits
from halfreal.links.rig_end import RigSession
from halfreal.links.wires import NoWire
from links import ends
from links.by_hand import ARM, COMMAND, HELLO, IDLE, SAFE, Datagram, unpacked
from links.ends import KEY, STEP
from links.scripted import MILLISECOND, Scripted

PERIOD = 1e3 * STEP
STROKE, RATE, LARGEST_STEP, RETURN = 0.05, 0.16, 0.01, 0.04
FAULT = 4
LINK = Path(__file__).parents[2] / "docs" / "link"


@dataclass(frozen=True)
class Script:
    """What happens to a rig that was armed at 0: all times in milliseconds."""

    commands: Sequence[tuple[float, float]]
    """When each comes, and the position [m]."""
    until: float
    lease: float = 50.0
    stalls: Sequence[tuple[float, float]] = ()
    """From when until when the rig is held up."""
    stop: float = np.inf
    """When its own operator stops it."""
    fault: float = np.inf
    """When a fault of its own begins."""
    braking: float = 0.0
    """Its limit of acceleration [m/s²], 0 for none."""
    returns: bool = True
    in_step: bool = False
    begins: float = 0.0
    """Position at which it is armed [m]."""


@dataclass
class Motion:
    """A rig's own record: when it gave its actuator which command."""

    times: list[float] = field(default_factory=list)
    """Seconds."""
    positions: list[float] = field(default_factory=list)
    states: list[float] = field(default_factory=list)
    codes: list[float] = field(default_factory=list)

    def add(self, milliseconds: float, position: float, state: float, code: float) -> None:
        self.times.append(1e-3 * milliseconds)
        self.positions.append(position)
        self.states.append(state)
        self.codes.append(code)

    @property
    def end(self) -> tuple[float, float, float]:
        return self.states[-1], self.codes[-1], self.positions[-1]


class Runs(Protocol):
    def __call__(self, script: Script) -> Motion: ...


class HeldUp(Scripted):
    """A scripted block whose process is held up from time to time."""

    stalls: Sequence[tuple[float, float]] = ()

    def _skip(self) -> int:
        for begin, end in self.stalls:
            if self.start + MILLISECOND * begin <= self.time < self.start + MILLISECOND * end:
                self.time = self.start + int(MILLISECOND * end)
        return self.time

    def now(self) -> int:
        super().now()
        return self._skip()

    def wait_until(self, deadline: int, spin: int) -> int:
        super().wait_until(deadline, spin)
        return self._skip()

    def wire_wait(self, way: object, taken: object, deadline: int, spin: int, start: int) -> int:
        super().wire_wait(way, taken, deadline, spin, start)
        return self._skip()


def in_python(script: Script, monkeypatch: pytest.MonkeyPatch) -> Motion:
    braking = script.braking or np.inf
    limits = OwnLimits(*(np.array([x]) for x in (STROKE, RATE, LARGEST_STEP, LARGEST_STEP, braking)))
    rig = ends.rig_end(NoWire(), limits=limits)
    session = RigSession(KEY, 1e-3 * script.lease, NoWire())
    block = rig.command_block(
        session, np.array([script.begins]), waits=script.in_step, returns=script.returns, return_time=RETURN
    )
    end = HeldUp(block, rig_command, monkeypatch, look=0)
    end.stalls = script.stalls
    end.come((at, _command(KEY, i, x)) for i, (at, x) in enumerate(script.commands, start=2))
    motion, tick = Motion(), 0
    motion.add(0.0, script.begins, 2.0, 0.0)
    while end.elapsed < script.until and end["rig.state"] != IDLE:
        clocked = not script.in_step
        if clocked:
            tick = max(tick + 1, int(np.ceil(round(end.elapsed / PERIOD, 6))))
        end.time = max(end.time, end.start + int(MILLISECOND * PERIOD * tick) if clocked else end.time)
        at = end._skip()
        since = (at - end.start) / MILLISECOND
        end.u[:] = (STOP_REQUEST if since >= script.stop else 0.0), float(since >= script.fault)
        end.step(0.0)
        motion.add(1e3 * end["rig.clock"], end["command"], end["rig.state"], end["rig.code"])
    return motion


def built_library(folder: Path, compiler: str) -> ctypes.CDLL:
    """The rig's end in C as functions of this process."""
    made = folder / "rig.so"
    sources = [Path(__file__).with_name("rig_in_c.c"), LINK / "halfreal_rig.c"]
    flags = ["-O2", "-std=c99", "-ffp-contract=off", "-shared", "-fPIC", f"-I{LINK}"]
    subprocess.run([compiler, *flags, *sources, "-o", made], check=True)
    found = ctypes.CDLL(str(made))
    number, size = ctypes.c_int64, ctypes.c_size_t
    found.test_begin.argtypes = [ctypes.c_double] * 2 + [ctypes.c_void_p, ctypes.c_bool, ctypes.c_double, number]
    found.test_hear.argtypes, found.test_hear.restype = [ctypes.c_char_p, size, number, ctypes.c_char_p], size
    for name in ("tick", "stop"):
        function = getattr(found, f"test_{name}")
        function.argtypes, function.restype = [number, ctypes.c_char_p], size
    found.test_due.restype = number
    found.test_position.restype = found.test_applied.restype = ctypes.c_double
    found.test_is_at_rest.restype = ctypes.c_bool
    return found


def in_c(script: Script, rig: ctypes.CDLL) -> Motion:
    origin, answer = 1_000_000_000, ctypes.create_string_buffer(8192)
    limits = (ctypes.c_double * 4)(STROKE, RATE, LARGEST_STEP, script.braking)
    assert rig.test_begin(STEP, RETURN if script.returns else 0.0, limits, script.in_step, script.begins, origin)
    asked = (STEP, 1.0, 1e-3 * script.lease, 0.0)
    hello = Datagram(HELLO, sequence=5, channels=asked).packed()
    length = rig.test_hear(hello, len(hello), origin, answer)
    offer = unpacked(answer.raw[:length])
    arm = Datagram(ARM, offer.session, 1, asked, answers=5).packed()
    assert rig.test_hear(arm, len(arm), origin, answer) > 0
    inbox = [(at, _command(offer.session, i, x)) for i, (at, x) in enumerate(script.commands, start=2)]
    motion, now, stopped, before = Motion(), 0.0, False, script.begins
    motion.add(0.0, script.begins, 2.0, 0.0)

    def at(milliseconds: float) -> int:
        return origin + round(MILLISECOND * milliseconds)

    while now < script.until and rig.test_state() != IDLE:
        due = (rig.test_due() - origin) / MILLISECOND
        now = max(now, min(due, inbox[0][0] if inbox else np.inf, script.until, np.inf if stopped else script.stop))
        for begin, end in script.stalls:
            now = end if begin <= now < end else now
        if now >= script.stop and not stopped:
            stopped = True
            rig.test_stop(at(now), answer)
        if now >= script.fault:
            rig.test_fail(FAULT)
        due_now = rig.test_due() <= at(now)
        rig.test_tick(at(now), answer)
        stepped = due_now
        if inbox and inbox[0][0] <= now:
            _, data = inbox.pop(0)
            heard = rig.test_hear(data, len(data), at(now), answer)
            stepped = stepped or heard > 0
        if stepped or rig.test_position() != before:
            motion.add(now, rig.test_position(), rig.test_state(), rig.test_code() if rig.test_state() == SAFE else 0.0)
        before = rig.test_position()
    return motion


def _command(session: int, sequence: int, position: float) -> bytes:
    return Datagram(COMMAND, session, sequence, (position,)).packed()
