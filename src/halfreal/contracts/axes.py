"""The axes of an interface: what they are called, and which of them are rotations.

Blocks count the channels of an interface, ``target.1``, ``target.2``, …, and speak of m and N.  Where a loop is put
together, the channels of named axes take these names, ``target.z``, ``measured.force.rx``, and those of rotations the
units rad and N m.  A signal of a single axis goes by its own name alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .. import units
from ..kernels.block import Block, Channel

ROTATIONS = ("rx", "ry", "rz")
OF_ROTATIONS = {
    "m": "rad",
    "m/s": "rad/s",
    "m/s^2": "rad/s^2",
    "N": "N m",
    "N/s": "N m/s",
}
"""Units of a rotation in place of those of a displacement."""
SIGNALS = (
    *("target", "feedback", "gap", "twin", "reference", "probe", "energy.error", "virtual.interface", "virtual.gap"),
    *("measured.displacement", "measured.force", "filtered.displacement", "predicted.force", "camera.displacement"),
    *("sensed.displacement", "sensed.force", "motion.command", "motion.displacement"),
    *("rig.displacement", "rig.velocity", "rig.acceleration", "rig.force"),
    *("coupling.prediction", "coupling.amplitude", "coupling.delay", *(f"coupling.a{i}" for i in range(5))),
)
"""Signals with a channel for each axis."""
COMMANDS = ("command", "command.asked", "rig.command")
"""Likewise, unless a command is the drive of an actuator."""


LIKE_ROTATION = re.compile(r"r(ot(ation)?)?_?[xyz]([^a-z]|$)", re.IGNORECASE)


def is_rotation(name: str) -> bool:
    """Whether an axis of this name is a rotation: rx, ry, rz, also with something behind, as in ``rz_left``."""
    return name.split("_")[0] in ROTATIONS


def is_doubtful(name: str) -> bool:
    """Whether a name looks like that of a rotation, such as ``Rz`` or ``rz1``, and is none."""
    return LIKE_ROTATION.match(name) is not None and not is_rotation(name)


@dataclass(frozen=True)
class Axes:
    """The axes of an interface.

    ``turning`` tells which are rotations, where their names do not.  ``drives``: its rig is commanded in forces of
    actuators, which are no axes.
    """

    names: tuple[str, ...]
    drives: bool = False
    turning: tuple[bool, ...] | None = None

    @classmethod
    def numbered(cls, count: int, drives: bool = False, turning: tuple[bool, ...] | None = None) -> Axes:
        return cls(tuple(str(i + 1) for i in range(count)), drives, turning)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def rotations(self) -> np.ndarray:
        """Which of the axes are rotations."""
        return np.array([is_rotation(name) for name in self.names] if self.turning is None else self.turning)

    def channels(self, signal: str) -> tuple[str, ...]:
        """Names of the channels of a signal."""
        names = Axes.numbered(len(self)).names if self._drive(signal) else self.names
        return (signal,) if len(names) == 1 else tuple(f"{signal}.{name}" for name in names)

    def units(self, unit: str) -> tuple[str, ...]:
        """The unit of a quantity on each axis, which is ``unit`` on displacements."""
        return units_on(self.rotations, unit)

    def text(self, values: Sequence[float] | np.ndarray, unit: str) -> str:
        """Values of all axes for people."""
        return ", ".join(units.text(float(value), of) for value, of in zip(values, self.units(unit), strict=True))

    def read(self, text: str, unit: str) -> np.ndarray:
        """Values of all axes from what people write, such as "1 mm, 0 mm, 2 deg"; one is for all of them."""
        given = text.split(",")
        if len(given) not in (1, len(self)):
            raise units.UnitError(
                f"'{text}': {len(given)} values for {len(self)} axis(es) ({', '.join(self.names)}); give one, or one "
                "for each"
            )
        whole = given if len(given) == len(self) else given * len(self)
        return np.array([units.parse(one, of) for one, of in zip(whole, self.units(unit), strict=True)])

    def named(self, block: Block, *, foreign: bool = False) -> Block:
        """A block with the names and units of these axes in place of numbers, m and N.

        What a ``foreign`` rig writes for itself, ``rig.*``, is its own matter.
        """
        known: dict[str, tuple[str, bool]] = {}
        for signal in (*SIGNALS, *COMMANDS):
            if not self._drive(signal) and not (foreign and signal.startswith("rig.")):
                numbered = Axes.numbered(len(self)).channels(signal)
                known |= dict(zip(numbered, zip(self.channels(signal), self.rotations, strict=True), strict=True))

        def channel(one: Channel) -> Channel:
            name, turns = known.get(one.name, (one.name, False))
            return Channel(name, OF_ROTATIONS.get(one.unit, one.unit) if turns else one.unit)

        return replace(
            block,
            inputs=tuple(known.get(name, (name,))[0] for name in block.inputs),
            outputs=tuple(channel(one) for one in block.outputs),
            watched=tuple(known.get(name, (name,))[0] for name in block.watched),
        )

    def _drive(self, signal: str) -> bool:
        return self.drives and signal in (*COMMANDS, "command rate")


def units_on(rotations: np.ndarray, unit: str) -> tuple[str, ...]:
    """The unit of a quantity on axes of which some are rotations."""
    return tuple(OF_ROTATIONS.get(unit, unit) if turns else unit for turns in rotations)
