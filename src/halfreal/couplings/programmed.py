"""A coupling that is a program: a function of the user's, one of a compiled library, an FMU.

Its inputs are u = (targets…, measured displacements…, measured forces…), its outputs the asked commands…, all of time
t.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from ..contracts.fmu import FmuPart
from ..contracts.library import LibraryFunction
from ..contracts.quantities import Commands
from ..contracts.user_code import Programmed, UserFunction
from ..kernels.block import Block, channels
from .plain import PlainCoupling


class ProgrammedCoupling(PlainCoupling, Programmed):
    """A coupling that is a program."""

    follows_forces: ClassVar[bool] = True
    serves_slow_tests: ClassVar[bool] = True

    def gives(self, targets: Commands) -> Commands | None:
        """The function states it; it is not a setting."""
        return None

    @property
    def nonlinearities(self) -> tuple[str, ...]:
        """A program may be anything."""
        return (f"coupling: {self.foreign}",)

    def block(self, dt: float, unit: str, target: tuple[str, ...], measured: tuple[str, ...]) -> Block:
        """The block "coupling", tried out."""
        asked = channels("command.asked", unit, len(target), of="actuator")
        return self.tried(self.method(dt).block("coupling", (*target, *measured), asked))


class UserCoupling(ProgrammedCoupling, UserFunction):
    """A coupling written by the user."""

    kind: Literal["user"] = "user"


class LibraryCoupling(ProgrammedCoupling, LibraryFunction):
    """A coupling in a compiled library."""

    kind: Literal["library"] = "library"


class FmuCoupling(ProgrammedCoupling, FmuPart):
    """A coupling that is an FMU: it reads ``target``, ``displacement`` and ``force``, and gives ``command``."""

    kind: Literal["fmu"] = "fmu"

    def block(self, dt: float, unit: str, target: tuple[str, ...], measured: tuple[str, ...]) -> Block:
        n, asked = len(target), channels("command.asked", unit, len(target), of="actuator")
        sensed = len(measured) // 2
        reads = [("target", n, unit), ("displacement", sensed, "m"), ("force", sensed, "N")]
        method = self.fmu_method(dt, reads, [("command", n, unit)])
        return self.tried(method.block("coupling", (*target, *measured), asked))
