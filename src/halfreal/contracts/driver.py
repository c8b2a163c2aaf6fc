"""What a driver must do: the code between halfreal's rig end and the hardware of a laboratory.

A driver reads raw values (volts, counts, bits) and writes raw commands, in every tick.  It knows nothing of the test:
scales, limits, sessions, the lease, the watchdog and the states are halfreal's (``live/served.py``,
``drivers/``).  Write it in Python as a subclass of ``Driver``, or in C as a shared library with the functions of
the shipped header ``halfreal_driver.h``.  ``halfreal serve TEST.toml --try`` puts any driver through its contract.

Contract for implementers
-------------------------
1. ``open(opening)`` takes hold of the hardware and moves nothing: outputs stay as they are, or in their safe state.
   What is missing or wrong raises ``DriverError`` with the reason and the remedy.  ``opening.inputs`` and
   ``opening.outputs`` name the terminals ("ai0", "slave 2 / 0x6064", or what else the driver understands) that the
   channel table of the definition uses; ``opening.settings`` is the table ``[driver.settings]``; ``opening.period`` the
   time between two ticks [s].
2. ``read()`` gives one number for each name of ``opening.inputs``, in that order, as sampled now: raw, without scale,
   offset or filter.  A value that could not be read is NaN, never the last one again.  It returns well within a period;
   where the hardware paces the loop it may wait for the next sample, no longer than a period.
3. ``write(commands)`` hands over one raw number for each name of ``opening.outputs``, in that order.  The values hold
   until the next call.  A digital output is 0 or 1.
4. ``safe()`` puts the outputs into the state in which the specimen is safe in any case, by the shortest way: enable
   off, valve closed, output held.  It may be called at any time after ``open``, again and again, from another thread,
   and while ``read`` or ``write`` has not returned; it must not wait for them.  After ``safe()`` every ``write`` must
   be ignored until ``open`` is called again.
5. ``close()`` lets go of the hardware, in its safe state; ``open`` may be called again.
6. Any exception (in C: a result that is not 0) is a fault: halfreal calls ``safe()`` at once, trips, and records the
   text.  Nothing is tried again.
7. Order of calls: open, then read and write in turn, once a tick each, from one thread; between sessions ``read`` only,
   some ten times a second.  Hardware that wants to be served more often serves itself, in a thread of the driver's.
8. **The process may die.**  A second process of halfreal's stands by: if the first one ends or is silent for 0.6 of
   the lease, it is killed, and the second calls ``open`` and ``safe`` of a new driver.  Let ``open`` succeed although
   an earlier process did not ``close``, and while the system has not yet taken its files from it; where it cannot, it
   is called again until it does.  Let it return within 0.3 of the lease, or the rig is not safe in time; ``--try``
   measures that.  Libraries are loaded in ``prepare``, which the second process calls long before.  The hardware needs
   a watchdog of its own all the same, which makes it safe when ``write`` stops, no later than the lease: no software
   answers for a computer that stops.
9. A Python driver runs under the interpreter's lock, in a thread that waits for it: microseconds as a rule, and
   milliseconds where other Python code holds it.  ``--try`` and ``docs/drivers.md`` describe what was measured.  Where
   that is too much, write it in C: it is called from the compiled loop, with no interpreter between.
10. ``nature`` is "real" if hardware moves, "simulated" if not; ``name`` says what it is, with its version, for the
    record.  Both may be set in ``open``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..errors import HalfrealError


class DriverError(HalfrealError):
    """A driver that cannot be used, or has failed: with the reason and the remedy."""


@dataclass(frozen=True)
class Opening:
    """What a driver receives when it is opened."""

    inputs: tuple[str, ...]
    """Terminals to be read, in the order of ``read``."""
    outputs: tuple[str, ...]
    """Terminals to be written, in the order of ``write``."""
    period: float
    """Between two ticks [s]."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The driver's own, from [driver.settings]."""

    def lines(self) -> str:
        """The same as text, ``key=value`` in one line each, as a C driver gets it."""
        told: list[tuple[str, Any]] = [("period", repr(self.period))]
        told += [("inputs", len(self.inputs)), ("outputs", len(self.outputs))]
        told += [(f"input.{i}", name) for i, name in enumerate(self.inputs)]
        told += [(f"output.{i}", name) for i, name in enumerate(self.outputs)]
        told += list(self.settings.items())
        return "".join(f"{key}={value}\n" for key, value in told)

    def setting(self, name: str, usual: Any) -> Any:
        """A setting of the driver's own, of the type of ``usual``, which is where it was left out."""
        value = self.settings.get(name, usual)
        if isinstance(usual, float) and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if usual is not None and type(value) is not type(usual):
            raise DriverError(
                f"driver.settings.{name} is {value!r} where {type(usual).__name__} is expected, such as {usual!r}"
            )
        return value

    def known(self, *names: str) -> None:
        """Refuse settings that the driver does not have."""
        for name in self.settings:
            if name not in names:
                raise DriverError(
                    f"driver.settings.{name} is not a setting of this driver; settings: {', '.join(names) or 'none'}"
                )


class Driver(ABC):
    """A driver in Python."""

    nature: Literal["real", "simulated"] = "real"
    name: str = ""

    @abstractmethod
    def open(self, opening: Opening) -> None:
        """Take hold of the hardware; move nothing."""

    def prepare(self, opening: Opening) -> None:  # noqa: B027
        """Load what ``open`` will need, without touching the hardware; it may be left out."""

    @abstractmethod
    def read(self) -> Sequence[float]:
        """Raw values of the inputs, sampled now; NaN for one that could not be read."""

    @abstractmethod
    def write(self, commands: Sequence[float]) -> None:
        """Hand over raw values of the outputs."""

    @abstractmethod
    def safe(self) -> None:
        """Make the outputs safe, at any time, from any thread; ignore ``write`` from now on."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the hardware, in its safe state."""


class NullDriver(Driver):
    """Drives nothing: an input reads what was last written to the output of the same place, or 0."""

    nature, name = "simulated", "null driver"

    def open(self, opening: Opening) -> None:
        opening.known()
        self._read = [0.0] * len(opening.inputs)
        self._both = min(len(opening.inputs), len(opening.outputs))
        self._is_safe = False

    def read(self) -> Sequence[float]:
        return self._read

    def write(self, commands: Sequence[float]) -> None:
        if not self._is_safe:
            self._read[: self._both] = commands[: self._both]

    def safe(self) -> None:
        self._is_safe = True

    def close(self) -> None:
        self.safe()
