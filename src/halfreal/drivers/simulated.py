"""A rig that is not there, behind raw channels: to try a channel table, a calibration and a procedure without hardware.

    x' = (a y − x)/lag        position of the actuator, in the raw unit of output "ao0"
    terminals: "position" reads x, "force" k x, "shunt" k x plus the shunt while it is switched on (output "shunt"),
               "bit" and "bit…" read 1, "zero…" and others read ``offset``; noise is added to all but bits

Settings: ``lag`` [s], ``gain`` a and ``stiffness`` k (raw units), ``noise`` (r.m.s.), ``offset``, ``shunt``, ``seed``;
``fails_after`` reads it raises, gives NaN, blocks, ends the process or opens every interlock (bits read 0), as
``fails_by`` says ("raise", "nan", "block", "die", "interlock"), to see what becomes of a test.  ``log`` names a file to
which each call of open, safe and close and the failure are added with process and time [ns of the monotonic clock]:
what the hardware has seen, even if halfreal fails.
"""

from __future__ import annotations

import math
import os
import random
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from ..contracts.driver import Driver, DriverError, Opening

FAILURES = ("raise", "nan", "block", "die", "interlock")


class SimulatedDriver(Driver):
    """Moves nothing: an actuator with a lag and a spring, in volts."""

    nature, name = "simulated", "simulated driver"

    def open(self, opening: Opening) -> None:
        opening.known(
            *("lag", "gain", "stiffness", "noise", "offset", "shunt", "seed"),
            *("fails_after", "fails_by", "blocks_for", "log"),
        )
        self._inputs, self._outputs = opening.inputs, opening.outputs
        self._lag = opening.setting("lag", 0.005)
        self._gain, self._stiffness = opening.setting("gain", 1.0), opening.setting("stiffness", 0.5)
        self._noise, self._offset = opening.setting("noise", 1e-4), opening.setting("offset", 0.0)
        self._shunt = opening.setting("shunt", 2.5)
        self._fails_after, self._fails_by = opening.setting("fails_after", 0), opening.setting("fails_by", "raise")
        self._blocks_for = opening.setting("blocks_for", 3600.0)
        if self._fails_by not in FAILURES:
            raise DriverError(f"driver.settings.fails_by is '{self._fails_by}'; it is one of {', '.join(FAILURES)}")
        self._random = random.Random(opening.setting("seed", 1))
        self._share = 1.0 - math.exp(-opening.period / self._lag) if self._lag > 0.0 else 1.0
        self._x, self._y, self._switched, self._reads = 0.0, 0.0, False, 0
        self._is_safe = False
        self._log = opening.setting("log", "")
        self._note("open")

    def _note(self, what: str) -> None:
        if self._log:
            with Path(self._log).open("a") as file:
                file.write(f"{what} {os.getpid()} {time.monotonic_ns()}\n")

    def read(self) -> Sequence[float]:
        self._reads += 1
        self._x += self._share * (self._gain * self._y - self._x)
        found = [self._value(name) for name in self._inputs]
        if self._fails_after and self._reads > self._fails_after:
            return self._failed(found)
        return found

    def _value(self, terminal: str) -> float:
        if terminal.startswith("bit"):
            return 1.0
        value = float(self._offset)
        if terminal == "position":
            value += self._x
        elif terminal in ("force", "shunt"):
            value += self._stiffness * self._x + (self._shunt if self._switched and terminal == "shunt" else 0.0)
        return value + self._random.gauss(0.0, self._noise)

    def _failed(self, found: list[float]) -> list[float]:
        if self._reads == self._fails_after + 1:
            self._note("fails")
        if self._fails_by == "raise":
            raise DriverError("the simulated failure of driver.settings.fails_by")
        if self._fails_by == "block":
            time.sleep(self._blocks_for)
        if self._fails_by == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if self._fails_by == "interlock":
            return [0.0 if name.startswith("bit") else value for name, value in zip(self._inputs, found, strict=True)]
        return [math.nan] * len(found)

    def write(self, commands: Sequence[float]) -> None:
        if self._is_safe:
            return
        for name, value in zip(self._outputs, commands, strict=True):
            if name == "shunt":
                self._switched = value >= 0.5
            elif name == "ao0":
                self._y = float(value)

    def safe(self) -> None:
        self._is_safe = True
        self._note("safe")

    def close(self) -> None:
        self.safe()
        self._note("close")
