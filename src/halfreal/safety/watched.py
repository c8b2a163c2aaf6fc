"""The quantities that the guard watches: one table, from which limits, guard, events and reports take what they need.

A new quantity is a row of ``TABLE``, a field of ``Limits`` (and of ``RotationLimits``, if a rotation has it in another
unit), and a line in ``guard_step`` that computes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from ..contracts.quantities import UNLIMITED, Commands
from ..kernels.block import Owner


@dataclass(frozen=True)
class Quantity:
    """A row of the table."""

    name: str
    """For people, and in the record if it is a signal."""
    field: str
    """In the guard; none of a channel that is only looked at."""
    key: str
    """Of its limits."""
    per: Owner | None = "axis"
    """What it is watched on each of; nothing if it is a channel of its own."""
    force_key: str = ""
    """Of its limits where that which it is ``told_by`` is a force."""
    told_by: Literal["commands", "targets", ""] = ""
    actuator_key: str = ""
    """Of its limits among those of actuators, where these move the interface."""
    at_home: bool = True
    """Whether it warns and counts on the way home as it does in the test."""
    sensor: bool = False
    """Whether it comes from a sensor: one that is not finite is the cause of what the loop makes of it."""
    timed: bool = False
    """Whether it is a time that only some of its sensors have: where all are zero, nothing was used of its limit."""

    def key_of(self, commands: Commands, targets: Commands) -> str:
        """Of its limits in a test with such commands and targets."""
        told = {"commands": commands, "targets": targets}
        return self.force_key if told.get(self.told_by) == "force" else self.key


COMMAND, COMMAND_RATE = "command.asked", "command rate"
TABLE = (
    Quantity(COMMAND, "asked", "command", "actuator", "drive", "commands", "stroke"),
    Quantity(COMMAND_RATE, "rate", "command_rate", "actuator", "drive_rate", "commands", "rate"),
    Quantity("target", "target", "target", "commanded", "drive", "targets"),
    Quantity("measured.displacement", "displacement", "displacement", sensor=True),
    Quantity("measured.force", "force", "force", sensor=True),
    Quantity("gap", "gap", "gap", "commanded", "force_gap", "targets", at_home=False),
    Quantity("measured velocity", "velocity", "velocity"),
    Quantity("measured acceleration", "acceleration", "acceleration"),
    Quantity("energy error", "energy", "energy", "commanded"),
    Quantity("time without change of measured.displacement", "still", "frozen", timed=True),
    Quantity("time without change of measured.force", "still_force", "frozen", timed=True),
)
"""In the guard's order: of two beyond their limits in one tick, the first is reported."""


@dataclass(frozen=True)
class Watched:
    """A quantity with its limits on each axis, ``UNLIMITED`` where there is none, and their units."""

    quantity: Quantity
    key: str
    channels: tuple[str, ...]
    warn: np.ndarray
    trip: np.ndarray
    units: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.quantity.name

    @cached_property
    def is_limited(self) -> bool:
        """Whether any axis has a trip limit."""
        return bool((self.trip < UNLIMITED).any())

    def __len__(self) -> int:
        return len(self.channels)


@dataclass(frozen=True)
class Entry:
    """One value that the guard watches, for people."""

    name: str
    unit: str
    trip: float


@dataclass(frozen=True)
class Watch:
    """All that the guard of a test watches, in its order; a cause of a trip is the number of an entry, from 1 on."""

    quantities: tuple[Watched, ...]

    def __iter__(self) -> Iterator[Watched]:
        return iter(self.quantities)

    def __getitem__(self, name: str) -> Watched:
        return next(one for one in self.quantities if one.name == name)

    @cached_property
    def starts(self) -> dict[str, int]:
        """Where the entries of each quantity begin, by its name."""
        ends = np.cumsum([0, *(len(one) for one in self.quantities)])
        return {one.name: int(start) for one, start in zip(self.quantities, ends[:-1], strict=True)}

    @property
    def others(self) -> tuple[str, ...]:
        """Channels that are only looked at; their entries are the last ones."""
        return tuple(one.name for one in self if one.quantity.per is None)

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(
            Entry(*entry) for one in self for entry in zip(one.channels, one.units, map(float, one.trip), strict=True)
        )

    @property
    def trip(self) -> np.ndarray:
        """Of all entries."""
        return np.concatenate([one.trip for one in self])

    @property
    def warn(self) -> np.ndarray:
        return np.concatenate([one.warn for one in self])

    def which(self, what: Literal["at_home", "sensor"]) -> np.ndarray:
        """1 for entries whose quantity is such, 0 for others."""
        return np.concatenate([np.full(len(one), float(getattr(one.quantity, what))) for one in self])

    def used(self, peaks: np.ndarray) -> dict[str, float]:
        """Largest value of each limited quantity, of any axis, as a share of its trip limit."""
        found = {}
        for one, start in zip(self, self.starts.values(), strict=True):
            part = peaks[start : start + len(one)]
            if one.is_limited and not (one.quantity.timed and part.max() == 0.0):
                found[one.name] = float((part / one.trip).max())
        return found
