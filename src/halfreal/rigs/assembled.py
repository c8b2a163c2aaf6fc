"""A rig put together in Python from blocks: a function in a user's file that gives them.

``rig(dt, substeps, commands, initial, parameters)`` answers with two lists of blocks: those that run on the rig's own
step dt/substeps, and those that run once a tick after them.  One of the latter writes what is measured at the
interface, ``measured.displacement`` and ``measured.force`` (``….1``, ``….2``, … if there are several axes).
With [kinematics] the commands are strokes of actuators, and it may write ``measured.stroke`` in place of displacements.
``commands`` names the channels of the commands, ``initial`` is the initial position of the interface.  All blocks of
the library serve: actuators, sensors, the geometry of the interface, compensation of the transfer system, peak filters.

A function may have further parameters, which are given by name: ``seed``, of everything random in the test; ``ideal``,
whether sensors and converters are to have no faults (noise, resolution, range), for separating the causes of an
error; ``quiet``, whether the loop is built to be linearised, at rest, and nothing random or saturating belongs in
it.  A function without them gives the same blocks for every purpose.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field
from pydantic_core import PydanticCustomError

from ..contracts.axes import Axes
from ..contracts.context import Context
from ..contracts.quantities import Commands
from ..contracts.rig import Rig, RigBlocks
from ..contracts.user_code import UserCode
from ..errors import DefinitionError, HalfrealError
from ..kernels.block import Block, Channel, channels, names
from ..kernels.native import is_own
from ..kernels.patience import TookTooLongError
from ..kernels.user import BY_NAME, UserFunctionError, split, told, try_out
from ..kernels.user_import import import_file
from ..settings import shown
from .kinematics import STROKE

if TYPE_CHECKING:
    from ..contracts.virtual import Virtual


def plainly(error: BaseException, path: Path) -> str:
    """What went wrong in a user's function: faults of the library's settings in their own words, and the line."""
    if isinstance(error, DefinitionError):
        words = "; ".join(map(str, error.faults))
    elif isinstance(error, PydanticCustomError | HalfrealError):
        words = str(error)
    else:
        return told(error, path)
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if Path(frame.filename) == path]
    return f"{words} ({path.name}, line {lines[-1]})" if lines else words


def measured_at(axes: Axes) -> list[tuple[Channel, ...]]:
    """The signals that a rig may measure: displacements, forces, and strokes where actuators move the interface."""
    n = len(axes)
    found = [channels("measured.displacement", "m", n, of="axis"), channels("measured.force", "N", n, of="axis")]
    return found if axes.moved_by is None else [*found, channels(STROKE, "m", len(axes.moved_by), of="actuator")]


class AssembledRig(Rig, UserCode):
    """A rig of blocks that a user's function puts together.

    A function that has further parameters ``seed``, ``ideal`` or ``quiet`` is given them by name: the seed of all that
    is random, and whether the loop is to be without faults of sensors, or without all that is random or saturates.
    """

    arguments: ClassVar[tuple[str, ...]] = (
        *("dt", "substeps", "commands", "initial", "parameters"),
        *(BY_NAME, "seed", "ideal", "quiet"),
    )
    kind: Literal["assembled"] = "assembled"
    commands: Commands
    """Commanded quantity of the rig."""
    substeps: Annotated[int, Field(ge=1, le=1000)] = 1

    @property
    def commanded_in(self) -> Commands:
        return self.commands

    @property
    def steps_per_tick(self) -> int:
        return self.substeps

    def drives(self, virtual: Virtual) -> bool:
        """Commanded in force where displacements are requested, its commands are those of actuators."""
        return self.commands == "force" and virtual.targets == "displacement"

    def blocks(self, context: Context, command: tuple[str, ...]) -> RigBlocks:
        """Blocks on the rig's own step, and those of the end of a tick."""
        function, file = self.load(), Path(split(self.function)[0])
        known = {"seed": context.seed, "ideal": context.purpose.ideal, "quiet": context.quiet}
        further = {name: known[name] for name in inspect.signature(function).parameters if name in known}
        given = context.period, self.substeps, command, np.asarray(context.start, dtype=float), dict(self.parameters)
        try:
            with import_file(file).at_work():
                answer = function(*given, **further)
        except (Exception, TookTooLongError) as error:
            raise UserFunctionError(f"{self._named} did not return a rig: {plainly(error, file)}") from error
        try:
            inner, outer = ([*part] for part in answer)
        except (TypeError, ValueError) as error:
            raise UserFunctionError(
                f"{self._named} returned {shown(answer)}; it must return two lists of blocks"
            ) from error
        self._check(inner, outer, context.axes)
        return RigBlocks(self._counted(inner, context.axes), self._counted(outer, context.axes))

    def check_served(self, axes: Axes) -> None:
        """It is commanded and measured as its author says."""

    @property
    def _named(self) -> str:
        file, name = split(self.function)
        return f"{name} of {Path(file).name}"

    @staticmethod
    def _counted(blocks: list[Block], axes: Axes) -> list[Block]:
        """What is measured at the interface belongs to its axes; all else that the rig writes is its own matter."""
        along = {one.name: one for signal in measured_at(axes) for one in signal}

        def own(channel: Channel) -> Channel:
            known = along.get(channel.name)
            if known is None:
                return replace(channel, of=None)
            return replace(channel, of=known.of, number=known.number, signal=known.signal)

        return [replace(block, outputs=tuple(own(channel) for channel in block.outputs)) for block in blocks]

    def _check(self, inner: list[Block], outer: list[Block], axes: Axes) -> None:
        strange = [part for part in (*inner, *outer) if not isinstance(part, Block)]
        if strange:
            raise UserFunctionError(f"{self._named} returned {shown(strange[0])} where a block is expected")
        written = {channel.name for block in outer for channel in block.outputs}
        displacement, force, *stroke = (names(signal) for signal in measured_at(axes))
        if stroke and written.issuperset(stroke[0]):  # out of which the pose of the commanded axes is found
            displacement = tuple(name for i, name in enumerate(displacement) if i not in axes.commanded_at)
        missing = [name for name in (*displacement, *force) if name not in written]
        if missing:
            raise UserFunctionError(
                f"{self._named} did not return a rig: no block at the end of the tick writes "
                f"{', '.join(missing)}; the last "
                "of them must write what is measured at the interface"
            )
        for block in (*inner, *outer):
            if not is_own(block.step):
                try_out(block)
