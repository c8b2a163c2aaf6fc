"""Drivers of the tests' own: each writes what was done to it into a file, which outlives its process."""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from halfreal.contracts.driver import Driver, Opening
from halfreal.drivers.simulated import SimulatedDriver


class Telling(Driver):
    """Fails after so many reads as its settings say, and tells every call of open, safe and close with its time."""

    nature, name = "simulated", "telling driver"

    def open(self, opening: Opening) -> None:
        self.file = Path(str(opening.settings["file"]))
        self.after, self.how = int(opening.settings["after"]), str(opening.settings["how"])
        self.inputs, self.reads, self.is_safe = opening.inputs, 0, False
        self.tell("open")

    def tell(self, what: str) -> None:
        with self.file.open("a") as file:
            file.write(f"{what} {os.getpid()} {time.monotonic_ns()}\n")

    def read(self) -> Sequence[float]:
        self.reads += 1
        if self.after and self.reads == self.after:
            self.tell(self.how)
            if self.how == "raise":
                raise ValueError("a cable is loose")
            if self.how == "block":
                time.sleep(600.0)
            if self.how == "hold the interpreter":
                ctypes.PyDLL(None).sleep(600)
            if self.how == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.how == "too few":
                return [0.0]
            return [math.nan] * len(self.inputs)
        vary = 1e-4 * (self.reads % 2)
        return [1.0 if terminal.startswith("bit") else vary for terminal in self.inputs]

    def write(self, commands: Sequence[float]) -> None:
        if not self.is_safe:
            self.written = list(commands)
            if len(commands) > 1 and getattr(self, "bits", None) != list(commands[1:]):
                self.bits = list(commands[1:])
                self.tell(f"bits:{','.join(f'{x:.0f}' for x in self.bits)}")

    def safe(self) -> None:
        if not self.is_safe:
            self.tell("safe")
        self.is_safe = True

    def close(self) -> None:
        self.safe()
        self.tell("close")


class Contended(SimulatedDriver):
    """Writes down when its write was called, while a thread of its own takes the interpreter now and then."""

    def open(self, opening: Opening) -> None:
        settings = dict(opening.settings)
        self.file, self.at = Path(str(settings.pop("file"))), list[tuple[int, float]]()
        super().open(replace(opening, settings=settings))
        self.closed = threading.Event()
        self.other = threading.Thread(target=self.take_interpreter, daemon=True)
        self.other.start()

    def take_interpreter(self) -> None:
        held = ctypes.PyDLL(None).usleep  # a call that does not release the interpreter's lock
        random = Random(1)
        while not self.closed.wait(random.uniform(0.0, 0.01)):
            held(random.randrange(1000, 5000))

    def write(self, commands: Sequence[float]) -> None:
        self.at.append((time.monotonic_ns(), float(commands[0])))
        super().write(commands)

    def close(self) -> None:
        self.closed.set()
        self.other.join()
        self.file.write_text("".join(f"{when} {value!r}\n" for when, value in self.at))
        super().close()


class Witness(SimulatedDriver):
    """Writes down when its write was called and with what, and does to its sensors what a byte of a file says.

    It begins at ``start`` [V]; "pressure" reads like "force".
    """

    AS_IT_IS, HELD_UP, FORCE_NAN, FORCE_HIGH, PRESSURE_NAN, PRESSURE_HIGH, OPEN_INTERLOCK = range(7)

    def open(self, opening: Opening) -> None:
        settings = dict(opening.settings)
        self.file, self.at = Path(str(settings.pop("file"))), list[tuple[int, float]]()
        self.stall, start = float(settings.pop("stall")), float(settings.pop("start"))
        with Path(str(settings.pop("events"))).open("r+b") as file:
            self.events = mmap.mmap(file.fileno(), 1)
        super().open(replace(opening, settings=settings))
        self._x = self._y = start

    def read(self) -> Sequence[float]:
        found, event = dict(zip(self._inputs, super().read(), strict=True)), self.events[0]
        found["pressure"] = found["force"]
        if event == self.HELD_UP:
            self.events[0] = self.AS_IT_IS
            time.sleep(self.stall)
        elif event in (self.FORCE_NAN, self.FORCE_HIGH):
            found["force"] = math.nan if event == self.FORCE_NAN else 5.0
        elif event in (self.PRESSURE_NAN, self.PRESSURE_HIGH):
            found["pressure"] = math.nan if event == self.PRESSURE_NAN else 6.0
        elif event == self.OPEN_INTERLOCK:
            found["bit0"] = 0.0
        return list(found.values())

    def write(self, commands: Sequence[float]) -> None:
        self.at.append((time.monotonic_ns(), float(commands[0])))
        super().write(commands)

    def close(self) -> None:
        self.file.write_text("".join(f"{when} {value!r}\n" for when, value in self.at))
        super().close()


class Incomplete:
    def open(self, opening: Opening) -> None: ...
