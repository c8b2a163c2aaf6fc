"""A specimen, or a whole rig, that is a program: a function of the user's, one of a compiled library, an FMU."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from ..contracts.axes import Axes
from ..contracts.context import Context
from ..contracts.fmu import FmuPart
from ..contracts.library import LibraryFunction
from ..contracts.rig import Rig, RigBlocks
from ..contracts.specimen import RigSpecimen
from ..contracts.user_code import Programmed, UserFunction
from ..kernels.block import Block, channels
from .specimen import specimen_inputs


class ProgrammedSpecimen(RigSpecimen, Programmed):
    """u = (displacements…, velocities…, accelerations…, excitation), y = resisting forces…, on the rig's step."""

    @property
    def nonlinearities(self) -> tuple[str, ...]:
        return (self.foreign,)

    def block(self, n: int, x0: np.ndarray, dt: float) -> Block:
        """The block "specimen", tried out."""
        forces = channels("rig.force", "N", n, of="axis")
        return self.tried(self.method(dt).block("specimen", specimen_inputs(n), forces))


class UserSpecimen(ProgrammedSpecimen, UserFunction):
    """A specimen written by the user."""

    kind: Literal["user"] = "user"


class LibrarySpecimen(ProgrammedSpecimen, LibraryFunction):
    """A specimen in a compiled library."""

    kind: Literal["library"] = "library"


class FmuSpecimen(ProgrammedSpecimen, FmuPart):
    """A specimen that is an FMU: it reads ``displacement``, ``velocity``, ``acceleration`` and ``excitation``, and
    gives ``force``, positive where it resists."""

    kind: Literal["fmu"] = "fmu"

    def block(self, n: int, x0: np.ndarray, dt: float) -> Block:
        reads = [("displacement", n, "m"), ("velocity", n, "m/s"), ("acceleration", n, "m/s^2"), ("excitation", 1, "N")]
        method = self.fmu_method(dt, reads, [("force", n, "N")])
        return self.tried(method.block("specimen", specimen_inputs(n), channels("rig.force", "N", n, of="axis")))


class ProgrammedRig(Rig, Programmed):
    """u = commands… of this tick, y = (measured displacements…, measured forces…) of the next, at time t."""

    can_be_served: ClassVar[bool] = False

    @property
    def nonlinearities(self) -> tuple[str, ...]:
        return (f"rig: {self.foreign}",)

    def blocks(self, context: Context, command: tuple[str, ...]) -> RigBlocks:
        """The program, once a tick."""
        return RigBlocks([], [self.block(command, context.period, len(context.axes))])

    def check_served(self, axes: Axes) -> None:
        """It is commanded and measured as its author says."""

    def block(self, commands: tuple[str, ...], dt: float, axes: int | None = None) -> Block:
        """The block "rig", tried out; it measures as many axes as it has commands if left out."""
        n = len(commands) if axes is None else axes
        measured = (
            *channels("measured.displacement", "m", n, of="axis"),
            *channels("measured.force", "N", n, of="axis"),
        )
        return self.tried(self.method(dt).block("rig", commands, measured))


class UserRig(ProgrammedRig, UserFunction):
    """A rig written by the user."""

    kind: Literal["user"] = "user"


class LibraryRig(ProgrammedRig, LibraryFunction):
    """A rig in a compiled library."""

    kind: Literal["library"] = "library"


class FmuRig(ProgrammedRig, FmuPart):
    """A whole rig, actuators and specimen, that is an FMU: it reads ``command``, and gives ``displacement`` and
    ``force`` as they are measured."""

    kind: Literal["fmu"] = "fmu"

    def block(self, commands: tuple[str, ...], dt: float, axes: int | None = None) -> Block:
        n = len(commands) if axes is None else axes
        measured = (
            *channels("measured.displacement", "m", n, of="axis"),
            *channels("measured.force", "N", n, of="axis"),
        )
        writes = [("displacement", n, "m"), ("force", n, "N")]
        method = self.fmu_method(dt, [("command", len(commands), "m")], writes, holds=True)
        return self.tried(method.block("rig", commands, measured))
