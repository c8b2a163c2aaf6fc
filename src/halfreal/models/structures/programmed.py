"""A virtual substructure that is a program: a function of the user's, one of a compiled library.

Its inputs are u = (excitation, its rate, measured forces…), its outputs y = (interface displacements…, responses…),
all of time t (contract in ``halfreal.kernels.block``).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ...contracts.library import LibraryFunction
from ...contracts.quantities import ActsAs
from ...contracts.user_code import Programmed, UserFunction
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

    kind: Literal["user"]


class LibraryModel(ProgrammedModel, LibraryFunction):
    """A virtual substructure in a compiled library."""

    kind: Literal["library"]
