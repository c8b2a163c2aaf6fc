"""A virtual substructure that is a program: a function of the user's, one of a compiled library, an FMU.

Its inputs are u = (excitation, its rate, measured forces…), its outputs y = (interface displacements…, responses…),
all of time t (contract in ``halfreal.kernels.block``).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ...contracts.context import Context
from ...contracts.fmu import FmuPart, si_unit
from ...contracts.library import LibraryFunction
from ...contracts.quantities import ActsAs
from ...contracts.user_code import Programmed, UserFunction
from ...contracts.virtual import Virtual
from ...kernels.block import Block
from . import virtual_block as virtual
from .virtual_block import OneBlock


class ProgrammedModel(OneBlock, Programmed):
    """A virtual substructure that is a program."""

    interface: Annotated[int, Field(ge=1)] = 1
    """Number of interface axes."""
    responses: dict[Annotated[str, Field(min_length=1)], str] = Field(default_factory=dict)
    """Names and units of the outputs that follow the interface displacements."""

    @property
    def axes(self) -> int:
        """Number of interface axes."""
        return self.interface

    @property
    def nonlinearities(self) -> tuple[str, ...]:
        return (f"virtual: {self.foreign}",)

    def check_slow(self) -> None:
        """The function may take a force for the answer to the target before; only its author knows."""

    def block(self, dt: float, excitation: ActsAs, feedback: tuple[str, ...]) -> Block:
        """The block "virtual", tried out."""
        return self.tried(
            virtual.virtual_block(
                self.method(dt),
                axes=self.axes,
                excitation=virtual.EXCITATION,
                feedback=feedback,
                responses=self.responses,
            )
        )


class UserModel(ProgrammedModel, UserFunction):
    """A virtual substructure written by the user: ``p`` and ``s`` of its function ``step(p, s, t, u, y)`` have the
    fields of ``parameters`` and ``state``; ``p.dt`` is the step [s] without being named."""

    kind: Literal["user"] = "user"


class LibraryModel(ProgrammedModel, LibraryFunction):
    """A virtual substructure in a compiled library."""

    kind: Literal["library"] = "library"


UNIT_OF: dict[ActsAs, str] = {"none": "", "support": "m", "force": "N", "ground": "m/s^2"}
"""Of an excitation that acts so; any if there is none."""


class FmuModel(Virtual, FmuPart):
    """A virtual substructure that is an FMU: it reads ``excitation``, ``rate`` (of the excitation) and ``force`` (the
    measured forces, positive where they resist), and gives ``displacement``, those of the interface."""

    kind: Literal["fmu"] = "fmu"
    responses: dict[Annotated[str, Field(min_length=1)], str] = Field(default_factory=dict)
    """Additional outputs of the FMU to record, by channel name."""

    @property
    def axes(self) -> int:
        given = self.outputs.get("displacement", ())
        return 1 if isinstance(given, str) else max(len(given), 1)

    @property
    def nonlinearities(self) -> tuple[str, ...]:
        return (f"virtual: {self.foreign}",)

    def blocks(self, context: Context) -> list[Block]:
        return [self.fmu_block(context)]

    def fmu_block(self, context: Context) -> Block:
        unit, n = UNIT_OF[context.acts_as], self.axes
        reads = [("excitation", 1, unit), ("rate", 1, f"{unit}/s" if unit else ""), ("force", n, "N")]
        fmu = self.opened()
        recorded = {name: fmu.variable(variable, "output", "local") for name, variable in self.responses.items()}
        own = {name: si_unit(one.unit) for name, one in recorded.items()}
        writes = [("displacement", n, "m"), *((name, 1, unit) for name, unit in own.items())]
        method = self.fmu_method(context.step, reads, writes, self.responses)
        return self.tried(
            virtual.virtual_block(
                method, axes=n, excitation=virtual.EXCITATION, feedback=context.channels("feedback"), responses=own
            )
        )
