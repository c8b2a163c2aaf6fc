"""The axes of an interface and the actuators that move it: what they are called, and which of them are rotations.

Blocks count the channels of an interface, ``target.1``, ``target.2``, …, and speak of m and N.  Where a loop is put
together, channels that say to be of an axis or of an actuator take its name, ``target.z``, ``measured.force.rx``, and
those of rotations the units rad and N m.  A signal of a single axis goes by its own name alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from .. import units
from ..kernels.block import Block, Channel, Owner

ROTATIONS = ("rx", "ry", "rz")
OF_ROTATIONS = {
    "m": "rad",
    "m/s": "rad/s",
    "m/s^2": "rad/s^2",
    "N": "N m",
    "N/s": "N m/s",
}
"""Units of a rotation in place of those of a displacement."""
LIKE_ROTATION = re.compile(r"r(ot(ation)?)?_?[xyz]([^a-z]|$)", re.IGNORECASE)


def is_rotation(name: str) -> bool:
    """Whether an axis of this name is a rotation: rx, ry, rz, also with something behind, as in ``rz_left``."""
    return name.split("_")[0] in ROTATIONS


def is_doubtful(name: str) -> bool:
    """Whether a name looks like that of a rotation, such as ``Rz`` or ``rz1``, and is none."""
    return LIKE_ROTATION.match(name) is not None and not is_rotation(name)


@dataclass(frozen=True)
class Axes:
    """The axes of an interface, or a list of actuators.

    ``turning`` tells which are rotations, where their names do not.  ``drives``: its rig is commanded in forces of
    actuators, which are no axes.  ``passive`` ones are fed back and not commanded.  ``moved_by``: actuators of these
    names move it, by their strokes.
    """

    names: tuple[str, ...]
    drives: bool = False
    turning: tuple[bool, ...] | None = None
    passive: tuple[str, ...] = ()
    moved_by: tuple[str, ...] | None = None

    @classmethod
    @lru_cache(maxsize=64)
    def numbered(cls, count: int, drives: bool = False, turning: tuple[bool, ...] | None = None) -> Axes:
        return cls(tuple(str(i + 1) for i in range(count)), drives, turning)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def rotations(self) -> np.ndarray:
        """Which of the axes are rotations."""
        found = np.array([is_rotation(name) for name in self.names] if self.turning is None else self.turning)
        found.flags.writeable = False
        return found

    @cached_property
    def commanded(self) -> Axes:
        """The axes that are commanded."""
        if not self.passive:
            return self
        at = self.commanded_at
        return Axes(tuple(self.names[i] for i in at), self.drives, tuple(bool(self.rotations[i]) for i in at))

    @cached_property
    def commanded_at(self) -> tuple[int, ...]:
        """Where among the axes those stand that are commanded."""
        return tuple(i for i, name in enumerate(self.names) if name not in self.passive)

    @cached_property
    def actuators(self) -> Axes:
        """What is commanded: the axes themselves, actuators with names of their own, or with numbers."""
        if self.moved_by is not None:
            return Axes(self.moved_by, turning=(False,) * len(self.moved_by))
        count = len(self.commanded)
        return Axes.numbered(count, turning=(False,) * count) if self.drives else self.commanded

    def of(self, owner: Owner) -> Axes:
        """What channels are counted along."""
        if owner == "axis":
            return self
        return self.commanded if owner == "commanded" else self.actuators

    def channels(self, signal: str) -> tuple[str, ...]:
        """Names of the channels of a signal that has one for each axis."""
        return (signal,) if len(self) == 1 else tuple(f"{signal}.{name}" for name in self.names)

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

    def named_channel(self, one: Channel) -> Channel:
        """A channel with the name and unit of its axis or actuator."""
        found = None if one.of is None else self.of(one.of)
        if found is None or one.number > len(found):
            return one
        unit = OF_ROTATIONS.get(one.unit, one.unit) if found.rotations[one.number - 1] else one.unit
        name = found.channels(one.signal)[one.number - 1]
        return one if (name, unit) == (one.name, one.unit) else replace(one, name=name, unit=unit)

    def named(self, *groups: Sequence[Block]) -> tuple[list[Block], ...]:
        """Groups of blocks of one loop with the names and units of axes and actuators in place of numbers, m and N."""
        written = [[tuple(self.named_channel(one) for one in block.outputs) for block in group] for group in groups]
        names = {
            before.name: after.name
            for group, of_group in zip(groups, written, strict=True)
            for block, outputs in zip(group, of_group, strict=True)
            for before, after in zip(block.outputs, outputs, strict=True)
            if before.name != after.name
        }

        def wired(block: Block, outputs: tuple[Channel, ...]) -> Block:
            inputs, watched = (tuple(names.get(name, name) for name in some) for some in (block.inputs, block.watched))
            texts = {names.get(name, name): words for name, words in block.texts.items()}
            if (inputs, outputs, watched) == (block.inputs, block.outputs, block.watched):
                return block
            return replace(block, inputs=inputs, outputs=outputs, watched=watched, texts=texts)

        return tuple(
            [wired(block, outputs) for block, outputs in zip(group, of_group, strict=True)]
            for group, of_group in zip(groups, written, strict=True)
        )


def units_on(rotations: np.ndarray, unit: str) -> tuple[str, ...]:
    """The unit of a quantity on axes of which some are rotations."""
    return tuple(OF_ROTATIONS.get(unit, unit) if turns else unit for turns in rotations)
