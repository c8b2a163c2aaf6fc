"""A rig put together in Python from blocks: a function in a user's file that gives them.

``rig(dt, substeps, commands, initial, parameters)`` answers with two lists of blocks: those that run on the rig's own
step dt/substeps, and those that run once a tick after them.  One of the latter writes what is measured at the
interface, ``measured.displacement`` and ``measured.force`` (``….1``, ``….2``, … if there are several axes).
``commands`` names the channels of the commands, ``initial`` is where the interface stands at the start.  All blocks of
the library serve: actuators, sensors, the geometry of the interface, compensation of the transfer system, peak filters.
"""

from __future__ import annotations

from pathlib import Path
from traceback import extract_tb
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, ValidationError
from pydantic_core import PydanticCustomError

from ..errors import HalfrealError
from ..kernels.block import Block, channels, names
from ..kernels.native import is_own
from ..kernels.patience import TookTooLongError
from ..kernels.user import UserFunctionError, split, told, try_out
from ..kernels.user_import import import_file
from ..models.structures.user import UserCode
from ..safety.limits import Commands
from ..settings import shown


def plainly(error: BaseException, path: Path) -> str:
    """What went wrong in a user's function: faults of the library's settings in their own words, and the line."""
    if isinstance(error, ValidationError):
        items = [(".".join(map(str, item["loc"])), item["msg"]) for item in error.errors(include_url=False)]
        words = "; ".join(f"{place}: {message}" if place else message for place, message in items)
    elif isinstance(error, PydanticCustomError | HalfrealError):
        words = str(error)
    else:
        return told(error, path)
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if Path(frame.filename) == path]
    return f"{words} ({path.name}, line {lines[-1]})" if lines else words


class AssembledRig(UserCode):
    """A rig of blocks that a user's function puts together."""

    arguments: ClassVar[tuple[str, ...]] = ("dt", "substeps", "commands", "initial", "parameters")
    kind: Literal["assembled"]
    commands: Commands
    """What the rig is commanded in."""
    substeps: Annotated[int, Field(ge=1, le=1000)] = 1

    def blocks(self, dt: float, commands: tuple[str, ...], x0: np.ndarray) -> tuple[list[Block], list[Block]]:
        """Blocks on the rig's own step, and those of the end of a tick."""
        function, file = self.load(), Path(split(self.function)[0])
        try:
            with import_file(file).at_work():
                answer = function(dt, self.substeps, commands, np.asarray(x0, dtype=float), dict(self.parameters))
        except (Exception, TookTooLongError) as error:
            raise UserFunctionError(f"{self._named} gave no rig: {plainly(error, file)}") from error
        try:
            inner, outer = ([*part] for part in answer)
        except (TypeError, ValueError) as error:
            raise UserFunctionError(
                f"{self._named} gave {shown(answer)}; it must answer with two lists of blocks"
            ) from error
        self._check(inner, outer, len(commands))
        return inner, outer

    @property
    def _named(self) -> str:
        file, name = split(self.function)
        return f"{name} of {Path(file).name}"

    def _check(self, inner: list[Block], outer: list[Block], n: int) -> None:
        strange = [part for part in (*inner, *outer) if not isinstance(part, Block)]
        if strange:
            raise UserFunctionError(f"{self._named} gave {shown(strange[0])} where a block is expected")
        written = {channel.name for block in outer for channel in block.outputs}
        wanted = (*names(channels("measured.displacement", "m", n)), *names(channels("measured.force", "N", n)))
        missing = [name for name in wanted if name not in written]
        if missing:
            raise UserFunctionError(
                f"{self._named} gave no rig: no block at the end of the tick writes {', '.join(missing)}; the last "
                "of them must write what is measured at the interface"
            )
        for block in (*inner, *outer):
            if not is_own(block.step):
                try_out(block)
