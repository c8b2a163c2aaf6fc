"""A rig put together in Python from blocks: a function in a user's file that gives them.

``rig(dt, substeps, commands, initial, parameters)`` answers with two lists of blocks: those that run on the rig's own
step dt/substeps, and those that run once a tick after them.  One of the latter writes what is measured at the
interface, ``measured.displacement`` and ``measured.force`` (``….1``, ``….2``, … if there are several axes).
``commands`` names the channels of the commands, ``initial`` is where the interface stands at the start.  All blocks of
the library serve: actuators, sensors, the geometry of the interface, compensation of the transfer system, peak filters.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from ..kernels.block import Block, channels, names
from ..kernels.user import UserFunctionError, split, told
from ..models.user import UserCode
from ..safety.limits import Commands


class AssembledRig(UserCode):
    """A rig of blocks that a user's function puts together."""

    arguments: ClassVar[tuple[str, ...]] = ("dt", "substeps", "commands", "initial", "parameters")
    kind: Literal["assembled"]
    commands: Commands
    """What the rig is commanded in."""
    substeps: Annotated[int, Field(ge=1, le=1000)] = 1

    def blocks(self, dt: float, commands: tuple[str, ...], x0: np.ndarray) -> tuple[list[Block], list[Block]]:
        """Blocks on the rig's own step, and those of the end of a tick."""
        try:
            answer = self.load()(dt, self.substeps, commands, np.asarray(x0, dtype=float), dict(self.parameters))
            inner, outer = ([*part] for part in answer)
        except Exception as error:
            file, name = split(self.function)
            raise UserFunctionError(
                f"{name} of {file} gave no rig: {told(error, Path(file))}; it must answer with two lists of blocks"
            ) from error
        self._check(inner, outer, len(commands))
        return inner, outer

    def _check(self, inner: list[Block], outer: list[Block], n: int) -> None:
        strange = [part for part in (*inner, *outer) if not isinstance(part, Block)]
        if strange:
            raise UserFunctionError(f"{self.function} gave {strange[0]!r} where a block is expected")
        written = {channel.name for block in outer for channel in block.outputs}
        wanted = (*names(channels("measured.displacement", "m", n)), *names(channels("measured.force", "N", n)))
        missing = [name for name in wanted if name not in written]
        if missing:
            raise UserFunctionError(
                f"{self.function}: no block at the end of the tick writes {', '.join(missing)}; the last of them must "
                "write what is measured at the interface"
            )
